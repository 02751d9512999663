"""What a planner that grows a tree keeps of it from one step of an episode to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checking.watch import Watch
from platypoos.compiled.code import jit
from platypoos.models.base import Access
from platypoos.search.base import Task
from platypoos.search.growth import NOBODY, Growth
from platypoos.trees.protocol import Sampler
from platypoos.trees.tree import ROOT, Tree, copy_nodes, set_root

Nodes = np.ndarray[Any, np.dtype[np.int64]]
NOTHING = np.empty(0, np.int64)
MOST_KEPT = 4
"""Most nodes that are kept, as a multiple of the budget."""


class TreeMemory:
    """Keeps the tree of the last plan, to go on below the action that was taken."""

    def __init__(self) -> None:
        self._task: Task | None = None
        self._sim: Any = None
        self._tree: Any = None
        self._action = -1

    def keep(self, task: Task, sim: Sampler, tree: Tree) -> None:
        """Keep a tree and the sampler that has its states."""
        self._task, self._sim, self._tree, self._action = task, sim, tree, -1

    def observe(self, action: int, reward: float) -> None:  # noqa: ARG002  a part of the contract
        """Take note of the action that was taken."""
        self._action = action

    def below(self, task: Task) -> Nodes:
        """The nodes that were kept below the action taken, the new root first.

        There are none if they belong to another model or another state. If there are more than
        ``MOST_KEPT`` budgets of them, the first ones that were made are kept.
        """
        old = self._task
        if (
            old is None
            or old.model is not task.model
            or old.executor is not task.executor
            or (old.horizon is None) != (task.horizon is None)
        ):
            return NOTHING
        tree = self._tree
        nodes = np.flatnonzero(mark_below(tree, self._action))[: MOST_KEPT * task.budget]
        if not len(nodes) or tree.pulls[nodes[0]] == 0:
            return NOTHING
        if task.access is Access.RESTORE:
            expected = self._sim.states_of(nodes[:1])[0]
            if Watch(task.model, task.state).is_elsewhere(expected, task.state):
                return NOTHING
        return nodes

    def put_into(self, sim: Sampler, tree: Tree, growth: Growth, nodes: Nodes) -> None:
        """Let a tree that consists of its root have the nodes that were kept (by RESTORE)."""
        root_state = sim.states_of(np.array([ROOT]))[0]
        old = self._tree
        copy_nodes(old, tree, nodes)
        sim.adopt(self._sim, nodes)
        sim.put(ROOT, root_state)
        sim.ask_legal(np.array([ROOT]))
        depth = int(old.depth[nodes[0]])
        number = {int(node): i for i, node in enumerate(nodes.tolist())}
        set_root(tree)
        tree.size[0] = len(nodes)
        for node in range(1, len(nodes)):
            parent = number[int(tree.parent[node])]
            tree.parent[node] = parent
            tree.depth[node] -= depth
            growth.first[node] = NOBODY
            growth.children[node] = 0
            growth.score[node] = 0.0
            growth.plays[node] = 0
            growth.sibling[node] = growth.first[parent]
            growth.first[parent] = node
            growth.children[parent] += 1


@jit
def mark_below(tree: Tree, action: int) -> NDArray[np.bool_]:
    """Which nodes begin with an action."""
    below = np.zeros(tree.size[0], np.bool_)
    for node in range(1, tree.size[0]):
        parent = tree.parent[node]
        below[node] = tree.action[node] == action if parent == ROOT else below[parent]
    return below
