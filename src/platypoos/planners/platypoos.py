"""PlaTγPOOS: planning with γ plus an online optimization strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.checks import check_flag
from platypoos.search import counts
from platypoos.search.base import PAPER
from platypoos.search.layered import LayeredPlanner
from platypoos.search.schedules import BudgetUse


@dataclass(frozen=True)
class PlaTyPOOS(LayeredPlanner):
    """Plans without knowing how large rewards are, nor how noisy: nothing to tune.

    The published algorithm. It needs to know the discount only. With a deadline or ``stop`` it
    plans in rounds with doubled budgets (the paper's remark on an unknown n), and the last round
    that is complete recommends. A round begins anew: samples of earlier ones are thrown away.

    Reference: P. L. Bartlett, V. Gabillon, J. Healey, M. Valko. Scale-free adaptive planning for
    deterministic dynamics & discounted rewards. ICML 2019, Figure 3.

    Symbols: h_max, p_max, c(h, p), k(h, p), o(h, p) are the columns of
    ``platypoos.planners.schedules.platypoos``; û is ``Tree.value``, r̂ ``Tree.reward``, T
    ``Tree.pulls``.

    Deviations:
        - A node is eligible at (h, p) by its index, the p its parent was opened at, instead of
          the figure's test on its own number of evaluations. This implies that test for the
          node and every prefix, as the proof of Lemma 3 needs.
        - h_max is the largest whose worst-case cost fits the budget, and what is left goes to
          the cross-validation (the paper's remark on the use of the budget).
          ``budget_use="paper"`` takes the figure's h_max.
        - Sequences of different length are compared with rewards counted from ``reward_floor``,
          by default the smallest mean reward seen (where episodes end, the smallest discounted
          average along a sequence, and at most 0), so that rewards may have any sign;
          ``reward_floor=0`` is the paper.
        - Cross-validation evaluates step t ⌈(t+1)·γ^(2t)·h_max·(1−γ²)²⌉ times, the power that
          sums to h_max. Each layer is chosen as a whole before it is evaluated.
        - At each depth p starts at p_max, where the figure starts at ⌊log2(h_max/⌈h²γ^(2h)⌉)⌋.
          Where a larger p has a quota k(h, p) of at least 1, it opens nodes too. These p are
          within the range of Lemma 3, which has no ⌈⌉ there.
        - A candidate that is best for several p is validated once.
        - ``faithful=True`` is the figure to the letter: its h_max, its p, its test on a node's own
          number of evaluations, each a^p validated, unseen steps counted at 0. All a^p are chosen
          before the first is validated. It takes the largest h_max that fits if the budget is too
          small for the figure's, and with RESET access it opens h times fewer nodes (Figure 2).

    Args:
        discount: γ, in [0, 1).
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.
        budget_use: "full" or "paper".
        faithful: Figure 3 to the letter. ``budget_use`` is not looked at then, and a
            ``reward_floor`` of None is 0.

    >>> import platypoos as pp
    >>> planner = pp.PlaTyPOOS(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(noise=1.0), budget=1_000, seed=0).action
    0
    """

    faithful: bool = False

    name: ClassVar[str] = "platypoos"
    workers: ClassVar[str] = "many"
    guarantee: ClassVar[str] = "regret bound"
    kind: ClassVar[int] = counts.PLATYPOOS
    citation: ClassVar[str] = PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("faithful", self.faithful)

    @property
    def _kind(self) -> int:
        return counts.FIGURE if self.faithful else self.kind

    @property
    def _use(self) -> BudgetUse:
        return "paper" if self.faithful else self.budget_use

    @property
    def _floor(self) -> float | None:
        return 0.0 if self.faithful and self.reward_floor is None else self.reward_floor
