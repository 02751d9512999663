"""Lives and other ends for planning: acting goes on."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import gymnasium
import numpy as np
import pytest
from environments import Pits, Walk
from gymnasium import wrappers

import platypoos as pp
from platypoos.models.gymnasium.snapshots import pickled

FIRM = {"repeat_action_probability": 0.0, "frameskip": 15}
RNG = np.random.default_rng(0)


def before_the_loss(model):
    """The state and the action that lose the first life, by firing and waiting."""
    state = model.initial_state
    for i in range(60):
        action = int(i % 6 == 0)
        if model.step(state, action, RNG).terminated:
            return state, action
        state = model.acting.step(state, action, RNG).state
    return pytest.fail("no life was lost")


def test_a_life_lost_in_breakout_is_an_end_for_planning_only():
    model = pp.GymnasiumModel("ALE/Breakout-v5", **FIRM, lives="end")
    state, action = before_the_loss(model)
    planned, acted = model.step(state, action, RNG), model.acting.step(state, action, RNG)
    assert planned.terminated is True
    assert acted.terminated is False
    assert acted.reward == planned.reward
    assert acted.state.lives == planned.state.lives == state.lives - 1 == 4
    # Planning goes on from there, and the next step loses nothing.
    assert model.step(acted.state, action, RNG).terminated is False
    plan = pp.plan(model, acted.state, budget=20, discount=0.9, seed=0)
    assert 0 <= plan.action < 4
    assert model.render(acted.state).shape == (210, 160, 3)
    ignored = pp.GymnasiumModel("ALE/Breakout-v5", **FIRM, lives="ignore")
    assert ignored.step(state.snapshot, action, RNG).terminated is False
    assert ignored.acting is ignored


def test_atari_ends_at_a_life_unless_it_is_said():
    model = pp.GymnasiumModel("ALE/Breakout-v5", **FIRM)
    assert model.lives == "end"
    before_the_loss(model)
    assert pp.GymnasiumModel("CartPole-v1").lives == "ignore"
    env = gymnasium.make("ALE/Breakout-v5", **FIRM)
    env = wrappers.TransformReward(env, lambda r: r)
    env.reset(seed=0)
    under_way = pp.GymnasiumModel(env)  # it can be asked how many there are
    assert under_way.initial_state.lives == under_way.save().lives == 5
    before_the_loss(under_way)
    quiet = wrappers.TransformReward(gymnasium.make("ALE/Breakout-v5", **FIRM), lambda r: r)
    vars(quiet)["step"] = lambda action: (*gymnasium.Wrapper.step(quiet, action)[:4], {})
    vars(quiet)["reset"] = lambda **o: (gymnasium.Wrapper.reset(quiet, **o)[0], {})
    assert pp.GymnasiumModel(quiet, seed=0).lives == "ignore"


def ends_of(model, steps=40):
    """At which of some steps to the right planning ends, and where acting does."""
    state, found = model.initial_state, []
    for step in range(1, steps):
        if model.step(state, 1, RNG).terminated:
            found.append(step)
        state, _, over = model.acting.step(state, 1, RNG)
        if over:
            return found, step
    return found, None


def test_lives_of_any_environment():
    assert ends_of(pp.GymnasiumModel(Pits, lives="end")) == ([5, 10, 15], 15)
    assert ends_of(pp.GymnasiumModel(Pits)) == ([15], 15)
    assert ends_of(pp.GymnasiumModel(Pits, lives="end", method="replay")) == ([5, 10, 15], 15)


def test_ends_by_the_info():
    model = pp.GymnasiumModel(Pits, ends=lambda info: info["at"] == 7)
    assert ends_of(model) == ([7, 15], 15)
    both = pp.GymnasiumModel(Pits, ends=lambda info: info["at"] == 7, lives="end")
    assert ends_of(both) == ([5, 7, 10, 15], 15)
    # Fast paths that skip the info are not taken.
    pole = pp.GymnasiumModel("CartPole-v1", ends=lambda info: info == {})
    assert pole.step(pole.initial_state, 0, RNG).terminated
    assert not pole.acting.step(pole.initial_state, 0, RNG).terminated
    taxi = pp.GymnasiumModel("Taxi-v4", ends=lambda info: info["action_mask"][0] == 0)
    assert not hasattr(taxi, "successors")
    assert taxi.key(taxi.initial_state) == pp.GymnasiumModel("Taxi-v4").initial_state
    frames = pp.GymnasiumModel(
        "ALE/Pong-v5", **FIRM, ends=lambda info: info["episode_frame_number"] >= 30
    )
    state = frames.step(frames.initial_state, 0, RNG).state
    assert frames.step(state, 0, RNG).terminated


def test_repeats_are_cut_short_where_planning_ends_in_both_models():
    model = pp.GymnasiumModel(Pits, lives="end", repeat=3)
    state = model.acting.step(model.initial_state, 1, RNG).state  # 1, 2, 3
    planned, acted = model.step(state, 1, RNG), model.acting.step(state, 1, RNG)
    assert (planned.reward, acted.reward) == (9.0, 9.0)  # 4 and 5: the life is lost
    assert (planned.terminated, acted.terminated) == (True, False)
    assert model.acting.step(acted.state, 1, RNG).reward == 6 + 7 + 8


def test_the_acting_model_offers_what_the_model_does():
    model = pp.GymnasiumModel("ALE/Breakout-v5", **FIRM)
    acting = model.acting
    assert isinstance(acting, pp.Model)
    assert (acting.access, acting.name, acting.actions.n) == (model.access, model.name, 4)
    assert acting.acting is acting
    assert acting.legal is None
    assert acting.initial_state is model.initial_state
    acting.restore(acting.initial_state)
    assert acting.render(acting.save()).ndim == 3
    assert not hasattr(acting, "successors")
    assert pickle.loads(pickled(acting)).step(acting.initial_state, 0, RNG).terminated is False


def test_workers_end_at_a_life_too():
    model = pp.GymnasiumModel("ALE/Breakout-v5", **FIRM, lives="end")
    state, action = before_the_loss(model)
    twin = pickle.loads(pickled(model))
    sent = pickle.loads(pickled(state))
    assert twin.step(sent, action, RNG).terminated
    assert not twin.acting.step(sent, action, RNG).terminated
    walk = pp.GymnasiumModel(Pits, ends=lambda info: info["at"] == 7)
    assert ends_of(pickle.loads(pickled(walk))) == ([7, 15], 15)
    alone = pp.plan(model, state, budget=24, discount=0.9, seed=0)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        plan = pp.plan(model, state, budget=24, discount=0.9, seed=0, executor=pool)
    assert (plan.actions, plan.value) == (alone.actions, alone.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"env": "CartPole-v1", "lives": "end"},
            "needs info.'lives'., but .* CartPole-v1 has noth",
        ),
        ({"env": "Taxi-v4", "lives": "end"}, "has 'prob', 'action_mask'; pass ends="),
        ({"env": Walk, "lives": 3}, "lives must be 'end' or 'ignore', got 3"),
        ({"env": Walk, "ends": "lives"}, "ends must be a function, got 'lives'"),
    ],
)
def test_what_cannot_be_an_end(options, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.GymnasiumModel(**options)


def test_an_error_in_ends_says_where():
    model = pp.GymnasiumModel(Pits, ends=lambda info: info["nothing"])
    with pytest.raises(pp.ModelError, match="raised KeyError: 'nothing'"):
        pp.plan(model, budget=10, discount=0.9)
