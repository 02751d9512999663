"""Six tasks of dm_control against published scores: writes docs/results/planet.md.

The protocol is that of PlaNet (Hafner et al. Learning latent dynamics for planning from pixels.
ICML 2019): an episode is 1,000 steps of the environment, each task has its action repeat, and the
score is the sum of the rewards, 1,000 at most. The published scores are those of CEM with the true
simulator: 1,000 candidates x 10 iterations x 12 steps = 120,000 calls for each decision
(benchmarks/data/planet-cem.csv). A call is one action, repeated.

Episodes are kept in planet.jsonl, so the script goes on where it was stopped. Delete the file after
a change of the planner. Needs the extra dm-control.

Examples:
  python benchmarks/planet.py                                   # two hours and a half on one core
  python benchmarks/planet.py --tasks cheetah-run --budgets 300 --seeds 1
  python benchmarks/planet.py --planners Platypus CEM MPPI PredictiveSampling --budgets 300
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from continuous import PLANNERS, read
from trials import Row, cell, select

import platypoos as pp
from platypoos.choosing import DEFAULT_DISCOUNT
from platypoos.progress import progress_bar

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PUBLISHED = Path(__file__).parent / "data" / "planet-cem.csv"
BUDGETS, SEEDS = (300, 1000, 3000), 3
ENVIRONMENT_STEPS = 1_000
NEAR = 0.97
"""Of the published score: as good as that, at a small part of the calls."""
FIELDS = ("task", "planner", "budget", "seed")

INTRODUCTION = """\
`python benchmarks/planet.py` (episodes in `planet.jsonl`), with PlaNet's protocol (Hafner et al.,
ICML 2019): 1,000 steps of the environment with the task's action repeat, and the sum of rewards.
The published scores are those of the cross-entropy method with the true simulator, at 120,000 calls
for each decision. One call is one action, repeated. Cells: the mean, its standard error and the
number of seeds; bold at 97 % of the published score or more. Planners are told the discount only,
{discount}.
"""


def published() -> dict[str, dict[str, float]]:
    """The action repeat and the published score of each task."""
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {
        f"{row['domain']}-{row['task']}": {
            "repeat": int(row["action_repeat"]),
            "score": float(row["score"]),
            "calls": int(row["calls_per_decision"]),
        }
        for row in rows
    }


def play(task: str, planner: str, budget: int, seed: int, bar: Any) -> Row:
    """One episode."""
    repeat = int(published()[task]["repeat"])
    model = pp.GymnasiumModel(f"dm_control/{task}-v0", seed=seed, repeat=repeat)
    start = time.process_time()
    episode = pp.control(
        model,
        planner=PLANNERS[planner](DEFAULT_DISCOUNT),
        budget=budget,
        steps=ENVIRONMENT_STEPS // repeat,
        seed=seed,
        keep="nothing",
        on_step=lambda *_: bar.update(repeat),
    )
    assert max(episode.step_calls) <= budget
    assert len(episode.rewards) * repeat == ENVIRONMENT_STEPS
    return {
        "task": task,
        "planner": planner,
        "budget": budget,
        "seed": seed,
        "score": round(float(sum(episode.rewards)), 2),
        "calls": round(episode.calls / len(episode.actions), 1),
        "seconds": round(time.process_time() - start, 1),
    }


def score(rows: Sequence[Row], aim: float) -> str:
    """The mean of some episodes, and how many they are."""
    if not rows:
        return "–"
    scores = [row["score"] for row in rows]
    mean = sum(scores) / len(scores)
    shown = f"{mean:.0f}" if len(scores) == 1 else cell(scores, digits=0)
    return f"**{shown}** ({len(scores)})" if mean >= NEAR * aim else f"{shown} ({len(scores)})"


def write(rows: Sequence[Row], page: Path) -> None:
    """The page: one table for each planner, and what it costs."""
    figures = published()
    lines = ["# dm_control, against published scores", ""]
    lines += INTRODUCTION.format(discount=DEFAULT_DISCOUNT).splitlines()
    for planner in [name for name in PLANNERS if select(rows, planner=name)]:
        mine = select(rows, planner=planner)
        budgets = sorted({row["budget"] for row in mine})
        lines += ["", f"## {planner}", ""]
        heads = " | ".join(f"{budget:,} calls" for budget in budgets)
        lines.append(f"| task | action repeat | published, 120,000 calls | {heads} |")
        lines.append("|---" * (3 + len(budgets)) + "|")
        for task, figure in figures.items():
            aim = figure["score"]
            cells = [score(select(mine, task=task, budget=budget), aim) for budget in budgets]
            lines.append(f"| {task} | {figure['repeat']:.0f} | {aim:.0f} | {' | '.join(cells)} |")
        lines.append(f"| microseconds of CPU for a call | | | {' | '.join(cost(mine, budgets))} |")
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def cost(rows: Sequence[Row], budgets: Sequence[int]) -> list[str]:
    """The mean CPU time of a call, simulator and planner together, for each budget."""
    figures = published()
    costs = []
    for budget in budgets:
        seconds = calls = 0.0
        for row in select(rows, budget=budget):
            seconds += row["seconds"]
            calls += row["calls"] * ENVIRONMENT_STEPS / figures[row["task"]]["repeat"]
        costs.append(f"{seconds / calls * 1e6:.0f}")
    return costs


def main() -> None:
    """Play what is missing, then write the page."""
    tasks = list(published())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=tasks, default=tasks, metavar="TASK")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="episodes of each (%(default)s)")
    parser.add_argument("--planners", nargs="+", choices=list(PLANNERS), default=["Platypus"])
    parser.add_argument("--out", type=Path, default=RESULTS / "planet.jsonl")
    args = parser.parse_args()
    wanted = [
        (task, planner, budget, seed)
        for budget in args.budgets
        for seed in range(args.seeds)
        for task in args.tasks
        for planner in args.planners
    ]
    rows = read(args.out) if args.out.exists() else []
    kept = {tuple(row[name] for name in FIELDS) for row in rows}
    missing = [key for key in wanted if key not in kept]
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # of dm_control's models
    already = (len(wanted) - len(missing)) * ENVIRONMENT_STEPS
    total = len(wanted) * ENVIRONMENT_STEPS
    with progress_bar(total, " steps", already=already, quiet=False) as bar:
        for key in missing:
            bar.set_postfix_str(" ".join(map(str, key)))
            rows.append(play(*key, bar))
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    write(rows, args.out.with_suffix(".md"))


if __name__ == "__main__":
    main()
