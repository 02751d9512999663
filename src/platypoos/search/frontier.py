"""For planners that open leaves in the order of a key: binary heaps in one piece of memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, inlined, jit, jitable, part
from platypoos.discounting import spans
from platypoos.models.advice import count_legal, is_legal
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.trees.protocol import Sampler
from platypoos.trees.requests import ask_legal, calls_made, evaluate
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import NODE_BITS, OPENED, TERMINAL, Tree, set_node

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Places = NDArray[np.uint64]

NOBODY = 0
"""No leaf: the root is opened at once and never waits."""
ONE = np.uint64(1)


class Frontier(NamedTuple):
    """Heaps of leaves, largest key first, and scratch memory.

    Entry i of a heap (from 1 on) is no worse than its entries 2i and 2i + 1. A heap that is full
    moves to twice the room at the end of the memory in use.
    """

    key: Floats  # [memory]
    leaf: Places  # [memory] the leaves' tickets, which decide ties
    start: Places  # [heaps] where a heap's entries begin: entry i is at start + i
    size: Places  # [heaps]
    room: Places  # [heaps]
    used: Places  # [1] memory in use
    power: Floats  # [capacity] γ^h, for the depths reached so far
    span: Floats  # [depths] worth of a reward of 1 at every step from a depth on
    legal: NDArray[np.uint8]  # see ``Advice``
    worth: Floats
    nodes: Ints  # [actions] a request: the nodes to evaluate…
    repeats: Ints  # [actions] …and how often
    num_actions: int
    seed: int


def make_frontier(
    planner: Planner, task: Task, sim: Sampler, heaps: int, capacity: int
) -> Frontier:
    """Empty heaps for a tree of at most ``capacity`` nodes."""
    num_actions, advice = task.num_actions, sim.advice
    # A lone heap has all the room from the start. Of several, a heap and the rooms it has left
    # behind take at most four times its entries, and eight.
    memory = capacity + 1 if heaps == 1 else 4 * capacity + 8 * heaps
    alone = heaps == 1
    frontier = Frontier(
        key=np.empty(memory),
        leaf=np.empty(memory, np.uint64),
        start=np.zeros(heaps, np.uint64),
        size=np.zeros(heaps, np.uint64),
        room=np.full(heaps, capacity if alone else 0, np.uint64),
        used=np.full(1, memory if alone else 0, np.uint64),
        power=np.empty(capacity + 1),
        span=spans(planner.discount, task.horizon, capacity + 1),
        legal=advice.legal,
        worth=advice.worth if "value" in planner.uses else np.empty(0),
        nodes=np.empty(num_actions, np.int64),
        repeats=np.ones(num_actions, np.int64),
        num_actions=num_actions,
        seed=task.tie_seed(),
    )
    frontier.power[0] = 1.0
    return frontier


@inlined
def top_leaf(frontier: Frontier, heap: int) -> int:
    """The best leaf of a heap, or NOBODY."""
    if frontier.size[heap] == 0:
        return NOBODY
    return np.int64(frontier.leaf[frontier.start[heap] + ONE] & NODE_BITS)  # type: ignore[return-value]


@inlined
def top_key(frontier: Frontier, heap: int) -> float:
    """The key of the best leaf of a heap that is not empty."""
    return float(frontier.key[frontier.start[heap] + ONE])


@jit
def push(frontier: Frontier, heap: int, node: int, key: float) -> None:
    """Add a leaf: from the end of the heap up to its place."""
    frontier = borrowed(frontier)
    keys, leaves = frontier.key, frontier.leaf
    size = frontier.size[heap]
    if size == frontier.room[heap]:
        move(frontier, heap)
    start = frontier.start[heap]
    leaf = ticket(frontier.seed, node)
    at = size + ONE
    frontier.size[heap] = at
    while at > ONE:
        above = start + (at >> ONE)
        if keys[above] > key or (keys[above] == key and leaves[above] > leaf):
            break
        keys[start + at] = keys[above]
        leaves[start + at] = leaves[above]
        at >>= ONE
    keys[start + at] = key
    leaves[start + at] = leaf


@inlined
def move(frontier: Frontier, heap: int) -> None:
    """Give a heap twice the room."""
    old, new = frontier.start[heap], frontier.used[0]
    for i in range(ONE, frontier.size[heap] + ONE):
        frontier.key[new + i] = frontier.key[old + i]
        frontier.leaf[new + i] = frontier.leaf[old + i]
    frontier.start[heap] = new
    frontier.room[heap] = max(np.uint64(3), ONE + np.uint64(2) * frontier.room[heap])
    frontier.used[0] = new + frontier.room[heap] + ONE


@jit
def replace_top(frontier: Frontier, heap: int, node: int, key: float) -> None:
    """Put a leaf in the place of the best one: from the top of the heap down to its place."""
    sink(borrowed(frontier), heap, key, ticket(frontier.seed, node))


@inlined
def sink(frontier: Frontier, heap: int, key: float, leaf: np.uint64) -> None:
    """Entry 1 is to be replaced."""
    keys, leaves = frontier.key, frontier.leaf
    start, size = frontier.start[heap], frontier.size[heap]
    at = ONE
    while at << ONE <= size:
        below = at << ONE
        i = start + below
        if below < size and (
            keys[i + ONE] > keys[i] or (keys[i + ONE] == keys[i] and leaves[i + ONE] > leaves[i])
        ):
            below += ONE
            i += ONE
        if key > keys[i] or (key == keys[i] and leaf > leaves[i]):
            break
        keys[start + at] = keys[i]
        leaves[start + at] = leaves[i]
        at = below
    keys[start + at] = key
    leaves[start + at] = leaf


@jit
def pop(frontier: Frontier, heap: int) -> int:
    """Take the best leaf out of a heap that is not empty."""
    frontier = borrowed(frontier)
    best = top_leaf(frontier, heap)
    last = frontier.start[heap] + frontier.size[heap]
    frontier.size[heap] -= ONE
    if frontier.size[heap] > 0:
        sink(frontier, heap, frontier.key[last], frontier.leaf[last])
    return best


@jitable
def make_children(tree: Tree, frontier: Frontier, node: int, depth: int, gamma: float) -> int:
    """Open a node of a depth; returns its first child.

    There is a child for each legal action. They are the last nodes of the tree, and the request.
    """
    tree.flags[node] = OPENED  # it is not terminal
    first = child = tree.size[0]
    frontier.power[depth + 1] = frontier.power[depth] * gamma
    for action in range(frontier.num_actions):
        if is_legal(frontier.legal, node, action):
            set_node(tree, child, node, action, depth + 1, 0)
            tree.reward[child] = 0.0
            frontier.nodes[child - first] = child
            child += 1
    tree.size[0] = child
    return int(first)


@jit
def best_node(tree: Tree, frontier: Frontier, gamma: float, floor: float) -> int:
    """The evaluated node with the largest Σ γ^t (r̂ − f), a terminal one's being certain.

    ``tree.value`` must hold û.
    """
    tree, frontier = borrowed(tree), borrowed(frontier)
    seed = frontier.seed
    best, most = NOBODY, -np.inf
    for node in range(1, tree.size[0]):
        if tree.pulls[node] == 0:
            continue
        if len(frontier.worth) > 0 and tree.flags[node] & OPENED:
            continue  # what follows is known better than what it is said to be worth
        value = floored(tree, frontier, node, gamma, floor)
        if value > most or (value == most and ticket(seed, node) > ticket(seed, best)):
            best, most = node, value
    return best


@inlined
def steps_value(frontier: Frontier, h: int, gamma: float) -> float:
    """1 + γ + … + γ^(h−1)."""
    return float(h) if gamma == 1.0 else float((1.0 - frontier.power[h]) / (1.0 - gamma))


@inlined
def floored(tree: Tree, frontier: Frontier, node: int, gamma: float, floor: float) -> float:
    """û with rewards counted from the floor: what nodes of different depth are compared by.

    If the model tells what states are worth: û and what it says of the end.
    """
    depth = tree.depth[node]
    if len(frontier.worth) > 0:
        return float(tree.value[node] + frontier.power[depth] * frontier.worth[node])
    if tree.flags[node] & TERMINAL:
        return float(tree.value[node] - floor * frontier.span[0])
    return float(tree.value[node] - floor * steps_value(frontier, depth, gamma))


def plan_of_node(
    planner: Planner,
    task: Task,
    sim: Sampler,
    tree: Tree,
    frontier: Frontier,
    node: int,
    floor: float,
) -> Plan:
    """The plan that recommends a node; ``tree.value`` must hold û."""
    actions = tree.actions(int(node))
    valued, depth = len(frontier.worth) > 0, len(actions)
    rest = frontier.worth[node] if valued else floor * frontier.span[depth]
    rest *= 0.0 if tree.flags[node] & TERMINAL else planner.discount**depth
    return planner.recommend(
        task,
        tree,
        node,
        value=float(tree.value[node] + rest),
        calls=sim.calls,
        reward_floor=0.0 if valued else floor,
        worth=frontier.worth[: tree.num_nodes].copy() if valued else None,
    )


@part
def open_leaf(
    sim: Any, tree: Tree, frontier: Frontier, node: int, budget: int, reset: bool, gamma: float
) -> int:
    """Make the children of a node and evaluate each of them once; returns the first of them.

    NOBODY if calls do not suffice, or if a compiled model failed.
    """
    frontier.nodes[0] = node
    if not ask_legal(sim, frontier.nodes[:1]):
        return NOBODY
    if calls_made(sim) + open_price(tree, frontier, node, reset) > budget:
        return NOBODY
    first = make_children(tree, frontier, node, int(tree.depth[node]), gamma)
    made = tree.size[0] - first
    if not evaluate(sim, tree, frontier.nodes[:made], frontier.repeats[:made]):
        return NOBODY
    return first


@jitable
def open_price(tree: Tree, frontier: Frontier, node: int, reset: bool) -> int:
    """Calls it takes to open a node with one evaluation for each child."""
    children = count_legal(frontier.legal, node, frontier.num_actions)
    return children * (int(tree.depth[node]) + 1 if reset else 1)
