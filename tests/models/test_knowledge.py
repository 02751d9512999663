"""What one knows of a problem helps, and when it is wrong it costs calls only."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_trees import PLANNERS, Counted, can_use

import platypoos as pp

VALUED = [name for name, make in PLANNERS.items() if "value" in make(0.5).uses]
GUIDED = [name for name, make in PLANNERS.items() if "policy" in make(0.5).uses]
WALKING = {*GUIDED, "cem"} - {"platypus"}
"""Those that walk at random, or by the policy; the default planner only follows it."""
FAR = 60


def corridor(position, action, rng):
    """The prize is 60 steps to the right."""
    position += 2 * action - 1
    return position, float(position == FAR), position == FAR


def looking(planner, steps):
    """The same planner, looking so many steps ahead."""
    return dataclasses.replace(
        planner, **{"horizon" if hasattr(planner, "horizon") else "length": steps}
    )


@pytest.mark.parametrize("name", VALUED)
def test_a_value_shows_the_way_to_what_is_out_of_sight(name):
    hint = pp.FunctionModel(corridor, 2, 0, value=lambda position: 0.9 ** abs(FAR - position))
    planner, budget = PLANNERS[name](0.9), 60
    if name in WALKING:  # walks are random: it takes more of them
        planner, budget = looking(planner, 4), 2_000
    right = [planner.plan(hint, budget=budget, seed=seed).action for seed in range(20)]
    assert sum(right) >= 19


@pytest.mark.parametrize("name", GUIDED)
def test_a_policy_leads_to_what_random_walks_do_not_find(name):
    """Twelve steps right pay; the policy goes right nine times of ten."""

    def step(position, action, rng):
        position += 2 * action - 1
        return position, float(position == 12), False

    guided = pp.FunctionModel(step, 2, 0, policy=lambda position: [0.1, 0.9])
    blind = pp.FunctionModel(step, 2, 0)
    found = []
    for model in (blind, guided):
        seen = 0
        for seed in range(20):
            plan = PLANNERS[name](0.9).plan(model, budget=400, seed=seed)
            seen += bool((plan.tree.reward[: plan.tree.num_nodes] == 1.0).any())
        found.append(seen)
    assert found[1] >= min(20, found[0] + 5), found


@pytest.mark.parametrize("name", sorted({*VALUED, *GUIDED} - {"one-step"}))
def test_wrong_knowledge_costs_calls_not_the_answer(name):
    """Values that praise the wrong side, and a policy that never takes the right action.

    Tables of 5 states, 2 actions, γ = 0.5 and rewards in [0, 1]; 20 problems whose best first
    action is ahead by at least 0.2. The said values are off by up to 20, as much as all rewards
    together are worth ten times over.
    """
    checked = 0
    for seed in range(60):
        problem = pp.problems.Garnet(5, 2, seed=seed)
        values = problem.action_values(problem.initial_state, 0.5)
        if abs(values[0] - values[1]) < 0.2:
            continue
        checked += 1
        best = int(values.argmax())

        table = [problem.action_values(state, 0.5) for state in range(problem.num_states)]

        def say(state, table=table):
            return -10.0 * table[state].max() + 10.0

        def act(state, table=table):
            return (table[state] < table[state].max()) * 1

        model = pp.FunctionModel(problem.step, 2, problem.initial_state, value=say, policy=act)
        planner = PLANNERS[name](0.5)
        if name in {"uct", "polynomial-uct"}:
            planner = type(planner)(0.5, scale=2.0, horizon=12)
        plan = planner.plan(model, budget=6_000, seed=seed)
        assert plan.action == best, f"{seed=} {plan}"
        if checked == 20:
            break
    assert checked == 20


@pytest.mark.parametrize("name", sorted(set(VALUED) - {"one-step"}))
@pytest.mark.parametrize(("discount", "horizon"), [(1.0, 3), (0.5, None)])
def test_praise_for_what_was_opened_is_forgotten(name, discount, horizon):
    """The first two steps are said to be worth 100 after action 0; rewards are 1 for action 1."""

    def step(state, action, rng):
        return (*state, action), float(action == 1), False

    def say(state):
        return 100.0 if state and state[0] == 0 and len(state) < 3 else 0.0

    model = pp.FunctionModel(step, 2, (), value=say)
    planner = PLANNERS[name](discount)
    if name in WALKING - {"cem"}:
        planner = looking(planner, 12)
    for access in ("restore", "reset"):
        if not can_use(name, access):
            continue
        plan = planner.plan(model, budget=6_000, horizon=horizon, seed=0, access=access)
        assert plan.action == 1


def test_a_key_that_raises_is_named():
    model = pp.FunctionModel(lambda s, a, r: (s + 1, 0.0, False), 2, 0, key=lambda s: 1 / (s - 2))
    with pytest.raises(pp.ModelError, match=r"the model's key raised ZeroDivisionError.*state 2"):
        pp.plan(model, budget=100, discount=0.9, seed=0)


@pytest.mark.parametrize("name", PLANNERS)
def test_the_three_forms_of_a_model_that_knows_plan_alike(name):
    for seed in range(4):
        problem = pp.problems.Garnet(8, 3, seed=seed, num_terminal=seed % 2)
        plans = [
            PLANNERS[name](0.8).plan(
                Counted(problem, kind, knows=("value", "policy")).model, budget=120, seed=seed
            )
            for kind in ("python", "array", "compiled")
        ]
        assert plans[0].actions == plans[1].actions == plans[2].actions
        values = [plan.action_values for plan in plans]
        assert np.allclose(values[0], values[1], equal_nan=True)
        assert np.allclose(values[0], values[2], equal_nan=True)


def test_what_is_said_must_be_numbers():
    step = pp.problems.Garnet(5, 2, seed=0).step
    for said, match in [
        ({"value": lambda s: float("nan")}, r"finite number, 1e\+100 at most, got nan \(at state"),
        ({"value": lambda s: "much"}, r"finite number, 1e\+100 at most, got 'much'"),
        ({"value": lambda s: 1 / 0}, "the model's value raised ZeroDivisionError"),
        ({"policy": lambda s: [1.0]}, r"2 finite weights of at least 0, got \[1.0\]"),
        ({"policy": lambda s: [1.0, -1.0]}, "2 finite weights"),
    ]:
        model = pp.FunctionModel(step, 2, 0, **said)
        with pytest.raises(pp.ModelError, match=match) as caught:
            pp.planners.UCT(0.9, scale=1.0, horizon=5).plan(model, budget=100, seed=0)
        assert caught.value.tree.num_nodes > 1
        assert not pp.check_model(model).ok
    with pytest.raises(pp.InvalidArgument, match="value must be a function of the state, got 3"):
        pp.FunctionModel(step, 2, 0, value=3)


def test_array_models_are_not_asked_about_ends():
    """Nor about no states at all."""

    def value(states):
        assert len(states) > 0
        assert (states < 5).all()
        return np.zeros(len(states))

    def step(states, actions, rng):
        return states + 1, actions * 1.0, states >= 4

    model = pp.ArrayModel(step, 2, np.int64(0), value=value)
    for planner in (pp.PlaTyPOOS(0.9), pp.Platypus(0.9)):
        assert planner.plan(model, budget=500, seed=0).action == 1


def test_wrappers_translate_values():
    problem = pp.problems.Garnet(5, 2, seed=0)
    model = pp.FunctionModel(problem.step, 2, 0, value=lambda state: 1.0 + state)
    assert pp.models.ScaledReward(model, 3.0).value(2) == 9.0
    assert pp.models.ScaledReward(model, 3.0, shift=1.0).value is None
    assert pp.models.ShapedReward(model, lambda state: 0.5, 0.9).value(2) == 2.5
    assert pp.models.NoisyReward(model, 1.0).value(2) == 3.0


def test_the_list_of_planners_says_what_each_uses(capsys):
    from platypoos.cli.main import main

    assert main(["planners", "uct", "trailblazer"]) == 0
    told = capsys.readouterr().out
    assert "uses of a model: legal, value, policy; takes a horizon" in told
    assert "uses of a model: legal; takes no horizon" in told
