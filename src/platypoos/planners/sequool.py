"""SequOOL: for rewards without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.search import counts
from platypoos.search.layered import LayeredPlanner


@dataclass(frozen=True)
class SequOOL(LayeredPlanner):
    """Opens the ⌊h_max/h⌋ best nodes of each depth h, and evaluates everything once.

    Use it when rewards have no noise: it goes deeper than any other planner here. It needs to
    know the discount only. With RESET access it opens ⌊h_max/h²⌋ nodes of depth h (Figure 2).

    With a deadline or ``stop`` it plans in rounds with doubled budgets, as PlaTyPOOS does: the last
    complete round recommends, and samples of earlier ones are thrown away.

    Reference: P. L. Bartlett, V. Gabillon, M. Valko. A simple parameter-free and adaptive
    approach to optimization under a minimal local smoothness assumption. ALT 2019; applied to
    planning in Bartlett et al., ICML 2019, Figures 1 and 2.

    Symbols: u is ``Tree.value``, ⌊h_max/h⌋ the quota of ``platypoos.search.schedules.sequool``.

    Deviations: h_max is the largest whose cost fits the budget (``budget_use="paper"`` takes
    ⌊n/H_n⌋); sequences of different length are compared with rewards counted from
    ``reward_floor``, by default the smallest reward seen (0 is the paper; see PlaTyPOOS).

    Args:
        discount: γ, in [0, 1).
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.
        budget_use: "full" or "paper".

    >>> import platypoos as pp
    >>> planner = pp.planners.SequOOL(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).action
    0
    """

    name: ClassVar[str] = "sequool"
    workers: ClassVar[str] = "many"
    guarantee: ClassVar[str] = "regret bound without noise"
    kind: ClassVar[int] = counts.SEQUOOL
    needs: ClassVar[str] = "rewards without noise"
    citation: ClassVar[str] = (
        "Bartlett, Gabillon, Valko. A simple parameter-free and adaptive approach to optimization "
        "under a minimal local smoothness assumption. ALT 2019."
    )
