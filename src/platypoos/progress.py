"""A progress bar, shared by everything that measures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
