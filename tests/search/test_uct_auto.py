"""UCT that measures the scale of the returns by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
import textbook
from parts import in_parts
from test_contenders import CASES, discounted, random_case

import platypoos as pp
from platypoos.cli.options import make_planner

KINDS = [pp.planners.UCT, pp.planners.PolynomialUCT]


@in_parts(40, CASES)
@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_is_the_range_of_the_returns_so_far(kind, access, cases):
    alone = played = 0
    for seed in cases:
        model, record, gamma, budget = random_case(seed)
        kind(gamma, horizon=4).plan(model, budget=budget, seed=seed, access=access)
        horizon = min(4, budget // model.actions.n)
        for actions, rewards, ended in model.episodes:
            returns = [discounted(earlier, gamma) for _, earlier in record.episodes]
            scale = max(returns) - min(returns) if returns else 0.0

            def bonus(visits, tries, scale=scale):
                if kind is pp.planners.UCT:
                    return scale * math.sqrt(math.log(visits) / tries)
                return scale * visits**0.25 / tries**0.5

            alone += textbook.uct_allows(record, actions, horizon, bonus)
            played += 1
            record.add(actions, rewards, ended)
    assert alone > played / 4, (alone, played)


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("scale", "shift"), [(3.0, 100.0), (0.1, -100.0), (1e4, 0.0)])
def test_scale_and_shift_do_not_matter(kind, access, scale, shift):
    for seed in range(20):
        problem = pp.problems.Garnet(10, 3, seed=seed, noise=[0.0, 0.5][seed % 2])
        other = pp.problems.Tabular(
            problem.successor, scale * problem.reward + shift, noise=scale * problem.noise
        )
        plans = [
            kind(0.9, horizon=12).plan(model.compiled(), budget=1_000, seed=seed, access=access)
            for model in (problem, other)
        ]
        sizes = [plan.tree.num_nodes for plan in plans]
        played = [plan.tree.action[:size] for plan, size in zip(plans, sizes, strict=True)]
        assert np.array_equal(*played)
        assert plans[0].actions == plans[1].actions
        steps = sum(0.9**t for t in range(12))
        expected = scale * plans[0].action_values + shift * steps
        np.testing.assert_allclose(plans[1].action_values, expected, rtol=1e-9, atol=1e-9)


def test_a_fixed_scale_depends_on_the_rewards():
    """The test above can fail: the walks differ if the scale does not fit."""
    problem = pp.problems.Garnet(10, 3, seed=0)
    other = pp.problems.Tabular(problem.successor, 100.0 * problem.reward)
    trees = [
        pp.planners.UCT(0.9, scale=1.0, horizon=12)
        .plan(model.compiled(), budget=1_000, seed=0)
        .tree
        for model in (problem, other)
    ]
    assert trees[0].num_nodes != trees[1].num_nodes


def test_equal_returns_are_no_problem():
    flat = pp.FunctionModel(lambda state, action, rng: (state, 2.0, False), 3, 0)
    for kind in KINDS:
        plan = kind(0.5, horizon=3).plan(flat, budget=300, seed=0)
        assert plan.calls == 300
        assert plan.value == pytest.approx(3.5)


def test_it_is_the_default_and_can_be_asked_for_by_name():
    assert pp.planners.UCT(0.9, horizon=5) == pp.planners.UCT(0.9, scale="auto", horizon=5)
    for name, kind in [("uct", pp.planners.UCT), ("polynomial-uct", pp.planners.PolynomialUCT)]:
        assert make_planner(name, 0.9, ["scale=auto", "horizon=5"]) == kind(0.9, horizon=5)
        assert make_planner(name, 0.9, ["scale=2", "horizon=5"]) == kind(0.9, scale=2.0, horizon=5)
        with pytest.raises(pp.InvalidArgument, match=r"needs horizon; .*pass --set horizon="):
            make_planner(name, 0.9, [])
    with pytest.raises(pp.InvalidArgument, match="at least 0, or 'auto', got 'large'"):
        pp.planners.UCT(0.9, scale="large", horizon=5)
