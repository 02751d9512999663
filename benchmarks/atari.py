"""Atari against published scores: writes docs/results/atari.md.

The protocol is that of Rollout-IW (Bandres, Bonet, Geffner. Planning with pixels in (almost) real
time. AAAI 2018): a call is 15 frames, all 18 actions are allowed, an episode has at most 18,000
frames and begins with up to 30 no-ops, losing a life is penalised while planning. Each game has
one budget: the mean number of calls that Rollout-IW made for a decision in half a second
(benchmarks/data/rollout-iw.csv). Episodes are kept in atari.jsonl, so the script goes on where it
was stopped.

Examples:
  python benchmarks/atari.py                                  # eight games, two seeds
  python benchmarks/atari.py --game breakout pong --planner rollout-iw uct:scale=auto,horizon=15
  python benchmarks/atari.py --game all --seeds 2 --planner sequence-search
  python benchmarks/atari.py --game all --seeds 1 --planner platypus --no-penalty
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp
from platypoos.lab.experiments.own import choice_of
from platypoos.models.wrappers import WrappedModel
from platypoos.planners import available
from platypoos.progress import progress_bar

RESULTS = Path(__file__).parents[1] / "docs" / "results"
EPISODES = RESULTS / "atari.jsonl"
PUBLISHED = Path(__file__).parent / "data" / "rollout-iw.csv"
EIGHT = (
    "breakout", "asterix", "qbert", "seaquest", "ms_pacman", "space_invaders", "freeway", "pong",
)  # fmt: skip
FRAMES_PER_CALL, MOST_FRAMES, MOST_NO_OPS = 15, 18_000, 30
DISCOUNT = 0.99
PENALTY = 1e6
"""For losing a life, more than any score; the published planner has such a penalty too."""
WITHOUT = ", no penalty"

INTRODUCTION = (
    "`python benchmarks/atari.py`, with the protocol of Rollout-IW (Bandres, Bonet, Geffner, "
    f"AAAI 2018): a call is {FRAMES_PER_CALL} frames, 18 actions, at most {MOST_FRAMES:,} "
    f"frames, up to {MOST_NO_OPS} no-ops at the start, a penalty for losing a life while "
    f"planning (columns that end with '{WITHOUT[2:]}' have none: a lost life is an end). The "
    "budget of a game is the mean number of calls that Rollout-IW made for a "
    "decision within half a second. Published scores are means of 10 runs, without a spread. "
    "They used other versions of the emulator and of the games, and features of the screen; "
    "our Rollout-IW looks at the memory (RAM). Cells: the mean score, and in brackets the score "
    "of each run; bold if the mean is above the published one."
)


class DeathPenalty(WrappedModel):
    """Losing a life is the worst that can happen while planning; acting is left as it is."""

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Any:
        after, reward, ended = self.model.step(state, action, rng)
        return pp.models.Transition(after, reward - PENALTY if ended else reward, ended)

    @property
    def acting(self) -> Any:
        return self.model.acting


def published() -> dict[str, dict[str, float]]:
    """The published figures of each game."""
    with PUBLISHED.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["game"]: {k: float(v) for k, v in row.items() if k != "game"} for row in rows}


def environment(game: str) -> str:
    """The name of a game in Gymnasium."""
    return f"ALE/{''.join(part.capitalize() for part in game.split('_'))}-v5"


def play(game: str, planner: str, budget: int, seed: int) -> dict[str, Any]:
    """One episode. Of a planner that ends with ``WITHOUT``, the penalty is left out."""
    warnings.simplefilter("ignore")
    model = pp.GymnasiumModel(
        environment(game),
        seed=seed,
        lives="end",
        frameskip=FRAMES_PER_CALL,
        repeat_action_probability=0.0,
        full_action_space=True,
        obs_type="ram",
    )
    model.start(seed)
    for _ in range(int(np.random.default_rng(seed).integers(MOST_NO_OPS + 1))):
        model.env.unwrapped.ale.act(0)
    state = model.save()
    start = time.perf_counter()
    name = planner.removesuffix(WITHOUT)
    episode = pp.control(
        DeathPenalty(model) if name == planner else model,
        planner=choice_of(name).make(available(), "planner", discount=DISCOUNT),
        budget=budget,
        state=state,
        steps=MOST_FRAMES // FRAMES_PER_CALL,
        seed=seed,
    )
    return {
        "game": game, "planner": planner, "budget": budget, "seed": seed,
        "score": float(sum(episode.rewards)), "decisions": len(episode.rewards),
        "calls": episode.calls, "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def load() -> dict[tuple[Any, ...], dict[str, Any]]:
    """The episodes that have been played."""
    if not EPISODES.exists():
        return {}
    rows = [json.loads(line) for line in EPISODES.read_text(encoding="utf-8").splitlines()]
    return {(row["game"], row["planner"], row["budget"], row["seed"]): row for row in rows}


def write(kept: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    """The page."""
    figures = published()
    planners = sorted({key[1] for key in kept})
    lines = [
        "# Atari, against published scores",
        "",
        INTRODUCTION,
        "",
        "| game | calls a decision | Rollout-IW, published | the same without the penalty | "
        + " | ".join(f"`{name}`" for name in planners)
        + " |",
        "|---" * (4 + len(planners)) + "|",
    ]
    won, entered = dict.fromkeys(planners, 0), dict.fromkeys(planners, 0)
    for game, figure in figures.items():
        cells = []
        for name in planners:
            scores = [row["score"] for key, row in sorted(kept.items()) if key[:2] == (game, name)]
            if not scores:
                cells.append("–")
                continue
            mean = float(np.mean(scores))
            runs = ", ".join(f"{score:,.0f}" for score in scores)
            better = mean > figure["score_half_second"]
            won[name] += better
            entered[name] += 1
            cells.append(f"**{mean:,.1f}** ({runs})" if better else f"{mean:,.1f} ({runs})")
        if any(cell != "–" for cell in cells):
            lines.append(
                f"| {game.replace('_', ' ')} | {figure['calls_per_decision_half_second']:.0f} | "
                f"{figure['score_half_second']:,.1f} | "
                f"{figure['score_half_second_no_death_penalty']:,.1f} | {' | '.join(cells)} |"
            )
    counts = " | ".join(f"{won[name]} of {entered[name]}" for name in planners)
    lines += [f"| above the published score | | | | {counts} |", ""]
    (RESULTS / "atari.md").write_text("\n".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", nargs="+", default=list(EIGHT), help="names, or all")
    parser.add_argument(
        "--planner", nargs="+", default=["sequence-search", "rollout-iw"], metavar="NAME[:K=V,…]"
    )
    parser.add_argument(
        "--no-penalty", action="store_true", help="a lost life is an end, without a penalty"
    )
    parser.add_argument("--seeds", type=int, default=2, help="runs of each (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    args = parser.parse_args()
    figures = published()
    games = list(figures) if args.game == ["all"] else args.game
    unknown = [game for game in games if game not in figures]
    if unknown:
        parser.error(f"unknown game {unknown[0]!r}; known: {', '.join(figures)}")
    for planner in args.planner:
        choice_of(planner).make(available(), "planner", discount=DISCOUNT)
    kept = load()
    wanted = [
        (
            game,
            planner + WITHOUT * args.no_penalty,
            int(figures[game]["calls_per_decision_half_second"]),
            seed,
        )
        for seed in range(args.seeds)
        for game in games
        for planner in args.planner
    ]
    missing = [key for key in wanted if key not in kept]
    already = len(wanted) - len(missing)
    with (
        progress_bar(len(wanted), "episode", already=already, quiet=False) as bar,
        ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool,
    ):
        try:
            for future in as_completed([pool.submit(play, *key) for key in missing]):
                row = future.result()
                kept[row["game"], row["planner"], row["budget"], row["seed"]] = row
                with EPISODES.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                bar.update(1)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    write(kept)


if __name__ == "__main__":
    main()
