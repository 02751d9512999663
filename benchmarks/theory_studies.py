"""The studies behind docs/results/theory: which promise is held against which measurement."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from pathlib import Path

from platypoos.lab.problems import MadeToOrder
from platypoos.lab.theory.bounds import HIGH, Bound, bound
from platypoos.lab.theory.expected import h_max_of
from platypoos.lab.theory.hardness import known_hardness
from platypoos.lab.theory.measure import (
    Notebook,
    Point,
    mean_regret,
    worst_regret,
    worst_regret_in_one_run,
)
from platypoos.models.base import Access
from platypoos.planners import OLOP, Planner, PlaTyPOOS, SequOOL
from platypoos.progress import progress_bar
from platypoos.search.layered import LayeredPlanner

RESET = Access.RESET
CALLS = 20_000_000
NOISES = (1.0, 0.1, 0.001, 1e-6, 0.0)
HORIZON = 60
"""Where trees end in the studies that could not be run else: nothing of their regret is there."""


@dataclass(frozen=True)
class Study:
    """A planner on problems of one kind, whatever the depth of the secret, over some budgets."""

    name: str
    problem: MadeToOrder
    planner: Planner
    budgets: Sequence[int]
    runs: tuple[int, int] = (40, 200)
    """The fewest runs of a problem, and the most; between them as many as 2·10⁷ calls allow."""
    access: Access = Access.RESTORE
    one_problem: bool = False
    """Whether the secret stays where it is: the worst problem of the smallest budget."""
    noises: Sequence[float] = ()
    """If there are any, the noise goes through these instead of the problem's own."""

    @property
    def parts(self) -> list[Study]:
        """The study of each noise, if it goes through several."""
        return [
            replace(self, problem=replace(self.problem, noise=noise), noises=())
            for noise in self.noises
        ] or [self]

    @property
    def key(self) -> str:
        """All that the points depend on."""
        how = "one run" if self.in_one_run else f"{self.runs}"
        planner = str(self.planner).replace(", faithful=False", "")  # points are older than that
        return f"{self.name}: {self.problem}, {planner}, {self.access.value}, {how}"

    @property
    def in_one_run(self) -> bool:
        """Whether one run tells of all secrets (for κ = 1 each is run: it is cheap)."""
        noisy = self.problem.noise or self.noises
        many = not noisy and self.problem.kappa > 1
        return many and isinstance(self.planner, LayeredPlanner)

    def promise(self, budget: int) -> Bound:
        """What the theory promises, with the planner's own h_max."""
        own = None
        if isinstance(self.planner, LayeredPlanner):
            own = h_max_of(self.planner, self.problem.actions.n, budget, self.access)
        return bound(
            known_hardness(self.problem),
            planner=self.planner.name,
            budget=budget,
            noise=self.problem.noise,
            access=self.access,
            h_max=own,
        )

    def measure(self, budget: int) -> Point:
        """The worst problem of the kind."""
        if self.in_one_run and isinstance(self.planner, LayeredPlanner):
            return worst_regret_in_one_run(self.problem, self.planner, budget, self.access)
        fewest, most = self.runs
        runs = min(most, max(fewest, CALLS // budget))
        if self.one_problem:
            return mean_regret(self.problem, self.planner, budget, runs, self.access)
        return worst_regret(self.problem, self.planner, budget, runs, self.access)


def decades(low: float, high: float, per_decade: int) -> list[int]:
    """Budgets from 10^low to 10^high.

    >>> decades(2, 3, 2)
    [100, 316, 1000]
    """
    steps = round((high - low) * per_decade)
    return [round(10 ** (low + i / per_decade)) for i in range(steps + 1)]


def olop(problem: MadeToOrder, noise: float) -> OLOP:
    """OLOP, told the largest reward and a noise, true or not."""
    largest = 0.5 * problem.nu * (2 - problem.rho)  # of a good action, with the secret
    return OLOP(problem.discount, reward_max=largest, noise=noise)


def studies() -> list[Study]:
    """All of them.

    The problems without noise and with large budgets were chosen by what the schedules predict,
    before anything was measured. With noise and κ = 2, b is the smallest of 1, 2, 5 · 10^k that
    Table 1 calls high noise at each of the large budgets.
    """
    chain = MadeToOrder(kappa=1.0, rho=0.8, discount=0.8)
    every = MadeToOrder(kappa=4.0, rho=0.5, discount=0.9, num_actions=4)
    some = MadeToOrder(kappa=2.0, rho=0.5, discount=0.9, num_actions=3)
    few = MadeToOrder(kappa=1.0, rho=0.7, discount=0.7, noise=1.0)
    many = MadeToOrder(kappa=2.0, rho=0.75, discount=0.75, noise=0.5)
    seeds = (16, 16)
    return [
        Study("chain, SequOOL", chain, SequOOL(0.8), decades(1.6, 3.2, 6), seeds),
        Study("chain, PlaTγPOOS", chain, PlaTyPOOS(0.8), decades(2, 4, 5), seeds),
        Study("chain, SequOOL, reset", chain, SequOOL(0.8), decades(2, 5.25, 4), seeds, RESET),
        Study("chain, PlaTγPOOS, reset", chain, PlaTyPOOS(0.8), decades(3, 6, 4), seeds, RESET),
        Study("κ = K, SequOOL", every, SequOOL(0.9), decades(3.5, 6.5, 6)),
        Study("1 < κ < K, SequOOL", some, SequOOL(0.9), decades(3.5, 6.5, 6)),
        Study("κ = K, PlaTγPOOS", every, PlaTyPOOS(0.9), decades(3.5, 6.5, 6)),
        *large_without_noise(),
        Study("γ²κ ≤ 1, high noise", few, PlaTyPOOS(0.7), decades(3, 6, 3), (80, 400)),
        Study("γ²κ > 1, high noise", many, PlaTyPOOS(0.75), decades(3, 6, 3), (80, 400)),
        *one_problem_with_noise(),
        *large_with_noise(),
        *high_noise_by_b(),
        *lower_noise(),
    ]


def large_without_noise() -> list[Study]:
    """Budgets so large that the logarithms matter less."""
    every = MadeToOrder(kappa=3.0, rho=0.9, discount=0.9, num_actions=3)
    some = MadeToOrder(kappa=2.0, rho=0.95, discount=0.95, num_actions=3)
    two = MadeToOrder(kappa=2.0, rho=0.9, discount=0.9)
    steep = MadeToOrder(kappa=2.0, rho=0.5, discount=0.8, num_actions=3)
    kinds: list[tuple[str, MadeToOrder, Planner]] = [
        ("κ = K, SequOOL, published", every, SequOOL(0.9, budget_use="paper")),
        ("1 < κ < K, SequOOL, published", some, SequOOL(0.95, budget_use="paper")),
        ("κ = K, PlaTγPOOS, large", two, PlaTyPOOS(0.9)),
        ("1 < κ < K, PlaTγPOOS, published", steep, PlaTyPOOS(0.8, budget_use="paper")),
    ]
    return [Study(name, problem, planner, decades(5, 8, 6)) for name, problem, planner in kinds]


def one_problem_with_noise() -> list[Study]:
    """One problem for each column of Table 1: the hardest for 1,000 calls, with more and more."""
    few = MadeToOrder(kappa=1.0, rho=0.7, discount=0.7, noise=1.0, depth=4)
    many = MadeToOrder(kappa=2.0, rho=0.75, discount=0.75, noise=0.5, depth=5)
    return [
        Study(
            f"{name}, high noise, one problem",
            problem,
            PlaTyPOOS(problem.discount),
            decades(3, 5, 4),
            (2_000, 2_000),
            one_problem=True,
        )
        for name, problem in [("γ²κ ≤ 1", few), ("γ²κ > 1", many)]
    ]


def large_with_noise() -> list[Study]:
    """The two columns of Table 1 with high noise; for κ = 2 it is just high enough.

    Those with κ = 1 and with ρ = γ go on where the smaller budgets end. In those with a horizon
    noise is small beside ν, so that n/b² is large and its logarithms matter less.
    """
    one = MadeToOrder(kappa=1.0, rho=0.7, discount=0.7, noise=1.0)
    two = MadeToOrder(kappa=2.0, rho=0.75, discount=0.75, noise=0.1)
    few = MadeToOrder(kappa=2.0, rho=0.5, discount=0.7, noise=0.02)
    steep = MadeToOrder(kappa=2.0, rho=0.2, discount=0.7, noise=0.0005)
    many = MadeToOrder(kappa=2.0, rho=0.5, discount=0.9, noise=0.02)
    deep = MadeToOrder(kappa=1.3, rho=0.5, discount=0.95, noise=0.01, horizon=HORIZON)
    deep_steep = MadeToOrder(kappa=1.5, rho=0.2, discount=0.95, noise=0.001, horizon=HORIZON)
    kinds = [
        ("γ²κ ≤ 1, κ = 1", one, decades(6, 9, 2), (200, 200)),
        ("γ²κ > 1, κ = 1.3", deep, decades(6, 9, 3), (800, 800)),
        ("γ²κ > 1, κ = 1.5, ρ = 0.2", deep_steep, decades(6, 9, 3), (200, 200)),
        ("γ²κ > 1, κ = 2, ρ = γ", two, decades(6, 8, 2), (200, 200)),
        ("γ²κ ≤ 1, κ = 2", few, decades(5, 7, 4), (60, 60)),
        ("γ²κ ≤ 1, κ = 2, ρ = 0.2", steep, decades(5, 7, 4), (60, 60)),
        ("γ²κ > 1, κ = 2", many, decades(5, 7, 4), (60, 60)),
    ]
    return [
        Study(
            f"{name}, high noise, published",
            problem,
            PlaTyPOOS(problem.discount, budget_use="paper"),
            budgets,
            runs,
        )
        for name, problem, budgets, runs in kinds
    ]


def high_noise_by_b() -> list[Study]:
    """Less and less noise with 10^7 calls, as long as Table 1 calls it high.

    The promise is a power of n/b². Of its two halves this is the weaker one, but it can be seen
    over many decades, and the logarithms of n stay the same.
    """
    kinds = [  # K, κ, ρ, γ
        (2, 1.0, 0.7, 0.7),
        (2, 1.5, 0.5, 0.8),
        (2, 2.0, 0.5, 0.7),
        (2, 1.3, 0.5, 0.95),
        (2, 1.5, 0.5, 0.9),
        (2, 2.0, 0.5, 0.9),
        (2, 2.0, 0.2, 0.9),
        (3, 3.0, 0.5, 0.9),
        (2, 2.0, 0.75, 0.75),
    ]
    found = []
    for num_actions, kappa, rho, gamma in kinds:
        problem = MadeToOrder(
            kappa=kappa, rho=rho, num_actions=num_actions, discount=gamma, horizon=HORIZON
        )
        found.append(
            Study(
                f"γ²κ = {gamma * gamma * kappa:.2f}, ρ = {rho:g}",
                problem,
                PlaTyPOOS(gamma, budget_use="paper"),
                [10**7],
                (200, 200),
                noises=high_noises(problem, 10**7),
            )
        )
    return found


def high_noises(problem: MadeToOrder, budget: int) -> list[float]:
    """Noise from 1 down, a quarter of a decade at a time, as long as Table 1 calls it high."""
    hardness, found = known_hardness(problem), [1.0]
    while bound(hardness, budget=budget, noise=found[-1]).regime == HIGH:
        found.append(10 ** (-len(found) / 4))
    return found[:-1]


def lower_noise() -> list[Study]:
    """One problem with less and less noise, which OLOP is not told of."""
    problem = MadeToOrder(kappa=1.0, rho=0.8, discount=0.8)
    found = []
    for noise in NOISES:
        noisy = replace(problem, noise=noise)
        for name, planner in [
            ("PlaTγPOOS", PlaTyPOOS(0.8)),
            ("OLOP", olop(problem, NOISES[0])),
        ]:
            found.append(
                Study(f"b = {noise:g}, {name}", noisy, planner, decades(2.5, 5, 2), (40, 100))
            )
    return found


def measure_all(out: Path, *, workers: int = 1, quiet: bool = False) -> Notebook:
    """Measure what is missing; every point is written as it comes."""
    notebook = Notebook(out / "points.jsonl")
    wanted = [
        (part, budget) for study in studies() for part in study.parts for budget in part.budgets
    ]
    missing = [(part, budget) for part, budget in wanted if (part.key, budget) not in notebook]
    done = len(wanted) - len(missing)
    with progress_bar(len(wanted), "point", already=done, quiet=quiet) as bar:
        for study, point in _measured(missing, workers):
            notebook.add(study.key, point)
            bar.update(1)
    return notebook


def _measured(wanted: list[tuple[Study, int]], workers: int) -> Iterator[tuple[Study, Point]]:
    """Points as they are done; they do not depend on the number of workers."""
    if workers == 1:
        for study, budget in wanted:
            yield study, study.measure(budget)
        return
    others = set(active_children())
    ignore = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is ours to answer
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, ignore)
    try:
        # Large budgets first, so that no core waits at the end.
        longest = sorted(wanted, key=lambda one: -one[1])
        under_way = {pool.submit(study.measure, budget): study for study, budget in longest}
        for future in as_completed(under_way):
            yield under_way[future], future.result()
    except BaseException:
        for process in set(active_children()) - others:  # a point can take a quarter of an hour
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
