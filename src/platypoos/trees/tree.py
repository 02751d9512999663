"""The search tree: a few arrays, no object per node.

A node is a finite sequence of actions; the root is the empty one. Nodes are numbered in the
order they are made, so a parent always comes before its children. Compiled and Python planners
share this tree: Numba reads the named tuple as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code.marks import jitable

ROOT = 0
NO_PARENT = -1

OPENED = 1
"""Flag: the node's children have been made."""
TERMINAL = 2
"""Flag: the episode ends in the node. Absorbing with reward 0, never opened."""

ILLEGAL = 4
"""Flag: the action is not legal. Never evaluated, never opened, never recommended."""
OVER = 8
"""Flag: the horizon is reached. Never opened; nothing is counted after it."""
ENDED = TERMINAL | OVER
CLOSED = TERMINAL | ILLEGAL

NODE_BITS = np.uint64(0xFFFFFFFF)
"""The part of a ticket that is the node's number."""


class Tree(NamedTuple):
    """The nodes of one plan; only the first ``size[0]`` entries of each array are nodes."""

    parent: NDArray[np.int32]  # [capacity]
    action: NDArray[np.int32]  # [capacity] the last action of the sequence
    depth: NDArray[np.int32]  # [capacity] h(a), the length of the sequence
    pulls: NDArray[np.int64]  # [capacity] T(a), evaluations of the last action
    reward: NDArray[np.float64]  # [capacity] r̂(a), their mean
    value: NDArray[np.float64]  # [capacity] û(a), as of the last time it was needed
    p_index: NDArray[np.int16]  # [capacity] the p at which the parent was opened
    flags: NDArray[np.uint8]  # [capacity] OPENED, TERMINAL, ILLEGAL
    size: NDArray[np.int64]  # [1]

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, the root included."""
        return int(self.size[0])

    def actions(self, node: int) -> tuple[int, ...]:
        """The sequence of actions that leads from the root to ``node``."""
        path = []
        while node != ROOT:
            path.append(int(self.action[node]))
            node = int(self.parent[node])
        return tuple(reversed(path))

    def trimmed(self) -> Tree:
        """The same tree without the room for nodes that were never made."""
        size = self.num_nodes
        return Tree._make([*(array[:size] for array in self[:-1]), self.size])

    def copy(self) -> Tree:
        """A copy without that room."""
        size = self.num_nodes
        return Tree._make([*(array[:size].copy() for array in self[:-1]), self.size.copy()])

    @property
    def bytes_per_node(self) -> int:
        """Memory of a node, without its state."""
        return sum(array.itemsize for array in self[:-1])


def path_to(tree: Tree, node: int) -> list[int]:
    """The nodes from the root's child to ``node``."""
    path = []
    while node != ROOT:
        path.append(node)
        node = int(tree.parent[node])
    path.reverse()
    return path


_LAYOUT = tuple(np.dtype(kind) for kind in ["i8", "f8", "f8", "i4", "i4", "i4", "i2", "u1"])
_BYTES = sum(dtype.itemsize for dtype in _LAYOUT)


def make_tree(capacity: int) -> Tree:
    """A tree with room for ``capacity`` nodes; nothing of it is set, not even the root.

    All arrays are parts of one block of memory: the allocator gives it back to the next plan,
    where it would return many small ones to the system, to be fetched again page by page.
    """
    block = np.empty(capacity * _BYTES, np.uint8)
    arrays: list[Any] = []
    start = 0
    for dtype in _LAYOUT:
        arrays.append(np.ndarray(capacity, dtype, block, start))
        start += capacity * dtype.itemsize
    pulls, reward, value, parent, action, depth, p_index, flags = arrays
    size = np.empty(1, np.int64)
    return Tree(parent, action, depth, pulls, reward, value, p_index, flags, size)


def grown(tree: Tree, capacity: int) -> Tree:
    """A copy with room for ``capacity`` nodes."""
    larger = make_tree(capacity)
    copy_nodes(tree, larger, np.arange(tree.num_nodes))
    return larger


def copy_nodes(tree: Tree, target: Tree, nodes: NDArray[np.int64]) -> None:
    """Let another tree consist of these nodes, in this order; their parents keep their numbers."""
    sources: Any = tree[:-1]
    targets: Any = target[:-1]
    for array, copy in zip(sources, targets, strict=True):
        copy[: len(nodes)] = array[nodes]
    target.size[0] = len(nodes)


@jitable
def set_root(tree: Tree) -> None:
    """Let the tree consist of the root."""
    tree.size[0] = 1
    tree.parent[ROOT] = NO_PARENT
    tree.action[ROOT] = -1
    tree.depth[ROOT] = 0
    tree.pulls[ROOT] = 0
    tree.reward[ROOT] = 0.0
    tree.value[ROOT] = 0.0
    tree.p_index[ROOT] = 0
    tree.flags[ROOT] = 0


@jitable
def set_node(tree: Tree, node: int, parent: int, action: int, depth: int, p_index: int) -> None:
    """Make ``node`` the child of ``parent`` by ``action``; its reward is not known yet."""
    tree.parent[node] = parent
    tree.action[node] = action
    tree.depth[node] = depth
    tree.pulls[node] = 0
    tree.reward[node] = 0.0
    tree.value[node] = 0.0
    tree.p_index[node] = p_index
    tree.flags[node] = 0
