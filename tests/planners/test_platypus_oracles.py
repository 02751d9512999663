"""The default planner against brute force and value iteration, and calls that a model counts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from random_trees import Counted, SequenceTree
from test_platypus import platypus

import platypoos as pp

RNG = np.random.default_rng


def q_values(problem, state, discount, horizon=None, masks=None, sweeps=4_000):
    """Value iteration over a table, written for the tests; NaN where an action is not legal."""
    allowed = np.ones(problem.reward.shape, bool) if masks is None else masks
    values = np.zeros(problem.num_states)
    q = np.zeros(problem.reward.shape)
    for _ in range(sweeps if horizon is None else horizon):
        follows = np.where(problem.terminal, 0.0, values)[problem.successor]
        q = np.where(allowed, problem.reward + discount * follows, -np.inf)
        new = q.max(axis=1)
        if horizon is None and np.abs(new - values).max() < 1e-13 * (1 + np.abs(new).max()):
            break
        values = new
    return np.where(allowed, q, np.nan)[state]


def table(seed, **options):
    rng = RNG([31, seed])
    states, actions = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    ends = int(rng.choice([0, 0, 1, states // 2]))
    options.setdefault("num_terminal", ends)
    problem = pp.problems.Garnet(states, actions, seed=seed, **options)
    shift = float(rng.choice([0.0, -0.5, -3.0]))
    problem.reward = problem.reward + shift
    return problem, rng


def random_masks(problem, rng):
    """At least one action of each state is legal."""
    masks = rng.random(problem.reward.shape) < 0.6
    masks[np.arange(len(masks)), rng.integers(problem.actions.n, size=len(masks))] = True
    return masks


@pytest.mark.parametrize("masked", [False, True])
def test_tables_that_are_known_are_solved(masked):
    # 120 tables with loops, ends and rewards of both signs: all is known long before the budget is
    # spent. The oracle is value iteration.
    for seed in range(120):
        problem, rng = table(seed)
        discount = float(rng.choice([0.0, 0.5, 0.9, 0.99]))
        masks = random_masks(problem, rng) if masked else None
        counted = Counted(problem, "python", masks)
        budget = 200 + 6 * problem.reward.size
        plan = platypus(discount).plan(counted.model, budget=budget, seed=seed)
        expected = q_values(problem, 0, discount, masks=masks)
        case = f"{seed=} {discount=}"
        assert plan.action_values == pytest.approx(expected, abs=1e-7, nan_ok=True), case
        assert plan.value == pytest.approx(np.nanmax(expected), abs=1e-7), case
        assert expected[plan.action] == pytest.approx(np.nanmax(expected), abs=1e-7), case
        assert counted.illegal_calls == 0


def test_action_values_are_the_reward_and_what_follows():
    # r(s, a) + γ·max_b Q(s', b), and nothing after an end.
    for seed in range(40):
        problem, _ = table(seed)
        plan = platypus(0.9).plan(problem, budget=300, seed=seed)
        for action in range(problem.actions.n):
            after = int(problem.successor[0, action])
            follows = 0.0 if problem.terminal[after] else q_values(problem, after, 0.9).max()
            expected = problem.reward[0, action] + 0.9 * follows
            assert plan.action_values[action] == pytest.approx(expected, abs=1e-7), f"{seed=}"


def best_sequence(model, state, depth, discount):
    """Brute force: the values of the first actions under the best of all sequences of a length."""
    values = {}
    for sequence in product(range(model.actions.n), repeat=depth):
        here, total, power = state, 0.0, 1.0
        for action in sequence:
            here, reward, ended = model.step(here, action, RNG(0))
            total += power * reward
            power *= discount
            if ended:
                break
        values[sequence[0]] = max(total, values.get(sequence[0], -np.inf))
    return np.array([values[action] for action in range(model.actions.n)])


@pytest.mark.parametrize("ends", [0.0, 0.2])
def test_trees_with_a_horizon_are_solved(ends):
    # Brute force over all sequences; 40 trees of 3 to 5 steps, nothing meets.
    for seed in range(40):
        rng = RNG([32, seed])
        actions, depth = int(rng.integers(2, 4)), int(rng.integers(3, 6))
        discount = float(rng.choice([0.7, 0.95, 1.0]))
        tree = SequenceTree(seed, actions, 0.0, ends)
        nodes = sum(actions**t for t in range(1, depth + 1))
        plan = platypus(discount).plan(tree, budget=3 * nodes + 200, seed=seed, horizon=depth)
        expected = best_sequence(tree, (), depth, discount)
        case = f"{seed=} {actions=} {depth=} {discount=}"
        assert plan.action_values == pytest.approx(expected, abs=1e-9), case
        assert plan.action == expected.argmax(), case
        total, here = 0.0, ()
        for t, action in enumerate(plan.actions):  # the sequence brings what it promises
            here, reward, ended = tree.step(here, action, RNG(0))
            total += discount**t * reward
        assert total == pytest.approx(expected.max(), abs=1e-9), case
        assert ended or len(plan.actions) == depth, case


def test_tables_with_a_horizon_are_solved():
    for seed in range(60):
        problem, rng = table(seed)
        horizon, discount = int(rng.integers(1, 8)), float(rng.choice([0.8, 1.0]))
        budget = 100 + 4 * horizon * problem.reward.size
        plan = platypus(discount).plan(problem, budget=budget, seed=seed, horizon=horizon)
        expected = q_values(problem, 0, discount, horizon)
        assert plan.action_values == pytest.approx(expected, abs=1e-9), f"{seed=} {horizon=}"
        assert plan.action == expected.argmax() or expected[plan.action] == expected.max()


def test_noise_is_averaged_out():
    # 20 states, 3 actions, noise ±0.5 on rewards in [0, 1]: seeds 0 … 19, mean regret.
    lost = []
    for seed in range(20):
        problem = pp.problems.Garnet(20, 3, seed=seed, noise=0.5)
        plan = platypus(0.8).plan(problem, budget=3_000, seed=seed)
        values = q_values(problem, 0, 0.8)
        lost.append(values.max() - values[plan.action])
    assert np.mean(lost) < 0.02


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_the_budget_is_exact_whatever_is_asked_for(access):
    # 250 settings each: a model that counts for itself.
    for seed in range(250):
        problem, rng = table(seed, noise=float(RNG(seed).choice([0.0, 1.0])))
        masks = random_masks(problem, rng) if rng.random() < 0.5 else None
        knows = tuple(name for name in ("value", "policy") if rng.random() < 0.4)
        kind = str(rng.choice(["python", "array"]))
        counted = Counted(problem, kind, masks, knows, access=pp.Access(access))
        horizon = int(rng.integers(1, 12)) if rng.random() < 0.4 else None
        discount = 1.0 if horizon is not None else float(rng.choice([0.0, 0.5, 0.95, 0.999]))
        budget = max(problem.actions.n, int(np.exp(rng.uniform(0.0, np.log(600)))))
        plan = platypus(discount).plan(counted.model, budget=budget, seed=seed, horizon=horizon)
        case = f"{seed=} {kind} {knows} {horizon=} {discount=} {budget=}"
        assert counted.calls == plan.calls <= budget, case
        if access == "restore":
            assert plan.calls == budget, case
        assert counted.illegal_calls == 0, case
        assert np.isfinite(plan.value), case
        assert masks is None or masks[0, plan.action], case
        assert horizon is None or len(plan.actions) <= horizon, case


def test_the_value_of_states_counts_after_a_sequence():
    # A long corridor to either side; only the model's value says which one is better.
    def step(state, action, rng):
        return state + (2 * action - 1), 0.0, False

    for sign in (1, -1):
        model = pp.FunctionModel(step, 2, 0, value=lambda s, sign=sign: 0.1 * sign * s)
        for seed in range(5):
            plan = platypus(0.95).plan(model, budget=60, seed=seed)
            assert plan.action == (sign > 0), f"{sign=} {seed=}"
