"""An action at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.growth import begin_opened


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
    >>> pp.planners.Random(discount=0.95).plan(pp.problems.SwitchChain(), budget=100, seed=0).calls
    0
    """

    name: ClassVar[str] = "random"
    citation: ClassVar[str] = "none"

    def check_access(self, model: Any, access: Access) -> Access:  # noqa: ARG002
        """How to use a model: in any way, as it looks at nothing."""
        return access

    def _plan(self, task: Task) -> Plan:
        sim, tree, _ = begin_opened(task, 1)
        node = 1 + int(task.rng.integers(tree.num_nodes - 1))
        nothing = np.full(task.num_actions, np.nan)
        return self.recommend(
            task, tree, node, value=float("nan"), calls=sim.calls, estimates=nothing
        )
