"""Where the calls went: a small summary of a search tree of any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.explain.sequences import depths_of, firsts_of, layers_of
from platypoos.trees.tree import ROOT, Tree

MOST_NODES = 1_200
"""Nodes of the tree that are kept: those with the most samples in them and below them."""


@dataclass(frozen=True)
class Summary:
    """What a search looked at."""

    nodes: int
    """Nodes of the whole tree, the root included."""
    samples: int
    """Samples in the whole tree. In an episode, those of the steps before are among them."""
    depth: int
    """Of the deepest node."""
    counts: tuple[tuple[int, ...], ...]
    """[depth − 1][first action] samples."""
    parent: tuple[int, ...]
    """The nodes that are kept, the root first: the place of the parent among them, or −1…"""
    action: tuple[int, ...]
    reward: tuple[float, ...]
    """…mean reward…"""
    own: tuple[int, ...]
    """…samples of the node itself…"""
    below: tuple[int, ...]
    """…samples of the node and all below it…"""
    best: tuple[bool, ...]
    """…and whether the node is on the recommended sequence."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "nodes": self.nodes,
            "samples": self.samples,
            "depth": self.depth,
            "counts": [list(row) for row in self.counts],
            "tree": {
                name: list(getattr(self, name))
                for name in ("parent", "action", "reward", "own", "below", "best")
            },
        }


def summarize(
    tree: Tree, num_actions: int, actions: tuple[int, ...], most: int = MOST_NODES
) -> Summary:
    """Sum a tree up; ``actions`` is the recommended sequence."""
    size = tree.num_nodes
    depth = depths_of(tree)
    layers = layers_of(depth)
    first = firsts_of(tree, depth)
    pulls = tree.pulls[:size].astype(np.int64)
    pulls[ROOT] = 0
    counts = np.zeros((len(layers), num_actions), np.int64)
    np.add.at(counts, (depth[1:] - 1, first[1:]), pulls[1:])
    below = pulls.copy()
    for nodes in reversed(layers):
        np.add.at(below, tree.parent[nodes], below[nodes])
    kept = np.sort(np.argsort(-below, kind="stable")[:most])  # no node has more than its parent
    place = np.full(size, -1, np.int64)
    place[kept] = np.arange(len(kept))
    parents = tree.parent[kept].astype(np.int64)
    parents[1:] = place[parents[1:]]
    parents[0] = -1
    best = np.zeros(size, bool)
    best[_along(tree, actions)] = True
    return Summary(
        nodes=size,
        samples=int(pulls.sum()),
        depth=len(layers),
        counts=tuple(tuple(row) for row in counts.tolist()),
        parent=tuple(parents.tolist()),
        action=tuple(tree.action[kept].tolist()),
        reward=tuple(np.where(pulls[kept] > 0, tree.reward[kept], 0.0).tolist()),
        own=tuple(pulls[kept].tolist()),
        below=tuple(below[kept].tolist()),
        best=tuple(best[kept].tolist()),
    )


def _along(tree: Tree, actions: tuple[int, ...]) -> NDArray[np.int64]:
    """The nodes along a sequence, as far as the tree has it.

    Where sequences meet in a state, what follows is below the first of them only.
    """
    size = tree.num_nodes
    order = np.argsort(tree.parent[1:size], kind="stable") + 1
    parents = tree.parent[order]
    path = [ROOT]
    for action in actions:
        start, end = np.searchsorted(parents, [path[-1], path[-1] + 1])
        children = order[start:end]
        found = children[tree.action[children] == action]
        if not len(found):
            break
        path.append(int(found[0]))
    return np.array(path)
