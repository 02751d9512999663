"""An action at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from platypoos.plan import Plan
from platypoos.planners.base import Planner, Task
from platypoos.planners.growth import begin_opened


@dataclass(frozen=True)
class Random(Planner):
    """Takes an action at random, without a call.

    Use it as a floor: every planner must beat it. It needs to know nothing.

    Reference: none.

    Symbols: none.

    Deviations: none. The value of its plan is not a number, as nothing was seen.

    Args:
        discount: γ, in [0, 1); it does not matter for the choice.

    >>> import platypoos as pp
    >>> pp.Random(discount=0.95).plan(pp.problems.SwitchChain(), budget=100, seed=0).calls
    0
    """

    name: ClassVar[str] = "random"
    citation: ClassVar[str] = "none"

    def _plan(self, task: Task) -> Plan:
        sim, tree, _ = begin_opened(task, 1)
        node = 1 + int(task.rng.integers(tree.num_nodes - 1))
        return Plan(
            action=int(tree.action[node]),
            value=float("nan"),
            calls=sim.calls,
            budget=task.budget,
            discount=self.discount,
            state=task.state,
            num_actions=task.num_actions,
            node=node,
            p_index=0,
            reward_floor=0.0,
            tree=tree,
            estimates=np.full(task.num_actions, np.nan),
        )
