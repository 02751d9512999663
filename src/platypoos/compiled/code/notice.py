"""One line for who waits for the compiler: what it was for, and how long it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

WORTH_A_LINE = 1.0
"""Seconds of compiling that are told of."""
_spent = [0.0]


@contextmanager
def compiling() -> Iterator[None]:
    """Count the time that is spent on compiling, or on loading what was compiled before."""
    start = time.perf_counter()
    try:
        yield
    finally:
        _spent[0] += time.perf_counter() - start


def tell(who: str) -> None:
    """Say once how long the machine code of ``who`` took."""
    seconds, _spent[0] = _spent[0], 0.0
    if seconds >= WORTH_A_LINE:
        sys.stderr.write(
            f"platypoos: the machine code of {who} took {seconds:.1f} s. It is kept on disk; "
            "warm_up() or 'platypoos warm-up' does this ahead\n"
        )
