"""Machine code does not check bounds: what it writes to must have room for all it may write."""

from __future__ import annotations

import pytest

import platypoos as pp
from platypoos import lab
from platypoos.planners import CompiledPlatypus


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_a_request_has_room_for_all_calls_of_a_plan(kind):
    # A turn of the tree explorer may spend the credit of all that came before, in one layer.
    problem = lab.problems.Pendulum(seed=1)
    model = problem.compiled() if kind == "compiled" else problem
    agent = pp.Agent(model, planner=CompiledPlatypus(0.95), budget=3_000, seed=1)
    state = problem.initial_state
    for _ in range(2):
        state = problem.step(state, agent.act(state), None).state
        search = agent._memory.ongoing.search
        for array in (search.nodes, search.repeats, search.mean, search.pulls):
            assert len(array) >= 3_000
