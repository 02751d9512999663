"""Broken models are noticed while planning."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
import pytest

import platypoos as pp

SEEDS = 20


class Counts:
    """A model that counts its calls."""

    def __init__(self, step, num_actions, initial_state, **said):
        self.calls = 0
        self._step = step
        self.model = pp.FunctionModel(self.step, num_actions, initial_state, **said)

    def step(self, state, action, rng):
        self.calls += 1
        return self._step(state, action, rng)


def sells_from_its_stock(state, action, rng):
    state["stock"] += action - 1  # changes the state that it was given
    return dict(state), float(state["stock"]), False


def sells_by_chance(state, action, rng):
    stock = max(0, state + action - int(rng.integers(3)))
    return stock, float(stock > 0), False


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_step_that_changes_its_state_is_refused(seed):
    counts = Counts(sells_from_its_stock, 3, {"stock": 5}, key=lambda state: state["stock"])
    with pytest.raises(
        pp.errors.DynamicsError, match="changed the state it was given from"
    ) as caught:
        pp.plan(counts.model, budget=10_000, discount=0.9, seed=seed)
    assert counts.calls <= 100
    assert caught.value.calls == counts.calls
    before, action = caught.value.state, caught.value.action
    assert action in {0, 2}  # action 1 changes nothing
    now = {"stock": before["stock"] + action - 1}
    assert f"changed the state it was given from {before} to {now}" in str(caught.value)
    assert "check_model" in str(caught.value)
    assert caught.value.tree is not None


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_dynamics_are_refused(seed):
    counts = Counts(sells_by_chance, 3, 5)
    with pytest.raises(pp.errors.DynamicsError, match="the same step led to") as caught:
        pp.plan(counts.model, budget=10_000, discount=0.9, seed=seed)
    assert counts.calls <= 200
    assert 'dynamics="random"' in str(caught.value)
    assert "check_model" in str(caught.value)
    assert caught.value.action is not None
    assert caught.value.tree.num_nodes > 1
    pp.plan(counts.model, budget=500, discount=0.9, seed=seed, access=pp.Access.RESET)


@pytest.mark.parametrize(
    "planner",
    [
        pp.PlaTyPOOS(0.9),
        pp.planners.UCT(0.9, scale=1.0, horizon=10),
        pp.planners.OLOP(0.9, reward_max=1.0),
        pp.planners.OneStep(0.9),
        pp.planners.StOP(0.5, reward_max=1.0, epsilon=0.3),
    ],
    ids=lambda planner: planner.name,
)
def test_other_planners_notice_too(planner):
    for seed in range(5):
        with pytest.raises(pp.errors.DynamicsError, match="the same step led to"):
            planner.plan(pp.FunctionModel(sells_by_chance, 3, 5), budget=1_000, seed=seed)


@numba.njit
def chance_kernel(state, action, params, rng, next_state):
    next_state[0] = max(0.0, state[0] + action - int(3 * rng.random()))
    return 1.0 if next_state[0] > 0 else 0.0, False


def test_array_and_compiled_models_are_watched():
    def batch(states, actions, rng):
        after = np.maximum(0, states + actions - rng.integers(3, size=len(states)))
        return after, (after > 0) * 1.0, False

    compiled = pp.CompiledModel(chance_kernel, 3, np.array([5.0]))
    for model in (pp.ArrayModel(batch, 3, 5), compiled):
        for planner in (pp.Platypus(0.9), pp.PlaTyPOOS(0.9)):
            with pytest.raises(pp.errors.DynamicsError, match="the same step led to") as caught:
                planner.plan(model, budget=5_000, seed=0)
            assert caught.value.calls <= 5_000
    with pytest.raises(pp.errors.DynamicsError, match="the same step led to"):
        pp.planners.UCT(0.9, scale=1.0, horizon=10).plan(compiled, budget=5_000, seed=0)


def test_workers_are_watched():
    with ProcessPoolExecutor(2) as pool:
        for step, start, match in [
            (sells_by_chance, 5, "the same step led to"),
            (sells_from_its_stock, {"stock": 5}, "changed the state it was given"),
        ]:
            model = pp.FunctionModel(step, 3, start)
            with pytest.raises(pp.errors.DynamicsError, match=match):
                pp.plan(model, budget=1_000, discount=0.9, seed=0, executor=pool)


@dataclass(eq=False)
class Place:
    """A state without equality that adds a cache to itself."""

    at: int

    @property
    def left(self):
        self.__dict__.setdefault("_left", 10 - self.at)
        return self._left


def test_what_is_sound_is_not_refused():
    def with_cache(place, action, rng):
        return Place((place.at + action) % place.left if place.left else 0), rng.random(), False

    def with_nan(state, action, rng):
        return np.array([state[0] + action, np.nan]), rng.random(), False

    def with_order(state, action, rng):
        after = {"b": action, "a": state["a"]}
        return (after if rng.random() < 0.5 else dict(sorted(after.items()))), 0.0, False

    for model in (
        pp.FunctionModel(with_cache, 2, Place(1)),
        pp.FunctionModel(with_nan, 2, np.array([0.0, np.nan])),
        pp.FunctionModel(with_order, 2, {"a": 1, "b": 0}),
        pp.FunctionModel(lambda s, a, r: (object(), r.random(), False), 2, object()),
    ):
        for planner in (pp.PlaTyPOOS(0.9), pp.planners.UCT(0.9, scale=1.0, horizon=10)):
            assert planner.plan(model, budget=500, seed=0).calls > 400


def test_states_with_a_life_of_their_own_are_left_alone():
    """They hold a generator that is used, or hold themselves."""
    shared = np.random.default_rng(0)

    class Road:
        def __init__(self, at):
            self.at, self.chance, self.me = at, shared, self

    def step(road, action, rng):
        shared.random()
        return Road(road.at + action), 0.0, False

    for start in (Road(0), {"road": Road(0)}):
        model = pp.FunctionModel(
            step if isinstance(start, Road) else lambda s, a, r: (s, shared.random(), False),
            2,
            start,
        )
        assert pp.PlaTyPOOS(0.9).plan(model, budget=300, seed=0).calls == 300


def test_states_beyond_the_first_are_looked_at_too():
    """The first state is left alone; all others are changed."""

    def step(state, action, rng):
        after = [*state, action]
        if state:
            state[0] += 2
        return after, rng.random(), False

    model = pp.FunctionModel(step, 2, [], key=tuple)
    for planner in (pp.Platypus(0.9), pp.planners.SequOOL(0.9)):
        with pytest.raises(
            pp.errors.DynamicsError, match="changed the state it was given"
        ) as caught:
            planner.plan(model, budget=2_000, seed=0)
        assert caught.value.state != []
        assert caught.value.action in {0, 1}


def test_a_state_that_changes_later_is_noticed():
    """Only the action 1 in a state that is reached after some steps changes the root's list."""
    shared = [0]

    def step(state, action, rng):
        depth, kept = state
        if depth == 3 and action == 1:
            kept[0] += 1
        return (depth + 1, kept), rng.random(), False

    model = pp.FunctionModel(step, 2, (0, shared), key=lambda state: state[0])
    with pytest.raises(pp.errors.DynamicsError, match="changed the state it was given"):
        pp.plan(model, budget=5_000, discount=0.9, seed=0)
