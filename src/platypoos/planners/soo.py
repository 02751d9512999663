"""SOO: simultaneous optimistic optimization, on the planning tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos.checks import check_floor
from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.frontier import (
    NOBODY,
    Frontier,
    best_node,
    make_frontier,
    open_leaf,
    plan_of_node,
    pop,
    push,
    steps_value,
    top_key,
)
from platypoos.search.growth import find_floor
from platypoos.trees.tree import ROOT, TERMINAL, Tree, set_root


@dataclass(frozen=True)
class SOO(Planner):
    """Opens the best leaf of every depth that beats all shallower ones; for rewards without noise.

    Use it to compare with SequOOL, which spends the same budget in one sweep down. It needs to
    know nothing but that there is no noise.

    Reference: R. Munos. Optimistic optimization of a deterministic function without the knowledge
    of its smoothness. NIPS 2011.

    Symbols: h_max = ⌊√N⌋; the value of a node is u, the rewards collected on the way to it
    (``Tree.value``).

    Deviations: in planning a deeper node has collected more rewards, so with rewards counted
    from 0 up the deepest leaves win the comparison across depths, and every sweep goes all the
    way down. Values are counted from ``reward_floor`` for that comparison, so that this is so
    whatever the rewards' sign. It stops early when there is nothing left to open down to h_max.

    Args:
        discount: γ, in [0, 1).
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.

    >>> import platypoos as pp
    >>> planner = pp.planners.SOO(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(), budget=10_000, seed=0).action
    0
    """

    reward_floor: float | None = None

    name: ClassVar[str] = "soo"
    workers: ClassVar[str] = "few"
    guarantee: ClassVar[str] = "regret bound without noise"
    citation: ClassVar[str] = (
        "Munos. Optimistic optimization of a deterministic function without the knowledge of its "
        "smoothness. NIPS 2011."
    )
    needs: ClassVar[str] = "that there is no noise"
    uses: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_floor(self.reward_floor)

    def _plan(self, task: Task) -> Plan:
        h_max = min(math.isqrt(task.budget), task.within_horizon(task.budget) - 1)
        sim, tree = task.begin(task.budget + 1)
        frontier = make_frontier(self, task, sim, h_max + 2, task.budget + 1)
        floor = check_floor(self.reward_floor)
        reset = task.access is Access.RESET
        run(sim, tree, frontier, task.budget, reset, self.discount, floor, h_max)
        if np.isnan(floor):
            floor = float(find_floor(tree))
        node = best_node(tree, frontier, self.discount, floor)
        return plan_of_node(self, task, sim, tree, frontier, node, floor)


@Driver
def run(
    sim: Any,
    tree: Tree,
    frontier: Frontier,
    budget: int,
    reset: bool,
    gamma: float,
    given_floor: float,
    h_max: int,
) -> int:
    """Sweep down the depths again and again; returns the number of sweeps."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    set_root(tree)
    floor = np.inf  # the smallest reward seen
    deepest = 1
    sweeps = 0
    h = 0
    most = -np.inf
    node = ROOT
    while node != NOBODY or sweeps == 0:
        first = open_leaf(sim, tree, frontier, node, budget, reset, gamma)
        if first == NOBODY:
            break
        floor = push_leaves(tree, frontier, first, h, floor)
        deepest = max(deepest, h + 1)
        # The next depth of this sweep whose best leaf beats those opened; else a new sweep.
        used = floor if np.isnan(given_floor) else given_floor
        last = min(deepest, h_max)
        h, node, most = next_leaf(frontier, h + 1, last, most, gamma, used)
        if node == NOBODY:
            sweeps += 1
            h, node, most = next_leaf(frontier, 1, last, -np.inf, gamma, used)
    return sweeps


@jit
def push_leaves(tree: Tree, frontier: Frontier, first: int, h: int, floor: float) -> float:
    """The children just evaluated wait in the heap of their depth; returns the new floor."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    weight, value = frontier.power[h], tree.value[tree.parent[first]]
    for child in range(first, tree.size[0]):
        tree.value[child] = value + weight * tree.reward[child]
        floor = min(floor, tree.reward[child])
        if tree.flags[child] & TERMINAL:
            floor = min(floor, 0.0)
        else:
            key = tree.value[child]
            if len(frontier.worth) > 0:
                key += frontier.power[h + 1] * frontier.worth[child]
            push(frontier, h + 1, child, key)
    return floor


@jit
def next_leaf(
    frontier: Frontier, h: int, last: int, most: float, gamma: float, floor: float
) -> tuple[int, int, float]:
    """From depth h on, the first best leaf worth at least ``most``: depth, leaf, its worth."""
    frontier = borrowed(frontier)
    while h <= last:
        if frontier.size[h] > 0:
            value = top_key(frontier, h)
            worth = value
            if len(frontier.worth) == 0:
                worth -= floor * steps_value(frontier, h, gamma)
            if worth >= most:
                return h, pop(frontier, h), worth
        h += 1
    return h, NOBODY, most
