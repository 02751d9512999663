"""Models that fail: the error says where and why, and what was learned is kept."""

from __future__ import annotations

import math
import traceback

import numba
import numpy as np
import pytest
from random_trees import THINKING

import platypoos as pp

MODEL = pp.problems.SwitchChain()


def bad_reward_model(kind, reward):
    """Rewards are 1, and the bad one in state 3 (reached by three actions 0)."""
    if kind == "python":
        return pp.FunctionModel(
            lambda s, a, r: (s + (a == 0), reward if s == 3 else 1.0, False), 2, 0
        )
    return pp.ArrayModel(
        lambda s, a, r: (s + (a == 0), np.where(s == 3, reward, 1.0), False), 2, np.int64(0)
    )


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("kind", ["python", "array"])
@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_rewards_that_are_not_finite(kind, reward, access):
    with pytest.raises(pp.errors.RewardError, match=f"reward {reward}.*at state .*3") as caught:
        pp.plan(bad_reward_model(kind, reward), budget=500, discount=0.9, seed=0, access=access)
    error = caught.value
    assert error.state == 3
    assert error.action in {0, 1}
    assert error.tree is not None
    assert 0 < error.calls <= 500
    # What was learned is there: all samples before the failure.
    n = error.tree.num_nodes
    learned = error.tree.pulls[1:n] > 0
    assert learned.sum() > 2
    assert (error.tree.reward[1:n][learned] == 1.0).all()
    assert error.calls - 500 < error.tree.pulls[1:n].sum() <= error.calls


DEEP = {name: make for name, make in THINKING.items() if name not in {"one-step", "trailblazer"}}


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("kind", ["python", "array"])
@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_every_planner_keeps_what_it_learned(make, kind, access):
    with pytest.raises(pp.errors.RewardError, match=r"reward nan.*at state .*3") as caught:
        make(0.9).plan(bad_reward_model(kind, math.nan), budget=2_000, seed=0, access=access)
    error = caught.value
    assert error.state == 3
    assert error.action in {0, 1}
    n = error.tree.num_nodes
    learned = error.tree.pulls[1:n] > 0
    assert learned.sum() >= 3
    assert (error.tree.reward[1:n][learned] == 1.0).all()
    if kind == "python":
        assert error.tree.pulls[1:n].sum() == error.calls - 1


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_every_planner_keeps_the_traceback(make, access):
    with pytest.raises(pp.ModelError, match=r"RuntimeError: the simulator exploded.*state 2") as e:
        make(0.9).plan(
            pp.FunctionModel(exploding_simulator, 2, 0), budget=2_000, seed=0, access=access
        )
    assert isinstance(e.value.__cause__, RuntimeError)
    assert "exploding_simulator" in "".join(traceback.format_exception(e.value.__cause__))
    compiled = pp.CompiledModel(failing_kernel, 2, np.zeros(1), params=1)
    with pytest.raises(pp.errors.RewardError, match=r"reward nan.*state array\(\[2") as caught:
        make(0.9).plan(compiled, budget=2_000, seed=0, access=access)
    assert caught.value.tree.pulls.sum() > 0


@pytest.mark.parametrize("reward", ["much", None, [1.0, 2.0], 1j])
def test_rewards_that_are_no_numbers(reward):
    model = pp.FunctionModel(lambda s, a, r: (s, reward, False), 2, "here")
    for access in ("restore", "reset"):
        with pytest.raises(
            pp.errors.RewardError, match=r"finite numbers.*at state 'here', action"
        ) as e:
            pp.plan(model, budget=50, discount=0.9, seed=0, access=access)
        assert e.value.state == "here"
    array = pp.ArrayModel(lambda s, a, r: (s, [reward] * len(s), False), 2, 0.0)
    with pytest.raises(pp.ModelError, match="reward"):
        pp.plan(array, budget=50, discount=0.9, seed=0)


def exploding_simulator(state, action, rng):
    if state == 2:
        message = "the simulator exploded"
        raise RuntimeError(message)
    return state + 1, 1.0, False


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_step_that_raises(access):
    with pytest.raises(pp.ModelError, match=r"RuntimeError: the simulator exploded.*state 2") as e:
        pp.plan(
            pp.FunctionModel(exploding_simulator, 2, 0),
            budget=500,
            discount=0.9,
            seed=0,
            access=access,
        )
    error = e.value
    assert (error.state, error.action in {0, 1}) == (2, True)
    assert isinstance(error.__cause__, RuntimeError)
    assert "exploding_simulator" in "".join(traceback.format_exception(error.__cause__))
    assert error.tree is not None
    assert error.tree.pulls[1 : error.tree.num_nodes].sum() == error.calls - 1


def test_an_array_step_that_raises():
    def step(states, actions, rng):
        if (states == 2).any():
            message = "the simulator exploded"
            raise RuntimeError(message)
        return states + 1, np.ones(len(states)), False

    for access in ("restore", "reset"):
        with pytest.raises(pp.ModelError, match=r"exploded .*batch of \d+ states") as e:
            pp.plan(pp.ArrayModel(step, 2, 0), budget=500, discount=0.9, seed=0, access=access)
        assert isinstance(e.value.__cause__, RuntimeError)
        assert e.value.tree is not None
        assert e.value.tree.pulls[1] > 0


@numba.njit
def failing_kernel(state, action, params, rng, next_state):
    next_state[0] = state[0] + 1
    if state[0] == 2 and params == 0:
        raise RuntimeError("the simulator exploded")
    if state[0] == 2 and params == 1:
        return np.nan, False
    return 1.0, params == 2 and rng.random() < 0.5


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_compiled_step_that_fails(access):
    def model(failure):
        return pp.CompiledModel(failing_kernel, 2, np.zeros(1), params=failure)

    with pytest.raises(pp.ModelError, match=r"the simulator exploded .*state array\(\[2") as e:
        pp.plan(model(0), budget=500, discount=0.9, seed=0, access=access)
    assert isinstance(e.value.__cause__, RuntimeError)
    assert e.value.tree is not None
    assert e.value.tree.pulls[1] > 0
    with pytest.raises(pp.errors.RewardError, match=r"reward nan.*state array\(\[2"):
        pp.plan(model(1), budget=500, discount=0.9, seed=0, access=access)
    if access == "restore":
        with pytest.raises(pp.errors.DynamicsError, match="dynamics are random"):
            pp.plan(model(2), budget=500, discount=0.9, seed=0, access=access)
    else:
        assert pp.plan(model(2), budget=500, discount=0.9, seed=0, access=access).calls <= 500


@numba.njit
def counting_kernel(state, action, params, rng, next_state):
    params[0] += 1
    if params[0] == params[1]:
        raise ValueError("this call fails")
    next_state[0] = state[0]
    return rng.normal(), False


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("at", [1, 7, 100])
def test_calls_before_a_failure_are_counted_one_by_one(at, access):
    params = np.array([0, at])  # calls so far; the call that fails, amid a node's samples
    model = pp.CompiledModel(counting_kernel, 2, np.zeros(1), params=params)
    with pytest.raises(pp.ModelError, match="this call fails") as caught:
        pp.PlaTyPOOS(0.9).plan(model, budget=2_000, seed=0, access=access)
    assert caught.value.calls == params[0] == at


@pytest.mark.parametrize("result", [None, 1.0, (0, 1.0), (0, 1.0, False, {}), "abc"])
def test_a_step_that_returns_the_wrong_shape(result):
    model = pp.FunctionModel(lambda s, a, r: result, 2, 0)
    with pytest.raises(pp.PlatypoosError, match=r"state 0, action") as e:
        pp.plan(model, budget=50, discount=0.9, seed=0)
    if result != "abc":  # three letters: the reward is what is wrong
        assert isinstance(e.value, pp.errors.TransitionError)
        assert "(state, reward, terminated)" in str(e.value)


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (lambda s, a, r: (s, np.ones(len(s) + 1), False), r"must return \d+ rewards"),
        (lambda s, a, r: (s[:1], np.ones(len(s)), False), "states of the same shape"),
        (lambda s, a, r: (s, np.ones(len(s)), np.zeros(3, bool)), "terminated flags"),
        (lambda s, a, r: (s, np.ones(len(s))), r"\(states, rewards, terminated\)"),
        (lambda s, a, r: s, r"\(states, rewards, terminated\)"),
    ],
)
def test_an_array_model_that_returns_the_wrong_length(step, match):
    with pytest.raises(pp.errors.TransitionError, match=match):
        pp.plan(pp.ArrayModel(step, 2, np.zeros(3)), budget=50, discount=0.9, seed=0)


def test_episodes_that_end_now_and_then():
    model = pp.FunctionModel(lambda s, a, r: (s, 1.0, r.random() < 0.3), 2, 0)
    with pytest.raises(pp.errors.DynamicsError, match=r"dynamics=.random..*state 0"):
        pp.plan(model, budget=500, discount=0.9, seed=0)
    array = pp.ArrayModel(
        lambda s, a, r: (s, np.ones(len(s)), r.random(len(s)) < 0.3), 2, np.float64(0)
    )
    with pytest.raises(pp.errors.DynamicsError, match=r"dynamics=.random."):
        pp.plan(array, budget=500, discount=0.9, seed=0)


def test_an_interrupt_keeps_the_samples():
    seen = []

    def step(state, action, rng):
        seen.append(state)
        if len(seen) == 100:
            raise KeyboardInterrupt
        return state, 1.0, False

    with pytest.raises(KeyboardInterrupt):
        pp.PlaTyPOOS(0.9).plan(pp.FunctionModel(step, 2, 0), budget=500, seed=0)
    assert len(seen) == 100


def test_control_keeps_the_steps_before_a_failure():
    def step(state, action, rng):
        return state + 1, math.nan if state >= 9 else 1.0, False

    model = pp.FunctionModel(step, 2, 0)
    with pytest.raises(pp.errors.RewardError, match="state 9") as caught:
        pp.control(model, planner=pp.PlaTyPOOS(0.5), budget=10, steps=50, seed=0)
    episode = caught.value.episode
    assert 5 < len(episode.actions) < 10
    assert episode.rewards == (1.0,) * len(episode.actions)
    assert episode.states == tuple(range(len(episode.actions) + 1))


def test_control_keeps_the_steps_before_an_interrupt():
    def stop(step, plan, reward):
        if step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        pp.control(MODEL, budget=50, steps=20, discount=0.9, seed=0, on_step=stop)
    assert len(caught.value.episode.actions) == 5


@pytest.mark.parametrize("result", [OSError("the gripper slipped"), math.nan])
def test_a_step_that_fails_while_acting(result):
    class Fragile:
        actions, initial_state = 2, 0
        calls = 0

        def step(self, state, action, rng):
            self.calls += 1
            if self.calls < 11:  # ten calls to plan, then one to act
                return state, 1.0, False
            if isinstance(result, Exception):
                raise result
            return state, result, False

    with pytest.raises(pp.ModelError, match=r"(the gripper slipped|reward nan).*state 0") as caught:
        pp.control(Fragile(), planner=pp.PlaTyPOOS(0.9), budget=10, steps=5, seed=0)
    assert caught.value.episode.actions == ()
    assert caught.value.action in {0, 1}


def test_states_may_be_none():
    def step(state, action, rng):
        return None, float(action == (1 if state is None else 0)), False

    episode = pp.control(pp.FunctionModel(step, 2, 1), budget=60, steps=5, discount=0.5, seed=0)
    assert episode.rewards == (1.0,) * 5


@pytest.mark.parametrize("flag", [None, {}, "", math.nan, 1.0, 2])
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_terminated_that_is_no_flag(flag, access):
    model = pp.FunctionModel(lambda s, a, r: (s, 1.0, flag), 2, 0)
    with pytest.raises(
        pp.errors.TransitionError, match=r"terminated True or False.*state 0, action"
    ):
        pp.plan(model, budget=50, discount=0.9, seed=0, access=access)
    assert "terminated True or False" in str(pp.check_model(model))


@pytest.mark.parametrize("flag", [True, np.True_, 1])
def test_flags_of_other_kinds(flag):
    model = pp.FunctionModel(lambda s, a, r: (s, float(a), flag), 2, 0)
    plan = pp.plan(model, budget=50, discount=0.9, seed=0)
    assert (plan.action, plan.depth, plan.value) == (1, 1, 1.0)


def test_states_that_would_be_cut_off():
    model = pp.ArrayModel(lambda s, a, r: (s + 0.5 * a, s * 1.0, False), 2, np.int64(0))
    with pytest.raises(pp.errors.TransitionError, match="use an initial_state of type float64"):
        pp.plan(model, budget=50, discount=0.9, seed=0)
    whole = pp.problems.Garnet(5, 2)
    for form, state in ((whole.array(), np.float64(1.5)), (whole.compiled(), np.array([1.5]))):
        with pytest.raises(pp.InvalidArgument, match="state must be of the shape"):
            pp.plan(form, state, budget=50, discount=0.9)


def test_a_class_instead_of_a_model():
    with pytest.raises(pp.InvalidArgument, match=r"pass SwitchChain\(\.\.\.\)"):
        pp.plan(pp.problems.SwitchChain, budget=50, discount=0.9)


def test_a_step_with_too_few_arguments():
    model = pp.FunctionModel(lambda s, a: (s, 1.0, False), 2, 0)  # type: ignore[arg-type,misc]
    with pytest.raises(pp.ModelError, match=r"called as step\(state, action, rng\)"):
        pp.plan(model, budget=50, discount=0.9)


def test_the_tree_of_an_error_is_trimmed():
    with pytest.raises(pp.ModelError) as caught:
        pp.plan(pp.FunctionModel(exploding_simulator, 2, 0), budget=500, discount=0.9, seed=0)
    tree = caught.value.tree
    assert len(tree.pulls) == tree.num_nodes
    assert tree.pulls.sum() == caught.value.calls - 1


def test_a_budget_beyond_all_measure():
    with pytest.raises(pp.InvalidArgument, match="above the largest"):
        pp.plan(MODEL, budget=10**13, discount=0.9)
