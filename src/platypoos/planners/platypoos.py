"""PlaTγPOOS: planning with γ plus an online optimization strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.search import counts
from platypoos.search.layered import LayeredPlanner


@dataclass(frozen=True)
class PlaTyPOOS(LayeredPlanner):
    """Plans without knowing how large rewards are, nor how noisy: nothing to tune.

    The published algorithm. It needs to know the discount only.

    Reference: P. L. Bartlett, V. Gabillon, J. Healey, M. Valko. Scale-free adaptive planning for
    deterministic dynamics & discounted rewards. ICML 2019, Figure 3.

    Symbols: h_max, p_max, c(h, p), k(h, p), o(h, p) are the columns of
    ``platypoos.schedules.platypoos``; û is ``Tree.value``, r̂ ``Tree.reward``, T ``Tree.pulls``.

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

    Args:
        discount: γ, in [0, 1).
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.
        budget_use: "full" or "paper".

    >>> import platypoos as pp
    >>> planner = pp.PlaTyPOOS(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(noise=1.0), budget=1_000, seed=0).action
    0
    """

    name: ClassVar[str] = "platypoos"
    kind: ClassVar[int] = counts.PLATYPOOS
    citation: ClassVar[str] = (
        "Bartlett, Gabillon, Healey, Valko. Scale-free adaptive planning for deterministic "
        "dynamics & discounted rewards. ICML 2019."
    )
