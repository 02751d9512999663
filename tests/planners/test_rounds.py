"""PlaTyPOOS, SequOOL and StroquOOL without a budget: rounds with doubled budgets until time is up.

Time is a number that the model's calls move on, so nothing here depends on the machine.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from random_trees import Counted, SequenceTree

import platypoos as pp
from platypoos.search.rounds import next_budget

KINDS = [pp.PlaTyPOOS, pp.planners.SequOOL, pp.planners.StroquOOL]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_access = pytest.mark.parametrize("access", ["restore", "reset"])


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """With a deadline, machine code must be there beforehand."""
    for kind in KINDS:
        for access in ("restore", "reset"):
            kind(0.9).plan(SequenceTree(0, 3, 0.0), budget=50, seed=0, access=access)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless somebody moves it on."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def slow(clock, seconds, num_actions=3, seed=0, noise=0.0):
    """A model whose calls take some seconds of that clock, and a list of them."""
    tree = SequenceTree(seed, num_actions, noise)
    made = []

    def step(state, action, rng):
        clock[0] += seconds
        made.append((*state, action))
        return tree.step(state, action, rng)

    return pp.FunctionModel(step, num_actions, ()), made


@every_kind
@every_access
def test_the_last_complete_round_recommends(kind, access):
    # Without noise a round is the plan that its budget gives. Budgets are 3, 6, 12, …
    planner = kind(0.9)
    for seed, limit in enumerate([4, 10, 50, 200, 1_000, 3_000]):
        calls, best, size = 0, None, 3
        while True:
            plan = planner.plan(SequenceTree(seed, 3, 0.0), budget=size, seed=0, access=access)
            if calls + plan.calls >= limit:
                break
            calls, best, size = calls + plan.calls, plan, 2 * size
        found = planner.plan(
            SequenceTree(seed, 3, 0.0), budget=None, stop=limit.__le__, seed=0, access=access
        )
        assert found.actions == best.actions
        assert found.value == pytest.approx(best.value)
        assert calls < found.calls
        assert found.budget is None


@every_kind
@every_access
@pytest.mark.parametrize("form", ["python", "array", "compiled"])
def test_every_form_of_a_model_stops_when_told(kind, access, form):
    for limit in (1, 2, 40, 3_000):
        counted = Counted(pp.problems.Garnet(12, 3, seed=1, noise=0.5), form)
        heard = []

        def stop(calls, heard=heard, limit=limit):
            heard.append(calls)
            return calls >= limit

        plan = kind(0.9).plan(counted.model, budget=None, stop=stop, seed=0, access=access)
        assert plan.calls == counted.calls == heard[-1] >= limit
        assert plan.calls <= limit + 5_000  # the calls of a millisecond
        assert 0 <= plan.action < 3


@every_kind
@every_access
def test_the_deadline_is_kept_and_used(kind, access, clock):
    # A call takes a millisecond: a second is a thousand calls, and a call may be late.
    model, made = slow(clock, 0.001)
    plan = kind(0.9).plan(model, budget=None, deadline=1.0, seed=0, access=access)
    longest = 1 if access == "restore" else 30  # a walk is not cut
    assert plan.calls == len(made) <= 1_000 + longest
    assert len(made) >= 800
    # The last round is planned for all the time that was left: it is most of the plan.
    sampled = int(plan.tree.pulls.sum()) if access == "restore" else 500
    assert sampled >= 0.5 * len(made)


@every_kind
def test_a_round_that_takes_longer_than_foreseen_is_dropped(kind, clock):
    # Calls are a hundred times slower from the 500th on: the last round is not completed.
    tree = SequenceTree(0, 3, 0.0)
    made = []

    def step(state, action, rng):
        made.append(state)
        clock[0] += 0.001 if len(made) < 500 else 0.1
        return tree.step(state, action, rng)

    model = pp.FunctionModel(step, 3, ())
    plan = kind(0.9).plan(model, budget=None, deadline=1.0, seed=0)
    assert 500 <= len(made) <= 510
    assert plan.calls == len(made)
    sizes = [3 * 2**i for i in range(8)]
    rounds = [kind(0.9).plan(SequenceTree(0, 3, 0.0), budget=size, seed=0) for size in sizes]
    assert plan.actions in {found.actions for found in rounds}


@every_kind
@every_access
def test_a_hundred_actions_and_time_for_ten_calls(kind, access, clock):
    model, made = slow(clock, 0.005, num_actions=100)
    plan = kind(0.9).plan(model, budget=None, deadline=0.05, seed=0, access=access)
    assert plan.calls == len(made)
    assert len(made) in {10, 11}
    best = max(made, key=lambda a: SequenceTree(0, 100, 0.0).sample(a)[0])
    assert plan.actions == best  # of those that were tried


@every_kind
def test_a_model_slower_than_the_deadline_is_told_of(kind, clock):
    model, made = slow(clock, 0.5)
    with pytest.warns(UserWarning, match="longer than the deadline"):
        plan = kind(0.9).plan(model, budget=None, deadline=0.01, seed=0)
    assert plan.calls == len(made) == 1
    assert plan.actions == made[0]


@every_kind
@every_access
def test_a_budget_and_a_deadline(kind, access, clock):
    for seed, budget in enumerate([3, 5, 17, 100, 1_000, 4_000]):
        model, made = slow(clock, 0.001)
        plan = kind(0.9).plan(
            model, budget=budget, deadline=60.0, seed=seed, access=access
        )  # time enough: nearly all of the budget is one round
        assert plan.calls == len(made) <= budget == plan.budget
        if budget >= 100:
            alone = kind(0.9).plan(
                SequenceTree(0, 3, 0.0), budget=budget // 2, access=access, seed=0
            )
            assert plan.depth >= alone.depth
        model, made = slow(clock, 0.001)
        short = kind(0.9).plan(model, budget=budget, deadline=0.5, seed=seed, access=access)
        assert short.calls == len(made) <= min(budget, 530)


def test_the_budget_of_the_next_round():
    class Task:
        stop, open_ended, budget = None, True, 0

    class Clock:
        def __init__(self, left):
            self.left = lambda: left

    # The last round had a budget of 100 and took a second.
    after = {left: next_budget(Task, Clock(left), 100, 200, 1.0) for left in (0.5, 3.0, 6.5, 50.0)}
    assert after == {0.5: 0, 3.0: 256, 6.5: 576, 50.0: 200}  # 0.9·300 and 0.9·650, rounded down
    assert next_budget(Task, Clock(np.inf), 100, 200, 1.0) == 200
    Task.open_ended, Task.budget = False, 1_000
    assert next_budget(Task, Clock(np.inf), 100, 200, 1.0) == 200
    assert next_budget(Task, Clock(np.inf), 100, 500, 1.0) == 500  # no two more rounds
    assert next_budget(Task, Clock(1_000.0), 100, 200, 1.0) == 800  # time enough for all
    assert next_budget(Task, Clock(np.inf), 100, 950, 1.0) == 0
    Task.stop = True
    assert next_budget(Task, Clock(1_000.0), 100, 200, 1.0) == 200  # it may be stopped before


@every_kind
@pytest.mark.parametrize("after", [1, 2, 4, 50, 400])
def test_ctrl_c(kind, after):
    tree = SequenceTree(0, 3, 0.0)
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == after:
            raise KeyboardInterrupt
        return tree.step(state, action, rng)

    model = pp.FunctionModel(step, 3, ())
    if after == 1:  # nothing is known yet
        with pytest.raises(KeyboardInterrupt):
            kind(0.9).plan(model, budget=None, deadline=60, seed=0)
        return
    try:
        plan = kind(0.9).plan(model, budget=None, deadline=60, seed=0)
    except KeyboardInterrupt:
        pytest.fail("what was known is lost")
    assert plan.calls == calls == after
    calls = 0
    with pytest.raises(KeyboardInterrupt) as caught:
        kind(0.9).plan(model, budget=100_000, stop=lambda _: False, seed=0)
    assert caught.value.plan.calls == after
    assert caught.value.plan.budget == 100_000


@every_kind
def test_a_failing_model_is_told_with_all_calls(kind):
    tree = SequenceTree(0, 3, 0.0)
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == 100:
            raise ValueError("broken")
        return tree.step(state, action, rng)

    with pytest.raises(pp.ModelError, match="broken") as caught:
        kind(0.9).plan(pp.FunctionModel(step, 3, ()), budget=None, deadline=60, seed=0)
    assert caught.value.calls == 100


@every_kind
@every_access
def test_agents_and_control(kind, access, clock):
    model, made = slow(clock, 0.001)
    episode = pp.control(model, planner=kind(0.9), deadline=0.1, steps=4, seed=0, access=access)
    assert len(episode.actions) == 4
    assert len(made) == sum(episode.step_calls) + 4  # and those of acting
    assert all(60 <= calls <= 120 for calls in episode.step_calls)
    agent = pp.Agent(model, planner=kind(0.9), deadline=0.05, horizon=3, seed=0, access=access)
    state = ()
    for left in (3, 2, 1):
        agent.act(state)
        plan = agent.plan
        assert plan.horizon == left
        assert plan.calls <= 60
        assert plan.depth <= left
        agent.observe(0.0, (*state, plan.action))
        state = (*state, plan.action)


@every_kind
def test_same_seed_same_plan(kind, clock):
    # As long as calls take the same time: a request is cut where the clock is looked at.
    problem = pp.problems.Garnet(10, 3, seed=0, noise=1.0)

    def step(state, action, rng):
        clock[0] += 0.001
        return problem.step(state, action, rng)

    def plan(seed):
        model = pp.FunctionModel(step, 3, problem.initial_state)
        return kind(0.9).plan(model, budget=None, stop=lambda n: n >= 900, seed=seed)

    assert plan(1).value == plan(1).value != plan(2).value
    assert plan(1).actions == plan(1).actions
