"""What the actions of an environment are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_GYMNASIUM = {
    "CartPoleEnv": ("push left", "push right"),
    "MountainCarEnv": ("accelerate left", "do not accelerate", "accelerate right"),
    "AcrobotEnv": ("torque -1", "torque 0", "torque 1"),
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pick up", "drop off"),
    "BlackjackEnv": ("stick", "hit"),
    "LunarLander": ("do nothing", "fire left engine", "fire main engine", "fire right engine"),
    "CarRacing": ("do nothing", "steer right", "steer left", "gas", "brake"),
}
"""By the class of the environment, as its documentation has them."""
_COORDINATES = {
    "PendulumEnv": ("torque",),
    "Continuous_MountainCarEnv": ("force",),
    "BipedalWalker": ("hip 1", "knee 1", "hip 2", "knee 2"),
    "LunarLander": ("main engine", "side engines"),
    "CarRacing": ("steering", "gas", "brake"),
}
"""Of continuous actions, in the same way."""
_MOST_DIGITS = 17


def name_actions(env: Any, actions: Sequence[Any]) -> tuple[str, ...] | None:
    """A text for each of the actions that are planned with; None if they have no names.

    Vectors are their own names, rounded. Other actions have the names that the kind of environment
    gives them, unless a wrapper changes the actions.
    """
    from gymnasium import spaces

    space = env.action_space
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return _vectors(actions)
    if not isinstance(space, spaces.Discrete) or _is_changed(env):
        return None
    named = _names_of(env.unwrapped)
    try:
        return None if named is None else tuple(str(named(int(action))) for action in actions)
    except (IndexError, KeyError, ValueError):
        return None  # there are more actions than names


def name_coordinates(env: Any, size: int) -> tuple[str, ...] | None:
    """A text for each coordinate of the actions; None if they have no names."""
    if _is_changed(env):
        return None
    core = env.unwrapped
    kinds = {kind.__name__: kind.__module__.split(".")[0] for kind in type(core).__mro__}
    names: tuple[str, ...] = ()
    for kind, known in _COORDINATES.items():
        if kinds.get(kind) == "gymnasium":
            names = known
    if "SuiteEnv" in kinds or "DmControlCompatibilityV0" in kinds:
        names = actuator_names(core._env.physics.model.ptr)  # noqa: SLF001
    if "MujocoEnv" in kinds:
        names = actuator_names(core.model)
    if "highway_env" in kinds.values():
        action = getattr(core, "action_type", None)
        moves = ("longitudinal", "acceleration"), ("lateral", "steering")
        names = tuple(name for asked, name in moves if getattr(action, asked, False))
    return names if len(names) == size and all(names) else None


def actuator_names(physics: Any) -> tuple[str, ...]:
    """The names of a MuJoCo model's actuators, or else of the joints that they move."""
    names = []
    for place in range(physics.nu):
        name = physics.actuator(place).name
        joint = int(physics.actuator_trnid[place, 0])
        if not name and 0 <= joint < physics.njnt:
            name = physics.joint(joint).name
        names.append(name.replace("_", " "))
    return tuple(names)


def _vectors(actions: Sequence[Any]) -> tuple[str, ...]:
    """With so few digits that all are different, and at least three."""
    names: tuple[str, ...] = ()
    for digits in (3, 6, _MOST_DIGITS):
        names = tuple(_vector(action, digits) for action in actions)
        if len(set(names)) == len(names):
            break
    return names


def _vector(action: Any, digits: int) -> str:
    entries = [f"{entry:.{digits}g}" for entry in np.ravel(action).tolist()]
    return entries[0] if len(entries) == 1 else f"({', '.join(entries)})"


def _is_changed(env: Any) -> bool:
    """Whether a wrapper stands between the actions and the environment that knows their names."""
    from gymnasium import ActionWrapper

    core = env.unwrapped
    if env.action_space != core.action_space:
        return True
    while env is not core:
        if isinstance(env, ActionWrapper):
            return True
        env = env.env
    return False


def _names_of(core: Any) -> Callable[[int], str] | None:
    """The name of an action of a bare environment."""
    meanings = getattr(core, "get_action_meanings", None)  # Atari, and a convention of others
    if callable(meanings):
        return list(meanings()).__getitem__
    kinds = {kind.__name__: kind.__module__.split(".")[0] for kind in type(core).__mro__}
    for kind, names in _GYMNASIUM.items():
        if kinds.get(kind) == "gymnasium":
            return names.__getitem__
    if "minigrid" in kinds.values():
        return lambda action: core.actions(action).name
    if "highway_env" in kinds.values():
        meta = getattr(core.action_type, "actions", None)  # texts such as LANE_LEFT
        if isinstance(meta, dict):
            return lambda action: meta[action].lower().replace("_", " ")
    return None
