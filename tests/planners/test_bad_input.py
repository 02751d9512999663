"""Bad input gets a clear error that names the value and the remedy, and loses nothing."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from random_trees import PLANNERS

import platypoos as pp

MODEL = pp.problems.SwitchChain()


@numba.njit
def idle_kernel(state, action, params, rng, next_state):
    next_state[0] = state[0]
    return 0.0, False


@pytest.mark.parametrize("discount", [1.001, -0.1, 2, math.nan, "high", "0.9", None])
@pytest.mark.parametrize("make", PLANNERS.values(), ids=PLANNERS)
def test_discount(make, discount):
    with pytest.raises(pp.InvalidArgument, match=r"discount must be .*\[0, 1\)") as caught:
        make(discount)
    assert repr(discount) in str(caught.value)


def test_a_discount_in_percent():
    with pytest.raises(pp.InvalidArgument, match=r"got 95; did you mean 0\.95\?"):
        pp.plan(MODEL, budget=100, discount=95)


@pytest.mark.parametrize("given", ["uct", "UCT", pp.planners.UCT])
def test_a_planner_by_its_name(given):
    with pytest.raises(
        pp.InvalidArgument, match=r"write planner=pp\.planners\.UCT\(discount=0\.95, horizon=…"
    ):
        pp.plan(MODEL, budget=100, planner=given)
    with pytest.raises(pp.InvalidArgument, match=r"planner must be .* got 'best'$"):
        pp.plan(MODEL, budget=100, planner="best")


def test_rewards_of_32_bits():
    def model(reward):
        return pp.FunctionModel(lambda state, action, rng: (state, reward, False), 2, 0)

    assert pp.plan(model(np.float32(0.5)), budget=20, discount=0.5, seed=0).value > 0.5
    for reward in (np.float32("inf"), np.float32("nan"), np.array(np.inf, np.float32)):
        with pytest.raises(pp.errors.RewardError, match="must be finite"):
            pp.plan(model(reward), budget=20)
        assert not pp.check_model(model(reward)).ok


def test_what_is_observed_is_a_number():
    agent = pp.Agent(MODEL, budget=20)
    with pytest.raises(pp.InvalidArgument, match="nothing to observe"):
        agent.observe(1.0)
    agent.act()
    for reward in (math.nan, (0, 1), "high"):
        with pytest.raises(pp.InvalidArgument, match="reward must be a finite number"):
            agent.observe(reward)


def test_the_five_values_of_an_environment():
    def step(state, action, rng):
        return state, 0.0, False, False, {}

    with pytest.raises(pp.errors.TransitionError, match="look like Gymnasium's five"):
        pp.plan(pp.FunctionModel(step, 2, 0), budget=10)


@pytest.mark.parametrize("discount", [1.0, -0.1])
def test_discount_of_plan_control_and_schedules(discount):
    wanted = "discount must be in|needs horizon="
    with pytest.raises(pp.InvalidArgument, match=wanted):
        pp.plan(MODEL, budget=100, discount=discount)
    with pytest.raises(pp.InvalidArgument, match=wanted):
        pp.control(MODEL, budget=100, steps=1, discount=discount)
    for schedule in (
        pp.planners.schedules.platypoos,
        pp.planners.schedules.sequool,
        pp.planners.schedules.stroquool,
        pp.planners.schedules.uniform,
    ):
        with pytest.raises(pp.InvalidArgument, match="discount must be in"):
            schedule(100, 2, discount)


@pytest.mark.parametrize("make", PLANNERS.values(), ids=PLANNERS)
def test_budget_of_every_planner(make):
    match = r"budget 1 is below the number of actions 2: .* at least 2"
    with pytest.raises(pp.InvalidArgument, match=match):
        make(0.9).plan(MODEL, budget=1)
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.control(MODEL, planner=make(0.9), budget=1, steps=1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: pp.planners.OLOP(0.9, reward_max=math.inf), "reward_max must be a finite number"),
        (
            lambda: pp.planners.OPD(0.9, reward_max=0.0),
            "reward_max must be above reward_min, got 0 and 0",
        ),
        (
            lambda: pp.planners.OPD(0.9, reward_max=1, reward_min=2),
            "above reward_min, got 1 and 2",
        ),
        (
            lambda: pp.planners.OPD(0.9, reward_max=1, reward_min="low"),
            "reward_min must be .* 'low'",
        ),
        (
            lambda: pp.planners.OLOP(0.9, reward_max=1, noise=-1),
            "noise must be .* at least 0, got -1",
        ),
        (lambda: pp.planners.StoSOO(0.9, noise=math.nan), "noise must be .* got nan"),
        (lambda: pp.planners.UCT(0.9, scale=True, horizon=5), "scale must be .* got True"),
        (
            lambda: pp.planners.UCT(0.9, scale=-1.0, horizon=5),
            "scale must be .* at least 0, got -1",
        ),
        (
            lambda: pp.planners.UCT(0.9, scale=1.0, horizon=0),
            "horizon must be a whole number .* got 0",
        ),
        (lambda: pp.planners.BRUE(0.9, horizon=2.5), "horizon must be a whole number .* got 2.5"),
        (lambda: pp.planners.SequentialHalving(0.9, horizon=None), "horizon must be .* got None"),
        (lambda: pp.planners.BAIMCTS(0.9, reward_max=1, depth=0), "depth must be"),
        (
            lambda: pp.planners.BAIMCTS(0.9, reward_max=1, depth=2, delta=1),
            "delta .* below 1, got 1",
        ),
        (
            lambda: pp.planners.BAIMCTS(0.9, reward_max=1, depth=2, rule="ucb"),
            "rule must be .* 'ucb'",
        ),
        (
            lambda: pp.planners.StOP(0.9, reward_max=1, epsilon=0),
            "epsilon must be .* above 1e-12, got 0",
        ),
        (
            lambda: pp.planners.TrailBlazer(0.9, reward_max=1, epsilon=-1),
            "epsilon .* above 1e-12, got -1",
        ),
        (
            lambda: pp.planners.TrailBlazer(0.9, reward_max=1, epsilon=1, delta=0),
            "delta .* above 1e-12",
        ),
        (lambda: pp.planners.SOO(0.9, reward_floor=math.inf), "reward_floor must be"),
        (
            lambda: pp.planners.KLOLOP(0.9, reward_max=1, guaranteed="no"),
            "guaranteed must be True or",
        ),
        (lambda: pp.planners.Uniform(0.9, share="no"), "share must be True or False, got 'no'"),
        (lambda: pp.planners.OPD(0.9, reward_max=1e308), "beyond all measure"),
        (
            lambda: pp.planners.StOP(0.9, reward_max=1, epsilon=1e-300),
            "epsilon must be .* above 1e-12",
        ),
        (
            lambda: pp.planners.TrailBlazer(0.9, reward_max=1, epsilon=1, delta=1e-300),
            "delta .* above",
        ),
    ],
)
def test_what_planners_are_told(make, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        make()


@pytest.mark.parametrize("budget", [0, 1, -5])
def test_budget_below_the_number_of_actions(budget):
    match = f"budget {budget} is below the number of actions 2: .* at least 2"
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.plan(MODEL, budget=budget, discount=0.9)
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.control(MODEL, budget=budget, steps=1, discount=0.9)
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.planners.schedules.platypoos(budget, 2, 0.9)


@pytest.mark.parametrize("budget", [10.5, "many", None])
def test_budget_that_is_no_whole_number(budget):
    with pytest.raises(pp.InvalidArgument, match="budget must be a whole number"):
        pp.plan(MODEL, budget=budget, discount=0.9)


def test_budget_as_a_whole_float():
    assert pp.plan(MODEL, budget=1e3, discount=0.9, seed=0).calls == 1_000  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, "lucky", 1.5])
def test_seed(seed):
    with pytest.raises(pp.InvalidArgument, match="seed must be"):
        pp.plan(MODEL, budget=100, discount=0.9, seed=seed)


def test_access():
    with pytest.raises(pp.InvalidArgument, match=r"access must be .* got 'teleport'"):
        pp.plan(MODEL, budget=100, discount=0.9, access="teleport")
    with pytest.raises(pp.InvalidArgument, match="access must be"):
        pp.planners.schedules.platypoos(100, 2, 0.9, "teleport")
    with pytest.raises(pp.InvalidArgument, match="access must be"):
        pp.FunctionModel(lambda s, a, r: (s, 0.0, False), 2, 0, access="teleport")


def test_no_discount_and_no_planner():
    assert pp.plan(MODEL, budget=100, seed=0).discount == 0.95
    assert pp.control(MODEL, budget=100, steps=1, seed=0).discount == 0.95


def test_two_discounts():
    with pytest.raises(pp.InvalidArgument, match=r"0\.5 is not the planner's, 0\.9"):
        pp.plan(MODEL, budget=100, discount=0.5, planner=pp.PlaTyPOOS(0.9))


def test_planner_that_is_none():
    with pytest.raises(pp.InvalidArgument, match="planner must be a planner"):
        pp.plan(MODEL, budget=100, planner=pp.PlaTyPOOS)  # type: ignore[arg-type]


@pytest.mark.parametrize("steps", [0, -1, 2.5, "a few"])
def test_steps(steps):
    with pytest.raises(pp.InvalidArgument, match="steps must be a whole number"):
        pp.control(MODEL, budget=100, steps=steps, discount=0.9)


def test_model_that_is_none():
    with pytest.raises(pp.InvalidArgument, match=r"is not a model.*FunctionModel"):
        pp.plan(lambda state, action: state, budget=100, discount=0.9)


@pytest.mark.parametrize("options", [{"budget_use": "some"}, {"reward_floor": math.inf}])
def test_planner_options(options):
    with pytest.raises(pp.InvalidArgument, match="must be"):
        pp.PlaTyPOOS(0.9, **options)
    with pytest.raises(pp.InvalidArgument, match="reward_floor must be"):
        pp.planners.Uniform(0.9, reward_floor=math.nan)
    with pytest.raises(pp.InvalidArgument, match="budget_use must be"):
        pp.planners.schedules.platypoos(100, 2, 0.9, budget_use="some")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, -1, 2.0, "two", True])
def test_number_of_actions(number):
    with pytest.raises(pp.InvalidArgument, match="actions must"):
        pp.FunctionModel(lambda s, a, r: (s, 0.0, False), number, 0)
    with pytest.raises(pp.InvalidArgument, match="actions must"):
        pp.ArrayModel(lambda s, a, r: (s, a, False), number, 0.0)
    with pytest.raises(pp.InvalidArgument, match="actions must"):
        pp.planners.schedules.platypoos(100, number, 0.9)


def test_model_arguments():
    with pytest.raises(pp.InvalidArgument, match="step must be callable"):
        pp.FunctionModel("step", 2, 0)  # type: ignore[arg-type]
    with pytest.raises(pp.InvalidArgument, match="function must be callable"):
        pp.ArrayModel("step", 2, 0.0)  # type: ignore[arg-type]
    with pytest.raises(pp.InvalidArgument, match="use FunctionModel"):
        pp.ArrayModel(lambda s, a, r: (s, a, False), 2, {"x": 1})
    for size in (0, 1.5):
        with pytest.raises(pp.InvalidArgument, match="batch_size must be"):
            pp.ArrayModel(lambda s, a, r: (s, a, False), 2, 0.0, batch_size=size)
    with pytest.raises(pp.InvalidArgument, match="use FunctionModel"):
        pp.ArrayModel(lambda s, a, r: (s, a, False), 2, "abc")
    with pytest.raises(pp.InvalidArgument, match=r"takes 2 arguments; it must be kernel\(state"):
        pp.CompiledModel(numba.njit(lambda s, a: (0.0, False)), 2, np.zeros(1))
    with pytest.raises(pp.InvalidArgument, match="params must be an array"):
        pp.CompiledModel(idle_kernel, 2, np.zeros(1), params={"a": 1})
    with pytest.raises(pp.InvalidArgument, match=r"compiled with numba\.njit"):
        pp.CompiledModel(lambda s, a, p, r, n: (0.0, False), 2, np.zeros(1))
    with pytest.raises(pp.InvalidArgument, match="one-dimensional"):
        pp.CompiledModel(idle_kernel, 2, np.zeros((2, 2)))
    with pytest.raises(pp.InvalidArgument, match=r"shape \(2,\) and type float64"):
        pp.plan(MODEL.compiled(), np.zeros(3), budget=10, discount=0.9)


def test_simple_regret_of_an_unknown_model():
    model = pp.FunctionModel(lambda s, a, r: (s, 1.0, False), 2, 0)
    plan = pp.plan(model, budget=50, discount=0.9, seed=0)
    with pytest.raises(pp.InvalidArgument, match="optimal values of FunctionModel are not known"):
        pp.problems.simple_regret(model, plan)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: pp.problems.SwitchChain(noise=-1), "noise must be at least 0, got -1"),
        (lambda: pp.problems.SwitchChain(shift=math.nan), "shift must be finite"),
        (lambda: pp.problems.Garnet(0, 2), "at least 1, got 0, 2"),
        (lambda: pp.problems.Garnet(5, 2, num_terminal=5), "num_terminal must be from 0"),
        (lambda: pp.problems.Garnet(5, 2, noise=-1), "noise must be at least 0"),
        (lambda: pp.problems.Grid(rows=["S.", "..."]), "one and the same length"),
        (lambda: pp.problems.Grid(rows=["..G"]), "exactly one S"),
        (lambda: pp.problems.Grid(rows=["S?G"]), r"\['\?'\]"),
        (lambda: pp.problems.Battery(capacity=0), "capacity must be at least 1"),
        (lambda: pp.problems.Battery(efficiency=0), "efficiency must be in"),
        (lambda: pp.problems.Tabular([[5]], [[1.0]]), "names the state 5, but states are 0 to 0"),
        (lambda: pp.problems.Tabular([[0]], [[math.inf]]), "reward must be finite"),
        (lambda: pp.problems.Tabular([0], [1.0]), "table"),
        (lambda: pp.problems.Tabular([[0]], [[1.0]], terminal=[0]), "is terminal"),
    ],
)
def test_problems(make, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        make()
