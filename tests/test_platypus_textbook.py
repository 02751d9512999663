"""Platypus makes the same calls, in the same order, as a slow version in plain Python."""

from __future__ import annotations

import random
from collections import defaultdict

import platypus_textbook
import pytest
from random_trees import RandomTree

import platypoos as pp

CHUNKS, CASES = 8, 40
DISCOUNTS = [0.0, 0.5, 0.9, 0.95, 0.99]


class Recorded:
    """A problem that writes down its calls.

    Noise depends on the state, the action and how often it was taken there only, so whoever makes
    the same calls sees the same rewards.
    """

    def __init__(self, problem, noise=0.0, coarse=False):
        self.problem, self.noise, self.coarse = problem, noise, coarse
        self.num_actions, self.initial_state = problem.num_actions, problem.initial_state
        self.calls = []
        self.visits = defaultdict(int)

    def step(self, state, action, rng=None):
        self.calls.append((state, action))
        after, reward, ended = self.problem.step(state, action, rng)
        if self.noise:
            visit = self.visits[state, action]
            self.visits[state, action] += 1
            drawn = random.Random(f"{state} {action} {visit}").uniform(-1.0, 1.0)  # noqa: S311
            reward += self.noise * (round(drawn) if self.coarse else drawn)
        return after, (round(reward) if self.coarse else reward), ended


def random_case(seed):
    """What makes a fresh copy of a random problem, and how to plan with it."""
    rng = random.Random(seed)  # noqa: S311
    kind = rng.choice(["table", "table", "table", "tree", "chain"])
    noise, coarse = rng.choice([0.0, 0.0, 1.0]), rng.random() < 0.2  # coarse rewards often tie
    actions, ends = rng.randint(1, 5), rng.choice([0.0, 0.1])
    states = rng.choice([rng.randint(2, 6), rng.randint(2, 30)])
    terminal = rng.choice([0, 0, 1, rng.randint(0, states - 1)])
    if kind == "table":
        problem = pp.problems.Garnet(states, actions, seed=seed, num_terminal=terminal)
    elif kind == "chain":
        problem = pp.problems.SwitchChain()
    actions = 2 if kind == "chain" else actions

    def make():
        made = RandomTree(seed, actions, noise=0.0, ends=ends) if kind == "tree" else problem
        return Recorded(made, noise, coarse)

    budget = rng.choice([rng.randint(actions, 40), rng.randint(actions, 600)])
    return make, {"discount": rng.choice(DISCOUNTS), "budget": budget, "seed": seed}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_same_calls_in_the_same_order(chunk):
    for seed in range(chunk, CHUNKS * CASES, CHUNKS):
        make, how = random_case(seed)
        model, copy = make(), make()
        plan = pp.Platypus(how["discount"]).plan(model, budget=how["budget"], seed=seed)
        book = platypus_textbook.plan(copy.step, copy.initial_state, copy.num_actions, **how)
        case = f"{seed=} {type(model.problem).__name__} {model.num_actions=} {model.noise=} {how}"
        differ = [i for i, (a, b) in enumerate(zip(model.calls, copy.calls)) if a != b][:1]
        assert not differ, (case, differ)
        assert model.calls == copy.calls, case
        assert plan.action == book.leader, case
