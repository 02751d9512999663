"""BAI-MCTS: Monte-Carlo tree search by best-arm identification."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.discounting import span
from platypoos.errors import InvalidArgument
from platypoos.planners.closed_loop.bai_mcts import plan_by_bai
from platypoos.results import Plan
from platypoos.search.base import RangePlanner, Task
from platypoos.search.growth import (
    NOBODY,
    Growth,
    begin_opened,
    descend,
    finish,
    follow_scores,
    options,
    prune,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class BAIMCTS(RangePlanner):
    """Finds the best first action of a tree of fixed depth by confidence intervals of its leaves.

    Use it to stop as soon as the first action is known to be good: with ``epsilon`` it ends when
    the action is within that of the best, with probability 1 − ``delta``. It needs to know the
    range of the rewards and a depth. A wrong range is accepted, but the confidence is then void.

    Reference: E. Kaufmann, W. Koolen. Monte-Carlo tree search by best arm identification. NIPS
    2017; on UGapE: V. Gabillon, M. Ghavamzadeh, A. Lazaric. NIPS 2012; on LUCB: S. Kalyanakrishnan
    et al. ICML 2012.

    Symbols: the interval of a leaf that was drawn N times is μ̂ ± Z·√(β(N)/(2N)), Z being the
    width of the returns' range, and
    β(N) = ln(|leaves|/δ) + 3 ln ln(|leaves|/δ) + (3/2) ln(ln N + 1).

    Where dynamics are random and states can be stored, it reacts to chance. A node is a state after
    so many steps, and the interval of an action has Hoeffding's radius Z·√(β(N)/(2N)) around what
    is known of the N outcomes that were seen, Z being the range of the returns from there. This is
    as in A. Jonsson et al. Planning in Markov decision processes with gap-dependent sample
    complexity. NeurIPS 2020. (There, intervals follow from relative entropies.) The
    number of leaves is taken to be (BK)^D, B being the most outcomes of an action so far; so the
    confidence is approximate.

    Deviations: the constants are from memory of the literature. A leaf that was never drawn has
    the whole range of the returns as its interval; every first action is drawn once at first. If
    the budget does not allow a walk of ``depth`` steps for every action, the tree is less deep.
    The ε and δ are for the values of the tree: what comes after its leaves is not counted. When
    the budget is met first it recommends the action with the best estimate.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward, noise included.
        reward_min: the smallest one.
        depth: of the tree; to draw a leaf takes ``depth`` calls.
        epsilon: how good the action must be; 0 to go on until it is the best for sure.
        delta: how likely it may be that it is not.
        rule: "ugape" or "lucb".

    >>> import platypoos as pp
    >>> planner = pp.planners.BAIMCTS(discount=0.5, reward_max=1.0, depth=4)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=0), budget=10_000, seed=0).calls
    10000
    """

    depth: int
    epsilon: float = 0.0
    delta: float = 0.1
    rule: Literal["ugape", "lucb"] = "ugape"

    name: ClassVar[str] = "bai-mcts"
    guarantee: ClassVar[str] = "accuracy"
    citation: ClassVar[str] = (
        "Kaufmann, Koolen. Monte-Carlo tree search by best arm identification. NIPS 2017."
    )
    needs: ClassVar[str] = "reward range, noise included (may be wrong); depth; or ε and δ"
    reacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "depth", check_count("depth", self.depth))
        object.__setattr__(self, "epsilon", check_number("epsilon", self.epsilon, least=0))
        object.__setattr__(self, "delta", check_number("delta", self.delta, above=1e-12, below=1))
        if self.rule not in {"ugape", "lucb"}:
            raise InvalidArgument(f'rule must be "ugape" or "lucb", got {self.rule!r}')

    def _plan(self, task: Task) -> Plan:
        if task.has_chance:
            return plan_by_bai(self, task)
        depth = task.within_horizon(min(self.depth, task.budget // task.num_actions))
        sim, tree, growth = begin_opened(task, depth)
        gamma = self.discount
        steps = span(gamma, depth)
        low, high = self.reward_min * steps, self.reward_max * steps
        leaves = max(1.0, depth * math.log(task.num_actions) - math.log(self.delta))  # ln(…/δ)
        intervals = Intervals(
            low=np.full(task.budget + 1, low),
            high=growth.score,
            least=low,
            most=high,
            base=leaves + 3 * math.log(leaves),
        )
        growth.score[1 : tree.num_nodes] = high
        goal = Goal(task.budget, depth, gamma, self.epsilon, self.rule == "lucb")
        run(sim, tree, growth, intervals, goal)
        leader, gap = rivals(tree, growth, intervals, self.rule == "lucb")[::2]
        size = tree.num_nodes
        growth.score[:size] = np.where(tree.pulls[:size] > 0, tree.value[:size], -np.inf)
        reached = True if gap < self.epsilon else False if self.epsilon > 0 else None
        # Not told apart: the better of the estimates.
        node = follow_scores(tree, growth, leader if reached else ROOT)
        return finish(self, task, sim, tree, node, tree.value, reached=reached)


class Intervals(NamedTuple):
    """Confidence intervals of the nodes, for returns from the root on."""

    low: Floats  # [capacity]
    high: Floats  # [capacity]
    least: float  # the range of returns
    most: float
    base: float  # β(1)


class Goal(NamedTuple):
    """When to stop, and how to choose."""

    budget: int
    depth: int
    gamma: float
    epsilon: float
    lucb: bool


@Driver
def run(sim: Any, tree: Tree, growth: Growth, intervals: Intervals, goal: Goal) -> int:
    """Draw leaves of the leader and the challenger until they are told apart, or calls run out."""
    walks = 0
    while calls_made(sim) + goal.depth <= goal.budget:
        leader, challenger, gap = rivals(tree, growth, intervals, goal.lucb)
        if gap < goal.epsilon and walks >= growth.children[ROOT]:
            break
        first = wider(tree, intervals, leader, challenger)
        turns = 2 if goal.lucb and challenger != NOBODY else 1
        if walks < growth.children[ROOT]:
            first = undrawn(tree, growth)
            turns = 1
        growth.path[0] = first
        for turn in range(turns):
            if turn == 1:
                growth.path[0] = leader if first == challenger else challenger
            if calls_made(sim) + goal.depth > goal.budget:
                break
            steps = descend(tree, growth, 1, goal.depth)
            got = play(sim, tree, growth.path[:steps], growth.rewards)
            if got < 0:
                return walks
            back_up(tree, growth, intervals, steps, got, goal.gamma)
            walks += 1
    return walks


@jit
def rivals(tree: Tree, growth: Growth, intervals: Intervals, lucb: bool) -> tuple[int, int, float]:
    """The leader b, its challenger c, and U_c − L_b."""
    tree, growth, intervals = borrowed(tree), borrowed(growth), borrowed(intervals)
    # The two largest upper ends: the challenger of any leader is one of them.
    first, second = NOBODY, NOBODY
    for node in range(1, growth.children[ROOT] + 1):
        if first == NOBODY or above(growth, intervals.high, node, first):
            first, second = node, first
        elif second == NOBODY or above(growth, intervals.high, node, second):
            second = node
    leader, best = NOBODY, -np.inf
    for node in range(1, growth.children[ROOT] + 1):
        if lucb:
            merit = tree.value[node] if tree.pulls[node] > 0 else intervals.least
        else:  # UGapE: the smallest gap to the best of the others
            other = second if node == first else first
            merit = intervals.low[node]
            if other != NOBODY:
                merit -= intervals.high[other]
        if (
            leader == NOBODY
            or merit > best
            or (merit == best and above(growth, tree.value, node, leader))
        ):
            leader, best = node, merit
    challenger = second if leader == first else first
    if challenger == NOBODY:
        return leader, NOBODY, 0.0  # the only action is the best
    return leader, challenger, intervals.high[challenger] - intervals.low[leader]


@inlined
def above(growth: Growth, key: Floats, a: int, b: int) -> bool:
    """Whether a node has the larger key; ties by chance."""
    if key[a] == key[b]:
        return bool(ticket(growth.seed, a) > ticket(growth.seed, b))
    return bool(key[a] > key[b])


@jit
def undrawn(tree: Tree, growth: Growth) -> int:
    """A first action that was never drawn, at random."""
    best = NOBODY
    for node in range(1, growth.children[ROOT] + 1):
        if tree.pulls[node] == 0 and (
            best == NOBODY or ticket(growth.seed, node) > ticket(growth.seed, best)
        ):
            best = node
    return best


@jit
def wider(tree: Tree, intervals: Intervals, a: int, b: int) -> int:
    """The one of two nodes with the wider interval; if they are alike, the less drawn one."""
    if b == NOBODY:
        return a
    lead = intervals.high[a] - intervals.low[a] - (intervals.high[b] - intervals.low[b])
    if lead == 0.0:
        return a if tree.pulls[a] < tree.pulls[b] else b
    return a if lead > 0.0 else b


@jit
def back_up(
    tree: Tree, growth: Growth, intervals: Intervals, steps: int, got: int, gamma: float
) -> None:
    """The interval of the leaf just drawn, and the largest ends of the children above it."""
    tree, growth, intervals = borrowed(tree), borrowed(growth), borrowed(intervals)
    prune(tree, growth, got, steps)
    total = 0.0
    for t in range(steps - 1, -1, -1):
        total = growth.rewards[t] + gamma * total
    leaf = growth.path[got - 1]
    growth.plays[leaf] += 1
    draws = growth.plays[leaf]
    tree.value[leaf] += (total - tree.value[leaf]) / draws
    beta = max(0.0, intervals.base + 1.5 * np.log(np.log(draws) + 1.0))
    radius = (intervals.most - intervals.least) * np.sqrt(beta / (2.0 * draws))
    low, high = tree.value[leaf] - radius, tree.value[leaf] + radius
    if tree.flags[leaf] & TERMINAL == 0:  # an ended episode can be worth less, or more
        high = min(high, intervals.most)
        low = min(max(low, intervals.least), high)
    intervals.low[leaf] = low
    intervals.high[leaf] = high
    node = tree.parent[leaf]
    while node != ROOT:
        low, high, value = intervals.least, -np.inf, -np.inf
        if growth.children[node] < options(growth, node):
            high = intervals.most
        child = growth.first[node]
        while child != NOBODY:
            low = max(low, intervals.low[child])
            high = max(high, intervals.high[child])
            value = max(value, tree.value[child])
            child = growth.sibling[child]
        intervals.low[node] = low
        intervals.high[node] = high
        tree.value[node] = value
        node = tree.parent[node]
