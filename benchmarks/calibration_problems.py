"""Problems with exact action values, in two halves: one to fit by, one to be judged on."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import platypoos as pp
from platypoos import lab
from platypoos.lab.arena.families import CHALLENGES

ARENA_FITS = ("tables", "trees", "traps", "loops", "noises")
ARENA_JUDGES = ("declining", "ends", "bandits", "rare", "scales")
MOVES = (-1.0, -0.3, 0.0, 0.3, 1.0)


class Task(NamedTuple):
    """A family member: an instance for each seed, and its discount."""

    family: str
    name: str
    make: Callable[[int], Any]
    discount: float


def from_arena(families: tuple[str, ...]) -> list[Task]:
    """Single plans of the arena whose optimum is known."""
    return [
        Task(challenge.family, challenge.name, challenge.make, challenge.discount)
        for challenge in CHALLENGES
        if challenge.family in families and challenge.measure == "regret"
    ]


def start_anywhere(problem: pp.problems.Tabular, seed: int) -> pp.problems.Tabular:
    """The same table, begun in another state that is not terminal; it is solved only once."""
    alive = np.flatnonzero(~problem.terminal)
    start = int(alive[np.random.default_rng(seed).integers(len(alive))])
    moved = copy.copy(problem)
    moved.initial_state = start
    return moved


def tracking(seed: int, noise: float = 0.0) -> pp.problems.Tabular:
    """Follow a target that goes up and down; places are tenths, a period has 24 steps."""
    reach, period = 60, 24
    places = np.arange(-reach, reach + 1)
    width = len(places)
    successor = np.zeros((width * period, len(MOVES)), np.int64)
    reward = np.zeros(successor.shape)
    for t in range(period):
        after = (t + 1) % period
        for action, move in enumerate(MOVES):
            there = np.clip(places + round(10 * move), -reach, reach)
            rows = t * width + np.arange(width)
            successor[rows, action] = after * width + there + reach
            target = 30.0 * math.sin(2.0 * math.pi * after / period)
            reward[rows, action] = -(((there - target) / 10.0) ** 2)
    rng = np.random.default_rng(seed)
    t = int(rng.integers(period))
    near = round(30.0 * math.sin(2.0 * math.pi * t / period)) + int(rng.integers(-10, 11))
    start = t * width + int(np.clip(near, -reach, reach)) + reach
    return pp.problems.Tabular(successor, reward, noise, initial_state=start)


def stock(seed: int, noise: float = 0.0) -> pp.problems.Tabular:
    """Order 0 to 5 crates; demand is known and repeats each week; room for 20."""
    rng = np.random.default_rng(seed)
    demand, price = rng.integers(0, 6, 7), rng.uniform(3.0, 6.0)
    room, days = 20, len(demand)
    successor = np.zeros(((room + 1) * days, 6), np.int64)
    reward = np.zeros(successor.shape)
    for day in range(days):
        for level in range(room + 1):
            for order in range(6):
                full = min(room, level + order)
                sold = min(full, int(demand[day]))
                row = day * (room + 1) + level
                successor[row, order] = (day + 1) % days * (room + 1) + full - sold
                paid = 2.0 * (full - level) + (3.0 if order else 0.0) + 0.2 * full
                reward[row, order] = price * sold - paid
    start = int(rng.integers((room + 1) * days))
    return pp.problems.Tabular(successor, reward, noise, initial_state=start)


def switches(seed: int, noise: float = 0.0) -> pp.problems.Tabular:
    """Seven lamps, each switch turns three; all lit pays 1 for ever; each turn costs a little."""
    rng = np.random.default_rng(seed)
    lamps = 7
    masks = [int(sum(1 << i for i in rng.choice(lamps, 3, replace=False))) for _ in range(5)]
    states = np.arange(1 << lamps)
    successor = np.stack([states ^ mask for mask in masks] + [states], axis=1)
    lit = np.array([int(state).bit_count() for state in states])
    reward = lit[successor] ** 2 / lamps**2
    reward[:, :-1] -= 0.05
    return pp.problems.Tabular(
        successor, reward, noise, initial_state=int(rng.integers(1 << lamps))
    )


def car(seed: int, noise: float = 0.0) -> pp.problems.Tabular:
    """Stop a car at a line: place 0 to 40, speed −3 to 3, brake, coast or push."""
    places, speeds = 41, 7
    successor = np.zeros((places * speeds, 3), np.int64)
    reward = np.zeros(successor.shape)
    for place in range(places):
        for speed in range(speeds):
            for action in range(3):
                fast = min(speeds - 1, max(0, speed + action - 1))
                there = place + fast - 3
                hit = not 0 <= there < places
                there = min(places - 1, max(0, there))
                fast = 3 if hit else fast
                row = place * speeds + speed
                successor[row, action] = there * speeds + fast
                reward[row, action] = -abs(there - 30) / 30.0 - 0.1 * (action != 1) - 2.0 * hit
    rng = np.random.default_rng(seed)
    start = int(rng.integers(places)) * speeds + int(rng.integers(speeds))
    return pp.problems.Tabular(successor, reward, noise, initial_state=start)


@functools.cache
def heat_pump(noise: float) -> pp.problems.Tabular:
    """Two rooms, a tank, six settings, a tariff by the hour: 24 hours, 50,000 states."""
    hours, rooms, tanks = 24, 15, 9
    first, second, tank, hour = np.meshgrid(
        *(np.arange(n) for n in (rooms, rooms, tanks, hours)), indexing="ij"
    )
    price = 1.0 + 2.0 * ((hour >= 7) & (hour < 10)) + 3.0 * ((hour >= 17) & (hour < 21))
    cold = 2 + (hour < 6) + (hour >= 20)

    def number(one: Any, two: Any, full: Any, time: Any) -> Any:
        return ((one * rooms + two) * tanks + full) * hours + time

    successor, reward = [], []
    for pump, to_first, to_second in (
        (0, 0, 0),
        (3, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
        (3, 1, 1),
        (0, 1, 1),
    ):
        full = np.minimum(tanks - 1, tank + pump)
        one_gets = 2 * np.minimum(full, 2 * to_first)
        full = full - one_gets // 2
        two_gets = 2 * np.minimum(full, 2 * to_second)
        full = full - two_gets // 2
        # A room loses a step of heat every hour, and one more when it is cold, if it is warm.
        one = np.clip(first + one_gets - 1 - (first > 8) * (cold > 2), 0, rooms - 1)
        two = np.clip(second + two_gets - 1 - (second > 8) * (cold > 2), 0, rooms - 1)
        comfort = ((hour >= 6) & (hour < 22)) * (np.maximum(0, 8 - one) + np.maximum(0, 8 - two))
        successor.append(number(one, two, full, (hour + 1) % hours).ravel())
        reward.append((-0.5 * pump * price - 0.6 * comfort).ravel())
    return pp.problems.Tabular(np.stack(successor, 1), np.stack(reward, 1), noise)


@functools.cache
def valley(noise: float) -> pp.problems.Tabular:
    """A weak car in a valley, on a grid: it must swing before it gets out. Effort costs."""
    places, speeds = np.linspace(-1.2, 0.6, 121), np.linspace(-0.07, 0.07, 61)
    x, v = (grid.ravel() for grid in np.meshgrid(places, speeds, indexing="ij"))
    successor, reward = [], []
    for push in (-1, 0, 1):
        fast = np.clip(v + 0.004 * push - 0.01 * np.cos(3.0 * x), -0.07, 0.07)
        there = np.clip(x + 4.0 * fast, -1.2, 0.6)
        fast = np.where(there <= -1.2, np.maximum(0.0, fast), fast)
        row = np.rint((there + 1.2) / 1.8 * 120).astype(int)
        successor.append(row * 61 + np.rint((fast + 0.07) / 0.14 * 60).astype(int))
        reward.append(1.0 * (there >= 0.5) - 0.01 * abs(push) + 0.02 * np.sin(3.0 * x))
    return pp.problems.Tabular(np.stack(successor, 1), np.stack(reward, 1), noise)


@functools.cache
def pendulum(noise: float) -> pp.problems.Tabular:
    """Swing a pendulum up, on a grid; five torques."""
    angles, speeds = 120, 81
    grid = np.meshgrid(np.arange(angles), np.linspace(-8.0, 8.0, speeds), indexing="ij")
    angle, v = 2.0 * math.pi * grid[0].ravel() / angles, grid[1].ravel()
    successor, reward = [], []
    for torque in (-2.0, -1.0, 0.0, 1.0, 2.0):
        fast = np.clip(v + 0.1 * (15.0 * np.sin(angle) + 3.0 * torque), -8.0, 8.0)
        there = np.rint((angle + 0.1 * fast) / (2.0 * math.pi) * angles).astype(int) % angles
        successor.append(there * speeds + np.rint((fast + 8.0) / 0.2).astype(int))
        off = (angle + math.pi) % (2.0 * math.pi) - math.pi
        reward.append(-(off**2 + 0.1 * v**2 + 0.001 * torque**2))
    return pp.problems.Tabular(np.stack(successor, 1), np.stack(reward, 1), noise)


@functools.cache
def two_products(noise: float) -> pp.problems.Tabular:
    """Order two products by one truck; demand repeats each week."""
    room, days = 25, 7
    demand = np.array([[2, 5, 1, 4, 6, 3, 0], [3, 0, 4, 1, 2, 5, 3]])
    one, two, day = np.meshgrid(np.arange(room), np.arange(room), np.arange(days), indexing="ij")
    successor, reward = [], []
    for first, second in ((0, 0), (6, 0), (0, 6), (6, 6), (12, 0), (0, 12), (12, 12)):
        full = np.minimum(room - 1, one + first), np.minimum(room - 1, two + second)
        sold = [np.minimum(full[i], demand[i][day]) for i in range(2)]
        left = full[0] - sold[0], full[1] - sold[1]
        missed = demand[0][day] - sold[0] + demand[1][day] - sold[1]
        cost = 12.0 * bool(first or second) + 0.25 * (left[0] + left[1]) + 2.0 * missed
        successor.append(((left[0] * room + left[1]) * days + (day + 1) % days).ravel())
        reward.append((4.0 * (sold[0] + sold[1]) - cost).ravel())
    return pp.problems.Tabular(np.stack(successor, 1), np.stack(reward, 1), noise)


def anywhere(make: Callable[[float], pp.problems.Tabular]) -> Callable[[int, float], Any]:
    """Instances of a table: other states to begin with."""
    return lambda seed, noise: start_anywhere(make(noise), seed)


def chain(seed: int, noise: float) -> Any:
    """The paper's chain."""
    del seed
    return pp.problems.SwitchChain(noise=noise)


def own(family: str, noises: tuple[float, ...], make: Any, discount: float) -> list[Task]:
    """A family of one maker with several noises."""
    return [
        Task(family, f"{family}/noise-{noise:g}", functools.partial(make, noise=noise), discount)
        for noise in noises
    ]


def maze(seed: int, noise: float) -> pp.problems.Tabular:
    """A maze, begun anywhere."""
    return start_anywhere(lab.problems.Maze(size=5, seed=seed, noise=noise), seed)


FITS = [
    *from_arena(ARENA_FITS),
    *own("tracking", (0.0, 1.0, 5.0), tracking, 0.95),
    *own("stock", (0.0, 2.0, 10.0), stock, 0.97),
    *own("heat", (0.0, 1.0, 4.0), anywhere(heat_pump), 0.97),
    *own("pendulum", (0.0, 2.0), anywhere(pendulum), 0.95),
]
JUDGES = [
    *from_arena(ARENA_JUDGES),
    *own("chain", (0.0, 1.0, 10.0, 50.0), chain, 0.95),
    *own("switches", (0.0, 0.1, 0.5), switches, 0.9),
    *own("car", (0.0, 0.3, 1.0), car, 0.95),
    *own("maze", (0.0, 0.2), maze, 0.95),
    *own("products", (0.0, 3.0, 10.0), anywhere(two_products), 0.97),
    *own("valley", (0.0, 0.02), anywhere(valley), 0.97),
]
