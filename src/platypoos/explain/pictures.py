"""Pictures of states for pages, as addresses that hold them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from platypoos.version import install

WIDTH = 220
"""Pixels across at most."""


class Painter:
    """Pictures of a model's states as data for pages; none if the model has no ``render``."""

    def __init__(self, model: Any) -> None:
        render = getattr(model, "render", None)
        self._render = render if callable(render) else None
        self._model = model
        self.failure = ""
        """Why there are none, if the model failed to render."""

    def __call__(self, state: Any, width: int = WIDTH) -> str | None:
        """A picture, ``width`` pixels wide and high at most, or None."""
        if self._render is None or state is None:
            return None
        try:
            return _address(self._render(state), width)
        except Exception as error:  # noqa: BLE001  pictures are an extra, whatever is wrong
            self._render = None
            self.failure = f"{type(error).__name__}: {error}"
            if isinstance(error, ImportError) and error.name == "PIL":
                self.failure = f"they need Pillow: {install('video')}"
            return None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """An environment of the caller's is left where it is."""
        if self._render is None or not getattr(self._model, "is_yours", False):
            yield
            return
        here = self._model.save()
        try:
            yield
        finally:
            self._model.restore(here)


def _address(frame: Any, width: int) -> str:
    """A picture from an array of height, width and perhaps colours."""
    from PIL import Image

    picture = Image.fromarray(np.asarray(frame, np.uint8)).convert("RGB")
    picture.thumbnail((width, width))
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def places_of(model: Any, states: list[Any]) -> list[tuple[float, float]] | None:
    """Where states are in the plane, by ``model.position``; None if the model has no such thing."""
    hook = hook_of(model, "position")
    if hook is None or any(state is None for state in states):
        return None
    return [(float(x), float(y)) for x, y in (hook(state) for state in states)]


def landmarks_of(model: Any) -> list[tuple[float, float, float, str]]:
    """Circles to be drawn, by ``model.landmarks()``."""
    hook = hook_of(model, "landmarks")
    if hook is None:
        return []
    return [(float(x), float(y), float(r), str(name)) for x, y, r, name in hook()]


def hook_of(model: Any, name: str) -> Any:
    """A method of a model, or of the problem that it is a form of."""
    for owner in (model, getattr(model, "problem", None)):
        hook = getattr(owner, name, None)
        if callable(hook):
            return hook
    return None
