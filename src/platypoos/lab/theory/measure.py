"""Measured simple regret, to be held against what is promised."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument
from platypoos.lab.problems import MadeToOrder
from platypoos.models.base import Access
from platypoos.planners import Planner
from platypoos.problems import Problem
from platypoos.search.layered import LayeredPlanner
from platypoos.trees.tree import OPENED, Tree

FINE = 1e-12
"""Secrets whose gap is a smaller part of ν than this are lost in rounding; none is measured."""


@dataclass(frozen=True)
class Point:
    """The simple regret with a budget: its mean over runs, on one problem or the worst of many."""

    budget: int
    regret: float
    error: float
    """The standard error of the mean."""
    runs: int
    depth: int
    """How deep the planner's tree was."""
    secret: int | None = None
    """The depth of the secret of the worst problem, if there were several."""


def mean_regret(
    problem: Problem,
    planner: Planner,
    budget: int,
    runs: int,
    access: Access | str | None = None,
) -> Point:
    """The mean simple regret of runs, with seeds from 0 on.

    >>> import platypoos as pp
    >>> sequool = pp.planners.SequOOL(0.95)
    >>> mean_regret(pp.problems.SwitchChain(), sequool, budget=1_000, runs=3).regret
    0.0
    """
    model = problem.compiled()
    values = problem.action_values(problem.initial_state, planner.discount)
    losses = values.max() - values
    regrets, depth = np.empty(runs), 0
    for seed in range(runs):
        plan = planner.plan(model, budget=budget, seed=seed, access=access)
        regrets[seed] = losses[plan.action_index]
        depth = max(depth, plan.depth)
    error = float(regrets.std(ddof=1) / math.sqrt(runs)) if runs > 1 else 0.0
    return Point(budget, float(regrets.mean()), error, runs, depth)


def worst_regret(
    problem: MadeToOrder,
    planner: Planner,
    budget: int,
    runs: int,
    access: Access | str | None = None,
) -> Point:
    """The largest mean simple regret over all depths of the secret.

    Where the first tenth of the runs, or 10, are all right, the others are left out: it is not the
    worst. The search ends where not to find the secret costs less than what was measured already.
    """
    worst = Point(budget, 0.0, 0.0, runs, 0, None)
    missed = 1 - 1 / problem.num_good(0)  # how often a guess is wrong
    secret = 1
    while problem.horizon is None or secret <= problem.horizon:
        one = replace(problem, depth=secret)
        if missed * one.gap <= worst.regret or one.gap < FINE * problem.nu:
            return worst
        look = min(runs, max(10, runs // 10))
        if mean_regret(one, planner, budget, look, access).regret > 0:
            found = replace(mean_regret(one, planner, budget, runs, access), secret=secret)
            worst = max(worst, found, key=lambda point: point.regret)
        secret = max(secret + 1, math.ceil(1.02 * secret))
    return worst


def worst_regret_in_one_run(
    problem: MadeToOrder,
    planner: LayeredPlanner,
    budget: int,
    access: Access | str | None = None,
) -> Point:
    """The largest mean simple regret over all depths of the secret, without noise.

    The mean is over all secrets of a depth. All good sequences look alike, so a planner does the
    same wherever the secret is, until it sees it. One run with a secret too deep to be seen tells
    of all the others: a secret is found if its last node but one is opened, and else costs the
    gap if its first action is not the recommended one.
    """
    hidden = replace(problem, depth=budget)
    plan = planner.plan(hidden.compiled(), budget=budget, seed=0, access=access)
    worst = Point(budget, 0.0, 0.0, 1, plan.depth, 1)
    good = 1
    for above, opened in enumerate(_opened_by_first_action(plan.tree, problem.actions.n), 1):
        good *= problem.num_good(above - 1)
        others = good - good // problem.num_good(0)  # sequences with another first action
        missed = (others - opened.sum() + opened[plan.action_index]) / good
        gap = replace(problem, depth=above + 1).gap
        if missed * gap > worst.regret:
            worst = replace(worst, regret=float(missed * gap), secret=above + 1)
        if gap <= worst.regret:
            break
    return worst


def _opened_by_first_action(tree: Tree, num_actions: int) -> Iterator[NDArray[np.int64]]:
    """For each depth from 1 on: how many nodes are opened, by their first action."""
    depth = tree.depth[: tree.num_nodes]  # never falls: nodes are made layer by layer
    start, end = 1, 1 + num_actions
    first = tree.action[start:end]
    while start < end:
        yield np.bincount(first[tree.flags[start:end] == OPENED], minlength=num_actions)
        after = int(np.searchsorted(depth, depth[start] + 1, side="right"))
        first = first[tree.parent[end:after] - start]
        start, end = end, after


def slope(x: Iterable[float], y: Iterable[float]) -> tuple[float, float, float]:
    """The least-squares slope of y over x, its standard error, and R².

    >>> [round(value, 6) for value in slope([0, 1, 2, 3], [1, 3, 5, 7])]
    [2.0, 0.0, 1.0]
    """
    xs, ys = np.asarray(list(x), np.float64), np.asarray(list(y), np.float64)
    if len(xs) < 3:
        raise InvalidArgument(f"a slope and its error need 3 points, got {len(xs)}")
    xs, ys = xs - xs.mean(), ys - ys.mean()
    found = float(xs @ ys / (xs @ xs))
    rest = float(((ys - found * xs) ** 2).sum())
    total = float(ys @ ys)
    error = math.sqrt(rest / (len(xs) - 2) / float(xs @ xs))
    return found, error, 1 - rest / total if total else 1.0


class Notebook:
    """Points by name in a file of one JSON object a line; what is there is not measured again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.points: dict[tuple[str, int], Point] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                name = row.pop("name")
                self.points[name, row["budget"]] = Point(**row)

    def __contains__(self, name_and_budget: object) -> bool:
        return name_and_budget in self.points

    def add(self, name: str, point: Point) -> None:
        """Keep a point, on disk at once."""
        self.points[name, point.budget] = point
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, **vars(point)}) + "\n")
