"""plan, control and Agent take Gymnasium environments as they are."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from environments import Walk

import platypoos as pp


@pytest.mark.parametrize("name", ["CartPole-v1", "Taxi-v4", "Walk"])
def test_a_plan_from_where_the_environment_is(name):
    def make():
        env = Walk() if name == "Walk" else gymnasium.make(name)
        env.reset(seed=3)
        for _ in range(3):
            env.step(1)
        return env

    env, twin = make(), make()
    found = pp.plan(env, budget=60, discount=0.9, seed=0)
    model = pp.GymnasiumModel(twin)
    expected = pp.plan(model, budget=60, discount=0.9, seed=0)
    assert found.actions == expected.actions
    assert np.array_equal(found.action_values, expected.action_values, equal_nan=True)
    # It is left where it was.
    after, same = env.step(0), make().step(0)
    assert np.array_equal(after[0], same[0])
    assert after[1] == same[1]


def test_an_environment_that_was_not_reset():
    found = pp.plan(gymnasium.make("LunarLander-v3"), budget=40, discount=0.9, seed=0)
    expected = pp.plan(pp.GymnasiumModel("LunarLander-v3"), budget=40, discount=0.9, seed=0)
    assert found.actions == expected.actions


def test_control_and_agent():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    episode = pp.control(env, budget=50, steps=3, discount=0.9, seed=0)
    expected = pp.control(
        pp.GymnasiumModel("CartPole-v1"), budget=50, steps=3, discount=0.9, seed=0
    )
    assert episode.actions == expected.actions
    agent = pp.Agent(env, budget=50, discount=0.9, seed=0)
    before = np.array(env.unwrapped.state)
    agent.act()
    plan = agent.plan
    assert agent.model.action_names[plan.action].startswith("push")
    assert np.array_equal(env.unwrapped.state, before)


def test_messages_name_the_right_model():
    env = gymnasium.make("CartPole-v1")
    with pytest.raises(pp.InvalidArgument, match=r"pass platypoos\.GymnasiumModel\(env\)"):
        pp.PlaTyPOOS(discount=0.9).plan(env, budget=10)
    with pytest.raises(pp.InvalidArgument, match=r"platypoos\.GymnasiumModel\('CartPole-v1'\)"):
        pp.PlaTyPOOS(discount=0.9).plan("CartPole-v1", budget=10)
    with pytest.raises(pp.InvalidArgument, match="Gymnasium cannot make 'CartPol-v1'"):
        pp.plan("CartPol-v1", budget=10)
    with pytest.raises(pp.InvalidArgument, match=r"Wrap a function in platypoos\.FunctionModel"):
        pp.plan(object(), budget=10)
