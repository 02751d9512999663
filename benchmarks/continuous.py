"""Compare planners for boxes of actions on cheap problems, with equal calls and paired seeds.

``python benchmarks/continuous.py --out rows.jsonl`` makes one row for each episode. Stopped and
started again, it goes on where it was. Scores are without noise: the actions are taken again in
the noiseless problem. They are normalised by each problem's range.

With ``--gusts 0.3`` dynamics are random: each action is disturbed by noise of this share of half of
the box. Scores are then those of the episodes. All planners but the default one plan in open loop
there (by RESET), and "Platypus by RESET" does, for comparison.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from continuous_problems import PROBLEMS, Problem
from trials import Row, cell, measure, paired, print_table, select, verdict

import platypoos as pp

BY_RESET = "Platypus by RESET"
PLANNERS: dict[str, Callable[[float], Any]] = {
    "Platypus": pp.Platypus,
    "CEM": pp.CEM,
    "CEM wide": lambda discount: pp.CEM(discount, sigma=1.0, beta=3.0),
    "MPPI": pp.MPPI,
    "MPPI white": lambda discount: pp.MPPI(discount, beta=0.0),
    "PredictiveSampling": pp.PredictiveSampling,
    "RandomShooting": pp.RandomShooting,
    BY_RESET: pp.Platypus,
}
"""Planners by name; they are told the discount only. CEM has its published settings, and CEM wide
those that were best on similar problems."""
BUDGETS = (100, 300, 1000, 3000)
MATTERS = 0.05
"""A share of the range: smaller differences do not matter, however certain they are."""


def play(name: str, planner: str, budget: int, seed: int, noise: float, gusts: float) -> Row:
    """One episode."""
    warnings.simplefilter("ignore")
    problem = PROBLEMS[name]
    episode = pp.control(
        problem.model(seed, noise, gusts),
        PLANNERS[planner](problem.discount),
        budget=budget,
        steps=problem.steps,
        seed=seed,
        keep="nothing",
        access="reset" if planner == BY_RESET or (gusts and planner != "Platypus") else None,
    )
    assert max(episode.step_calls) <= budget
    score = sum(episode.rewards) if gusts else replay(problem, seed, episode.actions)
    return {
        "problem": name,
        "planner": planner,
        "budget": budget,
        "seed": seed,
        "noise": noise,
        "gusts": gusts,
        "raw": round(score, 4),
        "score": round(problem.normalised(score), 5),
        "calls": round(episode.calls / len(episode.actions), 1),
    }


def replay(problem: Problem, seed: int, actions: Sequence[Any]) -> float:
    """The sum of the rewards of some actions, without noise."""
    state, total, rng = problem.start_of(seed), 0.0, np.random.default_rng(0)
    for action in actions:
        state, reward, ended = problem.step(state, action, rng)
        total += reward
        if ended:
            break
    return total


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--half", choices=("choosing", "judging"), help="half of the problems")
    parser.add_argument(
        "--planner", nargs="+", choices=list(PLANNERS),
        default=[name for name in PLANNERS if name != BY_RESET],
    )  # fmt: skip
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--seeds", type=int, default=20, help="episodes of each kind")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--noise", type=float, default=0.0, help="of rewards, in units of their spread"
    )
    parser.add_argument("--gusts", type=float, default=0.0, help="of actions; see above")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="append a JSON line for each episode")
    parser.add_argument("--label", default="", help="kept in each line: which version this is")
    parser.add_argument(
        "--against", type=Path, nargs="+", default=[],
        help="files of rows to compare with: other planners, or versions with another label",
    )  # fmt: skip
    args = parser.parse_args()
    if args.half is not None:
        wanted = args.half == "choosing"
        args.problem = [name for name in args.problem if PROBLEMS[name].for_choosing == wanted]
    return args


FIELDS = ("problem", "planner", "budget", "seed", "noise", "gusts")


def rows_of(args: argparse.Namespace) -> list[Row]:
    """The rows of the episodes that were asked for; those in the file are not played again."""
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    tasks = [
        (name, planner, budget, seed, args.noise, args.gusts)
        for budget in args.budgets
        for seed in seeds
        for name in args.problem
        for planner in args.planner
    ]
    kept = {}
    if args.out is not None and args.out.exists():
        for row in read(args.out):
            if row["label"] == args.label:
                kept[tuple(row[name] for name in FIELDS)] = row
    missing = [task for task in tasks if task not in kept]
    kept |= dict(zip(missing, measure(play, missing, args), strict=True))
    return [kept[task] for task in tasks]


def read(path: Path) -> list[Row]:
    """The rows of a file; a line that was cut off is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append({"gusts": 0.0, **json.loads(line)})
        except json.JSONDecodeError:
            continue
    return rows


def name_of(row: Row) -> str:
    """The planner of a row, and which version of it."""
    return f"{row['planner']} {row['label']}".strip()


def report(rows: Sequence[Row], others: Sequence[Row]) -> None:
    """Print the normalised means, and where the first planner differs from each of the others."""
    everything = [{**row, "who": name_of(row)} for row in (*rows, *others)]
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    budgets = list(dict.fromkeys(row["budget"] for row in rows))
    everything = [
        row
        for row in everything
        if row["problem"] in problems
        and (row["noise"], row["gusts"]) == (rows[0]["noise"], rows[0]["gusts"])
    ]
    who = list(dict.fromkeys(row["who"] for row in everything))
    print("\nMeans over problems of normalised scores")
    lines = []
    for name in who:
        cells = [mean_over(select(everything, who=name, budget=n), problems) for n in budgets]
        lines.append((name, *cells))
    print_table(("planner", *budgets), lines)
    for budget in budgets:
        print(f"\n{budget} calls a decision: normalised scores")
        lines = []
        for problem in problems:
            here = select(everything, problem=problem, budget=budget)
            lines.append((problem, *(cell([r["score"] for r in select(here, who=name)])
                                     for name in who)))  # fmt: skip
        print_table(("problem", *who), lines)
    if len(who) < 2:
        return
    print(f"\n{who[0]} minus the others: certain differences (two standard errors, paired seeds)")
    lines = []
    for budget in budgets:
        for problem in problems:
            here = select(everything, problem=problem, budget=budget)
            mine = select(here, who=who[0])
            for name in who[1:]:
                gaps = paired(mine, select(here, who=name))
                found = verdict(gaps)
                if found:
                    much = "" if abs(float(np.mean(gaps))) > MATTERS else "(small)"
                    lines.append((budget, problem, name, len(gaps), cell(gaps), found, much))
    print_table(("calls", "problem", "than", "pairs", "difference", "", ""), lines)


def mean_over(rows: Sequence[Row], problems: Sequence[str]) -> str:
    """The mean over problems of the means over seeds, and its error from the seeds."""
    scores = [[row["score"] for row in select(rows, problem=name)] for name in problems]
    if not all(scores):
        return "–"
    mean = float(np.mean([np.mean(found) for found in scores]))
    if min(map(len, scores)) < 2:
        return f"{mean:.3f}"
    errors = [np.var(found, ddof=1) / len(found) for found in scores]
    return f"{mean:.3f} ± {math.sqrt(sum(errors)) / len(errors):.3f}"


def main() -> None:
    """Play, and print the tables."""
    args = parse()
    rows = rows_of(args)
    others = [row for path in args.against for row in read(path)]
    known = {(name_of(row), *(row[name] for name in FIELDS)) for row in rows}
    others = [r for r in others if (name_of(r), *(r[name] for name in FIELDS)) not in known]
    report(rows, others)


if __name__ == "__main__":
    main()
