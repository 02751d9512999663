"""OP-MDP: optimistic planning for Markov decision processes with known probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count
from platypoos.compile import borrowed, jit
from platypoos.discounting import spans
from platypoos.errors import InvalidArgument
from platypoos.ledger.tickets import ticket
from platypoos.ledger.tree import OPENED, ROOT, TERMINAL, Tree, set_node, set_root
from platypoos.plan import Plan
from platypoos.planners.opd import OPD
from platypoos.search.base import RangePlanner, Task
from platypoos.search.growth import finish

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OPMDP(RangePlanner):
    """Optimistic planning where the next state is random, with probabilities that are known.

    Use it when the model can list its successors: ``successors(state, action)`` returns
    (probability, state, reward) triples, or with a fourth entry for whether the episode ends;
    ``max_successors`` says how many there are at most. Each counts as one call. A model without
    that is taken as deterministic, and then OP-MDP is OPD. It needs to know the range of the
    rewards, which may be too wide. States are only handed back to ``successors``: any access
    will do.

    Reference: L. Buşoniu, R. Munos. Optimistic planning for Markov decision processes. AISTATS
    2012.

    Symbols: the bounds of a leaf's value are reward_min/(1−γ) and reward_max/(1−γ); both are
    backed up through expectations and maxima. Of the leaves of the optimistic subtree (follow
    the actions with the largest upper bound) the one with the largest P·γ^d is expanded.

    Deviations: from memory of the literature. It recommends the action with the largest lower
    bound, and stops early when the optimistic subtree has no leaf left to expand.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward.
        reward_min: the smallest one.

    >>> import platypoos as pp
    >>> planner = pp.OPMDP(discount=0.95, reward_max=130.0)
    >>> planner.plan(pp.problems.SwitchChain(), budget=10_000, seed=0).action
    0
    """

    name: ClassVar[str] = "op-mdp"
    citation: ClassVar[str] = (
        "Buşoniu, Munos. Optimistic planning for Markov decision processes. AISTATS 2012."
    )
    needs: ClassVar[str] = "reward range (may be too wide), transition probabilities, no noise"

    def _branches(self, model: Any) -> bool:
        return hasattr(model, "successors")

    def _plan(self, task: Task) -> Plan:
        if not hasattr(task.model, "successors"):
            known = OPD(self.discount, reward_max=self.reward_max, reward_min=self.reward_min)
            return known._plan(task)  # noqa: SLF001  a planner like this one
        most = check_count("max_successors", getattr(task.model, "max_successors", None))
        widest = task.num_actions * most
        if task.budget < widest:
            raise InvalidArgument(
                f"budget {task.budget} is below the {widest} successors of one state; pass a "
                f"budget of at least {widest}"
            )
        capacity = task.budget + 1
        sim, tree = task.begin(capacity)
        chances = Chances(
            first=np.empty(capacity, np.int64),
            children=np.zeros(capacity, np.int64),
            chance=np.ones(capacity),
            low=np.empty(capacity),
            high=np.empty(capacity),
            promise=np.empty(capacity),
            span=spans(self.discount, task.horizon, capacity + 1),
            num_actions=task.num_actions,
            seed=task.tie_seed(),
        )
        gamma, low, high = self.discount, self.reward_min, self.reward_max
        set_root(tree)
        set_leaf(tree, chances, ROOT, 1.0, low, high)
        while chances.promise[ROOT] >= 0.0 and sim.calls + widest <= task.budget:
            node = int(most_promising(tree, chances, gamma))
            expand(sim, tree, chances, node, most, task.horizon)
            back_up(tree, chances, node, gamma, low, high)
        best = recommended(tree, chances, gamma)
        return finish(self, task, sim, tree, best, tree.value, floor=low)


class Chances(NamedTuple):
    """The children of every node, and what is known of it."""

    first: Ints  # [capacity] children are next to each other, by action…
    children: Ints  # [capacity] …and their number
    chance: Floats  # [capacity] probability of a node, given its parent and the action
    low: Floats  # [capacity] bounds of the value from a node on
    high: Floats  # [capacity]
    promise: Floats  # [capacity] largest P·γ^d of a leaf in the optimistic subtree; −1 if none
    span: Floats  # [capacity + 1] worth of a reward of 1 at every step from a depth on
    num_actions: int
    seed: int


def expand(
    sim: Any, tree: Tree, chances: Chances, node: int, most: int, horizon: int | None
) -> None:
    """Make the children of a node: all successors by all legal actions."""
    tree.flags[node] |= OPENED
    first = child = tree.num_nodes
    depth = int(tree.depth[node]) + 1
    for action in sim.legal_actions(node):
        for chance, state, reward, ended in sim.successors(node, action, most):
            set_node(tree, child, node, action, depth, 0)
            tree.reward[child] = reward
            tree.pulls[child] = 1
            if ended or depth == horizon:
                tree.flags[child] |= TERMINAL
            chances.chance[child] = chance
            sim.states[child] = state
            child += 1
            tree.size[0] = child
    chances.first[node] = first
    chances.children[node] = child - first


@jit
def set_leaf(
    tree: Tree, chances: Chances, node: int, weight: float, low: float, high: float
) -> None:
    """A leaf's bounds; ``weight`` is P·γ^d. After the end of an episode nothing comes."""
    chances.children[node] = 0
    if tree.flags[node] & TERMINAL:
        chances.low[node] = chances.high[node] = 0.0
        chances.promise[node] = -1.0
    else:
        chances.low[node] = low * chances.span[tree.depth[node]]
        chances.high[node] = high * chances.span[tree.depth[node]]
        chances.promise[node] = weight


@jit
def optimistic(tree: Tree, chances: Chances, node: int, gamma: float) -> tuple[int, float, float]:
    """The first successor by the optimistic action, its upper bound, the best lower bound."""
    tree, chances = borrowed(tree), borrowed(chances)
    start = chances.first[node]
    end = start + chances.children[node]
    best, most, sure = start, -np.inf, -np.inf
    while start < end:
        child = start
        low = high = 0.0
        while child < end and tree.action[child] == tree.action[start]:
            low += chances.chance[child] * (tree.reward[child] + gamma * chances.low[child])
            high += chances.chance[child] * (tree.reward[child] + gamma * chances.high[child])
            child += 1
        if high > most or (
            high == most and ticket(chances.seed, start) > ticket(chances.seed, best)
        ):
            best, most = start, high
        sure = max(sure, low)
        start = child
    return best, most, sure


@jit
def best_promise(tree: Tree, chances: Chances, node: int, start: int) -> int:
    """Of the successors by one action, the one above the most promising leaf."""
    best = start
    child = start + 1
    while (
        child < chances.first[node] + chances.children[node]
        and tree.action[child] == tree.action[start]
    ):
        if chances.promise[child] > chances.promise[best]:
            best = child
        child += 1
    return best


@jit
def most_promising(tree: Tree, chances: Chances, gamma: float) -> int:
    """The leaf of the optimistic subtree with the largest P·γ^d."""
    tree, chances = borrowed(tree), borrowed(chances)
    node = ROOT
    while chances.children[node] > 0:
        start = optimistic(tree, chances, node, gamma)[0]
        node = best_promise(tree, chances, node, start)
    return node


@jit
def back_up(tree: Tree, chances: Chances, node: int, gamma: float, low: float, high: float) -> None:
    """The new leaves' bounds, and those of the nodes above them."""
    tree, chances = borrowed(tree), borrowed(chances)
    weight = chances.promise[node] * gamma
    for child in range(chances.first[node], chances.first[node] + chances.children[node]):
        set_leaf(tree, chances, child, weight * chances.chance[child], low, high)
    while True:
        start, chances.high[node], chances.low[node] = optimistic(tree, chances, node, gamma)
        chances.promise[node] = chances.promise[best_promise(tree, chances, node, start)]
        if node == ROOT:
            return
        node = tree.parent[node]


@jit
def recommended(tree: Tree, chances: Chances, gamma: float) -> int:
    """The first successor by the action with the largest lower bound, which becomes its value."""
    best, most = -1, -np.inf
    start = chances.first[ROOT]
    end = start + chances.children[ROOT]
    while start < end:
        low = 0.0
        child = start
        while child < end and tree.action[child] == tree.action[start]:
            low += chances.chance[child] * (tree.reward[child] + gamma * chances.low[child])
            child += 1
        for outcome in range(start, child):
            tree.value[outcome] = low
        if (
            best < 0
            or low > most
            or (low == most and ticket(chances.seed, start) > ticket(chances.seed, best))
        ):
            best, most = start, low
        start = child
    return best
