"""Masks of Gymnasium environments: which actions are legal belongs to the state."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest
from environments import AskedGates, Gates, Levers, Masker, QuietEnd, SilentGates, Walk
from gymnasium import wrappers

import platypoos as pp
from platypoos.errors import MaskError
from platypoos.models.gymnasium.snapshots import pickled


def allowed(mask):
    return tuple(np.flatnonzero(mask).tolist())


def walked(model, steps, seed=0):
    """States of a random walk over legal actions, with the place where each was made."""
    rng = np.random.default_rng(seed)
    state, ended = model.initial_state, False
    states = [state]
    while len(states) < steps and not ended:
        action = int(rng.choice(model.legal(state)))
        state, _, ended = model.step(state, action, rng)
        states.append(state)
    return states


@pytest.mark.parametrize("options", [{}, {"repeat": 2}, {"fickle_passenger": True}])
def test_taxi_has_its_own_masks(options):
    model = pp.GymnasiumModel("Taxi-v4", seed=3, **options)
    assert hasattr(model, "successors") == (not options)  # the table is as fast as it was
    env = gymnasium.make("Taxi-v4").unwrapped
    rng = np.random.default_rng(0)
    number = (lambda s: s) if not options else (lambda s: s.snapshot["s"])
    for _ in range(3):
        state = model.initial_state
        for _ in range(100):
            assert model.legal(state) == allowed(env.action_mask(number(state)))
            state, _, ended = model.step(state, int(rng.integers(6)), rng)
            if ended:
                break
    assert model.render(model.initial_state).ndim == 3
    other = pp.GymnasiumModel("Taxi-v4", seed=9, **options)
    assert model.legal(model.start(9)) == other.legal(other.initial_state)


def test_masks_for_a_list_of_actions():
    plain = pp.GymnasiumModel("Taxi-v4", seed=1)
    chosen = [5, 0, 2]
    some = pp.GymnasiumModel("Taxi-v4", seed=1, actions=chosen)
    repeated = pp.GymnasiumModel("Taxi-v4", seed=1, actions=chosen, repeat=2)
    for state in range(0, 400, 7):
        expected = tuple(action for action in chosen if action in plain.legal(state))
        assert some.legal(state) == expected
    assert repeated.legal(repeated.initial_state) == some.legal(some.initial_state)


def test_repeating_stops_where_the_action_is_no_longer_legal():
    once, often = (pp.GymnasiumModel("Taxi-v4", seed=0, repeat=n) for n in (1, 10))
    rng = np.random.default_rng(0)
    state, moves = once.initial_state, 0
    while 0 in once.legal(state):  # south, up to the wall
        state = once.step(state, 0, rng).state
        moves += 1
    assert 0 < moves < 5
    after, reward, _ = often.step(often.initial_state, 0, rng)
    assert reward == -moves
    assert often.key(after) == state
    # An action that was not legal in the first place is the environment's business.
    assert often.step(after, 0, rng).reward == -1


@pytest.mark.parametrize("make", [Gates, AskedGates])
def test_masks_belong_to_the_state(make):
    model = pp.GymnasiumModel(make, end=40)
    assert (model.method, model.access) == ("deepcopy", pp.Access.RESTORE)  # legal steps were tried
    states = [state for seed in range(3) for state in walked(model, 60, seed)]
    assert len({model.legal(state) for state in states}) >= 2
    for state in reversed(states):  # however the environment moved in between
        model.restore(state)
        core = model.env.unwrapped
        over = abs(core.place[0]) >= 40
        assert model.legal(state) == (() if over else allowed(core.mask()))
        if not over:
            for action in model.legal(state):
                model.step(state, action, np.random.default_rng(0))


@pytest.mark.parametrize("make", [Gates, AskedGates])
def test_masks_when_states_are_replayed(make):
    model = pp.GymnasiumModel(make, method="replay")
    states = walked(model, 30)
    for state in states[::-3]:
        model.restore(state)
        assert model.legal(state) == allowed(model.env.unwrapped.mask())


def test_a_mask_of_a_wrapper():
    def away_from_the_edge(env):
        position = env.unwrapped.state[0]
        return [position > -0.05, position < 0.05]

    env = Masker(gymnasium.make("CartPole-v1", render_mode="rgb_array"), away_from_the_edge)
    env = wrappers.TransformReward(env, lambda r: 2 * r)
    env.reset(seed=0)
    for _ in range(8):
        env.step(0)
    model = pp.GymnasiumModel(env)  # under way: the method is asked where it is
    assert model.method == "native"
    assert model.legal(model.initial_state) == model.legal(model.save()) == (1,)
    after, reward, _ = model.step(model.initial_state, 1, np.random.default_rng(0))
    assert reward == 2.0
    assert model.legal(after) == (1,)
    assert model.render(after).ndim == 3
    assert model.key(after) is None
    model.restore(model.initial_state)
    assert env.unwrapped.state[0] < -0.05


def test_an_environment_that_was_stepped_outside_of_the_model():
    env = Gates()
    _, info = env.reset(seed=0)
    model = pp.GymnasiumModel(env)
    with pytest.raises(MaskError, match=r"is not known.*model.save\(info=info\)"):
        model.legal(model.initial_state)
    with pytest.raises(MaskError, match="is not known"):
        model.legal(model.save())
    for _ in range(4):
        assert model.legal(model.save(info=info)) == allowed(env.mask())
        info = env.step(1)[4]
    # What planning reaches from there is known.
    after = model.step(model.save(), 1, np.random.default_rng(0)).state
    assert 1 in model.legal(after)
    asked = AskedGates()
    asked.reset(seed=0)
    model = pp.GymnasiumModel(asked)
    for place in (0, 1, 2):
        asked.place = [place]  # planning is done with a copy of it
        assert model.legal(model.save()) == allowed(asked.mask())
    taxi = gymnasium.make("Taxi-v4")
    taxi.reset(seed=0)
    model = pp.GymnasiumModel(taxi, repeat=2)  # this one can be asked
    assert model.legal(model.save()) == allowed(taxi.unwrapped.action_mask(taxi.unwrapped.s))


@pytest.mark.parametrize("env", [Walk, "CartPole-v1", "FrozenLake-v1"])
def test_no_masks_no_method(env):
    model = pp.GymnasiumModel(env)
    assert model.legal is None
    assert not callable(getattr(pp.models.NoisyReward(model, 1.0), "legal", None))


def test_masks_of_several_levers():
    def mask(env):
        return [1, 0, 1, 1, 0]  # the first lever's values, then the second's

    model = pp.GymnasiumModel(lambda: Masker(Levers(), mask))
    legal = [model.env_actions[i].tolist() for i in model.legal(model.initial_state)]
    assert legal == [[0, 0], [0, 1]]


def masked(mask):
    return lambda: Masker(Walk(), lambda _: mask)


@pytest.mark.parametrize(
    ("mask", "match"),
    [
        ([1, 1, 0], r"must have 2 entries of 0 or 1, .* got \[1, 1, 0\]"),
        (None, "must have 2 entries of 0 or 1, .* got None"),
        ("10", "must have 2 entries of 0 or 1, .* got '10'"),
        ([[1], [1, 0]], r"must have 2 entries .* got \[\[1\], \[1, 0\]\]"),
        ([0, 3], r"entries of a mask must be 0 or 1, got \[0, 3\]"),
        ([0.5, np.nan], "entries of a mask must be 0 or 1"),
    ],
)
def test_masks_that_cannot_be_read(mask, match):
    with pytest.raises(MaskError, match=match):
        pp.GymnasiumModel(masked(mask))


def test_masks_that_come_now_and_then():
    model = pp.GymnasiumModel(SilentGates, method="deepcopy")
    with pytest.raises(MaskError, match=r"no 'action_mask', though others had.*every step"):
        model.step(model.initial_state, 1, np.random.default_rng(0))


def test_an_end_needs_no_mask():
    model = pp.GymnasiumModel(QuietEnd, end=6)
    state, ended = model.initial_state, False
    while not ended:
        state, _, ended = model.step(state, 1, np.random.default_rng(0))
    assert model.legal(state) == ()


def test_masks_of_a_continuous_box():
    make = lambda: Masker(gymnasium.make("Pendulum-v1"), lambda _: [1, 1])  # noqa: E731
    with pytest.raises(pp.InvalidArgument, match=r"gives masks, but its actions are Box"):
        pp.GymnasiumModel(make, actions=2)


@pytest.mark.parametrize("options", [{}, {"repeat": 3}])
def test_masks_survive_pickling(options):
    rng = np.random.default_rng(0)
    wrapped = lambda: Masker(Walk(), lambda inner: [1, inner.place[0] < 9])  # noqa: E731
    for make in (Gates, AskedGates, wrapped):
        env = make()
        env.reset(seed=0)
        for model in (pp.GymnasiumModel(make, **options), pp.GymnasiumModel(env, **options)):
            before = pickled(model)
            state = model.step(model.initial_state, 1, rng).state
            assert pickled(model) == before
            twin = pickle.loads(before)
            sent = pickle.loads(pickled(state))
            assert model.legal(state) == twin.legal(sent)
            assert twin.legal(twin.step(sent, 1, rng).state) == model.legal(
                model.step(state, 1, rng).state
            )
    taxi = pp.GymnasiumModel("Taxi-v4", actions=[3, 1], **options)
    twin = pickle.loads(pickled(taxi))
    assert taxi.legal(taxi.initial_state) == twin.legal(twin.initial_state)
