"""Random dynamics: how much the first action of a plan loses against the best one.

Eleven finite problems are solved by value iteration. The regret of a plan is what its action loses
against the best one, over what a random action loses: 0 is best, 1 is as good as random. Five games
are too large for that: there the return of an episode is shown.

python benchmarks/chance.py                                    # 40 seeds, N = 100, 300, 1,000
python benchmarks/chance.py --problems lake gambler --budgets 300 1000 --seeds 20
python benchmarks/chance.py --problems 2048 pendulum --budgets 300 --seeds 20

Results are added to --out (JSON lines), and what is there already is not run again. Planners that
are "told" know the range of the rewards; they do not play the games. The numbers of steps are the
best of 3, 6, 12 and 24 on these problems with seeds from 5,000 on, and 12 for comparison.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import math
import random
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp

Outcome = tuple[float, Hashable, float, bool]
"""Probability, next state, reward, whether the episode ends."""


class Process:
    """A problem that lists what may happen: ``outcomes(state, action)``."""

    def __init__(
        self,
        outcomes: Callable[[Any, int], list[Outcome]],
        actions: int,
        root: Hashable,
        discount: float,
    ) -> None:
        self.outcomes = functools.cache(outcomes)
        self.actions, self.root, self.discount = actions, root, discount

    def step(self, state: Any, action: int, rng: Any) -> tuple[Any, float, bool]:
        left = rng.random()
        for outcome in self.outcomes(state, action):
            left -= outcome[0]
            if left < 0.0:
                break
        return outcome[1:]

    @functools.cached_property
    def values(self) -> dict[Any, float]:
        """V* of all states that can be reached, by value iteration."""
        values: dict[Any, float] = {self.root: 0.0}
        waiting = [self.root]
        for state in waiting:
            for action in range(self.actions):
                for _, after, _, ended in self.outcomes(state, action):
                    if not ended and after not in values:
                        values[after] = 0.0
                        waiting.append(after)
        change = math.inf
        while change > 1e-6:
            change = 0.0
            for state in reversed(waiting):
                best = max(self.action_values(state, values))
                change = max(change, abs(best - values[state]))
                values[state] = best
        return values

    def action_values(self, state: Any, values: dict[Any, float] | None = None) -> list[float]:
        """Q* of all actions in a state."""
        known = self.values if values is None else values
        return [
            sum(
                chance * (reward + (0.0 if ended else self.discount * known[after]))
                for chance, after, reward, ended in self.outcomes(state, action)
            )
            for action in range(self.actions)
        ]

    @functools.cached_property
    def rewards(self) -> tuple[float, float]:
        """The smallest and the largest one."""
        found = [
            reward
            for state in self.values
            for action in range(self.actions)
            for _, _, reward, _ in self.outcomes(state, action)
        ]
        return min(found), max(found)

    @functools.cached_property
    def starts(self) -> list[Any]:
        """States where the choice matters, from a walk that takes the best action half the time."""
        rng = random.Random(1)  # noqa: S311  for problems, not for secrets
        matters = 0.01 * (max(self.values.values()) - min(self.values.values()))
        state = self.root
        found: dict[Any, None] = {}
        for _ in range(4000):
            values = self.action_values(state)
            if max(values) - sum(values) / len(values) > matters:
                found[state] = None
            best = max(range(self.actions), key=values.__getitem__)
            action = rng.randrange(self.actions) if rng.random() < 0.5 else best
            state, _, ended = self.step(state, action, rng)
            if ended or rng.random() < 0.02:
                state = self.root
        states = list(found)
        rng.shuffle(states)
        return states[:40]


# ------------------------------------------------------------------ finite problems


def lake(rows: list[str], slip: float, discount: float) -> Process:
    """Frozen lakes: reach G, do not fall into H, slip to either side."""
    moves, last = ((0, -1), (1, 0), (0, 1), (-1, 0)), len(rows) - 1

    def outcomes(state: Any, action: int) -> list[Outcome]:
        found: list[Outcome] = []
        for chance, turn in ((1.0 - 2.0 * slip, 0), (slip, 1), (slip, 3)):
            down, right = moves[(action + turn) % 4]
            place = min(last, max(0, state[0] + down)), min(last, max(0, state[1] + right))
            kind = rows[place[0]][place[1]]
            found.append((chance, place, float(kind == "G"), kind in "GH"))
        return found

    return Process(outcomes, 4, (0, 0), discount)


SMALL = ["SFFF", "FHFH", "FFFH", "HFFG"]
LARGE = ["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF",
         "FFFHFFFG"]  # fmt: skip


def inventory() -> Process:
    """Order 0, 3, …, 15 pieces; demand is Poisson with mean 4; room for 20."""
    demand = [math.exp(-4.0) * 4.0**d / math.factorial(d) for d in range(10)]
    demand.append(1.0 - sum(demand))

    def outcomes(stock: Any, action: int) -> list[Outcome]:
        full = min(20, stock + 3 * action)
        fixed = 2.0 * (full - stock) + (4.0 if action else 0.0) + 0.3 * full
        found: list[Outcome] = []
        for wanted, chance in enumerate(demand):
            sold = min(wanted, full)
            found.append((chance, full - sold, 5.0 * sold - fixed - 2.0 * (wanted - sold), False))
        return found

    return Process(outcomes, 6, 5, 0.95)


def queue() -> Process:
    """Let the customer at the door in or not; they pay differently, and waiting costs."""
    pay, kinds = (0.0, 2.0, 6.0, 15.0), (0.3, 0.4, 0.2, 0.1)

    def outcomes(state: Any, action: int) -> list[Outcome]:
        length, kind = state
        enters = action == 1 and kind > 0 and length < 15
        length += enters
        reward = enters * pay[kind] - 0.25 * length
        return [
            (0.5 * chance, (after, other), reward, False)
            for after in (max(0, length - 1), length)
            for other, chance in enumerate(kinds)
        ]

    return Process(outcomes, 2, (0, 0), 0.97)


def gambler() -> Process:
    """Get from 20 to 50 by bets that win with probability 0.45."""

    def outcomes(money: Any, action: int) -> list[Outcome]:
        bet = min(money, 50 - money, (1, 2, 5, 10, 20, 50)[action])
        won, lost = money + bet, money - bet
        return [(0.45, won, float(won >= 50), won >= 50), (0.55, lost, 0.0, lost <= 0)]

    return Process(outcomes, 6, 20, 0.99)


def sailing(size: int = 8) -> Process:
    """Sail from corner to corner; the wind turns."""
    ways = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))

    def outcomes(state: Any, action: int) -> list[Outcome]:
        x, y, wind = state
        angle = min((action - wind) % 8, (wind - action) % 8)
        cost = (1.0, 1.2, 2.0, 3.0, 10.0)[angle]
        place = x + ways[action][0], y + ways[action][1]
        if angle == 4 or not all(0 <= c < size for c in place):
            place, cost = (x, y), max(cost, 3.0)
        ended = place == (size - 1, size - 1)
        turns = ((0.4, 0), (0.3, 1), (0.3, -1))
        return [(chance, (*place, (wind + turn) % 8), -cost, ended) for chance, turn in turns]

    return Process(outcomes, 8, (0, 0, 0), 0.97)


def garnet(seed: int = 7, states: int = 50, actions: int = 4, branches: int = 3) -> Process:
    """A random process; one action in ten pays."""
    rng = np.random.default_rng(seed)
    after = rng.integers(states, size=(states, actions, branches))
    chances = rng.exponential(size=after.shape)
    chances /= chances.sum(axis=2, keepdims=True)
    pays = rng.random((states, actions)) * (rng.random((states, actions)) < 0.1)

    def outcomes(state: Any, action: int) -> list[Outcome]:
        reward = float(pays[state, action])
        return [
            (float(chances[state, action, b]), int(after[state, action, b]), reward, False)
            for b in range(branches)
        ]

    return Process(outcomes, actions, 0, 0.95)


def coins() -> Process:
    """Say which of two coins is shown, 1 each time; or take 0.65 each time, whatever is shown."""

    def outcomes(state: Any, action: int) -> list[Outcome]:
        kind, turn, shown = state
        if kind == "root" and action != 1:
            return [(1.0, ("safe", 1, 0), 0.0, False)]
        if kind == "safe":
            return [(1.0, ("safe", turn + 1, 0), 0.65, turn >= 6)]
        reward = 0.0 if kind == "root" else float(action == shown) if action < 2 else 0.3
        return [(0.5, ("coin", turn + 1, coin), reward, turn >= 6) for coin in (0, 1)]

    return Process(outcomes, 3, ("root", 0, 0), 0.95)


def machine() -> Process:
    """Run a machine that wears out, repair it or buy a new one."""

    def outcomes(wear: Any, action: int) -> list[Outcome]:
        if action == 2:
            return [(1.0, 0, -12.0, False)]
        if action == 1:
            return [(0.7, max(0, wear - 3), -4.0, False), (0.3, wear, -4.0, False)]
        reward, fails = 3.0 - 0.35 * wear, min(0.9, 0.01 * wear * wear)
        steps = ((0.5, 0), (0.35, 1), (0.15, 2))
        found: list[Outcome] = [(fails, 9, reward - 15.0, False)]
        found += [((1.0 - fails) * p, min(9, wear + more), reward, False) for p, more in steps]
        return found

    return Process(outcomes, 3, 0, 0.97)


TRACK = ["XXXXXXXXXXXX", "X.........GX", "X.........GX", "X...XXXXXXXX", "X...XXXXXXXX",
         "X...XXXXXXXX", "XSSSXXXXXXXX"]  # fmt: skip


def race(slip: float = 0.1) -> Process:
    """A race track: change the speed, do not leave the road; brakes and pedals slip."""

    def drive(state: Any, push: tuple[int, int]) -> tuple[Any, float, bool]:
        x, y = state[:2]
        u, v = (max(-3, min(3, speed + by)) for speed, by in zip(state[2:], push, strict=True))
        parts = max(abs(u), abs(v), 1)
        for part in range(1, parts + 1):
            row, column = x + round(u * part / parts), y + round(v * part / parts)
            inside = 0 <= row < len(TRACK) and 0 <= column < len(TRACK[0])
            ground = TRACK[row][column] if inside else "X"
            if ground == "G":
                return (row, column, 0, 0), -1.0, True
            if ground == "X":
                return (6, 2, 0, 0), -5.0, False
        return (x + u, y + v, u, v), -1.0, False

    def outcomes(state: Any, action: int) -> list[Outcome]:
        pushed = (1.0 - slip, *drive(state, (action // 3 - 1, action % 3 - 1)))
        return [pushed, (slip, *drive(state, (0, 0)))]

    return Process(outcomes, 9, (6, 2, 0, 0), 0.97)


def dice() -> Process:
    """Four dice, thrown three times; an action says which to keep. Equal ones pay."""

    @functools.cache
    def throws(kept: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        if len(kept) == 4:
            return {tuple(sorted(kept)): 1.0}
        found: dict[tuple[int, ...], float] = {}
        for face in range(1, 7):
            for thrown, chance in throws((*kept, face)).items():
                found[thrown] = found.get(thrown, 0.0) + chance / 6.0
        return found

    def outcomes(state: Any, action: int) -> list[Outcome]:
        turn, shown = state
        if turn == 3:
            paid = (0, 0, 1, 5, 20)[max(map(shown.count, shown))] + 0.1 * sum(shown)
            return [(1.0, (4, ()), paid, True)]
        kept = tuple(face for place, face in enumerate(shown) if action >> place & 1)
        return [(chance, (turn + 1, thrown), 0.0, False) for thrown, chance in throws(kept).items()]

    return Process(outcomes, 16, (0, ()), 0.99)


FINITE: dict[str, Callable[[], Process]] = {
    "lake": lambda: lake(SMALL, 0.1, 0.95),
    "large-lake": lambda: lake(LARGE, 1 / 3, 0.97),
    "inventory": inventory,
    "queue": queue,
    "gambler": gambler,
    "sailing": sailing,
    "garnet": garnet,
    "coins": coins,
    "machine": machine,
    "race": race,
    "dice": dice,
}


# ------------------------------------------------------------------ games


class Game2048:
    """2048 on 3 by 3. The score is the sum of the merged tiles, in at most 200 moves."""

    actions, discount, steps = 4, 0.98, 200
    LINES = (
        ((0, 1, 2), (3, 4, 5), (6, 7, 8)),
        ((2, 1, 0), (5, 4, 3), (8, 7, 6)),
        ((0, 3, 6), (1, 4, 7), (2, 5, 8)),
        ((6, 3, 0), (7, 4, 1), (8, 5, 2)),
    )

    def first(self, rng: Any) -> tuple[int, ...]:
        return self.add((0,) * 9, rng, 2)

    def add(self, board: tuple[int, ...], rng: Any, tiles: int = 1) -> tuple[int, ...]:
        for _ in range(tiles):
            free = [place for place, tile in enumerate(board) if not tile]
            place = free[int(rng.random() * len(free))]
            board = (*board[:place], 2 if rng.random() < 0.1 else 1, *board[place + 1 :])
        return board

    def push(self, board: tuple[int, ...], action: int) -> tuple[tuple[int, ...], float]:
        pushed, gain = list(board), 0.0
        for line in self.LINES[action]:
            tiles = [board[place] for place in line if board[place]]
            place = 0
            while place + 1 < len(tiles):
                if tiles[place] == tiles[place + 1]:
                    tiles[place] += 1
                    gain += 2.0 ** tiles[place]
                    del tiles[place + 1]
                place += 1
            for at, tile in zip(line, tiles + [0] * (3 - len(tiles)), strict=True):
                pushed[at] = tile
        return tuple(pushed), gain

    def step(self, board: Any, action: int, rng: Any) -> tuple[Any, float, bool]:
        pushed, gain = self.push(board, action)
        if pushed == board:
            return board, -1.0, False
        board = self.add(pushed, rng)
        stuck = all(board) and all(self.push(board, other)[0] == board for other in range(4))
        return board, gain, stuck


class Pendulum:
    """Swing up a pendulum in gusts. The score is the sum of the rewards of 80 steps."""

    actions, discount, steps = 3, 0.97, 80

    def first(self, rng: Any) -> tuple[float, float]:
        return math.pi + 0.5 * rng.random() - 0.25, rng.random() - 0.5

    def step(self, state: Any, action: int, rng: Any) -> tuple[Any, float, bool]:
        angle, speed = state
        gust = math.sqrt(-2.0 * math.log(1.0 - rng.random())) * math.cos(2 * math.pi * rng.random())
        torque = 2.0 * (action - 1) + gust
        upright = (angle + math.pi) % (2 * math.pi) - math.pi
        reward = -(upright**2 + 0.1 * speed**2 + 0.001 * torque**2)
        speed = max(-8.0, min(8.0, speed + 0.05 * (15.0 * math.sin(angle) + 3.0 * torque)))
        return (angle + 0.05 * speed, speed), reward, False


class Sailing:
    """Sail over a large lake. The score is the cost of at most 60 steps, with its sign."""

    actions, discount, steps = 8, 0.97, 60

    def __init__(self) -> None:
        self.step = sailing(20).step

    def first(self, rng: Any) -> tuple[int, int, int]:
        return 0, 0, int(8 * rng.random())


class TwoProducts:
    """Order 0, 5 or 10 of each of two products; a truck is paid once. 30 days."""

    actions, discount, steps = 9, 0.95, 30

    def first(self, rng: Any) -> tuple[int, int]:
        return int(10 * rng.random()), int(10 * rng.random())

    def step(self, state: Any, action: int, rng: Any) -> tuple[Any, float, bool]:
        ordered = 5 * (action // 3), 5 * (action % 3)
        reward, left = -6.0 * (action > 0), []
        for stock, more, mean, price in zip(state, ordered, (4.0, 3.0), (5.0, 7.0), strict=True):
            full = min(20, stock + more)
            wanted = poisson(mean, rng)
            sold = min(wanted, full)
            reward += price * sold - 2.0 * (full - stock) - 0.3 * full - 2.0 * (wanted - sold)
            left.append(full - sold)
        return tuple(left), reward, False


def poisson(mean: float, rng: Any) -> int:
    """A Poisson number, by one draw."""
    chance, left, number = math.exp(-mean), rng.random(), 0
    while left > chance and number < 40:
        left -= chance
        number += 1
        chance *= mean / number
    return number


class CartPole:
    """Balance a pole while someone pushes the cart. The score is the steps, at most 100."""

    actions, discount, steps = 2, 0.97, 100

    def first(self, rng: Any) -> tuple[float, ...]:
        return tuple(0.1 * rng.random() - 0.05 for _ in range(4))

    def step(self, state: Any, action: int, rng: Any) -> tuple[Any, float, bool]:
        x, v, angle, turn = state
        gust = math.sqrt(-2.0 * math.log(1.0 - rng.random())) * math.cos(2 * math.pi * rng.random())
        force = 20.0 * action - 10.0 + 12.0 * gust
        sin, cos = math.sin(angle), math.cos(angle)
        push = (force + 0.05 * turn * turn * sin) / 1.1
        bend = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        x, v = x + 0.02 * v, v + 0.02 * (push - 0.05 * bend * cos / 1.1)
        angle, turn = angle + 0.02 * turn, turn + 0.02 * bend
        return (x, v, angle, turn), 1.0, abs(x) > 2.4 or abs(angle) > 0.21


GAMES: dict[str, Callable[[], Any]] = {
    "2048": Game2048,
    "pendulum": Pendulum,
    "sailing-20": Sailing,
    "two-products": TwoProducts,
    "cartpole": CartPole,
}


# ------------------------------------------------------------------ planners


Maker = Callable[[Any], pp.planners.Planner]


def told(kind: Any, **settings: Any) -> Maker:
    """A planner that is told the range of the rewards."""

    def make(problem: Any) -> Any:
        low, high = problem.rewards
        return kind(problem.discount, reward_min=low, reward_max=high, **settings)

    return make


def accurate(problem: Any) -> Any:
    """TrailBlazer, asked for a tenth of the range of the returns."""
    low, high = problem.rewards
    epsilon = 0.1 * (high - low) / (1.0 - problem.discount)
    return told(pp.planners.TrailBlazer, epsilon=epsilon)(problem)


PLANNERS: dict[str, tuple[Maker, str | None]] = {
    "Platypus": (lambda p: pp.Platypus(p.discount), None),
    "UCT, 3 steps": (lambda p: pp.planners.UCT(p.discount, horizon=3), None),
    "UCT, 12 steps": (lambda p: pp.planners.UCT(p.discount, horizon=12), None),
    "PolynomialUCT, 3 steps": (lambda p: pp.planners.PolynomialUCT(p.discount, horizon=3), None),
    "BRUE": (lambda p: pp.planners.BRUE(p.discount, horizon=12), None),
    "OPMDP, told": (told(pp.planners.OPMDP), None),
    "GumbelMCTS": (lambda p: pp.planners.GumbelMCTS(p.discount), None),
    "BAIMCTS, 3 steps, told": (told(pp.planners.BAIMCTS, depth=3), None),
    "TrailBlazer, told": (accurate, None),
    "SparseSampling": (lambda p: pp.planners.SparseSampling(p.discount), None),
    "Hindsight": (lambda p: pp.planners.Hindsight(p.discount), None),
    "Platypus, open loop": (lambda p: pp.Platypus(p.discount), "reset"),
    "UCT, 12 steps, open loop": (lambda p: pp.planners.UCT(p.discount, horizon=12), "reset"),
    "flat roll-outs": (lambda p: pp.planners.SequentialHalving(p.discount, horizon=12), "reset"),
}
"""What makes a planner for a problem, and the access to plan with."""


def decide(problem: Any, planner: str, state: Any, budget: int, seed: int) -> int:
    """The action that a planner takes in a state."""
    make, access = PLANNERS[planner]
    model = pp.FunctionModel(problem.step, problem.actions, state, dynamics="random")
    return int(make(problem).plan(model, budget=budget, seed=seed, access=access).action)


# ------------------------------------------------------------------ runs


@functools.cache
def problem_named(name: str) -> Any:
    return FINITE[name]() if name in FINITE else GAMES[name]()


def run(name: str, planner: str, budget: int, seed: int) -> dict[str, Any]:
    """One decision of a finite problem, or one episode of a game."""
    problem = problem_named(name)
    row = {"problem": name, "planner": planner, "budget": budget, "seed": seed}
    if name in FINITE:
        starts = [problem.root] if name == "coins" else problem.starts
        if name == "dice":
            starts = [start for start in starts if 0 < start[0] < 3]
        state = starts[seed % len(starts)]
        values = problem.action_values(state)
        began = time.perf_counter()
        action = decide(problem, planner, state, budget, seed)
        seconds = time.perf_counter() - began
        blind = max(values) - sum(values) / len(values)
        return row | {"lost": max(values) - values[action], "blind": blind, "seconds": seconds}
    rng = random.Random(seed)  # noqa: S311  for problems, not for secrets
    state, total = problem.first(rng), 0.0
    began = time.perf_counter()
    for t in range(problem.steps):
        action = decide(problem, planner, state, budget, 1000 * seed + t)
        state, reward, ended = problem.step(state, action, rng)
        total += reward
        if ended:
            break
    return row | {"score": total, "steps": t + 1, "seconds": time.perf_counter() - began}


def all_runs(asked: argparse.Namespace) -> Iterator[tuple[str, str, int, int]]:
    for budget in asked.budgets:
        for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
            for name in asked.problems:
                for planner in asked.planners:
                    if name in FINITE or "told" not in planner:
                        yield name, planner, budget, seed


def cell(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Mean and standard error: of regrets over those of a random action, or of scores."""
    if "score" in rows[0]:
        scores = np.array([row["score"] for row in rows])
        return float(scores.mean()), float(scores.std() / math.sqrt(len(rows)))
    lost, blind = (np.array([row[name] for row in rows]) for name in ("lost", "blind"))
    ratio = lost.sum() / blind.sum()
    error = np.sqrt(((lost - ratio * blind) ** 2).sum()) / blind.sum()
    return float(ratio), float(error)


def show(rows: list[dict[str, Any]], asked: argparse.Namespace) -> None:
    """Tables of means ± a standard error, for each number of calls."""
    for budget in asked.budgets:
        print(f"\nN = {budget:,}\n| problem | {' | '.join(asked.planners)} |")
        print("|---" * (1 + len(asked.planners)) + "|")
        means: dict[str, list[float]] = {planner: [] for planner in asked.planners}
        for name in asked.problems:
            cells = []
            for planner in asked.planners:
                wanted = (name, planner, budget)
                some = [r for r in rows if (r["problem"], r["planner"], r["budget"]) == wanted]
                if not some:
                    cells.append("")
                    continue
                mean, error = cell(some)
                digits = 2 if name in FINITE else 0
                cells.append(f"{mean:.{digits}f} ± {error:.{digits}f}")
                if name in FINITE:
                    means[planner].append(mean)
            print(f"| {name} | {' | '.join(cells)} |")
        last = [f"{np.mean(found):.3f}" if found else "" for found in means.values()]
        print(f"| **mean of the finite ones** | {' | '.join(last)} |")


def compare(rows: list[dict[str, Any]], asked: argparse.Namespace) -> None:
    """Where the first planner is worse or better than others by two standard errors, in pairs."""
    first = asked.planners[0]
    lost = {(r["problem"], r["planner"], r["budget"], r["seed"]): r for r in rows if "lost" in r}
    for budget in asked.budgets:
        worse, better, pairs = [], 0, 0
        for name in asked.problems:
            for rival in asked.planners[1:]:
                both = [
                    (row, lost[name, rival, budget, seed])
                    for (problem, planner, calls, seed), row in lost.items()
                    if (problem, planner, calls) == (name, first, budget)
                    and (name, rival, budget, seed) in lost
                ]
                if not both:
                    continue
                blind = np.mean([row["blind"] for row, _ in both])
                differences = np.array([row["lost"] - other["lost"] for row, other in both]) / blind
                mean, error = differences.mean(), differences.std() / math.sqrt(len(both))
                pairs += 1
                better += mean < -2.0 * error
                if mean > 2.0 * error:
                    worse.append(f"{name}: {rival} by {mean:.2f} ± {error:.2f}")
        print(f"\nN = {budget:,}: {first} is better in {better} of {pairs}, worse in {len(worse)}")
        print("\n".join(worse))


def summarize(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a line for each problem, planner and number of calls."""
    found: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["problem"], row["planner"], row["budget"]), []).append(row)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", "planner", "calls", "regret", "error", "runs", "seconds"])
        for name, some in found.items():
            mean, error = cell(some)
            seconds = np.mean([row["seconds"] for row in some])
            writer.writerow([*name, f"{mean:.3f}", f"{error:.3f}", len(some), f"{seconds:.4f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--problems", nargs="+", default=list(FINITE), choices=[*FINITE, *GAMES])
    parser.add_argument(
        "--planners", nargs="+", default=list(PLANNERS)[:-1], choices=list(PLANNERS)
    )
    parser.add_argument("--budgets", nargs="+", type=int, default=[100, 300, 1000])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("chance.jsonl"))
    parser.add_argument("--summary", type=Path, help="a CSV file of means")
    asked = parser.parse_args()
    rows = []
    if asked.out.exists():
        rows = [json.loads(line) for line in asked.out.read_text().splitlines()]
    done = {(row["problem"], row["planner"], row["budget"], row["seed"]) for row in rows}
    with asked.out.open("a") as file:
        for wanted in all_runs(asked):
            if wanted not in done:
                rows.append(run(*wanted))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    show(rows, asked)
    compare(rows, asked)
    if asked.summary is not None:
        summarize(rows, asked.summary)


if __name__ == "__main__":
    main()
