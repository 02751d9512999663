"""Terminal states, γ = 0, one action, tiny budgets, noise in the dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_trees import NARROW, THINKING

import platypoos as pp
from platypoos.search.base import RangePlanner
from platypoos.trees.tree import TERMINAL

every_planner = pytest.mark.parametrize("make", THINKING.values(), ids=THINKING)
every_access = pytest.mark.parametrize("access", ["restore", "reset"])


@every_planner
@every_access
def test_the_smallest_budget_takes_the_best_reward(make, access):
    problem = pp.problems.Tabular([[0] * 5], [[1.0, 3.0, 2.0, 5.0, 4.0]])
    plan = make(0.9).plan(problem, budget=5, seed=0, access=access)
    assert (plan.action, plan.calls) == (3, 5)
    assert (
        plan.depth == 1 or "platypus" in plan.origin.planner.name
    )  # it goes on in the states it knows


@every_planner
@every_access
def test_discount_zero_looks_at_the_first_reward_only(make, access):
    # Action 0 pays 1 now and nothing later, action 1 pays 0 now and 100 later.
    problem = pp.problems.Tabular([[1, 2], [1, 1], [2, 2]], [[1, 0], [0, 0], [100, 100]])
    for budget in (2, 10, 500):
        plan = make(0.0).plan(problem, budget=budget, seed=0, access=access)
        assert plan.action == 0
        assert plan.value == pytest.approx(1.0)


@every_planner
@every_access
def test_one_action(make, access):
    problem = pp.problems.Tabular([[0]], [[0.5]])
    plan = make(0.5).plan(problem, budget=100, seed=0, access=access)
    assert plan.action == 0
    # Some count nothing after the last step they looked at, the tenth or later, or the first.
    value = 0.5 if make(0.5).name in NARROW else 1.0
    assert plan.value == pytest.approx(value, abs=1e-3)
    assert plan.lead is None


@every_planner
@every_access
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_terminal_states(make, access, sign):
    # Action 1 ends the episode with reward 0. Going on pays 1 per step (or costs it): ending is
    # the worst (or the best) that can happen.
    problem = pp.problems.Tabular([[0, 1], [1, 1]], [[sign, 0.0], [0.0, 0.0]], terminal=[1])
    planner = make(0.9)
    if isinstance(planner, RangePlanner):
        planner = replace(planner, reward_min=-1.0)
    # HOO's confidence intervals are as wide as the range of returns, 20, for a long time.
    budget = 30_000 if isinstance(planner, pp.planners.HOO) else 300
    plan = planner.plan(problem, budget=budget, seed=0, access=access)
    assert plan.action == (0 if sign > 0 else 1)
    # At every depth exactly one child of the opened node ends.
    assert (plan.tree.flags[: plan.tree.num_nodes] & TERMINAL).any()
    if sign < 0:
        assert plan.value == 0.0
        # With RESET access the uniform planners walk on, and find that nothing comes any more.
        assert plan.actions == (1,) or (
            access == "reset" and isinstance(make(0.9), pp.planners.Uniform)
        )


@every_planner
@every_access
def test_all_actions_end_the_episode(make, access):
    problem = pp.problems.Tabular([[1, 1], [1, 1]], [[1.0, 2.0], [9.0, 9.0]], terminal=[1])
    plan = make(0.9).plan(problem, budget=200, seed=0, access=access)
    assert plan.action == 1
    assert plan.value == pytest.approx(2.0)
    assert plan.calls <= 200


def test_random_dynamics_are_planned_open_loop():
    # Action 0 leads to a gold mine with probability 0.9, and else ends the episode; action 1
    # pays 1 for ever. RESET access plans with action sequences, not with states.
    def step(state, action, rng):
        if state == 0:
            if action == 0:
                lucky = rng.random() < 0.9
                return (1, 0.0, False) if lucky else (2, 0.0, True)
            return 3, 1.0, False
        return state, 10.0 if state == 1 else 1.0, False

    model = pp.FunctionModel(step, 2, 0, access=pp.Access.RESET)
    for seed in range(10):
        plan = pp.plan(model, budget=4_000, discount=0.8, seed=seed)
        assert plan.action == 0
        assert plan.calls <= 4_000
    with pytest.raises(pp.InvalidArgument, match="can only be reset"):
        pp.plan(model, budget=100, discount=0.8, access="restore")
    forced = pp.FunctionModel(step, 2, 0)
    with pytest.raises(pp.errors.DynamicsError, match=r"dynamics=.random."):
        pp.plan(forced, budget=4_000, discount=0.8, seed=0)


def test_walks_give_samples_to_every_prefix():
    planner = pp.PlaTyPOOS(0.9)
    plan = planner.plan(pp.problems.SwitchChain(noise=1.0), budget=500, seed=0, access="reset")
    tree = plan.tree
    n = tree.num_nodes
    through = np.zeros(n, np.int64)
    for node in range(n - 1, 0, -1):
        through[tree.parent[node]] += tree.pulls[node]
    assert (tree.pulls[1:n] >= through[1:n]).all()
    assert int(tree.pulls[1:n].sum()) == plan.calls  # every call is a sample of some node


def test_control_stops_at_a_terminal_state():
    problem = pp.problems.Grid(rows=["S.G"])
    episode = pp.control(problem, budget=200, steps=50, discount=0.9, seed=0)
    assert episode.terminated
    assert episode.actions == (1, 1)
    assert episode.rewards == (-0.1, 10.0)
    assert episode.discounted_return == pytest.approx(-0.1 + 0.9 * 10)
    assert len(episode.states) == 3


def test_control_reports_each_step():
    seen = []
    pp.control(
        pp.problems.SwitchChain(),
        budget=100,
        steps=3,
        discount=0.95,
        seed=0,
        on_step=lambda step, plan, reward: seen.append((step, plan.calls, reward)),
    )
    assert [step for step, _, _ in seen] == [0, 1, 2]
    assert all(calls == 100 for _, calls, _ in seen)


def test_control_noise_does_not_depend_on_the_planner():
    problem = pp.problems.SwitchChain(noise=10.0)
    plain = pp.problems.SwitchChain()

    def noise(planner):
        episode = pp.control(problem, planner=planner, budget=100, steps=5, seed=3)
        means = [
            plain.mean_reward(s, a)
            for s, a in zip(episode.states[:-1], episode.actions, strict=True)
        ]
        return np.subtract(episode.rewards, means)

    first, second = noise(pp.PlaTyPOOS(0.95)), noise(pp.planners.SequOOL(0.5))
    assert np.abs(first).max() > 1
    np.testing.assert_allclose(first, second, atol=1e-9)


def narrowing(state, action, rng):
    """Driving pays 0.9; from the third step on only one of five actions does not end it."""
    crash = state >= 2 and action != state % 5
    return state + 1, (0.0 if crash else 0.9) + rng.uniform(-1, 1), crash


@pytest.mark.parametrize("budget", [100, 300])
def test_noise_does_not_make_ends_look_good(budget):
    """20 drives of 12 steps, 200 decisions in danger: at most one of 20 drives ends in a crash."""
    model = pp.FunctionModel(narrowing, 5, 0)
    drives = [
        pp.control(model, budget=budget, steps=12, discount=0.9, seed=seed) for seed in range(20)
    ]
    assert sum(drive.terminated for drive in drives) <= 1
