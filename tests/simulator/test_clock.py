"""Deadlines: a batch is cut between its calls, and the planner can see it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import platypoos as pp
from platypoos.simulator import Request, Simulator
from platypoos.simulator import run as module


class FakeTime:
    """A clock that calls of the model move on."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds = 0.0, seconds
        monkeypatch.setattr(module.time, "perf_counter", lambda: self.now)

    def step(self, state, action, rng):
        self.now += self.seconds
        return state + 1, 1.0, False

    def simulator(self, until, **more):
        model = pp.FunctionModel(self.step, 2, 0)
        return Simulator(
            model, np.random.default_rng(0), budget=10**6, due=lambda: self.now >= until, **more
        )


def lengths(replies):
    return [[len(walk) for walk in walks] for walks in replies]


def test_a_walk_is_cut_between_its_calls(monkeypatch):
    clock = FakeTime(monkeypatch, 1.0)
    sim = clock.simulator(until=5.0)
    replies = sim.run([Request(0, [0] * 3, 3), Request(0, [0] * 4, 4), Request(0, [0], 1)])
    assert lengths(replies) == [[3], [2], []]
    assert sim.calls == 5
    assert lengths(sim.run([Request(0, [0], 1)])) == [[]]  # time is up


def test_walks_that_are_not_begun_are_missing(monkeypatch):
    sim = FakeTime(monkeypatch, 1.0).simulator(until=4.0)
    assert lengths(sim.run([Request(0, [0, 0], 2, times=5)])) == [[2, 2]]


def test_the_first_call_of_a_decision_is_always_made(monkeypatch):
    sim = FakeTime(monkeypatch, 1.0).simulator(until=0.0)
    assert lengths(sim.run([Request(0, [0] * 3, 3), Request(0, [0], 1)])) == [[1], []]
    sim.allow(10)
    assert lengths(sim.run([Request(0, [0] * 3, 3)])) == [[1]]
    assert lengths(sim.run([Request(0, [0] * 3, 3)])) == [[]]


def test_fast_calls_are_made_a_millisecond_at_a_time(monkeypatch):
    clock = FakeTime(monkeypatch, 1e-5)
    looks = []
    sim = clock.simulator(until=1.0)
    due = sim.due
    sim.due = lambda: looks.append(sim.calls) or due()
    sim.run([Request(0, [0] * 5, 5) for _ in range(100)])
    assert sim.calls == 500
    assert len(looks) < 15
    assert max(np.diff(looks)) <= 100


def test_whoever_says_stop_is_told_every_call(monkeypatch):
    clock = FakeTime(monkeypatch, 1.0)
    sim = clock.simulator(until=100.0)
    sim.due = lambda: sim.calls >= 7
    assert lengths(sim.run([Request(0, [0] * 5, 5), Request(0, [0] * 5, 5)])) == [[5], [2]]


def test_the_clock_does_not_change_the_walks():
    def step(state, action, rng):
        return state + 1, float(rng.normal()), state > 6

    model = pp.FunctionModel(step, 2, 0)
    batch = [Request(n % 5, [0] * 4, 4, 3) for n in range(50)]
    free = Simulator(model, np.random.default_rng(0), budget=10**6)
    timed = Simulator(model, np.random.default_rng(0), budget=10**6, due=lambda: False)
    assert free.run(batch) == timed.run(batch)
    assert free.run(batch) == timed.run(batch)


def slow(state, action, rng):
    time.sleep(0.02)
    return state + 1, 1.0, False


def test_workers_stop_in_the_middle_of_a_walk():
    end = time.time() + 0.2
    with ThreadPoolExecutor(2) as pool:
        sim = Simulator(
            pp.FunctionModel(slow, 2, 0), np.random.default_rng(0), budget=10**6, executor=pool,
            due=lambda: time.time() >= end, until=end,
        )  # fmt: skip
        replies = sim.run([Request(0, [0] * 500, 500) for _ in range(6)])
    assert time.time() < end + 5
    assert [len(walks) for walks in replies] == [1, 1, 0, 0, 0, 0]
    assert sim.calls == sum(len(walk) for walks in replies for walk in walks) < 100


def test_arrays_stop_between_steps():
    def step(states, actions, rng):
        return states + 1, np.ones(len(states)), False

    sim = Simulator(pp.ArrayModel(step, 2, np.int64(0)), np.random.default_rng(0), budget=10**6)
    sim.due = lambda: sim.calls >= 3
    replies = sim.run([Request(0, [0] * 5, 5), Request(0, [0] * 5, 5)])
    assert lengths(replies) == [[3], []]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_clock_that_fails(error):
    def due():
        raise error

    sim = Simulator(pp.FunctionModel(slow, 2, 0), np.random.default_rng(0), budget=9, due=due)
    with pytest.raises(error) as caught:
        sim.run([Request(0, [0] * 3, 3)])
    assert lengths(caught.value.replies) == [[1]]
    assert sim.calls == caught.value.calls == 1
