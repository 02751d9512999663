"""Episodes without a discount: what planners find is what backward induction finds."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
from parts import in_parts
from random_trees import NARROW, PLANNERS, Counted, can_use

import platypoos as pp

PROBLEMS = 50  # seeds 0 … 49: tables of 6 states, 2 actions, 4 steps to go; no noise
STEPS = 4
BLIND = {"one-step", "random"}  # they do not look further than a step, or not at all
BLIND |= NARROW  # nor these, if nothing new is to be seen there
FINITE = {name: make for name, make in PLANNERS.items() if make(0.5).finite and name not in BLIND}
TOLD = {  # what they must know, for rewards in [0, 1] and four steps
    "uct": partial(pp.planners.UCT, scale=2.0, horizon=20),
    "polynomial-uct": partial(pp.planners.PolynomialUCT, scale=2.0, horizon=20),
}


def test_it_is_clear_who_takes_a_horizon():
    assert sorted(set(PLANNERS) - set(FINITE) - BLIND) == ["stop", "trailblazer"]


@in_parts(16, PROBLEMS)
@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_without_a_discount_it_finds_the_best_action(name, access, cases):
    make = TOLD.get(name, FINITE[name])
    budget = 100_000 if name == "hoo" else 20_000  # it shares nothing between sequences
    for seed in cases:
        problem = pp.problems.Garnet(6, 2, seed=seed, num_terminal=seed % 2)
        model = Counted(problem, "compiled").model
        plan = make(1.0).plan(model, budget=budget, horizon=STEPS, seed=seed, access=access)
        values = problem.finite_values(problem.initial_state, 1.0, STEPS)
        assert values[plan.action] == pytest.approx(values.max()), f"{seed=}"
        assert plan.depth <= STEPS


@pytest.mark.parametrize("name", [*FINITE, "one-step", "iw", "rollout-iw"])
def test_one_step_before_the_end_the_best_reward_is_chosen(name):
    for seed in range(PROBLEMS):
        problem = pp.problems.Garnet(6, 3, seed=seed)
        plan = PLANNERS[name](1.0).plan(problem, budget=60, horizon=1, seed=seed)
        rewards = [problem.mean_reward(problem.initial_state, a) for a in range(3)]
        assert plan.action == int(np.argmax(rewards))
        assert plan.depth == 1
        assert plan.value == pytest.approx(max(rewards))


@pytest.mark.parametrize("name", ["platypoos", "sequool", "opd", "soo", "uniform", "platypus"])
def test_values_up_to_the_horizon_are_exact(name):
    for discount in (0.7, 1.0):
        for seed in range(10):
            problem = pp.problems.Garnet(6, 2, seed=seed, num_terminal=seed % 2)
            plan = PLANNERS[name](discount).plan(problem, budget=5_000, horizon=STEPS, seed=seed)
            values = problem.finite_values(problem.initial_state, discount, STEPS)
            assert plan.value == pytest.approx(values.max())
            assert pp.problems.simple_regret(problem, plan) == pytest.approx(0.0)


def test_shifted_rewards_change_nothing():
    """With a horizon every sequence has the same number of steps."""
    for seed in range(10):
        problem = pp.problems.Garnet(8, 3, seed=seed, noise=0.3)
        for shift in (-1_000.0, 1_000.0):
            plans = [
                pp.PlaTyPOOS(1.0).plan(model, budget=2_000, horizon=6, seed=seed)
                for model in (
                    pp.models.ScaledReward(problem),
                    pp.models.ScaledReward(problem, 1.0, shift),
                )
            ]
            assert plans[0].actions == plans[1].actions


def test_control_counts_down():
    """A reward of 1 by the last of five steps only, and 0.1 now for giving it up."""

    def step(state, action, rng):
        time, patient = state
        patient = patient and action == 0
        reward = 1.0 if time == 4 and patient else 0.1 * action
        return (time + 1, patient), reward, False

    model = pp.FunctionModel(step, 2, (0, True))
    episode = pp.control(model, budget=3_000, horizon=5, discount=1.0, seed=0)
    assert episode.actions == (0, 0, 0, 0, 0)
    assert episode.rewards == (0.0, 0.0, 0.0, 0.0, 1.0)
    shorter = pp.control(model, budget=3_000, horizon=4, discount=1.0, seed=0)
    assert shorter.actions == (1, 1, 1, 1)  # the prize lies behind the end
    assert len(pp.control(model, budget=50, horizon=9, steps=2, discount=1.0, seed=0).actions) == 2


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_control_with_memory_finds_the_best_return(kind):
    """States that meet are shared if as many steps are left, also from one step to the next."""
    for seed in range(20):
        problem = pp.problems.Garnet(12, 3, seed=seed)
        counted = Counted(problem, kind)
        episode = pp.control(counted.model, budget=600, horizon=8, discount=1.0, seed=seed)
        best = problem.finite_values(problem.initial_state, 1.0, 8).max()
        assert sum(episode.rewards) == pytest.approx(best), f"{seed=}"
        assert counted.calls == 8 * 600 + 8
        assert set(episode.step_calls) == {600}


def test_the_same_state_is_worth_less_later():
    """One loop pays 1 at every step, but 5 for leaving it; leaving is best at the last step."""

    def step(state, action, rng):
        return ("out", 5.0, True) if action else (state, 1.0, False)

    model = pp.FunctionModel(step, 2, "in")
    for horizon in (1, 2, 7):
        episode = pp.control(model, budget=100, horizon=horizon, discount=1.0, seed=0)
        assert episode.actions == (0,) * (horizon - 1) + (1,)


def test_a_deadline_and_a_horizon():
    plan = pp.plan(pp.problems.Garnet(9, 3), deadline=0.05, discount=1.0, horizon=6, seed=0)
    assert plan.depth <= 6
    assert pp.problems.simple_regret(pp.problems.Garnet(9, 3), plan) == pytest.approx(0.0)


@pytest.mark.parametrize("name", FINITE)
def test_what_was_seen_is_not_guessed(name):
    """A good first step, and then nothing but bad ends: the guess would be better."""

    def step(state, action, rng):
        time, first = state
        if time == 0:
            return (1, action), (0.0 if action == 0 else -3.5), False
        return (2, first), (-10.0 if first == 0 else -3.5), True

    model = pp.FunctionModel(step, 2, (0, -1))
    planner = FINITE[name](1.0)
    if isinstance(planner, pp.planners.UCT):
        planner = type(planner)(1.0, scale=10.0, horizon=20)
    if hasattr(planner, "reward_min"):
        planner = dataclasses.replace(planner, reward_min=-10.0, reward_max=0.0)
    for access in ("restore", "reset"):
        if not can_use(name, access):
            continue
        plan = planner.plan(model, budget=2_000, horizon=2, seed=0, access=access)
        assert plan.action == 1
        if name in {"platypoos", "sequool", "stroquool", "uniform", "platypus", "soo"}:
            assert np.allclose(plan.action_values, [-10.0, -7.0])


def test_a_far_horizon_takes_no_memory():
    problem = pp.problems.Garnet(9, 3)
    for name, make in FINITE.items():
        plan = make(1.0).plan(problem, budget=100, horizon=10**9, seed=0)
        assert plan.depth <= 100, name


def test_a_sum_without_end_is_refused():
    model = pp.problems.Garnet(5, 2)
    with pytest.raises(pp.InvalidArgument, match=r"discount 1\.0 needs horizon="):
        pp.plan(model, budget=100, discount=1.0)
    with pytest.raises(pp.InvalidArgument, match="horizon must be a whole number of at least 1"):
        pp.plan(model, budget=100, discount=1.0, horizon=0)
    with pytest.raises(pp.InvalidArgument, match="StOP plans for rewards without end"):
        pp.planners.StOP(0.5, reward_max=1.0, epsilon=0.5).plan(model, budget=100, horizon=3)
    with pytest.raises(pp.InvalidArgument, match="TrailBlazer plans for rewards without end"):
        pp.planners.TrailBlazer(1.0, reward_max=1.0, epsilon=0.5)
    with pytest.raises(pp.InvalidArgument, match="steps= or horizon= must say"):
        pp.control(model, budget=100, discount=0.9)


def test_schedules_know_their_horizon():
    for make in (
        pp.planners.schedules.platypoos,
        pp.planners.schedules.sequool,
        pp.planners.schedules.stroquool,
    ):
        for budget in (10, 100, 1_000, 10_000):
            for horizon in (1, 2, 5, 30):
                schedule = make(budget, 2, 1.0, horizon=horizon)
                assert schedule.calls <= budget
                assert schedule.depth <= horizon
    assert "horizon 7" in str(pp.planners.schedules.platypoos(100, 2, 1.0, horizon=7))
