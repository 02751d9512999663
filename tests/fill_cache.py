"""Compile what most tests need, by two processes, before pytest's processes ask for it.

    python tests/fill_cache.py

Numba keeps machine code on disk. Processes that begin at the same time would all compile the same.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from random_trees import PLANNERS
from signature import signature_of

FIRST = ("platypoos", "platypus")
"""Those whose loops others use, and those that take longest."""


def main() -> None:
    """Compile in two processes."""
    start = time.perf_counter()
    names = [*FIRST, *(name for name in sorted(PLANNERS) if name not in FIRST)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(signature_of, name) for name in names]
        for done in waiting:
            done.result()
    seconds = time.perf_counter() - start
    sys.stderr.write(f"machine code for the tests is there after {seconds:.0f} s\n")


if __name__ == "__main__":
    main()
