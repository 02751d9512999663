"""Sequential halving on trees (SHOT)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
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
    wander,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree

Ints = NDArray[np.int64]

UNDECIDED = -1
"""A node is played once before its moves are listed: it may be a terminal one."""


@dataclass(frozen=True, kw_only=True)
class SequentialHalving(Planner):
    """Gives all actions of a node equal shares, drops the worse half, and again; recursively.

    Use it when only the final recommendation matters and no scale is known. It needs to know a
    horizon, which may be wrong.

    Reference: T. Cazenave. Sequential halving applied to trees. IEEE TCIAIG 7(1), 2015.

    Symbols: a unit of the budget is a roll-out, ``horizon`` calls; N of a node is
    ``Tree.pulls``.

    Deviations: the details are from memory of the literature. The value of a node whose actions
    have all been tried is that of the best of its most visited children (with more than half of
    the most visits: what was dropped has fewer), not the mean of all roll-outs through it, which
    would not converge to the value of the best. Calls saved by roll-outs that end early are spent
    by starting over from the root.

    Args:
        discount: γ, in [0, 1).
        horizon: the length of a roll-out.

    >>> import platypoos as pp
    >>> planner = pp.planners.SequentialHalving(discount=0.8, horizon=20)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=5_000, seed=0).action
    0
    """

    horizon: int

    name: ClassVar[str] = "sequential-halving"
    citation: ClassVar[str] = (
        "Cazenave. Sequential halving applied to trees. IEEE Transactions on Computational "
        "Intelligence and AI in Games 7(1), 2015."
    )
    needs: ClassVar[str] = "horizon (may be wrong)"
    uses: ClassVar[tuple[str, ...]] = ("value", "policy")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "horizon", check_count("horizon", self.horizon))

    def _plan(self, task: Task) -> Plan:
        horizon = task.within_horizon(min(self.horizon, task.budget // task.num_actions))
        sim, tree, growth = begin(task, horizon)
        agenda = Agenda(
            node=np.empty(horizon + 1, np.int64),
            left=np.empty(horizon + 1, np.int64),
            target=np.empty(horizon + 1, np.int64),
            size=np.empty(horizon + 1, np.int64),
            at=np.empty(horizon + 1, np.int64),
            moves=np.empty((horizon + 1, task.num_actions), np.int64),
            top=np.full(1, -1, np.int64),
            grown=np.zeros(1, np.int64),
            rounds=math.ceil(math.log2(task.num_actions)),
            horizon=horizon,
        )
        run(sim, tree, growth, agenda, task.budget, self.discount)
        size = tree.num_nodes
        growth.score[:size] = np.where(tree.pulls[:size] > 0, tree.value[:size], -np.inf)
        return finish(self, task, sim, tree, follow_scores(tree, growth, ROOT), tree.value)


class Agenda(NamedTuple):
    """The recursion as a stack: nodes with units to spend."""

    node: Ints  # [horizon + 1]
    left: Ints  # [horizon + 1] units not handed on yet
    target: Ints  # [horizon + 1] visits that each remaining move is brought to
    size: Ints  # [horizon + 1] how many moves remain; 0 if the node is not halved, or UNDECIDED
    at: Ints  # [horizon + 1] the move whose turn it is
    moves: Ints  # [horizon + 1, actions] the remaining moves, as nodes
    top: Ints  # [1]
    grown: Ints  # [1] nodes that there were before the present roll-out
    rounds: int  # ⌈log2 K⌉
    horizon: int


@Driver
def run(sim: Any, tree: Tree, growth: Growth, agenda: Agenda, budget: int, gamma: float) -> int:
    """Roll-out after roll-out; a new agenda when one is done and calls are left."""
    rollouts = 0
    while calls_made(sim) + agenda.horizon <= budget:
        units = (budget - calls_made(sim)) // agenda.horizon
        steps = next_rollout(tree, growth, agenda, units)
        got = play(sim, tree, growth.path[:steps], growth.rewards)
        if got < 0:
            break
        back_up(tree, growth, agenda, steps, got, gamma)
        rollouts += 1
    return rollouts


@inlined
def hand_on(agenda: Agenda, node: int, units: int) -> None:
    """Put a node with units to spend on the stack."""
    agenda.top[0] += 1
    top = agenda.top[0]
    agenda.node[top] = node
    agenda.left[top] = units
    agenda.target[top] = 0
    agenda.at[top] = 0
    agenda.size[top] = UNDECIDED


@inlined
def decide(tree: Tree, growth: Growth, agenda: Agenda) -> None:
    """Whether the node on top is halved (then its moves are listed) or just played."""
    top = agenda.top[0]
    node = agenda.node[top]
    agenda.size[top] = 0
    missing = options(growth, node) - growth.children[node]
    inside = tree.flags[node] & TERMINAL == 0 and tree.depth[node] < agenda.horizon
    if inside and agenda.left[top] > max(1, missing):
        for _ in range(missing):
            new_child(tree, growth, node)
        child = growth.first[node]
        while child != NOBODY:
            agenda.moves[top, agenda.size[top]] = child
            agenda.size[top] += 1
            child = growth.sibling[child]
        agenda.at[top] = agenda.size[top]  # a round begins when all moves had their turn


@jit
def next_rollout(tree: Tree, growth: Growth, agenda: Agenda, units: int) -> int:
    """Work on the agenda until it asks for a roll-out; returns the length of its path."""
    tree, growth, agenda = borrowed(tree), borrowed(growth), borrowed(agenda)
    while True:
        if agenda.top[0] < 0:
            hand_on(agenda, ROOT, units)
        top = agenda.top[0]
        node = agenda.node[top]
        if agenda.left[top] == 0:
            agenda.top[0] -= 1
        elif agenda.size[top] == UNDECIDED and (node == ROOT or tree.pulls[node] > 0):
            decide(tree, growth, agenda)
        elif agenda.size[top] <= 0:  # a plain roll-out, by a move not tried yet if there is one
            agenda.left[top] -= 1
            agenda.grown[0] = tree.size[0]
            return rollout(tree, growth, node, agenda.horizon)
        elif agenda.size[top] == 1:
            share = agenda.left[top]
            agenda.left[top] = 0
            hand_on(agenda, agenda.moves[top, 0], share)
        elif agenda.at[top] == agenda.size[top]:
            begin_round(tree, growth, agenda)
        else:
            child = agenda.moves[top, agenda.at[top]]
            agenda.at[top] += 1
            share = min(agenda.left[top], agenda.target[top] - tree.pulls[child])
            if share > 0:
                agenda.left[top] -= share
                hand_on(agenda, child, share)


@inlined
def begin_round(tree: Tree, growth: Growth, agenda: Agenda) -> None:
    """Keep the better half of the moves (all, the first time), and set their target."""
    top = agenda.top[0]
    size = agenda.size[top]
    moves = agenda.moves[top]
    if agenda.target[top] > 0:
        keep = (size + 1) // 2
        for i in range(keep):  # the best ones to the front
            for j in range(i + 1, size):
                a, b = moves[i], moves[j]
                if tree.value[b] > tree.value[a] or (
                    tree.value[b] == tree.value[a]
                    and ticket(growth.seed, b) > ticket(growth.seed, a)
                ):
                    moves[i], moves[j] = b, a
        size = keep
        agenda.size[top] = keep
    if size > 1:
        node = agenda.node[top]
        visits = 0
        child = growth.first[node]
        while child != NOBODY:
            visits += tree.pulls[child]
            child = growth.sibling[child]
        share = (visits + agenda.left[top]) // (size * agenda.rounds)
        agenda.target[top] += max(1, share)
    agenda.at[top] = 0


@inlined
def rollout(tree: Tree, growth: Growth, node: int, horizon: int) -> int:
    """The path to a node, a move not tried yet, and random ones to the horizon."""
    length = int(tree.depth[node])
    at = node
    for t in range(length - 1, -1, -1):
        growth.path[t] = at
        at = tree.parent[at]
    if length == horizon or tree.flags[node] & TERMINAL:
        return length
    fresh = NOBODY
    child = int(growth.first[node])
    while child != NOBODY:
        if tree.pulls[child] == 0:
            fresh = child
        child = int(growth.sibling[child])
    if fresh == NOBODY and growth.children[node] < options(growth, node):
        fresh = new_child(tree, growth, node)
    if fresh != NOBODY:
        growth.path[length] = fresh
        length += 1
    return wander(tree, growth, length, horizon)


@jit
def back_up(tree: Tree, growth: Growth, agenda: Agenda, steps: int, got: int, gamma: float) -> None:
    """Mean returns (``score``) and values along the path."""
    tree, growth, agenda = borrowed(tree), borrowed(growth), borrowed(agenda)
    new = got  # by chance an episode may end before a move that was made earlier
    while new < steps and growth.path[new] < agenda.grown[0]:
        new += 1
    prune(tree, growth, new, steps)
    total = growth.rewards[steps]
    for t in range(got - 1, -1, -1):
        node = growth.path[t]
        total = growth.rewards[t] + gamma * total
        growth.score[node] += (total - growth.score[node]) / tree.pulls[node]
        tried, most = 0, 0
        child = growth.first[node]
        while child != NOBODY:
            tried += tree.pulls[child] > 0
            most = max(most, tree.pulls[child])
            child = growth.sibling[child]
        best = NOBODY
        child = growth.first[node]
        while child != NOBODY:
            if 2 * tree.pulls[child] > most and (
                best == NOBODY or tree.value[child] > tree.value[best]
            ):
                best = child
            child = growth.sibling[child]
        if tried == options(growth, node):
            tree.value[node] = tree.reward[node] + gamma * tree.value[best]
        else:
            tree.value[node] = growth.score[node]
