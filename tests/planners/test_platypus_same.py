"""What must not change a plan of the default planner: executors, units, the order of actions."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_platypus import platypus

import platypoos as pp
from platypoos.search.base import Asked

GAMMA = 0.9


def table_step(successor, reward, noise, ends, state, action, rng):
    paid = reward[state][action] + noise * float(rng.uniform(-1, 1))
    return successor[state][action], paid, ends[state][action]


def table_rule(weights, state):
    return weights[state]


def table_legal(masks, state):
    return masks[state]


def table_model(seed):
    """A random table with noise, and at random masks, ends, a rule and RESET. It can be pickled."""
    rng = np.random.default_rng([61, seed])
    states, actions = int(rng.integers(3, 20)), int(rng.integers(2, 5))
    shape = (states, actions)
    masks = [sorted({int(rng.integers(actions)), *range(int(rng.integers(actions)))})] * states
    step = partial(
        table_step,
        rng.integers(states, size=shape).tolist(),
        rng.random(shape).tolist(),
        float(rng.choice([0.0, 0.5])),
        (rng.random(shape) < rng.choice([0.0, 0.05])).tolist(),
    )
    said = {}
    if rng.random() < 0.4:
        said["legal"] = partial(table_legal, masks)
    if rng.random() < 0.4:
        said["policy"] = partial(table_rule, rng.random(shape).tolist())
    access = pp.Access.RESET if rng.random() < 0.3 else pp.Access.RESTORE
    model = pp.FunctionModel(step, actions, 0, access=access, **said)
    return model, int(rng.integers(20, 300))


def facts(plan):
    values = [None if np.isnan(v) else float(v) for v in plan.action_values]
    return (
        plan.action,
        plan.actions,
        plan.value,
        plan.calls,
        values,
        plan.improvement,
        plan.enough,
    )


@pytest.fixture(scope="module")
def pools():
    with (
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(4) as four,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        yield {"one": one, "four": four, "processes": processes}


def test_same_seed_same_plan_on_any_executor(pools):
    for seed in range(24):
        model, budget = table_model(seed)
        plain = platypus(GAMMA).plan(model, budget=budget, seed=seed)
        assert facts(platypus(GAMMA).plan(model, budget=budget, seed=seed)) == facts(plain)
        for name, pool in pools.items():
            if name == "processes" and seed % 4:
                continue
            spread = platypus(GAMMA).plan(model, budget=budget, seed=seed, executor=pool)
            assert facts(spread) == facts(plain), f"{seed=} {name}"


def test_same_episode_on_any_executor(pools):
    for seed in range(6):
        model, _ = table_model(seed)
        episodes = [
            pp.control(model, planner=platypus(GAMMA), budget=60, steps=4, seed=seed, executor=pool)
            for pool in (None, *pools.values())
        ]
        first = episodes[0]
        for other in episodes[1:]:
            assert (other.actions, other.rewards) == (first.actions, first.rewards), f"{seed=}"
            assert other.step_calls == first.step_calls


def test_other_seeds_explore_otherwise():
    problem = pp.problems.Garnet(40, 3, seed=0, noise=1.0)
    plans = {facts(platypus(GAMMA).plan(problem, budget=60, seed=seed))[2] for seed in range(10)}
    assert len(plans) > 5


def test_the_global_random_generators_are_left_alone():
    import random

    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    platypus().plan(pp.problems.SwitchChain(noise=1.0), budget=200, seed=0)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    exponent=st.integers(-40, 40),
    shift=st.sampled_from([-(10**9), -1000, 0, 1000, 10**9]),
    noise=st.sampled_from([0.0, 0.5]),
    access=st.sampled_from(["restore", "restore", "reset"]),
    horizon=st.sampled_from([None, None, 6]),
    meets=st.booleans(),
    ruled=st.booleans(),
    budget=st.integers(3, 150),
)
def test_affine_rewards_give_the_same_plan(
    seed, exponent, shift, noise, access, horizon, meets, ruled, budget
):
    # Rewards in steps of 2^-10 and scales that are powers of two: nothing is rounded differently.
    rng = np.random.default_rng(seed)
    successor = rng.integers(8, size=(8, 3)).tolist()
    reward = (rng.integers(1024, size=(8, 3)) / 1024).tolist()

    def plan(alpha, beta):
        def step(state, action, rng):
            here = state if meets else state[-1]
            paid = reward[here][action] + noise * float(rng.integers(-1024, 1025)) / 1024
            after = successor[here][action]
            return (after if meets else (*state, after)), alpha * paid + beta, False

        rule = (lambda state: 1) if ruled else None
        model = pp.FunctionModel(step, 3, 0 if meets else (0,), access=access, policy=rule)
        return platypus(0.75).plan(model, budget=budget, seed=seed, horizon=horizon)

    scale = 2.0**exponent
    plain, other = plan(1.0, 0.0), plan(scale, shift * scale)
    assert other.actions == plain.actions
    assert other.calls == plain.calls
    assert other.tree.num_nodes == plain.tree.num_nodes
    assert other.enough == plain.enough
    if not shift:
        assert other.value == plain.value * scale
    if ruled and plain.improvement is not None:
        assert other.improvement.estimate == pytest.approx(
            plain.improvement.estimate * scale, abs=1e-5 * scale
        )


def permuted(problem, order):
    """The same table; what was action order[a] is now action a."""
    found = pp.problems.Tabular(
        problem.successor[:, order], problem.reward[:, order], float(problem.noise.max())
    )
    found.initial_state = problem.initial_state
    return found


def test_the_order_of_actions_does_not_matter_in_distribution():
    # 12 tables of 30 states and 4 actions, 40 seeds each, 60 calls, noise: the regrets of the
    # problem and of the one with other numbers of actions differ by less than 4 standard errors.
    lost, others = [], []
    for number in range(12):
        problem = pp.problems.Garnet(30, 4, seed=number, noise=0.5)
        order = np.random.default_rng([62, number]).permutation(4)
        values = problem.action_values(0, GAMMA)
        for seed in range(40):
            plan = platypus(GAMMA).plan(problem, budget=60, seed=seed)
            lost.append(values.max() - values[plan.action])
            plan = platypus(GAMMA).plan(permuted(problem, order), budget=60, seed=1_000 + seed)
            others.append(values.max() - values[order[plan.action]])
    error = np.sqrt((np.var(lost) + np.var(others)) / len(lost))
    assert abs(np.mean(lost) - np.mean(others)) < 4 * error
    assert np.mean(lost) > 0  # else nothing is seen


@pytest.mark.parametrize("meets", [True, False])
def test_equal_actions_are_taken_equally_often(meets):
    # 300 seeds, 3 actions that are all the same: 100 each, standard deviation 8.2; ±4 of them.
    def step(state, action, rng):
        return (0 if meets else (*state, action)), 1.0, False

    model = pp.FunctionModel(step, 3, 0 if meets else ())
    taken = [platypus(GAMMA).plan(model, budget=24, seed=seed).action for seed in range(300)]
    counts = np.bincount(taken, minlength=3)
    assert counts.min() > 100 - 33
    assert counts.max() < 100 + 33


def test_the_model_is_left_as_it_was():
    # Also the memory: another model of the same kind is not taken for the first.
    planner = platypus(GAMMA)
    memory = planner.remember()
    one, two = (pp.problems.Garnet(10, 2, seed=seed) for seed in (0, 1))
    planner.answer(one, 0, Asked(100), seed=0, memory=memory)
    memory.observe(0, float(one.reward[0, 0]))
    state = int(one.successor[0, 0])
    fresh = planner.answer(two, state, Asked(100), seed=0)
    told = planner.answer(two, state, Asked(100), seed=0, memory=memory)
    assert told.action_values == pytest.approx(fresh.action_values, abs=1e-9)
