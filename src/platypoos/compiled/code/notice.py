"""One line for who waits for the compiler: what it was for, and how long it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WORTH_A_LINE = 1.0
"""Seconds of compiling that are told of."""
_spent = [0.0]


@contextmanager
def compiling(dispatcher: Any) -> Iterator[None]:
    """Count the time that is spent on compiling a function, if it was not on disk."""
    start, missed = time.perf_counter(), sum(dispatcher.stats.cache_misses.values())
    try:
        yield
    finally:
        if sum(dispatcher.stats.cache_misses.values()) > missed:
            _spent[0] += time.perf_counter() - start


def tell(who: str) -> None:
    """Say once how long the machine code of ``who`` took."""
    seconds, _spent[0] = _spent[0], 0.0
    if seconds >= WORTH_A_LINE:
        sys.stderr.write(
            f"platypoos: to compile for {who} took {seconds:.1f} s. All but the model's own "
            "functions is kept on disk; warm_up() does it ahead\n"
        )
