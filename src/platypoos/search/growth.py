"""For planners that walk: a tree that grows a path at a time, and how to read a plan off it.

Every walk is chosen before it is made, as a path of nodes (an action sequence needs no
observations), so the sampler plays it as a whole. Nodes are made where the path leaves the tree.
Random choices are hashes of the plan's seed and a counter: the same for every form of a model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.discounting import spans
from platypoos.models.advice import UNASKED, count_legal, is_legal, legal_action
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.trees.protocol import Sampler
from platypoos.trees.tickets import draw_below, ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree, set_node, set_root

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NOBODY = 0
"""No child: the root is nobody's."""


class Growth(NamedTuple):
    """The children of every node, what a planner keeps of each node, and scratch memory."""

    first: NDArray[np.int32]  # [capacity] the child made last, or NOBODY…
    sibling: NDArray[np.int32]  # [capacity] …and the one made before it
    children: NDArray[np.int32]  # [capacity] how many there are
    score: Floats  # [capacity] what the planner chooses by
    plays: Ints  # [capacity] what else it counts
    marks: Ints  # [actions] the node for which an action was last found taken
    path: Ints  # [longest] the nodes of a walk…
    rewards: Floats  # [longest + 1] …their samples, and what the last state is said to be worth
    drawn: Ints  # [1] random choices made so far
    legal: NDArray[np.uint8]  # see ``Advice``
    num_actions: int
    seed: int


def begin(task: Task, longest: int, kept: int = 0) -> tuple[Sampler, Tree, Growth]:
    """A sampler, a tree that consists of the root, and its growth.

    Each call makes at most one node; there is room for the ``kept`` ones, too. ``longest``
    is the length of the longest walk.
    """
    capacity = task.budget + 1 + kept
    sim, tree = task.begin(capacity)
    block = np.empty((3, capacity), np.int32)
    growth = Growth(
        first=block[0],
        sibling=block[1],
        children=block[2],
        score=np.empty(capacity),
        plays=np.empty(capacity, np.int64),
        marks=np.full(task.num_actions, -1, np.int64),
        path=np.empty(longest, np.int64),
        rewards=np.empty(longest + 1),
        drawn=np.zeros(1, np.int64),
        legal=sim.advice.legal,
        num_actions=task.num_actions,
        seed=task.tie_seed(),
    )
    set_root(tree)
    growth.first[ROOT] = NOBODY
    growth.children[ROOT] = 0
    growth.score[ROOT] = 0.0
    growth.plays[ROOT] = 0
    sim.ask_legal(np.array([ROOT]))
    return sim, tree, growth


def begin_opened(task: Task, longest: int) -> tuple[Sampler, Tree, Growth]:
    """As ``begin``, with the root's children: nodes 1, 2, … by the legal actions in their order."""
    sim, tree, growth = begin(task, longest)
    open_node(tree, growth, ROOT)
    return sim, tree, growth


@inlined
def random_below(growth: Growth, end: int) -> int:
    """A random number from 0 to end − 1."""
    growth.drawn[0] += 1
    return draw_below(growth.seed, growth.drawn[0], end)


@inlined
def add_child(tree: Tree, growth: Growth, node: int, action: int) -> int:
    """Make the child of a node by an action it has none for yet."""
    child: Any = np.uint64(tree.size[0])
    tree.size[0] += 1
    set_node(tree, child, node, action, tree.depth[node] + 1, 0)
    tree.value[child] = 0.0
    growth.first[child] = NOBODY
    growth.sibling[child] = growth.first[node]
    growth.children[child] = 0
    growth.score[child] = 0.0
    growth.plays[child] = 0
    growth.first[node] = child
    growth.children[node] += 1
    if len(growth.legal) > 0:
        growth.legal[child, 0] = UNASKED
    return np.int64(child)  # type: ignore[return-value]


@jit
def open_node(tree: Tree, growth: Growth, node: int) -> None:
    """Make a child of a node for each legal action, next to each other."""
    for action in range(growth.num_actions):
        if is_legal(growth.legal, node, action):
            tree.reward[add_child(tree, growth, node, action)] = 0.0


@inlined
def options(growth: Growth, node: int) -> int:
    """How many actions there are at a node; all of them as long as it was not visited."""
    return count_legal(growth.legal, node, growth.num_actions)


@inlined
def random_action(growth: Growth, node: int) -> int:
    """One of the actions at a node, at random."""
    return legal_action(growth.legal, node, random_below(growth, options(growth, node)))


@inlined
def find_child(tree: Tree, growth: Growth, node: int, action: int) -> int:
    """The child by an action; made if there is none."""
    child = int(growth.first[node])
    while child != NOBODY and tree.action[child] != action:
        child = int(growth.sibling[child])
    return add_child(tree, growth, node, action) if child == NOBODY else child


@inlined
def new_child(tree: Tree, growth: Growth, node: int) -> int:
    """Make a child by an action chosen at random among those that have none."""
    taken = int(growth.children[node])
    number = random_below(growth, options(growth, node) - taken)
    action = number
    if taken > 0 or len(growth.legal) > 0:
        child = int(growth.first[node])
        while child != NOBODY:
            growth.marks[tree.action[child]] = node
            child = int(growth.sibling[child])
        action = -1
        while number >= 0:
            action += 1
            if growth.marks[action] != node and is_legal(growth.legal, node, action):
                number -= 1
    return add_child(tree, growth, node, action)


@inlined
def best_child(growth: Growth, node: int) -> int:
    """The child with the largest score; ties by chance."""
    best = int(growth.first[node])
    child = int(growth.sibling[best])
    while child != NOBODY:
        if growth.score[child] > growth.score[best] or (
            growth.score[child] == growth.score[best]
            and ticket(growth.seed, child) > ticket(growth.seed, best)
        ):
            best = child
        child = int(growth.sibling[child])
    return best


@jit
def descend(tree: Tree, growth: Growth, start: int, length: int) -> int:
    """A path by the largest score: actions that were never tried come first, then random ones.

    The first ``start`` steps are given. Returns its length: shorter if it meets a known end.
    """
    tree, growth = borrowed(tree), borrowed(growth)
    node = ROOT if start == 0 else int(growth.path[start - 1])
    for t in range(start, length):
        if tree.flags[node] & TERMINAL:
            return t
        if growth.children[node] < options(growth, node):
            node = new_child(tree, growth, node)
        else:
            node = best_child(growth, node)
        growth.path[t] = node
    return length


@jit
def wander(tree: Tree, growth: Growth, start: int, length: int) -> int:
    """Continue a path at random; returns its length."""
    tree, growth = borrowed(tree), borrowed(growth)
    node = ROOT if start == 0 else int(growth.path[start - 1])
    for t in range(start, length):
        if tree.flags[node] & TERMINAL:
            return t
        node = find_child(tree, growth, node, random_action(growth, node))
        growth.path[t] = node
    return length


@inlined
def prune(tree: Tree, growth: Growth, got: int, length: int) -> None:
    """Take back the nodes that were made behind the end of an episode."""
    if got < length:
        tree.size[0] = growth.path[got]
        end = growth.path[got - 1]
        growth.first[end] = growth.sibling[growth.path[got]]
        growth.children[end] -= 1


@jit
def find_floor(tree: Tree) -> float:
    """The smallest mean reward seen; at most 0 if an episode has ended."""
    tree = borrowed(tree)
    floor = np.inf
    for node in range(1, tree.size[0]):
        if tree.pulls[node] > 0:
            floor = min(floor, tree.reward[node])
            if tree.flags[node] & TERMINAL:
                floor = min(floor, 0.0)
    return floor


@jit
def follow_plays(tree: Tree, growth: Growth, gamma: float, floor: float, span: Floats) -> int:
    """Follow the most played children; of equally played ones the more valuable. Returns the end.

    ``tree.value`` becomes what is expected from a node on, its own reward included, if the most
    played actions are taken; after the last one the floor is counted. ``span`` is what a reward
    of 1 at every step from each depth on is worth.
    """
    tree, growth = borrowed(tree), borrowed(growth)
    choice = growth.first
    size = tree.size[0]
    for node in range(size):
        choice[node] = NOBODY
    for node in range(size - 1, ROOT, -1):
        if tree.pulls[node] == 0:
            continue
        rest = floor * span[tree.depth[node]]
        if tree.flags[node] & TERMINAL:
            rest = 0.0
        elif choice[node] != NOBODY:
            rest = tree.value[choice[node]]
        tree.value[node] = tree.reward[node] + gamma * rest
        parent = tree.parent[node]
        rival = choice[parent]
        lead = tree.pulls[node] - tree.pulls[rival]
        gain = tree.value[node] - tree.value[rival]
        if (
            rival == NOBODY
            or lead > 0
            or (lead == 0 and gain > 0)
            or (lead == 0 and gain == 0 and ticket(growth.seed, node) > ticket(growth.seed, rival))
        ):
            choice[parent] = node
    end = int(choice[ROOT])
    while choice[end] != NOBODY:
        end = int(choice[end])
    return end


@jit
def follow_scores(tree: Tree, growth: Growth, node: int) -> int:
    """Follow the largest scores from a node down to the last one that has a score (not −∞)."""
    tree, growth = borrowed(tree), borrowed(growth)
    while True:
        best = NOBODY
        child = int(growth.first[node])
        while child != NOBODY:
            if growth.score[child] > -np.inf and (
                best == NOBODY
                or growth.score[child] > growth.score[best]
                or (
                    growth.score[child] == growth.score[best]
                    and ticket(growth.seed, child) > ticket(growth.seed, best)
                )
            ):
                best = child
            child = int(growth.sibling[child])
        if best == NOBODY:
            return node
        node = best


@inlined
def best_score(growth: Growth, node: int) -> float:
    """The largest score of the children of a node."""
    best = -np.inf
    child = growth.first[node]
    while child != NOBODY:
        best = max(best, growth.score[child])
        child = growth.sibling[child]
    return float(best)


def finish(
    planner: Planner,
    task: Task,
    sim: Sampler,
    tree: Tree,
    node: int,
    values: Floats,
    *,
    floor: float = 0.0,
    reached: bool | None = None,
) -> Plan:
    """The plan that recommends a node; ``values`` holds the value of every node of depth 1."""
    size = tree.num_nodes
    rooted = np.flatnonzero((tree.parent[:size] == ROOT) & (tree.pulls[:size] > 0))
    estimates = np.full(task.num_actions, np.nan)
    estimates[tree.action[rooted]] = values[rooted]
    action = tree.actions(int(node))[0]
    return planner.recommend(
        task,
        tree,
        node,
        value=float(estimates[action]),
        calls=sim.calls,
        reward_floor=floor,
        estimates=estimates,
        reached=reached,
    )


def plan_by_plays(planner: Planner, task: Task, sim: Sampler, tree: Tree, growth: Growth) -> Plan:
    """The plan that recommends the most played actions."""
    floor = float(find_floor(tree))
    node = most_played(planner, task, tree, growth, floor)
    return finish(planner, task, sim, tree, node, tree.value, floor=floor)


def most_played(planner: Planner, task: Task, tree: Tree, growth: Growth, floor: float) -> int:
    """The end of the most played actions; see ``follow_plays``."""
    span = spans(planner.discount, task.horizon, 1 + int(tree.depth[: tree.num_nodes].max()))
    return int(follow_plays(tree, growth, planner.discount, floor, span))
