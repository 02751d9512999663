"""How late plans with a deadline are: 1,000 plans of 10 ms, Python and compiled.

python benchmarks/deadline.py
"""

from __future__ import annotations

import time

import numpy as np

import platypoos as pp

PLANS, DEADLINE = 1_000, 0.01


def main() -> None:
    planner = pp.Platypus(0.95)
    chain = pp.problems.SwitchChain(noise=10.0)
    for name, model in (("Python", chain), ("compiled", chain.compiled())):
        planner.plan(model, budget=None, deadline=0.2, seed=0)  # compiles
        late, calls = [], []
        for seed in range(PLANS):
            start = time.perf_counter()
            calls.append(planner.plan(model, budget=None, deadline=DEADLINE, seed=seed).calls)
            late.append(1e3 * (time.perf_counter() - start - DEADLINE))
        print(
            f"{name:8} {PLANS} plans of {1e3 * DEADLINE:.0f} ms: late by {np.median(late):.2f} ms "
            f"(median), {np.quantile(late, 0.99):.2f} (99 %), {max(late):.2f} (most); "
            f"{np.median(calls):.0f} calls"
        )


if __name__ == "__main__":
    main()
