"""Array models: all walks of a batch step together, with the replies of a function model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_simulator import batches

import platypoos as pp
from platypoos.simulator import IfLegal, Request, Simulator


def one(state, action, rng):
    after = (state * 2 + action) % 1009
    return after, float((state * 7 + action) % 13), bool(state % 89 == 88)


def many(states, actions, rng):
    assert len(states) <= 5
    return (states * 2 + actions) % 1009, (states * 7 + actions) % 13, states % 89 == 88


def heaviest(state):
    return [1.0, 2.0, float(state % 4)]


FUNCTION = pp.FunctionModel(one, 3, 1, policy=heaviest)
ARRAY = pp.ArrayModel(
    many, 3, np.int64(1), batch_size=5,
    policy=lambda s: np.stack([np.ones(len(s)), np.full(len(s), 2.0), s % 4.0], axis=1),
)  # fmt: skip


def plain(replies):
    return [[[(int(a), int(s), r, e) for a, s, r, e in walk] for walk in w] for w in replies]


@given(batches, st.integers(0, 3))
@settings(deadline=None)
def test_the_replies_are_those_of_a_function_model(batch, more):
    batch = [request._replace(steps=request.steps + more) for request in batch]
    single = Simulator(FUNCTION, np.random.default_rng(0), budget=10**6)
    array = Simulator(ARRAY, np.random.default_rng(0), budget=10**6)
    assert plain(array.run(batch)) == plain(single.run(batch))
    assert array.calls == single.calls
    array.due = lambda: False
    assert plain(array.run(batch)) == plain(single.run(batch))


def test_legal_actions_are_asked_for_all_at_once():
    asked = []

    def legal(states):
        asked.append(len(states))
        return (np.arange(3)[None] % 2) == (states[:, None] % 2)

    array = pp.ArrayModel(many, 3, np.int64(1), batch_size=5, legal=legal)
    sim = Simulator(array, np.random.default_rng(0), budget=1_000)
    replies = sim.run([Request(n, [0, 1, 2, 0], 4) for n in range(5)])
    assert asked == [5, 5, 5, 5]
    for n, (walk,) in enumerate(replies):
        state = n
        for action, after, _, _ in walk:
            assert action % 2 == state % 2
            state = int(after)


def test_an_action_that_is_tried_only_if_it_is_legal():
    def legal(states):
        return (np.arange(3)[None] % 2) == (states[:, None] % 2)

    array = pp.ArrayModel(many, 3, np.int64(1), batch_size=5, legal=legal)
    sim = Simulator(array, np.random.default_rng(0), budget=1_000)
    batch = [Request(n, [IfLegal(0), IfLegal(1)], 2) for n in range(4)]
    replies = sim.run(batch)
    assert [[action for action, *_ in walk] for (walk, *_) in replies[::2]] == [[0], [0]]
    assert replies[1] == replies[3] == [[]]
    assert sim.calls == 2


def test_rows_are_single_steps():
    states, actions = np.arange(12), np.arange(12) % 3
    sim = Simulator(ARRAY, np.random.default_rng(0), budget=24)
    rows = sim.run_rows(states, actions)
    for i, (after, reward, ended) in enumerate(zip(*rows[:3], strict=True)):
        assert (after, reward, ended) == one(i, i % 3, None)
    sim.due = lambda: sim.calls >= 15
    assert len(sim.run_rows(states, actions).rewards) >= 3
    with pytest.raises(pp.errors.BudgetExceeded):
        sim.run_rows(states, actions)
    with pytest.raises(pp.InvalidArgument, match="array models"):
        Simulator(FUNCTION, np.random.default_rng(0), budget=24).run_rows(states, actions)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_rows_that_fail(error):
    def step(states, actions, rng):
        if (states == 7).any():
            raise error
        return states + 1, np.ones(len(states)), False

    sim = Simulator(pp.ArrayModel(step, 2, 0, batch_size=3), np.random.default_rng(0), budget=100)
    try:
        rows = sim.run_rows(np.arange(12), np.zeros(12, np.int64))
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    else:
        assert rows.rewards.tolist() == [1.0] * 6
        assert isinstance(rows.failure, pp.ModelError)
    assert sim.calls == 9


def test_states_are_arrays_of_their_own():
    buffer = np.empty((4, 2))

    def step(states, actions, rng):
        buffer[: len(states)] = states + 1  # hands out the same memory each time
        return buffer[: len(states)], np.ones(len(states)), False

    sim = Simulator(pp.ArrayModel(step, 2, np.zeros(2)), np.random.default_rng(0), budget=100)
    (walk,), _ = sim.run([Request(np.zeros(2), [0, 1, 1], 3), Request(np.ones(2), [0], 1)])
    assert [state.tolist() for _, state, _, _ in walk] == [[1, 1], [2, 2], [3, 3]]


def test_failures_keep_the_rows_before_them():
    def step(states, actions, rng):
        if (states == 3).any():
            raise RuntimeError("exploded")
        return states + 1, np.ones(len(states)), False

    sim = Simulator(pp.ArrayModel(step, 2, 0), np.random.default_rng(0), budget=100)
    with pytest.raises(pp.ModelError, match=r"exploded .*batch of 2 states") as caught:
        sim.run([Request(0, [0] * 3, 3), Request(1, [0] * 3, 3)])
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert [[len(w) for w in walks] for walks in caught.value.replies] == [[2], [2]]
    assert sim.calls == caught.value.calls == 6


def test_a_bad_reward_names_its_row():
    def step(states, actions, rng):
        return states + 1, np.where(states == 3, np.nan, 1.0), False

    sim = Simulator(pp.ArrayModel(step, 2, 0), np.random.default_rng(0), budget=100)
    with pytest.raises(
        pp.errors.RewardError, match=r"reward nan.*at state .*3.*, action 1"
    ) as caught:
        sim.run([Request(0, [0] * 3, 3), Request(3, [1], 1)])
    assert (caught.value.state, caught.value.action) == (3, 1)


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        (lambda s: np.full(len(s), 7), "chose the action 7"),
        (lambda s: np.ones(len(s)), "weights of shape"),
        (lambda s: np.full((len(s), 3), np.nan), "finite weights"),
        (lambda s: 1 / 0, "policy raised ZeroDivisionError"),
    ],
)
def test_rules_that_cannot_be_followed(policy, match):
    array = pp.ArrayModel(many, 3, np.int64(1), policy=policy)
    with pytest.raises(pp.ModelError, match=match):
        Simulator(array, np.random.default_rng(0), budget=9).run([Request(1, [], 2)])


def test_a_policy_that_names_actions():
    array = pp.ArrayModel(many, 3, np.int64(1), policy=lambda s: s % 3)
    (walk,) = Simulator(array, np.random.default_rng(0), budget=9).run([Request(4, [], 3)])[0]
    assert [action for action, *_ in walk] == [1, 0, 0]


def test_rules_and_values_of_a_box_are_those_of_a_function_model():
    asked = []

    def value(states):
        asked.append(len(states))
        return -np.abs(states)

    array = pp.ArrayModel(
        lambda x, a, rng: (x + a, -np.abs(x + a), np.abs(x) > 9.0), pp.Box(-1.0, 1.0), 3.0,
        policy=lambda x: np.clip(-0.3 * x, -1.0, 1.0), value=value,
    )  # fmt: skip
    function = pp.FunctionModel(
        lambda x, a, rng: (x + a, -abs(x + a), abs(x) > 9.0), pp.Box(-1.0, 1.0), 3.0,
        policy=lambda x: float(np.clip(-0.3 * x, -1.0, 1.0)), value=lambda x: -abs(x),
    )  # fmt: skip
    plans = [pp.plan(m, budget=200, discount=0.9, seed=0) for m in (array, function)]
    assert plans[0].actions == plans[1].actions
    assert plans[0].improvement == plans[1].improvement
    assert plans[0].calls == plans[1].calls == 200
    assert len(asked) < 60  # not one by one
    wrong = pp.ArrayModel(
        lambda x, a, rng: (x + a, -x, False), pp.Box(-1.0, 1.0), 3.0, policy=lambda x: -x
    )
    with pytest.raises(pp.ModelError, match=r"no action: .*-3.*at state 3"):
        pp.plan(wrong, budget=20, discount=0.9, seed=0)
