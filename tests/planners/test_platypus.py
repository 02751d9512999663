"""Platypus: the budget is spent and samples are shared; it stops whenever asked."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import in_parts
from random_trees import Counted

import platypoos as pp
from platypoos.models.keys import key_of
from platypoos.planners.platypus.decision import describe
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.session import Session
from platypoos.search.base import Task

GAMMA = 0.95


def platypus(discount=GAMMA, **options):
    return pp.Platypus(discount, **options)


def thought_for(model, budget, seed=0, discount=GAMMA, rules=None, access="restore"):
    """A plan that has spent its budget, to look inside."""
    task = Task(
        model=model,
        state=model.initial_state,
        budget=budget,
        num_actions=model.actions.n,
        access=pp.Access(access),
        rng=np.random.default_rng(seed),
    )
    session = Session(task, discount, rules or Rules())
    session.spend()
    return session


@in_parts(120, 600)
def test_the_budget_is_spent_and_never_a_call_more(cases):
    for seed in cases:
        rng = np.random.default_rng([11, seed])
        kind = ["python", "array", "compiled"][seed % 3]
        num_actions = int(rng.integers(1, 9))
        most = 20_000 if kind == "compiled" else 3_000
        budget = max(num_actions, int(np.exp(rng.uniform(np.log(num_actions), np.log(most)))))
        discount = float(rng.choice([0.0, 0.999, rng.uniform(0, 0.999)]))
        num_states = int(rng.integers(3, 30))
        problem = pp.problems.Garnet(
            num_states,
            num_actions,
            seed=seed,
            noise=float(rng.choice([0.0, 1.0])),
            num_terminal=int(rng.choice([0, 1, num_states // 2])),
        )
        counted = Counted(problem, kind)
        plan = platypus(discount).plan(counted.model, budget=budget, seed=seed)
        case = f"{seed=} {kind} {budget=} {discount=}"
        assert counted.calls == plan.calls == budget, case
        assert plan.actions[0] == plan.action, case
        assert np.isfinite(plan.value), case


@pytest.mark.parametrize("num_actions", [2, 3])
def test_without_noise_it_finds_the_best_action(num_actions):
    # 200 problems of 5 states; the oracle is value iteration. All is known after 5·K calls.
    for seed in range(200):
        problem = pp.problems.Garnet(5, num_actions, seed=seed)
        plan = platypus(0.8).plan(problem, budget=60, seed=seed)
        assert pp.problems.simple_regret(problem, plan) < 1e-12
        assert plan.action_values == pytest.approx(problem.action_values(0, 0.8), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    states=st.integers(2, 40),
    actions=st.integers(1, 4),
    ends=st.integers(0, 3),
    discount=st.sampled_from([0.0, 0.5, 0.9, 0.99]),
)
def test_what_is_known_is_solved_exactly(seed, states, actions, ends, discount):
    # Loops, ends, ties: when all is known, values are those of value iteration.
    problem = pp.problems.Garnet(states, actions, seed=seed, num_terminal=min(ends, states - 1))
    plan = platypus(discount).plan(problem, budget=states * actions * 3 + 200, seed=seed)
    assert plan.action_values == pytest.approx(problem.action_values(0, discount), abs=1e-7)
    assert pp.problems.simple_regret(problem, plan) < 1e-7


def test_calls_are_given_back_only_when_asked_to():
    problem = pp.problems.Garnet(20, 4, seed=3)
    best = problem.action_values(0, 0.9).max()
    for stop_when_sure in (False, True):
        plan = platypus(0.9, stop_when_sure=stop_when_sure).plan(problem, budget=10_000, seed=0)
        assert plan.enough
        assert plan.value == pytest.approx(best, rel=1e-9)
        if stop_when_sure:  # 80 pairs of a state and an action, and some again to look for noise
            assert 80 < plan.calls < 3_000
        else:
            assert plan.calls == 10_000


def test_noise_that_shows_late_is_found():
    # Rewards differ one time in four only; taken for exact, the first samples would decide.
    def step(state, action, rng):
        lucky = rng.random() < 0.25
        return (state + action + 1) % 7, float(lucky) * (3.0 if action else 4.0), False

    right = 0
    for seed in range(20):
        model = pp.FunctionModel(step, actions=2, initial_state=0)
        session = thought_for(model, 4_000, seed, 0.5)
        assert session.graph.noisy
        right += describe(session.search)["action"] == 0
    assert right >= 15  # 20 by chance would give 10; seeds 0 … 19


def test_sequences_that_meet_share_their_samples():
    problem = pp.problems.Garnet(10, 3, seed=1, noise=0.5)
    session = thought_for(problem, 2_000)
    graph = session.graph
    states = graph.reachable()
    assert sorted(state.stored for state in states) == sorted({s.stored for s in states})
    assert graph.count == len(graph.states) == len(states) <= 10
    samples = 0
    for state in states:
        for action, edge in state.edges.items():
            assert (edge.start, edge.action) == (state, action)
            assert edge.after.stored == problem.successor[state.stored, action]
            assert edge in edge.after.parents
            samples += edge.samples
    assert samples == session.simulator.calls == 2_000


@pytest.mark.parametrize("states", [2, 5])
def test_a_sequence_that_meets_itself_shares_its_samples(states):
    # One action, from 0 to 1, 2, … and back to 1: a state that the same sequence has just found.
    def step(state, action, rng):
        return (state + 1 if state + 1 < states else 1), float(state), False

    model = pp.FunctionModel(step, actions=1, initial_state=0)
    graph = thought_for(model, 100).graph
    assert graph.known == graph.count == states
    assert sum(edge.samples for s in graph.reachable() for edge in s.edges.values()) == 100


def test_same_seed_same_plan():
    model = pp.problems.SwitchChain(noise=10.0)
    plans = [platypus().plan(model, budget=500, seed=4) for _ in range(2)]
    assert plans[0].actions == plans[1].actions
    assert plans[0].value == plans[1].value
    with ThreadPoolExecutor(2) as pool:
        spread = platypus().plan(model, budget=500, seed=4, executor=pool)
    assert (spread.actions, spread.value) == (plans[0].actions, plans[0].value)


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_plans_leave_nothing_to_each_other(kind):
    # A plan works with memory that another has left, on another problem of the same size.
    problem, other = (pp.problems.Garnet(20, 2, seed=seed, noise=1.0) for seed in (0, 1))
    if kind == "compiled":
        problem, other = problem.compiled(), other.compiled()
    first = platypus().plan(problem, budget=500, seed=0)
    kept = [array.copy() for array in first.tree]
    for seed in range(3):
        platypus().plan(other, budget=500, seed=seed)
    again = platypus().plan(problem, budget=500, seed=0)
    for before, now, same in zip(kept, first.tree, again.tree, strict=True):
        assert np.array_equal(before, now)
        assert np.array_equal(before, same)


def test_all_forms_plan_alike():
    problem = pp.problems.SwitchChain()
    forms = (problem, problem.array(), problem.compiled())
    plans = [platypus().plan(form, budget=400, seed=1) for form in forms]
    assert len({(plan.actions, plan.calls, plan.value) for plan in plans}) == 1
    episodes = [pp.control(form, planner=platypus(), budget=60, steps=8, seed=1) for form in forms]
    assert len({(episode.actions, episode.step_calls) for episode in episodes}) == 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    exponent=st.integers(-12, 12),
    shift=st.sampled_from([-1e6, -1e3, 0.0, 1e3, 1e6, 1e9]),
    noise=st.sampled_from([0.0, 0.5]),
)
def test_affine_rewards_give_the_same_episode(seed, exponent, shift, noise):
    # Means and noise in steps of 2^-10 and a scale that is a power of two: nothing is rounded
    # differently. Sequences meet, and what is learned is kept from step to step.
    rng = np.random.default_rng(seed)
    successor = rng.integers(8, size=(8, 2))
    reward = rng.integers(1024, size=(8, 2)) / 1024

    def episode(alpha, beta):
        def step(state, action, rng):
            drawn = noise * float(rng.integers(-1024, 1025)) / 1024
            mean = reward[state, action] + drawn
            return int(successor[state, action]), float(alpha * mean + beta), False

        model = pp.FunctionModel(step, actions=2, initial_state=0)
        return pp.control(model, planner=platypus(0.75), budget=100, steps=4, seed=seed)

    scale = 2.0 ** round(exponent * np.log2(10))
    plain, other = episode(1.0, 0.0), episode(scale, shift * scale)
    assert other.step_calls == plain.step_calls
    assert other.actions == plain.actions


def test_keys():
    assert key_of(None, [1]) is None
    assert key_of(None, {"a": 1}) is None
    assert key_of(None, np.array([object()], object)) is None
    assert key_of(None, "state")("state") == "state"
    contents = key_of(None, np.arange(3))
    assert contents(np.arange(3)) == contents(np.arange(3)) != contents(np.arange(1, 4))

    def step(state, action, rng):
        return [(state[0] + action + 1) % 5], float(state[0] == 3) + 0.1 * action, False

    model = pp.FunctionModel(step, actions=2, initial_state=[0])
    plan = platypus(0.9).plan(model, budget=200, seed=0)  # a tree: lists cannot be told apart
    assert plan.confidence < 0.999

    class Keyed:
        actions, initial_state = 2, [0]

        def step(self, state, action, rng):
            return step(state, action, rng)

        def key(self, state):
            return state[0]

    shared = platypus(0.9).plan(Keyed(), budget=200, seed=0)
    assert shared.confidence == 0.999  # proved: five states, two actions
    successor = [[(state + 1) % 5, (state + 2) % 5] for state in range(5)]
    same = pp.problems.Tabular(
        successor, [[(state == 3) + 0.0, (state == 3) + 0.1] for state in range(5)]
    )
    assert shared.action_values == pytest.approx(same.action_values(0, 0.9), rel=1e-9)


def test_a_key_may_join_states_that_are_not_the_same():
    # Each name has one stored state, and whatever is known of it was seen from there: no noise, no
    # error, and a sample is what a step from that state brings.
    def step(state, action, rng):
        return state + (0.3 if action else -0.2), -abs(state - 3.0), abs(state) > 8

    for seed in range(10):
        model = pp.FunctionModel(step, 2, 0.0, key=round)
        session = thought_for(model, 300, seed)
        assert not session.graph.noisy
        assert session.graph.count <= 18
        for state in session.graph.reachable():
            for action, edge in state.edges.items():
                after, reward, ended = step(state.stored, action, None)
                assert edge.mean + session.graph.origin == pytest.approx(reward, abs=1e-12)
                assert (edge.after is None) == ended
                assert ended or edge.after.name == round(after)
        assert session.simulator.calls == 300


def test_a_key_that_fails_says_what_to_do():
    def step(state, action, rng):
        return [state, action], 0.0, False

    model = pp.FunctionModel(step, actions=2, initial_state=0)
    with pytest.raises(pp.InvalidArgument, match="key"):
        platypus().plan(model, budget=20, seed=0)


def test_it_stops_at_the_deadline():
    model = pp.problems.SwitchChain(noise=10.0)
    for form in (model, model.compiled()):
        seconds = 1.0 if form is model else 0.2
        pp.Agent(form, deadline=seconds, planner=platypus()).warm_up()
        start = time.perf_counter()
        plan = platypus().plan(form, budget=None, deadline=seconds, seed=0)
        assert time.perf_counter() - start < 5.0  # a busy machine; the benchmark measures it
        assert plan.budget is None
        assert plan.calls > 200
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model is slower than that
            at_once = platypus().plan(form, budget=None, deadline=1e-9, seed=0)
        assert at_once.calls >= 1  # however late it is


def test_it_stops_when_told_and_keeps_what_rounds_have_found():
    model = pp.problems.SwitchChain(noise=1.0)
    asked = []

    def stop(calls):
        asked.append(calls)
        return calls >= 700

    plan = pp.plan(model, planner=platypus(), stop=stop, seed=0)
    assert 700 <= plan.calls == asked[-1] < 3_000
    assert plan.action == 0
    capped = pp.plan(model, planner=platypus(), stop=lambda _: False, budget=321, seed=0)
    assert capped.calls == capped.budget == 321


@pytest.mark.parametrize("after", [1, 3, 50, 100, 400])
def test_ctrl_c(after):
    chain = pp.problems.SwitchChain(noise=1.0)
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == after:
            raise KeyboardInterrupt
        return chain.step(state, action, rng)

    model = pp.FunctionModel(step, actions=2, initial_state=(0, 0))
    if after == 1:  # nothing is known yet
        with pytest.raises(KeyboardInterrupt):
            platypus().plan(model, budget=None, deadline=60, seed=0)
        return
    try:
        plan = platypus().plan(model, budget=None, deadline=60, seed=0)
    except KeyboardInterrupt:
        pytest.fail("what was known is lost")
    assert plan.calls == calls == after
    if after == 400:
        assert plan.action == 0
    calls = 0
    with pytest.raises(KeyboardInterrupt) as caught:
        platypus().plan(model, budget=5_000, seed=0)
    assert caught.value.plan.calls == after


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": None}, "or deadline="),
        ({"budget": None, "deadline": 0.0}, "deadline"),
        ({"budget": None, "deadline": -1.0}, "deadline"),
        ({"budget": None, "stop": 5}, "stop must be a function"),
        ({"budget": 1}, "budget"),
    ],
)
def test_bad_clocks(options, says):
    with pytest.raises(pp.InvalidArgument, match=says):
        platypus().plan(pp.problems.SwitchChain(), seed=0, **options)


def test_memory_is_no_less_than_nothing():
    with pytest.raises(pp.InvalidArgument, match="memory"):
        platypus(memory=-1)


@pytest.mark.parametrize("kind", ["python", "array", "compiled"])
def test_reset_access(kind):
    problem = pp.problems.SwitchChain(noise=1.0)
    model = problem if kind == "python" else getattr(problem, kind)()
    for seed in range(10):
        plans = [platypus().plan(model, budget=500, seed=seed, access="reset") for _ in range(2)]
        assert plans[0].action == 0
        assert 400 < plans[0].calls <= 500
        assert (plans[0].actions, plans[0].value) == (plans[1].actions, plans[1].value)


@pytest.mark.parametrize("kind", ["python", "array", "compiled"])
def test_reset_access_never_makes_a_call_too_many(kind):
    for seed in range(60):
        rng = np.random.default_rng([12, seed])
        num_actions = int(rng.integers(1, 6))
        budget = int(np.exp(rng.uniform(np.log(num_actions), np.log(1_000))))
        problem = pp.problems.Garnet(
            12, num_actions, seed=seed, noise=float(seed % 2), num_terminal=seed % 3
        )
        counted = Counted(problem, kind, access=pp.Access.RESET)
        discount = float(rng.choice([0.0, 0.5, 0.95]))
        plan = platypus(discount).plan(counted.model, budget=max(num_actions, budget), seed=seed)
        assert counted.calls == plan.calls <= plan.budget, f"{seed=}"
        assert np.isfinite(plan.value)


def test_reset_access_with_a_deadline():
    model = pp.problems.SwitchChain(noise=1.0)
    for form in (model, model.compiled()):
        platypus().plan(form, budget=100, seed=0, access="reset")  # compiles
        plan = platypus().plan(form, budget=None, deadline=0.2, seed=0, access="reset")
        assert plan.budget is None
        assert plan.calls > 2
        stopped = pp.plan(
            form, planner=platypus(), stop=lambda calls: calls >= 500, access="reset", seed=0
        )
        assert 500 <= stopped.calls < 2_000
        assert stopped.action == 0


@pytest.mark.parametrize(
    ("name", "options", "budget", "steps"),
    [
        ("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}, 1_000, 30),
        ("CliffWalking-v1", {}, 1_000, 30),
        ("Taxi-v4", {}, 3_000, 40),
        ("MiniGrid-Empty-8x8-v0", {}, 1_000, 30),
        ("MiniGrid-DoorKey-5x5-v0", {}, 3_000, 40),
    ],
)
@in_parts(1, 2)
def test_silent_rewards_are_found(name, options, budget, steps, cases):
    for seed in cases:
        model = pp.GymnasiumModel(name, seed=seed, **options)
        episode = pp.control(model, planner=platypus(), budget=budget, steps=steps, seed=seed)
        assert episode.terminated
        assert episode.rewards[-1] > (-2 if name.startswith("Cliff") else 0)
