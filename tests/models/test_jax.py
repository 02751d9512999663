"""JAX models: the same walks as with NumPy, whole batches at once."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import platypoos as pp
from platypoos.simulator import IfLegal, Request, Simulator

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
    assert (caught.value.state, caught.value.action) == (2, 1)
    with pytest.raises(pp.InvalidArgument, match=r"pytree like the initial state"):
        model.pack((1, 2))
    with pytest.raises(pp.InvalidArgument, match="numbers or arrays"):
        pp.JaxModel(bad, ["up", "down"], jnp.int32(0))
    with pytest.raises(pp.InvalidArgument, match="pytree of numbers"):
        pp.JaxModel(bad, 2, "here")
    with pytest.raises(TypeError, match="not sent to other processes"):
        pickle.dumps(model)


def test_a_step_does_not_depend_on_what_else_is_in_its_batch():
    weights = [np.random.default_rng(0).normal(size=size) / 3 for size in [(6, 24), (24, 5)]]

    def net(state, action, key):
        inputs = jnp.concatenate([state, jnp.reshape(action, 1)])
        after = jnp.tanh(inputs @ jnp.float32(weights[0])) @ jnp.float32(weights[1])
        return after, -after[0], False

    model = pp.JaxModel(net, 3, jnp.ones(5))
    root = model.initial_state
    simulator = Simulator(model, np.random.default_rng(0), budget=10_000, state=root)
    plan = [0, 2, 1, 2]
    alone = simulator.run([Request(root, plan, 4)])[0][0]
    among = simulator.run([Request(root, [1], 1)] * 7 + [Request(root, plan, 4)] * 40)[7:]
    for (walk,) in among:
        for one, other in zip(alone, walk, strict=True):
            assert one[1].tobytes() == other[1].tobytes()
            assert one[2] == other[2]
    before = root
    for action, after, reward, _ in alone:  # nor on the steps before it
        again = simulator.run([Request(before, [action], 1)])[0][0][0]
        assert (again[1].tobytes(), again[2]) == (after.tobytes(), reward)
        before = after
    # Steps that are rounded in two ways were taken for random dynamics.
    assert pp.Platypus(0.9).plan(model, budget=300, seed=0).calls == 300


def test_walks_go_on_from_the_states_that_are_told():
    def slide(state, action, key):
        speed = 0.95 * state["speed"] + action
        place = state["place"] + 0.1 * speed
        return {"place": place, "speed": speed}, -(place**2) - 0.01 * speed**2, False

    start = {"place": jnp.float32(0.3), "speed": jnp.float32(0.1)}
    model = pp.JaxModel(
        slide, pp.Box(-1.0, 1.0), start, policy=lambda s: jnp.clip(-s["place"], -1, 1)
    )
    root = model.initial_state
    rng = np.random.default_rng(0)
    plans = [[(x,) for x in rng.uniform(-1, 1, 8).astype(np.float32).tolist()] for _ in range(20)]
    simulator = Simulator(model, np.random.default_rng(0), budget=10_000, state=root)
    walks = [walk for (walk,) in simulator.run([Request(root, plan, 12) for plan in plans])]
    steps = [(before[1], *after) for walk in walks for before, after in itertools.pairwise(walk)]
    again = simulator.run([Request(state, [action], 1) for state, action, *_ in steps])
    for (_, _, after, reward, _), ((step,),) in zip(steps, again, strict=True):
        assert (step[1].tobytes(), step[2]) == (after.tobytes(), reward)


def test_each_request_has_its_own_random_numbers():
    def drift(place, action, key):
        after = place + action + jax.random.normal(key)
        return after, -jnp.abs(after), False

    model = pp.JaxModel(drift, pp.Box(-1.0, 1.0), jnp.float32(0.0), dynamics="random")
    root = model.initial_state
    simulator = Simulator(model, np.random.default_rng(0), budget=10_000, state=root)
    batch = [Request(root, [(0.0,)] * steps, steps, times=times) for steps, times in
             [(3, 1), (5, 2), (1, 1), (3, 1), (2, 6)]]  # fmt: skip
    words = np.random.default_rng(1).bytes(16 * len(batch))

    def rewards(replies):
        return [[[step[2] for step in walk] for walk in walks] for walks in replies]

    together = rewards(simulator.run(batch, words=words))
    for place, request in enumerate(batch):
        alone = simulator.run([request], words=words[16 * place : 16 * (place + 1)])
        assert rewards(alone) == [together[place]]
    drawn = [walk[0] for walks in together for walk in walks]
    assert len(set(drawn)) == len(drawn) == 11
    # So sequences are compared in the same scenarios: the noise cancels.
    plan = pp.plan(model, budget=400, discount=0.9, seed=0)
    assert pp.plan(model, budget=400, discount=0.9, seed=0).actions == plan.actions


def rule(state, action, key):
    after = (state * 2 + action) % 1009
    return after, jnp.float32((state * 7 + action) % 13), state % 89 == 88


def rule_plainly(state, action, rng):
    after = (state * 2 + action) % 1009
    return after, float((state * 7 + action) % 13), state % 89 == 88


def test_rules_and_masks_are_followed_within_a_call():
    model = pp.JaxModel(
        rule,
        [0, 1, 2],
        jnp.int32(1),
        legal=lambda s: jnp.array([True, True, False]) | (s % 3 == 0),
        policy=lambda s: jnp.stack([1.0, 2.0, s % 4.0]),
    )
    same = pp.FunctionModel(
        rule_plainly,
        [0, 1, 2],
        1,
        legal=lambda s: [0, 1, 2] if s % 3 == 0 else [0, 1],
        policy=lambda s: [1.0, 2.0, s % 4.0],
    )
    asked = []
    for start in range(0, 60, 3):  # 2 is legal there
        asked += [(start, [2, 0], 9), (start, [], 12), (start, [2], 1)]
        asked += [(start + 1, [IfLegal(1), IfLegal(2), IfLegal(0)], 3), (start, [IfLegal(2)], 1)]
    batch = [Request(state, actions, steps) for state, actions, steps in asked]
    single = Simulator(same, np.random.default_rng(0), budget=10**6).run(batch)
    simulator = Simulator(model, np.random.default_rng(0), budget=10**6)
    batch = [request._replace(state=model.pack(np.int32(request.state))) for request in batch]
    replies = simulator.run(batch)
    found = [
        [[(a, int(model.unpack(s)), r, e) for a, s, r, e in walk] for walk in walks]
        for walks in replies
    ]
    assert found == single
    assert simulator.calls == sum(len(walk) for walks in single for walk in walks)
    assert any(walk[-1][3] for walks in single for walk in walks if walk)
    replaced = simulator.run([Request(model.pack(np.int32(1)), [2], 1, times=40)])[0]
    assert {walk[0][0] for walk in replaced} == {0, 1}  # 2 is not legal there
    plans = [pp.Platypus(0.9).plan(m, budget=200, seed=0) for m in (model, same)]
    assert plans[0].actions == plans[1].actions
    assert plans[0].improvement == plans[1].improvement


@pytest.mark.parametrize(
    ("functions", "calls", "match"),
    [
        (
            {"policy": lambda s: jnp.where(s == 37, jnp.nan, jnp.ones(3))},
            3,
            r"policy .*nan.*\b37\b",
        ),
        ({"policy": lambda s: s * 0 + 7}, 3, r"policy returned .*7.*\b37\b"),
        ({"legal": lambda s: jnp.full(3, s != 18)}, 2, r"no action is legal .*\b18\b"),
    ],
)
def test_what_a_rule_or_mask_says_is_checked(functions, calls, match):
    model = pp.JaxModel(rule, 3, jnp.int32(1), **functions)
    simulator = Simulator(model, np.random.default_rng(0), budget=99)
    steps = 6 if "policy" in functions else 3
    with pytest.raises(pp.ModelError, match=match) as caught:  # the walk is 4, 9, 18, 37
        simulator.run([Request(model.pack(np.int32(4)), [1, 0, 1], steps)])
    assert caught.value.calls == simulator.calls == calls
    assert [len(walk) for walk in caught.value.replies[0]] == [calls]


def test_the_rule_of_a_box():
    def move(place, action, key):
        after = place + action
        return after, -jnp.abs(after), False

    model = pp.JaxModel(
        move, pp.Box(-1.0, 1.0), jnp.float32(3.0), policy=lambda x: jnp.clip(-x, -1, 1)
    )
    plan = pp.plan(model, budget=100, discount=0.9, seed=0)
    assert plan.action == -1.0
    wide = pp.JaxModel(move, pp.Box(-1.0, 1.0), jnp.float32(3.0), policy=lambda x: -x)
    with pytest.raises(pp.ModelError, match="policy"):
        pp.plan(wide, budget=100, discount=0.9, seed=0)
