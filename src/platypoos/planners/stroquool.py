"""StroquOOL: PlaTγPOOS's elder sibling, which does not look at the discount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.search import counts
from platypoos.search.layered import LayeredPlanner


@dataclass(frozen=True)
class StroquOOL(LayeredPlanner):
    """Optimizes over sequences with 2^p evaluations at every depth, whatever the discount.

    Use it to see what the discount in PlaTγPOOS's counts is worth. It needs to know nothing of
    the rewards.

    With a deadline or ``stop`` it plans in rounds with doubled budgets, as PlaTyPOOS does: the last
    complete round recommends, and samples of earlier ones are thrown away.

    Reference: P. L. Bartlett, V. Gabillon, M. Valko. A simple parameter-free and adaptive
    approach to optimization under a minimal local smoothness assumption. ALT 2019.

    Symbols: c(h, p) = 2^p evaluations and ⌊h_max/(h·2^p)⌋ nodes at depth h and index p, the
    columns of ``platypoos.search.schedules.stroquool``.

    Deviations: it is applied to planning, with samples shared by all sequences through a node.
    A candidate of depth d is cross-validated with ⌈h_max/d⌉ evaluations of each step. h_max is
    the largest whose worst-case cost fits the budget (``budget_use="paper"`` takes that of
    PlaTγPOOS's Figure 3), and what is left goes to the cross-validation. Sequences of different
    length are compared with rewards counted from ``reward_floor``.

    Args:
        discount: γ, in [0, 1).
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.
        budget_use: "full" or "paper".

    >>> import platypoos as pp
    >>> planner = pp.planners.StroquOOL(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).action
    0
    """

    name: ClassVar[str] = "stroquool"
    workers: ClassVar[str] = "many"
    guarantee: ClassVar[str] = "regret bound"
    kind: ClassVar[int] = counts.STROQUOOL
    citation: ClassVar[str] = (
        "Bartlett, Gabillon, Valko. A simple parameter-free and adaptive approach to optimization "
        "under a minimal local smoothness assumption. ALT 2019."
    )
