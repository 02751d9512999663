"""What there is to see in a state, as a model says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.failures import brief, worded


def ask_features(features: Callable[[Any], Any], state: Any) -> Any:
    """What a model's ``features`` says of a state; an error if it is no list of values."""
    try:
        said = features(state)
    except InvalidArgument:
        raise
    except Exception as error:
        raise ModelError(
            f"the model's features raised {worded(error)} (at state {brief(state)}); the "
            "original traceback is above",
            state=state,
        ) from error
    if not isinstance(said, np.ndarray | tuple | list):
        raise ModelError(
            "the model's features must return a tuple, a list or an array, with a value for "
            f"each feature, got {brief(said)} (at state {brief(state)})",
            state=state,
        )
    return said


def not_hashable(said: Any, state: Any) -> InvalidArgument:
    """The error for features whose values are no numbers or texts."""
    return InvalidArgument(
        "the values of features must be hashable, such as numbers and texts, got "
        f"{brief(said)} (at state {brief(state)})"
    )


def entries(features: Any) -> list[Any]:
    """The values of all features; what is inside of tuples, lists and arrays is laid out flat."""
    if isinstance(features, np.ndarray | np.generic):
        return features.reshape(-1).tolist()
    if not isinstance(features, tuple | list):
        return [features]
    values: list[Any] = []
    for entry in features:
        if isinstance(entry, tuple | list | np.ndarray):
            values += entries(entry)
        else:
            values.append(entry)
    return values
