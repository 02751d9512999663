"""StOP: stochastic optimistic planning, for a given accuracy and confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_BUDGET
from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.models.advice import count_legal
from platypoos.results import Plan
from platypoos.search.base import ConfidencePlanner, Task
from platypoos.search.frontier import (
    NOBODY,
    Frontier,
    make_children,
    make_frontier,
    pop,
    push,
    top_key,
    top_leaf,
)
from platypoos.search.growth import finish
from platypoos.trees.requests import ask_legal, calls_made, play
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree, set_root

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class StOP(ConfidencePlanner):
    """Refines the most promising sequence and its rival until one is good enough for sure.

    Use it to see what fixed confidence costs; the paper calls it impractical. It needs to know
    the range of the rewards, noise included, and is asked for ε and δ: with probability 1 − δ
    the action is within ε of the best, and so is the value. The budget is a cap; when it is
    met first, the plan says ``reached=False``. A wrong range is accepted, but voids the
    confidence.

    Reference: B. Szörényi, G. Kedenburg, R. Munos. Optimistic planning in Markov decision
    processes using a generative model. NIPS 2014.

    Symbols, for rewards in [0, 1]: δ_d = δ/(d(d+1))·K^(−d); a sequence of depth d is played
    m(d) = ⌈½ ln(1/δ_d)·((1−γ^d)/γ^d)²⌉ times; its value lies in
    v̂ ± (1−γ^d)/(1−γ)·√(ln(1/δ_d)/(2m)), the upper end plus γ^d/(1−γ).

    Deviations: the constants are from memory of the literature. Dynamics are deterministic, so
    that policies are sequences. With random dynamics policies have a child for each way to
    choose an action in each of the states that were seen: K^M for M states. The paper has a version
    that need not list them all, but it is not implemented here. m(d) is at most what makes the
    interval's half-width ε/4: more plays could not help. It also refines until the interval of the
    best is at most ε wide, so that its value is accurate too. A sequence that has ended is refined
    by playing it more.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward, noise included.
        reward_min: the smallest one.
        epsilon: the accuracy, in units of value.
        delta: how likely a failure may be.

    >>> import platypoos as pp
    >>> planner = pp.planners.StOP(discount=0.3, reward_max=1.0, epsilon=0.5, delta=0.1)
    >>> planner.plan(pp.problems.Garnet(3, 2, seed=0), budget=100_000, seed=0).reached
    True
    """

    name: ClassVar[str] = "stop"
    guarantee: ClassVar[str] = "accuracy"
    finite: ClassVar[bool] = False
    why_not: ClassVar[str] = (
        " (it would have to list all policies for the states that were seen: K to the power of "
        "their number)"
    )
    citation: ClassVar[str] = (
        "Szörényi, Kedenburg, Munos. Optimistic planning in Markov decision processes using a "
        "generative model. NIPS 2014."
    )

    def _plan(self, task: Task) -> Plan:
        num_actions = task.num_actions
        plays, radius = self.table(num_actions, task.budget)
        most = task.budget // num_actions
        if plays[0] > most:  # too few calls to begin
            plays[0], radius[0] = most, np.inf
        sim, tree = task.begin(task.budget + 1)
        order = 1 + task.rng.permutation(num_actions)  # ties are broken by chance
        frontier = make_frontier(self, task, sim, num_actions, len(tree.parent))
        state = Bounds(
            low=np.empty(len(tree.parent)),
            path=np.empty(len(plays) + 1, np.int64),
            rewards=np.empty(len(plays) + 1),
            plays=plays,
            radius=radius,
            least=self.reward_min / (1 - self.discount),
            most=self.reward_max / (1 - self.discount),
        )
        reached, node = run(sim, tree, frontier, state, task.budget, self.discount, self.epsilon)
        # The best sequence by each first action; what comes after it is in the middle of the range.
        middle = (self.reward_min + self.reward_max) / 2 / (1 - self.discount)
        values = tree.value[: tree.num_nodes].copy()
        leaves = {}
        for child in order[order <= count_legal(frontier.legal, ROOT, num_actions)].tolist():
            heap = int(tree.action[child])
            leaf = leaves[child] = int(top_leaf(frontier, heap)) or child
            rest = 0.0 if tree.flags[leaf] & TERMINAL else middle
            values[child] = tree.value[leaf] + self.discount ** tree.depth[leaf] * rest
        if not reached:
            node = leaves[max(leaves, key=lambda child: values[child])]
        return finish(self, task, sim, tree, node, values, reached=bool(reached))

    def table(self, num_actions: int, budget: int) -> tuple[Ints, Floats]:
        """How often a sequence of depth 1, 2, … is played, and the half-width that gives.

        Depths for which one sequence alone would exceed the budget are left out.
        """
        gamma = self.discount
        width = self.reward_max - self.reward_min
        plays, radius = [], []
        for d in range(1, budget + 1):
            # ln(1/δ_d), without the overflow of K^d
            log = math.log(d * (d + 1) / self.delta) + d * math.log(num_actions)
            steps = (1 - gamma**d) / (1 - gamma)
            wanted = max(width * gamma**d / (1 - gamma), self.epsilon / 4)
            needed = min(0.5 * log * (width * steps / wanted) ** 2, LARGEST_BUDGET)
            count = max(1, math.ceil(needed))
            if d > 1 and count * d > budget:
                break
            plays.append(count)
            radius.append(width * steps * math.sqrt(log / (2 * count)))
        return np.array(plays), np.array(radius)


class Bounds(NamedTuple):
    """What is known of each sequence, and scratch memory."""

    low: Floats  # [capacity] lower end of the interval; the upper one is the heap's key
    path: Ints  # [depths]
    rewards: Floats  # [depths]
    plays: Ints  # [depths] m(d), from d = 1 on
    radius: Floats  # [depths]
    least: float  # the range of what follows a sequence, in units of its last reward
    most: float


@Driver
def run(
    sim: Any,
    tree: Tree,
    frontier: Frontier,
    bounds: Bounds,
    budget: int,
    gamma: float,
    epsilon: float,
) -> tuple[bool, int]:
    """Refine the wider of the best and its rival; returns whether it ended well, and the best."""
    tree, frontier, bounds = borrowed(tree), borrowed(frontier), borrowed(bounds)
    set_root(tree)
    node = ROOT
    best = 1
    while True:
        # Extend the sequence by each action (an ended one cannot be; it is played again).
        depth = int(tree.depth[node]) + 1
        ended = tree.flags[node] & TERMINAL != 0
        if ended:
            depth -= 1
        if depth > len(bounds.plays):
            return False, best
        plays = bounds.plays[depth - 1]
        bounds.path[0] = node
        if not ended and not ask_legal(sim, bounds.path[:1]):
            return False, best
        count = 1 if ended else count_legal(frontier.legal, node, frontier.num_actions)
        if calls_made(sim) + count * depth * plays > budget:
            return False, best
        first = node if ended else make_children(tree, frontier, node, depth - 1, gamma)
        for child in range(first, first + count):
            trace(tree, bounds, child)
            total = 0.0
            for i in range(plays):
                if play(sim, tree, bounds.path[:depth], bounds.rewards) < 0:
                    return False, best
                total += (discounted(bounds.rewards, depth, gamma) - total) / (i + 1)
            settle(tree, frontier, bounds, child, total, ended)
        best, rival = two_best(frontier)
        high = top_key(frontier, first_action(tree, best))
        rest = -np.inf if rival == NOBODY else top_key(frontier, first_action(tree, rival))
        if bounds.low[best] + epsilon >= rest and high - bounds.low[best] <= epsilon:
            return True, best
        node = best
        if rival != NOBODY and rest - bounds.low[rival] > high - bounds.low[best]:
            node = rival
        pop(frontier, first_action(tree, node))


@jit
def trace(tree: Tree, bounds: Bounds, node: int) -> None:
    """The path to a node."""
    while node != ROOT:
        bounds.path[tree.depth[node] - 1] = node
        node = tree.parent[node]


@jit
def discounted(rewards: Floats, depth: int, gamma: float) -> float:
    """The return of a walk."""
    total = 0.0
    for t in range(depth - 1, -1, -1):
        total = rewards[t] + gamma * total
    return total


@jit
def first_action(tree: Tree, node: int) -> int:
    """The heap of a sequence: that of its first action."""
    while tree.depth[node] > 1:
        node = tree.parent[node]
    return int(tree.action[node])


@jit
def settle(
    tree: Tree, frontier: Frontier, bounds: Bounds, node: int, value: float, again: bool
) -> None:
    """The interval of a sequence just played; it waits in the heap of its first action."""
    tree, frontier, bounds = borrowed(tree), borrowed(frontier), borrowed(bounds)
    depth = tree.depth[node]
    fresh = bounds.plays[depth - 1]
    radius = bounds.radius[depth - 1]
    if again:  # pool with the plays before
        earlier = tree.pulls[node] - fresh
        value = tree.value[node] + (value - tree.value[node]) * fresh / tree.pulls[node]
        radius *= np.sqrt(fresh / (earlier + fresh))
    tree.value[node] = value
    low = high = 0.0
    if tree.flags[node] & TERMINAL == 0:
        tail = frontier.power[depth]
        low, high = tail * bounds.least, tail * bounds.most
    bounds.low[node] = value - radius + low
    push(frontier, first_action(tree, node), node, value + radius + high)


@jit
def two_best(frontier: Frontier) -> tuple[int, int]:
    """The sequence with the largest upper end, and the best one with another first action."""
    best, rival = NOBODY, NOBODY
    most, second = -np.inf, -np.inf
    for action in range(frontier.num_actions):
        leaf = top_leaf(frontier, action)
        if leaf == NOBODY:
            continue
        key = top_key(frontier, action)
        lucky = ticket(frontier.seed, leaf)
        if best == NOBODY or key > most or (key == most and lucky > ticket(frontier.seed, best)):
            rival, second = best, most
            best, most = leaf, key
        elif (
            rival == NOBODY
            or key > second
            or (key == second and lucky > ticket(frontier.seed, rival))
        ):
            rival, second = leaf, key
    return best, rival
