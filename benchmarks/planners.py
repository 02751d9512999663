"""Time per call of every planner on the compiled SwitchChain, and how it grows with the budget.

    python benchmarks/planners.py

The bare simulator takes random actions along one trajectory, in the same run. The best of several
runs counts: machines are noisy. Planners that stop before their budget are timed per call made.
"""

from __future__ import annotations

import time

import numpy as np
from speed import NOISE, bare_loop

import platypoos as pp

GAMMA = 0.95
PLANNERS: list[
    tuple[pp.planners.Planner, float | None]
] = [  # and the bar at N = 100,000, in µs per call
    (pp.PlaTyPOOS(GAMMA), None),
    (pp.planners.OPD(GAMMA, reward_max=130.0), 0.15),
    (pp.planners.OLOP(GAMMA, reward_max=130.0, noise=NOISE), 0.15),
    (pp.planners.KLOLOP(GAMMA, reward_min=90.0, reward_max=140.0), 0.3),
    (pp.planners.UCT(GAMMA, scale=100.0, horizon=30), 0.15),
    (pp.planners.PolynomialUCT(GAMMA, scale=100.0, horizon=30), None),
    (pp.planners.BRUE(GAMMA, horizon=30), None),
    (pp.planners.HOO(GAMMA, reward_max=130.0), None),
    (pp.planners.SOO(GAMMA), None),
    (pp.planners.StoSOO(GAMMA, noise=NOISE), None),
    (pp.planners.SequentialHalving(GAMMA, horizon=30), None),
    (pp.planners.OPMDP(GAMMA, reward_max=130.0), None),
    (pp.planners.BAIMCTS(GAMMA, reward_min=90.0, reward_max=140.0, depth=10), None),
    (pp.planners.TrailBlazer(0.2, reward_min=90.0, reward_max=110.0, epsilon=1e-3), None),
    (pp.planners.StOP(GAMMA, reward_min=90.0, reward_max=140.0, epsilon=0.1), None),
    (pp.planners.Uniform(GAMMA), None),
    (pp.planners.OneStep(GAMMA), None),
]
BUDGETS = [10**4, 10**5, 10**6]


def best_time(planner: pp.planners.Planner, budget: int) -> tuple[float, int]:
    """The best time of several plans, and the calls of one."""
    model = pp.problems.SwitchChain(noise=NOISE).compiled()
    calls = planner.plan(model, budget=budget, seed=0).calls
    best, end, runs = float("inf"), time.perf_counter() + 1.5, 0
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        planner.plan(model, budget=budget, seed=runs)
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best, calls


def main() -> None:
    model = pp.problems.SwitchChain(noise=NOISE).compiled()
    actions = np.random.default_rng(1).integers(0, 2, 4096)
    rng = np.random.default_rng(0)
    bare_loop(10, actions, model.params, rng)
    start = time.perf_counter()
    bare_loop(10**6, actions, model.params, rng)
    print(f"bare simulator: {(time.perf_counter() - start) * 1e3:.1f} ns per call\n")
    print(f"{'ns per call, N =':<20}" + "".join(f"{n:>10,}" for n in BUDGETS), end="")
    print(f"{'exponent':>10}   bars: 100,000, exponent")
    for planner, bar in PLANNERS:
        timed = [best_time(planner, budget) for budget in BUDGETS]
        each = [seconds / calls * 1e9 for seconds, calls in timed]
        calls = np.log([calls for _, calls in timed])
        seconds = np.log([seconds for seconds, _ in timed])
        exponent = np.polyfit(calls, seconds, 1)[0] if np.ptp(calls) > 1 else float("nan")
        bars = ("" if bar is None else f"{bar * 1e3:.0f} ns") + ", 1.1"
        print(f"{planner.name:<20}" + "".join(f"{ns:>10.1f}" for ns in each), end="")
        print(f"{exponent:>10.3f}   {bars}")


if __name__ == "__main__":
    main()
