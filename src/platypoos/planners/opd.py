"""OPD: optimistic planning for deterministic systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import RangePlanner, Task
from platypoos.search.frontier import (
    NOBODY,
    Frontier,
    best_node,
    make_frontier,
    open_leaf,
    plan_of_node,
    push,
    replace_top,
    top_leaf,
)
from platypoos.trees.tree import ROOT, TERMINAL, Tree, set_root


@dataclass(frozen=True, kw_only=True)
class OPD(RangePlanner):
    """Opens the leaf with the largest upper bound on its value; for rewards without noise.

    Use it when there is no noise and the largest reward is known well: its regret is at most
    R·γ^d/(1−γ), d being the depth of the deepest leaf it opened. It needs to know the range of
    the rewards. Too large a range is accepted and makes it breadth-first; with too small a one
    it may never look where the best is.

    Reference: J.-F. Hren, R. Munos. Optimistic planning of deterministic systems. EWRL 2008.

    Symbols: u is ``Tree.value``, R = reward_max − reward_min; the bound is
    u + γ^h·reward_max/(1−γ).

    Deviations: rewards may be negative; it recommends the sequence with the best lower bound,
    u + γ^h·reward_min/(1−γ), which is the paper's if reward_min is 0. It stops before the budget
    is spent when a terminal leaf has the largest bound: nothing can be better.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward.
        reward_min: the smallest one.

    >>> import platypoos as pp
    >>> planner = pp.planners.OPD(discount=0.95, reward_max=130.0)
    >>> planner.plan(pp.problems.SwitchChain(), budget=10_000, seed=0).action
    0
    """

    name: ClassVar[str] = "opd"
    workers: ClassVar[str] = "few"
    guarantee: ClassVar[str] = "regret bound without noise"
    citation: ClassVar[str] = (
        "Hren, Munos. Optimistic planning of deterministic systems. EWRL 2008."
    )
    needs: ClassVar[str] = "reward range (may be too wide), that there is no noise"

    def _plan(self, task: Task) -> Plan:
        capacity = task.budget + 1
        sim, tree = task.begin(capacity)
        frontier = make_frontier(self, task, sim, 1, capacity)
        reset = task.access is Access.RESET
        deepest = task.within_horizon(task.budget)
        run(sim, tree, frontier, task.budget, reset, self.discount, self.reward_max, deepest)
        node = best_node(tree, frontier, self.discount, self.reward_min)
        return plan_of_node(self, task, sim, tree, frontier, node, self.reward_min)


@Driver
def run(
    sim: Any,
    tree: Tree,
    frontier: Frontier,
    budget: int,
    reset: bool,
    gamma: float,
    reward_max: float,
    deepest: int,
) -> int:
    """Open the leaf with the largest bound, again and again; returns how many were opened."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    set_root(tree)
    node = ROOT
    opened = 0
    while True:
        first = open_leaf(sim, tree, frontier, node, budget, reset, gamma)
        if first == NOBODY:
            break
        node = replace_best(tree, frontier, first, gamma, reward_max)
        opened += 1
        if tree.flags[node] & TERMINAL or tree.depth[node] >= deepest:
            break
    return opened


@jit
def replace_best(
    tree: Tree, frontier: Frontier, first: int, gamma: float, reward_max: float
) -> int:
    """Put the children just evaluated in the place of their parent; returns the best leaf."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    parent = tree.parent[first]
    depth = tree.depth[parent]
    weight = frontier.power[depth]
    tail = weight * gamma * reward_max * frontier.span[depth + 1]
    for child in range(first, tree.size[0]):
        value = tree.value[parent] + weight * tree.reward[child]
        tree.value[child] = value
        bound = value if tree.flags[child] & TERMINAL else value + tail
        if child == first and parent != ROOT:
            replace_top(frontier, 0, child, bound)
        else:
            push(frontier, 0, child, bound)
    return top_leaf(frontier, 0)
