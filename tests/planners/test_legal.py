"""Legal actions: no planner ever calls or recommends another one."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from parts import in_parts
from random_trees import CONTENDERS, PLANNERS, THINKING, Counted, can_use

import platypoos as pp

CASES = 5_000  # seeds 0 … 4,999
FINITE = [name for name, make in PLANNERS.items() if make(0.5).finite]


def random_masks(rng, num_states, num_actions):
    masks = rng.random((num_states, num_actions)) < rng.choice([0.3, 0.7])
    masks[np.arange(num_states), rng.integers(num_actions, size=num_states)] = True
    return masks


def random_case(seed, masks=None):
    rng = np.random.default_rng(seed)
    kind = ["python", "array", "compiled"][seed % 3]
    name = list(PLANNERS)[seed // 3 % len(PLANNERS)]
    access = pp.Access.RESET if rng.integers(2) else pp.Access.RESTORE
    if not can_use(name, access):
        access = pp.Access.RESTORE
    num_actions, num_states = int(rng.integers(1, 7)), int(rng.integers(2, 30))
    most = 5_000 if kind == "compiled" else 600
    if kind == "array" and name in CONTENDERS:
        most = 300  # they walk: batches of one
    budget = int(np.exp(rng.uniform(np.log(num_actions), np.log(most))))
    horizon = int(rng.integers(1, 12)) if name in FINITE and rng.integers(2) else None
    discount = float(rng.choice([0.0, 0.999, rng.uniform(0, 0.999)]))
    if horizon is not None and rng.integers(2):
        discount = 1.0
    if name.startswith(("uniform", "op")) and num_actions == 1:
        budget = min(budget, 300)  # one sequence as long as the budget
    problem = pp.problems.Garnet(
        num_states,
        num_actions,
        seed=seed,
        noise=float(rng.choice([0.0, 1.0])),
        num_terminal=int(rng.choice([0, num_states // 2])),
    )
    knows = tuple(word for word in ("value", "policy") if rng.integers(4) == 0)
    if masks is None:
        masks = random_masks(rng, num_states, num_actions)
    counted = Counted(problem, kind, masks, knows, access)
    return counted, PLANNERS[name](discount), max(budget, num_actions), horizon


@in_parts(1_000, CASES)
def test_no_illegal_action_is_called_or_recommended(cases):
    used = 0
    for seed in cases:
        counted, planner, budget, horizon = random_case(seed)
        plan = planner.plan(counted.model, budget=budget, seed=seed, horizon=horizon)
        case = f"{seed=} {planner} {budget=} {horizon=} {counted.model.access}"
        assert counted.illegal_calls == 0, case
        assert counted.calls == plan.calls <= budget, case
        legal = counted.masks[counted.problem.initial_state]
        assert legal[plan.action], case
        assert np.isnan(plan.action_values[~legal]).all(), case
        assert np.isfinite(plan.value) or plan.calls == 0, case
        assert horizon is None or len(plan.actions) <= horizon, case
        state = counted.problem.initial_state
        for action in plan.actions:  # the whole sequence can be taken
            assert counted.masks[state, action], case
            state, _, ended = counted.problem.step(state, action, np.random.default_rng(0))
            if ended:
                break
        used += plan.calls
    assert used > 0


@pytest.mark.parametrize("name", PLANNERS)
def test_all_legal_is_the_same_as_no_masks(name):
    for seed in range(18):
        kind = ["python", "array", "compiled"][seed % 3]
        access = [pp.Access.RESTORE, pp.Access.RESET][seed // 3 % 2]
        if not can_use(name, access):
            continue
        problem = pp.problems.Garnet(
            9, 3, seed=seed, noise=[0.0, 0.3][seed // 6 % 2], num_terminal=[0, 3][seed // 9]
        )
        budget = 120 if kind == "array" and name in CONTENDERS else 700
        planner = PLANNERS[name](0.9)
        everything = np.ones((9, 3), np.bool_)
        masked = Counted(problem, kind, everything, access=access)
        plain = Counted(problem, kind, access=access)
        one = planner.plan(masked.model, budget=budget, seed=seed)
        other = planner.plan(plain.model, budget=budget, seed=seed)
        assert one.actions == other.actions
        assert one.calls == other.calls
        assert np.array_equal(one.action_values, other.action_values, equal_nan=True)
        assert one.value == other.value or np.isnan(one.value)


AHEAD = {"cem", "random-shooting"}
"""In Python they walk ahead, before they know the masks: a few steps may be taken twice."""


@pytest.mark.parametrize("name", sorted(set(THINKING) - AHEAD))
def test_the_three_forms_of_a_masked_model_give_the_same_plan(name):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = pp.problems.Garnet(8, 3, seed=seed, num_terminal=2)
        masks = random_masks(rng, 8, 3)
        plans = [
            PLANNERS[name](0.8).plan(Counted(problem, kind, masks).model, budget=150, seed=seed)
            for kind in ("python", "array", "compiled")
        ]
        assert plans[0].actions == plans[1].actions == plans[2].actions
        assert plans[0].calls == plans[1].calls == plans[2].calls


def stops(state, action, rng):
    """Action 0 ends the episode and returns the state as it is; action 2 is never legal."""
    return 0, [0.1, 0.1, 50.0][action], action == 0


@numba.njit
def stops_kernel(state, action, params, rng, next_state):
    next_state[0] = 0.0
    return (50.0 if action == 2 else 0.1), action == 0


@numba.njit
def never_two(state, params, mask):
    mask[2] = False


def test_a_last_step_to_a_state_says_nothing_of_what_is_legal_there():
    for model in (
        pp.FunctionModel(stops, 3, 0, legal=lambda state: {0, 1}),
        pp.CompiledModel(stops_kernel, 3, np.zeros(1), legal=never_two),
    ):
        for horizon in (None, 3):
            plan = pp.plan(model, budget=100, discount=0.9, horizon=horizon, seed=0)
            assert 2 not in plan.actions
            episode = pp.control(model, budget=100, discount=0.9, steps=3, horizon=horizon, seed=0)
            assert episode.actions == ((1, 1, 1) if horizon is None else episode.actions)
            assert max(episode.rewards) < 1.0


def test_what_masks_save_is_spent():
    """Half of four actions are illegal: the default makes use of all calls all the same."""
    problem = pp.problems.Garnet(2_000, 4, seed=0, noise=1.0)
    masks = np.zeros((2_000, 4), np.bool_)
    masks[:, :2] = True
    for planner in (pp.Platypus(0.9), pp.PlaTyPOOS(0.9)):
        counted = Counted(problem, "python", masks)
        planner.plan(counted.model, budget=2_000, seed=0)
        assert counted.calls == 2_000


def walk(state, action, rng):
    return (*state, action), float(action), False


@pytest.mark.parametrize(
    ("legal", "match"),
    [
        (lambda state: [], r"no action is legal in a state .* \(at state \(\)\)"),
        (lambda state: [] if len(state) == 2 else [0, 1], "no action is legal"),
        (lambda state: [0, 7], r"0 to 2, got \[0, 7\]"),
        (lambda state: [True, False], "3 booleans"),
        (lambda state: [1, 1, 0], "twice, .* make it of booleans"),
        (lambda state: 0.5, "numbers of the legal actions, got 0.5"),
        (lambda state: 1 / 0, "the model's legal raised ZeroDivisionError"),
    ],
)
def test_masks_that_make_no_sense_are_named(legal, match):
    model = pp.FunctionModel(walk, 3, (), legal=legal)
    for planner in (
        pp.Platypus(0.9),
        pp.planners.UCT(0.9, scale=1.0, horizon=5),
        pp.planners.OPD(0.9, reward_max=2.0),
    ):
        with pytest.raises(pp.ModelError, match=match) as caught:
            planner.plan(model, budget=300, seed=0)
        assert caught.value.tree is not None
    assert not pp.check_model(model).ok


def test_bad_batches_and_kernels_are_named():
    @numba.njit
    def nothing(state, params, mask):
        mask[:] = False

    problem = pp.problems.Garnet(5, 2, seed=0).compiled()
    compiled = pp.CompiledModel(
        problem.kernel, 2, problem.initial_state, problem.params, legal=nothing
    )
    with pytest.raises(pp.ModelError, match="no action is legal"):
        pp.plan(compiled, budget=100, discount=0.9, seed=0)
    with pytest.raises(pp.InvalidArgument, match=r"legal must be compiled with numba\.njit"):
        pp.CompiledModel(problem.kernel, 2, problem.initial_state, legal=lambda s, p, m: None)
    with pytest.raises(pp.InvalidArgument, match=r"takes 3 arguments; it must be value"):
        pp.CompiledModel(problem.kernel, 2, problem.initial_state, value=nothing)
    flat = pp.ArrayModel(
        lambda s, a, r: (s, 0.0 * s, False), 2, 0.0, legal=lambda states: states == 0
    )
    with pytest.raises(pp.ModelError, match=r"booleans of shape \(\d+, 2\), got bool of shape"):
        pp.PlaTyPOOS(0.9).plan(flat, budget=100, seed=0)
    with pytest.raises(pp.ModelError, match="legal must return 2 booleans"):  # of a single state
        pp.plan(flat, budget=100, discount=0.9, seed=0)


def test_actions_that_are_a_function_point_to_legal():
    with pytest.raises(pp.InvalidArgument, match="pass legal="):
        pp.FunctionModel(walk, lambda state: 2, ())


def test_the_check_finds_masks_that_change_and_legal_actions_that_raise():
    def taken(state):
        state.append(0)
        return [0]

    shared = pp.FunctionModel(lambda s, a, r: ([*s], 0.0, False), 2, [], legal=taken)
    assert "legal changed the state it was given from [] to [0]" in str(pp.check_model(shared))
    asked = []

    def fickle(state):
        asked.append(state)
        return [0] if len(asked) % 2 else [1]

    report = pp.check_model(pp.FunctionModel(walk, 2, (), legal=fickle))
    assert "the legal actions of a state were [0] and then [1]" in str(report)

    def picky(state, action, rng):
        if action == 1:
            raise RuntimeError("not here")
        return state, 0.0, False

    report = pp.check_model(pp.FunctionModel(picky, 2, 0, legal=lambda state: [0, 1]))
    assert "not here" in str(report)
    assert pp.check_model(pp.FunctionModel(picky, 2, 0, legal=lambda state: [0])).ok


def test_control_acts_legally_and_wrappers_keep_masks():
    problem = pp.problems.Garnet(12, 4, seed=3)
    masks = random_masks(np.random.default_rng(3), 12, 4)
    for planner in (None, pp.planners.UCT(0.9, scale=1.0, horizon=10), pp.planners.Random(0.9)):
        counted = Counted(problem, "python", masks)
        noisy = pp.models.NoisyReward(counted.model, 0.1)
        pp.control(noisy, planner=planner, budget=100, steps=30, seed=0)
        assert counted.illegal_calls == 0
        assert counted.calls > 0
    array = pp.models.ScaledReward(Counted(problem, "array", masks).model, 2.0)
    assert masks[problem.initial_state, pp.plan(array, budget=100, seed=0).action]


def test_a_repeated_action_stops_where_it_is_no_longer_legal():
    model = pp.FunctionModel(
        lambda x, a, rng: (x + 1, 1.0, False), 2, 0, legal=lambda x: [0, 1] if x < 2 else [1]
    )
    repeated = pp.models.RepeatedAction(model, repeat=5, discount=1.0)
    rng = np.random.default_rng(0)
    assert repeated.step(0, 0, rng) == (2, 2.0, False)
    assert repeated.step(0, 1, rng) == (5, 5.0, False)


def test_an_executor_changes_nothing():
    from concurrent.futures import ThreadPoolExecutor

    problem = pp.problems.Garnet(10, 3, seed=1, noise=0.5, num_terminal=2)
    masks = random_masks(np.random.default_rng(1), 10, 3)
    with ThreadPoolExecutor(2) as pool:
        for name in ("platypoos", "platypus", "uniform", "uct", "opd"):
            for access in pp.Access:
                planner = PLANNERS[name](0.9)
                model = Counted(problem, "python", masks, ("value",), access).model
                alone = planner.plan(model, budget=300, seed=5)
                spread = planner.plan(model, budget=300, seed=5, executor=pool)
                assert alone.actions == spread.actions
                assert np.array_equal(alone.action_values, spread.action_values, equal_nan=True)
