"""UCT with a polynomial bonus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.planners.uct import UCT


@dataclass(frozen=True, kw_only=True)
class PolynomialUCT(UCT):
    """UCT with the bonus β·N^(1/4)/N_a^(1/2): the form for which its analysis holds.

    Use it to compare with UCT. It needs to know a horizon, and can be told the scale of the
    returns; both may be wrong.

    Reference: D. Shah, Q. Xie, Z. Xu. Non-asymptotic analysis of Monte Carlo tree search.
    SIGMETRICS 2020.

    Symbols: β is ``scale``; the others as for UCT.

    Deviations: one β for all depths; those of UCT. The paper is about deterministic dynamics;
    where they are random, nodes are those of UCT.

    Args:
        discount: γ, in [0, 1).
        scale: β, about the size of the differences between returns; ``"auto"`` measures them.
        horizon: the length of a walk.

    >>> import platypoos as pp
    >>> planner = pp.planners.PolynomialUCT(discount=0.8, horizon=20)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=5_000, seed=0).action
    0
    """

    name: ClassVar[str] = "polynomial-uct"
    guarantee: ClassVar[str] = "regret bound"
    citation: ClassVar[str] = (
        "Shah, Xie, Xu. Non-asymptotic analysis of Monte Carlo tree search. SIGMETRICS 2020."
    )
    polynomial: ClassVar[bool] = True
