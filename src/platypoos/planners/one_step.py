"""One step ahead: the action with the best immediate reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.growth import begin_opened, finish, follow_scores, plan_by_plays
from platypoos.trees.tree import ROOT


@dataclass(frozen=True)
class OneStep(Planner):
    """Evaluates every action equally often and takes the one with the best mean reward.

    Use it as a floor: a planner that looks further must beat it. It needs to know nothing. If the
    model tells what states are worth, what the next one is worth is added.

    Reference: none, it is the greedy choice.

    Symbols: none.

    Deviations: none. What is left of the budget when it is divided by the actions is not used.

    Args:
        discount: γ, in [0, 1); it does not matter for the choice.

    >>> import platypoos as pp
    >>> planner = pp.planners.OneStep(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(), budget=100, seed=0).action
    1
    """

    name: ClassVar[str] = "one-step"
    workers: ClassVar[str] = "many"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    citation: ClassVar[str] = "none"

    def _plan(self, task: Task) -> Plan:
        sim, tree, growth = begin_opened(task, 1)
        nodes = np.arange(1, tree.num_nodes)
        share = task.budget // len(nodes)
        sim.evaluate(tree, nodes, np.full(len(nodes), share, np.int64))
        worth = sim.advice.worth
        if len(worth):
            tree.value[nodes] = tree.reward[nodes] + self.discount * worth[nodes]
            growth.score[nodes] = tree.value[nodes]
            return finish(self, task, sim, tree, follow_scores(tree, growth, ROOT), tree.value)
        return plan_by_plays(self, task, sim, tree, growth)
