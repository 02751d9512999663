"""Gymnasium environments: the same steps as the environment itself, and planning with them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import platypoos as pp
from platypoos.cli import main

CLASSIC = {
    "CartPole-v1": None,
    "MountainCar-v0": None,
    "Acrobot-v1": None,
    "Pendulum-v1": [[-2.0], [0.0], [2.0]],
    "MountainCarContinuous-v0": [[-1.0], [1.0]],
}
TABLES = ["CliffWalking-v1", "Taxi-v4"]


@pytest.mark.parametrize("name", [*CLASSIC, *TABLES])
def test_the_steps_are_the_environments_own(name):
    actions = CLASSIC.get(name)
    model = pp.GymnasiumModel(name, seed=3, actions=actions)
    rng = np.random.default_rng(0)
    for _ in range(3):
        env = gymnasium.make(name).unwrapped
        env.reset(seed=3)
        state = model.initial_state
        for _ in range(60):
            action = int(rng.integers(model.num_actions))
            _, reward, terminated, _, _ = env.step(model.actions[action])
            state, got, ended = model.step(state, action, rng)
            assert got == pytest.approx(float(reward), abs=1e-12)
            assert ended == terminated
            np.testing.assert_array_equal(state, env.state if name in CLASSIC else env.s)
            if terminated:
                break
    assert pp.check_model(model).ok


def test_frozen_lake_with_and_without_slipping():
    firm = pp.GymnasiumModel("FrozenLake-v1", is_slippery=False)
    # The goal is six steps away, and nothing before it gives a hint: all sequences are tried.
    episode = pp.control(firm, pp.Uniform(0.9), budget=6_000, steps=6, seed=0)
    assert episode.terminated
    assert episode.rewards[-1] == 1.0  # the goal, by the shortest way
    slippery = pp.GymnasiumModel("FrozenLake-v1")
    assert slippery.access is pp.Access.RESET
    assert slippery.max_successors == 3
    plan = pp.OPMDP(0.9, reward_max=1.0).plan(slippery, budget=3_000, seed=0)
    # Value iteration: in the first state the best action is 0, left.
    values = np.zeros(16)
    for _ in range(500):
        q = np.array(
            [
                [
                    sum(p * (r + 0.9 * values[s] * (not e)) for p, s, r, e in slippery.env.P[x][a])
                    for a in range(4)
                ]
                for x in range(16)
            ]
        )
        values = q.max(axis=1)
    assert q[0, plan.action] == pytest.approx(values[0], abs=0.01)
    assert plan.value <= values[0]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: pp.GymnasiumModel("CartPol-v1"), "Gymnasium cannot make 'CartPol-v1'"),
        (lambda: pp.GymnasiumModel("Pendulum-v1"), r"are Box\(.*pass the ones to choose from"),
        (lambda: pp.GymnasiumModel("Pendulum-v1", actions=[[7.0]]), r"\[7.\] is not in Box"),
        (lambda: pp.GymnasiumModel("Blackjack-v1"), "is not known to be restored to a state"),
    ],
)
def test_what_cannot_be_made(make, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        make()


def test_compare_on_an_environment(tmp_path, capsys):
    command = [
        "compare", "--problem", "gymnasium:env=CartPole-v1", "--planner", "platypoos", "random",
        "--budget", "500", "--seeds", "2", "--steps", "30", "--discount", "0.8", "--measure",
        "received", "--out", str(tmp_path), "--quiet",
    ]  # fmt: skip
    assert main(command) == 0
    assert "4 cells done" in capsys.readouterr().out
    assert main([*command[:2], "gymnasium:env=Blackjack-v1", *command[3:]]) == 2
    assert "not known to be restored" in capsys.readouterr().err
