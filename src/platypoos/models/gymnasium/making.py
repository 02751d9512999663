"""Gymnasium environments from their ids, their specifications, or functions."""

from __future__ import annotations

import importlib
import os
from ctypes.util import find_library
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.version import install

_HIGHWAY = (
    "highway-", "merge-", "roundabout-", "parking-", "intersection-", "racetrack-", "exit-",
    "two-way-", "u-turn-", "lane-keeping-",
)  # fmt: skip
_PROVIDERS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("ALE/",), "ale_py", "atari"),
    (("MiniGrid-", "BabyAI-"), "minigrid", "minigrid"),
    (_HIGHWAY, "highway_env", "highway"),
    (("dm_control/",), "dm_control", "dm-control"),
)
"""Ids start with; are made known by this package; which this extra installs."""
_OWN_EXTRAS = {"mujoco": "mujoco", "box2d": "box2d", "classic_control": "gym", "toy_text": "gym"}


def gymnasium_package() -> Any:
    """The package, or an error that says how to install it."""
    try:
        import gymnasium
    except ImportError as error:
        raise InvalidArgument(f"GymnasiumModel needs Gymnasium: {install('gym')}") from error
    return gymnasium


def make_environment(env: Any, options: dict[str, Any]) -> Any:
    """An environment from its id, its specification, or a function; or itself."""
    gymnasium = gymnasium_package()
    if isinstance(env, gymnasium.Env):
        if options:
            raise InvalidArgument(
                f"{', '.join(options)}: options are for environments made from their id; this one "
                "is made already"
            )
        return env
    if callable(env) and not hasattr(env, "entry_point"):
        made = env(**options)
        if not isinstance(made, gymnasium.Env):
            raise InvalidArgument(f"env() must return an environment, got {made!r}")
        return made
    if not isinstance(env, str) and not hasattr(env, "entry_point"):
        raise InvalidArgument(
            f"env must be an id such as 'CartPole-v1', an environment or a function that makes "
            f"one, got {env!r}"
        )
    name = env if isinstance(env, str) else env.id
    _make_known(name)
    try:
        return gymnasium.make(env, **{"disable_env_checker": True, **options})
    except InvalidArgument:
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        where = str(getattr(gymnasium.spec(name), "entry_point", ""))
        extra = next((e for part, e in _OWN_EXTRAS.items() if f".{part}" in where), "all")
        raise InvalidArgument(
            f"{name} needs more than is installed: {install(extra)} ({error})"
        ) from error
    except Exception as error:  # unknown ids, options that are not taken, missing files, …
        raise InvalidArgument(f"Gymnasium cannot make {name!r}: {error}") from error


def _make_known(name: str) -> None:
    """Import the package that registers an id."""
    for prefixes, package, extra in _PROVIDERS:
        if name.startswith(prefixes):
            if package == "dm_control":
                choose_gl("disable")  # it looks for a screen when it is imported
            try:
                module = importlib.import_module(package)
            except ImportError as error:
                raise InvalidArgument(f"{name} needs {package}: {install(extra)}") from error
            if extra == "atari":
                module.ALEInterface.setLoggerMode(module.LoggerMode.Error)
            if package == "dm_control":
                importlib.import_module("platypoos.models.gymnasium.suite").register(name)


def choose_gl(otherwise: str | None = None) -> None:
    """Let MuJoCo render without a screen, by the library that is there."""
    if {"DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"} & os.environ.keys():
        return
    found = [name.lower() for name in ("EGL", "OSMesa") if find_library(name)]
    if found or otherwise:
        os.environ["MUJOCO_GL"] = found[0] if found else str(otherwise)


def was_reset(env: Any) -> bool:
    """Whether an environment that was passed is under way."""
    while hasattr(env, "unwrapped"):
        if type(env).__name__ == "OrderEnforcing":
            return bool(env.has_reset)
        if env is env.unwrapped:
            break
        env = env.env
    if getattr(env, "_np_random", None) is None:
        raise InvalidArgument(
            f"cannot tell whether this {type(env).__name__} was reset; call env.reset(seed=0) "
            "first to plan from where it is, or pass seed=0 or a function that makes one"
        )
    return True
