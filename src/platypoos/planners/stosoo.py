"""StoSOO: stochastic simultaneous optimistic optimization, on the planning tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from platypoos.checks import check_floor, check_number
from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.frontier import (
    NOBODY,
    Frontier,
    floored,
    make_children,
    make_frontier,
    plan_of_node,
    pop,
    push,
    steps_value,
    top_key,
)
from platypoos.search.growth import find_floor
from platypoos.trees.requests import ask_legal, calls_made, evaluate
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import OPENED, ROOT, TERMINAL, Tree, set_root


@dataclass(frozen=True, kw_only=True)
class StoSOO(Planner):
    """SOO for noisy rewards: a leaf is evaluated k times before it is opened.

    Use it to compare with StroquOOL. It needs to know the width of the noise, which may be wrong.

    Reference: M. Valko, A. Carpentier, R. Munos. Stochastic simultaneous optimistic
    optimization. ICML 2013.

    Symbols: n is the budget, k = ⌈n/ln³n⌉, h_max = ⌊√(n/k)⌋, δ = 1/√n; the bound of a leaf is
    û + γ^(h−1)·noise·√(ln(nk/δ)/(2T)), û being ``Tree.value`` and T ``Tree.pulls``.

    Deviations: an evaluation of a node is one of its last action, the rewards on the way to it
    being known from its prefixes; the bound's width is discounted like the reward it is for.
    Comparisons across depths count rewards from ``reward_floor``, as for SOO. A terminal node
    that was evaluated k times can be recommended too.

    Args:
        discount: γ, in [0, 1).
        noise: width of the rewards' noise.
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.

    >>> import platypoos as pp
    >>> planner = pp.planners.StoSOO(discount=0.95, noise=1.0)
    >>> planner.plan(pp.problems.SwitchChain(noise=1.0), budget=10_000, seed=0).calls
    10000
    """

    noise: float
    reward_floor: float | None = None

    name: ClassVar[str] = "stosoo"
    guarantee: ClassVar[str] = "regret bound"
    citation: ClassVar[str] = (
        "Valko, Carpentier, Munos. Stochastic simultaneous optimistic optimization. ICML 2013."
    )
    needs: ClassVar[str] = "noise range (may be wrong)"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "noise", check_number("noise", self.noise, least=0))
        check_floor(self.reward_floor)

    def _plan(self, task: Task) -> Plan:
        n = task.budget
        k = min(max(1, n // task.num_actions), math.ceil(n / math.log(max(n, 3)) ** 3))
        h_max = max(1, min(math.isqrt(n // k), task.within_horizon(n)))
        capacity = 1 + task.num_actions * (n // k + 1)
        sim, tree = task.begin(capacity)
        frontier = make_frontier(self, task, sim, h_max + 2, capacity)
        given_floor = check_floor(self.reward_floor)
        width = self.noise * math.sqrt(math.log(n * k * math.sqrt(n)) / 2)
        reset = task.access is Access.RESET
        rules = Rules(reset, self.discount, given_floor, h_max, k, width)
        run(sim, tree, frontier, n, rules)
        floor = float(find_floor(tree)) if np.isnan(given_floor) else given_floor
        node = recommended(tree, frontier, self.discount, floor, k, task.within_horizon(n + 1))
        return plan_of_node(self, task, sim, tree, frontier, node, floor)


class Rules(NamedTuple):
    """How to sweep."""

    reset: bool  # whether every evaluation starts at the root
    gamma: float
    given_floor: float  # NaN if the smallest reward seen is to be taken
    h_max: int
    k: int  # evaluations before a leaf is opened
    width: float  # of the interval of a single evaluation


@Driver
def run(sim: Any, tree: Tree, frontier: Frontier, budget: int, rules: Rules) -> int:
    """Sweep down the depths again and again; returns the number of sweeps."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    set_root(tree)
    frontier.nodes[0] = ROOT
    if not ask_legal(sim, frontier.nodes[:1]):
        return 0
    open_leaf(tree, frontier, ROOT, rules.gamma)
    floor = np.inf if np.isnan(rules.given_floor) else rules.given_floor
    deepest = 1
    sweeps = 0
    idle = False
    while not idle:
        idle = True
        most = -np.inf
        h = 1
        while h <= min(deepest, rules.h_max):
            node, bound = take_leaf(frontier, h, most, rules.gamma, floor)
            if node != NOBODY and tree.pulls[node] >= rules.k:
                if calls_made(sim) + (h + 1 if rules.reset else 1) > budget:
                    return sweeps
                most = bound
                idle = False
                frontier.nodes[0] = node
                if not ask_legal(sim, frontier.nodes[:1]):
                    return sweeps
                open_leaf(tree, frontier, node, rules.gamma)
                deepest = max(deepest, h + 1)
            elif node != NOBODY:
                if calls_made(sim) + (h if rules.reset else 1) > budget:
                    return sweeps
                frontier.nodes[0] = node
                if not evaluate(sim, tree, frontier.nodes[:1], frontier.repeats[:1]):
                    return sweeps
                idle = False
                reward = put_back(tree, frontier, node, rules.k, rules.width, rules.h_max)
                if np.isnan(rules.given_floor):
                    floor = min(floor, reward)
            h += 1
        sweeps += 1
    return sweeps


@jit
def open_leaf(tree: Tree, frontier: Frontier, node: int, gamma: float) -> None:
    """The children wait in the heap of their depth, above all that has been evaluated."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    first = make_children(tree, frontier, node, int(tree.depth[node]), gamma)
    for child in range(first, tree.size[0]):
        tree.value[child] = tree.value[node]
        push(frontier, tree.depth[child], child, np.inf)


@jit
def take_leaf(
    frontier: Frontier, h: int, most: float, gamma: float, floor: float
) -> tuple[int, float]:
    """The leaf of depth h with the largest bound, if that is at least ``most``; and its bound."""
    if frontier.size[h] == 0:
        return NOBODY, most
    # Across depths rewards are counted from the floor.
    bound = top_key(frontier, h) - floor * steps_value(frontier, h, gamma)
    if bound < most:
        return NOBODY, most
    return pop(frontier, h), bound


@jit
def put_back(tree: Tree, frontier: Frontier, node: int, k: int, width: float, h_max: int) -> float:
    """The new bound of a leaf just evaluated; returns its mean reward once it is reliable."""
    tree, frontier = borrowed(tree), borrowed(frontier)
    if tree.pulls[node] == 0:  # by chance, its action is not allowed where the walk led
        return np.inf
    value = 0.0
    at = node
    while at != ROOT:  # walks from the root may have given the prefixes new samples
        value += frontier.power[tree.depth[at] - 1] * tree.reward[at]
        at = tree.parent[at]
    tree.value[node] = value
    weight = frontier.power[tree.depth[node] - 1]
    done = tree.pulls[node] >= k
    ended = tree.flags[node] & TERMINAL != 0
    if not done or not (ended or tree.depth[node] == h_max):
        key = value + weight * width / np.sqrt(tree.pulls[node])
        push(frontier, tree.depth[node], node, key)
    if not done:
        return np.inf
    return float(min(0.0, tree.reward[node]) if ended else tree.reward[node])


@jit
def recommended(
    tree: Tree, frontier: Frontier, gamma: float, floor: float, k: int, horizon: int
) -> int:
    """Of the deepest opened nodes the best, or a better one at an end; else a first step."""
    deepest = 0
    for node in range(1, tree.size[0]):
        if tree.flags[node] & OPENED:
            deepest = max(deepest, tree.depth[node])
    best, most = NOBODY, -np.inf
    for node in range(1, tree.size[0]):
        if tree.pulls[node] == 0:
            continue
        if deepest == 0:
            eligible = tree.depth[node] == 1
        else:
            eligible = (tree.flags[node] & OPENED != 0 and tree.depth[node] == deepest) or (
                (tree.flags[node] & TERMINAL != 0 or tree.depth[node] >= horizon)
                and tree.pulls[node] >= k
            )
        value = floored(tree, frontier, node, gamma, floor)
        if eligible and (
            value > most
            or (value == most and ticket(frontier.seed, node) > ticket(frontier.seed, best))
        ):
            best, most = node, value
    return best
