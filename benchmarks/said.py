"""What it is worth when a simulator says more than its step, and what watching it costs.

    python benchmarks/said.py              writes docs/results/said.md

Taxi-v4 with its own mask of legal actions and without it, MountainCar-v0 with and without cells:
the default planner, 10 first states, the share of episodes that reach the goal by calls for each
decision. Watching: the time of a plan of a Python model over that of the same plan of a simulator
that does not look for broken models, the median of pairs that were run in turn.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp
from platypoos.checking.watch import Watch
from platypoos.progress import progress_bar
from platypoos.simulator import run as simulator

SEEDS = 10
TAXI_BUDGETS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40)
CAR_BUDGETS = (100, 200, 270, 400, 600, 1_000)
CAR_REPEAT, CAR_RESOLUTION = 8, (1 / 20, 1 / 200)
PAIRS = 60


def taxi(seed: int, budget: int, masked: bool) -> bool:
    """Whether the passenger is delivered within 40 steps."""
    model: Any = pp.GymnasiumModel("Taxi-v4", seed=seed)
    if not masked:
        model = pp.FunctionModel(model.step, model.actions.n, model.initial_state)
    episode = pp.control(model, budget=budget, steps=40, discount=0.95, seed=seed)
    return episode.terminated


def car(seed: int, budget: int, cells: bool) -> bool:
    """Whether the top is reached within 200 steps of the environment."""
    resolution = CAR_RESOLUTION if cells else None
    model = pp.GymnasiumModel("MountainCar-v0", seed=seed, repeat=CAR_REPEAT, resolution=resolution)
    steps = 200 // CAR_REPEAT
    return pp.control(model, budget=budget, steps=steps, discount=0.99, seed=seed).terminated


def reached(
    name: str, play: Callable[[int, int, bool], bool], budgets: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    """How many of the first states reach the goal, with and without, by budget."""
    counts: dict[bool, list[int]] = {True: [], False: []}
    with progress_bar(
        2 * len(budgets), f" budgets of {name}", quiet=not sys.stderr.isatty()
    ) as bar:
        for told, row in counts.items():
            for budget in budgets:
                row.append(sum(play(seed, budget, told) for seed in range(SEEDS)))
                bar.update()
    return counts[True], counts[False]


def table(budgets: tuple[int, ...], rows: dict[str, list[int]]) -> list[str]:
    lines = ["| calls a decision | " + " | ".join(f"{b:,}" for b in budgets) + " |"]
    lines.append("|---" * (len(budgets) + 1) + "|")
    for name, counts in rows.items():
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return [*lines, ""]


def step_int(state: int, action: int, rng: np.random.Generator) -> Any:
    return (3 * state + action) % 1_009, rng.random(), False


def step_tuple(state: tuple[int, int], action: int, rng: np.random.Generator) -> Any:
    return ((3 * state[0] + action) % 1_009, state[1]), rng.random(), False


def step_dict(state: dict[str, Any], action: int, rng: np.random.Generator) -> Any:
    return {**state, "at": (3 * state["at"] + action) % 1_009}, rng.random(), False


def step_array(state: Any, action: int, rng: np.random.Generator) -> Any:
    after = state.copy()
    after[0] = (3 * after[0] + action) % 1_009
    return after, rng.random(), False


WATCHED: dict[str, Any] = {
    "int": pp.FunctionModel(step_int, 3, 1),
    "tuple": pp.FunctionModel(step_tuple, 3, (1, 2)),
    "dict of 5 entries": pp.FunctionModel(
        step_dict, 3, {"at": 1, "b": 2.0, "c": "x", "d": (1, 2), "e": [1, 2]},
        key=lambda state: state["at"],
    ),
    "array of 8 floats": pp.FunctionModel(step_array, 3, np.arange(8.0)),
}  # fmt: skip


class Blind:
    """Looks at nothing."""

    looks_at_states = False

    def __init__(self, *_: Any) -> None:
        pass

    def compares(self, _: int) -> bool:
        return False

    def guard(self, step: Any, *_: int) -> Any:
        return step


def overhead(model: Any, planner: pp.planners.Planner, budget: int) -> float:
    """The median ratio of a plan's time with and without watching."""
    ratios = []
    try:
        for pair in range(PAIRS + 3):
            times = {}
            for watched in (True, False) if pair % 2 else (False, True):
                setattr(simulator, "Watch", Watch if watched else Blind)  # noqa: B010
                start = time.perf_counter()
                planner.plan(model, budget=budget, seed=pair)
                times[watched] = time.perf_counter() - start
            ratios.append(times[True] / times[False])
    finally:
        setattr(simulator, "Watch", Watch)  # noqa: B010
    return statistics.median(ratios[3:])


def main() -> None:
    warnings.simplefilter("ignore")
    about = str(__doc__).split("\n\n")[2].replace("\n", " ").strip()
    lines = ["# What a simulator can say", "", f"`python benchmarks/said.py`. {about}", ""]
    told, untold = reached("Taxi-v4", taxi, TAXI_BUDGETS)
    lines += [f"Taxi-v4, delivered, of {SEEDS}:", ""]
    lines += table(TAXI_BUDGETS, {"with its mask": told, "without": untold})
    told, untold = reached("MountainCar-v0", car, CAR_BUDGETS)
    lines += [
        f"MountainCar-v0, each action taken {CAR_REPEAT} times, γ = 0.99, at the top, of {SEEDS}:",
        "",
    ]
    lines += table(CAR_BUDGETS, {"cells of 1/20 and 1/200": told, "no cells": untold})
    lines += ["Watching for broken models, time over that without:", ""]
    lines += ["| states | planner | 1,000 calls | 10,000 calls |", "|---" * 4 + "|"]
    for name, model in WATCHED.items():
        for planner in (pp.Platypus(0.9), pp.PlaTyPOOS(0.9)):
            ratios = [overhead(model, planner, budget) for budget in (1_000, 10_000)]
            cells = " | ".join(f"{ratio:.3f}" for ratio in ratios)
            lines.append(f"| {name} | {type(planner).__name__} | {cells} |")
    print("\n".join(lines))
    target = Path(__file__).parents[1] / "docs" / "results" / "said.md"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
