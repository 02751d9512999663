"""What the theorems promise: the regime, the rate of the cell of Table 1, a finite-time bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from platypoos.checks import check_budget, check_count, check_number
from platypoos.errors import InvalidArgument
from platypoos.lab.theory import depths as d
from platypoos.lab.theory.hardness import Hardness
from platypoos.models.base import Access, access_of

EULER = 0.5772156649015329
LARGEST_BUDGET = 10**15
"""Formulas take larger budgets than planners do."""
HIGH = "high noise"


class Rate(NamedTuple):
    """How fast the simple regret falls."""

    text: str
    value: float  # at this n, without constants
    exponent: float | None  # x of n^(−x); None if it is exponential
    depth: float | None  # that the theorem gives


@dataclass(frozen=True)
class Bound:
    """What the theory promises of a planner on a problem with a budget."""

    planner: str
    access: Access
    budget: int
    noise: float
    regime: str
    """The noise regime of Table 1, or ``any`` for planners whose rate does not depend on it."""
    rate: str
    """How the simple regret falls with n, the number of openings (budget / actions)."""
    rate_value: float
    """The rate as a number at this budget, without constants."""
    exponent: float | None
    """x of a rate n^(−x); None if it is exponential."""
    depth: float | None
    """The depth that the theorem's regime gives, a real number."""
    h_max: int | None = None
    """The planner's depth parameter; None if it has none."""
    bound: float | None = None
    """A bound on the expected simple regret; None where only a rate has been published."""
    guaranteed_depth: int | None = None
    """The depth at which an optimal node is surely opened, from which ``bound`` follows."""
    depths: dict[str, float] = field(default_factory=dict)
    """All depths of Appendix D that apply."""
    g: float | None = None
    """The logarithmic term g_{n,b} of the noise conditions."""


def bound(
    hardness: Hardness,
    planner: str = "platypoos",
    budget: int = 1_000,
    noise: float = 0.0,
    access: Access | str = Access.RESTORE,
    h_max: int | None = None,
) -> Bound:
    """What the theory promises of the simple regret.

    Args:
        hardness: of the problem, measured by ``hardness`` or made by hand.
        planner: ``platypoos`` (Theorems 3 and 4, Table 1), ``sequool`` (Theorems 1 and 2,
            without noise), ``opd``, ``olop`` or ``uniform`` (their published rates).
        budget: calls of the simulator; n is that by the number of actions.
        noise: half-width b of the noise.
        access: RESTORE or RESET.
        h_max: the planner's depth parameter; the paper's if left out. A planner that uses its
            budget to the full has a larger one, ``planner.schedule(…).h_max``.

    >>> import platypoos as pp
    >>> from platypoos import lab
    >>> problem = lab.problems.MadeToOrder(kappa=2.0, rho=0.9, discount=0.9)
    >>> promise = bound(lab.theory.known_hardness(problem), budget=10_000, noise=0.5)
    >>> promise.regime, promise.rate
    ('high noise', '(n/b²)^−0.152')
    """
    promises = {"platypoos": _platypoos, "sequool": _sequool, "opd": _opd, "olop": _olop,
                "uniform": _uniform}  # fmt: skip
    if planner not in promises:
        more = "; for stroquool it is an open question" if planner == "stroquool" else ""
        raise InvalidArgument(
            f"nothing is proved for the planner {planner!r} here; pass one of "
            f"{', '.join(promises)}{more}"
        )
    if not isinstance(hardness, Hardness):
        raise InvalidArgument(
            f"hardness must be what lab.theory.hardness returns, got {hardness!r}"
        )
    budget = check_budget(budget, hardness.num_actions, LARGEST_BUDGET)
    noise = check_number("noise", noise, least=0.0)
    if h_max is not None:
        h_max = check_count("h_max", h_max)
    return promises[planner](hardness, budget, noise, access_of(None, access), h_max)


def harmonic(n: int) -> float:
    """1 + 1/2 + … + 1/n.

    >>> round(harmonic(4), 9), round(harmonic(10**12), 6)
    (2.083333333, 28.208237)
    """
    if n < 1_000:
        return sum(1 / i for i in range(1, n + 1))
    return math.log(n) + EULER + 1 / (2 * n)


def scaled_power(scale: float, rho: float, h: float) -> float:
    """scale·ρ^h, without overflow."""
    return math.exp(math.log(scale) + h * math.log(rho))


def _polynomial(n: int, exponent: float, scale: float, depth: float | None, b: float = 1.0) -> Rate:
    """(n/b²)^(−exponent)."""
    log_n = math.log(n) - 2 * math.log(b)
    value = math.exp(min(math.log(scale) - exponent * log_n, d.LOG_LARGEST))
    base = "n" if b == 1.0 else "(n/b²)"
    return Rate(f"{base}^−{exponent:.3g}", value, exponent, depth)


def _exponential(n: int, root: int, nu: float, rho: float, depth: float, name: str = "ρ") -> Rate:
    """ρ^n, ρ^√n or ρ^∛n."""
    text = f"{name}^{('n', '√n', '∛n')[root - 1]} with {name} = {rho:.4g}"
    return Rate(text, scaled_power(nu, rho, n ** (1 / root)), None, depth)


def _without_noise(n: int, nu: float, rho: float, kappa: float, depth: float, reset: bool) -> Rate:
    """The rate of planning without noise, which PlaTγPOOS also has when there is little."""
    if kappa == 1:
        return _exponential(n, 2 if reset else 1, nu, rho, depth)
    return _polynomial(n, -math.log(rho) / math.log(kappa), nu, depth)


def _sequool(h: Hardness, budget: int, b: float, access: Access, h_max: int | None) -> Bound:
    """Theorems 1 and 2, for the whole depth ⌊h⌋ that h_max/h ≥ C·κ^h gives.

    For κ > 1 the paper leaves out a logarithm: (x/log x)^… follows from its depth, not x^….
    """
    if b > 0:
        raise InvalidArgument(
            f"the theorems on sequool are for rewards without noise, got noise = {b:g}; pass "
            'noise=0 or planner="platypoos"'
        )
    n = budget // h.num_actions
    reset = access is Access.RESET
    if h_max is None:
        # An opening at depth h costs h + 1 calls for each action with RESET access (the paper: h).
        cost = harmonic(n) + math.pi**2 / 6 if reset else harmonic(n)
        h_max = max(1, math.floor(n / cost))
    depth = d.sequool_depth(h_max, h.kappa_u, h.constant_u, reset=reset)
    rate = _without_noise(n, h.nu, h.rho, h.kappa_u, depth, reset)
    reached = d.sequool_whole_depth(h_max, h.kappa_u, h.constant_u, reset=reset)
    limit = scaled_power(h.nu, h.rho, reached + 1)
    return _bound(
        "sequool",
        access,
        budget,
        b,
        "no noise",
        rate,
        h_max=h_max,
        bound=limit,
        guaranteed_depth=reached,
    )


def _platypoos(h: Hardness, budget: int, b: float, access: Access, h_max: int | None) -> Bound:
    """Theorems 3 and 4 and Table 1, in the order of the proof in Appendix D.

    Where the paper contradicts itself:

    - g has log(R·n^(3/2)/(b(1−γ))), with 1−γ for the printed 1−δ, as δ = 4b(1−γ)/(R√n) shows; δ is
      at most 1 here, and p_max in g at least 1.
    - Condition (i) is about h̃_1 if γ²κ > 1 (the proof), and about h̃ else (the table). Where h̃ is a
      factor it is taken as at least 1: nothing is opened at smaller depths.
    - Rates for low noise are of n (the proof), not of n/b² (the table), which would be 0 without
      noise. If noise is low by condition (i) only, nothing is faster than n^(−1/2), as the
      uncertainty of the output is not, which the table leaves out.
    - That uncertainty is 6b/(1−γ²)·√(g/h_max) (step 3), not 6b/(1−γ)·√(g/h_max) (the cases).
    - Hoeffding's inequality for noise within ±b has 2b where the proofs have b: pass twice the
      noise for a bound to the letter.
    - ``bound`` is by the depth that Lemma 3 guarantees, not by the depths of the cases, which
      Lemma 3 does not give when noise is low (see ``guaranteed_depth``).
    """
    n = budget // h.num_actions
    if h_max is None:
        h_max = max(1, math.floor(n / (2 * (math.log2(n) + 1) ** 2)))  # Figure 3
    reset = access is Access.RESET
    many = 2 * math.log(h.discount) + math.log(h.kappa_u) > 0  # γ²κ > 1
    low_depth = d.hat_1 if many else d.hat_2
    if reset:
        low_depth = d.hat_reset
    if b == 0:
        s = _setting(h, h_max, 1.0, 1.0)
        rate = _without_noise(n, h.nu, h.rho, h.kappa_u, low_depth(s), reset)
        reached = d.guaranteed_depth(s, noisy=False, reset=reset)
        limit = scaled_power(h.nu, h.rho, reached + 1)
        return _bound(
            "platypoos",
            access,
            budget,
            b,
            "no noise",
            rate,
            h_max=h_max,
            bound=limit,
            guaranteed_depth=reached,
        )
    log_delta = math.log(4 * (1 - h.discount)) + math.log(b) - math.log(h.reward_max)
    log_delta = min(0.0, log_delta - 0.5 * math.log(n))
    g = max(1, h_max.bit_length() - 1) * (math.log(4 * n) - log_delta)
    s = _setting(h, h_max, b, g)
    depths = {"h_tilde": d.tilde(s)}
    if many:
        depths |= {"h_tilde_1": d.tilde_1(s), "h_bar_1": d.bar_1(s), "h_hat_1": d.hat_1(s)}
        first = second = depths["h_tilde_1"]
    else:
        depths |= {"h_tilde_2": d.tilde_2(s), "h_bar_2": d.bar_2(s), "h_hat_2": d.hat_2(s)}
        first, second = depths["h_tilde"], depths["h_tilde_2"]
    scale = max(1 / (1 - h.discount**2), h.nu)  # m of Table 1
    log_ratio = math.log(h.rho) - math.log(h.discount)
    little_1 = s.log_snr + 2 * first * log_ratio > math.log(max(first, 1.0))  # not (i)
    little_2 = s.log_snr + 2 * second * math.log(h.rho) > 0  # not (ii), or not (iii)
    if little_1:
        regime = "low noise" if little_2 else "low noise (i) only"
        rate = _without_noise(n, h.nu, h.rho, h.kappa_u, low_depth(s), reset)
        if not little_2 and (rate.exponent is None or rate.exponent > 0.5):
            rate = _polynomial(n, 0.5, scale, low_depth(s), b)
    elif little_2 and many:
        regime = "low noise (iii) only"
        rate = _without_noise(n, h.nu, h.rho, h.kappa_u, depths["h_bar_1"], reset)
    elif little_2:
        regime = "low noise (ii) only"
        rate = _exponential(n, 3 if reset else 2, h.nu, h.rho, depths["h_bar_2"])
    else:
        regime = HIGH
        exponent = -math.log(h.rho) / (s.log_bend - 2 * math.log(h.rho)) if many else 0.5
        rate = _polynomial(n, exponent, scale, second, b)
    reached = d.guaranteed_depth(s, noisy=True, reset=reset)
    doubt = 6 * b / (1 - h.discount**2) * math.sqrt(g / h_max)
    limit = min(h.nu, scaled_power(h.nu, h.rho, reached + 1) + doubt)  # v* is at most ν
    found = {"h_max": h_max, "bound": limit, "guaranteed_depth": reached}
    return _bound("platypoos", access, budget, b, regime, rate, **found, depths=depths, g=g)


def _setting(h: Hardness, h_max: int, b: float, g: float) -> d.Setting:
    return d.Setting(h.discount, h.nu, h.rho, h.kappa_u, h.constant_u, h_max, b, g)


def _bound(
    planner: str,
    access: Access,
    budget: int,
    noise: float,
    regime: str,
    rate: Rate,
    **more: Any,
) -> Bound:
    return Bound(
        planner=planner,
        access=access,
        budget=budget,
        noise=noise,
        regime=regime,
        rate=rate.text,
        rate_value=rate.value,
        exponent=rate.exponent,
        depth=rate.depth,
        **more,
    )


def _opd(h: Hardness, budget: int, b: float, access: Access, h_max: int | None) -> Bound:
    """Hren and Munos, EWRL 2008: n^(−log(1/γ)/log κ), or exponential if κ = 1."""
    _check_published("opd", h, h_max)
    if b > 0 or access is Access.RESET:
        raise InvalidArgument(
            f"the rate of opd is for rewards without noise and states that can be restored, got "
            f"noise = {b:g}, access = {access.value}"
        )
    n = budget // h.num_actions
    rate = _published(n, h, h.kappa_v)
    return _bound("opd", access, budget, b, "no noise", rate)


def _olop(h: Hardness, budget: int, b: float, access: Access, h_max: int | None) -> Bound:
    """Bubeck and Munos, COLT 2010: the rate is the same whatever the noise, up to logarithms."""
    _check_published("olop", h, h_max)
    n = budget // h.num_actions
    few = h.discount**2 * h.kappa_v <= 1
    rate = _polynomial(n, 0.5, h.nu, None) if few else _published(n, h, h.kappa_v)
    return _bound("olop", access, budget, b, "any", rate)


def _uniform(h: Hardness, budget: int, b: float, access: Access, h_max: int | None) -> Bound:
    """Bubeck and Munos, COLT 2010, Section 2.2, when samples of shared prefixes are pooled."""
    _check_published("uniform", h, h_max)
    n = budget // h.num_actions
    few = b > 0 and h.discount**2 * h.num_actions <= 1
    rate = _polynomial(n, 0.5, h.nu, None) if few else _published(n, h, h.num_actions)
    return _bound("uniform", access, budget, b, "any" if b else "no noise", rate)


def _published(n: int, h: Hardness, kappa: float) -> Rate:
    if kappa == 1:
        return _exponential(n, 1, h.nu, h.discount, math.nan, "γ")._replace(depth=None)
    return _polynomial(n, -math.log(h.discount) / math.log(kappa), h.nu, None)


def _check_published(planner: str, h: Hardness, h_max: int | None) -> None:
    if h_max is not None:
        raise InvalidArgument(f"{planner} has no h_max; leave it out")
    if h.rho != h.discount:
        raise InvalidArgument(
            f"the rate of {planner} is for rho = discount = {h.discount:g}, got rho = {h.rho:g}; "
            "measure the hardness without rho"
        )
