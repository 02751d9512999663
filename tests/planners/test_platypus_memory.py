"""Platypus in control: what it remembers from step to step, forgets, and drops."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import Counted
from test_platypus import GAMMA, platypus, thought_for

import platypoos as pp
from platypoos.ledger.pace import never
from platypoos.planners.platypus.memory import Memory
from platypoos.search.base import Asked


def lost(problem, episode):
    """The regret of an episode."""
    total = 0.0
    for t, (state, action) in enumerate(zip(episode.states, episode.actions, strict=False)):
        values = problem.action_values(state, GAMMA)
        total += GAMMA**t * float(values.max() - values[action])
    return total


def test_it_goes_on_where_it_stopped_while_states_are_unknown():
    # No noise, and 46 calls a step do not reach the goal: with memory they do together.
    grid = pp.problems.Grid()
    for seed in range(5):
        plain = pp.control(grid, platypus(memory=0), budget=46, steps=20, seed=seed)
        remembered = pp.control(grid, platypus(), budget=46, steps=20, seed=seed)
        assert lost(grid, remembered) < 2.0
        assert lost(grid, plain) > 2.5


@pytest.mark.parametrize("kind", ["python", "array", "compiled"])
def test_an_episode_with_memory_keeps_every_budget(kind):
    for seed in range(10):
        counted = Counted(pp.problems.Garnet(20, 3, seed=seed, noise=1.0), kind)
        episode = pp.control(counted.model, platypus(), budget=150, steps=10, seed=seed)
        assert set(episode.step_calls) == {150}
        assert counted.calls == episode.calls + len(episode.actions)  # planning, and acting


def test_memory_is_worth_having():
    # The paper's problem, ±20, 100 calls a step, seeds 0 … 19, expected return (optimum 100.4):
    # about 90 with memory, 42 without.
    model = pp.problems.SwitchChain(noise=20.0).compiled()
    plain = pp.problems.SwitchChain(shift=0.0)
    returns = {}
    for memory in (0, 10**9):
        planner = platypus(memory=memory)
        returns[memory] = np.mean(
            [
                plain.expected_return(
                    pp.control(model, planner, budget=100, steps=20, seed=seed).actions, GAMMA
                )
                for seed in range(20)
            ]
        )
    assert returns[10**9] > 80
    assert returns[10**9] > returns[0] + 20


@pytest.mark.parametrize(
    ("kind", "cap"), [("python", 400_000), ("array", 400_000), ("compiled", 250_000)]
)
def test_memory_stays_under_its_cap(kind, cap):
    model = pp.problems.Garnet(400, 3, seed=0, noise=1.0)
    model = model if kind == "python" else getattr(model, kind)()
    planner, memory = platypus(memory=cap), Memory(cap)
    state, rng = model.initial_state, np.random.default_rng(0)
    forgot, before = 0, 0
    for _ in range(60):
        plan = planner.answer(model, state, Asked(400), seed=rng, memory=memory)
        assert plan.calls == 400
        assert memory.ongoing.nbytes <= cap
        kept = memory.ongoing.search.tree.num_nodes
        forgot += kept < before
        before = kept
        state, reward, _ = model.step(state, plan.action, rng)
        memory.observe(plan.action, float(reward))
    assert not memory.dropped
    assert forgot


def test_forgetting_keeps_what_is_near_and_right():
    problem = pp.problems.Garnet(40, 3, seed=2, noise=0.1)
    ongoing = thought_for(problem, 3_000)
    before = ongoing.search.tree.num_nodes
    root = int(ongoing.search.homes.home[ongoing.child_by(1)])
    ongoing.go_on(ongoing.task._replace(budget=1_000), root, np.array([], np.int64), 24)
    tree, home, states = ongoing.search.tree, ongoing.search.homes.home, ongoing.sim.states
    assert tree.num_nodes == 1 + 7 * 3 < before  # all actions of a state or none
    assert states[0] == problem.successor[0, 1]
    for node in range(1, tree.num_nodes):
        state, action = states[tree.parent[node]], tree.action[node]
        assert states[node] == problem.successor[state, action]
        assert states[home[node]] == states[node]
        assert tree.reward[node] == pytest.approx(problem.reward[state, action], abs=0.11)
    assert ongoing.plan_on(never, stop_when_sure=False)
    assert ongoing.sim.calls == 4_000


def test_a_changed_reward_drops_the_memory():
    bonus = 0.0

    def step(state, action, rng):
        noise = float(rng.normal())
        return (state + action) % 6, float(state == 3) + bonus * action + noise, False

    model = pp.FunctionModel(step, num_actions=2, initial_state=0)
    planner, memory = platypus(memory=10**8), Memory(10**8)
    rng = np.random.default_rng(1)
    state = 0
    for t in range(30):
        bonus = 0.0 if t < 15 else 30.0
        plan = planner.answer(model, state, Asked(300), seed=rng, memory=memory)
        state, reward, _ = model.step(state, 1, rng)
        memory.observe(1, reward)
        if t == 14:
            assert not memory.dropped
        if t == 15:
            assert len(memory.dropped) == 1
            assert "expected" in memory.dropped[0]
    assert plan.action == 1


def test_another_state_than_before_drops_the_memory():
    model = pp.problems.Garnet(10, 2, seed=0)
    planner, memory = platypus(memory=10**8), Memory(10**8)
    first = planner.answer(model, 0, Asked(100), seed=0, memory=memory)
    memory.observe(first.action, model.mean_reward(0, first.action))
    wrong = (int(model.successor[0, first.action]) + 1) % 10
    again = planner.answer(model, wrong, Asked(100), seed=0, memory=memory)
    assert memory.dropped == ["an action led to another state than it did before"]
    assert again.calls == 100
