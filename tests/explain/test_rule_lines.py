"""What a plan says of the user's rule."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

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


def bar_walk(position, action, rng):
    position += (-1, 1)[action]
    return position, pp.Reward({"prize": float(position == 3), "effort": -0.1 * action}), False


def test_the_line_of_the_rule_is_what_the_rule_does(tmp_path):
    model = pp.FunctionModel(bar_walk, 2, 0, policy=lambda position: position % 2)
    plan = pp.plan(model, budget=300, discount=0.9, seed=0)
    why = plan.explain(tmp_path / "why.html")
    state = 0
    for step in why.rule.steps:
        action = state % 2
        state, reward, _ = bar_walk(state, action, None)
        assert (step.action, step.state, step.reward) == (action, state, pytest.approx(reward))
    assert sum(bar.amount for bar in why.rule_bars) == pytest.approx(plan.improvement.estimate)
    assert [bar.label for bar in why.rule_bars][:2] == ["prize", "effort"]
    # It is no sequence of the first actions.
    assert [step.action for step in why.best.steps] == list(plan.actions)
    assert why.best.value == plan.value
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    words = why.beside_rule[0].upper() + why.beside_rule[1:]
    assert words in page
    for text in (why.summary, str(why), str(plan), plan._repr_html_()):
        assert why.beside_rule in text
    assert "Compared with your rule" in page
    assert "your rule" in str(plan).split("sequence:")[1]
    json.dumps(why.as_dict())


def test_without_parts_the_gain_is_told_step_by_step():
    model = pp.FunctionModel(walk, 2, 0, policy=lambda position: 0)
    plan = pp.plan(model, budget=300, discount=0.9, seed=0)
    bars = plan.explain().rule_bars
    assert bars[0].label.startswith("step")
    assert sum(bar.amount for bar in bars) == pytest.approx(plan.improvement.estimate)


@pytest.mark.parametrize("actions", [2, pp.Box(-1.0, 1.0)], ids=["list", "box"])
def test_the_line_of_the_rule_is_stored(actions):
    def move(position, action, rng):
        position += float(np.ravel(action)[0])
        return position, -abs(position - 2.0), False

    rule = (lambda position: 0) if actions == 2 else (lambda position: np.array([0.5]))
    plan = pp.plan(pp.FunctionModel(move, actions, 0.0, policy=rule), budget=200, seed=0)
    line = plan.explain().rule
    assert len(line.steps) > 3
    stored = pp.Plan.from_dict(json.loads(json.dumps(plan.as_dict())))
    for other in (plan.brief(), stored, pickle.loads(pickle.dumps(plan))):
        assert other.improvement == plan.improvement
        assert str(other).split("\n\n")[0] == str(plan).split("\n\n")[0]
        found = other.explain()
        assert [s.reward for s in found.rule.steps] == [s.reward for s in line.steps]
        assert found.best.value == plan.value
        np.testing.assert_allclose(other.action_values[plan.action_index], plan.value)


def test_with_noise_the_gain_has_an_interval():
    def step(state, action, rng):
        return state + 1, action + rng.normal(), state == 20

    model = pp.FunctionModel(step, 2, 0, policy=lambda state: 0)
    plan = pp.plan(model, budget=300, discount=0.9, seed=0)
    assert " with 95 %)" in plan.explain().beside_rule


def test_what_measured_the_gain_is_said(tmp_path):
    def shop(stock, order, rng):
        sold = min(stock + order, rng.poisson(1.5))
        return stock + order - sold, 5.0 * sold - 2.0 * order - 0.1 * stock, False

    model = pp.FunctionModel(shop, 4, 0, dynamics="random", policy=lambda stock: 1)
    pp.plan(model, budget=1_000, seed=0).explain(tmp_path / "shop.html")
    page = (tmp_path / "shop.html").read_text(encoding="utf-8")
    assert "By pairs of fresh roll-outs that meet the same chance." in page
    assert "The samples that chose the plan" not in page
