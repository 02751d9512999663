"""UCT: upper confidence bounds applied to trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from platypoos.checks import check_count, check_number
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.errors import InvalidArgument
from platypoos.planners.closed_loop.uct import plan_by_uct
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.growth import (
    NOBODY,
    Growth,
    begin,
    finish,
    follow_scores,
    new_child,
    options,
    prune,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree


@dataclass(frozen=True, kw_only=True)
class UCT(Planner):
    """Monte-Carlo tree search: at every node, the action with the best mean return plus a bonus.

    Use it as the best known contender. It needs to know a horizon, which may be wrong. If it is
    told the scale of the returns, that may be wrong too, and matters: too small a scale and it
    never looks back, too large and it tries everything alike.

    Reference: L. Kocsis, C. Szepesvári. Bandit based Monte-Carlo planning. ECML 2006.

    Symbols: D is ``horizon``, C ``scale``, N_a ``Tree.pulls``, the mean return from a node on
    ``Tree.value``; the bonus is C·√(ln N / N_a).

    Where dynamics are random and states can be stored, it reacts to chance, as published: a node
    is a state after so many steps, however it was reached.

    Deviations: none with a number as scale. Every step of a walk becomes a node; actions not
    tried yet come first, so below the tree a walk is random. If the budget does not allow a walk
    of D steps for every action, walks are shorter. With deterministic dynamics, and by RESET, a
    node is a sequence of actions. With ``"auto"``, C is the largest minus the
    smallest return of the walks so far, as MuZero scales its values. MuZero takes the range of the
    values of all nodes; but these have different numbers of steps left, so their range would
    change if every reward was higher.

    Args:
        discount: γ, in [0, 1).
        scale: C, about the size of the differences between returns; ``"auto"`` measures them.
        horizon: D, the length of a walk.

    >>> import platypoos as pp
    >>> planner = pp.planners.UCT(discount=0.8, horizon=20)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=5_000, seed=0).action
    0
    """

    scale: float | Literal["auto"] = "auto"
    horizon: int

    name: ClassVar[str] = "uct"
    guarantee: ClassVar[str] = "in the limit"
    citation: ClassVar[str] = "Kocsis, Szepesvári. Bandit based Monte-Carlo planning. ECML 2006."
    needs: ClassVar[str] = "horizon; scale of returns, or 'auto' (may be wrong)"
    uses: ClassVar[tuple[str, ...]] = ("value", "policy")
    reacts: ClassVar[bool] = True
    polynomial: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scale, str):
            if self.scale != "auto":
                raise InvalidArgument(
                    f"scale must be a number of at least 0, or 'auto', got {self.scale!r}"
                )
        else:
            object.__setattr__(self, "scale", check_number("scale", self.scale, least=0))
        object.__setattr__(self, "horizon", check_count("horizon", self.horizon))

    def _plan(self, task: Task) -> Plan:
        if task.has_chance:
            return plan_by_uct(self, task)
        horizon = task.within_horizon(min(self.horizon, task.budget // task.num_actions))
        sim, tree, growth = begin(task, horizon)
        auto = self.scale == "auto"
        scale = 1.0 if self.scale == "auto" else self.scale
        bonus = Bonus(scale, self.polynomial, auto)
        run(sim, tree, growth, task.budget, horizon, self.discount, bonus)
        growth.score[: tree.num_nodes] = tree.value[: tree.num_nodes]
        return finish(self, task, sim, tree, follow_scores(tree, growth, ROOT), tree.value)


class Bonus(NamedTuple):
    """How much is added to the value of an action that was seldom played."""

    scale: float
    polynomial: bool
    auto: bool


@Driver
def run(
    sim: Any, tree: Tree, growth: Growth, budget: int, horizon: int, gamma: float, bonus: Bonus
) -> int:
    """Walk after walk, as long as the budget allows a whole one.

    If ``auto``, the scale is a multiple of the range of the returns of the walks so far.
    """
    walks = 0
    low, high = np.inf, -np.inf
    while calls_made(sim) + horizon <= budget:
        unit = max(0.0, high - low) if bonus.auto else 1.0
        steps = descend_by_bonus(tree, growth, horizon, walks, bonus.scale * unit, bonus.polynomial)
        got = play(sim, tree, growth.path[:steps], growth.rewards)
        if got < 0:
            break
        total = back_up(tree, growth, steps, got, gamma)
        low, high = min(low, total), max(high, total)
        walks += 1
    return walks


@inlined
def bonus_factor(scale: float, visits: int, polynomial: bool) -> float:
    """What is divided by √N_a."""
    return float(scale * (visits**0.25 if polynomial else np.sqrt(np.log(visits))))


@jit
def descend_by_bonus(
    tree: Tree, growth: Growth, horizon: int, walks: int, scale: float, polynomial: bool
) -> int:
    """Choose a path; returns its length."""
    tree, growth = borrowed(tree), borrowed(growth)
    node, visits = ROOT, walks
    for t in range(horizon):
        if tree.flags[node] & TERMINAL:
            return t
        if growth.children[node] < options(growth, node):
            node = new_child(tree, growth, node)
        else:
            factor = bonus_factor(scale, visits, polynomial)
            best, most = NOBODY, -np.inf
            child = int(growth.first[node])
            while child != NOBODY:
                bound = tree.value[child] + factor / np.sqrt(tree.pulls[child])
                if (
                    best == NOBODY
                    or bound > most
                    or (bound == most and ticket(growth.seed, child) > ticket(growth.seed, best))
                ):
                    best, most = child, bound
                child = int(growth.sibling[child])
            node = best
        visits = tree.pulls[node]
        growth.path[t] = node
    return horizon


@jit
def back_up(tree: Tree, growth: Growth, steps: int, got: int, gamma: float) -> float:
    """The mean return of every node on the path, from the node on; returns that of the walk."""
    tree, growth = borrowed(tree), borrowed(growth)
    prune(tree, growth, got, steps)
    total = growth.rewards[steps]
    for t in range(got - 1, -1, -1):
        node = growth.path[t]
        total = growth.rewards[t] + gamma * total
        tree.value[node] += (total - tree.value[node]) / tree.pulls[node]
    return float(total)
