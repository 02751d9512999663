"""What a plan says of the user's rule."""

from __future__ import annotations

import platypoos as pp


def walk(position, action, rng):
    position += (-1, 1)[action]
    return position, float(position == 3), False


def test_a_plan_says_what_it_gains_over_the_rule():
    model = pp.FunctionModel(walk, 2, 0, policy=lambda position: 0)
    plan = pp.plan(model, budget=300, discount=0.9, seed=0)
    gain = plan.improvement
    assert gain.estimate > 0.0
    assert gain.low == gain.estimate == gain.high  # there is no noise
    second = str(plan).splitlines()[1]
    assert second.startswith("better than your rule by ")
    assert second.removeprefix("better than your rule by ") in plan._repr_html_()


def test_a_plan_says_if_nothing_better_than_the_rule_was_found():
    model = pp.FunctionModel(
        lambda x, a, rng: (x, float(a == 1), False), 2, 0, policy=lambda position: 1
    )
    plan = pp.plan(model, budget=100, discount=0.9, seed=0)
    assert plan.action == 1
    assert plan.improvement.estimate == 0.0
    assert "your rule does the same" in str(plan)


def test_nothing_is_said_without_a_rule():
    plan = pp.plan(pp.FunctionModel(walk, 2, 0), budget=100, discount=0.9, seed=0)
    assert plan.improvement is None
    assert "your rule" not in str(plan)
