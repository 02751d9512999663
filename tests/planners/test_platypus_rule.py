"""The user's rule: never worse than the rule as far as was seen, and how much better."""

from __future__ import annotations

import numpy as np
import pytest
from test_platypus import platypus
from test_platypus_oracles import q_values

import platypoos as pp

GAMMA = 0.9


def table(seed, states=12, actions=3, **options):
    return pp.problems.Garnet(states, actions, seed=seed, **options)


def optimal_actions(problem, discount=GAMMA):
    return [int(q_values(problem, s, discount).argmax()) for s in range(problem.num_states)]


def with_rule(problem, rule, **options):
    return pp.FunctionModel(
        problem.step, problem.actions.n, problem.initial_state, policy=rule, **options
    )


def as_weights(choices, actions):
    """The same rule, but as weights."""
    return lambda state: [0.8 if a == choices[state] else 0.1 for a in range(actions)]


def past_as_state(problem):
    """The same problem, but states never meet: each has its past in it."""

    def step(state, action, rng):
        after, reward, ended = problem.step(state[-1], action, rng)
        return (*state, after), reward, ended

    return step


def follow(problem, state, choose, steps, discount):
    """The discounted rewards of a rule."""
    total = 0.0
    for t in range(steps):
        state, reward, ended = problem.step(state, choose(state), np.random.default_rng(0))
        total += discount**t * reward
        if ended:
            break
    return total


@pytest.mark.parametrize("budget", [6, 20, 100, 600])
def test_an_optimal_rule_is_followed(budget):
    # 40 tables: nothing is better than the rule, so its value is never left behind.
    for seed in range(40):
        problem = table(seed)
        choices = optimal_actions(problem)
        plan = platypus(GAMMA).plan(
            with_rule(problem, choices.__getitem__), budget=budget, seed=seed
        )
        values = q_values(problem, 0, GAMMA)
        assert plan.improvement is not None
        case = f"{seed=}"
        if budget >= 100:  # sequences are long enough, or all is known
            assert values[plan.action] == pytest.approx(values.max(), abs=1e-7), case
            assert plan.improvement.estimate == pytest.approx(0.0, abs=1e-7), case


def test_the_rules_action_is_taken_where_nothing_is_better():
    # All actions are equal: the rule decides.
    def step(state, action, rng):
        return state + 1, 1.0, False

    for action in range(4):
        model = pp.FunctionModel(step, 4, 0, policy=lambda _, a=action: a)
        for budget in (4, 10, 50, 300):
            for seed in range(3):
                plan = platypus(GAMMA).plan(model, budget=budget, seed=seed)
                assert plan.action == action, f"{budget=} {seed=}"
                assert plan.improvement == (0.0, 0.0, 0.0)
                assert plan.calls == budget


def test_an_action_or_weights():
    for seed in range(20):
        problem = table(seed, noise=0.2)
        choices = np.random.default_rng(seed).integers(3, size=12).tolist()
        plans = [
            platypus(GAMMA).plan(with_rule(problem, rule), budget=150, seed=seed)
            for rule in (choices.__getitem__, as_weights(choices, 3))
        ]
        assert plans[0].actions == plans[1].actions
        assert plans[0].value == plans[1].value
        assert plans[0].improvement == plans[1].improvement


def test_illegal_weights_do_not_count():
    # The heaviest action is not legal in odd states: the rule takes the next one.
    calls = []

    def legal(state):
        return [1, 2] if state % 2 else [0, 1, 2]

    def step(state, action, rng):
        calls.append(action in legal(state))
        return state + 1, float(action == (1 if state % 2 else 0)), False

    model = pp.FunctionModel(step, 3, 0, legal=legal, policy=lambda _: [0.5, 0.3, 0.2])
    plan = platypus(GAMMA).plan(model, budget=100, seed=0)
    assert all(calls)
    assert plan.action == 0
    assert plan.improvement.estimate == 0.0


def test_the_improvement_is_exact_without_noise():
    # States never meet. The gain is that of the recommended sequence over the rule, over as many
    # steps; it is there whenever the rule is not what is recommended.
    better = 0
    for seed in range(40):
        problem = table(seed)
        rule = np.random.default_rng([51, seed]).integers(3, size=12).tolist()
        model = pp.FunctionModel(past_as_state(problem), 3, (0,), policy=lambda s, r=rule: r[s[-1]])
        plan = platypus(GAMMA).plan(model, budget=300, seed=seed)
        length = len(plan.actions)
        planned = iter(plan.actions)
        ours = follow(problem, 0, lambda _, p=planned: next(p), length, GAMMA)
        rules = follow(problem, 0, rule.__getitem__, length, GAMMA)
        assert plan.improvement.estimate == pytest.approx(ours - rules, abs=1e-9), f"{seed=}"
        assert plan.improvement.low == plan.improvement.high == plan.improvement.estimate
        assert plan.improvement.estimate >= 0.0
        better += plan.improvement.estimate > 0.01
        if plan.improvement.estimate == 0.0:
            assert plan.action == rule[0]
    assert better > 30


def test_the_improvement_is_there_when_all_is_known():
    # 5 states, 200 calls: the known graph is the problem.
    for seed in range(20):
        problem = table(seed, states=5, actions=2)
        best = optimal_actions(problem)
        worst = [1 - action for action in best]
        for rule, is_better in ((best, False), (worst, True)):
            plan = platypus(GAMMA).plan(with_rule(problem, rule.__getitem__), budget=200, seed=seed)
            assert plan.improvement is not None, f"{seed=}"
            assert (plan.improvement.estimate > 1e-9) == is_better, f"{seed=}"
            assert plan.value == pytest.approx(q_values(problem, 0, GAMMA).max(), abs=1e-7)


def test_the_plan_is_never_worse_than_the_rule():
    # 60 random rules, good and bad: over the length of the plan's sequence, without noise, what
    # the plan does brings at least as much as the rule.
    for seed in range(60):
        rng = np.random.default_rng([52, seed])
        problem = table(seed, num_terminal=int(rng.integers(0, 3)))
        best = optimal_actions(problem)
        rule = [a if rng.random() < 0.7 else int(rng.integers(3)) for a in best]
        model = pp.FunctionModel(past_as_state(problem), 3, (0,), policy=lambda s, r=rule: r[s[-1]])
        budget = int(rng.choice([8, 30, 120]))
        plan = platypus(GAMMA).plan(model, budget=budget, seed=seed)
        assert plan.improvement is None or plan.improvement.estimate >= 0.0, f"{seed=}"
        if plan.improvement is not None and plan.improvement.estimate == 0.0:
            assert plan.action == rule[0], f"{seed=}"


def test_episodes_by_a_good_rule_are_not_worse_with_the_planner():
    # 20 tables: the rule is optimal but for one state in four. No noise.
    gains = []
    for seed in range(20):
        rng = np.random.default_rng([53, seed])
        problem = table(seed, states=30)
        best = optimal_actions(problem)
        rule = [a if rng.random() < 0.75 else int(rng.integers(3)) for a in best]
        episode = pp.control(
            with_rule(problem, rule.__getitem__),
            planner=platypus(GAMMA),
            budget=60,
            steps=15,
            seed=seed,
        )
        ours = sum(GAMMA**t * r for t, r in enumerate(episode.rewards))
        gains.append(ours - follow(problem, 0, rule.__getitem__, 15, GAMMA))
    assert min(gains) > -0.3  # the last steps of an episode are planned for what follows them
    assert np.mean(gains) > 0.1


def test_with_noise_the_improvement_has_an_interval():
    problem = table(3, noise=0.5)
    model = with_rule(problem, lambda _: 0)
    plan = platypus(GAMMA).plan(model, budget=400, seed=0)
    assert plan.improvement.low < plan.improvement.estimate < plan.improvement.high


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_rule_that_raises(access):
    def rule(state):
        if state == 2:
            raise ZeroDivisionError("no rule here")
        return 0

    model = pp.FunctionModel(lambda s, a, rng: ((s + 1) % 5, 1.0, False), 2, 0, policy=rule)
    with pytest.raises(
        pp.ModelError, match=r"policy raised ZeroDivisionError.*at state 2"
    ) as caught:
        platypus(GAMMA).plan(model, budget=50, seed=0, access=access)
    assert caught.value.state == 2
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (7, "chose the action 7, which is not one of the model's actions"),
        (-1, "chose the action -1, which is not one of the model's actions"),
        (1, "chose the action 1, which is not legal there"),
        ([0.5, 0.5], "weights"),
        ([0.5, -0.5, 1.0], "weights"),
        ("left", "must return an action"),
        (None, "must return an action"),
        (float("nan"), "must return an action"),
    ],
)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_rule_that_names_no_legal_action(said, message, access):
    def legal(state):
        return [0, 2] if state == 2 else [0, 1, 2]

    model = pp.FunctionModel(
        lambda s, a, rng: ((s + 1) % 5, 1.0, False), 3, 0,
        legal=legal, policy=lambda state: said if state == 2 else 0,
    )  # fmt: skip
    with pytest.raises(pp.ModelError, match=message) as caught:
        platypus(GAMMA).plan(model, budget=50, seed=0, access=access)
    assert caught.value.state == 2
    assert "at state 2" in str(caught.value)


def test_without_a_rule_there_is_no_improvement():
    assert platypus(GAMMA).plan(table(0), budget=60, seed=0).improvement is None
