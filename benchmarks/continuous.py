"""Compare planners for boxes of actions on cheap problems, with equal calls and paired seeds.

``python benchmarks/continuous.py --out rows.jsonl`` makes one row for each episode. Stopped and
started again, it goes on where it was. Scores are without noise: the actions are taken again in
the noiseless problem. They are normalised by each problem's range. ``--page`` writes the tables of
``docs/results/continuous.md`` from the rows that are there:

  python benchmarks/continuous.py --out docs/results/continuous.jsonl --page

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
    "CEM": pp.planners.CEM,
    "CEM wide": lambda discount: pp.planners.CEM(discount, sigma=1.0, beta=3.0),
    "MPPI": pp.planners.MPPI,
    "MPPI white": lambda discount: pp.planners.MPPI(discount, beta=0.0),
    "PredictiveSampling": pp.planners.PredictiveSampling,
    "RandomShooting": pp.planners.RandomShooting,
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
        planner=PLANNERS[planner](problem.discount),
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
    parser.add_argument("--page", action="store_true", help="write the page beside --out")
    args = parser.parse_args()
    if args.page and args.out is None:
        parser.error("--page needs --out: the page is written beside it")
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


INTRODUCTION = """\
# Continuous actions

`python benchmarks/continuous.py --out docs/results/continuous.jsonl --page` makes this page: twelve cheap problems whose actions are boxes of one to six numbers.
All planners have the same calls for each decision, and keep what they know from step to step. Scores are normalised: 0 is about what random actions get, 1 about the
best that is known. "CEM" has iCEM's published settings, "CEM wide" σ = 1 and β = 3, which were chosen on such problems; "MPPI" has coloured noise, "MPPI white"
white noise. Settings of the default planner were chosen on {choosing}; the others were only looked at.

"""  # noqa: E501
LEFT = 0.4
"""Whoever is still inside of the bug trap at the end has a lower score than this."""


def write(rows: Sequence[Row], page: Path) -> None:
    """The page: means over problems, each problem, certain losses, the bug trap."""
    who = [name for name in PLANNERS if select(rows, planner=name)]
    budgets = sorted({row["budget"] for row in rows})
    chosen = [name for name, problem in PROBLEMS.items() if problem.for_choosing]
    names = {"": list(PROBLEMS), "judging half": [name for name in PROBLEMS if name not in chosen]}
    parts = [INTRODUCTION.format(choosing=", ".join(chosen))]
    for half, problems in names.items():
        lines = [
            (name, *(mean_over(select(rows, planner=name, budget=n), problems) for n in budgets))
            for name in who
        ]
        title = f"mean over the {len(problems)} problems" + (f" of the {half}" if half else "")
        parts.append(table((title, *(f"{n:,} calls" for n in budgets)), lines) + "\n\n")
    pairs, worse = losses(rows, who, budgets)
    parts.append(
        f"Platypus is significantly worse than another planner (two standard errors, paired seeds, "
        f"and by more than {MATTERS}) in {len(worse)} of {pairs} pairs{': ' if worse else ''}"
        f"{'; '.join(worse)}.\n"
    )
    for budget in budgets:
        lines = []
        for problem in PROBLEMS:
            here = select(rows, problem=problem, budget=budget)
            scores = ([row["score"] for row in select(here, planner=name)] for name in who)
            lines.append((problem, *(cell(found) for found in scores)))
        count = len(select(rows, planner=who[0], problem=next(iter(PROBLEMS)), budget=budget))
        parts.append(
            f"\n## {budget:,} calls a decision\n\nMeans and standard errors; {count} seeds."
        )
        parts.append("\n\n" + table(("problem", *who), lines) + "\n")
    out = [f"{name} {left(rows, name, max(budgets))}" for name in who]
    parts.append(
        f"\n## The bug trap\n\nA point mass inside of a U-shaped wall, the goal behind it. "
        f"Episodes with {max(budgets):,} calls a decision in which it gets out: {', '.join(out)}.\n"
    )
    page.write_text("".join(parts), encoding="utf-8")


def write_noise(rows: Sequence[Row], clean: Sequence[Row], page: Path) -> None:
    """Add to the page what planners lose where rewards have noise."""
    problems = [name for name in PROBLEMS if select(rows, problem=name)]
    lines = []
    for planner in [name for name in PLANNERS if select(rows, planner=name)]:
        for budget in sorted({row["budget"] for row in rows}):
            noisy = select(rows, planner=planner, budget=budget)
            seeds = {row["seed"] for row in noisy}
            same = [r for r in select(clean, planner=planner, budget=budget) if r["seed"] in seeds]
            lines.append(
                (planner, f"{budget:,}", mean_over(noisy, problems), mean_over(same, problems))
            )
    noise = sorted({row["noise"] for row in rows})
    text = (
        f"\n## Noise\n\nNormal noise on the rewards, with {', '.join(map(str, noise))} times the "
        f"spread of the rewards of a good episode. Mean over {len(problems)} problems, "
        f"{len({row['seed'] for row in rows})} seeds; scores are still without noise.\n\n"
    )
    heads = ("planner", "calls", "with noise", "the same seeds without")
    with page.open("a", encoding="utf-8") as file:
        file.write(text + table(heads, lines) + "\n")


def left(rows: Sequence[Row], planner: str, budget: int) -> str:
    """In how many episodes a planner has left the bug trap."""
    found = select(rows, problem="bug trap", planner=planner, budget=budget)
    return f"{sum(row['score'] > LEFT for row in found)} of {len(found)}"


def losses(
    rows: Sequence[Row], who: Sequence[str], budgets: Sequence[int]
) -> tuple[int, list[str]]:
    """How many pairs were compared, and where the default planner is certainly worse."""
    pairs, worse = 0, []
    for budget in budgets:
        for problem in PROBLEMS:
            here = select(rows, problem=problem, budget=budget)
            for name in who[1:]:
                gaps = paired(select(here, planner=who[0]), select(here, planner=name))
                pairs += 1
                if verdict(gaps) == "below" and float(np.mean(gaps)) < -MATTERS:
                    worse.append(f"{problem} at {budget:,} calls ({name}: {cell(gaps)})")
    return pairs, worse


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Play, and print the tables."""
    args = parse()
    rows = rows_of(args)
    if args.page:
        found = [row for row in read(args.out) if row["label"] == args.label]
        clean = select(found, noise=0.0)
        write(clean, args.out.with_suffix(".md"))
        noisy = [row for row in found if row["noise"]]
        if noisy:
            write_noise(noisy, clean, args.out.with_suffix(".md"))
    others = [row for path in args.against for row in read(path)]
    known = {(name_of(row), *(row[name] for name in FIELDS)) for row in rows}
    others = [r for r in others if (name_of(r), *(r[name] for name in FIELDS)) not in known]
    report(rows, others)


if __name__ == "__main__":
    main()
