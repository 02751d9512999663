"""Who does how well across problems: scores, and where a planner is worse than another.

The score of a run is (result − random) / (reference − random): 0 for random actions, 1 for the
best actions known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument
from platypoos.lab.experiments.cells import Row
from platypoos.lab.experiments.lines import Line, lines
from platypoos.lab.experiments.spec import Block, Choice, Experiment
from platypoos.markup import Table, notebook

Floats = NDArray[np.float64]

LOWEST = -1.0
"""Means of scores count no problem below this: one disaster would outweigh everything else."""
SIGNIFICANT = 0.05
"""Probability of a wrong entry in the list of one planner against one other."""
MARGIN = 0.01
"""Smaller differences of scores are not listed, significant or not."""
RESAMPLES = 1_000
LEVELS = ("smallest budget", "middle budget", "largest budget")


class Place(NamedTuple):
    """A problem with one of its budgets."""

    problem: str
    family: str
    budget: int
    level: int
    """Which of the problem's budgets, from the smallest, 0."""

    def __str__(self) -> str:
        """As lists show it."""
        return f"{self.problem}, N = {self.budget:,}"


class Worse(NamedTuple):
    """A planner is significantly worse than a rival."""

    planner: str
    rival: str
    place: Place
    difference: float
    """Mean difference of the scores; negative."""
    p: float
    """Probability of such a difference by chance, corrected for the number of places."""


@dataclass(frozen=True)
class Standings:
    """The scores of all runs; NaN where there is no run."""

    planners: tuple[str, ...]
    places: tuple[Place, ...]
    scores: Floats  # [planners, places, seeds]
    left_out: tuple[str, ...]
    """Problems without a score: random actions are as good as the best ones known."""
    apart: frozenset[str] = frozenset()
    """Families that are not counted in the mean of all, unless there are no others."""

    def means(self) -> Floats:
        """[planners, places] the mean score, at least LOWEST; NaN for those who take no part."""
        counts = np.isfinite(self.scores).sum(axis=2)
        sums = np.nansum(self.scores, axis=2)
        found = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return np.where(found < LOWEST, LOWEST, found)

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of budgets that there are."""
        return tuple(sorted({place.level for place in self.places}))

    @property
    def families(self) -> tuple[str, ...]:
        """In the order of the problems."""
        return tuple(dict.fromkeys(place.family for place in self.places))

    def by_family(self, level: int) -> dict[str, Floats]:
        """The mean score of every planner in each family, at one level of the budgets."""
        means = self.means()
        found = {}
        for family in self.families:
            chosen = [
                i for i, p in enumerate(self.places) if (p.family, p.level) == (family, level)
            ]
            if chosen:
                found[family] = mean_of_known(means[:, chosen])
        return found

    def overall(self, level: int) -> Floats:
        """The mean over the families in which a planner took part, without those apart."""
        found = self.by_family(level)
        counted = [scores for family, scores in found.items() if family not in self.apart]
        return mean_of_known(np.array(counted or list(found.values())).T)

    def _repr_html_(self) -> str:
        from platypoos.lab.experiments.standings_page import family_table

        parts: list[str | Table] = []
        for level in self.levels:
            parts += [LEVELS[level], Table(*family_table(self, level))]
        return notebook(*parts)

    def profile(self, thresholds: Floats) -> Floats:
        """[planners, thresholds] the share of places with at least such a mean score."""
        means = self.means()
        taken = np.isfinite(means)
        reached = (means[:, :, None] >= thresholds) & taken[:, :, None]
        shares: Floats = reached.sum(axis=1) / np.maximum(taken.sum(axis=1), 1)[:, None]
        return shares

    def improvement(self, ours: int, theirs: int) -> tuple[float, float, float]:
        """Probability that a run of ours is better, on a random place, and its 95 % interval.

        Ties count half. Runs are paired by seed; places are resampled.
        """
        one, other = self.scores[ours], self.scores[theirs]
        both = np.isfinite(one) & np.isfinite(other)
        better = np.where(both, (one > other) + 0.5 * (one == other), 0.0).sum(axis=1)
        counts = both.sum(axis=1)
        shares = better[counts > 0] / counts[counts > 0]
        if not len(shares):
            return math.nan, math.nan, math.nan
        rng = np.random.default_rng(0)
        drawn = shares[rng.integers(len(shares), size=(RESAMPLES, len(shares)))].mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return float(shares.mean()), float(low), float(high)

    def worse(self, planner: int, rival: int) -> list[Worse]:
        """Where a planner is significantly worse than a rival, by runs with the same seeds."""
        difference = self.scores[planner] - self.scores[rival]
        p = corrected(worse_by_chance(difference))
        found = []
        for place, chance in enumerate(p):
            if chance < SIGNIFICANT:
                mean = float(np.nanmean(difference[place]))
                if mean < -MARGIN:
                    names = self.planners[planner], self.planners[rival]
                    found.append(Worse(*names, self.places[place], mean, float(chance)))
        return found

    def all_worse(self) -> dict[str, list[Worse]]:
        """For every planner all of its entries, the largest differences first."""
        found: dict[str, list[Worse]] = {}
        for planner, name in enumerate(self.planners):
            entries = [
                entry
                for rival in range(len(self.planners))
                if rival != planner
                for entry in self.worse(planner, rival)
            ]
            found[name] = sorted(entries, key=lambda entry: entry.difference)
        return found


def mean_of_known(values: Floats) -> Floats:
    """Means over the last axis without what is missing; NaN if all is."""
    known = np.isfinite(values)
    counts = known.sum(axis=-1)
    sums = np.where(known, values, 0.0).sum(axis=-1)
    means: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def worse_by_chance(difference: Floats) -> Floats:
    """For rows of paired differences, the probability of a mean so low or lower by chance.

    A one-sided t-test, but with n pairs never below 2^−n: what one gets by turning the signs of
    the differences at random. So few pairs prove nothing, however alike they are.
    """
    from scipy import stats

    known = np.isfinite(difference)
    n = known.sum(axis=1)
    filled = np.where(known, difference, 0.0)
    some = np.maximum(n, 1)
    mean = filled.sum(axis=1) / some
    squares = np.where(known, (difference - mean[:, None]) ** 2, 0.0).sum(axis=1)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / some)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0.0, 0.0, mean / error)
    p = stats.t.cdf(t, np.maximum(n - 1, 1))
    return np.where(n > 1, np.maximum(p, 0.5**n), 1.0)


def corrected(p: Floats) -> Floats:
    """Holm's correction for as many tests as there are.

    >>> corrected(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    raised = p[order] * (len(p) - np.arange(len(p)))
    result = np.empty(len(p))
    result[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return result


def standings(experiment: Experiment, rows: dict[str, Row]) -> Standings:
    """The scores of all runs that there are."""
    found: dict[tuple[str, int], Floats] = {}
    places: list[Place] = []
    left_out: list[str] = []
    titles = [choice.title for block in experiment.blocks for choice in block.planners]
    planners = tuple(dict.fromkeys(titles))
    seeds = max(block.seeds for block in experiment.blocks)
    for block in experiment.blocks:
        for problem in block.problems:
            name = _name(block, problem)
            runs = lines(block, problem, rows)
            for level, budget in enumerate(sorted(block.budgets)):
                scale = _scale(block, runs, budget)
                if scale is None:
                    if any(line.runs[budget] for line in runs):
                        left_out.append(f"{name}, N = {budget:,}")
                    continue
                zero, width = scale
                place = Place(name, block.family or "all", budget, level)
                for line in runs:
                    scores = np.full(seeds, np.nan)
                    for seed, value in line.runs[budget].items():
                        scores[seed] = (value + block.baseline - zero) / width
                    found[line.planner.title, len(places)] = scores
                places.append(place)
    if not places:
        raise InvalidArgument("there are no runs to compare yet")
    table = np.full((len(planners), len(places), seeds), np.nan)
    for (title, place_number), scores in found.items():
        table[planners.index(title), place_number] = scores
    apart = frozenset(block.family for block in experiment.blocks if block.apart)
    return Standings(planners, tuple(places), table, tuple(left_out), apart)


def _name(block: Block, problem: Choice) -> str:
    return block.title if len(block.problems) == 1 else f"{block.title}: {problem.title}"


def _scale(block: Block, runs: list[Line], budget: int) -> tuple[float, float] | None:
    """The measure of random actions, and by how much the reference is better; None if it is not."""
    means = {
        (line.planner.name, n): line.sample(n).mean() + block.baseline
        for line in runs
        for n in line.runs
        if line.runs[n]
    }
    if not means:
        return None
    zero, one = block.random, block.reference
    if zero is None:
        zero = means.get(("random", budget))
    if zero is None:  # no random actions: the worst planner takes their place
        zero = block.sign * min(block.sign * mean for mean in means.values())
    if one is None:
        one = block.sign * max(block.sign * mean for mean in means.values())
    width = one - zero
    return (float(zero), float(width)) if block.sign * width > 0 else None
