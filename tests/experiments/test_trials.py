"""The problems of the benchmarks that judge planners are what they say."""

from __future__ import annotations

import balance
import numpy as np
import pytest
import rules
import stopping
import tracking
import trials

MAKERS = {"tracking": tracking.make, "balance": balance.make, **rules.PROBLEMS, **stopping.PROBLEMS}


@pytest.mark.parametrize("name", MAKERS)
def test_steps_are_deterministic_and_leave_states_alone(name):
    first, again = MAKERS[name](3), MAKERS[name](3)
    run = trials.follow(first, trials.choose_by(first, "Random", 0))
    actions = iter(run.actions)
    same = trials.follow(again, lambda _: next(actions, None))
    assert (same.rewards, same.states) == (run.rewards, run.states)
    assert all(hash(state) is not None for state in run.states)


def test_the_pole_is_that_of_gymnasium():
    balance.check_physics(5)


def test_the_optimum_of_tracking_is_as_good_as_greedy():
    problem = tracking.make()
    greedy = trials.follow(problem, trials.choose_by(problem, "Greedy", 0)).total
    assert greedy <= tracking.optimum() < 0
    assert tracking.optimum() == pytest.approx(greedy, abs=0.2)


@pytest.mark.parametrize("name", rules.PROBLEMS)
def test_rules_are_well_above_random_actions(name):
    gained = []
    for seed in range(10):
        problem = rules.PROBLEMS[name](seed)
        totals = {
            who: trials.follow(problem, trials.choose_by(problem, who, seed)).total
            for who in ("Rule", "Random")
        }
        gained.append(totals["Rule"] - totals["Random"])
    assert min(gained) > 0
    assert np.mean(gained) > 3 * np.std(gained) / np.sqrt(len(gained))


def test_a_rule_is_passed_on_as_weights_or_as_an_action(monkeypatch):
    problem = rules.heating(0)
    start, action = problem["initial_state"], problem["rule"](problem["initial_state"])
    assert np.argmax(trials.as_model(problem, with_rule=True).policy(start)) == action
    monkeypatch.setattr(trials, "RULES_RETURN_ACTIONS", True)
    assert trials.as_model(problem, with_rule=True).policy(start) == action


def test_exact_values():
    assert stopping.solve(stopping.cliff(0)).best[0] == pytest.approx(20)
    assert stopping.solve(stopping.small_prize(0)).best[0] == pytest.approx(20)
    assert stopping.solve(stopping.large_prize(0)).best[0] > 20
    for name, make in stopping.PROBLEMS.items():
        problem = make(1)
        solution = stopping.solve(problem)

        def best(state, solution=solution):
            return int(np.argmax(solution.values[solution.number[state]]))

        run = trials.follow(problem, best)
        assert solution.regret(run, problem["discount"]) == pytest.approx(0, abs=1e-6)
        received = sum(0.95**t * reward for t, reward in enumerate(run.rewards))
        rest = (
            0
            if run.ended
            else 0.95 ** len(run.rewards) * solution.best[solution.number[run.states[-1]]]
        )
        assert received + rest == pytest.approx(solution.best[0]), name
        assert run.ended == (name in {"stopping", "large-prize", "path"})
