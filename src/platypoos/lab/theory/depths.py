"""The depths of Appendix D by the Lambert W function, and the depth that Lemma 3 guarantees.

Everything is computed with logarithms, so nothing overflows: not for γ near 1, nor for huge
budgets, nor for tiny ρ or noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from platypoos.errors import InvalidArgument
from platypoos.search.counts import PLATYPOOS, evaluations
from platypoos.version import install

LOG_LARGEST = 690.0
"""Depths are cut off at e^690."""
SMALLEST = 1e-290
"""Smaller numbers are compared by their logarithms."""


def lambert_w_of_exp(log_x: float) -> float:
    """W(x) for x = e^(log_x), the w ≥ 0 with w·e^w = x.

    >>> round(lambert_w_of_exp(1.0), 12)
    1.0
    >>> lambert_w_of_exp(1e6) < 1e6
    True
    """
    try:
        from scipy.special import wrightomega  # W(e^z), without ever computing e^z
    except ImportError as error:
        raise InvalidArgument(f"the theory needs SciPy: {install('experiments')}") from error
    return float(wrightomega(log_x))


def solve_depth(log_a: float, growth: float, power: int) -> float:
    """The h ≥ 0 with h^power · e^(growth·h) = a, for growth ≥ 0.

    >>> h = solve_depth(math.log(800.0), growth=math.log(2.0), power=1)
    >>> round(h * 2**h, 6)
    800.0
    """
    rate = growth / power
    if rate * math.exp(min(log_a / power, LOG_LARGEST)) < 1e-12:  # the exponential stays at 1
        return math.exp(min(log_a / power, LOG_LARGEST))
    return lambert_w_of_exp(math.log(rate) + log_a / power) / rate


@dataclass(frozen=True)
class Setting:
    """What the depths depend on, in the paper's symbols."""

    gamma: float
    nu: float
    rho: float
    kappa: float
    constant: float  # C
    h_max: int
    b: float  # half-width of the noise, above 0
    g: float  # the logarithmic term g_{n,b}

    @property
    def log_a(self) -> float:
        """log(ν²·h_max / (2C·b²·g))."""
        return self.log_snr + math.log(self.h_max) - math.log(2 * self.constant)

    @property
    def log_snr(self) -> float:
        """log(ν² / (b²·g))."""
        return 2 * (math.log(self.nu) - math.log(self.b)) - math.log(self.g)

    @property
    def log_bend(self) -> float:
        """log(γ²κ): whether deeper layers need more evaluations in all, or fewer."""
        return 2 * math.log(self.gamma) + math.log(self.kappa)


def tilde(s: Setting) -> float:
    """h̃: the largest with h²(γ²κ)^h ≤ a·ρ^(2h̃) for all h ≤ h̃ (step 2 of the proof).

    The paper has no closed form for γ²κ < 1, where h²(γ²κ)^h peaks at h = 2/log(1/γ²κ); but
    either h̃ comes before the peak, and there is equality at h̃, or equality at the peak.
    """
    before = solve_depth(s.log_a, s.log_bend - 2 * math.log(s.rho), 2)
    peak = -2 / s.log_bend if s.log_bend < 0 else math.inf
    if before <= peak:
        return before
    return (s.log_a - 2 * math.log(peak) - peak * s.log_bend) / (-2 * math.log(s.rho))


def tilde_1(s: Setting) -> float:
    """h̃_1 for γ²κ ≥ 1: h_max·ν²ρ^(2h) / (2h²b²g·γ^(2h−2)) = C·κ^h.

    The main text has h where the proof has 2h²: the proof is right, as Lemma 3 asks for h².
    """
    return solve_depth(s.log_a + 2 * math.log(s.gamma), s.log_bend - 2 * math.log(s.rho), 2)


def tilde_2(s: Setting) -> float:
    """h̃_2 for γ²κ ≤ 1: h_max·ν²ρ^(2h) / (2h²b²g) = C (the main text has h for 2h²)."""
    return solve_depth(s.log_a, -2 * math.log(s.rho), 2)


def bar_1(s: Setting) -> float:
    """h̄_1 for γ²κ ≥ 1: h_max / (2h²γ^(2h)) = C·κ^h."""
    return solve_depth(math.log(s.h_max) - math.log(2 * s.constant), max(s.log_bend, 0.0), 2)


def bar_2(s: Setting) -> float:
    """h̄_2 for γ²κ ≤ 1: √(h_max / 2C)."""
    return math.sqrt(s.h_max / (2 * s.constant))


def hat_1(s: Setting) -> float:
    """ĥ_1 for γ²κ ≥ 1: h_max / 2h = C·κ^h."""
    return solve_depth(math.log(s.h_max) - math.log(2 * s.constant), math.log(s.kappa), 1)


def hat_2(s: Setting) -> float:
    """ĥ_2 for γ²κ ≤ 1: h_max / h = C·κ^h (its proof has 2h once; Lemma 3 asks for h)."""
    return solve_depth(math.log(s.h_max) - math.log(s.constant), math.log(s.kappa), 1)


def hat_reset(s: Setting) -> float:
    """As ĥ_2 with RESET access: h_max / h² = C·κ^h (the paper has the rate only)."""
    return sequool_depth(s.h_max, s.kappa, s.constant, reset=True)


def sequool_depth(h_max: int, kappa: float, constant: float, *, reset: bool) -> float:
    """The largest h with h_max/h ≥ C·κ^h, or h_max/h² with RESET access (Theorems 1 and 2)."""
    power = 2 if reset else 1
    return solve_depth(math.log(h_max) - math.log(constant), math.log(kappa), power)


def guaranteed_depth(s: Setting, *, noisy: bool, reset: bool) -> int:
    """The deepest depth at which an optimal node is surely opened, by Lemma 3 as it stands.

    The largest h for which some p has b·√(g/2^(p+1)) ≤ νρ^h, and
    h_max/(h'·⌈h'·2^p·γ^(2h')⌉) ≥ C·κ^h' for all h' ≤ h (h'² for h' with RESET access).

    The theorems' own depths differ: they let a node be evaluated once at every depth when noise is
    low, where the planner evaluates it ⌈hγ^(2h)⌉ times, up to 0.18/ln(1/γ) times.
    """
    if not noisy:
        return _quota_depth(s, 0, reset=reset)
    best = 0
    for p in range(s.h_max.bit_length()):  # p_max = ⌊log2 h_max⌋
        by_noise = _noise_depth(s, p)
        if by_noise > best:
            best = max(best, min(by_noise, _quota_depth(s, p, reset=reset)))
    return best


def whole_depth(h: float, holds: Callable[[int], bool]) -> int:
    """The largest whole depth at which an inequality holds that is an equality at h.

    h comes from logarithms, so ⌊h⌋ may be off by one: the inequality itself decides.

    >>> whole_depth(2.9999999, lambda depth: 8 >= 2**depth)
    3
    """
    depth = max(0, math.floor(h))
    while holds(depth + 1):
        depth += 1
    while depth > 0 and not holds(depth):
        depth -= 1
    return depth


ROUNDING = 1e-12
"""C is a rounded quotient, N_h/κ^h."""


def has_room(h_max: int, kappa: float, constant: float, h: int, per_node: int) -> bool:
    """Whether h_max/``per_node`` ≥ C·κ^h."""
    if h * math.log(kappa) > LOG_LARGEST:
        return False
    return h_max >= constant * kappa**h * per_node * (1 - ROUNDING)


def sequool_whole_depth(h_max: int, kappa: float, constant: float, *, reset: bool) -> int:
    """As ``sequool_depth``, as a whole number."""
    return whole_depth(
        sequool_depth(h_max, kappa, constant, reset=reset),
        lambda h: has_room(h_max, kappa, constant, h, h * h if reset else h),
    )


def _noise_depth(s: Setting, p: int) -> int:
    """The largest h with b·√(g/2^(p+1)) ≤ νρ^h; −1 if there is none."""
    by_logarithms = (0.5 * s.log_snr + 0.5 * (p + 1) * math.log(2)) / -math.log(s.rho)
    if by_logarithms < -1:
        return -1
    error = s.b * math.sqrt(s.g / 2 ** (p + 1))
    if error < SMALLEST:  # ρ^h may be too small for a float: no more can be said
        return math.floor(by_logarithms)
    if error > s.nu:
        return -1
    return whole_depth(by_logarithms, lambda h: error <= s.nu * s.rho**h)


def _quota_depth(s: Setting, p: int, *, reset: bool) -> int:
    """The largest h for which enough nodes are opened at every depth up to h."""
    # Beyond this depth every node is evaluated once, and there is a closed form.
    once = math.ceil(_last_above_one(p * math.log(2), -2 * math.log(s.gamma)))
    deepest = sequool_whole_depth(s.h_max, s.kappa, s.constant, reset=reset)
    for h in range(1, min(once, deepest) + 1):
        times = evaluations(PLATYPOOS, h, p, s.gamma ** (2.0 * h))  # as the planner counts
        if not has_room(s.h_max, s.kappa, s.constant, h, times * (h * h if reset else h)):
            return h - 1
    return deepest


def _last_above_one(log_scale: float, decay: float) -> float:
    """An h beyond which h·e^(log_scale)·e^(−decay·h) stays at most 1.

    The fixed point of h = (log h + log_scale)/decay, from above.
    """
    h = max(1.0, 2 * (log_scale + 2 * math.log(2 / decay) + 2) / decay)
    for _ in range(8):  # each brings it nearer, from above
        h = max(1.0, (math.log(h) + log_scale) / decay)
    return h + 1
