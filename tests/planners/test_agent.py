"""Agents in loops that users write: memory, deadlines, environments that are left alone."""

from __future__ import annotations

import time

import gymnasium
import numpy as np
import pytest

import platypoos as pp
from platypoos.errors import InvalidArgument


def drive(agent, problem, steps, seed=0):
    rng = np.random.default_rng(seed)
    state, rewards, plans = problem.initial_state, [], []
    for _ in range(steps):
        agent.act(state)
        plan = agent.plan
        state, reward, _ = problem.step(state, plan.action, rng)
        agent.observe(reward)
        rewards.append(reward)
        plans.append(plan)
    return plans, rewards


def test_control_is_a_loop_over_an_agent():
    problem = pp.problems.Garnet(20, 3, seed=1, noise=0.5)
    episode = pp.control(problem, budget=200, steps=6, discount=0.9, seed=5)
    acting, planning = np.random.default_rng(5).spawn(2)
    agent = pp.Agent(problem, budget=200, discount=0.9, seed=planning)
    state, actions = problem.initial_state, []
    for _ in range(6):
        agent.act(state)
        plan = agent.plan
        state, reward, _ = problem.step(state, plan.action, acting)
        agent.observe(reward, state)
        actions.append(plan.action)
    assert tuple(actions) == episode.actions
    assert agent.steps == 6


def test_what_was_learned_is_worth_calls():
    # 20 steps on the paper's chain with noise ±20, 100 calls a step, 12 seeds: an agent that
    # remembers collects some 2 more for each step than one that does not (0.5 is asked for).
    gains = []
    for seed in range(12):
        problem = pp.problems.SwitchChain(noise=20.0)
        with_memory, without = (
            sum(drive(pp.Agent(problem, budget=100, seed=seed, memory=m), problem, 20, seed)[1])
            for m in (None, 0)
        )
        gains.append((with_memory - without) / 20)
    assert np.mean(gains) > 0.5


def test_it_finds_its_place_by_the_state_alone():
    problem = pp.problems.Garnet(20, 3, seed=1)
    agent = pp.Agent(problem, budget=300, discount=0.9, seed=0)
    state = problem.initial_state
    agent.act(state)
    first = agent.plan
    known = agent._memory.plain.session.graph.known
    state, _, _ = problem.step(state, first.action, np.random.default_rng(0))
    agent.act(state)  # nothing was observed
    assert agent._memory.plain.session.graph.known >= known
    agent.reset()
    assert agent.steps == 0
    assert agent._memory.plain.session is None


def test_observed_states_are_planned_from():
    problem = pp.problems.Grid()
    agent = pp.Agent(problem, budget=100, discount=0.9, seed=0)
    with pytest.raises(InvalidArgument, match="nothing to observe"):
        agent.observe(1.0)
    agent.act()
    first = agent.plan  # the initial state
    assert first.state == problem.initial_state
    state, reward, _ = problem.step(first.state, first.action, np.random.default_rng(0))
    agent.observe(reward, state)
    agent.act()
    assert agent.plan.state == state
    with pytest.raises(InvalidArgument, match="the current state is unknown"):
        agent.act()


def test_another_action_than_planned_is_observed():
    problem = pp.problems.Garnet(20, 2, seed=3)
    agent = pp.Agent(problem, budget=200, discount=0.9, seed=0)
    rng, state = np.random.default_rng(0), problem.initial_state
    for _ in range(5):
        other = 1 - agent.act(state)
        state, reward, _ = problem.step(state, other, rng)
        agent.observe(reward, action=other)
    assert agent._memory.plain.dropped == []  # the reward is that of the other action


def test_the_callers_environment_is_not_moved():
    env, twin = gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    twin.reset(seed=3)
    agent = pp.Agent(pp.GymnasiumModel(env), budget=200, discount=0.9, seed=0)
    for _ in range(15):
        action = agent.model.env_actions[agent.act()]
        seen, reward, terminated, _, _ = env.step(action)
        expected, _, _, _, _ = twin.step(action)
        agent.observe(reward)
        assert np.array_equal(seen, expected)
        assert not terminated


def test_the_system_may_be_another_than_the_model():
    # The memory stays: what is known of the model is still right.
    problem, real = pp.problems.Garnet(10, 2, seed=1), pp.problems.Garnet(10, 2, seed=2)
    agent = pp.Agent(problem, budget=200, discount=0.9, seed=0)
    rng, state = np.random.default_rng(0), problem.initial_state
    for _ in range(10):
        agent.act(state)
        plan = agent.plan
        state, reward, _ = real.step(state, plan.action, rng)
        agent.observe(reward, state)
    assert agent.steps == 10
    assert not agent._memory.plain.dropped


def test_a_horizon_is_counted_down():
    problem = pp.problems.Garnet(10, 2, seed=1)
    agent = pp.Agent(problem, budget=100, discount=1.0, horizon=3, seed=0)
    plans, _ = drive(agent, problem, 3)
    assert [plan.horizon for plan in plans] == [3, 2, 1]


def test_settings_are_checked():
    problem = pp.problems.Grid()
    with pytest.raises(InvalidArgument, match=r"pass budget= .* or deadline="):
        pp.Agent(problem)
    with pytest.raises(InvalidArgument, match="no setting for its memory"):
        pp.Agent(problem, budget=10, planner=pp.planners.UCT(0.9, horizon=5), memory=100)
    with pytest.raises(InvalidArgument, match="discount"):
        pp.Agent(problem, budget=10, planner=pp.Platypus(0.9), discount=0.8)


def slow(seconds, num_actions):
    def step(state, action, rng):
        time.sleep(seconds)
        made.append(state)
        return (state * 31 + action) % 997, float(action % 7 == 3), False

    made = []
    return pp.FunctionModel(step, actions=num_actions, initial_state=1), made


def test_a_request_for_all_actions_keeps_to_the_deadline():
    # 50 ms are ten calls; a request for all actions would be a hundred.
    model, made = slow(0.005, 100)
    agent = pp.Agent(model, deadline=0.05, discount=0.9, seed=0)
    for _ in range(5):
        made.clear()
        agent.act(1)
        plan = agent.plan
        assert len(made) <= 11
        assert plan.calls == len(made)


def test_a_model_slower_than_the_deadline_is_called_once_and_told_of():
    model, made = slow(0.05, 3)
    agent = pp.Agent(model, deadline=0.01, discount=0.9, seed=0)
    agent.act(1)
    plan = agent.plan
    assert plan.calls == len(made) == 1
    with pytest.warns(UserWarning, match="a call of the model takes"):  # the second time
        agent.act(1)
    assert agent.plan.calls == 1
    agent.act(1)
    assert agent.plan.calls == 1  # warned of once


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_control_takes_a_deadline(access):
    model, _ = slow(0.002, 4)
    episode = pp.control(model, deadline=0.02, steps=3, discount=0.9, seed=0, access=access)
    assert len(episode.actions) == 3
    assert all(1 <= calls <= 11 for calls in episode.step_calls)
