"""How often the published planners evaluate and validate: the counts behind their schedules."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import jit, jitable

PLATYPOOS, STROQUOOL, SEQUOOL, UNIFORM, FIGURE = 0, 1, 2, 3, 4
"""Kinds of schedules; FIGURE is that of PLATYPOOS with Figure 3 to the letter."""
DEPTH, INDEX, EVALUATIONS, QUOTA, NODES = 0, 1, 2, 3, 4
"""Columns of ``Schedule.rows``."""


@jitable
def evaluations(kind: int, h: int, p: int, weight: float) -> int:
    """c(h, p): how often the children of a node of depth h opened at p are evaluated.

    ``weight`` is γ^(2h).
    """
    if kind == SEQUOOL:
        return 1
    if kind == STROQUOOL:
        return 1 << p
    return max(1, math.ceil(h * (1 << p) * weight))  # Figure 3


@jitable
def first_index(h_max: int, h: int, weight: float) -> int:
    """⌊log2(h_max/⌈h²γ^(2h)⌉)⌋: the p that Figure 3 starts at; −1 if there is none.

    ``weight`` is γ^(2h).
    """
    least = max(1, math.ceil(h * h * weight))
    p = -1
    while (least << (p + 1)) <= h_max:
        p += 1
    return p


def validation_norm(gamma: float, horizon: int | None) -> float:
    """1/Σ (t+1)·γ^(2t) over all steps: (1 − γ²)² without a horizon."""
    if horizon is None:
        return (1 - gamma * gamma) ** 2
    if gamma == 1.0:
        return 2.0 / (horizon * (horizon + 1.0))
    x = gamma * gamma
    rest = x**horizon * (1 + horizon * (1 - x))  # what the steps behind the horizon would add
    return (1 - x) ** 2 / (1 - rest)


@jitable
def validation_count(kind: int, t: int, depth: int, h_max: int, gamma: float, norm: float) -> int:
    """Evaluations of step t of a candidate of this depth in the cross-validation."""
    if kind == STROQUOOL:
        return -(-h_max // depth)
    count: int = math.ceil((t + 1) * gamma ** (2.0 * t) * h_max * norm)
    return count


@jitable
def validation_cost(
    kind: int, depth: int, h_max: int, gamma: float, norm: float, reset: bool
) -> int:
    """The most calls that the cross-validation of one candidate of at most this depth takes."""
    if kind == STROQUOOL:
        # d * ceil(h_max / d) <= h_max + d - 1 evaluations for depth d; each a walk if reset,
        # and a walk to the end evaluates every step.
        return h_max + depth
    cost = 0
    most = 0
    for t in range(depth - 1, -1, -1):
        count = validation_count(kind, t, depth, h_max, gamma, norm)
        most = max(most, count)  # walks that reach step t: those that some later step needs
        cost += most if reset else count
    return cost


@jitable
def tabulate(
    kind: int,
    h_max: int,
    num_actions: int,
    gamma: float,
    norm: float,
    deepest: int,
    reset: bool,
    rows: NDArray[np.int64],
) -> tuple[int, int]:
    """Fill ``rows`` (if it has room) for this h_max; returns how many, and the worst-case cost.

    Nodes of depth ``deepest`` are the last to be opened.

    Figure 3 asks for ⌈(h−1)·2^p·γ^(2(h−1))⌉ evaluations of a node. Where two p have the same count,
    nodes that were opened at one of them are eligible at the other.

    The cost grows with h_max, so the largest that fits can be searched for: with
    O(h, p) = Σ_{p' ≥ p} o(h, p') = min(k(h, p) + O(h, p+1), K·O(h−1, p)) growing in h_max, and
    the cost of a layer Σ_p O(h, p)·(c(h, p) − c(h, p−1)), every coefficient is at least 0.
    """
    p_max = 0
    if kind != SEQUOOL:
        while (2 << p_max) <= h_max:
            p_max += 1
    before = [1] * (p_max + 1)  # O(h−1, ·)
    opened = [0] * (p_max + 1)  # O(h, ·)
    cost = num_actions * (1 if kind == SEQUOOL else h_max)
    count = 0
    depth = 1
    for h in range(1, min(h_max, deepest) + 1):
        weight = gamma ** (2.0 * h)
        share = h_max // (h * h) if reset else h_max // h
        above = 0
        first = first_index(h_max, h, weight) if kind == FIGURE else p_max
        for p in range(p_max, -1, -1):
            c = evaluations(kind, h, p, weight)
            k = share // c if p <= first else 0
            o = min(k, num_actions * before[p] - above)
            if k > 0:
                if count < len(rows):
                    rows[count, DEPTH] = h
                    rows[count, INDEX] = p
                    rows[count, EVALUATIONS] = c
                    rows[count, QUOTA] = k
                    rows[count, NODES] = o
                count += 1
                cost += num_actions * o * c * (h + 1 if reset else 1)
            above += o
            opened[p] = above
        if above == 0:
            break
        depth = h + 1
        if kind == FIGURE:
            for p in range(1, p_max + 1):
                if evaluations(kind, h, p, weight) == evaluations(kind, h, p - 1, weight):
                    opened[p] = opened[p - 1]
        before, opened = opened, before
    if kind != SEQUOOL:
        cost += (p_max + 1) * validation_cost(kind, depth, h_max, gamma, norm, reset)
    return count, cost


@jitable
def largest_h_max(
    kind: int,
    num_actions: int,
    gamma: float,
    norm: float,
    deepest: int,
    reset: bool,
    budget: int,
) -> int:
    """The largest h_max whose worst-case cost fits the budget; 0 if none does."""
    none = np.empty((0, 5), np.int64)
    low, low_cost = 0, 0.0
    # At least one node is opened at each depth up to h_max (RESET: up to √h_max, by walks), so
    # the cost is at least K·h_max (RESET: half of it).
    high, high_cost = 2 * (budget // num_actions) + 3, 0.0
    guess = max(1, budget // (8 * num_actions))
    tries = 0
    while high - low > 1:
        guess = min(max(guess, low + 1), high - 1)
        cost = float(tabulate(kind, guess, num_actions, gamma, norm, deepest, reset, none)[1])
        if cost <= budget:
            low, low_cost = guess, cost
        else:
            high, high_cost = guess, cost
        tries += 1
        # The cost is close to a power of h_max: interpolate, and halve now and then to be safe.
        if tries % 4 == 0:
            guess = (low + high) // 2
        elif low == 0:
            guess = int(high * budget / high_cost)
        elif high_cost == 0.0:
            guess = int(low * budget / low_cost) + 1
        else:
            power = math.log(high / low) / math.log(high_cost / low_cost)
            guess = int(low * (budget / low_cost) ** power + 0.5)
    return low


largest_h_max_compiled = jit(largest_h_max)
tabulate_compiled = jit(tabulate)
WORTH_COMPILING = 30_000
"""Budgets up to this are scheduled in plain Python: milliseconds, against seconds to compile."""
