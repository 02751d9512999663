"""Platypus makes the same calls, in the same order, as a slow version in plain Python."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import takewhile

import platypus_textbook
import pytest

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
        self.actions, self.initial_state = problem.actions, problem.initial_state
        self.calls = []
        self.visits = defaultdict(int)

    def step(self, state, action, rng=None):
        self.calls.append((state, action))
        after, reward, ended = self.problem.step(state, action, rng)
        if self.noise:
            visit = self.visits[state, action]
            self.visits[state, action] += 1
            reward += self.noise * drawn(state, action, visit).uniform(-1.0, 1.0)
        return after, (float(round(reward)) if self.coarse else reward), ended


def drawn(*what):
    """A random generator that belongs to something."""
    return random.Random(str(what))  # noqa: S311


class RandomTree:
    """Every sequence of actions has its own reward; states are the sequences themselves."""

    def __init__(self, seed, num_actions, ends):
        self.seed, self.actions, self.ends = seed, pp.Discrete(num_actions), ends
        self.initial_state = ()

    def step(self, state, action, rng):
        node = (*state, action)
        own = drawn(self.seed, node)
        return node, own.random(), own.random() < self.ends


def random_case(seed):
    """What makes a fresh copy of a random problem, and how to plan with it."""
    rng = drawn(seed)
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
        made = RandomTree(seed, actions, ends) if kind == "tree" else problem
        return Recorded(made, noise, coarse)

    budget = rng.choice([rng.randint(actions, 40), rng.randint(actions, 600)])
    return make, {"discount": rng.choice(DISCOUNTS), "budget": budget, "seed": seed}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_same_calls_in_the_same_order(chunk):
    for seed in range(chunk, CHUNKS * CASES, CHUNKS):
        make, how = random_case(seed)
        model, copy = make(), make()
        plan = pp.Platypus(how["discount"]).plan(model, budget=how["budget"], seed=seed)
        book = platypus_textbook.plan(copy.step, copy.initial_state, copy.actions.n, **how)
        case = f"{seed=} {type(model.problem).__name__} {model.actions.n=} {model.noise=} {how}"
        same = takewhile(
            lambda pair: pair[0] == pair[1], zip(model.calls, copy.calls, strict=False)
        )
        assert model.calls == copy.calls, f"{case}: the first {len(list(same))} calls are the same"
        assert plan.action == book.leader, case
        values = {action: found.value for action, found in book.best.items()}
        ours = {a: v for a, v in enumerate(plan.estimates.tolist()) if not math.isnan(v)}
        assert ours == values, case


def published_exploration(problem, discount, h_max):
    """SequOOL's rule: at depth h, open the h_max//h best nodes by the discounted sum of rewards."""
    opened, layer = [], {(): 0.0}
    for h in range(h_max + 1):
        best = sorted(layer, key=layer.get, reverse=True)[: h_max // h if h else 1]
        opened += best
        children = {}
        for node in best:
            for action in range(problem.actions.n):
                child, reward, ended = problem.step(node, action, None)
                if not ended:
                    children[child] = layer[node] + discount**h * reward
        layer = children
        if not layer:
            break
    return opened


@pytest.mark.parametrize("sequences", [False, True])
def test_rounds_open_what_the_published_exploration_opens(sequences):
    # Nothing meets, no noise. What is far deeper than whole sequences are long is left out.
    deep = 0
    for seed in range(200):
        rng = drawn(seed)
        actions, discount = rng.randint(2, 4), rng.choice([0.8, 0.9, 0.95])
        problem = RandomTree(seed, actions, rng.choice([0.0, 0.1]))
        how = {"budget": rng.randint(40, 300), "seed": seed, "sequences": sequences}
        step = Recorded(problem).step
        book = platypus_textbook.plan(step, (), actions, discount=discount, **how)
        rounds = [(h_max, opened) for h_max, _, complete, opened in book.rounds if complete]
        h_max, opened = max(rounds)
        published = published_exploration(problem, discount, h_max)
        end = platypus_textbook.DEEPER * book.length
        assert opened == [node for node in published if len(node) < end], (seed, how)
        deep += max(len(node) for node in opened) >= 4
    assert deep > 100
