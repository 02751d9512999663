"""How hard a problem is: its smoothness ν, ρ and its branching factors κ (Section 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from platypoos.checks import check_count, check_discount, check_number
from platypoos.errors import InvalidArgument
from platypoos.lab.problems import MadeToOrder
from platypoos.lab.theory.tables import LARGEST, Floats, Table, make_table

LOG_SMALLEST = -600.0
"""Depths at which ρ^h is below e^−600 are not looked at."""
SAME = 1e-9
"""Values within this part of what counts as near-optimal are taken as equal."""


class Fit(NamedTuple):
    """N_h ≤ C·κ^h at every depth that was looked at."""

    kappa: float
    low: float
    high: float
    constant: float


@dataclass(frozen=True)
class Hardness:
    """What the theory needs to know of a problem.

    Proposition 1: u(a) ≥ v(a) − νρ^h for every sequence a of h actions. Definition 2: at most
    C·κ^h sequences of h actions are near-optimal, up to 3νρ^h; by their reward so far (κ^u) or by
    the best value they can still have (κ^v).
    """

    discount: float
    num_actions: int
    nu: float
    rho: float
    kappa_u: float
    constant_u: float
    kappa_v: float
    constant_v: float
    reward_max: float = 1.0
    """The largest mean reward, counted from the smallest."""
    smallest_nu: float = 0.0
    """The smallest ν for which Proposition 1 holds with this ρ, at the depths looked at."""
    interval_u: tuple[float, float] = (math.nan, math.nan)
    """The smallest and the largest κ^u that parts of the depths would give."""
    interval_v: tuple[float, float] = (math.nan, math.nan)
    counts_u: tuple[int, ...] = field(default=(), repr=False)
    """N^u_h(3νρ^h) for h = 0, 1, …"""
    counts_v: tuple[int, ...] = field(default=(), repr=False)
    """N^v_h(3νρ^h) for h = 0, 1, …"""

    def __post_init__(self) -> None:
        if check_discount(self.discount) == 0:
            raise InvalidArgument("discount must be above 0, got 0: a tree has one step then")
        check_count("num_actions", self.num_actions)
        check_rho(self.rho, self.discount)
        check_number("nu", self.nu, above=0.0)
        check_number("reward_max", self.reward_max, above=0.0)
        for kind in ("u", "v"):
            kappa = check_number(f"kappa_{kind}", getattr(self, f"kappa_{kind}"), least=1.0)
            if kappa > self.num_actions:
                raise InvalidArgument(
                    f"kappa_{kind} must be at most num_actions = {self.num_actions}, got {kappa!r}"
                )
            check_number(f"constant_{kind}", getattr(self, f"constant_{kind}"), least=1.0)


def check_rho(rho: object, discount: float) -> float:
    """ρ in (0, γ], or an error that says so."""
    number = check_number("rho", rho, above=0.0)
    if number > discount:
        raise InvalidArgument(f"rho must be at most the discount {discount:g}, got {number!r}")
    return number


def hardness(
    model: Any,
    discount: float,
    depth: int = 12,
    rho: float | None = None,
    nu: float | None = None,
    reward_floor: float | None = None,
) -> Hardness:
    """Measure how hard a problem is, from its initial state.

    Every sequence of up to ``depth`` actions is counted. Sequences are merged if they lead to the
    same state at the same cost, and left out once they can no longer be near-optimal, so the
    counts are exact, and ``depth`` can be large where sequences meet. Sequences end where the
    episode ends.

    Args:
        model: a problem of ``platypoos.problems``, or a model without noise that has at most a
            million states, which are told apart as ``Platypus`` does it.
        discount: γ, in (0, 1).
        depth: how deep to look, at least 2.
        rho: the smoothness ρ, in (0, discount]; the discount if left out, for which Proposition 1
            always holds.
        nu: the smoothness ν; the smallest for which Proposition 1 holds if left out.
        reward_floor: rewards are counted from here; if left out, from the problem's own
            ``reward_floor`` if it has one, else the smallest reward reached, or 0 if episodes end
            and that is smaller. The paper has rewards of at least 0, and counts from 0.

    κ is the growth of the counts over the deeper half of the depths, between 1 and the number of
    actions; its interval is from the smallest to the largest growth over parts of them that are at
    least half as long. C is the smallest for which N_h ≤ C·κ^h at every depth. Growth over finitely
    many depths need not be in the order of Proposition 2, κ^u(ν/2) ≤ κ^v(ν) ≤ κ^u(2ν), so it is
    fitted in that order; see ``Fits``.

    >>> import platypoos as pp
    >>> from platypoos import lab
    >>> problem = lab.problems.MadeToOrder(kappa=2.0, rho=0.5, depth=40, num_actions=3)
    >>> h = lab.theory.hardness(problem, discount=0.95, depth=16, rho=0.5)
    >>> round(h.nu, 3), round(h.kappa_u, 3), h.counts_u[:5]
    (0.5, 2.0, (1, 3, 6, 12, 24))
    """
    gamma = check_discount(discount)
    if gamma == 0:
        raise InvalidArgument("discount must be above 0, got 0: a tree has one step then")
    if check_count("depth", depth) < 2:
        raise InvalidArgument(f"depth must be at least 2 to see growth, got {depth!r}")
    rho = gamma if rho is None else check_rho(rho, gamma)
    deepest = int(LOG_SMALLEST / math.log(rho))
    if depth > deepest:
        raise InvalidArgument(
            f"with rho = {rho:g} rewards are lost in rounding at depth {depth}; pass a depth of "
            f"at most {deepest}"
        )
    table = make_table(model, gamma, depth, reward_floor)
    smallest = smallest_nu(table, gamma, rho)
    if nu is None:
        if smallest == 0:
            raise InvalidArgument("all rewards are the same: there is nothing to plan; pass nu")
        nu = smallest
    else:
        nu = check_number("nu", nu, above=0.0)
    fits = Fits(table, gamma, rho, smallest or nu)
    counts_u, counts_v = fits.counts(nu)
    num_actions = table.gap.shape[1]
    fit_u, fit_v = fits.fit_u(nu), fits.fit_v(nu)
    return Hardness(
        discount=gamma,
        num_actions=num_actions,
        nu=nu,
        rho=rho,
        kappa_u=fit_u.kappa,
        constant_u=fit_u.constant,
        kappa_v=fit_v.kappa,
        constant_v=fit_v.constant,
        reward_max=table.reward_max or nu,
        smallest_nu=smallest,
        interval_u=(fit_u.low, fit_u.high),
        interval_v=(fit_v.low, fit_v.high),
        counts_u=tuple(counts_u),
        counts_v=tuple(counts_v),
    )


def smallest_nu(table: Table, gamma: float, rho: float) -> float:
    """The smallest ν with v(a) − u(a) = γ^h·V*(x) ≤ νρ^h for every sequence in the table."""
    ratio = math.log(gamma) - math.log(rho)
    best = [
        math.log(top) + h * ratio
        for h, layer in enumerate(table.layers)
        if (top := float(table.value[layer].max(initial=0.0))) > 0
    ]
    if not best:
        return 0.0
    return math.exp(max(best))


def near_optimal_counts(
    table: Table, gamma: float, rho: float, nu: float
) -> tuple[list[int], list[int]]:
    """N^u_h(3νρ^h) and N^v_h(3νρ^h) for every depth h of the table.

    A node is its state and its shortfall v* − v(a), a sum of γ^t·(V* − Q*) ≥ 0; v* − u(a) is
    γ^h·V*(x) more. No sequence that goes on from a node with a shortfall above 3νρ^h will count.
    """
    num_actions = table.gap.shape[1]
    state, shortfall, many = np.zeros(1, np.int64), np.zeros(1), np.ones(1)
    counts_u, counts_v = [], []
    for h in range(len(table.layers)):
        weight = gamma**h
        limit = 3 * nu * rho**h * (1 + SAME)
        near = shortfall <= limit
        state, shortfall, many = state[near], shortfall[near], many[near]
        counts_v.append(int(many.sum()))
        counts_u.append(int(many[shortfall + weight * table.value[state] <= limit].sum()))
        if h + 1 == len(table.layers):
            break
        on = ~table.ended[state]
        state, shortfall, many = state[on], shortfall[on], many[on]
        shortfall = (shortfall[:, None] + weight * table.gap[state]).ravel()
        state, many = table.successor[state].ravel(), np.repeat(many, num_actions)
        state, shortfall, many = merge(state, shortfall, many, limit)
        if len(state) > LARGEST:
            raise InvalidArgument(
                f"more than {LARGEST:,} different sequences are near-optimal at depth {h + 1}; "
                f"pass a depth of at most {h}"
            )
    return counts_u, counts_v


def merge(state: Any, shortfall: Floats, many: Floats, limit: float) -> tuple[Any, Floats, Floats]:
    """Nodes of the same state and shortfall as one node that stands for many."""
    step = np.round(shortfall / (SAME * limit)) if limit > 0 else 0 * shortfall
    order = np.lexsort((step, state))
    state, shortfall, many, step = state[order], shortfall[order], many[order], step[order]
    new = np.ones(len(state), np.bool_)
    new[1:] = (np.diff(state) != 0) | (np.diff(step) != 0)
    first = np.flatnonzero(new)
    if not len(first):
        return state, shortfall, many
    return state[first], shortfall[first], np.add.reduceat(many, first)


class Fits:
    """κ^u and κ^v for any ν, in the order of Proposition 2.

    κ^u must not fall as ν grows. At half, once and twice the smallest ν for which Proposition 1
    holds, it is the non-decreasing sequence that is nearest to the growths of the counts. Elsewhere
    it is the growth, kept between these. κ^v(ν) is the growth, kept between κ^u(ν/2) and κ^u(2ν).
    So the order holds for every ν from a quarter to four times the smallest.
    """

    def __init__(self, table: Table, gamma: float, rho: float, anchor: float) -> None:
        self._table, self._gamma, self._rho = table, gamma, rho
        self._num_actions = table.gap.shape[1]
        self._counts: dict[float, tuple[list[int], list[int]]] = {}
        steps = [0.5 * anchor, anchor, 2.0 * anchor]
        self._levels = dict(
            zip(steps, nearest_increasing([self._growth_u(nu) for nu in steps]), strict=True)
        )

    def counts(self, nu: float) -> tuple[list[int], list[int]]:
        """N^u and N^v for 3νρ^h."""
        if nu not in self._counts:
            self._counts[nu] = near_optimal_counts(self._table, self._gamma, self._rho, nu)
        return self._counts[nu]

    def fit_u(self, nu: float) -> Fit:
        """κ^u(ν)."""
        return self._fit(self.counts(nu)[0], self._kappa_u(nu))

    def fit_v(self, nu: float) -> Fit:
        """κ^v(ν)."""
        counts = self.counts(nu)[1]
        kappa = fit_growth(counts, self._num_actions).kappa
        return self._fit(counts, min(max(kappa, self._kappa_u(nu / 2)), self._kappa_u(2 * nu)))

    def _fit(self, counts: list[int], kappa: float) -> Fit:
        free = fit_growth(counts, self._num_actions)
        if kappa == free.kappa:
            return free
        constant = constant_for(counts, kappa)
        return Fit(kappa, min(free.low, kappa), max(free.high, kappa), constant)

    def _growth_u(self, nu: float) -> float:
        try:
            return fit_growth(self.counts(nu)[0], self._num_actions).kappa
        except InvalidArgument:  # too many to count: nothing is known, and no bound
            return float(self._num_actions)

    def _kappa_u(self, nu: float) -> float:
        least = max((k for step, k in self._levels.items() if step <= nu), default=1.0)
        most = min(
            (k for step, k in self._levels.items() if step >= nu), default=float(self._num_actions)
        )
        return least if least == most else min(max(self._growth_u(nu), least), most)


def nearest_increasing(values: list[float]) -> list[float]:
    """The non-decreasing sequence with the least squared distance (pool adjacent violators).

    >>> nearest_increasing([1.0, 3.0, 2.0, 4.0])
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[list[float]] = []
    for value in values:
        pools.append([value])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return [fmean(pool) for pool in pools for _ in pool]


def fit_growth(counts: list[int], num_actions: int) -> Fit:
    """κ and C with N_h ≤ C·κ^h, from the counts of depths from 0 on."""
    depth = len(counts) - 1
    start = min(depth // 2, depth - 1)
    logs = np.array([math.log(max(count, 1)) for count in counts])  # of ints of any size
    window = np.arange(start, depth + 1)
    least = max(2, (len(window) + 1) // 2)
    slopes = [
        growth(window[i:j], logs)
        for i in range(len(window))
        for j in range(i + least, len(window) + 1)
    ]
    kappa, low, high = (
        min(max(math.exp(s), 1.0), float(num_actions))
        for s in (growth(window, logs), min(slopes), max(slopes))
    )
    return Fit(kappa, low, high, constant_for(counts, kappa))


def growth(depths: Any, logs: Floats) -> float:
    """The least-squares slope of the logarithms over some depths."""
    centred = depths - depths.mean()
    return float(centred @ logs[depths] / (centred @ centred))


def constant_for(counts: list[int] | tuple[int, ...], kappa: float) -> float:
    """The smallest C ≥ 1 with N_h ≤ C·κ^h for every h.

    >>> constant_for([1, 3, 6, 12], kappa=2.0)
    1.5
    """
    step = math.log(kappa)
    return max(
        [1.0]
        + [
            # In floats where they suffice: e^log n is not quite n.
            n / kappa**h if math.log(n) < 700 > h * step else math.exp(math.log(n) - h * step)
            for h, n in enumerate(counts)
            if n
        ]
    )


def kappa_for(counts: list[int] | tuple[int, ...], constant: float) -> float:
    """The smallest κ ≥ 1 with N_h ≤ C·κ^h for every h ≥ 1, for a given C: Definition 2 as it is.

    >>> kappa_for([1, 2, 4, 8], constant=1.0)
    2.0
    """
    check_number("constant", constant, least=1.0)
    logs = [math.log(n / constant) / h for h, n in enumerate(counts) if h and n]
    return math.exp(max([0.0, *logs]))


def known_hardness(problem: MadeToOrder) -> Hardness:
    """The hardness of a problem made to order, as it was made.

    C is that of the good sequences and of those that have just ended, near-optimal or not, so it
    holds for every ``depth`` of the secret.

    >>> import platypoos as pp
    >>> from platypoos import lab
    >>> h = known_hardness(lab.problems.MadeToOrder(kappa=2.0, rho=0.5, num_actions=2))
    >>> h.kappa_u, h.constant_u
    (2.0, 1.0)
    """
    counts, good = [1], 1
    for t in range(200):  # C·κ^h is met again and again, first within a few steps
        counts.append(good * problem.num_actions)
        good *= problem.num_good(t)
    constant = constant_for(counts, problem.kappa)
    return Hardness(
        discount=problem.discount,
        num_actions=problem.num_actions,
        nu=problem.nu,
        rho=problem.rho,
        kappa_u=problem.kappa,
        constant_u=constant,
        kappa_v=problem.kappa,
        constant_v=constant,
        reward_max=problem.nu,
        smallest_nu=problem.nu,
    )
