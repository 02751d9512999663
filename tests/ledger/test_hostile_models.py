"""Models and states that break what Python promises: errors are ours, and say what is wrong."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future

import numba
import numpy as np
import pytest
from fuzz_states import FORMS, EqualRaises, Unspeakable
from graph_checks import check_graph
from random_trees import THINKING, Counted

import platypoos as pp
from platypoos.search.base import Asked


def still(state, action, rng):
    return state, float(action), False


@numba.njit
def scaled_kernel(state, action, params, rng, next_state):
    next_state[0] = state[0]
    return params, False


def scaled(kind, reward):
    if kind == "python":
        return pp.FunctionModel(lambda s, a, rng: (s, reward, False), 2, 0)
    if kind == "array":
        return pp.ArrayModel(lambda s, a, rng: (s, np.full(len(s), reward), False), 2, 0)
    return pp.CompiledModel(scaled_kernel, 2, np.zeros(1), params=reward)


@pytest.mark.parametrize("kind", ["python", "array", "compiled"])
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_rewards_whose_squares_are_no_numbers(kind, access):
    for reward in (1e101, -1e300):
        with pytest.raises(
            pp.errors.RewardError, match=r"e\+?\d0[01]; rewards must be .* 1e\+100 at most"
        ):
            pp.plan(scaled(kind, reward), budget=30, discount=0.9, seed=0, access=access)
    for reward in (1e100, -1e100, 5e-324):
        for planner in (pp.Platypus(0.9), pp.planners.StoSOO(0.9, noise=1.0), pp.PlaTyPOOS(0.9)):
            plan = planner.plan(scaled(kind, reward), budget=30, seed=0, access=access)
            assert np.isfinite(plan.value)


@numba.njit
def first_entry(state, params):
    return state[0]


@pytest.mark.parametrize(
    "planner", [pp.PlaTyPOOS(0.9), pp.planners.SequOOL(0.9), pp.planners.StroquOOL(0.9)]
)
def test_a_tree_that_is_not_whole_is_not_read(planner):
    # No node has a reward: machine code that looks for the best one would look anywhere.
    model = pp.CompiledModel(scaled_kernel, 7, np.zeros(1), params=np.nan, value=first_entry)
    with pytest.raises(pp.errors.RewardError, match="reward nan"):
        planner.plan(model, budget=24, seed=0)


def test_an_error_that_has_no_text():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def step(state, action, rng):
        raise Mute

    with pytest.raises(pp.ModelError, match=r"raised Mute \(its text cannot be made\)"):
        pp.plan(pp.FunctionModel(step, 2, 0), budget=9, discount=0.9, seed=0)


def test_a_state_that_has_no_text():
    def step(state, action, rng):
        raise ValueError("no")

    model = pp.FunctionModel(step, 2, Unspeakable(0))
    with pytest.raises(pp.ModelError, match="at state <Unspeakable that has no text>, action"):
        pp.plan(model, budget=9, discount=0.9, seed=0)


@pytest.mark.parametrize("name", ["value", "policy"])
def test_advice_beyond_all_floats(name):
    huge = {"value": lambda s: 10**400, "policy": lambda s: [10**400, 1]}[name]
    model = pp.FunctionModel(still, 2, 0, **{name: huge})
    with pytest.raises(pp.ModelError, match=f"the model's {name} must return"):
        pp.planners.UCT(0.9, horizon=5).plan(model, budget=20, seed=0)


def test_a_key_that_raises_at_once():
    def key(state):
        raise KeyError("no key")

    with pytest.raises(pp.ModelError, match="the model's key raised KeyError"):
        pp.plan(pp.FunctionModel(still, 2, 0, key=key), budget=9, discount=0.9, seed=0)


HOSTILE = ("deep", "HashRaises", "EqualRaises", "EqualIsArray", "NoPickle", "BadPickle", "Evasive")


@pytest.mark.parametrize("form", [form for form in FORMS if form.name in HOSTILE])
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_states_that_break_promises(form, access):
    def step(state, action, rng):
        return form.make(1 - form.read(state)), float(action) + rng.normal(), False

    model = pp.FunctionModel(step, 2, form.make(0))
    for planner in (pp.Platypus(0.9), pp.PlaTyPOOS(0.9), pp.planners.IW(0.9)):
        if access == "reset" and isinstance(planner, pp.planners.IW):
            continue
        try:
            plan = planner.plan(model, budget=40, seed=0, access=access)
        except (pp.ModelError, pp.InvalidArgument) as error:
            assert "key" in str(error) or "features" in str(error)  # noqa: PT017
        else:
            assert plan.calls <= 40


def test_episodes_keep_plans_of_deeply_nested_states():
    # Only the states of small ones are kept; Python's stack is too short to measure these.
    deep = next(form for form in FORMS if form.name == "deep")

    def step(state, action, rng):
        return deep.make(1 - deep.read(state)), float(action), False

    model = pp.FunctionModel(step, 2, deep.make(0), access=pp.Access.RESET)
    episode = pp.control(model, planner=pp.planners.OneStep(0.9), budget=20, steps=2, seed=0)
    assert [plan.states for plan in episode.plans] == [{}, {}]


def test_states_that_cannot_be_compared_are_acted_on():
    # Whether a model hides its state is found out by comparing.
    def step(state, action, rng):
        return EqualRaises(1 - state.number), float(action), False

    model = pp.FunctionModel(step, 2, EqualRaises(0), access=pp.Access.RESET)
    assert pp.control(model, budget=20, steps=3, discount=0.9, seed=0).step_calls == (20,) * 3


class Tensor:
    """Compares entry by entry, as tensors do; has no hash."""

    __hash__ = None

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return np.array([self.number == other.number] * 2)


class Plain:
    """Does not say when it is equal, and cannot be pickled."""

    def __init__(self, number):
        self.number = number

    def __reduce_ex__(self, protocol):
        raise RuntimeError("no pickle")


@pytest.mark.parametrize("kind", [Tensor, Plain])
@pytest.mark.parametrize(
    "planner", [pp.planners.SequenceSearch(0.9), pp.Platypus(0.9), pp.planners.UCT(0.9, horizon=9)]
)
def test_an_agent_sees_that_it_is_elsewhere(planner, kind):
    illegal = []

    def legal(state):
        return [0, 1] if state.number == 0 else [2, 3]

    def step(state, action, rng):
        if action not in legal(state):
            illegal.append((state.number, action))
        return kind(1 - state.number), float(action) + rng.normal(), False

    model = pp.FunctionModel(step, 4, kind(0), legal=legal)
    agent = pp.Agent(model, planner=planner, budget=30, seed=0)
    for _ in range(4):
        assert agent.act(kind(0)) in (0, 1)  # the system stays where it is
        agent.observe(0.0)
    assert illegal == []


@pytest.mark.parametrize("key", [lambda _: [1], lambda _: 1 / 0])
def test_a_key_that_fails_at_a_state_that_the_agent_is_told(key):
    model = pp.FunctionModel(
        lambda s, a, rng: (s + a, float(a), False), 2, 0,
        key=lambda state: key(state) if state < 0 else state,
    )  # fmt: skip
    agent = pp.Agent(model, budget=30, discount=0.9, seed=0)
    agent.act(0)
    agent.observe(0.0)
    with pytest.raises((pp.InvalidArgument, pp.ModelError), match="key"):
        agent.act(-1)


class Refusing:
    _max_workers = 2

    def __init__(self, error, at):
        self.error, self.at, self.requests = error, at, 0

    def submit(self, function, *args):
        self.requests += 1
        future = Future()
        if self.requests < self.at:
            future.set_result(function(*args))
        elif isinstance(self.error, CancelledError):
            future.cancel()
        else:
            raise self.error
        return future


@pytest.mark.parametrize("error", [RuntimeError("after shutdown"), CancelledError()])
@pytest.mark.parametrize("at", [1, 4])
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_pool_that_refuses_or_cancels(error, at, access):
    model = pp.FunctionModel(still, 2, 0)
    with pytest.raises(pp.errors.WorkerError, match="a worker was lost") as caught:
        pp.plan(model, budget=60, discount=0.9, seed=0, access=access, executor=Refusing(error, at))
    assert caught.value.calls <= 60


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_after_an_end_legal_actions_are_asked_for(kind):
    # Every step ends the episode for the planner, but whoever acts goes on from there, as with
    # the lives of a game.
    problem = pp.problems.Tabular([[1, 1, 1], [1, 1, 1]], np.ones((2, 3)), terminal=[1])
    masks = np.array([[False, True, True], [True, True, False]])
    counted = Counted(problem, kind, masks)
    agent = pp.Agent(counted.model, budget=30, discount=0.9, seed=0)
    state = counted.model.initial_state
    for _ in range(4):
        agent.act(state)
        plan = agent.plan
        assert masks[int(np.ravel(state)[0]), plan.action]
        state = np.ones_like(state) if kind == "compiled" else 1
        agent.observe(1.0)
    assert counted.illegal_calls == 0


@pytest.mark.parametrize(
    "name", [name for name in sorted(THINKING) if pp.Access.RESET in THINKING[name](0.5).access]
)
def test_walks_that_chance_leads_where_their_action_is_not_allowed(name):
    # All but the first state allow one action, and a step leads anywhere: a walk may not go on.
    planner = THINKING[name](0.5)
    calls = []

    def legal(state):
        return range(6) if state == 0 else [state]

    def step(state, action, rng):
        calls.append(action in legal(state))
        return int(rng.integers(6)), float(rng.normal()), False

    model = pp.FunctionModel(step, 6, 0, legal=legal, access=pp.Access.RESET)
    for seed in range(20):
        calls.clear()
        plan = planner.plan(model, budget=40, seed=seed)
        assert all(calls)
        assert len(calls) == plan.calls <= 40


@pytest.mark.parametrize("seed", range(40))
def test_a_state_has_one_child_for_an_action_whatever_chance_allows(seed):
    # Chance decides which actions are allowed, and when it is over: a new step takes another
    # action than was planned, and a walk ends before steps that were planned but never made.
    def step(state, action, rng):
        return int(rng.integers(3)), float(rng.random()), rng.random() < 0.1

    model = pp.FunctionModel(
        step, 3, 0, legal=lambda state: [state, (state + 1) % 3], access=pp.Access.RESET
    )
    planner = pp.Platypus(0.999)
    memory = planner.remember()
    plan = planner.answer(model, 0, Asked(260), seed=seed, memory=memory)
    check_graph(memory.plain.session.graph, whole=True)
    tree = plan.searched.tree()
    known = range(1, tree.num_nodes)
    steps = [(int(tree.parent[node]), int(tree.action[node])) for node in known]
    assert len(set(steps)) == len(steps)
