"""Statistics of runs: intervals, paired differences, and summaries across problems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """As tables show it."""
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_interval(sample: Floats) -> Interval:
    """The mean of runs, with its 95 % bootstrap interval."""
    mean = float(np.mean(sample))
    if len(sample) < 2 or np.ptp(sample) == 0:
        return Interval(mean, mean, mean)
    from scipy import stats

    found = stats.bootstrap(
        (sample,), np.mean, n_resamples=2_000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return Interval(mean, float(found.low), float(found.high))


def paired_difference(ours: Floats, theirs: Floats) -> Interval:
    """The mean of ours − theirs, run by run (same seeds), with its interval."""
    return mean_interval(np.asarray(ours) - np.asarray(theirs))


def probability_of_improvement(ours: Floats, theirs: Floats) -> float:
    """How likely a run of ours is better than one of theirs; ties count half."""
    from scipy import stats

    statistic = stats.mannwhitneyu(ours, theirs).statistic
    return float(statistic / (len(ours) * len(theirs)))


def interquartile_mean(scores: Floats) -> float:
    """The mean of the middle half of all runs on all problems."""
    from scipy import stats

    return float(stats.trim_mean(np.ravel(scores), 0.25))
