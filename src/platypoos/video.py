"""Films of episodes: GIF or MP4, written frame by frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.version import install

_EXTRAS = {".gif": "video", ".mp4": "mp4"}
_FASTEST_GIF = 50.0  # frames per second; viewers slow down what is faster


class Film:
    """A file that frames are added to. What was added is there after ``close``, come what may."""

    def __init__(self, path: str | Path, frames_per_second: float) -> None:
        self.path = Path(path)
        kind = self.path.suffix.lower()
        if kind not in _EXTRAS:
            raise InvalidArgument(f"a film is a .gif or an .mp4 file, got {str(path)!r}")
        if not self.path.parent.is_dir():
            raise InvalidArgument(f"there is no folder {str(self.path.parent)!r} for the film")
        try:
            from imageio import v2 as imageio

            if kind == ".mp4":
                import imageio_ffmpeg  # noqa: F401
        except ImportError as error:
            raise InvalidArgument(
                f"a {kind} film needs {error.name}: {install(_EXTRAS[kind])}"
            ) from error
        options: dict[str, Any] = {"fps": frames_per_second, "macro_block_size": 2}
        if kind == ".gif":
            options = {"duration": 1000 / min(frames_per_second, _FASTEST_GIF), "loop": 0}
        self._writer: Any = imageio.get_writer(self.path, mode="I", **options)

    def add(self, frame: Any) -> None:
        """Add a frame: an array of height, width and RGB."""
        self._writer.append_data(frame)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def film_of(model: Any, state: Any, path: str | Path) -> Film:
    """A film that begins with the picture of a state."""
    if not callable(getattr(model, "render", None)):
        raise InvalidArgument(
            f"render needs a model with render(state) that returns an RGB array; "
            f"{type(model).__name__} has none"
        )
    first = model.render(state)
    film = Film(path, getattr(model, "frames_per_second", 20.0))
    film.add(first)
    return film
