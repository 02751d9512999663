"""Planners that need a budget, with a deadline: plans with growing budgets, the last one counts.

Time is a number that the model's calls move on, so nothing here depends on the machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest
from random_trees import SequenceTree

import platypoos as pp
from platypoos.checks import required_fields
from platypoos.planners import available
from platypoos.search.base import Asked

TOLD = {"reward_max": 1.0, "horizon": 4, "noise": 1.0, "epsilon": 0.5, "delta": 0.1, "depth": 4}
KINDS = {name: kind for name, kind in available().items() if not kind.anytime and name != "random"}
every_kind = pytest.mark.parametrize("name", KINDS)
CALL = 0.001


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless somebody moves it on."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def timed(clock, fails_after=10**9):
    """A model whose calls take a millisecond of that clock, and a list of them."""
    tree, made = SequenceTree(0, 3, 0.0), []

    def step(state, action, rng):
        clock[0] += CALL
        made.append(1)
        if len(made) == fails_after:
            raise KeyboardInterrupt
        return tree.step(state, action, rng)

    return pp.FunctionModel(step, 3, (), features=lambda state: state), made


def planner_of(name):
    kind = KINDS[name]
    return kind(0.9, **{key: TOLD[key] for key in required_fields(kind) if key != "discount"})


@every_kind
def test_a_deadline_is_kept(name, clock):
    model, made = timed(clock)
    began = clock[0]
    plan = planner_of(name).plan(model, budget=None, deadline=1.0, seed=0)
    assert plan.budget is None
    assert plan.calls == len(made)
    assert clock[0] - began <= 1.0
    if name not in {"trailblazer", "stop", "bai-mcts", "iw", "sparse-sampling", "hindsight"}:
        assert plan.calls > 500  # the others may be done, or cannot use any number of calls


@every_kind
def test_budgets_are_kept_beside_a_deadline(name, clock):
    model, made = timed(clock)
    plan = planner_of(name).plan(model, budget=400, deadline=60.0, seed=0)
    assert plan.budget == 400
    assert plan.calls == len(made) <= 400


@every_kind
def test_it_stops_when_told_to(name, clock):
    model, made = timed(clock)
    asked = []

    def stop(calls):
        asked.append(calls)
        return calls >= 200

    plan = planner_of(name).plan(model, budget=None, stop=stop, seed=0)
    assert plan.calls == len(made) <= 1_200
    assert asked or 2 * plan.calls < 24  # it was sure after the first few calls


@dataclass(frozen=True)
class Recording(pp.planners.OneStep):
    """Keeps the budget and the memory of each plan."""

    plans: list = field(default_factory=list)

    def _plan(self, task):
        self.plans.append((task.budget, task.memory))
        return super()._plan(task)


def test_the_last_plan_has_most_of_the_calls_and_the_memory(clock):
    model, made = timed(clock)
    planner = Recording(0.9)
    planner.answer(model, (), Asked(deadline=1.0), seed=0, memory="kept")
    *before, last = planner.plans
    assert [memory for _, memory in before] == [None] * len(before)
    assert last[1] == "kept"
    assert last[0] >= 0.7 * len(made) > 600


def test_an_interrupt_keeps_the_best_plan_so_far(clock):
    model, made = timed(clock, fails_after=300)
    plan = pp.planners.UCT(0.9, horizon=4).plan(model, budget=None, deadline=1.0, seed=0)
    assert len(made) == 300
    assert plan.calls < 300
    model, _ = timed(clock, fails_after=300)
    with pytest.raises(KeyboardInterrupt) as caught:
        pp.planners.UCT(0.9, horizon=4).plan(model, budget=5_000, deadline=1.0, seed=0)
    assert caught.value.plan.budget == 5_000
    model, _ = timed(clock, fails_after=3)
    with pytest.raises(KeyboardInterrupt):
        pp.planners.UCT(0.9, horizon=4).plan(model, budget=None, deadline=1.0, seed=0)
