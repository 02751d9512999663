"""Planners that need a budget, without one: plans with growing budgets, until time is up."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from platypoos.errors import InvalidArgument, ModelError
from platypoos.search.rounds import SAFE, Clock

if TYPE_CHECKING:
    from platypoos.results import Plan
    from platypoos.search.base import Planner, Task

FIRST = 8
"""The first plan has so many calls for each action."""
GROWTH = 4
"""Each plan has so many times the calls of the one before, as long as two more fit; twice as many
if nobody knows how many fit."""
LARGEST = 1 << 24
"""A planner that needs more calls than these cannot plan for a deadline."""


def plan_repeatedly(planner: Planner, task: Task) -> Plan:
    """Plan again and again, each time with more calls; the last plan counts.

    With a deadline, the last one gets the calls that fit in most of the time that is left: three
    quarters of all calls or more. Nothing is learned from one plan for the next, and what a planner
    keeps from step to step of an episode is used by the last plan only.
    """
    clock = Clock(task)
    most = LARGEST if task.open_ended else task.budget
    size, is_last = min(FIRST * task.num_actions, most), False
    best: Plan | None = None
    try:
        while True:
            began = time.perf_counter()
            try:
                found = _plan(planner, task, size, remembers=is_last)
            except InvalidArgument:  # the planner needs more calls than these
                if best is not None or size >= most:
                    raise
                size = min(2 * size, most)
                continue
            best = found
            clock.count(found.calls)
            ended_early = 2 * found.calls < size  # more calls would change nothing
            if is_last or ended_early or clock.due():
                break
            pace = (time.perf_counter() - began) / max(1, found.calls)
            fits = SAFE * clock.left() / pace if task.deadline is not None else math.inf
            size, is_last = next_size(size, fits, most - clock.calls)
            if not size:
                break
    except KeyboardInterrupt as error:
        if best is None:
            raise
        if not task.open_ended:
            error.plan = _as_asked(best, task, clock)  # type: ignore[attr-defined]
            raise
    except ModelError as error:
        error.calls += clock.calls
        raise
    return _as_asked(best, task, clock)


def next_size(size: int, fits: float, left: int) -> tuple[int, bool]:
    """The budget of the next plan, and whether it is the last; 0 if none would be larger.

    Args:
        size: the budget of the one before.
        fits: the calls that fit in the time that is left.
        left: of the whole budget.

    >>> next_size(100, fits=10_000, left=50_000), next_size(100, fits=900, left=50_000)
    ((400, False), (900, True))
    >>> next_size(100, fits=90, left=50_000)
    (0, True)
    """
    most, growth = min(fits, left), 2 if fits == math.inf else GROWTH
    if most <= size:
        return 0, True
    if most < growth * (growth + 1) * size:
        return int(most), True
    return growth * size, False


def _plan(planner: Planner, task: Task, budget: int, *, remembers: bool) -> Plan:
    """One plan for a budget."""
    part = task._replace(
        budget=budget,
        rng=np.random.default_rng(task.rng.integers(1 << 63)),
        deadline=None,
        stop=None,
        open_ended=False,
        memory=task.memory if remembers else None,
        samplers=[],
    )
    return planner._plan(part)  # noqa: SLF001  the task has been checked


def _as_asked(best: Plan, task: Task, clock: Clock) -> Plan:
    """The plan, with the calls of all that were made, and what was asked for."""
    origin = None if best.origin is None else replace(best.origin, deadline=task.deadline)
    budget = None if task.open_ended else task.budget
    return replace(best, calls=clock.calls, budget=budget, origin=origin)
