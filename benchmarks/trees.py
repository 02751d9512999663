"""Where no two sequences meet, the published planner's home: Platypus beside it.

    python benchmarks/trees.py       writes docs/results/trees.md (ten minutes)

Plans begin in random states of tables so large that a plan hardly ever sees a state twice, where
Q* is known by value iteration. Regret: max Q* − Q*(action). Paired seeds from 100,000 on; the
planner's constants were chosen with others. Noise is uniform, its standard deviation a multiple of
that of the rewards. γ = 0.9.
"""

from __future__ import annotations

import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import platypoos as pp

STATES, FIRST, RUNS, DISCOUNT = 1 << 21, 100_000, 400, 0.9
KINDS = ("uniform", "smooth", "sparse")
JOBS = [(kind, actions) for kind in KINDS for actions in (2, 4, 8)]
NOISES = (0.0, 0.3, 1.0, 3.0)
BUDGETS = (100, 300, 1_000, 3_000, 10_000)
CELLS = (
    "Cells: mean regret of PlaTγPOOS, of Platypus, and their difference in standard errors "
    "of the paired difference."
)
SUMMARY = (
    "Of {} cells, Platypus is better in {} and worse in {} by more than 3 standard errors. "
    "Its regret over the published planner's, in the geometric mean (0.001 added to both): {}."
)
Floats = NDArray[np.float64]


def tables(kind: str, actions: int) -> tuple[NDArray[np.int64], Floats]:
    """Successors and mean rewards."""
    rng = np.random.default_rng([11, actions, KINDS.index(kind)])
    if kind != "smooth":
        reward = rng.random((STATES, actions))
        if kind == "sparse":  # one in twenty
            reward *= rng.random((STATES, actions)) < 0.05
        return rng.integers(0, STATES, (STATES, actions)), reward
    # Actions push along a line of 64 places, against a drift that differs from state to state;
    # it is best to be in the middle.
    places, here = 64, STATES // 64
    place = np.arange(STATES) // here
    push = np.linspace(-3, 3, actions).round().astype(np.int64)
    to = place[:, None] + push + rng.integers(-3, 4, STATES)[:, None]
    successor = np.clip(to, 0, places - 1) * here + rng.integers(0, here, (STATES, actions))
    return successor, -((place / 32 - 1.0)[:, None] ** 2) - 0.02 * np.abs(push)


class Cell(NamedTuple):
    """The regrets of both planners."""

    kind: str
    actions: int
    noise: float
    budget: int
    published: Floats
    graph: Floats

    @property
    def score(self) -> float:
        """How much worse the graph planner is, in standard errors of the paired difference."""
        difference = self.graph - self.published
        error = difference.std(ddof=1) / math.sqrt(len(difference))
        return float(difference.mean() / error) if error else 0.0

    @property
    def ratio(self) -> float:
        """Of the mean regrets, 0.001 added to both."""
        return float((self.graph.mean() + 1e-3) / (self.published.mean() + 1e-3))


def measure(job: tuple[str, int]) -> list[Cell]:
    """All noises and budgets of one table."""
    kind, actions = job
    successor, reward = tables(kind, actions)
    best = pp.problems.Tabular(successor, reward).solve(DISCOUNT, tolerance=1e-6)
    roots = np.random.default_rng([13, actions]).integers(0, STATES, RUNS)
    values = best[roots]

    def regrets(model: pp.CompiledModel, planner: pp.planners.Planner, budget: int) -> Floats:
        chosen = [
            planner.plan(model, state=np.array([root]), budget=budget, seed=FIRST + i).action
            for i, root in enumerate(roots.tolist())
        ]
        return np.asarray(values.max(axis=1) - values[np.arange(RUNS), chosen])

    cells = []
    for noise in NOISES:
        width = noise * math.sqrt(3) * reward.std()
        model = pp.problems.Tabular(successor, reward, width).compiled()
        for budget in BUDGETS:
            published = regrets(model, pp.PlaTyPOOS(DISCOUNT), budget)
            graph = regrets(model, pp.Platypus(DISCOUNT), budget)
            cells.append(Cell(kind, actions, noise, budget, published, graph))
    return cells


def report(cells: list[Cell]) -> list[str]:
    """The tables."""
    better, worse = sum(cell.score < -3 for cell in cells), sum(cell.score > 3 for cell in cells)
    ratios = []
    for noise in NOISES:
        logs = [math.log(cell.ratio) for cell in cells if cell.noise == noise]
        ratios.append(f"{math.exp(np.mean(logs)):.2f} at noise {noise:g}")
    about = " ".join(str(__doc__).split("\n\n")[2].split())
    lines = [
        "# Where nothing meets",
        f"`python benchmarks/trees.py`. {about} {RUNS} plans a cell.",
        CELLS,
        SUMMARY.format(len(cells), better, worse, ", ".join(ratios)),
    ]
    for noise in NOISES:
        head = " | ".join(f"N = {budget:,}" for budget in BUDGETS)
        table = [f"| rewards, actions | {head} |", "|---" * (1 + len(BUDGETS)) + "|"]
        for kind, actions in JOBS:
            shown = [
                f"{cell.published.mean():.4f} {cell.graph.mean():.4f} ({cell.score:+.1f})"
                for cell in cells
                if (cell.kind, cell.actions, cell.noise) == (kind, actions, noise)
            ]
            table.append(f"| {kind}, {actions} | " + " | ".join(shown) + " |")
        lines += [f"## Noise {noise:g}", "\n".join(table)]
    return lines


def main() -> None:
    """Measure all, write the tables."""
    start = time.time()
    cells = []
    with ProcessPoolExecutor(2) as pool:
        for i, part in enumerate(pool.map(measure, JOBS)):
            cells += part
            print(f"{i + 1} of {len(JOBS)} {time.time() - start:.0f} s", file=sys.stderr)
    target = Path(__file__).parents[1] / "docs" / "results" / "trees.md"
    target.write_text("\n\n".join(report(cells)) + "\n", encoding="utf-8")
    print(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
