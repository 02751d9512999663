"""How fast: everything as a ratio to the bare simulator, measured in the same run.

    python benchmarks/speed.py

Bare and planned runs alternate, and the best of each counts: machines are noisy. The bare
compiled loop takes random actions along one trajectory; the bare Python loop likewise. Times
with Python models are of repeated plans with the same budget, as in control.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import platypoos as pp

PLANNER = pp.PlaTyPOOS(discount=0.95)
NOISE = 10.0


def best_times(functions: list[Callable[[], object]], seconds: float = 4.0) -> list[float]:
    """The best time of each function, run in turns."""
    for function in functions:
        function()
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
        rounds += 1
    return best


kernel = pp.problems.SwitchChain().compiled().kernel


@numba.njit  # type: ignore[untyped-decorator]
def bare_loop(steps: int, actions: Any, params: Any, rng: Any) -> float:
    state, after = np.zeros(2), np.zeros(2)
    total = 0.0
    for i in range(steps):
        reward, _ = kernel(state, actions[i & 4095], params, rng, after)
        total += reward
        state, after = after, state
    return total


BUDGETS = [10**3, 10**4, 10**5, 10**6]


def table(
    title: str,
    columns: tuple[str, str],
    functions: tuple[Callable[[int], object], Callable[[int], object]],
    bars: tuple[float, float],
    fitted: list[int],
    most: float,
) -> None:
    """Both functions at each budget, in turns: time per call and the second over the first.

    The bar at the smallest budget may be another; ``fitted`` are the budgets of the exponent.
    """
    print(title)
    first, second = (f"{name} ns/call" for name in columns)
    print(f"{'N':>9} {first:>13} {second:>13} {'ratio':>7} {'bar':>5}")
    times = {}
    for n in BUDGETS:
        one, two = best_times([lambda f=f, n=n: f(n) for f in functions])  # type: ignore[misc]
        times[n] = two
        bar = bars[n != BUDGETS[0]]
        print(f"{n:>9} {one / n * 1e9:>13.1f} {two / n * 1e9:>13.1f} {two / one:>7.2f} {bar:>5}")
    slope = np.polyfit(np.log(fitted), np.log([times[n] for n in fitted]), 1)[0]
    print(f"exponent of time against N, from {fitted[0]:,} on: {slope:.3f} (bar {most})\n")


def compiled() -> None:
    model = pp.problems.SwitchChain(noise=NOISE).compiled()
    rng = np.random.default_rng(0)
    actions = np.random.default_rng(1).integers(0, 2, 4096)
    table(
        "compiled SwitchChain, noise ±10, PlaTγPOOS, discount 0.95",
        ("bare", "plan"),
        (
            lambda n: bare_loop(n, actions, model.params, rng),
            lambda n: PLANNER.plan(model, budget=n, seed=rng),
        ),
        bars=(10, 4),
        fitted=BUDGETS[1:],
        most=1.05,
    )


def shared() -> None:
    model = pp.problems.SwitchChain(noise=NOISE).compiled()
    graph = pp.Platypus(discount=0.95)
    table(
        "compiled SwitchChain, noise ±10, Platypus beside PlaTγPOOS",
        ("plain", "platypus"),
        (
            lambda n: PLANNER.plan(model, budget=n, seed=0),
            lambda n: graph.plan(model, budget=n, seed=0),
        ),
        bars=(2, 2),
        fitted=BUDGETS,
        most=1.1,
    )


def python() -> None:
    problem = pp.problems.SwitchChain(noise=NOISE)
    budget = 10**4
    step = problem.step
    actions = np.random.default_rng(1).integers(0, 2, budget).tolist()

    def bare() -> None:
        rng = np.random.default_rng(0)
        state = problem.initial_state
        for action in actions:
            state, _, _ = step(state, action, rng)

    times = best_times([bare, lambda: PLANNER.plan(problem, budget=budget, seed=0)])
    each = [t / budget * 1e6 for t in times]
    print(f"Python SwitchChain, N = {budget}")
    print(
        f"bare loop {each[0]:.2f} µs per call, plan {each[1]:.2f}, above it {each[1] - each[0]:.2f}"
    )
    print("(bar 1 µs above)\n")


def memory() -> None:
    plan = PLANNER.plan(pp.problems.SwitchChain().compiled(), budget=10**5, seed=0)
    print(f"bytes per node beyond the states: {plan.tree.bytes_per_node} (bar 64)\n")


def start_up() -> None:
    first = (
        "import time; t = time.perf_counter(); import platypoos as pp; i = time.perf_counter() - t;"
        "t = time.perf_counter();"
        "pp.plan(pp.problems.SwitchChain(noise=10.0), budget=1000, discount=0.95, seed=0);"
        "print(i, time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = []
        for _ in range(4):
            command = [sys.executable, "-c", first]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            runs.append([float(x) for x in done.stdout.split()])
    print(f"import: {min(run[0] for run in runs):.2f} s (bar 1 s)")
    print(f"first plan with a Python model, fresh cache: {runs[0][1]:.2f} s (bar 3 s)")
    print(f"first plan of a later process: {min(run[1] for run in runs[1:]):.2f} s")


if __name__ == "__main__":
    compiled()
    shared()
    python()
    memory()
    start_up()
