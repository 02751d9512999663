"""The advice on how to plan with a model: each statement, calls, seeds, lines of code."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab
from platypoos.advising import probe as probing
from platypoos.cli.main import _parser, main

TIMED = ("call_us", "budget", "statements", "code", "command")
"""What depends on time."""


class Counting:
    """Counts the calls of another model for itself."""

    def __init__(self, model):
        self.model, self.count = model, 0
        self.actions, self.initial_state = model.actions, model.initial_state
        self.access = getattr(model, "access", pp.Access.RESTORE)

    def step(self, state, action, rng):
        self.count += 1
        return self.model.step(state, action, rng)


def ring(noise=0.0, slip=0.0):
    """Five states in a ring, as integers."""

    def step(state, action, rng):
        way = 2 * action - 1
        if slip and rng.random() < slip:
            way = -way
        return (state + way) % 5, float(state == 3) + noise * rng.random(), False

    return pp.FunctionModel(step, 2, 0)


def inertia(rate, actions=2, tells=False):
    """A number that each action pulls to its own place, by a share ``rate`` of the way."""

    def step(x, action, rng):
        x = x + rate * (2.0 * action / (actions - 1) - 1.0 - x)
        return x, x if tells else 0.0, False

    return pp.FunctionModel(step, actions, 0.123)


def lasting(length):
    """Ends after exactly ``length`` steps."""
    return pp.FunctionModel(lambda n, a, rng: (n + 1, 0.0, n + 1 == length), 2, 0)


def fickle():
    """As the ring, but random, and it can only be reset."""
    random = ring(slip=0.3)
    return pp.FunctionModel(random.step, 2, 0, access=pp.Access.RESET)


MODELS = {
    "ring": ring,
    "noisy": lambda: ring(noise=1.0),
    "random": lambda: ring(slip=0.3),
    "reset": fickle,
    "inertia": lambda: inertia(0.05),
    "ends": lambda: lasting(3),
    "compiled": lambda: pp.problems.SwitchChain().compiled(),
}


@pytest.mark.parametrize("limit", [10, 37, 333, 500])
@pytest.mark.parametrize("name", MODELS)
def test_there_is_never_a_call_too_many(name, limit):
    model = Counting(MODELS[name]())
    advice = pp.advise(model, calls=limit)
    assert advice.calls == model.count <= limit
    if name == "inertia" and limit < 500:
        assert model.count > 0.8 * limit  # it takes what it can get


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_same_advice(name):
    one, other, third = (pp.advise(MODELS[name](), seed=seed).as_dict() for seed in (5, 5, 6))
    for data in (one, other, third):
        for key in TIMED:
            del data[key]
    assert one == other
    if name == "random":
        assert one != third


def test_states_that_meet():
    advice = pp.advise(ring())
    assert advice.told_apart
    assert advice.met == advice.walk_steps - 4  # all but the first visits of the four others
    never = pp.advise(pp.FunctionModel(lambda n, a, rng: (2 * n + a, 0.0, False), 2, 1), calls=90)
    assert never.told_apart
    assert never.walks == 1
    assert never.met == 0
    lists = pp.advise(pp.FunctionModel(lambda s, a, rng: ([s[0] + a], 0.0, False), 2, [0]))
    assert not lists.told_apart
    assert "key(state)" in str(lists)


def test_noise():
    quiet, noisy = pp.advise(ring()), pp.advise(ring(noise=1.0))
    assert quiet.tried_again == noisy.tried_again == noisy.other_rewards == 40
    assert quiet.other_rewards == quiet.other_states == noisy.other_states == 0
    assert noisy.access is pp.Access.RESTORE


@pytest.mark.parametrize(("make", "declared"), [(lambda: ring(slip=0.3), False), (fickle, True)])
def test_random_dynamics_need_reset(make, declared):
    model = make()
    advice = pp.advise(model)
    assert advice.other_states > 0
    assert advice.other_rewards == 0  # rewards depend on the state alone
    assert advice.access is pp.Access.RESET
    assert ('access="reset"' in advice.code[-1]) != declared  # else it is the default


def test_declared_chance_is_planned_in_closed_loop():
    random = ring(slip=0.3)
    declared = pp.FunctionModel(random.step, 2, 0, dynamics="random")
    for model in (declared, pp.GymnasiumModel("FrozenLake-v1")):
        advice = pp.advise(model)
        assert advice.access is pp.Access.RESTORE
        assert "access=" not in advice.code[-1]
        assert "in closed loop" in str(advice)
    assert 'give it dynamics="random"' in str(pp.advise(random))
    box = pp.FunctionModel(
        lambda x, a, rng: (x + a + rng.normal(), -abs(x), False), pp.Box(-1, 1), 0.0,
        dynamics="random",
    )  # fmt: skip
    advice = pp.advise(box)
    assert advice.access is pp.Access.RESTORE
    assert "access=" not in advice.code[-1]
    assert "averaged over common scenarios; only with a list of actions" in str(advice)
    assert "in open loop" in str(advice)


def test_ends():
    advice = pp.advise(lasting(3))
    assert advice.walks == advice.walks_ended == 55
    assert advice.earliest_end == advice.typical_end == 3
    assert "soon" in str(advice)
    endless = pp.advise(ring())
    assert (endless.walks, endless.walks_ended, endless.earliest_end) == (3, 0, 0)


def test_what_a_call_costs_and_how_many_fit():
    def step(state, action, rng):
        time.sleep(0.002)  # at least
        return state, 0.0, False

    advice = pp.advise(pp.FunctionModel(step, 2, 0), calls=30, seconds=0.5)
    assert advice.call_us >= 2_000
    assert advice.budget <= 250
    assert advice.seconds == 0.5
    too_short = pp.advise(pp.FunctionModel(step, 7, 0), calls=10, seconds=0.001)
    assert too_short.budget == 7  # each action must be tried
    assert "too short" in str(too_short)


def test_actions_that_work_slowly_are_repeated():
    # Held apart, two numbers differ by 2 (1 − (1 − rate)^n) after n steps.
    # From 4 steps to 8 that is less than √2 times as much where the rate is 0.25, for example.
    rates = {0.9: 1, 0.5: 2, 0.25: 4, 0.12: 8, 0.02: 16}
    assert {rate: pp.advise(inertia(rate)).repeat for rate in rates} == rates


def test_rewards_that_are_always_the_same_are_called_constant():
    said = str(pp.advise(lab.problems.CartPole()))
    assert "every step paid the same, so only the ends tell actions apart" in said
    assert "random walks ended, the shortest after" in said
    assert "on an idle machine" in said
    assert "constant" not in str(pp.advise(inertia(0.02)))  # it pays nothing


def test_smaller_time_steps_take_longer_repeats():
    usual, finer = (pp.advise(lab.problems.Acrobot(dt=dt)) for dt in (0.2, 0.1))
    assert usual.silent
    assert (usual.repeat, finer.repeat) == (4, 8)


def test_where_actions_need_not_be_repeated():
    assert pp.advise(inertia(0.02, tells=True)).repeat == 1  # rewards say where to go
    noisy = pp.advise(pp.models.NoisyReward(inertia(0.02), 1.0))
    assert noisy.repeat == 1
    assert "rewards have noise" in str(noisy)
    assert pp.advise(lab.problems.Maze(size=6)).repeat == 1  # no vectors of floats
    assert pp.advise(lab.problems.CartPole()).repeat == 1  # it would end earlier
    half = pp.FunctionModel(lambda x, a, rng: ((x + a / 2) % 2, 0.0, False), 2, 0.0)
    assert pp.advise(half).repeat == 1  # states meet
    assert (
        pp.advise(pp.models.RepeatedAction(inertia(0.02), 2, 0.9)).repeat == 1
    )  # made for a discount


def ending(place, reward):
    """Inertia that ends where the number is ``place`` away from 0."""

    def step(x, action, rng):
        x = x + 0.02 * (2.0 * action - 1.0 - x)
        return x, reward if abs(x) > place else 0.0, abs(x) > place

    return pp.FunctionModel(step, 2, 0.0)


def test_ends_that_random_actions_find_need_no_repeat():
    found, missed = pp.advise(ending(0.1, 1.0)), pp.advise(ending(0.9, 1.0))
    assert found.walks_ended > 0
    assert missed.walks_ended == 0
    assert (found.repeat, missed.repeat) == (1, 16)


def test_walks_with_longer_actions_must_not_end_badly():
    # Held for 16 steps no action gets there from the start, but two of them in a row do.
    good, bad = (pp.advise(ending(0.3, reward), calls=800) for reward in (1.0, -1.0))
    assert good.walks_ended == bad.walks_ended == 0
    assert good.silent
    assert bad.silent
    assert good.repeat == 16
    assert bad.repeat < 16


def test_actions_that_end_episodes_when_held():
    def step(state, action, rng):
        x, last, times = state
        times = times + 1.0 if action == last else 1.0
        x = x + 0.02 * (action / 4.5 - 1.0 - x)
        return (x, float(action), times), 0.0, times == 4.0

    advice = pp.advise(pp.FunctionModel(step, 10, (0.1, -1.0, 0.0)))
    assert advice.walks_ended == 0
    assert advice.silent
    assert advice.repeat <= 2


def test_the_lines_can_be_copied(monkeypatch):
    monkeypatch.setattr(pp, "control", lambda model, **settings: (model, settings))
    names = {"model": inertia(0.05)}
    advice = pp.advise(names["model"])
    exec("\n".join(advice.code), names)  # noqa: S102  lines that were just written
    model, settings = names["episode"]
    assert isinstance(model, pp.models.RepeatedAction)
    assert model.repeat == advice.repeat > 1
    assert model.discount == pytest.approx(advice.discount, abs=1e-4)
    assert settings == {"budget": advice.budget, "steps": 100, "seed": 0}


def test_observations_tell_how_long_actions_should_last():
    import gymnasium

    class Inertia(gymnasium.Env):
        action_space = gymnasium.spaces.Discrete(2)
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.x = 0.123
            return np.array([self.x], np.float32), {}

        def step(self, action):
            self.x += 0.12 * (2.0 * action - 1.0 - self.x)
            return np.array([self.x], np.float32), 0.0, False, False, {}

    model = pp.GymnasiumModel(Inertia)
    assert model.method == "deepcopy"
    assert pp.advise(model).repeat == 8


@pytest.mark.filterwarnings("ignore")
def test_observations_are_looked_at_where_states_say_nothing():
    model = pp.GymnasiumModel("LunarLander-v3")
    advice = pp.advise(model, calls=60)
    assert "step" not in vars(model.keeper)  # nothing is left behind
    assert advice.access is pp.Access.RESET
    assert not advice.silent
    assert "vectors" not in str(advice)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("tells", [False, True])
def test_the_advice_does_not_depend_on_the_scale(scale, offset, tells):
    plain = inertia(0.12, tells=tells)

    def step(x, action, rng):
        x, reward, _ = plain.step(x / scale, action, rng)
        return scale * x, scale * (reward + offset), False

    advice = pp.advise(pp.FunctionModel(step, 2, scale * 0.123))
    assert advice.silent != tells
    assert advice.repeat == (1 if tells else 8)


def test_compiled_models_get_a_deadline():
    advice = pp.advise(pp.problems.SwitchChain().compiled(), seconds=0.25)
    assert "deadline=0.25" in advice.code[-1]


def test_as_data_and_in_notebooks():
    advice = pp.advise(ring())
    data = json.loads(json.dumps(advice.as_dict()))
    assert data["version"] == 1
    assert data["access"] == "restore"
    assert data["statements"][0]["about"] == "a call"
    model = Counting(ring())
    model.name = "<ring>"
    shown = pp.advise(model)._repr_html_()
    assert "&lt;ring&gt;" in shown
    assert "<ring>" not in shown
    assert shown.count("<tr>") == len(advice.statements)


def test_vectors_may_change_their_length():
    def step(state, action, rng):
        return (*state[-7:], state[-1] + 0.01 * action), 0.0, False

    assert pp.advise(pp.FunctionModel(step, 2, (0.5,))).repeat >= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"calls": 9}, "calls must be at least 10, got 9"),
        ({"calls": 2.5}, "calls must be a whole number"),
        ({"seconds": 0.0}, "seconds must be a finite number above 0"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(pp.InvalidArgument, match=message):
        pp.advise(ring(), **settings)


def test_what_is_no_model():
    with pytest.raises(pp.InvalidArgument, match="not a model"):
        pp.advise(42)


def test_ctrl_c_gives_advice_from_the_calls_made():
    def interrupted_at(number):
        count = 0

        def step(state, action, rng):
            nonlocal count
            count += 1
            if count == number:
                raise KeyboardInterrupt
            return (state + 1) % 7, 0.0, False

        return pp.FunctionModel(step, 2, 0)

    advice = pp.advise(interrupted_at(60))
    assert advice.interrupted
    assert advice.calls == 60
    assert advice.walk_steps == 59
    assert "interrupted" in str(advice)
    with pytest.raises(KeyboardInterrupt):
        pp.advise(interrupted_at(1))


def test_progress_is_shown_if_it_takes_long(capsys, monkeypatch):
    pp.advise(ring(), calls=20)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(probing, "PATIENCE", 0.0)
    pp.advise(ring(), calls=20, quiet=True)
    assert capsys.readouterr().err == ""
    pp.advise(ring(), calls=20)
    assert "calls" in capsys.readouterr().err


def test_the_command(capsys):
    assert main(["advise", "MountainCar-v0", "--seconds", "0.05"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("MountainCar-v0: 3 actions; ")
    said = next(line for line in shown if line.startswith("model = "))
    repeat = int(said.split("repeat=")[1].rstrip(")"))
    assert repeat > 1
    args = _parser().parse_args(shown[-1].split()[1:])  # what it prints can be run
    assert (args.env, args.repeat, args.discount) == ("MountainCar-v0", repeat, 0.95)

    assert main(["advise", "Pendulum-v1", "--actions", "3", "--calls", "100", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["num_actions"] == 3
    assert data["calls"] <= 100
    assert main(["advise", "Pendulum-v1"]) == 0  # a few actions of the box are drawn
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("Pendulum-v1: actions are not a list; ")
    assert 'model = pp.GymnasiumModel("Pendulum-v1")' in shown
    assert "--actions" not in shown[-1]
    assert any(line.split()[:2] == ["rewards", "tell"] for line in shown)
