"""How states are told apart: those with the same key are the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.failures import brief, worded

Key = Callable[[Any], Hashable]


def key_of(model: Any, state: Any) -> Key | None:
    """How to tell the states of a model apart; None if they cannot be.

    The model's own ``key(state)`` if it has one (a state whose key is None meets no other),
    else the state itself if it can be hashed, or the contents of an array.

    >>> key_of(None, (1, 2))((1, 2))
    (1, 2)
    """
    own = getattr(model, "key", None)
    if callable(own):
        try:
            return None if own(state) is None else own
        except Exception as error:
            raise ModelError(
                f"the model's key raised {worded(error)} (at state {brief(state)}); the original "
                "traceback is above",
                state=state,
            ) from error
    if isinstance(state, np.ndarray | np.generic):
        return None if np.asarray(state).dtype.hasobject else _contents
    try:
        hash(state)
    except Exception:  # noqa: BLE001  mostly a TypeError; whatever it is, there is no hash
        return None
    return _itself


def key_failure(error: Exception, state: Any) -> InvalidArgument | ModelError:
    """The error for a key that raised, or that cannot be hashed."""
    if isinstance(error, TypeError):
        return InvalidArgument(
            f"states must all have a key that can be hashed, or none: {error}; give the model "
            "key(state), which may return None"
        )
    return ModelError(
        f"the model's key raised {worded(error)} (at state {brief(state)}); the original "
        "traceback is above",
        state=state,
    )


def _contents(state: Any) -> Hashable:
    return np.asarray(state).tobytes()


def _itself(state: Any) -> Hashable:
    if isinstance(state, np.ndarray):
        return _contents(state)
    return state  # type: ignore[no-any-return]
