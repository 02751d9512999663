"""Which keeper an environment gets, and how to add a kind of environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.models.gymnasium.families import (
    Atari,
    Box2D,
    CarRacing,
    ClassicControl,
    Highway,
    MiniGrid,
    ToyText,
)
from platypoos.models.gymnasium.physics import DmControl, MuJoCo
from platypoos.models.gymnasium.snapshots import (
    DeepCopyKeeper,
    FunctionKeeper,
    Keeper,
    ReplayKeeper,
    Unknown,
)


@dataclass(frozen=True)
class Family:
    """A kind of environment: which it is, and who keeps its state."""

    name: str
    matches: Callable[[Any], bool]
    """Whether a bare environment is of this kind."""
    keeper: Callable[[Any], Keeper]
    """Makes the keeper of an environment."""


def _from(*modules: str) -> Callable[[Any], bool]:
    """Only classes of these modules themselves: a subclass elsewhere may keep more."""
    return lambda core: type(core).__module__.startswith(modules)


_is_box2d = _from("gymnasium.envs.box2d.")
is_atari = _from("ale_py.")


def _is_mujoco(core: Any) -> bool:
    return any(kind.__name__ == "MujocoEnv" for kind in type(core).__mro__)


def _is_dm_control(core: Any) -> bool:
    inner = type(getattr(core, "_env", None))
    return (inner.__module__, inner.__name__) == ("dm_control.rl.control", "Environment")


def replay_keeper(env: Any) -> Keeper:
    """The keeper that replays an environment."""
    core = env.unwrapped
    if not _is_box2d(core):
        return ReplayKeeper(env)
    return (CarRacing if type(core).__name__ == "CarRacing" else Box2D)(env)


_FAMILIES: list[Family] = [
    Family("classic control", _from("gymnasium.envs.classic_control."), ClassicControl),
    Family("toy text", _from("gymnasium.envs.toy_text."), ToyText),
    Family("MuJoCo", _is_mujoco, MuJoCo),
    Family("dm_control", _is_dm_control, DmControl),
    Family("Atari", is_atari, Atari),
    Family("MiniGrid", _from("minigrid."), MiniGrid),
    Family("highway-env", _from("highway_env."), Highway),
    Family("Box2D", _is_box2d, replay_keeper),
]

METHODS: dict[str, Callable[[Any], Keeper]] = {"deepcopy": DeepCopyKeeper, "replay": replay_keeper}


def register_family(
    name: str,
    matches: Callable[[Any], bool],
    save: Callable[[Any], Any],
    restore: Callable[[Any, Any], None],
) -> Family:
    """Tell how a kind of environment saves and restores its state.

    Args:
        name: for reports.
        matches: ``matches(env.unwrapped)`` says whether an environment is of this kind.
        save: ``save(env.unwrapped)`` returns its state; steps taken later must not change it.
        restore: ``restore(env.unwrapped, state)`` puts it back; the state must stay as it is.

    What was registered last is asked first. Workers of an executor must know of it too: register it
    in a module that they import. Leave the environment's ``np_random`` out of the
    state. Then let ``platypoos.check_simulator`` prove it.

    >>> import platypoos as pp
    >>> family = pp.models.register_family(
    ...     "my simulator",
    ...     matches=lambda env: type(env).__name__ == "MySimulator",
    ...     save=lambda env: env.position,
    ...     restore=lambda env, position: setattr(env, "position", position),
    ... )
    """
    for function in (matches, save, restore):
        if not callable(function):
            raise InvalidArgument(f"matches, save and restore must be functions, got {function!r}")
    family = Family(name, matches, lambda env: FunctionKeeper(env, name, save, restore))
    _FAMILIES.insert(0, family)
    return family


def native_keeper(env: Any) -> Keeper | None:
    """The keeper of the environment's family, or None if there is none that knows it."""
    for family in _FAMILIES:
        if family.matches(env.unwrapped):
            try:
                keeper = family.keeper(env)
            except Unknown:
                return None  # it has attributes that its family does not know
            keeper.family = family.name
            return keeper
    return None
