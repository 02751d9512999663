"""Machine code does not check bounds: what it writes to must have room for all it may write."""

from __future__ import annotations

import math

import pytest

import platypoos as pp
from platypoos.compile import kernels
from platypoos.compiled.platypus.algorithm import plan_on
from platypoos.planners import CompiledPlatypus


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_a_request_has_room_for_all_calls_of_a_plan(kind):
    # A turn of the tree explorer may spend the credit of all that came before, in one layer.
    problem = pp.problems.Pendulum(seed=1)
    model = problem.compiled() if kind == "compiled" else problem
    agent = pp.Agent(model, planner=CompiledPlatypus(0.95), budget=3_000, seed=1)
    state = problem.initial_state
    for _ in range(2):
        state = problem.step(state, agent.act(state).action, None).state
        search = agent._memory.ongoing.search
        for array in (search.nodes, search.repeats, search.mean, search.pulls):
            assert len(array) >= 3_000


def test_nothing_is_out_of_bounds_where_that_is_checked(monkeypatch):
    # Interpreted, NumPy checks every index.
    monkeypatch.setattr(kernels, "is_on_disk", lambda *_: False)
    loops = kernels.with_fast_kernels(plan_on._function, math.inf)
    monkeypatch.setattr(plan_on, "_python", loops)
    for problem in (pp.problems.Pendulum(seed=1), pp.problems.Pillars(seed=1)):
        episode = pp.control(problem, CompiledPlatypus(0.95), budget=300, steps=3, seed=1)
        assert set(episode.step_calls) == {300}
