"""Which actions are legal, by the masks that environments give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument, MaskError

METHOD, INFO = "action_masks", "action_mask"
"""The method of an environment or a wrapper, and the entry of the info of a reset or step."""


class Masks:
    """Reads the masks of an environment, and says which of the actions planned with are legal.

    There are two conventions. One is a method ``action_masks()`` of the environment or of one of
    its wrappers, as in sb3-contrib. The other is ``info["action_mask"]``, from ``reset`` and
    ``step``. A mask has an entry for each action, 1 if it is legal. For MultiDiscrete actions it
    has an entry for each value of each part, one part after the other.

    Args:
        by_method: whether the environment has the method; else the info is read.
        space: the environment's action space.
        actions: the actions that are planned with.
    """

    def __init__(self, by_method: bool, space: Any, actions: Sequence[Any]) -> None:
        self.by_method = by_method
        self.size, self._places = _places(space, actions)

    def read(self, env: Any, info: dict[str, Any] | None) -> tuple[int, ...] | None:
        """The legal actions in the state that an environment is in; None if it did not tell."""
        if self.by_method:
            return self.legal(env.get_wrapper_attr(METHOD)())
        if info is None:
            return None
        if INFO not in info:
            raise MaskError(
                f"the info of a reset or step has no {INFO!r}, though others had; return the mask "
                "from reset and from every step"
            )
        return self.legal(info[INFO])

    def legal(self, mask: Any) -> tuple[int, ...]:
        """The numbers of the actions that a mask allows."""
        try:
            given = np.asarray(mask)
        except ValueError:  # lists of different lengths
            given = np.empty(0)
        if given.shape != (self.size,) or given.dtype.kind not in "biuf":
            raise MaskError(
                f"a mask must have {self.size} entries of 0 or 1, one for each action of the "
                f"environment, got {_brief(mask)}"
            )
        if not ((given == 0) | (given == 1)).all():
            raise MaskError(f"the entries of a mask must be 0 or 1, got {_brief(mask)}")
        allowed = given.astype(bool).tolist()
        return tuple(
            number
            for number, places in enumerate(self._places)
            if all(allowed[place] for place in places)
        )


def has_masks(env: Any, info: dict[str, Any]) -> bool:
    """Whether an environment gives masks."""
    return INFO in info or _has_method(env)


def find_masks(env: Any, info: dict[str, Any], actions: Sequence[Any]) -> Masks | None:
    """How an environment gives its masks; None if it has none."""
    return Masks(_has_method(env), env.action_space, actions) if has_masks(env, info) else None


def _has_method(env: Any) -> bool:
    return bool(env.has_wrapper_attr(METHOD)) and callable(env.get_wrapper_attr(METHOD))


def _places(space: Any, actions: Sequence[Any]) -> tuple[int, list[tuple[int, ...]]]:
    """The length of a mask, and for each action the entries that must all be 1."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.n), [(int(action) - int(space.start),) for action in actions]
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        counts = np.broadcast_to(getattr(space, "nvec", 2), space.shape).ravel()
        start = np.broadcast_to(getattr(space, "start", 0), space.shape).ravel()
        first = np.cumsum(counts) - counts - start
        rows = [(first + np.ravel(action)).tolist() for action in actions]
        return int(counts.sum()), [tuple(int(place) for place in row) for row in rows]
    raise InvalidArgument(
        f"the environment gives masks, but its actions are {space}; masks are for Discrete, "
        "MultiDiscrete and MultiBinary actions. Take the masks away with a wrapper"
    )


def _brief(mask: Any) -> str:
    text = repr(mask)
    return text if len(text) <= 100 else f"{type(mask).__name__} {text[:100]}…"
