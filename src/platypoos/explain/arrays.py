"""Actions that are arrays, as pages and tables show them: small bars, one for each coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.markup import number
from platypoos.spaces import MultiDiscrete, Space, Tried

SIGNS = "▁▂▃▄▅▆▇█"
"""From the lower bound of a coordinate to the upper one."""
MOST_COORDINATES, MOST_STEPS = 12, 60
"""Coordinates of a sequence that tables and pages show, and steps that are drawn."""


def coordinate_names(space: Space, names: Sequence[str]) -> tuple[str, ...]:
    """The model's names, if they are those of coordinates; else none."""
    if not isinstance(space, Tried) or len(names) != math.prod(_shape(space)):
        return ()
    return tuple(names)


def bars(space: Tried, action: Any) -> str:
    """A sign for each coordinate of an action, from low to high.

    >>> from platypoos.spaces import Box
    >>> bars(Tried(Box([0.0, 0.0, 0.0], [1.0, 1.0, 4.0]), [], 0), [0.0, 0.5, 4.0])
    '▁▅█'
    """
    return _signs(_shares(space, [action])[0])


def courses(
    space: Space, actions: Sequence[Any], names: Sequence[str]
) -> list[tuple[str, str, str]]:
    """What each coordinate does along a sequence: its name, a sign for each step, its bounds."""
    if not isinstance(space, Tried) or not actions:
        return []
    shares = _shares(space, actions[:MOST_STEPS]).T
    low, high = _bounds(space)
    more = "…" if len(actions) > MOST_STEPS else ""
    return [
        (
            names[place] if names else f"[{place}]" if _shape(space) else "action",
            _signs(row) + more,
            f"{number(low[place], 3)} to {number(high[place], 3)}",
        )
        for place, row in enumerate(shares)
    ]


def contents(names: Sequence[str]) -> str:
    """What the numbers of an action are.

    >>> contents(["torque"]), contents(["steering", "gas"])
    ('an action is one number: torque', 'an action is [steering, gas]')
    """
    if len(names) == 1:
        return f"an action is one number: {names[0]}"
    more = ["…"] if len(names) > MOST_COORDINATES else []
    return f"an action is [{', '.join([*names[:MOST_COORDINATES], *more])}]"


def coordinates(actions: Sequence[Any]) -> NDArray[np.float64]:
    """The coordinates of actions, a row for each action."""
    return np.array([np.ravel(action) for action in actions], np.float64)


def _shape(space: Tried) -> tuple[int, ...]:
    return tuple(getattr(space.of, "shape", ()))


def _bounds(space: Tried) -> tuple[NDArray[Any], NDArray[Any]]:
    of: Any = space.of
    if isinstance(of, MultiDiscrete):
        return np.zeros(of.sizes.size), np.ravel(of.sizes) - 1.0
    return np.ravel(of.low).astype(np.float64), np.ravel(of.high).astype(np.float64)


def _shares(space: Tried, actions: Sequence[Any]) -> NDArray[np.float64]:
    """Where in its range each coordinate is, from 0 to 1; a row for each action."""
    low, high = _bounds(space)
    wide = np.where(high > low, high - low, 1.0)
    shares: NDArray[np.float64] = (coordinates(actions) - low) / wide
    return shares


def _signs(shares: NDArray[np.float64]) -> str:
    places = np.clip((shares * len(SIGNS)).astype(int), 0, len(SIGNS) - 1)
    return "".join(SIGNS[place] for place in places.tolist())
