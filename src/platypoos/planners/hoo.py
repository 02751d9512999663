"""HOO: hierarchical optimistic optimization, with sequences of actions as its arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.discounting import spans
from platypoos.models.advice import is_legal
from platypoos.planners.olop import Floats, episodes_of
from platypoos.results import Plan
from platypoos.search.base import RangePlanner, Task
from platypoos.search.growth import (
    NOBODY,
    Growth,
    begin,
    best_child,
    find_child,
    options,
    plan_by_plays,
    prune,
    random_below,
    wander,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tree import ROOT, TERMINAL, Tree


@dataclass(frozen=True, kw_only=True)
class HOO(RangePlanner):
    """A bandit over whole sequences: optimistic, but what one teaches of another goes unused.

    Use it to see what sharing samples between sequences is worth (OLOP does, HOO does not). It
    needs to know the range of the rewards, hence of the returns; wrong values are accepted.

    Reference: S. Bubeck, R. Munos, G. Stoltz, C. Szepesvári. X-armed bandits. JMLR 12, 2011; on
    sequences of actions as in Bubeck and Munos, COLT 2010.

    Symbols: Z = (reward_max − reward_min)/(1−γ); T is the number of times a node was chosen
    through, μ̂ the mean of the returns then, U = μ̂ + Z·√(2 ln n / T) + Z·γ^h,
    B = min(U, largest B of the children).

    Deviations: episodes have the number and length of OLOP's, and n is their number from the
    start, so that bounds change on the path played only. Below the node chosen, actions are
    random. A terminal node has no Z·γ^h. It recommends the most played first action.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward.
        reward_min: the smallest one.

    >>> import platypoos as pp
    >>> planner = pp.planners.HOO(discount=0.95, reward_max=130.0)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).calls
    957
    """

    name: ClassVar[str] = "hoo"
    guarantee: ClassVar[str] = "regret bound"
    uses: ClassVar[tuple[str, ...]] = ("policy",)
    citation: ClassVar[str] = "Bubeck, Munos, Stoltz, Szepesvári. X-armed bandits. JMLR 12, 2011."
    needs: ClassVar[str] = "range of returns, by that of rewards (may be wrong)"

    def _plan(self, task: Task) -> Plan:
        episodes, length = episodes_of(task, self.discount)
        sim, tree, growth = begin(task, length)
        spread = self.reward_max - self.reward_min
        widths = spread * spans(self.discount, task.horizon, length + 1)
        log = math.sqrt(2 * math.log(episodes))
        run(sim, tree, growth, episodes * length, length, self.discount, widths, log)
        return plan_by_plays(self, task, sim, tree, growth)


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    calls: int,
    length: int,
    gamma: float,
    widths: Floats,
    log: float,
) -> int:
    """Choose a node, continue at random, back up: episode after episode."""
    episodes = 0
    while calls_made(sim) + length <= calls:
        chosen = choose(tree, growth, length)
        steps = wander(tree, growth, chosen, length)
        got = play(sim, tree, growth.path[:steps], growth.rewards)
        if got < 0:
            break
        back_up(tree, growth, chosen, steps, got, gamma, widths, log)
        episodes += 1
    return episodes


@jit
def choose(tree: Tree, growth: Growth, length: int) -> int:
    """Go down by the largest B to a node that was never chosen; returns how deep."""
    tree, growth = borrowed(tree), borrowed(growth)
    node = ROOT
    for t in range(length):
        if tree.flags[node] & TERMINAL:
            return t
        chosen = 0
        child = growth.first[node]
        while child != NOBODY:
            if growth.plays[child] > 0:
                growth.marks[tree.action[child]] = node
                chosen += 1
            child = growth.sibling[child]
        if chosen < options(growth, node):
            number = random_below(growth, options(growth, node) - chosen)
            action = -1
            while number >= 0:
                action += 1
                if growth.marks[action] != node and is_legal(growth.legal, node, action):
                    number -= 1
            growth.path[t] = find_child(tree, growth, node, action)
            return t + 1
        node = best_child(growth, node)
        growth.path[t] = node
    return length


@jit
def back_up(
    tree: Tree,
    growth: Growth,
    chosen: int,
    steps: int,
    got: int,
    gamma: float,
    widths: Floats,
    log: float,
) -> None:
    """The return counts for the nodes down to the chosen one; then their U and B."""
    tree, growth = borrowed(tree), borrowed(growth)
    prune(tree, growth, got, steps)
    total = 0.0
    for t in range(steps - 1, -1, -1):
        total = growth.rewards[t] + gamma * total
    for t in range(min(chosen, got) - 1, -1, -1):
        node = growth.path[t]
        plays = growth.plays[node] + 1
        growth.plays[node] = plays
        tree.value[node] += (total - tree.value[node]) / plays
        bound = tree.value[node] + widths[0] * log / np.sqrt(plays)
        if tree.flags[node] & TERMINAL == 0:
            bound += widths[t + 1] * gamma ** (t + 1)
        chosen_children = 0
        best = -np.inf
        child = growth.first[node]
        while child != NOBODY:
            if growth.plays[child] > 0:
                chosen_children += 1
                best = max(best, growth.score[child])
            child = growth.sibling[child]
        if chosen_children == options(growth, node):
            bound = min(bound, best)
        growth.score[node] = bound
