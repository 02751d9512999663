"""Pictures of states, by an environment that renders."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.models.gymnasium.making import choose_gl, make_environment
from platypoos.models.gymnasium.registry import METHODS, native_keeper
from platypoos.models.gymnasium.snapshots import DeepCopyKeeper, Keeper


def picture(keeper: Keeper, name: str) -> Any:
    """A picture of the state that an environment is in."""
    try:
        frame = keeper.render()
    except Exception as error:
        hint = (
            " (without a screen MuJoCo needs EGL or OSMesa: on Debian apt-get install libegl1 "
            "libgl1-mesa-dri; MUJOCO_GL=egl or osmesa chooses one)"
        )
        hint = hint if keeper.family == "MuJoCo" else ""
        raise InvalidArgument(f"{name} cannot be rendered: {error}{hint}") from error
    if not isinstance(frame, np.ndarray):
        raise InvalidArgument(f"{name} rendered no picture, but {type(frame).__name__}")
    return frame


def make_painter(recipe: Any, options: dict[str, Any], seed: int, method: str, name: str) -> Keeper:
    """A second environment that renders; the one that is planned with is faster without."""
    if recipe is None:
        raise _cannot(name)
    os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # else Ctrl-C is SDL's
    if not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # else SDL complains of no screen
        choose_gl()
    made = make_environment(recipe, {**options, "render_mode": "rgb_array"})
    made.reset(seed=seed)
    keeper = METHODS[method](made) if method in METHODS else native_keeper(made)
    if keeper is None or isinstance(keeper, DeepCopyKeeper):
        raise _cannot(name)
    if not any("camera" in option for option in made.spec.kwargs):
        keeper.follow()
    return keeper


def _cannot(name: str) -> InvalidArgument:
    return InvalidArgument(f"{name} cannot be rendered: make it with render_mode='rgb_array'")
