"""Gymnasium's games of chance, planned in closed loop by the default planner.

FrozenLake-v1, 8 × 8 and slippery: episodes that reach the goal within the limit of 200 steps,
against the best that is possible (by dynamic programming over the steps that are left).

Blackjack-v1: the mean of hands against that of basic strategy (also by dynamic programming). The
adapter's saved state has the dealer's hidden card, so a plan there knows what a player does not.
So hands are played twice: "Blackjack" with a model of the cards that are seen, from which the
dealer draws the hidden one anew in each call; and "Blackjack, hidden card seen" by the adapter.

python benchmarks/chance_gymnasium.py --episodes 100 --hands 5000

Each episode is a line in --out; what is there already is not played again.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import platypoos as pp

LAKE, BLACKJACK, SEEN = "FrozenLake 8x8", "Blackjack", "Blackjack, hidden card seen"
LIMIT = 200
"""Steps of an episode on the lake."""

# ------------------------------------------------------------------ the lake


def lake_chances() -> float:
    """The probability to reach the goal within the limit, for who plays best."""
    env: Any = gymnasium.make("FrozenLake-v1", map_name="8x8", is_slippery=True).unwrapped
    chance = [0.0] * env.observation_space.n
    for _ in range(LIMIT):
        chance = [
            max(
                sum(p * (reward or (0.0 if ended else chance[after]))
                    for p, after, reward, ended in outcomes)
                for outcomes in env.P[state].values()
            )
            for state in range(len(chance))
        ]  # fmt: skip
    return chance[0]


def play_lake(seed: int, budget: int) -> dict[str, Any]:
    """One episode."""
    model = pp.GymnasiumModel("FrozenLake-v1", map_name="8x8", is_slippery=True)
    episode = pp.control(
        model, budget=budget, steps=LIMIT, discount=0.99, seed=seed, keep="nothing"
    )
    assert max(episode.step_calls) <= budget
    return {"score": float(episode.rewards[-1]), "steps": len(episode.rewards)}


# ------------------------------------------------------------------ blackjack

Hand = tuple[int, int, bool]
"""The player's sum, the dealer's card, and whether an ace counts 11."""
CARDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)


def added(total: int, usable: bool, card: int) -> tuple[int, bool]:
    """A hand with another card."""
    total += card
    if card == 1 and total + 10 <= 21:
        return total + 10, True
    if usable and total > 21:
        return total - 10, False
    return total, usable


def hit_or_stick(hand: Hand, action: int, rng: Any) -> tuple[Hand, float, bool]:
    """One action, as in Gymnasium without ``natural`` and ``sab``: the cards never run out."""
    total, shown, usable = hand
    if action == 1:
        total, usable = added(total, usable, CARDS[int(rng.random() * 13)])
        return (total, shown, usable), -1.0 if total > 21 else 0.0, total > 21
    dealer, soft = added(0, False, shown)
    dealer, soft = added(dealer, soft, CARDS[int(rng.random() * 13)])
    while dealer < 17:
        dealer, soft = added(dealer, soft, CARDS[int(rng.random() * 13)])
    reward = 1.0 if dealer > 21 else float((total > dealer) - (total < dealer))
    return hand, reward, True


@functools.cache
def dealt(total: int, soft: bool) -> dict[int, float]:
    """What the dealer ends with, and how likely; 22 is too much."""
    if total >= 17:
        return {min(22, total): 1.0}
    found: dict[int, float] = {}
    for card in CARDS:
        for last, chance in dealt(*added(total, soft, card)).items():
            found[last] = found.get(last, 0.0) + chance / 13.0
    return found


@functools.cache
def action_values(hand: Hand) -> tuple[float, float]:
    """Exact values of sticking and hitting for who plays best."""
    total, shown, usable = hand
    stick = 0.0
    for card in CARDS:
        start = added(*added(0, False, shown), card)
        for last, chance in dealt(*start).items():
            won = 1.0 if last == 22 else float((total > last) - (total < last))
            stick += won * chance / 13.0
    hit = 0.0
    for card in CARDS:
        after, soft = added(total, usable, card)
        hit += -1.0 if after > 21 else max(action_values((after, shown, soft)))
    return stick, hit / 13.0


def first_hands() -> dict[Hand, float]:
    """How likely each deal is."""
    found: dict[Hand, float] = {}
    for one in CARDS:
        for other in CARDS:
            for shown in CARDS:
                total, usable = added(*added(0, False, one), other)
                hand = (total, shown, usable)
                found[hand] = found.get(hand, 0.0) + 13.0**-3
    return found


def basic_strategy() -> float:
    """The mean of a hand that is played best."""
    return sum(chance * max(action_values(hand)) for hand, chance in first_hands().items())


def play_hand(seed: int, budget: int, *, sees: bool) -> dict[str, Any]:
    """One hand in Gymnasium's environment.

    ``lost`` is what the actions lose against the best ones, on average over the cards to come:
    that tells more than the score, which is mostly luck. It is left out if the hidden card is seen.
    """
    env = gymnasium.make("Blackjack-v1")
    hand, _ = env.reset(seed=seed)
    planner, lost, steps, ended = pp.Platypus(1.0), 0.0, 0, False
    while not ended:
        hand = (int(hand[0]), int(hand[1]), bool(hand[2]))
        if not sees:
            model: Any = pp.FunctionModel(hit_or_stick, 2, hand, dynamics="random")
        else:
            model = pp.GymnasiumModel(env)
        plan = planner.plan(model, budget=budget, seed=1000 * seed + steps, horizon=12)
        assert plan.calls <= budget
        values = action_values(hand)
        lost += max(values) - values[plan.action]
        hand, reward, ended, _, _ = env.step(plan.action)
        steps += 1
    row = {"score": float(reward), "steps": steps}
    return row if sees else row | {"lost": lost}


GAMES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    LAKE: play_lake,
    BLACKJACK: functools.partial(play_hand, sees=False),
    SEEN: functools.partial(play_hand, sees=True),
}


def main() -> None:
    """Play, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--games", nargs="+", choices=list(GAMES), default=list(GAMES))
    parser.add_argument("--episodes", type=int, default=100, help="on the lake")
    parser.add_argument("--hands", type=int, default=5_000)
    parser.add_argument("--lake-calls", type=int, default=300)
    parser.add_argument("--hand-calls", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=Path("chance-gymnasium.jsonl"))
    asked = parser.parse_args()
    rows = []
    if asked.out.exists():
        rows = [json.loads(line) for line in asked.out.read_text().splitlines()]
    done = {(row["game"], row["calls"], row["seed"]) for row in rows}
    with asked.out.open("a") as file:
        for game in asked.games:
            calls = asked.lake_calls if game == LAKE else asked.hand_calls
            for seed in range(asked.episodes if game == LAKE else asked.hands):
                if (game, calls, seed) in done:
                    continue
                began = time.perf_counter()
                row = {"game": game, "calls": calls, "seed": seed} | GAMES[game](seed, calls)
                rows.append(row | {"seconds": round(time.perf_counter() - began, 3)})
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    best = {LAKE: lake_chances(), BLACKJACK: basic_strategy(), SEEN: basic_strategy()}
    for game in asked.games:
        mine = [row for row in rows if row["game"] == game]
        if not mine:
            continue
        scores = np.array([row["score"] for row in mine])
        error = scores.std() / math.sqrt(len(scores))
        print(f"{game}: {scores.mean():.3f} ± {error:.3f} in {len(scores)} episodes; ", end="")
        print(f"{best[game]:.3f} is the best without foresight", end="")
        if "lost" in mine[0]:
            lost = np.array([row["lost"] for row in mine])
            print(f"; lost {lost.mean():.4f} ± {lost.std() / math.sqrt(len(lost)):.4f} a hand",
                  end="")  # fmt: skip
        print()


if __name__ == "__main__":
    main()
