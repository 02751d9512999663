"""From rows to the lines of figures and the rows of tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from platypoos.lab.experiments.cells import Row
from platypoos.lab.experiments.spec import Block, Choice
from platypoos.lab.experiments.statistics import (
    Interval,
    interquartile_mean,
    mean_interval,
    paired_difference,
    probability_of_improvement,
)

Floats = NDArray[np.float64]

PAIRED = (
    "The first planner against each other one, run by run with the same seeds; in brackets the "
    "95 % interval of the mean difference:"
)
FEWEST_RUNS = 6
"""Five pairs have the same sign by chance with a probability of 1/16: more than 5 %."""


@dataclass(frozen=True)
class Line:
    """A planner on a problem, against the budget."""

    problem: Choice
    planner: Choice
    runs: dict[int, dict[int, float]]  # budget -> seed -> measure

    def sample(self, budget: int) -> Floats:
        """The runs with a budget."""
        return np.array(list(self.runs[budget].values()))

    def intervals(self) -> dict[int, Interval]:
        """The mean and its interval for every budget that has runs."""
        return {n: mean_interval(self.sample(n)) for n, runs in self.runs.items() if runs}


def lines(block: Block, problem: Choice, rows: dict[str, Row]) -> list[Line]:
    """The lines of one problem of a block; runs that are missing or have failed are left out."""
    found = []
    for planner in block.planners:
        runs: dict[int, dict[int, float]] = {}
        for budget in block.budgets:
            runs[budget] = {}
            for seed in range(block.seeds):
                row = rows.get(block.cell(problem, planner, budget, seed).key)
                if row is not None and row[block.measure] is not None:
                    runs[budget][seed] = row[block.measure] - block.baseline
        found.append(Line(problem, planner, runs))
    return found


def differences(reference: Line, other: Line, sign: int = 1) -> dict[int, tuple[Interval, float]]:
    """Reference − other, paired by seed, and the probability that the reference is better.

    Better is more of the measure, or less if ``sign`` is −1.
    """
    found = {}
    for budget, runs in reference.runs.items():
        common = sorted(runs.keys() & other.runs[budget].keys())
        if common:
            ours = np.array([runs[seed] for seed in common])
            theirs = np.array([other.runs[budget][seed] for seed in common])
            found[budget] = (
                paired_difference(ours, theirs),
                probability_of_improvement(sign * ours, sign * theirs),
            )
    return found


def verdicts(block: Block, found: list[Line]) -> list[str]:
    """The first planner against each other one, at each budget, in a sentence."""
    said = []
    for other in found[1:]:
        sign = block.sign
        for budget, (difference, _) in differences(found[0], other, sign).items():
            runs = len(found[0].runs[budget].keys() & other.runs[budget].keys())
            one, two = found[0].planner.title, other.planner.title
            said.append(f"N = {budget:,}: {verdict(one, two, difference, runs, sign)}")
    return said


def verdict(one: str, two: str, difference: Interval, runs: int, sign: int = 1) -> str:
    """Whether a planner is significantly better than another one, by their paired difference.

    >>> verdict("mine", "yours", Interval(2.0, 0.5, 3.5), runs=20)
    'mine is better than yours by 2 [0.5, 3.5]'
    >>> verdict("mine", "yours", Interval(2.0, 0.5, 3.5), runs=20, sign=-1)
    'mine is worse than yours by 2 [0.5, 3.5]'
    >>> verdict("mine", "yours", Interval(2.0, -0.5, 4.5), runs=20)
    'no significant difference between mine and yours: 2 [-0.5, 4.5]'
    """
    if difference.low == difference.high == 0.0:
        return f"{one} and {two} got the same in all {runs} runs"
    if runs < FEWEST_RUNS:
        return f"too few runs ({runs}) to compare {one} and {two}: {difference}"
    if difference.low <= 0.0 <= difference.high:
        return f"no significant difference between {one} and {two}: {difference}"
    word = "better" if sign * difference.mean > 0.0 else "worse"
    if difference.mean < 0.0:
        difference = Interval(-difference.mean, -difference.high, -difference.low)
    return f"{one} is {word} than {two} by {difference}"


def across_problems(block: Block, rows: dict[str, Row]) -> dict[str, dict[int, float]]:
    """Interquartile means over all runs on all problems, for each planner and budget.

    On each problem and budget the runs are scaled so that the worst is 0 and the best 1; all are
    1 where all are alike.
    """
    scores: dict[str, dict[int, list[Floats]]] = {}
    for problem in block.problems:
        found = lines(block, problem, rows)
        for budget in block.budgets:
            samples = [block.sign * line.sample(budget) for line in found]
            everything = np.concatenate(samples)
            if not len(everything):
                continue
            best, width = everything.max(), np.ptp(everything) or 1.0
            for line, sample in zip(found, samples, strict=True):
                place = scores.setdefault(line.planner.title, {})
                place.setdefault(budget, []).append(1.0 - (best - sample) / width)
    return {
        name: {budget: interquartile_mean(np.concatenate(parts)) for budget, parts in by.items()}
        for name, by in scores.items()
    }
