"""Keys of Gymnasium environments: a function of one's own, and cells."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest
from environments import NoisyWalk, Walk
from gymnasium import wrappers

import platypoos as pp
from platypoos.cli.main import main
from platypoos.models.gymnasium.snapshots import pickled
from platypoos.search.base import Asked

RNG = np.random.default_rng(0)
WIDTHS = (1 / 20, 1 / 200)


def test_states_in_one_cell_have_one_key():
    model = pp.GymnasiumModel("MountainCar-v0", resolution=WIDTHS)
    state, keys = model.initial_state, []
    for step in range(60):
        values = np.array(state.snapshot)
        assert model.key(state) == tuple(np.floor(values / WIDTHS))
        assert model.key(values) == model.key(state)  # a bare state will do
        keys.append(model.key(state))
        state = model.step(state, 2 * (step % 30 < 15), RNG).state
    assert 5 < len(set(keys)) < 40
    same = pp.GymnasiumModel("MountainCar-v0", resolution=0.01)
    assert same.key((-0.501, 0.019)) == same.key((-0.509, 0.0101)) == (-51, 1)
    assert same.key((-0.501, 0.019)) != same.key((-0.499, 0.019))
    # Planning starts from a bare state, too.
    assert pp.plan(same, np.array([-0.4, 0.0]), budget=50, discount=0.9, seed=0).calls <= 50


def test_cells_lead_up_the_mountain():
    """The top is silent: without cells 4 of 10 seeds reach it with so many calls, with them all."""
    for seed in range(4):
        model = pp.GymnasiumModel("MountainCar-v0", seed=seed, repeat=8, resolution=WIDTHS)
        assert pp.control(model, budget=1_000, steps=25, discount=0.99, seed=seed).terminated


def test_an_end_shares_its_cell_with_none():
    model = pp.GymnasiumModel("MountainCar-v0", resolution=(0.08, 0.02))  # the goal is inside
    below = model.step(np.array([0.485, 0.005]), 0, RNG)
    above = model.step(np.array([0.485, 0.02]), 2, RNG)
    assert (below.terminated, above.terminated) == (False, True)
    cells = [tuple(np.floor(np.array(w.state.snapshot) / (0.08, 0.02))) for w in (below, above)]
    assert cells[0][0] == cells[1][0] == 6
    assert model.key(below.state) == cells[0]
    assert model.key(above.state) is None
    # On the line all ends are in a cell with states that go on: planning is not misled.
    walk = pp.GymnasiumModel(Walk, end=9, resolution=4.0)
    for seed in range(5):
        assert pp.plan(walk, budget=200, discount=0.9, seed=seed).calls <= 200
    states = [walk.initial_state]
    while not (found := walk.step(states[-1], 1, RNG)).terminated:
        states.append(found.state)
    assert walk.key(states[-1]) == (2.0,)  # 8, beside 9, 10 and 11
    assert walk.key(found.state) is None


def test_cells_of_observations():
    model = pp.GymnasiumModel(Walk, resolution=3.0)
    state = model.initial_state
    for _ in range(10):
        assert model.key(state) == (state.snapshot.unwrapped.place[0] // 3,)
        state = model.step(state, 1, RNG).state
    twice = wrappers.TransformObservation(gymnasium.make("MountainCar-v0"), lambda o: 2 * o, None)
    seen = pp.GymnasiumModel(twice, seed=0, resolution=0.1)  # what the wrapper makes of it
    position = seen.initial_state.snapshot[0][0]
    assert seen.key(seen.initial_state) == (np.floor(2 * position / 0.1), 0.0)
    body = pp.GymnasiumModel("InvertedPendulum-v5", actions=3, resolution=[0.1, 0.1, 1.0, np.inf])
    after = body.step(body.initial_state, 2, RNG).state
    assert len(body.key(after)) == 4
    assert np.isclose(body.key(after)[3], 0)  # an infinite width leaves an entry out


def test_an_observation_that_the_model_did_not_see():
    env = Walk()
    observation, _ = env.reset(seed=0)
    model = pp.GymnasiumModel(env, resolution=3.0)
    with pytest.raises(pp.InvalidArgument, match=r"model.save\(observation=observation\)"):
        model.key(model.initial_state)
    assert model.key(model.save(observation)) == (env.place[0] // 3,)
    after = model.step(model.initial_state, 1, RNG).state
    assert model.key(after) == ((env.place[0] + 1) // 3,)
    car = gymnasium.make("MountainCar-v0")
    car.reset(seed=0)
    model = pp.GymnasiumModel(car, resolution=WIDTHS)  # the state is enough
    assert model.key(model.initial_state) == model.key(model.save()) is not None


def test_a_key_of_ones_own():
    model = pp.GymnasiumModel(Walk, key=lambda env: env.unwrapped.place[0])
    state = model.step(model.initial_state, 1, RNG).state
    back = model.step(state, 0, RNG).state
    assert model.key(back) == model.key(model.initial_state) != model.key(state)
    # States are shared, so there are few of them.
    nodes = []
    for walk in (model, pp.GymnasiumModel(Walk)):
        planner = pp.Platypus(0.9)
        memory = planner.remember()
        planner.answer(walk, walk.initial_state, Asked(1_000), seed=0, memory=memory)
        nodes.append(memory.plain.session.graph.known)
    assert 3 * nodes[0] < 2 * nodes[1]
    lake = pp.GymnasiumModel("FrozenLake-v1", is_slippery=False, key=lambda s: s % 4)
    assert lake.key(7) == 3
    noted = pp.GymnasiumModel("MountainCar-v0", ends=lambda _: False, key=lambda s: float(s[0]))
    assert noted.key(noted.initial_state) == noted.initial_state.snapshot[0]  # without the notes


def test_toy_text_without_its_table_has_keys_too():
    lake = pp.GymnasiumModel("FrozenLake-v1", is_slippery=False, repeat=2)
    after = lake.step(lake.initial_state, 2, RNG).state
    assert (lake.key(lake.initial_state), lake.key(after)) == (0, 2)


def test_cells_survive_pickling():
    for model in (
        pp.GymnasiumModel("MountainCar-v0", resolution=WIDTHS),
        pp.GymnasiumModel(NoisyWalk, resolution=2.0),
        pp.GymnasiumModel(Walk, key=lambda env: env.unwrapped.place[0]),
    ):
        twin, state = pickle.loads(pickled(model)), pickle.loads(pickled(model.initial_state))
        assert twin.key(state) == model.key(model.initial_state)
        after = twin.step(state, 1, RNG).state
        assert model.key(after) == twin.key(after)


@pytest.mark.parametrize(
    ("env", "options", "match"),
    [
        ("MountainCar-v0", {"resolution": 0}, r"shape \(2,\), got 0"),
        ("MountainCar-v0", {"resolution": (0.1, -1)}, r"above 0, .*of MountainCar-v0.*\(0.1, -1\)"),
        (
            "MountainCar-v0",
            {"resolution": (0.1, 1, 1)},
            r"one for each entry.*\(2,\), got \(0.1, 1",
        ),
        ("MountainCar-v0", {"resolution": "fine"}, "got 'fine'"),
        ("MountainCar-v0", {"resolution": True}, "got True"),
        ("MountainCar-v0", {"resolution": float("nan")}, "got nan"),
        ("Taxi-v4", {"resolution": 0.1}, "Taxi-v4 are Discrete.*pass key="),
        ("ALE/Pong-v5", {"resolution": 1.0}, r"are Box, shape \(210, 160, 3\), type uint8"),
        ("MiniGrid-Empty-8x8-v0", {"resolution": 1.0}, "are Dict"),
        (Walk, {"resolution": 1.0, "key": id}, "pass one of them"),
        (Walk, {"key": 3}, "key must be a function, got 3"),
    ],
)
def test_what_cannot_be_divided(env, options, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.GymnasiumModel(env, **options)


def test_cells_and_lives_on_the_command_line(capsys):
    assert main(["check", "MountainCar-v0", "--resolution", "0.05,0.005"]) == 0
    assert "ok       cells: the same action from two states of one cell" in capsys.readouterr().out
    game = ["ALE/Breakout-v5", "--option", "repeat_action_probability=0.0", "--lives", "ignore"]
    assert main(["play", *game, "--budget", "8", "--steps", "2", "--quiet"]) == 0
    assert main(["play", "CartPole-v1", "--lives", "end"]) == 2
    assert main(["check", "CartPole-v1", "--resolution", "0.1,0.2"]) == 2
    assert "shape (4,), got [0.1, 0.2]" in capsys.readouterr().err
