"""Sparse sampling: a look-ahead tree in which every action is sampled equally often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.checks import check_count
from platypoos.models.base import Access
from platypoos.planners.closed_loop.tree import ChanceTree
from platypoos.results import Plan
from platypoos.search.base import Planner, Task

WIDTH = 6
"""C, if nobody says how many."""


@dataclass(frozen=True, kw_only=True)
class SparseSampling(Planner):
    """Calls every action of every node equally often, layer after layer.

    Use it to compare with, where dynamics are random: it is the textbook's planner whose cost
    does not depend on the number of states. It needs to know nothing, but looks only a few steps
    ahead: H steps take (K·C)^H calls where outcomes differ.

    Reference: M. Kearns, Y. Mansour, A. Y. Ng. A sparse sampling algorithm for near-optimal
    planning in large Markov decision processes. Machine Learning 49, 2002.

    Symbols: C is ``width``, H is ``depth``; Q̂ is the mean reward of an action plus γ times the
    mean over its C samples of V̂, the largest Q̂ of the state that it led to.

    Deviations: there are as many layers as the budget allows. In the paper H and C follow from an
    accuracy, and are far too large to be used. Samples of an action that led to the same state
    share one node, and so one estimate; otherwise nodes are histories, as published. After the last
    layer the model's ``value`` is counted, or else 0. With deterministic dynamics C is 1, unless it
    is given.

    Args:
        discount: γ, in [0, 1), or 1 with a horizon.
        width: C, the calls of each action; 6 if left out (of 2, 3, 4, 6 and 8 the best on the
            problems of ``benchmarks/chance.py``, on average over 100, 300 and 1,000 calls). Fewer
            if the budget does not allow so many for the first layer.
        depth: the most layers.

    >>> import platypoos as pp
    >>> planner = pp.planners.SparseSampling(discount=0.8)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=500, seed=0).action
    0
    """

    width: int | None = None
    depth: int | None = None

    name: ClassVar[str] = "sparse-sampling"
    workers: ClassVar[str] = "many"
    guarantee: ClassVar[str] = "accuracy"
    citation: ClassVar[str] = (
        "Kearns, Mansour, Ng. A sparse sampling algorithm for near-optimal planning in large "
        "Markov decision processes. Machine Learning 49, 2002."
    )
    access: ClassVar[tuple[Access, ...]] = (Access.RESTORE,)
    uses: ClassVar[tuple[str, ...]] = ("value",)
    reacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("width", "depth"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_count(name, getattr(self, name)))

    def _plan(self, task: Task) -> Plan:
        tree = ChanceTree(task, by_state=False)
        usual = WIDTH if task.has_chance else 1
        width = min(self.width or usual, task.budget // task.num_actions)

        def build() -> Plan | None:
            tree.back_up(self.discount, tree.worth)
            return tree.build(self)

        return tree.run(lambda: self._spend(tree, width), build)

    def _spend(self, tree: ChanceTree, width: int) -> None:
        """Sample all actions of a layer of nodes, as long as the budget allows a whole one."""
        layer = [tree.root]
        while layer and (self.depth is None or tree.depth < self.depth):
            edges = [edge for node in layer for edge in tree.open(node)]
            if len(edges) * width > tree.simulator.left:
                return
            tree.sample(edges, width)
            layer = [node for edge in edges for node in edge.outcomes if node is not None]
