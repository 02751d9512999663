"""Planners that plan for a budget, without one: rounds with doubled budgets, until time is up.

The doubling trick: every round is a plan of its own, with twice the budget of the one before, and
the last one that was completed recommends. At worst it has a quarter of all calls.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from platypoos.checks import check_floor
from platypoos.errors import ModelError
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.running import (
    BEFORE,
    PAUSED,
    Output,
    borrow_scratch,
    made,
    return_scratch,
    run,
)
from platypoos.search.schedules import Schedule
from platypoos.simulator.pace import GLANCE
from platypoos.trees.protocol import Sampler

FIRST_STAY = 64
"""Calls after which machine code returns at first, to look at the clock. Later it returns about
once in ``GLANCE`` seconds."""
LONGEST_PART = 4_096
"""Most evaluations that machine code makes before it looks whether it should return."""
SAFE = 0.9
"""Share of the time that is left for which the last round is planned."""


class Clock:
    """Tells when time is up, and counts the calls of all rounds."""

    def __init__(self, task: Task) -> None:
        self._end = None if task.deadline is None else task.started + task.deadline
        self._stop = task.stop
        self._before = 0
        self._sim: Sampler | None = None
        self._is_over = False

    def follow(self, sim: Sampler) -> None:
        """Count the calls of another round."""
        self._before, self._sim = self.calls, sim

    @property
    def calls(self) -> int:
        """Calls of all rounds so far."""
        return self._before + (0 if self._sim is None else self._sim.calls)

    def count(self, calls: int) -> None:
        """Count calls that were made elsewhere."""
        self._before += calls

    def left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._end is None else self._end - time.perf_counter()

    def due(self) -> bool:
        """Whether the deadline has passed, or the caller wants to stop; not before a call."""
        calls = self.calls
        if calls and not self._is_over:
            self._is_over = self.left() <= 0.0 or (
                self._stop is not None and bool(self._stop(calls))
            )
        return self._is_over


class Round:
    """A plan for a budget that ends when time is up."""

    def __init__(self, task: Task, schedule: Schedule, clock: Clock, floor: float | None) -> None:
        self._task, self._schedule, self._clock = task, schedule, clock
        self.sim, self._tree = task.begin(schedule.num_nodes)
        self.sim.insist_on_machine_code(run, task.deadline)
        self.sim.due = clock.due
        clock.follow(self.sim)
        self._course, self._ballot = borrow_scratch(schedule)
        self._args: tuple[Any, ...] = (
            self._tree,
            self._course,
            self._ballot,
            self.sim.advice,
            task.num_actions,
            check_floor(floor),
            task.tie_seed(),
        )
        self._found: Output = PAUSED

    def play(self) -> bool:
        """Make the plan; False if time was up before it was complete."""
        sim, stay = self.sim, FIRST_STAY
        if not sim.steps_in_python:
            self._course.at[0].part = LONGEST_PART
        while True:
            sim.pause_after(stay)
            entered = time.perf_counter()
            self._found = run(sim, *self._args)
            if self._found[0] >= 0:
                return_scratch(self._schedule, self._course, self._ballot)
                return True
            if self._clock.due():
                return False
            spent = max(time.perf_counter() - entered, 1e-9)
            stay = max(1, min(2 * stay, int(stay * GLANCE / spent)))

    @property
    def has_tried(self) -> bool:
        """Whether there is a sample."""
        return bool((self._tree.pulls[1 : self._tree.num_nodes] > 0).any())

    def settle(self) -> None:
        """Time was up in the first round: output the best of the actions that were tried."""
        at = self._course.at[0]
        at.layer = at.asked = at.done = at.turn = 0  # nothing more is asked for
        at.finalists = BEFORE
        self._found = run(self.sim, *self._args)

    def plan(self, planner: Planner) -> Plan:
        """The plan that was found."""
        return made(planner, self._task, self._tree, self.sim, self._found)


def plan_in_rounds(
    planner: Planner,
    task: Task,
    schedule_for: Callable[[Task], Schedule],
    floor: float | None,
) -> Plan:
    """Plan again and again with growing budgets, until time is up or the budget is spent.

    The last round that is complete recommends. The first has one call for each action; if not
    even that is complete, the best of the actions that were tried is recommended.
    """
    clock = Clock(task)

    def begin(budget: int) -> Round:
        part = task._replace(budget=budget)
        return Round(part, schedule_for(part), clock, floor)

    size, spent = task.num_actions, 0
    began = time.perf_counter()
    current = begin(size)
    best: Round | None = None
    try:
        while True:
            if current.play():
                best = current
            spent += size
            if clock.due():
                break
            size = next_budget(task, clock, size, spent, time.perf_counter() - began)
            if not size:
                break
            began = time.perf_counter()
            current = begin(size)
    except KeyboardInterrupt as error:
        if best is None and not current.has_tried:
            raise
        if not task.open_ended:
            error.plan = _recommended(planner, task, best, current, clock)  # type: ignore[attr-defined]
            raise
    except ModelError as error:
        error.calls = clock.calls
        raise
    return _recommended(planner, task, best, current, clock)


def next_budget(task: Task, clock: Clock, size: int, spent: int, seconds: float) -> int:
    """The budget of the next round; 0 if none would be larger than the last.

    Twice that of the last one. If only one more round fits, that has all that is left.

    Args:
        task: what was asked for.
        clock: says how much time is left.
        size: the budget of the last round.
        spent: the budgets of all rounds so far.
        seconds: that the last round took.
    """
    by_time = clock.left() * size / max(seconds, 1e-9)
    by_budget = math.inf if task.open_ended else task.budget - spent
    most = min(SAFE * by_time, by_budget)
    if most <= size:
        return 0
    foreseen = task.stop is None and by_time < math.inf
    if most >= 6 * size and not (foreseen and by_budget <= 0.5 * by_time):
        return 2 * size
    if most == by_budget:
        return int(most)
    # Four binary digits: such schedules are likely to be there already in the next step.
    digits = max(0, int(most).bit_length() - 4)
    return int(most) >> digits << digits


def _recommended(
    planner: Planner, task: Task, best: Round | None, last: Round, clock: Clock
) -> Plan:
    """The plan of the best round, with the calls of all of them."""
    if best is None:
        last.settle()
        best = last
    if task.deadline is not None and last.sim.pace.seconds > task.deadline:
        warnings.warn(
            "a call of the model takes longer than the deadline of "
            f"{1e3 * task.deadline:.3g} ms: plans make one call, and are late",
            stacklevel=2,
        )
    budget = None if task.open_ended else task.budget
    return replace(best.plan(planner), calls=clock.calls, budget=budget)
