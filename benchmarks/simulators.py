"""How well planners do on real simulators, untuned: writes docs/results/simulators.md.

One budget and discount for each environment, for all planners; rewards as they are, and with
uniform noise as wide as their range at a larger budget. Episodes are kept in simulators.jsonl, so
the script goes on where it was stopped: python benchmarks/simulators.py [--workers 2] [ENV …]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp

RESULTS = Path(__file__).parents[1] / "docs" / "results"
EPISODES = RESULTS / "simulators.jsonl"
PLANNERS = ("Platypus", "PlaTγPOOS", "OPD", "UCT", "Random")


INTRODUCTION = (
    "`python benchmarks/simulators.py`. One budget (calls for each decision) and discount for each "
    "environment and all planners. Cells: episodes that reached the goal, then the mean total "
    "reward, without the noise that was added, and its 95 % interval. Platypus, which "
    "remembers from step to step, PlaTγPOOS and Random are told nothing; OPD and UCT are told the "
    "range of the rewards with their noise; UCT's horizon is where γ^h = 0.1, its scale half the "
    "horizon times the range."
)


@dataclass(frozen=True)
class Row:
    """An environment and how it is planned in."""

    env: str
    discount: float
    budget: int
    steps: int
    low: float
    """The rewards of a decision are at least this, for OPD and UCT, and for the noise…"""
    high: float
    noisy_budget: int = 0
    seeds: int = 10
    options: dict[str, Any] = field(default_factory=dict)
    goal: str = ""
    silent: bool = False
    """Whether rewards say nothing until the goal."""

    @property
    def noise(self) -> float:
        """As wide as the range of the rewards."""
        return self.high - self.low


ROWS = (
    Row("CartPole-v1", 0.9, 3_000, 125, 0, 4, 5_000, options={"repeat": 4},
        goal="up for 500 steps"),
    Row("Pendulum-v1", 0.95, 3_000, 50, -65.1, 0, 30_000, options={"repeat": 4, "actions": 5},
        goal="upright for the last 12 decisions"),
    Row("highway-fast-v0", 0.9, 50, 30, 0, 1, 200, seeds=5, goal="no crash"),
    Row("ALE/Asterix-v5", 0.95, 200, 120, 0, 150, 600, seeds=5,
        options={"repeat": 4, "repeat_action_probability": 0.0, "lives": "ignore"}, goal="score"),
    Row("Acrobot-v1", 0.95, 1_000, 50, -4, 0, options={"repeat": 4}, goal="tip above the line",
        silent=True),
    Row("MountainCar-v0", 0.95, 1_000, 50, -4, 0, options={"repeat": 4}, goal="top of the hill",
        silent=True),
    Row("FrozenLake-v1", 0.95, 3_000, 30, 0, 1, options={"is_slippery": False,
        "map_name": "8x8"}, goal="the goal", silent=True),
    Row("Taxi-v4", 0.95, 3_000, 40, -10, 20, goal="passenger delivered", silent=True),
    Row("MiniGrid-Empty-8x8-v0", 0.95, 1_000, 30, 0, 1, seeds=5, goal="the goal", silent=True),
)  # fmt: skip


def number_of_seeds(row: Row, planner: str, noisy: bool) -> int:
    """Fewer for the others, and where noise takes long."""
    if planner in {"OPD", "UCT"}:
        return 1 if noisy and row.seeds == 5 else 2 if noisy else 3
    return 5 if noisy and row.env != "CartPole-v1" else row.seeds


def make_planner(name: str, row: Row, noise: float) -> Any:
    """OPD and UCT are told the range of the rewards; UCT's horizon is where γ^h = 0.1."""
    horizon = int(np.ceil(np.log(0.1) / np.log(row.discount)))
    low, high = row.low - noise, row.high + noise
    if name == "OPD":
        return pp.planners.OPD(row.discount, reward_min=low, reward_max=high)
    if name == "UCT":
        return pp.planners.UCT(row.discount, scale=(high - low) * horizon / 2, horizon=horizon)
    others: dict[str, Any] = {
        "Platypus": pp.Platypus,
        "PlaTγPOOS": pp.PlaTyPOOS,
        "Random": pp.planners.Random,
    }
    return others[name](row.discount)


def play(row: Row, planner: str, noisy: bool, seed: int) -> dict[str, Any]:
    """One episode; the rewards that are reported have no noise."""
    warnings.simplefilter("ignore")
    model = pp.GymnasiumModel(row.env, seed=seed, **row.options)
    noise = row.noise if noisy else 0.0
    received: list[float] = []

    def noisy_step(state: Any, action: int, rng: np.random.Generator) -> Any:
        after, reward, ended = model.step(state, action, rng)
        received.append(reward)  # the last one before a new plan is that of the step taken
        return after, reward + noise * (2 * rng.random() - 1), ended

    rewards: list[float] = []
    noised = pp.FunctionModel(noisy_step, model.actions, model.initial_state, access=model.access)
    start = time.perf_counter()
    episode = pp.control(
        noised if noisy else model,
        planner=make_planner(planner, row, noise),
        budget=row.noisy_budget if noisy else row.budget,
        steps=row.steps,
        seed=seed,
        on_step=lambda _, __, reward: rewards.append(received[-1] if noisy else reward),
    )
    return {
        "env": row.env, "planner": planner, "noisy": noisy, "seed": seed,
        "budget": row.noisy_budget if noisy else row.budget, "discount": row.discount,
        "decisions": len(rewards), "total": float(sum(rewards)), "tail": float(sum(rewards[-12:])),
        "last": rewards[-1], "terminated": episode.terminated, "calls": episode.calls,
        "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def reached(row: Row, episode: dict[str, Any]) -> bool | None:
    """Whether an episode did what is asked for; None where the score tells."""
    if row.env in {"CartPole-v1", "highway-fast-v0"}:
        return not episode["terminated"]
    if row.env == "Pendulum-v1":
        return bool(episode["tail"] > -15)  # hanging costs 118 each four decisions
    if row.env == "ALE/Asterix-v5":
        return None
    return bool(episode["terminated"] and (episode["last"] > 0 or row.env[:4] in {"Acro", "Moun"}))


def load() -> dict[tuple[Any, ...], dict[str, Any]]:
    """The episodes that have been played with the present settings."""
    kept = {}
    settings = {row.env: row for row in ROWS}
    lines = EPISODES.read_text(encoding="utf-8").splitlines() if EPISODES.exists() else []
    for line in lines:
        one = json.loads(line)
        row = settings.get(one["env"])
        budget = row and (row.noisy_budget if one["noisy"] else row.budget)
        if row and one["budget"] == budget and one["discount"] == row.discount:
            kept[one["env"], one["planner"], one["noisy"], one["seed"]] = one
    return kept


def cell(row: Row, episodes: list[dict[str, Any]]) -> str:
    """What a planner did, in a few words."""
    if not episodes:
        return "–"
    totals = np.array([one["total"] for one in episodes])
    text = f"{totals.mean():.4g}"
    if len(totals) > 1:
        text += f" ± {1.96 * totals.std(ddof=1) / np.sqrt(len(totals)):.2g}"
    done = [reached(row, one) for one in episodes]
    return text if done[0] is None else f"**{sum(map(bool, done))} of {len(done)}**; {text}"


def write(kept: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    """The table."""
    lines = [
        "# Real simulators, untuned",
        "",
        INTRODUCTION,
        "",
    ]
    titles = {
        (False, False): "Rewards as they are",
        (True, False): "With noise, uniform in ± the range of the rewards of a decision",
        (False, True): "Rewards that are silent until the goal, as they are",
    }
    for (noisy, silent), title in titles.items():
        lines += [
            f"## {title}", "",
            "| environment | goal | decisions | discount | budget | " + " | ".join(PLANNERS) + " |",
            "|---" * (5 + len(PLANNERS)) + "|",
        ]  # fmt: skip
        for row in ROWS:
            if row.silent != silent or (noisy and not row.noisy_budget):
                continue
            options = ", ".join(f"{k}={v}" for k, v in row.options.items())
            cells = [
                cell(row, [v for k, v in sorted(kept.items()) if k[:3] == (row.env, name, noisy)])
                for name in PLANNERS
            ]
            what = row.goal + (f" (±{row.noise:g})" if noisy else "")
            lines.append(
                f"| {row.env}{f' ({options})' if options else ''} | {what} | {row.steps} | "
                f"{row.discount} | {row.noisy_budget if noisy else row.budget} | "
                + " | ".join(cells)
                + " |"
            )
        lines.append("")
    lines.append(
        "Tree search without shared states has to find a silent goal by chance: two sequences "
        "that meet in the same state are searched twice."
    )
    (RESULTS / "simulators.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Play what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env", nargs="*", help="only these environments")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    kept = load()
    todo = [
        (row, planner, noisy, seed)
        for planner in PLANNERS
        for row in ROWS
        if not args.env or row.env in args.env
        for noisy in ((False, True) if row.noisy_budget else (False,))
        for seed in range(number_of_seeds(row, planner, noisy))
        if (row.env, planner, noisy, seed) not in kept
    ]
    todo.sort(key=lambda task: (task[1] in {"OPD", "UCT"}, task[2]))  # ours first
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(play, *task) for task in todo]
        for number, future in enumerate(as_completed(futures), 1):
            one = future.result()
            kept[one["env"], one["planner"], one["noisy"], one["seed"]] = one
            with EPISODES.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
            print(f"{number} of {len(todo)}: {one['env']} {one['planner']} {one['total']:.4g}"
                  f" noisy={one['noisy']} {one['seconds']} s", flush=True)  # fmt: skip
            write(kept)
    write(kept)


if __name__ == "__main__":
    main()
