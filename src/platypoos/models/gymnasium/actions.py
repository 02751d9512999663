"""Which actions of an environment to choose from: enumerated, a grid, or a list."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument

MOST_ACTIONS = 256
"""The most actions that are enumerated."""
SOME = object()
"""Asks for a few actions of any kind."""


def list_actions(env: Any, actions: Any) -> list[Any]:
    """The actions to choose from, checked."""
    from gymnasium import spaces

    if actions is SOME:
        return some_actions(env)
    space = env.action_space
    if isinstance(space, spaces.Box) and _is_count(actions):
        return _grid(space, int(actions))
    if actions is None or _is_count(actions):
        if _is_count(actions):
            raise InvalidArgument(
                f"actions={actions} is a number of values for a continuous box, but the actions "
                f"are {space}; leave it out"
            )
        listed = _enumerate(space, spaces)
        if listed is None:
            raise InvalidArgument(
                f"the actions of {type(env.unwrapped).__name__} are {space}; pass the ones to "
                "choose from: actions=5 for five values of each coordinate (play: --actions 5), or "
                "a list of actions"
            )
        return listed
    if isinstance(actions, str) or not hasattr(actions, "__len__") or not len(actions):
        raise InvalidArgument(f"actions must be a list of actions or a number, got {actions!r}")
    chosen = [_as_action(action, space, spaces) for action in actions]
    for given, action in zip(actions, chosen, strict=True):
        if not space.contains(action):
            raise InvalidArgument(f"the action {given!r} is not in {space}")
    return chosen


def some_actions(env: Any) -> list[Any]:
    """A few actions of an environment, whatever its space: to try it, not to plan with."""
    try:
        return list_actions(env, None)
    except InvalidArgument:
        space = copy.deepcopy(env.action_space)
        space.seed(0)
        return [space.sample() for _ in range(16)]


def _is_count(actions: Any) -> bool:
    return isinstance(actions, int | np.integer) and not isinstance(actions, bool)


def _as_action(action: Any, space: Any, spaces: Any) -> Any:
    if isinstance(space, spaces.Discrete):
        return int(action) if float(action).is_integer() else action
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        array = np.asarray(action, space.dtype)
        return array.reshape(space.shape) if array.size == 1 else array
    return action


def _grid(space: Any, count: int) -> list[Any]:
    size = int(np.prod(space.shape))
    if count < 2:
        raise InvalidArgument(f"actions must be at least 2 values of each coordinate, got {count}")
    _check_number(count**size, f"{count} values for each of {size} coordinates")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise InvalidArgument(f"{space} has no bounds to divide evenly; pass a list of actions")
    values = [
        np.linspace(low, high, count)
        for low, high in zip(space.low.ravel(), space.high.ravel(), strict=True)
    ]
    return [
        np.asarray(point, space.dtype).reshape(space.shape) for point in itertools.product(*values)
    ]


def _enumerate(space: Any, spaces: Any) -> list[Any] | None:
    """All actions of a finite space."""
    if isinstance(space, spaces.Discrete):
        return list(range(int(space.start), int(space.start) + int(space.n)))
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        counts = np.broadcast_to(getattr(space, "nvec", 2), space.shape).ravel()
        start = np.broadcast_to(getattr(space, "start", 0), space.shape).ravel()
        _check_number(int(np.prod(counts.astype(object))), f"all combinations of {space}")
        return [
            (np.asarray(point) + start).astype(space.dtype).reshape(space.shape)
            for point in itertools.product(*(range(int(count)) for count in counts))
        ]
    if isinstance(space, spaces.Tuple):
        parts = [_enumerate(part, spaces) for part in space.spaces]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        _check_number(int(np.prod([len(part) for part in known], dtype=object)), str(space))
        return list(itertools.product(*known))
    return None


def _check_number(number: int, what: str) -> None:
    if number > MOST_ACTIONS:
        raise InvalidArgument(
            f"{what}: {number} actions, more than {MOST_ACTIONS}; pass a list of the ones to "
            "choose from, actions=[…]"
        )
