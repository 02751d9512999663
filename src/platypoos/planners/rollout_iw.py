"""Rollout IW: random walks that stop where nothing new is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos.results import Plan
from platypoos.search.base import Task
from platypoos.search.growth import Growth, begin, finish
from platypoos.search.keeping import NOTHING, TreeMemory
from platypoos.search.novelty import (
    Atoms,
    FeatureReader,
    NoveltyPlanner,
    NoveltyTable,
    back_up,
    legal_actions,
    make_child,
)
from platypoos.trees.protocol import Sampler
from platypoos.trees.tree import ROOT, TERMINAL, Tree

ONCE = np.ones(1, np.int64)
NEGLIGIBLE = 0.01
"""Walks end where rewards are discounted to this…"""
SHALLOWEST = 100
"""…but not before this depth."""
NO_ATOMS = np.empty(0, np.int64)


@dataclass(frozen=True)
class RolloutIW(NoveltyPlanner):
    """Random walks from the root, each as long as it sees features at a smaller depth than before.

    Use it where few calls must reach far, and rewards are rare: Atari games with a few dozen
    calls a step. It needs features that tell what is new (``features`` of a model; see
    ``docs/simulators.md``), and states that can be restored. It is no planner for rewards with
    noise: each step is taken once. It is not consistent: more calls do not help once nothing new
    is left to see.

    Reference: W. Bandres, B. Bonet, H. Geffner. Planning with pixels in (almost) real time. AAAI
    2018.

    Symbols: RIW(k) has k = ``width``; a node is *solved* if no walk needs to come back to it:
    nothing new is seen there, the episode ends, or all its children are solved. The value of a
    node is the best discounted sum of rewards seen below it; what was not tried counts as 0. Of
    equal values the action with the longest path below it is taken.

    Deviations: it stops before the budget is spent when the root is solved, as published. The
    first state counts as seen. A node that was novel, and is no longer since its features were
    seen at a smaller depth, keeps its reward; the authors' program forgets it. From step to step
    of an episode the tree below the action taken is kept (``control`` does that), depths are
    counted anew, and the kept nodes leave no trace in the new table, as in the authors' program.
    Rewards are not clipped, and a lost life costs what the model says. Walks end where rewards are
    discounted to a hundredth, but not before depth 100 (published: depth 1,500).

    Args:
        discount: γ, in [0, 1).
        width: 1 to look at single features, 2 to look at pairs of them.

    >>> import platypoos as pp
    >>> def step(state, action, rng):  # a key at 3, a door at -3
    ...     place, has_key = state
    ...     place += 2 * action - 1
    ...     has_key = has_key or place == 3
    ...     there = has_key and place == -3
    ...     return (place, has_key), float(there), there or abs(place) > 3
    >>> model = pp.FunctionModel(step, actions=2, initial_state=(0, False))
    >>> pp.planners.RolloutIW(discount=0.99, width=2).plan(model, budget=100, seed=0).actions
    (1, 1, 1, 0, 0, 0, 0, 0, 0)
    """

    name: ClassVar[str] = "rollout-iw"
    citation: ClassVar[str] = (
        "Bandres, Bonet, Geffner. Planning with pixels in (almost) real time. AAAI 2018."
    )

    def remember(self) -> Any:
        """The tree below the action taken, for the next step of an episode."""
        return TreeMemory()

    def _plan(self, task: Task) -> Plan:
        memory: TreeMemory | None = task.memory
        kept = NOTHING if memory is None else memory.below(task)
        sim, tree, growth = begin(task, 1, len(kept))
        if memory is not None and len(kept):
            memory.put_into(sim, tree, growth, kept)
        search = _Rollouts(task, sim, tree, growth, self.width, deepest_of(self.discount))
        while sim.calls < task.budget and search.unsolved_actions(ROOT):
            search.roll_out()
        if memory is not None:
            memory.keep(task, sim, tree)
        end = int(back_up(tree, growth, self.discount))
        return finish(self, task, sim, tree, end, tree.value)


def deepest_of(discount: float) -> int:
    """The depth at which walks end.

    >>> deepest_of(0.5), deepest_of(0.99)
    (100, 458)
    """
    if discount == 1.0:  # the horizon is the end
        return 1 << 30
    if discount == 0.0:
        return SHALLOWEST
    return max(SHALLOWEST, int(math.log(NEGLIGIBLE) / math.log(discount)))


class _Rollouts:
    """The tree of one plan, and what walks have solved of it."""

    def __init__(
        self, task: Task, sim: Sampler, tree: Tree, growth: Growth, width: int, deepest: int
    ) -> None:
        self._sim, self._tree, self._growth = sim, tree, growth
        self._budget = task.budget
        self._deepest = task.within_horizon(deepest)
        self._reader = FeatureReader(task.model, width)
        self._table = NoveltyTable(width)
        self._rng = np.random.default_rng(growth.seed)
        self._unsolved: dict[int, list[int]] = {}
        """The actions of a node that lead to nodes that are not solved."""
        self._child: dict[tuple[int, int], int] = {}
        self._atoms: list[Atoms] = []
        for node in range(tree.num_nodes):  # the root, and the tree that was kept
            if node == ROOT:
                self._meet(node)
            else:
                self._child[int(tree.parent[node]), int(tree.action[node])] = node
                self._atoms.append(self._read(node))

    def unsolved_actions(self, node: int) -> list[int]:
        """The actions of a node that lead to nodes that are not solved; none if it is solved."""
        actions = self._unsolved.get(node)
        if actions is None:
            self._sim.ask_legal(np.array([node]))
            actions = self._unsolved[node] = legal_actions(self._growth, node)
        return actions

    def roll_out(self) -> None:
        """Walk from the root until a node is solved or the budget is spent."""
        node = ROOT
        while True:
            actions = self.unsolved_actions(node)
            action = actions[int(self._rng.random() * len(actions))]
            child = self._child.get((node, action))
            if child is not None:
                novel = self._is_still_novel(child)
            elif self._sim.calls < self._budget:
                child = make_child(self._tree, self._growth, node, action)
                self._child[node, action] = child
                self._sim.evaluate(self._tree, np.array([child]), ONCE)
                novel = self._meet(child)
            else:
                return
            if not novel or self._tree.depth[child] >= self._deepest:
                self._solve(child)
                return
            node = child

    def _meet(self, node: int) -> bool:
        """Note the features of a node that is met for the first time; whether it is novel."""
        atoms = self._read(node)
        self._atoms.append(atoms)
        return len(atoms) > 0 and self._table.record(atoms, int(self._tree.depth[node]))

    def _read(self, node: int) -> Atoms:
        """The atoms of a node; none if the episode ends there."""
        if self._tree.flags[node] & TERMINAL:
            return NO_ATOMS
        return self._reader.read(self._sim.states_of(np.array([node]))[0])

    def _is_still_novel(self, node: int) -> bool:
        return self._table.is_first(self._atoms[node], int(self._tree.depth[node]))

    def _solve(self, node: int) -> None:
        """Label a node, and those above it whose children are all solved."""
        while node != ROOT:
            parent = int(self._tree.parent[node])
            unsolved = self._unsolved[parent]
            unsolved.remove(int(self._tree.action[node]))
            if unsolved:
                return
            node = parent
