"""Bodies that walk, swim and reach (MuJoCo), untuned: writes docs/results/bodies.md.

python benchmarks/bodies.py                  # all environments; about half an hour on two cores
python benchmarks/bodies.py Hopper-v5        # one of them; the others stay as they are on the page

Episodes are kept in bodies.jsonl. Those of other settings are not looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp

RESULTS = Path(__file__).parents[1] / "docs" / "results"
EPISODES = RESULTS / "bodies.jsonl"
BUDGETS = (100, 300)
SEEDS = range(3, 8)
STARTS = {"Pendulum-v1": range(3, 23)}
"""More seeds where an episode is quick and starts differ much."""
UCT_HORIZON = 20
FOR_BOXES = ("Platypus", "CEM", "MPPI")
"""Planners that choose from a box. CEM is then iCEM, with its published settings."""
FOR_LISTS = ("Platypus", "SequenceSearch", "CEM", "UCT", "Random")

PLANNERS: dict[str, Callable[[float], Any]] = {
    "Platypus": pp.Platypus,
    "SequenceSearch": pp.planners.SequenceSearch,
    "CEM": pp.planners.CEM,
    "MPPI": pp.planners.MPPI,
    "UCT": lambda discount: pp.planners.UCT(discount, horizon=UCT_HORIZON),
    "Random": pp.planners.Random,
}

INTRODUCTION = (
    "`python benchmarks/bodies.py`. Total reward of an episode: the mean of "
    f"{len(SEEDS)} seeds (Pendulum-v1: 20) and its standard error. All planners have the same "
    "calls for each decision, and keep what they know from step to step, if they can. A call is "
    f"`repeat` steps of the simulator. UCT has a horizon of {UCT_HORIZON} and scales itself. "
    "Actions are a list of the given length, or the environment's own box. A humanoid that stands "
    "gets about 5 for each step of the simulator, and its episode ends when it falls."
)


@dataclass(frozen=True)
class Body:
    """An environment and how it is planned in."""

    env: str
    actions: int | str | None
    """As ``GymnasiumModel`` takes them; None for the box as it is."""
    repeat: int
    discount: float
    steps: int


BODIES = (
    Body("HalfCheetah-v5", 2, 4, 0.95, 40),
    Body("HalfCheetah-v5", "sparse", 4, 0.95, 40),
    Body("Hopper-v5", 3, 4, 0.95, 40),
    Body("Walker2d-v5", "sparse", 4, 0.95, 40),
    Body("Swimmer-v5", 3, 4, 0.95, 40),
    Body("Reacher-v5", 3, 2, 0.9, 25),
    Body("InvertedDoublePendulum-v5", 5, 1, 0.95, 60),
    Body("Ant-v5", "sparse", 4, 0.95, 20),
    Body("HalfCheetah-v5", None, 4, 0.95, 40),
    Body("Hopper-v5", None, 4, 0.95, 40),
    Body("Walker2d-v5", None, 4, 0.95, 40),
    Body("Humanoid-v5", None, 4, 0.95, 40),
    Body("BipedalWalker-v3", None, 4, 0.95, 400),
    Body("Pendulum-v1", None, 1, 0.95, 200),
)


def play(body: Body, planner: str, budget: int, seed: int) -> dict[str, Any]:
    """One episode."""
    warnings.simplefilter("ignore")
    os.chdir(tempfile.gettempdir())  # MuJoCo leaves a log where it runs
    model = pp.GymnasiumModel(body.env, seed=seed, actions=body.actions, repeat=body.repeat)
    episode = pp.control(
        model, planner=PLANNERS[planner](body.discount), budget=budget, steps=body.steps, seed=seed,
        keep="nothing",
    )  # fmt: skip
    number = model.actions.n if model.actions.is_finite else None
    return {**describe(body, planner, budget, seed), "num_actions": number,
            "total": float(sum(episode.rewards)), "decisions": len(episode.actions)}  # fmt: skip


def describe(body: Body, planner: str, budget: int, seed: int) -> dict[str, Any]:
    """What an episode is, as it is kept."""
    return {**vars(body), "planner": planner, "budget": budget, "seed": seed}


def seeds_of(body: Body) -> range:
    """The seeds of the episodes in an environment."""
    return STARTS.get(body.env, SEEDS)


def cell(totals: list[float]) -> str:
    """The mean and its standard error."""
    if not totals:
        return "–"
    return f"{np.mean(totals):.1f} ± {np.std(totals, ddof=1) / np.sqrt(len(totals)):.1f}"


def as_row(cells: Iterable[Any]) -> str:
    """A line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def write(kept: list[dict[str, Any]]) -> None:
    """The page."""
    columns = ("environment", "actions", "repeat", "discount", "decisions", "calls", *PLANNERS)
    lines = ["# Bodies: MuJoCo, untuned", "", INTRODUCTION, "", as_row(columns)]
    lines.append(as_row("---" for _ in columns))
    for body in BODIES:
        for budget in BUDGETS:
            row = {
                name: [describe(body, name, budget, seed) for seed in seeds_of(body)]
                for name in PLANNERS
            }
            found = {
                name: [one for one in kept if {k: one[k] for k in asked[0]} in asked]
                for name, asked in row.items()
            }
            if not any(found.values()):
                continue
            number = next((one["num_actions"] for ones in found.values() for one in ones), "–")
            told = f"{number} ({body.actions})" if isinstance(body.actions, str) else number
            told = "box" if body.actions is None else told
            cells = [cell([one["total"] for one in ones]) for ones in found.values()]
            asked_for = (body.env, told, body.repeat, body.discount, body.steps, budget)
            lines.append(as_row((*asked_for, *cells)))
    (RESULTS / "bodies.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Play what is missing, then write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("env", nargs="*", help="only these environments")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    lines = EPISODES.read_text(encoding="utf-8").splitlines() if EPISODES.exists() else []
    kept = [json.loads(line) for line in lines]
    todo = [
        (body, planner, budget, seed)
        for body in BODIES
        if not args.env or body.env in args.env
        for budget in BUDGETS
        for planner in PLANNERS
        if planner in (FOR_BOXES if body.actions is None else FOR_LISTS)
        for seed in seeds_of(body)
    ]
    done = {json.dumps({k: one[k] for k in describe(*todo[0])}) for one in kept} if todo else set()
    todo = [task for task in todo if json.dumps(describe(*task)) not in done]
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(play, *task) for task in todo]
        for number, future in enumerate(as_completed(futures), 1):
            if future.exception() is not None:
                pool.shutdown(cancel_futures=True)  # else the error is shown after all others
            one = future.result()
            kept.append(one)
            with EPISODES.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
            print(f"{number} of {len(todo)}: {one['env']} {one['budget']} {one['planner']} "
                  f"{one['total']:.4g}", flush=True)  # fmt: skip
    write(kept)


if __name__ == "__main__":
    main()
