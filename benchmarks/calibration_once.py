"""Families with exact action values that neither fitted the confidence nor were ever tuned by.

They were written when the formula stood, and it was judged on them once.
"""

from __future__ import annotations

import itertools

import numpy as np
from calibration_problems import Task, own

import platypoos as pp


def jobs(seed: int, noise: float) -> pp.problems.Tabular:
    """Nine jobs on one machine: which one next? Being late costs, by weight and time.

    The four actions are rules: by due date, the shortest, the heaviest, the first on the list.
    """
    rng = np.random.default_rng(seed)
    count = 9
    length = rng.integers(1, 6, count)
    weight = rng.integers(1, 5, count)
    due = rng.integers(2, int(0.8 * length.sum()), count)
    orders = (due, length, -weight, np.arange(count))
    successor = np.zeros((1 << count, len(orders)), np.int64)
    reward = np.zeros(successor.shape)
    for done in range((1 << count) - 1):
        left = [j for j in range(count) if not done >> j & 1]
        time = int(sum(length[j] for j in range(count) if done >> j & 1))
        for action, order in enumerate(orders):
            job = min(left, key=lambda j: (order[j], j))
            late = max(0, time + int(length[job]) - int(due[job]))
            successor[done, action] = done | 1 << job
            reward[done, action] = 3.0 * weight[job] * (late == 0) - 0.5 * weight[job] * late
    return pp.problems.Tabular(successor, reward, noise, [(1 << count) - 1])


def routes(seed: int, noise: float) -> pp.problems.Tabular:
    """Drive between 70 places to one of them; each road has a length and some have a toll."""
    rng = np.random.default_rng(seed)
    count, roads = 70, 4
    places = rng.uniform(0.0, 10.0, (count, 2))
    far = np.linalg.norm(places[:, None] - places[None], axis=2)
    successor = np.argsort(far, axis=1)[:, 1 : roads + 1]
    rows = np.arange(count)[:, None]
    reward = -far[rows, successor] - 2.0 * (rng.random(successor.shape) < 0.2)
    goal = int(rng.integers(count))
    reward[successor == goal] += 30.0
    start = int(np.argsort(far[goal])[count // 2])
    return pp.problems.Tabular(successor, reward, noise, [goal], start)


def sale(seed: int, noise: float) -> pp.problems.Tabular:
    """Sell three houses within 30 weeks at prices that wander: wait, sell one, sell two.

    To keep one costs something each week. What is not sold is lost.
    """
    rng = np.random.default_rng(seed)
    weeks, houses = 30, 3
    price = 20.0 + np.cumsum(rng.normal(0.0, 2.0, weeks))
    successor = np.zeros((weeks * (houses + 1) + 1, 3), np.int64)
    reward = np.zeros(successor.shape)
    end = len(successor) - 1
    for week, left, action in itertools.product(range(weeks), range(1, houses + 1), range(3)):
        sold = min(action, left)
        row = week * (houses + 1) + left
        over = left == sold or week + 1 == weeks
        successor[row, action] = end if over else row + houses + 1 - sold
        discount = 1.0 if sold < 2 else 0.93  # two at once bring less each
        reward[row, action] = sold * price[week] * discount - 0.6 * (left - sold)
    return pp.problems.Tabular(successor, reward, noise, [end], houses)


def press(seed: int, noise: float) -> pp.problems.Tabular:
    """Run a press slow or fast, oil it, or repair it; orders come in seasons of eight weeks."""
    rng = np.random.default_rng(seed)
    weeks, worst = 8, 19
    orders = rng.uniform(2.0, 10.0, weeks)
    repair = rng.uniform(8.0, 20.0)
    successor = np.zeros(((worst + 1) * weeks, 4), np.int64)
    reward = np.zeros(successor.shape)
    for wear, week in itertools.product(range(worst + 1), range(weeks)):
        health = 1.0 - (wear / worst) ** 2
        for action, (speed, wears, pay) in enumerate(
            ((0.6, 1, 0.0), (1.0, 3, 0.0), (0.3, -2, 1.0), (0.0, -worst, repair))
        ):
            after = min(worst, max(0, wear + wears))
            row = wear * weeks + week
            successor[row, action] = after * weeks + (week + 1) % weeks
            reward[row, action] = speed * health * orders[week] - pay
    start = int(rng.integers(len(successor)))
    return pp.problems.Tabular(successor, reward, noise, initial_state=start)


def fish(seed: int, noise: float) -> pp.problems.Tabular:
    """Catch 0 to 40 % of a stock that grows; prices go round in five years."""
    rng = np.random.default_rng(seed)
    levels, years = 61, 5
    price, growth = rng.uniform(0.5, 2.0, years), rng.uniform(0.3, 0.7)
    successor = np.zeros((levels * years, 5), np.int64)
    reward = np.zeros(successor.shape)
    for level, year, action in itertools.product(range(levels), range(years), range(5)):
        caught = 0.1 * action * level
        left = level - caught
        after = round(left + growth * left * (1.0 - left / (levels - 1)))
        successor[level * years + year, action] = min(levels - 1, after) * years + (year + 1) % 5
        reward[level * years + year, action] = price[year] * caught - 0.5 * action
    start = int(rng.integers(10, levels)) * years + int(rng.integers(years))
    return pp.problems.Tabular(successor, reward, noise, initial_state=start)


def dust(seed: int, noise: float) -> pp.problems.Tabular:
    """Clean four rooms in a row, each of which gathers dust at its own pace."""
    rng = np.random.default_rng(seed)
    rooms, most = 4, 5
    paces, matter = rng.integers(1, 3, rooms), rng.uniform(0.5, 2.0, rooms)
    levels = list(itertools.product(range(most + 1), repeat=rooms))
    number = {level: i for i, level in enumerate(levels)}
    successor = np.zeros((len(levels) * rooms, 3), np.int64)
    reward = np.zeros(successor.shape)
    for level, here, action in itertools.product(levels, range(rooms), range(3)):
        there = min(rooms - 1, max(0, here + (0, -1, 1)[action]))
        after = [min(most, dirt + int(pace)) for dirt, pace in zip(level, paces, strict=True)]
        after[here] = 0 if action == 0 else after[here]
        row = number[level] * rooms + here
        successor[row, action] = number[tuple(after)] * rooms + there
        reward[row, action] = -float(matter @ after) / rooms
    start = int(rng.integers(len(successor)))
    return pp.problems.Tabular(successor, reward, noise, initial_state=start)


ONCE: list[Task] = [
    *own("jobs", (0.0, 2.0, 8.0), jobs, 0.98),
    *own("routes", (0.0, 1.0, 4.0), routes, 0.97),
    *own("sale", (0.0, 3.0, 12.0), sale, 0.99),
    *own("press", (0.0, 1.0, 4.0), press, 0.95),
    *own("fish", (0.0, 2.0, 8.0), fish, 0.95),
    *own("dust", (0.0, 0.3, 1.0), dust, 0.9),
]
