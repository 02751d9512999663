"""How fast experiments run: two processes against one, and calls per second of a core.

    python benchmarks/experiments.py

The quick grid of the paper's figure, from nothing to the last row, worker start-up included.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from platypoos.lab import experiments
from platypoos.lab.experiments.cells import run_cell


def warm_up() -> None:
    """Compile every planner, so that no run does it for another."""
    for block in experiments.paper().blocks:
        for planner in block.planners:
            run_cell(block.cell(block.problems[0], planner, block.budgets[0], 0))


def main() -> None:
    warm_up()
    seconds = {}
    for workers in (2, 1):
        with tempfile.TemporaryDirectory() as folder:
            summary = experiments.run(
                experiments.paper(), Path(folder), workers=workers, progress=False
            )
        seconds[workers] = summary.seconds
        rate = summary.calls / summary.seconds / workers / 1e6
        print(f"{workers} processes: {summary.seconds:.1f} s; a core: {rate:.1f} million calls/s")
    print(f"two are {seconds[1] / seconds[2]:.2f} times as fast as one (bar 1.7)")


if __name__ == "__main__":
    main()
