"""The layers of a tree: which nodes are opened, and what is asked for next (Figure 3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, inlined, jit, jitable
from platypoos.models.advice import is_legal
from platypoos.search.counts import EVALUATIONS, INDEX, PLATYPOOS, QUOTA, evaluations
from platypoos.search.selection import NONE, ONE, Tickets, in_order, move_best_to_end
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import (
    CLOSED,
    ILLEGAL,
    NODE_BITS,
    OPENED,
    ROOT,
    Tree,
    set_node,
    set_root,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Course(NamedTuple):
    """The exploration of a schedule and its scratch memory, as compiled code reads them."""

    rows: Ints  # [rows, 5]
    layers: Ints  # [depths + 1]
    group_end: Ints  # [p_max + 2] layer nodes of index p are group_end[p + 1]..group_end[p]
    nodes: Ints  # [widest] a request: the nodes to evaluate…
    repeats: Ints  # [widest] …and how often
    pool: Tickets  # [widest] tickets of the nodes that wait to be opened…
    keys: Ints  # [widest] …and numbers that are in the order of their û
    opened: Ints  # [widest] nodes whose children are to be evaluated
    power: Floats  # [depth] γ^t
    gamma: float
    root_evaluations: int
    reset: bool
    figure: bool  # Figure 3 to the letter: nodes are eligible by their own evaluations
    at: Any  # [1] PLACE: where a plan is that was paused
    floor: Floats  # [1] the reward that unseen steps are counted at, once it is known


@jitable
def end_of_part(repeats: Ints, start: int, end: int, most: int) -> int:
    """Where a part of a request ends that has at most ``most`` evaluations, or one node."""
    stop, count = start + 1, repeats[start]
    while stop < end and count + repeats[stop] <= most:
        count += repeats[stop]
        stop += 1
    return stop


@jitable
def open_root(tree: Tree, course: Course, num_actions: int) -> int:
    """The root's children have index p_max."""
    p_max = len(course.group_end) - 2
    set_root(tree)
    tree.flags[ROOT] = OPENED
    for action in range(num_actions):
        set_node(tree, 1 + action, ROOT, action, 1, p_max)
        tree.reward[1 + action] = 0.0
        course.nodes[action] = 1 + action
        course.repeats[action] = course.root_evaluations
    tree.size[0] = 1 + num_actions
    course.group_end[p_max + 1] = 1
    for p in range(p_max + 1):
        course.group_end[p] = 1 + num_actions
    return num_actions


@jit
def list_opened(tree: Tree, course: Course, asked: int, num_actions: int) -> int:
    """The nodes whose children are the request; returns how many."""
    count = 0
    for k in range(0, asked, num_actions):
        course.opened[count] = tree.parent[course.nodes[k]]
        count += 1
    return count


@jit
def leave_out_illegal(tree: Tree, course: Course, legal: NDArray[np.uint8], asked: int) -> None:
    """Actions that are not legal are not evaluated, and their nodes are closed."""
    for k in range(asked):
        node = course.nodes[k]
        if not is_legal(legal, tree.parent[node], tree.action[node]):
            tree.flags[node] = ILLEGAL
            course.repeats[k] = 0


@jit
def open_layer(
    tree: Tree, course: Course, worth: Floats, num_actions: int, tie_seed: int, layer: int
) -> int:
    """Open the best nodes of the deepest layer; returns how many children there are to evaluate.

    For p from p_max down to 0: of the nodes of index ≥ p that are not open yet, the k(h, p) with
    the largest û. The layer lists its nodes by decreasing index, so each p adds a stretch of it
    to a pool and takes the best.

    With ``figure``, a layer is listed by the evaluations that its nodes have, and ``p_index`` is
    the largest p for which a node and all its prefixes have enough.
    """
    tree, course = borrowed(tree), borrowed(course)
    group_end = course.group_end
    p_max = len(group_end) - 2
    start = group_end[p_max + 1]
    if course.reset:
        update_values(tree, course, start)  # walks add samples to every prefix
    next_start = tree.size[0]
    depth = tree.depth[next_start - 1] + 1
    weight = course.power[depth - 2]
    size = NONE  # of the pool
    first = child = np.uint64(next_start)
    done = p_max + 1  # for indices from here up, group_end is that of the next layer
    for row in range(course.layers[layer], course.layers[layer + 1]):
        p = course.rows[row, INDEX]
        end = group_end[p]
        size = fill_pool(tree, course, worth, start, end, weight, tie_seed, size)
        start = end
        for q in range(p + 1, done):  # indices that open nothing
            group_end[q] = child
        count = min(size, np.uint64(course.rows[row, QUOTA]))
        if count < size:
            move_best_to_end(course.keys, course.pool, size, count)
        times = course.rows[row, EVALUATIONS]
        label = largest_alike(course, depth - 1, p) if course.figure else p
        for _ in range(count):
            size -= ONE
            node = course.pool[size] & NODE_BITS
            tree.flags[node] = OPENED  # it is not terminal
            index = min(label, tree.p_index[node])
            for action in range(num_actions):
                tree.parent[child] = node
                tree.action[child] = action
                tree.p_index[child] = index
                course.repeats[child - first] = times
                child += ONE
        group_end[p] = child
        done = p
    for q in range(done):
        group_end[q] = child
    if course.figure:
        for q in range(1, p_max + 1):
            if largest_alike(course, depth - 1, q - 1) >= q:
                group_end[q] = group_end[q - 1]
    group_end[p_max + 1] = next_start
    tree.size[0] = child
    set_layer(tree, course, first, child, depth)
    return np.int64(child - first)  # type: ignore[return-value]  # not unsigned, in compiled code


@jitable
def largest_alike(course: Course, h: int, p: int) -> int:
    """The largest index whose nodes are evaluated as often as those of p at depth h."""
    p_max = len(course.group_end) - 2
    weight = course.gamma ** (2.0 * h)
    count = evaluations(PLATYPOOS, h, p, weight)
    while p < p_max and evaluations(PLATYPOOS, h, p + 1, weight) == count:
        p += 1
    return p


@inlined
def fill_pool(
    tree: Tree,
    course: Course,
    worth: Floats,
    start: int,
    end: int,
    weight: float,
    tie_seed: int,
    size: np.uint64,
) -> np.uint64:
    """Add a stretch of the deepest layer to the pool, by its û; returns the pool's new size.

    If the model tells what states are worth, by û and that.
    """
    for node in range(np.uint64(start), np.uint64(end)):
        value = tree.value[np.uint64(tree.parent[node])] + weight * tree.reward[node]
        tree.value[node] = value
        if len(worth) > 0:
            value += weight * course.gamma * worth[node]
        course.keys[size] = in_order(value)
        course.pool[size] = ticket(tie_seed, node)
        size += np.uint64(tree.flags[node] & CLOSED == 0)
    return size


@inlined
def set_layer(tree: Tree, course: Course, first: np.uint64, end: np.uint64, depth: int) -> None:
    """What the nodes of a new layer have in common; plain loops, a dozen stores at a time."""
    for node in range(first, end):
        tree.depth[node] = depth
    for node in range(first, end):
        tree.pulls[node] = 0
    for node in range(first, end):
        tree.reward[node] = 0.0
    for node in range(first, end):
        tree.flags[node] = 0
    for node in range(first, end):
        course.nodes[node - first] = node


@inlined
def update_values(tree: Tree, course: Course, end: int) -> None:
    """û of the nodes before ``end``, by û of their parents."""
    for node in range(1, end):
        weight = course.power[tree.depth[node] - 1]
        tree.value[node] = tree.value[tree.parent[node]] + weight * tree.reward[node]
