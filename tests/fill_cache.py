"""Compile what most tests need, by two processes, before pytest's processes ask for it.

    python tests/fill_cache.py

Numba keeps machine code on disk. Processes that begin at the same time would all compile the same.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from random_trees import PLANNERS, Counted
from signature import signature_of

import platypoos as pp

FIRST = ("platypus", "platypoos")
"""Those that take longest, and those whose loops others use."""


def models() -> list[pp.CompiledModel]:
    """Models that say different things beside their steps."""
    table = pp.problems.Garnet(12, 3, seed=1, noise=0.5)
    masks = np.ones((12, 3), np.bool_)
    return [
        pp.problems.SwitchChain().compiled(),
        Counted(table, "compiled").model,
        Counted(table, "compiled", masks).model,
        Counted(table, "compiled", masks, ("value", "policy")).model,
    ]


def compile_loops() -> None:
    """The loops around those models."""
    for model in models():
        for name in ("uniform", "uct", "platypus"):
            for access in ("restore", "reset"):
                PLANNERS[name](0.9).plan(model, budget=50, seed=0, access=access)


def main() -> None:
    """Compile in two processes."""
    start = time.perf_counter()
    names = [*FIRST, *(name for name in sorted(PLANNERS) if name not in FIRST)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(signature_of, name) for name in names]
        waiting.append(pool.submit(compile_loops))
        for done in waiting:
            done.result()
    seconds = time.perf_counter() - start
    sys.stderr.write(f"machine code for the tests is there after {seconds:.0f} s\n")


if __name__ == "__main__":
    main()
