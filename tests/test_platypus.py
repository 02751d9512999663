"""Platypus: samples are shared, kept and never bought twice; it stops whenever asked."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import Counted

import platypoos as pp
from platypoos.models.keys import key_of
from platypoos.planners.base import Task
from platypoos.planners.thinking import Thinker
from platypoos.simulator import never

GAMMA = 0.95


def graph(discount=GAMMA, **options):
    return pp.Platypus(discount, **options)


def thinker_for(model, budget, seed=0, discount=GAMMA):
    task = Task(
        model=model,
        state=model.initial_state,
        budget=budget,
        num_actions=model.num_actions,
        access=pp.Access.RESTORE,
        rng=np.random.default_rng(seed),
    )
    return Thinker(task, discount, float("nan"))


@pytest.mark.parametrize("fifty", range(12))
def test_never_a_call_too_many(fifty):
    for seed in range(50 * fifty, 50 * fifty + 50):
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
        plan = graph(discount).plan(counted.model, budget=budget, seed=seed)
        case = f"{seed=} {kind} {budget=} {discount=}"
        assert counted.calls == plan.calls <= budget, case
        assert plan.calls >= num_actions, case
        assert plan.actions[0] == plan.action, case
        assert np.isfinite(plan.value), case


@pytest.mark.parametrize("num_actions", [2, 3])
def test_without_noise_it_finds_the_best_action(num_actions):
    # 200 problems of 5 states; the oracle is value iteration. All is known after 5·K calls.
    for seed in range(200):
        problem = pp.problems.Garnet(5, num_actions, seed=seed)
        plan = graph(0.8).plan(problem, budget=60, seed=seed)
        assert pp.simple_regret(problem, plan) < 1e-12
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
    plan = graph(discount).plan(problem, budget=states * actions * 3 + 200, seed=seed)
    assert plan.action_values == pytest.approx(problem.action_values(0, discount), abs=1e-7)
    assert pp.simple_regret(problem, plan) < 1e-7


def test_every_state_and_action_is_sampled_once_if_there_is_no_noise():
    problem = pp.problems.Garnet(20, 4, seed=3)
    plan = graph(0.9).plan(problem, budget=10_000, seed=0)
    assert plan.calls <= 20 * 4 + 64  # and a few a second time, to look for noise
    assert plan.enough
    assert plan.value == pytest.approx(problem.action_values(0, 0.9).max(), rel=1e-9)


def test_noise_that_shows_late_is_found():
    # Rewards differ one time in four only; taken for exact, the first samples would decide.
    def step(state, action, rng):
        lucky = rng.random() < 0.25
        return (state + action + 1) % 7, float(lucky) * (3.0 if action else 4.0), False

    right = 0
    for seed in range(20):
        model = pp.FunctionModel(step, num_actions=2, initial_state=0)
        thinker = thinker_for(model, 4_000, seed, 0.5)
        thinker.think(4_000, never)
        assert not thinker.noiseless
        decision = thinker.decide()
        right += decision.tree.actions(decision.node)[0] == 0
    assert right >= 15  # 20 by chance would give 10; seeds 0 … 19


def test_sequences_that_meet_share_their_samples():
    problem = pp.problems.Garnet(10, 3, seed=1, noise=0.5)
    thinker = thinker_for(problem, 2_000)
    thinker.think(2_000, never)
    tree, home = thinker.tree, thinker.graph.home
    size = tree.num_nodes
    homes = np.unique(home[:size][tree.pulls[:size] > 0])
    assert len(homes) <= 10  # as many as there are states
    assert size <= 1 + 10 * 3  # and K nodes for each
    for node in range(1, size):
        if tree.pulls[node]:
            before, action = thinker.sim.states[tree.parent[node]], tree.action[node]
            assert thinker.sim.states[node] == problem.successor[before, action]
            assert thinker.sim.states[home[node]] == thinker.sim.states[node]
    assert tree.pulls[:size].sum() == thinker.sim.calls == 2_000


def test_same_seed_same_plan():
    model = pp.problems.SwitchChain(noise=10.0)
    plans = [graph().plan(model, budget=500, seed=4) for _ in range(2)]
    assert plans[0].actions == plans[1].actions
    assert plans[0].value == plans[1].value
    with ThreadPoolExecutor(2) as pool:
        spread = graph().plan(model, budget=500, seed=4, executor=pool)
    assert (spread.actions, spread.value) == (plans[0].actions, plans[0].value)


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_plans_leave_nothing_to_each_other(kind):
    # A plan works with memory that another has left, on another problem of the same size.
    problem, other = (pp.problems.Garnet(20, 2, seed=seed, noise=1.0) for seed in (0, 1))
    if kind == "compiled":
        problem, other = problem.compiled(), other.compiled()
    first = graph().plan(problem, budget=500, seed=0)
    kept = [array.copy() for array in first.tree]
    for seed in range(3):
        graph().plan(other, budget=500, seed=seed)
    again = graph().plan(problem, budget=500, seed=0)
    for before, now, same in zip(kept, first.tree, again.tree, strict=True):
        assert np.array_equal(before, now)
        assert np.array_equal(before, same)


def test_three_forms_one_plan():
    problem = pp.problems.SwitchChain()
    forms = (problem, problem.array(), problem.compiled())
    plans = [graph().plan(form, budget=400, seed=1) for form in forms]
    assert len({(plan.actions, plan.calls, plan.value) for plan in plans}) == 1
    episodes = [pp.control(form, graph(), budget=60, steps=8, seed=1) for form in forms]
    assert len({(episode.actions, episode.step_calls) for episode in episodes}) == 1


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.25, 1.0, 8.0, 1024.0]),
    shift=st.sampled_from([-512.0, 0.0, 64.0]),
    noise=st.sampled_from([0.0, 0.5]),
)
def test_affine_rewards_give_the_same_plan(seed, scale, shift, noise):
    # Means and noise in steps of 2^-10, so that nothing is rounded differently.
    rng = np.random.default_rng(seed)
    successor = rng.integers(8, size=(8, 2))
    reward = rng.integers(1024, size=(8, 2)) / 1024

    def model(alpha, beta):
        def step(state, action, rng):
            drawn = noise * float(rng.integers(-1024, 1025)) / 1024
            mean = reward[state, action] + drawn
            return int(successor[state, action]), float(alpha * mean + beta), False

        return pp.FunctionModel(step, num_actions=2, initial_state=0)

    plain = graph(0.75).plan(model(1.0, 0.0), budget=200, seed=seed)
    other = graph(0.75).plan(model(scale, shift), budget=200, seed=seed)
    assert other.calls == plain.calls
    assert other.action == plain.action


def test_keys():
    assert key_of(None, [1]) is None
    assert key_of(None, {"a": 1}) is None
    assert key_of(None, np.array([object()], object)) is None
    assert key_of(None, "state")("state") == "state"
    contents = key_of(None, np.arange(3))
    assert contents(np.arange(3)) == contents(np.arange(3)) != contents(np.arange(1, 4))

    def step(state, action, rng):
        return [(state[0] + action + 1) % 5], float(state[0] == 3), False

    model = pp.FunctionModel(step, num_actions=2, initial_state=[0])
    plan = graph(0.9).plan(model, budget=200, seed=0)  # a tree: lists cannot be told apart
    assert plan.calls > 5 * 2 + 64

    class Keyed:
        num_actions, initial_state = 2, [0]

        def step(self, state, action, rng):
            return step(state, action, rng)

        def key(self, state):
            return state[0]

    shared = graph(0.9).plan(Keyed(), budget=200, seed=0)
    assert shared.calls <= 5 * 2 + 64
    assert shared.value == pytest.approx(plan.value)  # and that with a third of the calls


def test_a_key_that_fails_says_what_to_do():
    def step(state, action, rng):
        return [state, action], 0.0, False

    model = pp.FunctionModel(step, num_actions=2, initial_state=0)
    with pytest.raises(pp.InvalidArgument, match="key"):
        graph().plan(model, budget=20, seed=0)


def test_it_stops_at_the_deadline():
    model = pp.problems.SwitchChain(noise=10.0)
    for form in (model, model.compiled()):
        graph().plan(form, budget=None, deadline=0.01, seed=0)  # compiles
        start = time.perf_counter()
        plan = graph().plan(form, budget=None, deadline=0.2, seed=0)
        assert time.perf_counter() - start < 5.0  # a busy machine; the benchmark measures it
        assert plan.budget is None
        assert plan.calls > 200
        at_once = graph().plan(form, budget=None, deadline=1e-9, seed=0)
        assert at_once.calls >= 2  # each action is tried, however late it is


def test_it_stops_when_told_and_keeps_what_rounds_have_found():
    model = pp.problems.SwitchChain(noise=1.0)
    asked = []

    def stop(calls):
        asked.append(calls)
        return calls >= 700

    plan = pp.plan(model, planner=graph(), stop=stop, seed=0)
    assert 700 <= plan.calls == asked[-1] < 3_000
    assert plan.action == 0
    capped = pp.plan(model, planner=graph(), stop=lambda _: False, budget=321, seed=0)
    assert capped.calls <= capped.budget == 321


@pytest.mark.parametrize("after", [1, 3, 50, 400])
def test_ctrl_c(after):
    chain = pp.problems.SwitchChain(noise=1.0)
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == after:
            raise KeyboardInterrupt
        return chain.step(state, action, rng)

    model = pp.FunctionModel(step, num_actions=2, initial_state=(0, 0))
    if after == 1:  # nothing is known yet
        with pytest.raises(KeyboardInterrupt):
            graph().plan(model, budget=None, deadline=60, seed=0)
        return
    plan = graph().plan(model, budget=None, deadline=60, seed=0)
    assert plan.calls == calls == after
    if after == 400:
        assert plan.action == 0
    calls = 0
    with pytest.raises(KeyboardInterrupt) as caught:
        graph().plan(model, budget=5_000, seed=0)
    assert caught.value.plan.calls == after


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": None}, "take a deadline"),
        ({"budget": None, "deadline": 0.0}, "deadline"),
        ({"budget": None, "deadline": -1.0}, "deadline"),
        ({"budget": None, "stop": 5}, "stop must be a function"),
        ({"budget": 1}, "budget"),
        ({"budget": None, "deadline": 1.0, "access": "reset"}, "needs a budget"),
    ],
)
def test_bad_clocks(options, says):
    with pytest.raises(pp.InvalidArgument, match=says):
        graph().plan(pp.problems.SwitchChain(), seed=0, **options)


def test_other_planners_need_a_budget():
    with pytest.raises(pp.InvalidArgument, match="Platypus"):
        pp.PlaTyPOOS(0.9).plan(pp.problems.SwitchChain(), budget=100, deadline=1.0)
    with pytest.raises(pp.InvalidArgument, match="memory"):
        graph(memory=-1)


def test_reset_access_is_the_published_planner():
    model = pp.problems.SwitchChain(noise=1.0)
    ours = graph().plan(model, budget=500, seed=3, access="reset")
    published = pp.PlaTyPOOS(GAMMA).plan(model, budget=500, seed=3, access="reset")
    assert (ours.actions, ours.value) == (published.actions, published.value)


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
def test_silent_rewards_are_found(name, options, budget, steps):
    for seed in range(2):
        model = pp.GymnasiumModel(name, seed=seed, **options)
        episode = pp.control(model, graph(), budget=budget, steps=steps, seed=seed)
        assert episode.terminated
        assert episode.rewards[-1] > (-2 if name.startswith("Cliff") else 0)
