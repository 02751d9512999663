"""KL-OLOP: open-loop optimistic planning with Kullback-Leibler bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from platypoos.checks import check_flag
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.discounting import spans
from platypoos.planners.olop import Floats, episodes_of
from platypoos.results import Plan
from platypoos.search.base import RangePlanner, Task
from platypoos.search.growth import (
    Growth,
    begin,
    best_score,
    descend,
    options,
    plan_by_plays,
    prune,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tree import TERMINAL, Tree


@dataclass(frozen=True, kw_only=True)
class KLOLOP(RangePlanner):
    """OLOP with bounds that never exceed the largest reward: much less exploration in practice.

    Use it when the range of the rewards, noise included, is known. Wrong values are accepted:
    means outside the range are taken as at its ends.

    Reference: E. Leurent, O.-A. Maillard. Practical open-loop optimistic planning. ECML-PKDD
    2019.

    Symbols: M and L as in OLOP, T is ``Tree.pulls``, μ̂ ``Tree.reward`` scaled to [0, 1], the
    bound is the largest q with T·kl(μ̂, q) ≤ f(M). f is ln M in practice (the default), and
    2 ln M + 2 ln ln M with ``guaranteed=True``, as the paper's analysis asks.

    Deviations: after a terminal state nothing is expected any more; calls saved by episodes that
    end early are spent on further ones; equally often played first actions are told apart by
    their estimated value.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward, noise included.
        reward_min: the smallest one.
        guaranteed: the larger exploration of the analysis.

    >>> import platypoos as pp
    >>> planner = pp.planners.KLOLOP(discount=0.95, reward_max=130.0)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).calls
    957
    """

    guaranteed: bool = False

    name: ClassVar[str] = "kl-olop"
    guarantee: ClassVar[str] = "regret bound if guaranteed=True"
    uses: ClassVar[tuple[str, ...]] = ("policy",)
    citation: ClassVar[str] = (
        "Leurent, Maillard. Practical open-loop optimistic planning. ECML-PKDD 2019."
    )
    needs: ClassVar[str] = "reward range, noise included (may be wrong)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("guaranteed", self.guaranteed)

    def _plan(self, task: Task) -> Plan:
        episodes, length = episodes_of(task, self.discount)
        sim, tree, growth = begin(task, length)
        threshold = math.log(episodes)
        if self.guaranteed and episodes > 2:
            threshold = 2 * threshold + 2 * math.log(threshold)
        tails = self.reward_max * spans(self.discount, task.horizon, length + 1)
        bounds = Bounds(self.discount, threshold, self.reward_min, self.reward_max, tails)
        run(sim, tree, growth, episodes * length, length, bounds)
        return plan_by_plays(self, task, sim, tree, growth)


class Bounds(NamedTuple):
    """What upper bounds are made of."""

    gamma: float
    threshold: float  # of the Kullback–Leibler divergence, times the number of samples
    low: float  # the range of rewards
    high: float
    tails: Floats  # [length + 1] the most that can come from a depth on


@Driver
def run(sim: Any, tree: Tree, growth: Growth, calls: int, length: int, bounds: Bounds) -> int:
    """Play episode after episode."""
    episodes = 0
    while calls_made(sim) + length <= calls:
        steps = descend(tree, growth, 0, length)
        got = play(sim, tree, growth.path[:steps], growth.rewards)
        if got < 0:
            break
        back_up(tree, growth, steps, got, length, bounds)
        episodes += 1
    return episodes


@jit
def back_up(tree: Tree, growth: Growth, steps: int, got: int, length: int, bounds: Bounds) -> None:
    """Bounds along the path just played: q + γ·(the best child's), the most if one is not tried."""
    tree, growth = borrowed(tree), borrowed(growth)
    low, width = bounds.low, bounds.high - bounds.low
    prune(tree, growth, got, steps)
    for t in range(got - 1, -1, -1):
        node = growth.path[t]
        rest = bounds.tails[t + 1]
        if tree.flags[node] & TERMINAL:
            rest = 0.0
        elif t + 1 < length and growth.children[node] == options(growth, node):
            rest = best_score(growth, node)
        mean = (tree.reward[node] - low) / width
        bound = kl_upper_bound(min(1.0, max(0.0, mean)), bounds.threshold / tree.pulls[node])
        growth.score[node] = low + width * bound + bounds.gamma * rest


@inlined
def kl_upper_bound(mean: float, radius: float) -> float:
    """The largest q in [mean, 1] with kl(mean, q) ≤ radius, of Bernoulli laws.

    kl is convex in q, so Newton's iteration comes down to the root from any point above it. Two
    are known: Pinsker's, and the one that leaves out mean·ln(1/q).
    """
    if mean >= 1.0:
        return 1.0
    if radius <= 0.0:
        return mean
    entropy = -(1.0 - mean) * np.log1p(-mean)
    if mean > 0.0:
        entropy -= mean * np.log(mean)
    q = 1.0 - np.exp(-(radius + entropy) / (1.0 - mean))
    q = min(q, mean + np.sqrt(0.5 * radius))
    for _ in range(30):
        if q >= 1.0:
            return 1.0
        excess = -entropy - (1.0 - mean) * np.log1p(-q) - radius
        if mean > 0.0:
            excess -= mean * np.log(q)
        step = excess * q * (1.0 - q) / (q - mean)
        q -= step
        if step < 1e-12:
            break
    return float(max(q, mean))
