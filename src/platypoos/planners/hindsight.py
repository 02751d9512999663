"""Hindsight optimisation: sample futures, solve each as if it were known, and average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.checks import check_count
from platypoos.models.base import Access
from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node
from platypoos.results import Plan
from platypoos.search.base import Planner, Task

Future = dict[Edge, tuple[Node | None, float]]
"""Where actions lead in a future, and their rewards."""
FUTURES = 8
"""How many, if nobody says so."""


@dataclass(frozen=True, kw_only=True)
class Hindsight(Planner):
    """Averages over futures what the first action is worth to somebody who knows the future.

    Use it to compare with, where dynamics are random. It needs to know nothing.

    It is biased. In each future the best actions are taken with the outcomes of chance known
    beforehand, so values are too high: the mean of the largest is at least the largest mean.
    Actions that leave a choice for later gain most from this. So it takes a gamble that must be
    called before the coin is thrown for one that is always won, and pays nothing for information,
    since it believes to have it. More calls do not mend this.

    Reference: S. Yoon, A. Fern, R. Givan, S. Kambhampati. Probabilistic planning via
    determinization in hindsight. AAAI 2008; before that E. K. P. Chong, R. L. Givan, H. S. Chang.
    A framework for simulation-based network control via hindsight optimization. CDC 2000.

    Symbols: a future has one outcome for each state, time and action, drawn when it is first
    needed. Q of a future is that of the best sequence in it.

    Deviations: each future is solved by exhaustive search, layer after layer, as deep as its equal
    share of the budget allows; states that meet are one node. In the paper a classical planner
    solves it, to a given horizon. After the last layer the model's ``value`` is counted, or else 0.
    After the first step a plan shows the action with the best mean Q over the futures that came by.
    With deterministic dynamics there is one future, unless more are asked for.

    Args:
        discount: γ, in [0, 1), or 1 with a horizon.
        futures: how many are sampled; 8 if left out (of 2, 4, 8, 16 and 32 the best on the
            problems of ``benchmarks/chance.py``, on average over 100, 300 and 1,000 calls). Fewer
            if the budget does not allow one call of each action in so many.

    >>> import platypoos as pp
    >>> planner = pp.planners.Hindsight(discount=0.8)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=500, seed=0).action
    0
    """

    futures: int | None = None

    name: ClassVar[str] = "hindsight"
    workers: ClassVar[str] = "many"
    citation: ClassVar[str] = (
        "Yoon, Fern, Givan, Kambhampati. Probabilistic planning via determinization in hindsight. "
        "AAAI 2008."
    )
    access: ClassVar[tuple[Access, ...]] = (Access.RESTORE,)
    uses: ClassVar[tuple[str, ...]] = ("value",)
    reacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.futures is not None:
            object.__setattr__(self, "futures", check_count("futures", self.futures))

    def _plan(self, task: Task) -> Plan:
        tree = ChanceTree(task, by_state=True)
        usual = FUTURES if task.has_chance else 1
        futures = min(self.futures or usual, task.budget // task.num_actions)

        def spend() -> None:
            for number in range(futures):
                self._solve(tree, tree.simulator.left // (futures - number))

        return tree.run(spend, lambda: tree.build(self))

    def _solve(self, tree: ChanceTree, calls: int) -> None:
        """Solve one future exactly, for as many steps as the calls allow."""
        future: Future = {}
        layers = [[tree.root]]
        try:
            self._look_ahead(tree, calls, future, layers)
        finally:  # also what is known of it when somebody interrupts
            self._note_values(tree, future, layers)

    @staticmethod
    def _look_ahead(tree: ChanceTree, calls: int, future: Future, layers: list[list[Node]]) -> None:
        """Draw what all actions of a layer of nodes lead to: the next layer."""
        while layers[-1]:
            edges = [edge for node in layers[-1] for edge in tree.open(node)]
            if len(edges) > calls:
                return
            calls -= len(edges)
            future.update(zip(edges, (found[0] for found in tree.sample(edges, 1)), strict=True))
            reached = dict.fromkeys(future[edge][0] for edge in edges)
            layers.append([node for node in reached if node is not None])

    def _note_values(self, tree: ChanceTree, future: Future, layers: list[list[Node]]) -> None:
        """Add the values of the best sequences of a future to the means."""
        values: dict[Node | None, float] = {node: tree.worth(node) for node in layers[-1]}
        values[None] = 0.0
        for layer in reversed(layers[:-1]):
            for node in layer:
                returns = []
                for edge in node.edges:
                    after, reward = future[edge]
                    returns.append(reward + self.discount * values[after])
                    edge.note(returns[-1])
                values[node] = max(returns)
