"""BRUE: best recommendation with uniform exploration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos.checks import check_count
from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.planners.closed_loop.brue import plan_by_brue
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.growth import (
    NOBODY,
    Growth,
    begin,
    find_child,
    finish,
    follow_scores,
    new_child,
    options,
    prune,
    random_action,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree


@dataclass(frozen=True, kw_only=True)
class BRUE(Planner):
    """Explores at random down to a switching point, and estimates what is best from there on.

    Use it when only the final recommendation matters and no scale is known. It needs to know a
    horizon, which may be wrong.

    Reference: Z. Feldman, C. Domshlak. Simple regret optimization in online planning for Markov
    decision processes. JAIR 51, 2014.

    Symbols: H is ``horizon``; in walk i the switch is σ = H − ((i−1) mod H); Q̂ is
    ``Tree.value``, the mean over the walks that had their switch at the node.

    Where dynamics are random and states can be stored, it reacts to chance, as published: a node
    is a state after so many steps, however it was reached.

    Deviations: the action at the switch is drawn among those updated least often, so that none
    is left out. H is at most √(N/K), so that the switch comes to the first step often enough to
    update every first action; where it reacts to chance at most (N/K)^¼, which was far better. With
    deterministic dynamics, and by RESET, a node is a sequence of actions.

    Args:
        discount: γ, in [0, 1).
        horizon: H, the length of a walk.

    >>> import platypoos as pp
    >>> planner = pp.planners.BRUE(discount=0.8, horizon=20)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=5_000, seed=0).action
    0
    """

    horizon: int

    name: ClassVar[str] = "brue"
    guarantee: ClassVar[str] = "regret bound"
    citation: ClassVar[str] = (
        "Feldman, Domshlak. Simple regret optimization in online planning for Markov decision "
        "processes. JAIR 51, 2014."
    )
    needs: ClassVar[str] = "horizon (may be wrong)"
    uses: ClassVar[tuple[str, ...]] = ("value", "policy")
    reacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "horizon", check_count("horizon", self.horizon))

    def _plan(self, task: Task) -> Plan:
        if task.has_chance:
            return plan_by_brue(self, task)
        steps = min(self.horizon, math.isqrt(task.budget // task.num_actions))
        horizon = task.within_horizon(steps)
        sim, tree, growth = begin(task, horizon)
        run(sim, tree, growth, task.budget, horizon, self.discount)
        size = tree.num_nodes
        growth.score[:size] = np.where(growth.plays[:size] > 0, tree.value[:size], -np.inf)
        values = np.where(growth.plays[:size] > 0, tree.value[:size], np.nan)
        return finish(self, task, sim, tree, follow_scores(tree, growth, ROOT), values)


@Driver
def run(sim: Any, tree: Tree, growth: Growth, budget: int, horizon: int, gamma: float) -> int:
    """Walk after walk, the switch one step earlier each time."""
    walks = 0
    while calls_made(sim) + horizon <= budget:
        switch = horizon - 1 - walks % horizon
        steps = choose(tree, growth, switch, horizon)
        got = play(sim, tree, growth.path[:steps], growth.rewards)
        if got < 0:
            break
        update(tree, growth, switch, steps, got, gamma)
        walks += 1
    return walks


@jit
def choose(tree: Tree, growth: Growth, switch: int, horizon: int) -> int:
    """Random before the switch, least updated at it, greedy after it; returns the length."""
    tree, growth = borrowed(tree), borrowed(growth)
    node = ROOT
    for t in range(horizon):
        if tree.flags[node] & TERMINAL:
            return t
        if t < switch:
            node = find_child(tree, growth, node, random_action(growth, node))
        elif t == switch and growth.children[node] < options(growth, node):
            node = new_child(tree, growth, node)
        else:
            best = NOBODY
            child = int(growth.first[node])
            while child != NOBODY:
                if t == switch:  # fewest updates
                    better = growth.plays[child] < growth.plays[best]
                    tied = growth.plays[child] == growth.plays[best]
                else:  # largest Q̂
                    better = tree.value[child] > tree.value[best]
                    tied = tree.value[child] == tree.value[best]
                known = t == switch or growth.plays[child] > 0
                if known and (
                    best == NOBODY
                    or better
                    or (tied and ticket(growth.seed, child) > ticket(growth.seed, best))
                ):
                    best = child
                child = int(growth.sibling[child])
            if best == NOBODY:  # no Q̂ yet
                best = find_child(tree, growth, node, random_action(growth, node))
            node = best
        growth.path[t] = node
    return horizon


@jit
def update(tree: Tree, growth: Growth, switch: int, steps: int, got: int, gamma: float) -> None:
    """The return from the switch on counts for the node at the switch, and for no other."""
    tree, growth = borrowed(tree), borrowed(growth)
    prune(tree, growth, got, steps)
    if switch >= got:
        return
    total = growth.rewards[steps]
    for t in range(got - 1, switch - 1, -1):
        total = growth.rewards[t] + gamma * total
    node = growth.path[switch]
    growth.plays[node] += 1
    tree.value[node] += (total - tree.value[node]) / growth.plays[node]
