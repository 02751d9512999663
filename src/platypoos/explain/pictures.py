"""Pictures of states for pages: small PNG files, without further packages."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 220
"""Pixels across at most."""


def png(frame: NDArray[np.uint8]) -> bytes:
    """An array of height, width and RGB as a PNG file."""
    height, width, _ = frame.shape
    # Each row as its difference to the one above (filter 2): even areas become zeros.
    above = np.vstack([np.zeros_like(frame[:1]), frame[:-1]])
    rows = np.full((height, 1 + 3 * width), 2, np.uint8)
    rows[:, 1:] = (frame - above).reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def shrink(frame: NDArray[Any], width: int = WIDTH) -> NDArray[np.uint8]:
    """A picture that is at most ``width`` pixels wide and high, by means over blocks."""
    picture = np.asarray(frame)
    if picture.ndim == 2:
        picture = np.repeat(picture[:, :, None], 3, axis=2)
    picture = picture[:, :, :3]
    by = max(1, -(-max(picture.shape[:2]) // width))
    height, across = picture.shape[0] // by * by, picture.shape[1] // by * by
    blocks = picture[:height, :across].reshape(height // by, by, across // by, by, 3)
    means: NDArray[np.uint8] = blocks.mean(axis=(1, 3)).round().astype(np.uint8)
    return means


class Painter:
    """Pictures of a model's states as data for pages; none if the model has no ``render``."""

    def __init__(self, model: Any) -> None:
        render = getattr(model, "render", None)
        self._render = render if callable(render) else None
        self._model = model
        self.failure = ""
        """Why there are none, if the model failed to render."""

    def __call__(self, state: Any, width: int = WIDTH) -> str | None:
        """A picture as an address that holds it, or None."""
        if self._render is None or state is None:
            return None
        try:
            frame = shrink(self._render(state), width)
        except Exception as error:  # noqa: BLE001  pictures are an extra, whatever is wrong
            self._render = None
            self.failure = f"{type(error).__name__}: {error}"
            return None
        return "data:image/png;base64," + base64.b64encode(png(frame)).decode()

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
