"""The planning tree of a model as tables: reachable states, what follows them, what it costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import missing_from
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, actions_of
from platypoos.models.keys import key_of
from platypoos.models.numbered import numbered
from platypoos.problems import Problem, Tabular

LARGEST = 1_000_000
"""The most states, and the most different nodes of one depth, that are looked at."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Table(NamedTuple):
    """The states that can be reached in some steps, numbered; the first is the root.

    Values are of rewards counted from ``floor``, so they are at least 0, as in the paper.
    """

    successor: Ints  # [states, actions]
    gap: Floats  # [states, actions] V*(x) − Q*(x, a)
    value: Floats  # [states] V*(x)
    ended: Bools  # [states]
    layers: list[Ints]  # for each depth, the states that some sequence leads to
    floor: float
    reward_max: float  # the largest mean reward, counted from the floor


def make_table(model: Any, discount: float, depth: int, floor: float | None) -> Table:
    """Explore a model to a depth, with the exact values of the states that are reached."""
    problem = as_problem(model)
    states, ended, rows, layers = explore(problem, problem.initial_state, depth)
    size, num_actions = len(states), problem.actions.n
    successor = np.zeros((size, num_actions), np.int64)
    gap = np.zeros((size, num_actions))
    value = np.zeros(size)
    rewards = []
    for number, state in enumerate(states):
        if not ended[number]:
            values = problem.action_values(state, discount)
            value[number] = values.max()
            gap[number] = value[number] - values
        if number in rows:
            successor[number] = rows[number]
            rewards += [problem.mean_reward(state, action) for action in range(num_actions)]
    over = np.array(ended)
    if floor is None:
        floor = getattr(problem, "reward_floor", None)
    if floor is None:
        floor = min(*rewards, float(value[~over].min()) * (1 - discount))
        if over.any():
            floor = min(floor, 0.0)  # the reward after an end
    value -= floor / (1 - discount)
    if value.min() < -1e-9 * (1.0 + np.abs(value).max()):
        raise InvalidArgument(
            f"reward_floor must be at most the smallest reward, got {floor:g}; leave it out"
        )
    return Table(
        successor=successor,
        gap=gap,
        value=np.maximum(value, 0.0),
        ended=over,
        layers=layers,
        floor=floor,
        reward_max=max(rewards) - floor,
    )


def explore(
    model: Any, start: Any, depth: int | None
) -> tuple[list[Any], list[bool], dict[int, list[int]], list[Ints]]:
    """The states within some steps of a start (all, if None): states, ends, successors, layers."""
    key = key_of(model, start)
    if key is None:
        raise InvalidArgument(
            f"the states of {type(model).__name__} cannot be told apart; give the model key(state)"
        )
    rng = np.random.default_rng(0)  # the dynamics do not depend on it
    numbers = {key(start): 0}
    states, ended = [start], [False]
    rows: dict[int, list[int]] = {}
    layers = [np.zeros(1, np.int64)]
    while len(layers) <= (LARGEST if depth is None else depth):
        new = [n for n in layers[-1].tolist() if n not in rows and not ended[n]]
        if depth is None and not new:
            break
        for number in new:
            rows[number] = row = []
            for action in range(actions_of(model).n):
                after, _, over = model.step(states[number], action, rng)
                found = numbers.setdefault(key(after), len(states))
                if found == len(states):
                    states.append(after)
                    ended.append(bool(over))
                row.append(found)
            if len(states) > LARGEST:
                steps = "any number of" if depth is None else f"{depth}"
                raise InvalidArgument(
                    f"more than {LARGEST:,} states can be reached in {steps} steps; lower the "
                    "depth, or pass a smaller problem"
                )
        reached = {after for n in layers[-1].tolist() if n in rows for after in rows[n]}
        layers.append(np.array(sorted(reached), np.int64))
    return states, ended, rows, layers


def as_problem(model: Any) -> Problem:
    """A model whose exact values are known: a problem, or what exploring all of it finds."""
    missing = missing_from(model)
    if missing:
        raise InvalidArgument(missing)
    problem = getattr(model, "problem", None) or model
    if isinstance(problem, Problem):
        return problem
    if getattr(model, "access", Access.RESTORE) is Access.RESET:
        raise InvalidArgument(
            f"{type(model).__name__} can only be reset, so its states cannot be explored; pass a "
            "model that can be restored"
        )
    model, count = numbered(model), actions_of(model).n
    states, ended, rows, _ = explore(model, model.initial_state, None)
    reward = np.zeros((len(states), count))
    for number in rows:
        for action in range(count):
            first, second = (
                model.step(states[number], action, np.random.default_rng(seed))[1]
                for seed in range(2)
            )
            if first != second:
                raise InvalidArgument(
                    f"the rewards of {type(model).__name__} are noisy ({first:g} and {second:g} "
                    f"for action {action} in state {states[number]!r}), so its exact values are "
                    "not known; pass the model without noise, and the noise to bound()"
                )
            reward[number, action] = first
    successor = [rows.get(number, [number] * count) for number in range(len(states))]
    return Tabular(successor, reward, terminal=np.flatnonzero(ended))
