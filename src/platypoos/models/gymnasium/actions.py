"""Which actions of an environment to choose from: its space, a grid, sparse ones, or a list."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.models.points import MOST_LISTED
from platypoos.spaces import Box, MultiDiscrete, as_space

MOST_ACTIONS = 256
"""The most actions that are enumerated."""
SOME = object()
"""Asks for a few actions of any kind."""
SPARSE = "sparse"
"""Asks for ``sparse_actions`` of a box."""
_TRIED = 16  # actions of a box that trials take
_ALL_CORNERS = 12  # a box of at most so many coordinates has its corners listed


def array_space(env: Any, actions: Any) -> Box | MultiDiscrete | None:
    """The arrays to choose from, if the environment is planned in as it is; None for a list.

    Args:
        env: the environment.
        actions: what the user asked for. A box asks for a part of the environment's.
    """
    from gymnasium import spaces

    space = env.action_space
    if _is_box(actions):
        return _part(space, as_space(actions), spaces)
    if actions is not None:
        return None
    if isinstance(space, spaces.Box):
        return _whole_box(env, space)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        counts = np.broadcast_to(getattr(space, "nvec", 2), space.shape)
        if np.any(getattr(space, "start", 0)) or np.prod(counts.astype(object)) <= MOST_LISTED:
            return None
        return MultiDiscrete(counts)
    return None


def _is_box(actions: Any) -> bool:
    return hasattr(actions, "low") and hasattr(actions, "high")


def _whole_box(env: Any, space: Any) -> Box:
    of = f"the actions of {type(env.unwrapped).__name__} are {space}"
    if np.dtype(space.dtype).kind != "f":
        raise InvalidArgument(f"{of}, a box of whole numbers; pass a list of actions, actions=[…]")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise InvalidArgument(
            f"{of}, a box without finite bounds; say where to look: actions=pp.Box(low, high), or "
            "pass a list of actions, actions=[…], or wrap the environment so that its actions "
            "have bounds"
        )
    try:
        return Box(space.low, space.high)
    except InvalidArgument as error:
        raise InvalidArgument(f"{of}: {error}; pass a list of actions, actions=[…]") from None


def _part(space: Any, asked: Any, spaces: Any) -> Box:
    """A box inside that of the environment, in its numbers."""
    if not isinstance(space, spaces.Box) or np.dtype(space.dtype).kind != "f":
        raise InvalidArgument(f"actions={asked} is for a continuous box, but they are {space}")
    if asked.shape not in ((), space.shape):
        raise InvalidArgument(
            f"actions={asked} has the shape {asked.shape}, but the actions are {space}"
        )
    low, high = (np.broadcast_to(bound, space.shape) for bound in (asked.low, asked.high))
    if (low < space.low).any() or (high > space.high).any():
        raise InvalidArgument(f"actions={asked} is not inside of {space}")
    return Box(low.astype(space.dtype), high.astype(space.dtype))


def as_given(space: Box | MultiDiscrete, kind: Any) -> Callable[[Any], Any]:
    """A function that makes an action of the space what the environment takes, made anew."""
    shape, make = space.shape, np.array

    def given(action: Any) -> Any:
        array = make(action, kind)
        if array.shape != shape:
            space.check(action)  # it says what is wrong
        return array

    return given


def list_actions(env: Any, actions: Any) -> list[Any]:
    """The actions to choose from, checked."""
    from gymnasium import spaces

    if actions is SOME:
        return some_actions(env)
    space = env.action_space
    if isinstance(space, spaces.Box) and _is_count(actions):
        return _grid(space, int(actions))
    if isinstance(actions, str) and actions == SPARSE:
        return sparse_actions(space)
    if actions is None or _is_count(actions):
        if _is_count(actions):
            raise InvalidArgument(
                f"actions={actions} is a number of values for a continuous box, but the actions "
                f"are {space}; leave it out"
            )
        listed = _enumerate(space, spaces)
        if listed is None:
            raise InvalidArgument(
                f"the actions of {type(env.unwrapped).__name__} are {space}; pass a list of the "
                "ones to choose from, actions=[…]"
            )
        return listed
    if isinstance(actions, str) or not hasattr(actions, "__len__") or not len(actions):
        raise InvalidArgument(
            f"actions must be a list of actions, a number, 'sparse' or a box, got {actions!r}"
        )
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
        return [space.sample() for _ in range(_TRIED)]


def drawn_actions(space: Box | MultiDiscrete, given: Callable[[Any], Any]) -> list[Any]:
    """A few actions of a space, for trials."""
    rng = np.random.default_rng(0)
    return [given(space.draw(rng)) for _ in range(_TRIED)]


def is_list(actions: Any) -> bool:
    """Whether ``actions=`` is a list of actions."""
    asked = actions is None or actions is SOME or isinstance(actions, str) or _is_box(actions)
    return not asked and not _is_count(actions)


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
    _check_bounds(space)
    if count**size > MOST_ACTIONS:
        raise InvalidArgument(
            f"{count} values for each of {size} coordinates: {count**size} actions, more than "
            f"{MOST_ACTIONS}; pass actions='sparse' (play: --actions sparse) for one coordinate at "
            "a time and some corners, or a list of the actions to choose from, actions=[…]"
        )
    values = [
        np.linspace(low, high, count)
        for low, high in zip(space.low.ravel(), space.high.ravel(), strict=True)
    ]
    return [
        np.asarray(point, space.dtype).reshape(space.shape) for point in itertools.product(*values)
    ]


def _check_bounds(space: Any) -> None:
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise InvalidArgument(f"{space} has no bounds; pass a list of actions")


def sparse_actions(space: Any, number: int | None = None, seed: int = 0) -> list[Any]:
    """A few actions of a continuous box with many coordinates.

    First all coordinates at rest: at 0, or at the bound next to 0. Then each coordinate alone at
    its lower and its upper bound, the others at rest. Then corners of the box, drawn at random:
    every coordinate at one of its bounds.

    Args:
        space: the ``action_space`` of an environment, a bounded box.
        number: how many actions in all, fewer if there are not as many corners; 4·d + 1 for d
            coordinates if left out.
        seed: for the corners.

    ``GymnasiumModel(env, actions="sparse")`` plans with these.

    >>> import gymnasium
    >>> import platypoos as pp
    >>> space = gymnasium.spaces.Box(-1.0, 1.0, (6,))
    >>> listed = pp.models.sparse_actions(space)
    >>> len(listed), listed[1].tolist()
    (25, [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    from gymnasium import spaces

    if not isinstance(space, spaces.Box):
        raise InvalidArgument(
            f"sparse actions are for a continuous box, but the actions are {space}; leave it out"
        )
    _check_bounds(space)
    check_seed(seed)
    low, high = space.low.ravel(), space.high.ravel()
    least = 2 * low.size + 1
    if number is None:
        number = max(least, min(4 * low.size + 1, MOST_ACTIONS))
    if check_count("number", number) < least:
        raise InvalidArgument(
            f"number must be at least {least} for {low.size} coordinates: rest, and each "
            f"coordinate at its two bounds; got {number}"
        )
    _check_number(number, f"sparse actions of {low.size} coordinates")
    rest = np.clip(np.zeros_like(low), low, high)
    chosen = {rest.tobytes(): rest}
    for place in range(low.size):
        for bound in (low, high):
            point = rest.copy()
            point[place] = bound[place]
            chosen.setdefault(point.tobytes(), point)
    for upper in _corners(low.size, np.random.default_rng(seed)):
        if len(chosen) >= number:
            break
        corner = np.where(upper, high, low)
        chosen.setdefault(corner.tobytes(), corner)
    return [point.reshape(space.shape) for point in chosen.values()]


def _corners(size: int, rng: np.random.Generator) -> Iterator[Any]:
    """Corners in random order: whether each coordinate is at its upper bound."""
    if size <= _ALL_CORNERS:
        for corner in rng.permutation(1 << size).tolist():
            yield [corner >> place & 1 == 1 for place in range(size)]
    else:
        for _ in range(MOST_ACTIONS):
            yield rng.integers(2, size=size) == 1


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
