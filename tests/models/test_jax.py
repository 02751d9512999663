"""JAX models: the same walks as with NumPy, whole batches at once."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import platypoos as pp
from platypoos.simulator import Request, Simulator

jax = pytest.importorskip("jax")
jnp = jax.numpy


def step(state, action, key):
    speed = jnp.clip(state["speed"] + action - 1, -3, 3)
    place = state["place"] + speed
    return (
        {"speed": speed, "place": place, "on": ~state["on"]},
        -jnp.abs(place - 5.0),
        place > 20,
    )


def start():
    return {"speed": jnp.int32(0), "place": jnp.float32(0.5), "on": jnp.array([True, False])}


def plain(state, action, rng):
    speed = max(-3, min(3, state[0] + action - 1))
    place = state[1] + speed
    return (speed, place, not state[2]), -abs(place - 5.0), place > 20


def by_hand(actions):
    state, walk = (0, 0.5, True), []
    for action in actions:
        state, reward, ended = plain(state, action, None)
        walk.append((state, reward, ended))
        if ended:
            break
    return walk


def test_walks_are_those_of_plain_python():
    model = pp.JaxModel(step, 3, start())
    rng = np.random.default_rng(0)
    plans = [rng.integers(0, 3, rng.integers(1, 14)).tolist() for _ in range(30)] + [[2] * 14]
    root = model.initial_state
    simulator = Simulator(model, np.random.default_rng(0), budget=10_000, state=root)
    replies = simulator.run([Request(root, plan, len(plan)) for plan in plans])
    expected = [by_hand(plan) for plan in plans]
    assert simulator.calls == sum(map(len, expected))  # not those after an end
    for plan, (walk,), wanted in zip(plans, replies, expected, strict=True):
        assert [action for action, *_ in walk] == plan[: len(wanted)]
        for (_, after, reward, ended), (state, value, over) in zip(walk, wanted, strict=True):
            found = model.unpack(after)
            assert (found["speed"], found["place"]) == state[:2]
            assert found["on"].tolist() == [state[2], not state[2]]
            assert (reward, ended) == (value, over)
    assert expected[-1][-1][2]


def test_plans_are_those_of_the_same_model_in_numpy():
    model = pp.JaxModel(step, 3, start())
    same = pp.FunctionModel(plain, 3, (0, 0.5, True))
    for planner in (pp.PlaTyPOOS(0.9), pp.Platypus(0.9), pp.planners.CEM(discount=0.9)):
        one, other = (planner.plan(m, budget=300, seed=2) for m in (model, same))
        assert (one.actions, one.calls) == (other.actions, other.calls)
        assert one.value == pytest.approx(other.value)


def test_boxes_lists_masks_and_keys():
    def move(place, action, key):
        noise = jax.random.normal(key)
        return place + action, -jnp.abs(place + action) + 0.1 * noise, False

    box = pp.JaxModel(move, pp.Box(-1.0, 1.0), jnp.float32(3.0))
    plan = pp.plan(box, budget=600, planner=pp.planners.MPPI(0.9), seed=0)
    assert plan.action < -0.3
    assert pp.plan(box, budget=600, planner=pp.planners.MPPI(0.9), seed=0).actions == plan.actions
    some = pp.JaxModel(
        move, [-1.0, 0.0, 2.0], jnp.float32(3.0), legal=lambda place: jnp.array([False, True, True])
    )
    assert pp.plan(some, budget=200, discount=0.9, seed=0).action == 0.0
    rewards = Simulator(box, np.random.default_rng(0), budget=99).run(
        [Request(box.initial_state, [(0.0,)] * 3, 3, times=2)]
    )[0]
    assert len({reward for walk in rewards for _, _, reward, _ in walk}) == 6


def test_failures_say_where():
    def bad(place, action, key):
        return place + action, jnp.where(place == 2, jnp.nan, 1.0), False

    model = pp.JaxModel(bad, 2, jnp.int32(0))
    simulator = Simulator(model, np.random.default_rng(0), budget=99, state=model.initial_state)
    with pytest.raises(pp.ModelError, match="nan") as caught:
        simulator.run([Request(model.initial_state, [1, 1, 1, 1], 4)])
    assert caught.value.calls == 3
    assert [len(walk) for walk in caught.value.replies[0]] == [2]
    with pytest.raises(pp.InvalidArgument, match=r"pytree like the initial state"):
        model.pack((1, 2))
    with pytest.raises(pp.InvalidArgument, match="numbers or arrays"):
        pp.JaxModel(bad, ["up", "down"], jnp.int32(0))
    with pytest.raises(pp.InvalidArgument, match="pytree of numbers"):
        pp.JaxModel(bad, 2, "here")
    with pytest.raises(TypeError, match="not sent to other processes"):
        pickle.dumps(model)
