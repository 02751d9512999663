"""The advice for Gymnasium environments: lines that make them again."""

from __future__ import annotations

import numpy as np
import pytest

import platypoos as pp


@pytest.mark.parametrize(
    ("env", "settings", "said"),
    [
        ("Pendulum-v1", {"actions": 5}, 'pp.GymnasiumModel("Pendulum-v1", actions=5)'),
        ("MountainCar-v0", {"seed": 2}, 'pp.GymnasiumModel("MountainCar-v0", seed=2, repeat='),
        (
            "FrozenLake-v1",
            {"is_slippery": False},
            'pp.GymnasiumModel("FrozenLake-v1", is_slippery=False)',
        ),
        (
            "CartPole-v1",
            {"repeat": 2, "method": "deepcopy", "resolution": 0.5},
            'pp.GymnasiumModel("CartPole-v1", repeat=2, method="deepcopy", resolution=0.5)',
        ),
        (
            "Pendulum-v1",
            {"actions": [np.array([-2.0], np.float32), np.array([2.0], np.float32)]},
            'pp.GymnasiumModel("Pendulum-v1", actions=2)',
        ),
        (
            "HalfCheetah-v5",
            {"actions": "sparse"},
            'pp.GymnasiumModel("HalfCheetah-v5", actions="sparse")',
        ),
        (
            "Pendulum-v1",
            {"actions": [np.array([-1.0], np.float32), np.array([2.0], np.float32)]},
            'pp.GymnasiumModel("Pendulum-v1", actions=actions)',
        ),
    ],
)
def test_environments_are_made_again_as_they_were(env, settings, said):
    advice = pp.advise(pp.GymnasiumModel(env, **settings))
    assert advice.code[2].startswith(f"model = {said}")
    assert bool(advice.command) == ("actions=actions" not in said)


def test_episodes_last_up_to_the_time_limit():
    assert "steps=200," in pp.advise(pp.GymnasiumModel("Pendulum-v1", actions=5)).code[-1]
    repeated = pp.advise(pp.GymnasiumModel("Pendulum-v1", actions=5, repeat=3))
    assert repeated.repeat == 3
    assert "steps=67," in repeated.code[-1]


def test_an_environment_under_way_is_left_where_it_is():
    import gymnasium

    env = gymnasium.make("MountainCar-v0")
    env.reset(seed=3)
    for _ in range(5):
        env.step(2)
    before = tuple(env.unwrapped.state)
    advice = pp.advise(pp.GymnasiumModel(env))
    assert advice.repeat > 1
    assert tuple(env.unwrapped.state) == before
    assert "pp.GymnasiumModel(env, repeat=" in advice.code[2]
