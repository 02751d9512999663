"""Is the promise kept? Measured simple regret against the theory, and the command that shows it.

Regrets are the largest mean over all depths of the secret of problems made to order. Seeds are
0, 1, …; nothing here is random from run to run. `benchmarks/theory_results.py` measures more.
"""

from __future__ import annotations

import itertools
import math
import re
import signal
import threading
import time
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest
import theory_results
import theory_studies as studies
from theory_rows import Row, report, rows
from theory_studies import Study, decades, olop

import platypoos as pp
from platypoos import lab
from platypoos.lab.theory.expected import expected_exponent, expected_regret, opened_shares
from platypoos.lab.theory.measure import (
    Notebook,
    mean_regret,
    slope,
    worst_regret,
    worst_regret_in_one_run,
)

CHAIN = lab.problems.MadeToOrder(kappa=1.0, rho=0.8, discount=0.8)
WIDE = lab.problems.MadeToOrder(kappa=2.0, rho=0.5, discount=0.9, num_actions=3)
FULL = lab.problems.MadeToOrder(kappa=2.0, rho=0.9, discount=0.9)


@pytest.mark.parametrize("problem", [CHAIN, WIDE, FULL], ids=["κ=1", "1<κ<K", "κ=K"])
@pytest.mark.parametrize("kind", [pp.planners.SequOOL, pp.PlaTyPOOS])
@pytest.mark.parametrize("access", [pp.Access.RESTORE, pp.Access.RESET])
def test_without_noise_the_regret_never_exceeds_the_bound(problem, kind, access):
    """Every depth of the secret to 24, 4 budgets, 3 seeds; and the lemma: none is missed above."""
    planner, hardness = kind(problem.discount), lab.theory.known_hardness(problem)
    missed = sure = 0
    for budget in (30, 200, 1_000, 5_000):
        h_max = planner.schedule(budget, problem.actions.n, access).h_max
        if h_max < 1:
            continue
        own = lab.theory.bound(hardness, kind.name, budget, access=access, h_max=h_max)
        paper = lab.theory.bound(hardness, kind.name, budget, access=access)
        for depth in range(1, 25):
            regret = mean_regret(replace(problem, depth=depth), planner, budget, 3, access).regret
            assert regret <= own.bound
            assert regret <= paper.bound
            if depth <= own.guaranteed_depth + 1:
                assert regret == 0
                sure += 1
            missed += regret > 0
    assert missed > 5
    assert sure > 5


def points_of(study):
    points = [study.measure(budget) for budget in study.budgets]
    return [(point, study.promise(point.budget)) for point in points if point.regret > 0]


@pytest.mark.parametrize("kind", [pp.planners.SequOOL, pp.PlaTyPOOS])
def test_one_good_sequence_is_followed_exponentially_deep(kind):
    """κ = 1: log-regret is linear in the depth of the theorem; R² ≥ 0.97, 8 seeds."""
    study = Study("chain", CHAIN, kind(0.8), decades(2, 3.2, 6), (8, 8))
    found = points_of(study)
    fall, _, fit = slope([p.depth for _, p in found], [math.log(x.regret) for x, _ in found])
    assert len(found) >= 6
    assert fit >= 0.97
    assert fall <= math.log(0.8)  # at least as fast as ρ^h
    assert found[-1][0].regret < 1e-4


def test_reset_makes_it_exponential_in_the_root():
    """SequOOL, κ = 1, 8 seeds: the worst secret is √N deep, not N deep (up to logarithms)."""
    powers = {}
    for access in pp.Access:
        budgets = decades(2, 3.2, 3) if access is pp.Access.RESTORE else decades(2, 4.4, 3)
        found = points_of(Study("chain", CHAIN, pp.planners.SequOOL(0.8), budgets, (8, 8), access))
        powers[access], _, fit = slope(
            [math.log(x.budget / math.log(x.budget)) for x, _ in found],
            [math.log(x.secret) for x, _ in found],
        )
        assert fit > 0.95
    assert powers[pp.Access.RESTORE] == pytest.approx(1.0, abs=0.15)
    assert powers[pp.Access.RESET] == pytest.approx(0.5, abs=0.1)


def with_secret(problem, secret):
    """The problem, if all actions are good, with the secret that is given."""

    def step(state, action, rng):
        t, so_far = state
        so_far = so_far and t < len(secret) and action == secret[t]
        reward = problem._good_reward(t)
        if so_far and t == len(secret) - 1:
            reward += problem._secret_reward()
        return (t + 1, so_far), reward, False

    return pp.FunctionModel(step, actions=problem.actions.n, initial_state=(0, True))


def test_one_run_tells_of_all_secrets():
    """Against a run for every one of the 2^d secrets of each depth d, to the last digit."""
    for kind, budget in [
        (pp.planners.SequOOL, 40),
        (pp.planners.SequOOL, 100),
        (pp.PlaTyPOOS, 150),
    ]:
        planner, means = kind(0.9), {}
        for depth in range(1, 8):
            problem = replace(FULL, rho=0.5, depth=depth)
            wrong = 0
            for secret in itertools.product(range(2), repeat=depth):
                plan = planner.plan(with_secret(problem, secret), budget=budget, seed=0)
                wrong += plan.action != secret[0]
            means[depth] = problem.gap * wrong / 2**depth
        found = worst_regret_in_one_run(problem, planner, budget)
        assert found.regret == pytest.approx(max(means.values()), rel=1e-9)
        assert found.secret == max(means, key=means.get)


@pytest.mark.parametrize("use", ["full", "paper"])
@pytest.mark.parametrize("kind", [pp.planners.SequOOL, pp.PlaTyPOOS])
def test_the_schedule_gives_the_regret_by_itself(kind, use):
    """Against one run of 300,000 calls, 20 %; and against 300 seeds of 2,000 calls, 4 errors."""
    for problem in (WIDE, FULL):
        planner = kind(problem.discount, budget_use=use)
        found = worst_regret_in_one_run(problem, planner, 300_000).regret
        assert found == pytest.approx(expected_regret(problem, planner, 300_000), rel=0.2)
        shares = opened_shares(problem, planner, 2_000)
        for depth in (3, 6, 9):
            one = replace(problem, depth=depth)
            point = mean_regret(one, planner, 2_000, 300)
            expected = one.gap * (1 - shares[depth - 1]) / 2
            assert abs(point.regret - expected) <= 4 * point.error + 1e-12


def test_many_good_sequences_give_the_promised_power():
    """SequOOL, κ = 2 of 3 actions, 10² to 10⁵ calls; one run tells of all secrets.

    The exponent against the theorem's ⌊n/log n⌋ is within 20 % of log(1/ρ)/log κ = 1 at these small
    budgets; against the theorem's depth, with its logarithms, within 20 % of 1.
    """
    study = Study("some", WIDE, pp.planners.SequOOL(0.9), decades(2, 5, 4))
    found = points_of(study)
    logs = [math.log(x.regret) for x, _ in found]
    sizes = [lab.theory.bound(lab.theory.known_hardness(WIDE), "sequool", x.budget).h_max
             for x, _ in found]  # fmt: skip
    assert -slope([math.log(size) for size in sizes], logs)[0] == pytest.approx(1.0, abs=0.2)
    assert slope([p.depth * math.log(0.5) for _, p in found], logs)[0] == pytest.approx(1, abs=0.2)


def test_large_budgets_give_the_promised_power_of_the_budget():
    """10⁵ to 10⁸ calls, κ > 1: within 15 % of log(1/ρ)/log κ in N, by the schedules alone."""
    for study in studies.large_without_noise():
        x = expected_exponent(study.problem, study.planner, decades(5, 8, 3))
        promised = math.log(1 / study.problem.rho) / math.log(study.problem.kappa)
        assert x == pytest.approx(promised, rel=0.15)


def test_less_noise_helps_platypoos_and_not_olop():
    """κ = 1, 10⁴ calls, 20 seeds; OLOP is told a noise of 1 whatever it is."""
    regret = {}
    for noise in (1.0, 0.01, 0.0):
        problem = replace(CHAIN, noise=noise)
        for planner in (pp.PlaTyPOOS(0.8), olop(CHAIN, 1.0)):
            regret[planner.name, noise] = worst_regret(problem, planner, 10_000, 20).regret
    assert regret["platypoos", 0.01] < 0.1 * regret["platypoos", 1.0]
    assert regret["platypoos", 0.0] < 1e-6
    assert regret["olop", 0.0] > 0.3 * regret["olop", 1.0]


def test_high_noise_is_at_least_as_steep_as_promised():
    """Both columns of Table 1, 10³ to 10^4.5 calls, 100 seeds, margin 15 %, logarithms included."""
    for problem in (
        lab.problems.MadeToOrder(kappa=1.0, rho=0.7, discount=0.7, noise=1.0),
        lab.problems.MadeToOrder(kappa=2.0, rho=0.75, discount=0.75, noise=0.5),
    ):
        planner = pp.PlaTyPOOS(problem.discount)
        found = points_of(Study("noise", problem, planner, decades(3, 4.5, 2), (60, 100)))
        assert all(promise.regime == "high noise" for _, promise in found)
        assert all(point.regret <= promise.bound for point, promise in found)
        fall = slope(
            [promise.depth * math.log(problem.rho) for _, promise in found],
            [math.log(point.regret) for point, _ in found],
        )[0]
        assert fall >= 0.85


def test_high_noise_gives_the_promised_power_of_n_by_b_squared():
    """Both columns of Table 1, 10⁵ calls, all noise that is high there, 100 seeds, margin 15 %.

    No logarithms are counted in: b changes by more than a decade, n does not. SequOOL, which
    evaluates each node once, has such exponents too, but more than twice the regret.
    """
    for kappa, rho, gamma in [(1.0, 0.7, 0.7), (1.0, 0.2, 0.7), (2.0, 0.2, 0.9), (1.5, 0.2, 0.9)]:
        problem = lab.problems.MadeToOrder(
            kappa=kappa, rho=rho, discount=gamma, horizon=studies.HORIZON
        )
        noises = studies.high_noises(problem, 10**5)
        study = Study("b", problem, pp.PlaTyPOOS(gamma, budget_use="paper"), [10**5], (100, 100),
                      noises=noises)  # fmt: skip
        parts = study.parts
        assert [part.problem.noise for part in parts] == noises
        assert noises[0] / noises[-1] >= 10
        points = [part.measure(10**5) for part in parts]
        row = Row(study, points, [part.promise(10**5) for part in parts])
        assert all(promise.regime == "high noise" for promise in row.promises)
        assert row.largest_share_of_bound() <= 1
        assert row.exponent()[0] >= 0.85 * row.promises[-1].exponent
        once = replace(study, planner=pp.planners.SequOOL(gamma, budget_use="paper")).parts
        worse = [part.measure(10**5).regret / point.regret
                 for part, point in zip(once, points, strict=True)]  # fmt: skip
        assert math.prod(worse) ** (1 / len(worse)) >= 2
        lower = replace(study, noises=[noises[-1] * 10**-0.25]).parts[0]
        assert lower.promise(10**5).regime != "high noise"


def test_a_horizon_changes_no_regret():
    """A tree that ends where rewards are 10^−9 of the first: 400 seeds, 4 standard errors."""
    endless = lab.problems.MadeToOrder(kappa=1.5, rho=0.5, discount=0.9, noise=0.02, depth=6)
    planner = pp.PlaTyPOOS(0.9, budget_use="paper")
    first, second = (
        mean_regret(replace(endless, horizon=horizon), planner, 50_000, 400)
        for horizon in (None, 30)
    )
    assert first.depth > second.depth == 30
    assert 0 < first.regret < endless.gap / 2
    assert abs(first.regret - second.regret) <= 4 * math.hypot(first.error, second.error)


def test_the_page_says_the_truth():
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
    first, second = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(first, names)  # noqa: S102
    h = names["h"]
    assert f"{h.nu:.2f}, {h.rho}: the smallest" in first
    assert f"{h.counts_u} near-optimal" in first
    assert f"{h.kappa_u}, {h.constant_u}: of two" in first
    assert f"({h.interval_u[0]}, {h.interval_u[1]:.2f}): what" in first
    exec(second, names)  # noqa: S102
    promise = names["promise"]
    assert f"{promise.regime!r}, {promise.rate!r}" in second
    assert list(promise.depths) == ["h_tilde", "h_tilde_2", "h_bar_2", "h_hat_2"]
    assert f"{promise.bound:.2f} = ν" in second
    assert promise.bound == h.nu
    sure = lab.theory.bound(h, planner="sequool", budget=10_000)
    assert f"{sure.bound:.0e}: without noise, ν·ρ^{sure.guaranteed_depth + 1}" in second
    for picture in re.findall(r"\]\((results/theory/.*?)\)", page):
        assert (Path(__file__).parents[2] / "docs" / picture).exists()


def test_workers_change_no_point(tmp_path, monkeypatch):
    problem = replace(CHAIN, horizon=20)
    study = Study("b", problem, pp.PlaTyPOOS(0.8), [200, 500], (5, 5), noises=(1.0, 0.1))
    monkeypatch.setattr(studies, "studies", lambda: [study])
    alone, together = (
        studies.measure_all(tmp_path / f"{workers}", workers=workers, quiet=True)
        for workers in (1, 2)
    )
    assert len(alone.points) == 4
    assert alone.points == together.points
    assert Notebook(tmp_path / "2" / "points.jsonl").points == alone.points


def test_ctrl_c_ends_the_workers_and_keeps_what_is_done(tmp_path, monkeypatch):
    """One of two points is done at once, the other would take minutes."""
    noisy = replace(CHAIN, noise=1.0)
    long = Study("long", noisy, pp.PlaTyPOOS(0.8), [10_000], (10**8, 10**8))
    short = Study("short", CHAIN, pp.PlaTyPOOS(0.8), [200], (2, 2))
    monkeypatch.setattr(studies, "studies", lambda: [short, long])
    before = set(active_children())
    add = Notebook.add

    def add_and_interrupt(notebook, name, point):
        add(notebook, name, point)
        main = threading.main_thread().ident
        threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGINT]).start()

    monkeypatch.setattr(Notebook, "add", add_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        studies.measure_all(tmp_path, workers=2, quiet=True)
    deadline = time.monotonic() + 20
    while set(active_children()) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not set(active_children()) - before
    assert list(Notebook(tmp_path / "points.jsonl").points) == [(short.key, 200)]


def test_the_results_are_made_by_one_command(capsys, tmp_path, monkeypatch):
    """With fewer studies, and gone on with after an interruption."""
    small = [
        replace(study, budgets=decades(2, 3, 2), runs=(4, 4))
        for study in studies.studies()
        if study.name in {"chain, SequOOL", "1 < κ < K, SequOOL", "γ²κ ≤ 1, high noise"}
        or study.name.startswith("b = 1,")
    ]
    sweep = next(study for study in studies.studies() if study.noises and study.problem.kappa > 1)
    small.append(replace(sweep, budgets=[1_000], noises=(1.0, 0.3, 0.1), runs=(4, 4)))
    assert len(small) == 6
    monkeypatch.setattr(studies, "studies", lambda: small)
    monkeypatch.setattr("theory_rows.LARGER", decades(3, 5, 1))
    measured = []
    measure = Study.measure

    def counted(self, budget):
        if len(measured) == 7:
            measured.append(None)
            raise KeyboardInterrupt
        measured.append((self.key, budget))
        return measure(self, budget)

    monkeypatch.setattr(Study, "measure", counted)
    arguments = ["--quiet", "--workers", "1", "--out", str(tmp_path)]
    assert theory_results.main(arguments) == 130
    assert "what is done is kept" in capsys.readouterr().err
    assert len((tmp_path / "points.jsonl").read_text().splitlines()) == 7
    assert theory_results.main(arguments) == 0
    done = [item for item in measured if item]
    assert len(done) == len(set(done)) == 3 * len(small)  # nothing twice
    page = (tmp_path / "README.md").read_text()
    assert "| chain, SequOOL | 2, 1, 0.8, 0.8, 0 | 100 – 1,000 | ρ^n with ρ = 0.8 |" in page
    assert "No measured regret exceeds its bound" in page
    assert re.search(r"\| 0.96 \| 2, 1.5, 0.5, 0.8 \| 1 – 0.1 \| \d", page)
    for name in ("counts", "regimes", "reset", "high-noise", "less-noise", "noiseless",
                 "high-noise-by-b"):  # fmt: skip
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    found = rows(studies.measure_all(tmp_path, quiet=True))
    assert len(found) == len(small)
    broken = [
        replace(row, points=[replace(point, regret=2.0) for point in row.points])
        if row.study.name == "b = 1, PlaTγPOOS"
        else row
        for row in found
    ]
    assert "No measured regret exceeds its bound: the largest is 0." in report(found)
    assert "**A regret exceeds its bound**" in report(broken)
