"""The regret that a schedule gives by itself: no run, no noise, no constants left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from platypoos.lab.problems import MadeToOrder
from platypoos.lab.theory.bounds import bound
from platypoos.lab.theory.hardness import known_hardness
from platypoos.lab.theory.measure import slope
from platypoos.models.base import Access
from platypoos.search.counts import (
    DEPTH,
    INDEX,
    QUOTA,
    SEQUOOL,
    largest_h_max_compiled,
    tabulate_compiled,
    validation_norm,
)
from platypoos.search.layered import LayeredPlanner

DEEPEST = 64
"""Most layers that are looked at: for κ > 1 everything is decided before that."""


def expected_regret(problem: MadeToOrder, planner: LayeredPlanner, budget: int) -> float:
    """The largest mean simple regret over the depths of the secret, for κ > 1 without noise.

    All good sequences look alike, so a planner opens some of them at random; the schedule says how
    many. A secret of depth d is found if its node of depth d−1 is opened, else the first action
    is guessed.
    """
    missed = 1 - 1 / problem.num_good(0)
    shares = opened_shares(problem, planner, budget)
    return max(
        replace(problem, depth=above + 1).gap * (1 - share) * missed
        for above, share in enumerate(shares)
    )


def expected_exponent(
    problem: MadeToOrder, planner: LayeredPlanner, budgets: Sequence[int]
) -> float:
    """The x of an expected regret that falls as N^(−x)."""
    regrets = [expected_regret(problem, planner, budget) for budget in budgets]
    return -slope([math.log(n) for n in budgets], [math.log(r) for r in regrets])[0]


def opened_shares(problem: MadeToOrder, planner: LayeredPlanner, budget: int) -> list[float]:
    """Which share of the good sequences of each depth is opened."""
    own = h_max_of(planner, problem.actions.n, budget)
    h_max = own or bound(known_hardness(problem), planner.name, budget).h_max or 1
    p_max = 0 if planner.kind == SEQUOOL else h_max.bit_length() - 1
    rows = np.zeros((DEEPEST * (p_max + 1), 5), np.int64)
    norm = validation_norm(planner.discount, None)
    tabulate_compiled(
        planner.kind, h_max, problem.actions.n, planner.discount, norm, h_max, False, rows
    )
    quotas = np.zeros((DEEPEST + 1, p_max + 1), np.int64)
    kept = rows[rows[:, DEPTH] <= DEEPEST]
    quotas[kept[:, DEPTH], kept[:, INDEX]] = kept[:, QUOTA]
    before = [1] * (p_max + 1)  # nodes opened at index p or more, one depth above
    good, shares = 1, [1.0]
    for depth in range(1, DEEPEST):
        branches = problem.num_good(depth - 1)
        good *= branches
        opened, above = [0] * (p_max + 1), 0
        for p in range(p_max, -1, -1):
            above = opened[p] = min(above + int(quotas[depth, p]), branches * before[p])
        shares.append(above / good)
        before = opened
    return shares


def h_max_of(
    planner: LayeredPlanner, num_actions: int, budget: int, access: Access = Access.RESTORE
) -> int | None:
    """The planner's own h_max, without all of its schedule; None if it is the paper's."""
    if planner.budget_use == "paper":
        return None
    reset = access is Access.RESET
    return int(
        largest_h_max_compiled(
            planner.kind,
            num_actions,
            planner.discount,
            validation_norm(planner.discount, None),
            budget,
            reset,
            budget,
        )
    )
