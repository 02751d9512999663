"""Actions have names, which plans are printed with."""

from __future__ import annotations

import gymnasium
import numba
import numpy as np
import pytest
from environments import Walk
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.wrappers import TransformAction

import platypoos as pp

NAMES = ("left", "right")


def step(position, action, rng):
    return position + 2 * action - 1, 0.0, False


@numba.njit
def kernel(state, action, params, rng, next_state):
    next_state[0] = state[0]
    return 0.0, False


@pytest.mark.parametrize(
    "make",
    [
        lambda names: pp.FunctionModel(step, 2, 0, action_names=names),
        lambda names: pp.ArrayModel(step, 2, np.int64(0), action_names=names),
        lambda names: pp.CompiledModel(kernel, 2, np.zeros(1), action_names=names),
        lambda names: pp.GymnasiumModel(Walk, action_names=names),
    ],
)
def test_models_take_names(make):
    model = make(list(NAMES))
    assert model.action_names == NAMES
    for wrapped in (
        pp.models.NoisyReward(model, 1.0),
        pp.models.ScaledReward(model, 2.0),
        pp.models.RepeatedAction(model, repeat=2, discount=0.9),
        pp.models.ShapedReward(model, potential=lambda _: 0.0, discount=0.9),
    ):
        assert wrapped.action_names == NAMES
    assert make(None).action_names is None
    assert pp.models.NoisyReward(make(None), 1.0).action_names is None
    for wrong, match in (
        (("left",), "action_names has 1 names, 'left', but there are 2 actions"),
        ("ab", "a text for each action, such as .'left', 'right'., got 'ab'"),
        ((1, 2), "a text for each action"),
        (3, "a text for each action"),
    ):
        with pytest.raises(pp.InvalidArgument, match=match):
            make(wrong)


@pytest.mark.filterwarnings("ignore")  # of the environments
@pytest.mark.parametrize(
    ("name", "options", "names"),
    [
        ("CartPole-v1", {}, ("push left", "push right")),
        ("MountainCar-v0", {}, ("accelerate left", "do not accelerate", "accelerate right")),
        ("Acrobot-v1", {}, ("torque -1", "torque 0", "torque 1")),
        ("FrozenLake-v1", {}, ("left", "down", "right", "up")),
        ("CliffWalking-v1", {}, ("up", "right", "down", "left")),
        ("Taxi-v4", {}, ("south", "north", "east", "west", "pick up", "drop off")),
        ("Blackjack-v1", {}, ("stick", "hit")),
        (
            "LunarLander-v3", {},
            ("do nothing", "fire left engine", "fire main engine", "fire right engine"),
        ),
        ("ALE/Breakout-v5", {}, ("NOOP", "FIRE", "RIGHT", "LEFT")),
        ("ALE/Breakout-v5", {"actions": [0, 3, 2]}, ("NOOP", "LEFT", "RIGHT")),
        ("MiniGrid-Dynamic-Obstacles-6x6-v0", {}, ("left", "right", "forward")),
        (
            "MiniGrid-DoorKey-5x5-v0", {},
            ("left", "right", "forward", "pickup", "drop", "toggle", "done"),
        ),
        ("highway-fast-v0", {}, ("lane left", "idle", "lane right", "faster", "slower")),
        ("Pendulum-v1", {"actions": 3}, ("-2", "0", "2")),
        ("Reacher-v5", {"actions": [[0.12345, -1], [0, 0.5]]}, ("(0.123, -1)", "(0, 0.5)")),
        ("Pendulum-v1", {"actions": [[0.12345], [0.12346]]}, ("0.12345", "0.12346")),
    ],
)  # fmt: skip
def test_environments_know_their_actions(name, options, names):
    model = pp.GymnasiumModel(name, **options)
    assert model.action_names == names
    assert getattr(model.acting, "action_names", None) == names


def test_which_way_the_named_actions_go():
    rng = np.random.default_rng(0)
    cart = pp.GymnasiumModel("CartPole-v1")
    speeds = [cart.step(cart.initial_state, action, rng)[0][1] for action in (0, 1)]
    assert speeds[0] < speeds[1]
    lake = pp.GymnasiumModel("FrozenLake-v1", is_slippery=False)
    went = {lake.action_names[a]: lake.step(9, a, rng)[0] for a in range(4)}
    assert went == {"left": 8, "down": 13, "right": 10, "up": 5}
    cliff = pp.GymnasiumModel("CliffWalking-v1")
    went = {cliff.action_names[a]: cliff.step(14, a, rng)[0] for a in range(4)}
    assert went == {"up": 2, "right": 15, "down": 26, "left": 13}
    taxi = pp.GymnasiumModel("Taxi-v4")
    start = taxi.env.unwrapped.encode(2, 2, 0, 1)
    went = {
        taxi.action_names[a]: tuple(taxi.env.unwrapped.decode(taxi.step(start, a, rng)[0]))[:2]
        for a in range(4)
    }
    assert went == {"south": (3, 2), "north": (1, 2), "east": (2, 3), "west": (2, 1)}


class Dial(Walk):
    action_space = MultiDiscrete([2, 2])

    def step(self, action):
        return super().step(action[0])


class Meaningful(Walk):
    def get_action_meanings(self):
        return ["back", "forth"]


class Short(Meaningful):
    def get_action_meanings(self):
        return ["back"]


def test_other_environments():
    assert pp.GymnasiumModel(Walk).action_names is None
    assert pp.GymnasiumModel(Dial).action_names == ("(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)")
    assert pp.GymnasiumModel(Meaningful).action_names == ("back", "forth")
    assert pp.GymnasiumModel(Short).action_names is None


def test_a_wrapper_that_changes_actions_takes_their_names_away():
    def swapped():
        env = gymnasium.make("CartPole-v1")
        return TransformAction(env, lambda action: 1 - action, Discrete(2))

    def smooth():
        env = gymnasium.make("CartPole-v1")
        return TransformAction(env, lambda push: int(push[0] > 0), Box(-1.0, 1.0, (1,)))

    assert pp.GymnasiumModel(swapped).action_names is None
    assert pp.GymnasiumModel(smooth, actions=2).action_names == ("-1", "1")


def test_names_are_sent_to_workers():
    import cloudpickle

    model = pp.GymnasiumModel("CartPole-v1", action_names=("<", ">"))
    assert cloudpickle.loads(cloudpickle.dumps(model)).action_names == ("<", ">")
