"""Illegal actions: what it is worth to say which they are, instead of punishing them.

    python benchmarks/masks.py --out       writes docs/results/masks.md

A tour through random cities, another instance for each seed, and the job shop ft06 are played to
the end with the default planner. With masks, visited cities and finished jobs are illegal; with
penalties, choosing one changes nothing and costs the penalty: more than the largest distance, or
as much as the longest operation. An episode with penalties may take twice the steps it needs.

The reference of a tour is the best of nearest neighbour with 2-opt from every city, that of ft06
its shortest makespan, 55. Greedy takes the best reward at each step. A discount of 1 needs a
horizon: the steps that an episode may take.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import platypoos as pp
from platypoos import lab
from platypoos.progress import progress_bar

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "masks.md"
FORMS = {
    "python": lambda problem: problem,
    "array": lambda problem: problem.array(),
    "compiled": lambda problem: problem.compiled(),
}
PATIENCE = 2
"""With penalties, an episode is given up after this many times the steps that are needed."""
COLUMNS = (
    "problem", "actions", "calls a decision", "each seed", "mean over reference",
    "illegal actions", "calls", "s",
)  # fmt: skip
EXPLAINED = (
    "Mean over reference: mean and standard error of result over reference, of the episodes that "
    "ended. Illegal actions, calls of the simulator and seconds are those of a whole episode."
)
SHOWN = 5
"""The results of so many seeds are shown one by one."""
RANDOM = 100
"""Random episodes whose mean is shown."""


class Task(NamedTuple):
    """What to play: a problem with masks or penalties, and the calls for each decision."""

    name: str
    penalty: float | None
    budget: int


class Run(NamedTuple):
    """One episode: tour length or makespan (None if it did not end), and what it took."""

    result: float | None
    reference: float
    illegal: int = 0
    calls: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return "did not end" if self.result is None else f"{self.result:.4g}"


def make(name: str, penalty: float | None, cities: int, seed: int) -> tuple[Any, int, float]:
    """The problem, the steps to its end, and its reference."""
    if name == "ft06":
        shop = pp.problems.JobShop(penalty=penalty)
        return shop, shop.num_operations, shop.optimum()
    tour = lab.problems.TravellingSalesman(cities, seed, penalty)
    return tour, cities - 1, tour.reference


def measured(problem: Any, actions: Any) -> float:
    """The tour length or makespan."""
    if isinstance(problem, pp.problems.JobShop):
        return problem.makespan(actions)
    return float(problem.tour_length(actions))


def play(task: Task, seed: int, args: argparse.Namespace) -> Run:
    """Plan and act to the end."""
    problem, steps, reference = make(task.name, task.penalty, args.cities, seed)
    most = steps if task.penalty is None else PATIENCE * steps
    start = time.perf_counter()
    episode = pp.control(
        FORMS[args.form](problem),
        budget=task.budget,
        steps=most,
        discount=args.discount,
        seed=seed,
        horizon=most if args.discount == 1.0 else None,
    )
    seconds = time.perf_counter() - start
    result = measured(problem, episode.actions) if episode.terminated else None
    illegal = sum(reward == -(task.penalty or np.inf) for reward in episode.rewards)
    return Run(result, reference, illegal, episode.calls, seconds)


def rollout(problem: Any, rng: np.random.Generator | None) -> float:
    """Random legal actions to the end, or greedy ones if there is no generator."""
    state, ended, actions = problem.initial_state, False, []
    while not ended:
        legal = list(problem.legal(state))
        if rng is None:
            action = max(legal, key=lambda choice: problem.mean_reward(state, choice))
        else:
            action = int(rng.choice(legal))
        state, _, ended = problem.step(state, action, np.random.default_rng(0))
        actions.append(action)
    return measured(problem, actions)


def yardsticks(name: str, seeds: range, cities: int) -> list[str]:
    """What random and greedy legal actions get."""
    made = [make(name, None, cities, seed) for seed in seeds]
    means, greedy = [], []
    for seed, (problem, _, reference) in zip(seeds, made, strict=True):
        rng = np.random.default_rng(seed)
        mean = statistics.mean(rollout(problem, rng) for _ in range(RANDOM))
        means.append(Run(mean, reference))
        greedy.append(Run(rollout(problem, None), reference))
    best = [Run(reference, reference) for _, _, reference in made]
    return [
        row(name, "reference", "", best),
        row(name, "greedy", "", greedy),
        row(name, f"random, mean of {RANDOM}", "", means),
    ]


def row(name: str, how: str, budget: str, runs: list[Run]) -> str:
    """A line of the table."""
    ratios = [run.result / run.reference for run in runs if run.result is not None]
    each = ", ".join(str(run) for run in runs[:SHOWN]) + (", …" if len(runs) > SHOWN else "")
    mean = f"{statistics.mean(ratios):.3f}" if ratios else ""
    if len(ratios) > 1:
        mean += f" ± {statistics.stdev(ratios) / len(ratios) ** 0.5:.3f}"
    if ratios and len(ratios) < len(runs):
        mean += f" ({len(ratios)} of {len(runs)} ended)"
    cells = [name, how, budget, each, mean]
    if budget:
        cells.append(f"{statistics.mean(run.illegal for run in runs):.1f}")
        cells.append(f"{statistics.mean(run.calls for run in runs):,.0f}")
        cells.append(f"{statistics.mean(run.seconds for run in runs):.1f}")
    else:
        cells += [""] * 3
    return "| " + " | ".join(cells) + " |"


def table(args: argparse.Namespace) -> list[str]:
    """Play everything; the lines of the table, which are printed as they are done."""
    penalties = {f"tour of {args.cities}": args.tour_penalty, "ft06": args.shop_penalty}
    seeds = range(args.seeds)
    lines: list[str] = []
    total = len(penalties) * args.seeds * (len(args.masks) + len(args.penalties))
    with progress_bar(total, " episodes", quiet=not sys.stderr.isatty()) as bar:

        def add(line: str) -> None:
            lines.append(line)
            bar.write(line, file=sys.stdout)
            sys.stdout.flush()

        add("| " + " | ".join(COLUMNS) + " |")
        add("|---" * len(COLUMNS) + "|")
        for name, penalty in penalties.items():
            for line in yardsticks(name, seeds, args.cities):
                add(line)
            tasks = [Task(name, None, budget) for budget in args.masks]
            tasks += [Task(name, penalty, budget) for budget in args.penalties]
            for task in tasks:
                runs = []
                for seed in seeds:
                    runs.append(play(task, seed, args))
                    bar.update()
                how = "masks" if task.penalty is None else f"penalty {task.penalty:g}"
                add(row(name, how, f"{task.budget:,}", runs))
    return lines


def main() -> None:
    """Read the options, play, and write the table."""
    about = str(__doc__).split("\n\n")
    parser = argparse.ArgumentParser(description=about[0])
    parser.add_argument("--masks", type=int, nargs="*", default=[300, 1_000], metavar="CALLS",
                        help="calls for each decision with masks (300 1000)")  # fmt: skip
    parser.add_argument("--penalties", type=int, nargs="*", default=[1_000, 10_000],
                        metavar="CALLS", help="and with penalties (1000 10000)")  # fmt: skip
    parser.add_argument("--discount", type=float, default=0.99,
                        help="from 0.95 to 1, with a horizon if it is 1 (%(default)s)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3, help="from 0 on (%(default)s)")
    parser.add_argument("--cities", type=int, default=30, help="(%(default)s)")
    parser.add_argument(
        "--tour-penalty",
        type=float,
        default=2.0,
        help="no two cities are further apart than 1.42 (%(default)s)",
    )
    parser.add_argument(
        "--shop-penalty",
        type=float,
        default=10.0,
        help="the longest operation takes 10 (%(default)s)",
    )
    parser.add_argument("--form", choices=list(FORMS), default="python", help="(%(default)s)")
    parser.add_argument("--out", type=Path, nargs="?", const=RESULTS, metavar="FILE",
                        help="write a page with the table (docs/results/masks.md)")  # fmt: skip
    args = parser.parse_args()
    if args.seeds < 1:
        parser.error("--seeds must be at least 1")
    if args.out is not None and not args.out.parent.is_dir():
        parser.error(f"there is no folder {args.out.parent}")
    lines = table(args)
    if args.out is not None:
        page = [
            "# Masks and penalties",
            "",
            f"`python benchmarks/masks.py {shlex.join(sys.argv[1:])}`",
        ]
        for part in about[2:]:
            page += ["", " ".join(part.split())]
        page += ["", f"γ = {args.discount:g}; each row is a mean of {args.seeds} seeds."]
        page += [EXPLAINED, "", *lines]
        args.out.write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
