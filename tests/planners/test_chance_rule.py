"""What a plan under random dynamics gains over the user's rule."""

import functools
import random

import numpy as np
import pytest

import platypoos as pp
from platypoos.models.base import Access
from platypoos.planners.chance.beside_rule import gain_over_rule, interval, pairs_for
from platypoos.planners.chance.knowledge import Knowledge
from platypoos.planners.chance.session import Session
from platypoos.search.base import Task

GAMMA = 0.9


class Process:
    """A random process with 8 states, 3 actions, ends, and a rule that is mostly wrong."""

    def __init__(self, seed, ends=0.05):
        rng = random.Random(seed)  # noqa: S311
        self.outcomes = {
            (state, action): [
                (weight, rng.randrange(8), rng.random() * (1 + action), rng.random() < ends)
                for weight in (0.5, 0.3, 0.2)
            ]
            for state in range(8)
            for action in range(3)
        }
        self.rule = [rng.randrange(3) for _ in range(8)]

    def step(self, state, action, rng):
        left = rng.random()
        for outcome in self.outcomes[state, action]:
            left -= outcome[0]
            if left < 0.0:
                break
        return outcome[1:]

    def model(self, **more):
        return pp.FunctionModel(
            self.step, 3, 0, dynamics="random", policy=lambda state: self.rule[state], **more
        )

    def worth(self, choose, steps):
        """The exact value of a policy from state 0 over so many steps."""

        @functools.cache
        def value(state, left):
            if left == 0:
                return 0.0
            return sum(
                chance * (reward + (0.0 if ended else GAMMA * value(after, left - 1)))
                for chance, after, reward, ended in self.outcomes[state, choose(state)]
            )

        return value(0, steps)


def test_estimates_are_honest():
    """The exact gain of what was learned is within the interval in about 95 % of the plans."""
    inside, gains, errors = 0, [], []
    for seed in range(60):
        process = Process(seed % 20)
        model = process.model()
        task = Task(
            model, 0, 1_500, 3, Access.RESTORE, np.random.default_rng(seed), seed=seed, samplers=[]
        )
        session = Session(task, GAMMA)
        session.spend()
        known = session.knowledge.states
        steps = session.search.length

        def learned(state, known=known, process=process):
            found = known.get(state)
            return (
                process.rule[state]
                if found is None or found.choice is None
                else (found.choice.action)
            )

        exact = process.worth(learned, steps) - process.worth(process.rule.__getitem__, steps)
        found = session.improvement
        inside += found.low <= exact <= found.high
        gains.append(exact)
        errors.append(found.estimate - exact)
    assert inside >= 51  # 60 plans: fewer in 1 of 1,000 cases
    assert abs(np.mean(errors)) < 2.5 * np.std(errors) / np.sqrt(60)
    assert np.mean(gains) > 0.5


@pytest.mark.parametrize("budget", [3, 100, 800, 1_500])
def test_calls(budget):
    process, calls = Process(1), 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        return process.step(state, action, rng)

    model = pp.FunctionModel(
        step, 3, 0, dynamics="random", policy=lambda state: process.rule[state]
    )
    plan = pp.plan(model, budget=budget, discount=GAMMA, seed=0)
    assert plan.calls == calls <= budget
    if budget < 400:
        assert plan.improvement is None  # too few pairs
        assert plan.calls == budget
    else:
        assert plan.improvement.low <= plan.improvement.estimate <= plan.improvement.high
        assert plan.calls > 0.7 * budget
    again = pp.plan(process.model(), budget=budget, discount=GAMMA, seed=0)
    assert again.improvement == plan.improvement
    assert again.action == plan.action


def test_a_rule_that_cannot_be_beaten():
    """Then the plan does the same in every roll-out."""
    process = Process(2)
    exact = best_policy(process)
    process.rule = [exact[state] for state in range(8)]
    gains = [
        pp.plan(process.model(), budget=3_000, discount=GAMMA, seed=seed).improvement.estimate
        for seed in range(10)
    ]
    assert max(gains) < 0.6  # luck only
    assert np.mean(gains) < 0.1


def best_policy(process):
    values = [0.0] * 8
    for _ in range(300):
        action_values = [
            [
                sum(
                    chance * (reward + (0.0 if ended else GAMMA * values[after]))
                    for chance, after, reward, ended in process.outcomes[state, action]
                )
                for action in range(3)
            ]
            for state in range(8)
        ]
        values = [max(found) for found in action_values]
    return [int(np.argmax(found)) for found in action_values]


def test_the_rule_is_taken_where_it_is_better(monkeypatch):
    process = Process(3)

    worse = interval([-1.0, -1.1, -0.9])
    monkeypatch.setattr("platypoos.planners.chance.session.gain_over_rule", lambda *_: worse)
    plan = pp.plan(process.model(), budget=1_500, discount=GAMMA, seed=0)
    assert plan.action == process.rule[0]
    assert plan.improvement == (0.0, 0.0, 0.0)
    assert plan.value == plan.action_values[plan.action]
    assert "your rule does the same" in str(plan)


def test_no_rule_no_gain():
    process = Process(4)
    model = pp.FunctionModel(process.step, 3, 0, dynamics="random")
    assert pp.plan(model, budget=1_500, discount=GAMMA, seed=0).improvement is None
    late = pp.plan(process.model(), budget=None, deadline=0.05, discount=GAMMA, seed=0)
    assert late.improvement is None


def test_pairs_draw_the_same_numbers():
    """Where what was learned is the rule, all gains are 0 however much chance does."""
    process = Process(5)
    simulator = Session(
        Task(process.model(), 0, 400, 3, Access.RESTORE, np.random.default_rng(0), samplers=[]),
        GAMMA,
    ).simulator
    knowledge = Knowledge(GAMMA, 3, None, 0)
    knowledge.root = knowledge.state_of(0, 0)
    found = gain_over_rule(knowledge, simulator, 10, 20, np.random.default_rng(1))
    assert found == (0.0, 0.0, 0.0)
    assert simulator.calls <= 400


def test_intervals():
    assert pairs_for(100, 20) == 0
    assert pairs_for(1_000, 20) == 5
    assert pairs_for(1_000, 30) == 0
    gains = [0.3, -0.1, 0.8, 0.4, 0.2]
    mean, low, high = interval(gains)
    half = 2.7764 * np.std(gains, ddof=1) / np.sqrt(5)  # Student's t, 4 degrees of freedom
    assert mean == pytest.approx(0.32)
    assert (mean - low, high - mean) == pytest.approx((half, half), rel=0.005)
