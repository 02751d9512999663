"""The theory: what is measured of a problem, and what is promised on it."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab
from platypoos.lab.theory import depths as d
from platypoos.lab.theory.bounds import harmonic
from platypoos.lab.theory.hardness import fit_growth
from platypoos.lab.theory.tables import make_table
from platypoos.version import install


def brute_force(problem, gamma, depth, floor):
    """For every sequence of up to depth actions: h, u(a), v(a), rewards counted from the floor."""
    rng = np.random.default_rng(0)
    found, layer = [], [(problem.initial_state, 0.0, False)]
    for h in range(depth + 1):
        for state, u, over in layer:
            best = 0.0 if over else problem.action_values(state, gamma).max()
            found.append((h, u, u + gamma**h * (best - floor / (1 - gamma))))
        layer = [
            (after, u + gamma**h * (problem.mean_reward(state, action) - floor), ended)
            for state, u, over in layer
            if not over
            for action in range(problem.actions.n)
            for after, _, ended in [problem.step(state, action, rng)]
        ]
    return np.array(found)


def brute_counts(tree, nu, rho, depth):
    """N^u_h and N^v_h of 3νρ^h, for every depth."""
    h, u, v = tree.T
    limit = 3 * nu * rho**h * (1 + 1e-9)

    return tuple(
        tuple(int(((top - x <= limit) & (h == k)).sum()) for k in range(depth + 1))
        for top, x in ((v[0], u), (v[0], v))
    )


def garnets(count):
    rng = np.random.default_rng(7)
    for seed in range(count):
        actions = int(rng.integers(2, 4))
        states = int(rng.integers(3, 13))
        ends = int(rng.integers(0, 2))
        gamma = float(rng.uniform(0.2, 0.9))
        yield pp.problems.Garnet(states, actions, seed, num_terminal=ends), gamma


def test_propositions_1_and_2_on_random_problems():
    """200 problems, every sequence to depth 7, against brute force."""
    growing = 0
    for problem, gamma in garnets(200):
        h = lab.theory.hardness(problem, gamma, depth=7)
        tree = brute_force(problem, gamma, 7, make_table(problem, gamma, 7, None).floor)
        # Proposition 1, with the smallest ν: it holds, and with less it does not.
        depth, u, v = tree.T
        assert (u >= v - h.nu * gamma**depth * (1 + 1e-9)).all()
        assert not (u >= v - 0.999 * h.nu * gamma**depth).all()
        assert (h.counts_u, h.counts_v) == brute_counts(tree, h.nu, gamma, 7)
        # Proposition 2: κ^u(ν/2, γ) ≤ κ^v(ν, γ) ≤ κ^u(2ν, γ), by the definition, for any C.
        half = lab.theory.hardness(problem, gamma, depth=7, nu=h.nu / 2)
        twice = lab.theory.hardness(problem, gamma, depth=7, nu=2 * h.nu)
        for constant in (1.0, 2.0, h.constant_v, 10.0):
            low, middle, high = (
                lab.theory.kappa_for(counts, constant)
                for counts in (half.counts_u, h.counts_v, twice.counts_u)
            )
            assert low <= middle <= high
            growing += low < middle < high
    assert growing > 20  # it is not all the same


def test_fits_are_in_the_order_of_proposition_2():
    """κ^u(ν/2) ≤ κ^v(ν) ≤ κ^u(2ν), as fitted: 24 problems, three ν each, to the last bit."""
    moved = 0
    for problem, gamma in garnets(24):
        nu = lab.theory.hardness(problem, gamma, depth=9).nu
        for factor in (0.7, 1.0, 1.5):
            half, once, twice = (
                lab.theory.hardness(problem, gamma, depth=9, nu=factor * nu * part)
                for part in (0.5, 1.0, 2.0)
            )
            assert half.kappa_u <= once.kappa_v <= twice.kappa_u
            free = fit_growth(list(once.counts_v), problem.actions.n)
            moved += once.kappa_v != free.kappa
            # It is a fit still: near that of the counts alone, and C fits it.
            assert once.kappa_v == pytest.approx(free.kappa, rel=0.35)
            for h in (half, once, twice):
                for counts, kappa, constant, interval in (
                    (h.counts_u, h.kappa_u, h.constant_u, h.interval_u),
                    (h.counts_v, h.kappa_v, h.constant_v, h.interval_v),
                ):
                    assert interval[0] <= kappa <= interval[1]
                    assert all(n <= constant * kappa**k * (1 + 1e-9) for k, n in enumerate(counts))
    assert moved > 2  # counts alone would break the order


def test_counts_are_those_of_brute_force_elsewhere():
    for problem, gamma, depth in [
        (pp.problems.SwitchChain(), 0.7, 9),
        (pp.problems.Grid(), 0.6, 6),
        (pp.problems.Battery(), 0.5, 7),
        (lab.problems.MadeToOrder(kappa=1.5, rho=0.6, discount=0.8, depth=3), 0.8, 10),
    ]:
        for rho in (gamma, 0.8 * gamma):
            h = lab.theory.hardness(problem, gamma, depth=depth, rho=rho)
            floor = make_table(problem, gamma, depth, None).floor
            tree = brute_force(problem, gamma, depth, floor)
            assert (h.counts_u, h.counts_v) == brute_counts(tree, h.nu, rho, depth)
            for counts, kappa, constant in [
                (h.counts_u, h.kappa_u, h.constant_u),
                (h.counts_v, h.kappa_v, h.constant_v),
            ]:
                assert all(n <= constant * kappa**k * (1 + 1e-9) for k, n in enumerate(counts))
                assert 1 <= kappa <= problem.actions.n


def test_other_models_are_explored():
    garnet = pp.problems.Garnet(10, 2, seed=3, num_terminal=1)
    plain = pp.FunctionModel(garnet.step, actions=2, initial_state=0)
    assert lab.theory.hardness(plain, 0.7, 8) == lab.theory.hardness(garnet, 0.7, 8)
    assert lab.theory.hardness(garnet.compiled(), 0.7, 8) == lab.theory.hardness(garnet, 0.7, 8)


def test_models_whose_values_cannot_be_known():
    noisy = pp.problems.Garnet(5, 2, noise=1.0)

    def forward(state, action, rng):
        return state + 1, 1.0 / (1 + state), False

    for model, message in [
        (pp.FunctionModel(noisy.step, 2, 0), "rewards of FunctionModel are noisy"),
        (pp.FunctionModel(noisy.step, 2, 0, access=pp.Access.RESET), "can only be reset"),
        (pp.FunctionModel(lambda s, a, rng: (s, 0.0, False), 2, [1]), "give the model key"),
        (object(), "not a model"),
    ]:
        with pytest.raises(pp.InvalidArgument, match=message):
            lab.theory.hardness(model, 0.9, 5)
    same = pp.FunctionModel(lambda s, a, rng: (s, 1.0, False), 2, 0)
    with pytest.raises(pp.InvalidArgument, match="all rewards are the same"):
        lab.theory.hardness(same, 0.9, 5)
    with pytest.raises(pp.InvalidArgument, match=r"depth of at most 1\d"):
        lab.theory.hardness(pp.problems.Garnet(50, 3), 0.95, 20)


def settings():
    values = itertools.product(
        (0.3, 0.7, 0.95), (0.1, 1.0), (1.0, 1.3, 3.0), (1.0, 20.0), (5, 400, 10**6), (1e-4, 0.1, 9)
    )
    for gamma, share, kappa, constant, h_max, b in values:
        yield d.Setting(gamma, 2.0, share * gamma, kappa, constant, h_max, float(b), 30.0)


def test_depths_solve_their_equations():
    """Each against the equation of Appendix D that defines it."""
    seen = set()
    for s in settings():
        noise = s.b**2 * s.g / s.nu**2
        close = pytest.approx
        h = d.tilde_2(s)
        assert s.h_max * s.rho ** (2 * h) / (2 * h * h * noise) == close(s.constant, rel=1e-6)
        h = d.bar_2(s)
        assert s.h_max / (2 * h * h) == close(s.constant)
        h = d.hat_2(s)
        assert s.h_max / h == close(s.constant * s.kappa**h, rel=1e-6)
        h = d.hat_1(s)
        assert s.h_max / (2 * h) == close(s.constant * s.kappa**h, rel=1e-6)
        if s.gamma**2 * s.kappa > 1:
            h = d.tilde_1(s)
            left = s.h_max * s.rho ** (2 * h) / (2 * h * h * noise * s.gamma ** (2 * h - 2))
            assert left == close(s.constant * s.kappa**h, rel=1e-6)
            h = d.bar_1(s)
            left = s.h_max / (2 * h * h * s.gamma ** (2 * h))
            assert left == close(s.constant * s.kappa**h, rel=1e-6)
        # h̃ is the largest for which the inequality holds at all smaller depths too.
        h = d.tilde(s)
        for part, fits in [(0.999, True), (1.001, False)]:
            grid = np.linspace(1e-3, 1, 2001) * h * part
            most = s.h_max * s.rho ** (2 * h * part) / (2 * s.constant * noise)
            holds = grid**2 * (s.gamma**2 * s.kappa) ** grid <= most
            assert holds.all() == fits
        seen.add(s.gamma**2 * s.kappa > 1)
    assert seen == {True, False}


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("noisy", [False, True])
def test_the_guaranteed_depth_is_that_of_the_lemma(reset, noisy):
    depths = set()
    for s in settings():
        if s.h_max > 10**5:
            continue
        best = 0
        for p in range(s.h_max.bit_length() if noisy else 1):
            h = 0
            while h < s.h_max:
                deeper = h + 1
                times = max(1, math.ceil(deeper * 2**p * s.gamma ** (2 * deeper)))
                opened = s.h_max / (deeper ** (2 if reset else 1) * times)
                if opened < s.constant * s.kappa**deeper * (1 - 1e-12):
                    break
                if noisy and s.b * math.sqrt(s.g / 2 ** (p + 1)) > s.nu * s.rho**deeper:
                    break
                h = deeper
            best = max(best, h)
        assert d.guaranteed_depth(s, noisy=noisy, reset=reset) == best
        depths.add(best)
    assert len(depths) > 5


def test_a_whole_number_of_evaluations_is_not_rounded_up():
    # p = 6, h = 3: 3·2^6·0.5^6 = 3 evaluations, not the 4 of e^(log 3) = 3.0000000000000004.
    # h_max = 72: 72/(3·3) = 8 = κ³ nodes, 72/4 ≥ 16 and 72/5 < 32, so depth 4 by p = 6. Noise:
    # b²g = 0.36 ≤ 2^7·ρ^8 = 0.5, but above 2^6·ρ^8 = 0.25: only p = 6 can tell depth 4.
    s = d.Setting(gamma=0.5, nu=1.0, rho=0.5, kappa=2.0, constant=1.0, h_max=72, b=0.6, g=1.0)
    assert d.guaranteed_depth(s, noisy=True, reset=False) == 4


def test_the_guaranteed_depth_where_inequalities_are_equalities():
    """Powers of two, where all is exact: 6,000 settings against whole numbers and fractions."""
    rng = np.random.default_rng(4)
    for _ in range(6_000):
        gamma, rho = 0.5 ** int(rng.integers(1, 4)), 0.5 ** int(rng.integers(2, 5))
        kappa, h_max = float(rng.choice([1, 2, 4])), int(2 ** rng.integers(0, 9))
        noise, reset = 2.0 ** -int(rng.integers(0, 12)), bool(rng.integers(2))
        s = d.Setting(gamma, 1.0, min(rho, gamma), kappa, 1.0, h_max, noise, 2.0)
        square = Fraction(1, round(gamma**-2))  # γ²
        best = 0
        for p in range(h_max.bit_length()):
            h = 0
            while h < h_max:
                deeper = h + 1
                times = max(1, math.ceil(deeper * 2**p * square**deeper))
                if h_max < deeper ** (2 if reset else 1) * times * int(kappa) ** deeper:
                    break
                if Fraction(noise) ** 2 * 2 > Fraction(s.rho) ** (2 * deeper) * 2 ** (p + 1):
                    break
                h = deeper
            best = max(best, h)
        assert d.guaranteed_depth(s, noisy=True, reset=reset) == best, s


def made(kappa, rho, gamma=0.8, actions=3):
    return lab.theory.known_hardness(
        lab.problems.MadeToOrder(kappa=kappa, rho=rho, discount=gamma, num_actions=actions)
    )


@pytest.mark.parametrize(
    ("hardness", "noise", "budget", "regime", "rate", "exponent"),
    [
        (made(1.0, 0.8), 0.0, 10**6, "no noise", "ρ^n with ρ = 0.8", None),
        (made(3.0, 0.8), 0.0, 10**6, "no noise", "n^−0.203", math.log(1 / 0.8) / math.log(3)),
        (made(1.0, 0.8), 0.5, 10**6, "high noise", "(n/b²)^−0.5", 0.5),
        (made(2.0, 0.8), 0.5, 10**6, "high noise", "(n/b²)^−0.322", math.log2(1 / 0.8)),
        (made(3.0, 0.4), 0.5, 10**6, "high noise", "(n/b²)^−0.369",
         math.log(1 / 0.4) / math.log(0.64 * 3 / 0.16)),
        (made(1.0, 0.8), 1e-9, 10**6, "low noise", "ρ^n with ρ = 0.8", None),
        (made(1.5, 0.8), 1e-9, 10**6, "low noise", "n^−0.55", math.log(1 / 0.8) / math.log(1.5)),
        (made(3.0, 0.8), 1e-9, 10**6, "low noise", "n^−0.203", math.log(1 / 0.8) / math.log(3)),
        (made(1.0, 0.3, 0.3), 1e-2, 10**5, "low noise (i) only", "(n/b²)^−0.5", 0.5),
        (made(1.5, 0.5, 0.5), 1e-3, 10**10, "low noise (i) only", "(n/b²)^−0.5", 0.5),
        (made(2.0, 0.8), 10**-1.5, 10**6, "low noise (i) only", "n^−0.322", math.log2(1 / 0.8)),
        (made(1.0, 0.475, 0.95), 10**-6.5, 10**6, "low noise (ii) only", "ρ^√n with ρ = 0.475",
         None),
        (made(1.5, 0.9, 0.9), 10**-1.5, 10**6, "low noise (iii) only", "n^−0.26",
         math.log(1 / 0.9) / math.log(1.5)),
    ],
)  # fmt: skip
def test_every_cell_of_table_1(hardness, noise, budget, regime, rate, exponent):
    found = lab.theory.bound(hardness, "platypoos", budget, noise)
    assert (found.regime, found.rate) == (regime, rate)
    assert found.exponent == (None if exponent is None else pytest.approx(exponent))
    assert 0 < found.bound <= hardness.nu
    if exponent is None and not noise:
        assert found.rate_value == 0.0


def test_the_bounds_in_figures():
    """By hand: SequOOL and PlaTγPOOS with h_max = 100, κ = 2, C = 1, K = 2."""
    h = made(2.0, 0.5, actions=2)
    assert h.constant_u == pytest.approx(1.0)
    # 4·2^4 = 64 ≤ 100 < 5·2^5 = 160, and with RESET 3²·2³ = 72 ≤ 100 < 4²·2⁴.
    for access, depth in [("restore", 4), ("reset", 3)]:
        found = lab.theory.bound(h, "sequool", 1_000, access=access, h_max=100)
        assert (found.guaranteed_depth, found.bound) == (depth, 0.5 ** (depth + 1))
    # γ = 0.8 evaluates nodes once at p = 0: as SequOOL.
    found = lab.theory.bound(h, "platypoos", 1_000, h_max=100)
    assert (found.guaranteed_depth, found.bound) == (4, 0.5**5)
    # The paper's h_max: ⌊5000 / H_5000⌋ and ⌊5000 / 2(log2 5000 + 1)²⌋.
    assert lab.theory.bound(h, "sequool", 10_000).h_max == math.floor(5000 / harmonic(5000)) == 549
    assert lab.theory.bound(h, "platypoos", 10_000).h_max == 14
    # With noise: g = p_max·log(R·n^(3/2) / (b(1−γ))), and 6b/(1−γ²)·√(g/h_max).
    found = lab.theory.bound(h, "platypoos", 10**10, noise=1e-3, h_max=2**20)
    g = 20 * math.log(1.0 * (5 * 10**9) ** 1.5 / (1e-3 * 0.2))
    assert found.g == pytest.approx(g)
    doubt = 6e-3 / 0.36 * math.sqrt(g / 2**20)
    assert found.bound == pytest.approx(0.5 ** (found.guaranteed_depth + 1) + doubt)


def test_published_rates():
    h = lab.theory.hardness(pp.problems.Garnet(6, 2), 0.6, 12)
    assert lab.theory.bound(h, "olop", 1_000, noise=1.0).exponent == 0.5
    many = made(3.0, 0.8)
    exponent = math.log(1 / 0.8) / math.log(3)
    for planner, noise in [("olop", 0.0), ("olop", 1.0), ("opd", 0.0), ("uniform", 1.0)]:
        found = lab.theory.bound(many, planner, 1_000, noise)
        assert found.exponent == pytest.approx(exponent)
        assert found.bound is None
    assert lab.theory.bound(made(1.0, 0.8), "opd", 1_000).rate == "γ^n with γ = 0.8"


def test_nothing_overflows():
    """γ to 0.9999, budgets to 10^12, ρ to 10^−6, noise of any size; warnings are errors."""
    values = itertools.product(
        (1e-5, 0.5, 0.9999), (None, 1e-6, 0.99), (1.0, 1 + 1e-9, 4.0), (1.0, 1e9),
        (4, 10**6, 10**12), (0.0, 1e-300, 1.0, 1e300), ("restore", "reset"),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gamma, rho, kappa, constant, budget, noise, access in values:
            h = lab.theory.Hardness(
                discount=gamma, num_actions=4, nu=3.0, rho=min(rho or gamma, gamma),
                kappa_u=kappa, constant_u=constant, kappa_v=kappa, constant_v=constant,
            )  # fmt: skip
            promised = [lab.theory.bound(h, "platypoos", budget, noise, access)]
            if noise == 0:
                promised.append(lab.theory.bound(h, "sequool", budget, 0.0, access))
            if rho is None:
                promised.append(lab.theory.bound(h, "olop", budget, noise, access))
            for found in promised:
                numbers = [found.bound or 0.0, found.rate_value, found.depth or 0.0]
                assert all(math.isfinite(n) and n >= 0 for n in [*numbers, *found.depths.values()])
                assert found.bound is None or found.bound <= 3.0 + 1e-9
        problem = lab.problems.MadeToOrder(kappa=2.0, rho=1e-6, discount=0.9999)
        h = lab.theory.hardness(problem, 0.9999, 40, rho=1e-6)
        assert (h.kappa_u, h.nu) == (pytest.approx(2.0), pytest.approx(1.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"discount": 1.0}, r"discount must be in \[0, 1\), got 1.0"),
        ({"discount": 0.0}, "discount must be above 0, got 0"),
        ({"depth": 1}, "depth must be at least 2 to see growth, got 1"),
        ({"rho": 0.95}, "rho must be at most the discount 0.9, got 0.95"),
        ({"rho": 0.0}, "rho must be a finite number above 0, got 0.0"),
        ({"rho": 1e-6, "depth": 60}, "rho = 1e-06 rewards are lost .* depth of at most 43"),
        ({"nu": -1.0}, "nu must be a finite number above 0, got -1.0"),
        ({"reward_floor": 5.0}, "reward_floor must be at most the smallest reward, got 5"),
    ],
)
def test_hardness_outside_its_domain(arguments, message):
    with pytest.raises(pp.InvalidArgument, match=message):
        lab.theory.hardness(pp.problems.Garnet(5, 2), **{"discount": 0.9, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"planner": "stroquool"}, "'stroquool' here; pass one of platypoos.* an open question"),
        ({"budget": 1}, "budget 1 is below the number of actions 3"),
        ({"budget": 10**16}, "budget .* is above the largest"),
        ({"noise": -1.0}, "noise must be a finite number of at least 0, got -1.0"),
        ({"noise": math.nan}, "noise must be a finite number"),
        ({"planner": "sequool", "noise": 1.0}, "without noise, got noise = 1; pass noise=0"),
        ({"planner": "opd", "noise": 1.0}, "rate of opd is for rewards without noise"),
        ({"planner": "olop", "hardness": made(2.0, 0.5)}, "got rho = 0.5; measure the hardness"),
        ({"planner": "olop", "h_max": 3}, "olop has no h_max"),
        ({"h_max": 0}, "h_max must be a whole number of at least 1, got 0"),
        ({"access": "teleport"}, "access must be"),
        ({"hardness": 3}, "hardness must be what lab.theory.hardness returns, got 3"),
    ],
)
def test_bounds_outside_their_domain(arguments, message):
    with pytest.raises(pp.InvalidArgument, match=message):
        lab.theory.bound(**{"hardness": made(2.0, 0.8), **arguments})


def test_scipy_is_asked_for_only_when_it_is_needed(monkeypatch):
    code = "import platypoos, sys; sys.exit('scipy.special' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(pp.InvalidArgument, match=re.escape(install("experiments"))):
        lab.theory.bound(made(2.0, 0.8))
