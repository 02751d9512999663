"""Follow a moving target: the best next reward is nearly the best plan.

x moves by −1, −0.3, 0, 0.3 or 1 each step, and the reward is −(x − 3·sin(t/4))². The target moves
by at most 0.75 a step, so x can keep up with it, and one-step greedy is close to the optimum: a
planner that looks further must not be worse. An episode has 60 steps.

python benchmarks/tracking.py                          # 10 seeds, 100 and 300 calls
python benchmarks/tracking.py --noise 0 1 --quick
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import trials
from trials import Problem, Row, cell, paired, select, verdict

MOVES = (-1.0, -0.3, 0.0, 0.3, 1.0)
PLANNERS = ("Greedy", "Platypus", "UCT", "CEM", "OneStep", "PlaTyPOOS")


def step(state: tuple[float, int], action: int, _: Any) -> tuple[tuple[float, int], float, bool]:
    """Move; the reward is for the place after the move, at the time after it."""
    x, t = round(state[0] + MOVES[action], 1), state[1] + 1  # rounded, so that equal places meet
    return (x, t), -((x - 3 * math.sin(t / 4)) ** 2), False


def make(_: int = 0) -> Problem:
    """Tests whether looking far ahead costs precision in the next step; there is one instance."""
    return Problem(
        step=step, actions=len(MOVES), initial_state=(0.0, 0), rule=None, steps=60, discount=0.95
    )


def optimum() -> float:
    """The best total of an episode: exact, as x is always a multiple of 0.1."""
    steps, reach = 60, 80
    moves = [round(10 * move) for move in MOVES]
    worth = np.zeros(2 * reach + 1)
    places = np.arange(-reach, reach + 1) / 10
    for t in range(steps, 0, -1):
        after = worth - (places - 3 * math.sin(t / 4)) ** 2
        padded = np.pad(after, 10, constant_values=-np.inf)
        worth = np.max([padded[10 + move : 10 + move + len(worth)] for move in moves], axis=0)
    return float(worth[reach])


def play(planner: str, budget: int, noise: float, seed: int) -> Row:
    """One episode."""
    run = trials.play(make(seed), planner, budget, seed, noise=noise)
    return {"benchmark": "tracking", "planner": planner, "budget": budget, "noise": noise,
            "seed": seed, "score": run.total, "worst": min(run.rewards)}  # fmt: skip


def add_noise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0], help="± this, uniform")


def main() -> None:
    """Play, and print a table."""
    args = trials.parse(
        str(__doc__), budgets=(100, 300), planners=PLANNERS, seeds=10, quick_budgets=(100, 300),
        quick_seeds=3, more=add_noise,
    )  # fmt: skip
    names = list(dict.fromkeys(["Greedy", *args.planner]))
    rows = trials.measure(
        play,
        [(name, budget, noise, seed) for noise in args.noise for budget in args.budgets
         for name in names for seed in args.seeds],
        args,
    )  # fmt: skip
    lines = []
    for noise in args.noise:
        for budget in args.budgets:
            greedy = select(rows, planner="Greedy", budget=budget, noise=noise)
            for name in names:
                ours = select(rows, planner=name, budget=budget, noise=noise)
                differences = paired(ours, greedy)
                compared = "" if name == "Greedy" else cell(differences)
                lines.append((f"±{noise:g}", budget, name, cell([row["score"] for row in ours]),
                              compared, verdict(differences)))  # fmt: skip
    print(f"Tracking, total reward of 60 steps without noise, {len(args.seeds)} seeds; "
          f"the optimum is {optimum():.2f}")  # fmt: skip
    trials.print_table(("noise", "calls", "planner", "total", "minus greedy", ""), lines)
    trials.print_against(rows, args.against, ("benchmark", "planner", "budget", "noise"))


if __name__ == "__main__":
    main()
