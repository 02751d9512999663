"""Progress on the standard error stream: a bar, and a line that is written over."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.version import install


@contextmanager
def progress_bar(total: int, unit: str, *, already: int = 0, quiet: bool) -> Iterator[Any]:
    """A progress bar on the standard error stream; ``already`` of the total are done."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise InvalidArgument(f"measuring needs more packages: {install('experiments')}") from error
    with tqdm(total=total, initial=already, unit=unit, disable=quiet, file=sys.stderr) as bar:
        yield bar


class StatusLine:
    """Says what is being done, in one line that is written over; silent if nobody watches.

    Nobody watches if the standard error stream is not a terminal.
    """

    _SECONDS = 0.1  # between two changes

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._next, self._width, self._text = 0.0, 0, ""

    def __call__(self, text: str) -> None:
        """Show a text in place of the one before."""
        self._text = text
        now = time.monotonic()
        if self._live and now >= self._next:
            self._next = now + self._SECONDS
            self._write(text)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._width:
            self._write("")
            self._write("")

    def leave(self) -> None:
        """Leave the last text, and go on in the next line."""
        if self._live and self._text:
            self._write(self._text)
            sys.stderr.write("\n")
            self._width = 0

    def _write(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]  # a longer one could not be rewritten
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = len(text)


def in_notebook() -> bool:
    """Whether this runs in a notebook."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return type(running).__name__ == "ZMQInteractiveShell"


class StepBar:
    """A progress bar over steps: in a terminal or a notebook; silent anywhere else.

    It is drawn by tqdm if that is installed, and else as a line that is written again and again.

    Args:
        total: the most steps that there can be.
        shown: False to show nothing.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self._done = total, 0
        self._bar: Any = None
        notebook = shown and in_notebook()
        self._line = shown and (notebook or sys.stderr.isatty())
        if self._line and find_spec("tqdm") is not None:
            if notebook and find_spec("ipywidgets") is not None:
                from tqdm.notebook import tqdm
            else:
                from tqdm import tqdm
            self._bar = tqdm(total=total, unit="step", file=sys.stderr)

    def step(self, note: str) -> None:
        """One more step is done; ``note`` is shown beside it."""
        self._done += 1
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update()
        elif self._line:
            text = f"\rstep {self._done} of {self.total}  {note}"
            print(text.ljust(79), end="", file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()
        elif self._line and self._done:
            print(file=sys.stderr)  # noqa: T201
