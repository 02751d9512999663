"""Rewards that are silent until the goal: with states shared, and without.

    python benchmarks/silent.py            writes docs/results/silent.md

γ = 0.95, 10 seeds, the same budget (calls for each decision) for all. UCT is told the range of the
rewards; its horizon is where γ^h = 0.1.
"""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import Any

import platypoos as pp

GAMMA, SEEDS = 0.95, 10
HORIZON = math.ceil(math.log(0.1) / math.log(GAMMA))
ENVIRONMENTS: list[tuple[str, dict[str, Any], int, int, float, float]] = [
    ("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}, 1_000, 30, 1.0, 0.0),
    ("CliffWalking-v1", {}, 1_000, 30, 99.0, -2.0),
    ("Taxi-v4", {}, 3_000, 40, 30.0, 0.0),
    ("MiniGrid-Empty-8x8-v0", {}, 1_000, 30, 1.0, 0.0),
    ("MiniGrid-DoorKey-5x5-v0", {}, 3_000, 40, 1.0, 0.0),
]
"""Name, options, budget, steps, range of rewards, and what the last reward of a success exceeds."""


def main() -> None:
    warnings.simplefilter("ignore")
    about = str(__doc__).split("\n\n")[2].replace("\n", " ").strip()
    lines = ["# Silent rewards", "", f"`python benchmarks/silent.py`. {about}", ""]
    lines += ["Episodes that reached the goal; mean calls of an episode.", ""]
    lines += [
        "| environment | calls a decision | Platypus | PlaTγPOOS | UCT |",
        "|---" * 5 + "|",
    ]
    for name, options, budget, steps, width, success in ENVIRONMENTS:
        cells = []
        scale = width * (1 - GAMMA**HORIZON) / (1 - GAMMA) / 2
        for planner in (
            pp.Platypus(GAMMA),
            pp.PlaTyPOOS(GAMMA),
            pp.planners.UCT(GAMMA, scale=scale, horizon=HORIZON),
        ):
            start = time.time()
            reached, calls = 0, 0
            for seed in range(SEEDS):
                model = pp.GymnasiumModel(name, seed=seed, **options)
                episode = pp.control(model, planner=planner, budget=budget, steps=steps, seed=seed)
                reached += episode.terminated and episode.rewards[-1] > success
                calls += episode.calls
            cells.append(f"**{reached} of {SEEDS}**; {calls / SEEDS:,.0f}")
            print(name, planner.name, cells[-1], f"{time.time() - start:.0f} s", flush=True)
        lines.append(f"| {name} | {budget:,} | " + " | ".join(cells) + " |")
    target = Path(__file__).parents[1] / "docs" / "results" / "silent.md"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
