"""For planners that compare whole sequences of actions of one length.

Sequences that begin alike share the nodes of a tree. By RESTORE a sequence is played from the last
state that is known along it, so only what is new costs calls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.models.advice import is_legal
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.growth import (
    NOBODY,
    Growth,
    begin,
    find_child,
    finish,
    prune,
    random_action,
)
from platypoos.search.keeping import TreeMemory
from platypoos.trees.protocol import Sampler
from platypoos.trees.tree import ROOT, TERMINAL, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEGLIGIBLE = 0.2
"""Sequences are so long that later rewards are discounted to this share…"""
SHORTEST = 12
"""…or this long if that is more…"""
AT_LEAST = 4
"""…but short enough that at least this number of them fit in the budget."""
IDLE = 200
"""A search ends after this number of sequences in a row that were known already."""
FACTS = np.dtype(
    [
        ("known", "i8"),  # steps of the best sequence that were played
        ("ended", "i8"),  # whether the episode ended with the last of them
    ]
)


@dataclass(frozen=True, kw_only=True)
class SequencePlanner(Planner):
    """A planner that compares sequences of one length."""

    length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length is not None:
            object.__setattr__(self, "length", check_count("length", self.length))


class Sequences(NamedTuple):
    """The best sequence so far, and the one that is tried."""

    actions: Ints  # [length] of the best one, those behind its end included
    path: Ints  # [length] its nodes
    value: Floats  # [2] its value when it was judged, and what its last state is said to be worth
    facts: Any  # [1] FACTS
    trial: Ints  # [length] the actions to try


class Ahead(NamedTuple):
    """Sequences that are walked at once, before any of them is judged."""

    trials: Ints  # [batch, length] the actions to try
    nodes: Ints  # [batch] the last node of each that is known…
    starts: Ints  # [batch] …how many steps come before…
    calls: Ints  # [batch] …and how many to take from there; 0 if there is nothing to find out


class SequenceMemory(TreeMemory):
    """Keeps the tree and the best sequence, to go on with what follows its first action."""

    def __init__(self) -> None:
        super().__init__()
        self.actions = np.empty(0, np.int64)
        """All actions of the sequence that was kept."""

    @property
    def goes_on(self) -> bool:
        """Whether the sequence begins with the action that was taken, and has more."""
        return len(self.actions) > 1 and self.actions[0] == self._action


class Limits(NamedTuple):
    """What a search over sequences may do."""

    budget: int
    gamma: float
    restores: bool  # whether it goes on from stored states


class Search(NamedTuple):
    """What a search over sequences works with."""

    sim: Sampler
    tree: Tree
    growth: Growth
    lines: Sequences
    length: int
    restores: bool
    kept: Ints
    """The last decision's best sequence without its first action; empty if there is none."""

    def limits(self, budget: int, discount: float) -> Limits:
        """As drivers take them."""
        return Limits(budget, discount, self.restores)

    @property
    def parts(self) -> tuple[Sampler, Tree, Growth, Sequences]:
        """What drivers take first."""
        return self.sim, self.tree, self.growth, self.lines


def begin_search(task: Task, discount: float, length: int | None) -> Search:
    """Everything that is needed to search; what was kept of the last decision is put in place."""
    if length is None:
        length = whole_length(discount, task.budget)
    length = max(1, min(task.within_horizon(length), task.budget))
    restores = task.access is Access.RESTORE
    memory: SequenceMemory | None = task.memory
    nodes = np.empty(0, np.int64) if memory is None else memory.below(task)
    kept = np.empty(0, np.int64)
    if memory is not None and len(nodes) and memory.goes_on:
        rest = memory.actions[1:]  # its last action is repeated to the full length
        kept = rest[np.minimum(np.arange(length), len(rest) - 1)]
    sim, tree, growth = begin(task, length, len(nodes))
    if memory is not None and len(nodes) > 1 and restores:
        memory.put_into(sim, tree, growth, nodes)
    lines = Sequences(
        actions=np.zeros(length, np.int64),
        path=np.zeros(length, np.int64),
        value=np.array([-np.inf, 0.0]),
        facts=np.zeros(1, FACTS).view(np.recarray),
        trial=np.zeros(length, np.int64),
    )
    return Search(sim, tree, growth, lines, length, restores, kept)


def whole_length(discount: float, budget: int) -> int:
    """How long sequences are if nobody says so.

    >>> whole_length(0.95, 1_000), whole_length(0.95, 100), whole_length(0.0, 100)
    (31, 25, 1)
    """
    if discount == 0.0:
        return 1
    steps: float = math.inf if discount == 1.0 else math.log(NEGLIGIBLE) / math.log(discount)
    return int(max(1, min(budget // AT_LEAST, max(SHORTEST, steps))))


def end_search(planner: Planner, task: Task, search: Search) -> Plan:
    """The plan that recommends the best sequence, which the memory keeps."""
    lines, tree = search.lines, search.tree
    path = lines.path[: lines.facts[0].known]
    if task.memory is not None:
        task.memory.keep(task, search.sim, tree)
        task.memory.actions = lines.actions.copy()
    values = np.where(search.growth.plays > 0, tree.value, np.nan)
    if np.isnan(values[path[0]]):  # no sequence was played to its end
        values[path[0]] = lines.value[0]
    return finish(planner, task, search.sim, tree, int(path[-1]), values)


def make_ahead(batch: int, length: int) -> Ahead:
    """Room for sequences that are walked at once."""
    trials = np.empty((batch, length), np.int64)
    return Ahead(trials, *np.zeros((3, batch), np.int64))


@jit
def look_ahead(
    tree: Tree, growth: Growth, ahead: Ahead, place: int, calls: int, restores: bool
) -> int:
    """Find where the walk of a sequence is to begin; returns the calls of it.

    Actions that are known to be illegal are replaced by legal ones. What sequences that are walked
    at once have in common is walked once, so they may need fewer calls.
    """
    tree, growth, ahead = borrowed(tree), borrowed(growth), borrowed(ahead)
    actions = ahead.trials[place]
    node, known = ROOT, 0
    for t in range(len(actions)):
        if tree.flags[node] & TERMINAL:
            break
        if not is_legal(growth.legal, node, actions[t]):
            actions[t] = random_action(growth, node)
        child = int(growth.first[node])
        while restores and child != NOBODY and tree.action[child] != actions[t]:
            child = int(growth.sibling[child])
        if child == NOBODY or not restores:
            break
        node, known = child, known + 1
    ahead.nodes[place], ahead.starts[place] = node, known
    needed = 0 if tree.flags[node] & TERMINAL else min(calls, len(actions) - known)
    for other in range(place if restores else 0):
        if ahead.calls[other] > 0 and (ahead.trials[other] == actions).all():
            needed = 0
    ahead.calls[place] = needed
    return needed


@jit
def lay_ahead(
    tree: Tree, growth: Growth, lines: Sequences, ahead: Ahead, place: int, restores: bool
) -> tuple[int, int]:
    """As ``lay``, for a sequence that was walked ahead.

    No steps if it is like another one that turned out to be illegal.
    """
    tree, growth, lines = borrowed(tree), borrowed(growth), borrowed(lines)
    lines.trial[:] = ahead.trials[place]
    start, calls = ahead.starts[place], ahead.calls[place]
    if calls > 0:
        return lay(tree, growth, lines.trial[: start + calls], start + calls, restores)
    steps, known = lay(tree, growth, lines.trial, 0, restores)
    whole = steps == len(lines.trial) or (
        steps > 0 and tree.flags[growth.path[steps - 1]] & TERMINAL != 0
    )
    return (steps, known) if whole else (0, 0)


@jit
def lay(tree: Tree, growth: Growth, actions: Ints, calls: int, restores: bool) -> tuple[int, int]:
    """Write the nodes of a sequence to ``growth.path``, as far as ``calls`` allow.

    Actions that are known to be illegal are replaced by legal ones. Returns how many nodes there
    are, and how many of them, from the first on, need no call.
    """
    tree, growth = borrowed(tree), borrowed(growth)
    node, known = ROOT, 0
    for t in range(len(actions)):
        if tree.flags[node] & TERMINAL:
            return t, known
        if not is_legal(growth.legal, node, actions[t]):
            actions[t] = random_action(growth, node)
        child = int(growth.first[node])
        while child != NOBODY and tree.action[child] != actions[t]:
            child = int(growth.sibling[child])
        if child != NOBODY and restores:
            known += 1
        else:
            if t - known == calls:
                return t, known
            child = find_child(tree, growth, node, int(actions[t]))
        growth.path[t] = node = child
    return len(actions), known


@inlined
def value_along(tree: Tree, path: Ints, steps: int, rest: float, gamma: float) -> float:
    """The discounted sum of the mean rewards along a path, and of what the rest is worth."""
    total = rest
    for t in range(steps - 1, -1, -1):
        total = tree.reward[path[t]] + gamma * total
    return float(total)


@jit
def judge(
    tree: Tree, growth: Growth, lines: Sequences, steps: int, got: int, gamma: float
) -> float:
    """Take note of a sequence that was played; it becomes the best one if it is not worse.

    Of equal values, one that goes on is better than one that ends, and a later end better than
    an earlier one. A sequence that was cut short is compared with nothing but one that ends
    before. Returns the value, −∞ if it was cut short.
    """
    tree, growth, lines = borrowed(tree), borrowed(growth), borrowed(lines)
    prune(tree, growth, got, steps)
    length = len(lines.trial)
    rest = growth.rewards[steps]
    value = value_along(tree, growth.path, got, rest, gamma)
    ended = tree.flags[growth.path[got - 1]] & TERMINAL != 0
    best_known, best_ended = lines.facts[0].known, lines.facts[0].ended == 1
    # Valued anew: by RESET its rewards were sampled again meanwhile.
    best_value = value_along(tree, lines.path, best_known, lines.value[1], gamma)
    if best_known == 0:
        better = True
    elif got < length and not ended:
        better = best_ended and got > best_known and value >= best_value
    else:
        better = value > best_value or (
            value == best_value and (not ended or (best_ended and got >= best_known))
        )
    if better:
        for t in range(length):
            lines.actions[t] = tree.action[growth.path[t]] if t < got else lines.trial[t]
        for t in range(got):
            lines.path[t] = growth.path[t]
        lines.value[0], lines.value[1] = value, rest
        lines.facts[0].known = got
        lines.facts[0].ended = ended
    if got < length and not ended:
        return -np.inf
    first = growth.path[0]
    if growth.plays[first] == 0 or value > tree.value[first]:
        tree.value[first] = value
    growth.plays[first] += 1
    return value
