"""The default planner in machine code makes the same calls as the plain one, and plans the same."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import platypoos as pp
from platypoos.compiled.platypus.session import CompiledSession
from platypoos.planners.platypus import memory, planner
from platypoos.planners.platypus.session import Session


@numba.njit
def logging_kernel(state, action, params, rng, next_state):
    successor, rewards, noises, terminal, log, count, _, _ = params
    log[count[0], 0], log[count[0], 1] = state[0], action
    count[0] += 1
    after = successor[state[0], action]
    next_state[0] = after
    noise = noises[state[0], action]
    return rewards[state[0], action] + rng.uniform(-noise, noise), terminal[after]


@numba.njit
def table_legal(state, params, mask):
    for action in range(len(mask)):
        mask[action] = params[6][state[0], action]


@numba.njit
def table_value(state, params):
    return params[7][state[0]]


class Table:
    """A random table as a compiled model, which writes down its calls."""

    def __init__(self, seed, most_calls):
        rng = np.random.default_rng([7, seed])
        states, actions = int(rng.choice([2, 5, 20, 200, 3000])), int(rng.integers(1, 6))
        shape = (states, actions)
        rewards = rng.random(shape) - rng.choice([0.0, 1.0])
        if rng.random() < 0.3:
            rewards = np.round(rewards)  # many are equal
        terminal = rng.random(states) < rng.choice([0.0, 0.0, 0.05, 0.3])
        terminal[0] = False
        masks = rng.random(shape) < 0.6
        masks[np.arange(states), rng.integers(actions, size=states)] = True
        noise = np.full(shape, rng.choice([0.0, 1.0]))
        said = {}
        if rng.random() < 0.3:
            said["legal"] = table_legal
        if rng.random() < 0.2:
            said["value"] = table_value
        self.log, self.count = np.zeros((most_calls, 2), np.int64), np.zeros(1, np.int64)
        successor, values = rng.integers(states, size=shape), rng.normal(size=states)
        params = (successor, rewards, noise, terminal, self.log, self.count, masks, values)
        self.model = pp.CompiledModel(
            logging_kernel, actions, np.zeros(1, np.int64), params, **said
        )
        self.horizon = int(rng.integers(1, 40)) if rng.random() < 0.25 else None
        self.discount = float(rng.choice([0.0, 0.5, 0.9, 0.95, 0.99]))
        if self.horizon is not None and rng.random() < 0.3:
            self.discount = 1.0
        self.budget = max(actions, int(rng.choice([5, 10, 30, 100, 300, 1000])))

    @property
    def calls(self):
        return self.log[: self.count[0]].tolist()


@pytest.fixture
def plainly(monkeypatch):
    """Let the plain planner plan for compiled models, or not."""
    usual = memory.begin_session

    def choose(plain):
        chosen = Session if plain else usual
        monkeypatch.setattr(memory, "begin_session", chosen)
        monkeypatch.setattr(planner, "begin_session", chosen)

    return choose


def facts(plan):
    """All that a plan says, but for times."""
    tree = plan.tree.trimmed()
    searched = plan.searched_tree()
    return (
        plan.action,
        plan.actions,
        plan.value,
        plan.calls,
        [None if np.isnan(value) else float(value) for value in plan.action_values],
        plan.confidence,
        plan.signs,
        plan.lead,
        plan.noise,
        plan.reward_floor,
        {node: state.tolist() for node, state in plan.states.items()},
        np.asarray(plan.sources).tolist(),
        [array.tolist() for array in (*tree[:6], tree.flags)],
        [array.tolist() for array in (*searched[:6], searched.flags)],
    )


@pytest.mark.parametrize("seed", range(120))
def test_the_same_calls_in_the_same_order(seed, plainly):
    found = []
    for plain in (True, False):
        plainly(plain)
        table = Table(seed, 2_000)
        rng = np.random.default_rng(seed)
        plan = pp.Platypus(table.discount).plan(
            table.model, budget=table.budget, seed=rng, horizon=table.horizon
        )
        found.append((table.calls, facts(plan), rng.bit_generator.state))
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(120, 150))
def test_it_is_as_sure_at_the_same_call(seed, plainly):
    found = []
    for plain in (True, False):
        plainly(plain)
        table = Table(seed, 2_000)
        plan = pp.Platypus(table.discount, stop_when_sure=True).plan(
            table.model, budget=table.budget, seed=seed, horizon=table.horizon
        )
        found.append((table.calls, facts(plan)))
    assert found[0] == found[1]


@pytest.mark.parametrize("keeps", [256_000_000, 100_000, 0])
@pytest.mark.parametrize("seed", range(150, 175))
def test_the_same_episodes(seed, keeps, plainly):
    found = []
    for plain in (True, False):
        plainly(plain)
        table = Table(seed, 20_000)
        episode = pp.control(
            table.model,
            planner=pp.Platypus(table.discount, memory=keeps),
            budget=min(300, table.budget),
            steps=8,
            seed=seed,
            horizon=table.horizon,
        )
        found.append((table.calls, episode.actions, episode.rewards, episode.step_calls))
    assert found[0] == found[1]


def test_what_it_does_not_do_is_planned_plainly(monkeypatch):
    made = []
    monkeypatch.setattr(CompiledSession, "spend", lambda *_, **__: made.append(1))
    problem = pp.problems.Garnet(10, 2, seed=0).compiled()
    plan = pp.Platypus(0.9).plan(problem, budget=50, seed=0, access="reset")
    assert plan.calls == 50
    assert not made
