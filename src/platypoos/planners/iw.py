"""IW: breadth-first search that goes on from new states only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from platypoos.results import Plan
from platypoos.search.base import Task
from platypoos.search.growth import Growth, begin, finish
from platypoos.search.novelty import (
    FeatureReader,
    NoveltyPlanner,
    NoveltyTable,
    back_up,
    legal_actions,
    make_child,
)
from platypoos.trees.protocol import Sampler
from platypoos.trees.tree import ROOT, TERMINAL, Tree


@dataclass(frozen=True)
class IW(NoveltyPlanner):
    """Iterated width: breadth-first search that drops states which show nothing new.

    Use it where rewards are rare and a state is made of a few features with few values each:
    width 1 opens at most as many states as there are features times values. It needs features
    that tell what is new (``features`` of a model; see ``docs/simulators.md``), and states that
    can be restored. It is no planner for rewards with noise: each step is taken once. It is not
    consistent: more calls do not help once nothing new is left to see. All children of a depth
    are one request, so array models and executors are used well.

    Reference: N. Lipovetzky, H. Geffner. Width and serialization of classical planning problems.
    ECAI 2012. With rewards: N. Lipovetzky, M. Ramirez, H. Geffner. Classical planning with
    simulators: results on the Atari video games. IJCAI 2015.

    Symbols: IW(k) has k = ``width``; the novelty of a state is the size of the smallest tuple of
    features with values that was not seen before; states of novelty above k are dropped.

    Deviations: only the search of one width is made, not one width after the other. The actions
    of a state are tried in random order, which matters for which of two equal states is kept, and
    where the budget ends. The recommended path is the best among those to leaves: what was seen
    later on a path counts, also if it is a loss.

    Args:
        discount: γ, in [0, 1).
        width: 1 to look at single features, 2 to look at pairs of them. Width 2 takes time and
            memory by the square of the number of features, at most 2,000.

    >>> import platypoos as pp
    >>> def step(state, action, rng):  # a key at 3, a door at -3
    ...     place, has_key = state
    ...     place += 2 * action - 1
    ...     has_key = has_key or place == 3
    ...     there = has_key and place == -3
    ...     return (place, has_key), float(there), there or abs(place) > 3
    >>> model = pp.FunctionModel(step, actions=2, initial_state=(0, False))
    >>> pp.planners.IW(discount=0.99, width=2).plan(model, budget=100, seed=0).actions
    (1, 1, 1, 0, 0, 0, 0, 0, 0)
    """

    name: ClassVar[str] = "iw"
    workers: ClassVar[str] = "many"
    citation: ClassVar[str] = (
        "Lipovetzky, Ramirez, Geffner. Classical planning with simulators: results on the Atari "
        "video games. IJCAI 2015."
    )

    def _plan(self, task: Task) -> Plan:
        sim, tree, growth = begin(task, 1)
        search(task, sim, tree, growth, self.width)
        end = int(back_up(tree, growth, self.discount))
        return finish(self, task, sim, tree, end, tree.value)


def search(task: Task, sim: Sampler, tree: Tree, growth: Growth, width: int) -> None:
    """Depth by depth, evaluate all children of the states that are new."""
    rng = np.random.default_rng(growth.seed)
    reader, table = FeatureReader(task.model, width), NoveltyTable(width)
    table.record(reader.read(task.state), 0)
    layer = [ROOT]
    depth = 0
    while layer and sim.calls < task.budget and (task.horizon is None or depth < task.horizon):
        sim.ask_legal(np.array(layer))
        left = task.budget - sim.calls
        steps = [(node, action) for node in layer for action in shuffled(growth, node, rng)]
        children = np.array([make_child(tree, growth, *step) for step in steps[:left]])
        sim.evaluate(tree, children, np.ones(len(children), np.int64))
        depth += 1
        going_on = children[tree.flags[children] & TERMINAL == 0]
        states = sim.states_of(going_on)
        layer = [
            node
            for node, state in zip(going_on.tolist(), states, strict=True)
            if table.record(reader.read(state), depth)
        ]


def shuffled(growth: Growth, node: int, rng: np.random.Generator) -> list[int]:
    """The actions of a node in random order."""
    return rng.permutation(legal_actions(growth, node)).tolist()  # type: ignore[no-any-return]
