"""Rewards that say what they consist of."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import platypoos as pp

PRICES = (1.0, 1.0, 4.0, 4.0, 1.0)


def house(state, action, rng, noise=0.0):
    """Heat now (it costs) or later (it is cold)."""
    hour, warmth = state
    warmth = min(3, max(0, warmth + (1 if action else -1)))
    energy = -PRICES[hour % 5] * action
    drawn = noise * rng.normal() if noise else 0.0
    parts = {"energy": energy, "comfort": -2.0 * (warmth == 0) + drawn}
    return (hour + 1, warmth), pp.Reward(parts), False


def noisy(state, action, rng):
    return house(state, action, rng, noise=1.0)


def rewards_along(actions, discount):
    """What each part brings along a sequence, by stepping the model."""
    state, totals = (0, 1), {"energy": 0.0, "comfort": 0.0}
    for t, action in enumerate(actions):
        state, reward, _ = house(state, action, None)
        for name, part in reward.parts.items():
            totals[name] += discount**t * part
    return totals


def test_the_bars_are_the_differences_of_the_parts(tmp_path):
    calls = []

    def counted(state, action, rng):
        calls.append(action)
        return house(state, action, rng)

    plan = pp.plan(pp.FunctionModel(counted, 2, (0, 1)), budget=300, discount=0.9, seed=0)
    why = plan.explain(tmp_path / "why.html")
    assert len(calls) == plan.calls <= 300
    best = rewards_along([step.action for step in why.best.steps], 0.9)
    rival = rewards_along([step.action for step in why.rival.steps], 0.9)
    bars = {bar.label: bar.amount for bar in why.parts}
    for name in ("energy", "comfort"):
        assert bars[name] == pytest.approx(best[name] - rival[name])
    assert sum(bars.values()) == pytest.approx(why.gap)
    assert why.as_dict()["parts"][0]["label"] == why.parts[0].label
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    for text in (page, str(why), why._repr_html_()):
        assert "energy" in text
        assert "comfort" in text


def test_with_noise_parts_are_means_of_the_samples():
    plan = pp.plan(pp.FunctionModel(noisy, 2, (0, 1)), budget=2_000, discount=0.9, seed=0)
    steps = plan.explain().best.steps
    assert max(step.samples for step in steps) > 10
    for step in steps:
        assert sum(step.parts.values()) == pytest.approx(step.reward)
        assert step.parts["energy"] == pytest.approx(-PRICES[(step.state[0] - 1) % 5] * step.action)


@pytest.mark.parametrize("kind", ["a box", "by reset", "in threads"])
def test_parts_come_with_all_walks(kind):
    def turn(state, action, rng):
        moved = state + float(np.ravel(action)[0])
        return moved, pp.Reward({"near": -abs(moved - 2.0), "calm": -0.1}), False

    model = pp.FunctionModel(turn, pp.Box(-1.0, 1.0) if kind == "a box" else [-1.0, 1.0], 0.0)
    more = {"access": "reset"} if kind == "by reset" else {}
    if kind == "in threads":
        with ThreadPoolExecutor(2) as executor:
            plan = pp.plan(model, budget=200, seed=0, executor=executor)
    else:
        plan = pp.plan(model, budget=200, seed=0, **more)
    why = plan.explain()
    assert {bar.label for bar in why.parts} >= {"near", "calm"}
    assert sum(bar.amount for bar in why.parts) == pytest.approx(why.gap)


def test_parts_change_no_plan():
    def plain(state, action, rng):
        after, reward, ended = house(state, action, rng, noise=1.0)
        return after, float(reward), ended

    one, other = (
        pp.plan(pp.FunctionModel(step, 2, (0, 1)), budget=500, seed=3) for step in (noisy, plain)
    )
    assert one.actions == other.actions
    np.testing.assert_array_equal(one.action_values, other.action_values)
    assert other.explain().parts == ()


def test_parts_are_stored():
    plan = pp.plan(pp.FunctionModel(house, 2, (0, 1)), budget=200, discount=0.9, seed=0)
    bars = plan.explain().parts
    stored = pp.Plan.from_dict(json.loads(json.dumps(plan.as_dict())))
    for other in (plan.brief(), stored, pickle.loads(pickle.dumps(plan))):
        found = other.explain().parts
        assert [bar.label for bar in found] == [bar.label for bar in bars]
        assert [bar.amount for bar in found] == pytest.approx([bar.amount for bar in bars])


def test_a_part_that_is_only_there_at_times():
    def step(state, action, rng):
        parts = {"pay": float(action)}
        if state == 1:
            parts["fee"] = -0.25
        return state + 1, pp.Reward(parts), state == 3

    why = pp.plan(pp.FunctionModel(step, 2, 0), budget=100, discount=0.9, seed=0).explain()
    assert sum(bar.amount for bar in why.parts) == pytest.approx(why.gap)


@pytest.mark.parametrize("parts", [{"fee": "high"}, {"fee": float("nan")}, 3.0])
def test_bad_parts_are_named(parts):
    def step(state, action, rng):
        return state, pp.Reward(parts), False

    with pytest.raises(pp.ModelError, match="state 0"):
        pp.plan(pp.FunctionModel(step, 2, 0), budget=10, seed=0)


def test_a_reward_is_a_number_that_survives_pickling():
    reward = pp.Reward({"energy": -2.0, "comfort": 0.5})
    again = pickle.loads(pickle.dumps(reward))
    assert again == reward == -1.5
    assert again.parts == reward.parts
    assert json.dumps(reward) == "-1.5"
    assert repr(reward) == "Reward({'energy': -2.0, 'comfort': 0.5})"


@pytest.mark.parametrize(
    "planner", [pp.planners.UCT(0.9, horizon=5), pp.PlaTyPOOS(0.9), pp.planners.CEM(0.9), None]
)
def test_parts_harm_no_planner(planner):
    episode = pp.control(
        pp.FunctionModel(house, 2, (0, 1)),
        planner=planner,
        budget=50,
        steps=3,
        discount=0.9,
        seed=0,
    )
    assert sum(episode.rewards) <= 0.0
    assert json.dumps(episode.as_dict()["steps"][0]["reward"])


def test_how_much_more_or_less_a_part_must_count():
    """The two sequences, with the part counted so, are worth the same."""
    plan = pp.plan(pp.FunctionModel(house, 2, (0, 1)), budget=300, discount=0.9, seed=0)
    why = plan.explain()
    flips = [flip for flip in why.flips if flip.part]
    assert flips
    best = rewards_along([step.action for step in why.best.steps], 0.9)
    rival = rewards_along([step.action for step in why.rival.steps], 0.9)
    for flip in flips:
        changed = {name: 1.0 + flip.amount * (name == flip.part) for name in best}
        ours, theirs = (sum(changed[n] * one[n] for n in best) for one in (best, rival))
        rest = why.gap - sum(best.values()) + sum(rival.values())
        assert ours - theirs + rest == pytest.approx(0.0, abs=1e-9)
        assert (
            f"{100 * abs(flip.amount):.0f} % {'more' if flip.amount > 0 else 'less'}" in flip.text
        )
