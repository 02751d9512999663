"""OLOP: open-loop optimistic planning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_number
from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.discounting import spans
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

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OLOP(RangePlanner):
    """Plays the sequence of actions with the best upper confidence bound, again and again.

    Use it to compare with, or when the ranges of rewards and noise are known. It needs to know
    the largest mean reward and the width of the noise. Wrong values are accepted: too small ones
    make it overlook, too large ones make it explore without end.

    Reference: S. Bubeck, R. Munos. Open-loop optimistic planning. COLT 2010.

    Symbols: n is ``budget``, M the number of episodes and L their length
    (:func:`episodes_and_length`), T ``Tree.pulls``, μ̂ ``Tree.reward``.

    Deviations:
        - The confidence width is multiplied by ``noise``, as in the experiments of Bartlett et
          al. (ICML 2019): rewards need not lie in [0, 1].
        - Of all sequences with the largest bound, the one whose suffixes have the largest bounds
          is played; what is still tied is decided by chance.
        - After a terminal state nothing is expected any more. Calls saved by episodes that end
          early are spent on further episodes.
        - If fewer episodes than actions fit the budget, they are shorter.
        - Equally often played first actions are told apart by their estimated value.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest mean reward.
        reward_min: the smallest one.
        noise: width of the confidence intervals; None for reward_max − reward_min.

    >>> import platypoos as pp
    >>> planner = pp.planners.OLOP(discount=0.95, reward_max=130.0, noise=0.1)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).calls
    957
    """

    noise: float | None = None

    name: ClassVar[str] = "olop"
    guarantee: ClassVar[str] = "regret bound"
    uses: ClassVar[tuple[str, ...]] = ("policy",)
    citation: ClassVar[str] = "Bubeck, Munos. Open-loop optimistic planning. COLT 2010."
    needs: ClassVar[str] = "reward range, noise range (may be wrong)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            object.__setattr__(self, "noise", check_number("noise", self.noise, least=0))

    def _plan(self, task: Task) -> Plan:
        episodes, length = episodes_of(task, self.discount)
        sim, tree, growth = begin(task, length)
        noise = self.reward_max - self.reward_min if self.noise is None else self.noise
        width = noise * math.sqrt(2 * math.log(episodes))
        tails = self.reward_max * spans(self.discount, task.horizon, length + 1)
        run(sim, tree, growth, episodes * length, length, self.discount, width, tails)
        return plan_by_plays(self, task, sim, tree, growth)


def episodes_of(task: Task, discount: float) -> tuple[int, int]:
    """How many episodes of which length; with a horizon they go up to it if calls allow that."""
    if task.horizon is None:
        return episodes_and_length(task.budget, task.num_actions, discount)
    most = max(1, task.budget // task.num_actions)
    if discount < 1.0:
        most = episodes_and_length(task.budget, task.num_actions, discount)[1]
    length = min(task.horizon, most)
    return task.budget // length, length


def episodes_and_length(budget: int, num_actions: int, discount: float) -> tuple[int, int]:
    """The largest M with M·L ≤ budget, L = max(1, ⌈ln M / (2 ln 1/γ)⌉); and L.

    If M is below the number of actions, episodes are shortened so that each can be tried.

    >>> [episodes_and_length(budget, 2, 0.95) for budget in (1_000, 10_000, 100_000)]
    [(29, 33), (192, 52), (1408, 71)]
    """

    def length(episodes: int) -> int:
        if discount == 0.0:
            return 1
        return max(1, math.ceil(math.log(episodes) / (-2 * math.log(discount))))

    fits, too_many = 1, budget + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if middle * length(middle) <= budget:
            fits = middle
        else:
            too_many = middle
    if fits < num_actions:
        shorter = budget // num_actions
        return budget // shorter, shorter
    return fits, length(fits)


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    budget: int,
    length: int,
    gamma: float,
    width: float,
    tails: Floats,
) -> int:
    """Play episode after episode."""
    episodes = 0
    while calls_made(sim) + length <= budget:
        steps = descend(tree, growth, 0, length)
        got = play(sim, tree, growth.path[:steps], growth.rewards)
        if got < 0:
            break
        back_up(tree, growth, steps, got, length, gamma, width, tails)
        episodes += 1
    return episodes


@jit
def back_up(
    tree: Tree,
    growth: Growth,
    steps: int,
    got: int,
    length: int,
    gamma: float,
    width: float,
    tails: Floats,
) -> None:
    """Bounds along the path just played; those elsewhere have not changed.

    W(a) is the bound on what follows a, in units of its own depth: at most R/(1−γ), and at most
    the best of its children's μ̂ + w·√(2 ln M / T) + γ·W. Going down by the largest of these is
    to play the sequence whose smallest bound over its prefixes (B in the paper) is largest.
    """
    tree, growth = borrowed(tree), borrowed(growth)
    prune(tree, growth, got, steps)
    for t in range(got - 1, -1, -1):
        node = growth.path[t]
        tail = rest = tails[t + 1]
        if tree.flags[node] & TERMINAL:
            rest = 0.0
        elif t + 1 < length and growth.children[node] == options(growth, node):
            rest = min(tail, best_score(growth, node))
        bonus = width / np.sqrt(tree.pulls[node])
        growth.score[node] = tree.reward[node] + bonus + gamma * rest
