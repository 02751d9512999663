"""Deadlines, stops, Ctrl-C and models that fail: what was learned is kept, calls are exact."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_platypus import platypus

import platypoos as pp
from platypoos.planners.platypus import session as sessions
from platypoos.search import base
from platypoos.simulator import pace, run

GAMMA = 0.9


class FakeTime:
    """A clock that only the model moves, so that nothing depends on the machine."""

    def __init__(self, monkeypatch):
        self.now, self.calls = 1_000.0, 0
        fake = SimpleNamespace(perf_counter=lambda: self.now, time=lambda: self.now)
        for module in (sessions, base, run, pace):
            if hasattr(module, "time"):
                monkeypatch.setattr(module, "time", fake)

    def model(self, seconds, *, actions=3, noise=0.5, **options):
        """A model whose steps take as long as ``seconds(number of the call)`` says."""

        def step(state, action, rng):
            self.now += seconds(self.calls)
            self.calls += 1
            return (state + action + 1) % 50, float(state % 7) + noise * rng.normal(), False

        return pp.FunctionModel(step, actions, 0, **options)


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("slow", [0.001, 0.02, 0.3])
def test_a_plan_is_never_later_than_one_call(slow, access, monkeypatch):
    clock = FakeTime(monkeypatch)
    for deadline in (0.1, 0.5, 2.0):
        for seed in range(5):
            model = clock.model(lambda _: slow, access=pp.Access(access))
            began, before = clock.now, clock.calls
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the model is slower than the deadline
                plan = platypus(GAMMA).plan(model, budget=None, deadline=deadline, seed=seed)
            took = clock.now - began
            case = f"{deadline=} {seed=} {plan.calls=}"
            # Calls are looked at a millisecond at a time.
            assert took <= deadline + max(slow, 0.002) + 1e-9, case
            assert plan.calls == clock.calls - before >= 1, case
            if slow < deadline / 4:
                assert took >= deadline - slow - 1e-9, case  # and all of it is used


def test_a_model_that_becomes_slow_is_noticed(monkeypatch):
    # 0.1 ms at first, 50 ms after 200 calls: at most one slow batch of a millisecond's calls.
    clock = FakeTime(monkeypatch)
    model = clock.model(lambda calls: 1e-4 if calls < 200 else 0.05)
    began = clock.now
    platypus(GAMMA).plan(model, budget=None, deadline=0.5, seed=0)
    assert clock.now - began <= 0.5 + 10 * 0.05 + 0.002


def test_a_deadline_and_a_budget(monkeypatch):
    clock = FakeTime(monkeypatch)
    model = clock.model(lambda _: 0.001)
    plan = platypus(GAMMA).plan(model, budget=50, deadline=10.0, seed=0)
    assert (plan.calls, plan.budget) == (50, 50)
    plan = platypus(GAMMA).plan(model, budget=5_000, deadline=0.1, seed=0)
    assert 90 <= plan.calls <= 102


def test_a_model_that_is_slower_than_the_deadline_is_warned_about(monkeypatch):
    clock = FakeTime(monkeypatch)
    model = clock.model(lambda _: 0.2)
    with pytest.warns(UserWarning, match="a call of the model takes 200 ms, and the deadline is"):
        plan = platypus(GAMMA).plan(model, budget=None, deadline=0.1, seed=0)
    assert plan.calls == 1
    agent = pp.Agent(model, planner=platypus(GAMMA), deadline=0.1, seed=0)
    agent.act(0)  # a single slow plan may have been interrupted
    with pytest.warns(UserWarning, match="a call of the model takes"):
        agent.act(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once in an episode
        for _ in range(3):
            agent.observe(0.0)
            agent.act(0)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000), at=st.integers(1, 300), access=st.sampled_from(["restore", "reset"])
)
def test_it_stops_when_told(seed, at, access):
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        return (state + action + 1) % 20, float(state == 7), False

    asked = []

    def stop(made):
        assert made == calls
        asked.append(made)
        return made >= at

    model = pp.FunctionModel(step, 2, 0, access=pp.Access(access))
    plan = pp.plan(model, planner=platypus(GAMMA), stop=stop, seed=seed)
    assert plan.calls == calls >= at
    assert asked == sorted(asked)
    assert np.isfinite(plan.value)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    at=st.integers(1, 200),
    noise=st.sampled_from([0.0, 0.5]),
    access=st.sampled_from(["restore", "reset"]),
    kind=st.sampled_from([ZeroDivisionError, KeyboardInterrupt]),
)
def test_a_failure_at_any_call_keeps_what_was_learned(seed, at, noise, access, kind):
    calls = []

    def step(state, action, rng):
        calls.append((state, action))
        if len(calls) == at:
            raise kind("broken")
        return (3 * state + action + 1) % 40, float(state % 5) + noise * rng.normal(), False

    model = pp.FunctionModel(step, 3, 0, access=pp.Access(access))
    plan = failure = None
    try:
        plan = platypus(GAMMA).plan(model, budget=200, seed=seed)
    except (pp.ModelError, KeyboardInterrupt) as error:
        failure = error
    assert len(calls) == at
    assert plan is None
    if kind is KeyboardInterrupt:
        assert isinstance(failure, KeyboardInterrupt)
        found = getattr(failure, "plan", None)
        assert found is not None or at <= 20  # nothing was known yet
        assert found is None or found.calls == at
        return
    assert isinstance(failure.__cause__, ZeroDivisionError)
    assert failure.calls == at
    assert (failure.state, failure.action) == calls[-1]
    assert f"action {calls[-1][1]}" in str(failure)
    assert f"state {calls[-1][0]}" in str(failure)
    samples = int(failure.tree.pulls[1 : failure.tree.num_nodes].sum())
    if access == "restore":
        assert samples == at - 1
    else:  # a walk that was not finished may be lost
        assert at - 21 < samples <= at - 1


@pytest.mark.parametrize("at", [30, 120])
def test_a_failure_in_an_episode_keeps_the_memory(at):
    fails, calls = True, 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if fails and calls == at:
            raise ZeroDivisionError("broken")
        return (state + action + 1) % 30, float(state == 7), False

    agent = pp.Agent(pp.FunctionModel(step, 2, 0), planner=platypus(GAMMA), budget=50, seed=0)
    state = 0
    for _ in range((at - 1) // 50):
        state = (state + agent.act(state) + 1) % 30
        agent.observe(0.0, state)
    with pytest.raises(pp.ModelError, match="broken"):
        agent.act(state)
    fails = False
    agent.act(state)
    plan = agent.plan
    assert plan.calls == 50
    assert np.isfinite(plan.value)


def test_ctrl_c_in_an_open_ended_plan_gives_the_plan():
    # Without a budget, Ctrl-C is the usual way to end.
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == 300:
            raise KeyboardInterrupt
        return (state + action + 1) % 20, float(action), False

    plan = platypus(0.5).plan(
        pp.FunctionModel(step, 2, 0), budget=None, stop=lambda _: False, seed=0
    )
    assert plan.calls == 300
    assert plan.action == 1


def test_a_horizon_is_over_at_its_last_step():
    seen = []

    def step(state, action, rng):
        seen.append(state)
        return state + 1, 1.0, False

    for access in ("restore", "reset"):
        seen.clear()
        model = pp.FunctionModel(step, 2, 0, access=access)
        plan = platypus(1.0).plan(model, budget=100, seed=0, horizon=4)
        assert max(seen) == 3
        assert plan.value == pytest.approx(4.0)
        assert len(plan.actions) <= 4
