"""Gumbel MCTS against a slow version that keeps dictionaries of returns."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
import textbook
from parts import in_parts
from random_trees import SequenceTree

import platypoos as pp
from platypoos.planners import gumbel_mcts

CASES = 200  # random models for each access; seeds 0 … 199


class Recorded(SequenceTree):
    """Writes down every call: the sequence it evaluates, its reward, whether it ends."""

    def __init__(self, *args):
        super().__init__(*args)
        self.calls = []

    def step(self, state, action, rng):
        after = super().step(state, action, rng)
        self.calls.append((after.state, after.reward, after.terminated))
        return after


class Valued(Recorded):
    """Says what states are worth, at random."""

    def value(self, state):
        return float(self._random((9, *state), 0)[0])


class Textbook:
    """All values from scratch, from the returns of all simulations through a node."""

    def __init__(self, model, gumbel, planner, budget, horizon):
        self.model, self.gumbel, self.scale = model, gumbel, planner.gumbel_scale
        self.gamma, self.budget, self.horizon = planner.discount, budget, horizon
        self.valued = isinstance(model, Valued)
        self.left = sorted(range(model.actions.n), key=lambda a: -gumbel[a])
        self.left = self.left[: planner.max_considered]
        self.phases, self.phase, self.calls = max(1, math.ceil(math.log2(len(self.left)))), 1, 0
        self.returns = defaultdict(list)  # of a node: (sum of rewards, steps not seen)
        self.first_reward, self.ends, self.samples = {}, set(), []
        self.low, self.high = math.inf, -math.inf
        self.longest = 1
        while self.gamma**self.longest > 0.01 and self.longest < budget:
            self.longest += 1
        self.longest = min(self.longest, budget if horizon is None else horizon)

    def steps_left(self, node):
        steps = 1_000 if self.horizon is None else self.horizon - len(node)
        return sum(self.gamma**t for t in range(steps))

    def reward(self):
        return math.fsum(self.samples) / len(self.samples)

    def q(self, node):
        known, unseen = zip(*self.returns[node], strict=True)
        return (math.fsum(known) + self.reward() * math.fsum(unseen)) / len(known)

    def scaled(self, node):
        """N(a) and σ(completed q) of all actions."""
        children = {a: (*node, a) for a in range(self.model.actions.n)}
        visits = {a: len(self.returns[child]) for a, child in children.items()}
        tried = [self.q(child) for child in children.values() if self.returns[child]]
        total = sum(visits.values())
        mixed = sum(tried) / len(tried) if tried else 0.0
        if node:
            own = self.reward() * self.steps_left(node)
            if self.valued:
                own = self.model.value(node)
            mixed = (own + total * mixed) / (1 + total)
        factor = 0.0
        if self.high > self.low:
            factor = 0.1 * (50 + max(visits.values())) / (self.high - self.low)
        return visits, {
            a: factor * (self.q(c) if visits[a] else mixed) for a, c in children.items()
        }

    def scores(self):
        visits, scaled = self.scaled(())
        return visits, {
            a: (scaled[a] + self.scale * self.gumbel[a], self.gumbel[a]) for a in scaled
        }

    def first_action(self):
        visits, scores = self.scores()
        equal = len({visits[a] for a in self.left}) == 1
        if len(self.left) > 2 and equal and self.calls >= self.budget * self.phase / self.phases:
            self.left.sort(key=scores.get, reverse=True)
            self.left = self.left[: max(2, len(self.left) // 2)]
            self.phase += 1
        fewest = min(visits[a] for a in self.left)
        return max((a for a in self.left if visits[a] == fewest), key=scores.get)

    def allows(self, path):
        """Whether a walk is one that the rule allows; returns how many choices had no rival."""
        assert path[0] == self.first_action()
        alone = 1
        for t in range(1, len(path)):
            node = path[:t]
            assert self.returns[node]
            assert node not in self.ends
            visits, scaled = self.scaled(node)
            most = max(scaled.values())
            weights = {a: math.exp(s - most) for a, s in scaled.items()}
            total = 1 + sum(visits.values())
            behind = {a: w / sum(weights.values()) - visits[a] / total for a, w in weights.items()}
            alone += textbook.among_the_best(behind, path[t])
        assert not self.returns[path] or path in self.ends or len(path) == self.longest
        return alone

    def add(self, path, rewards, ended, calls):
        self.calls += calls
        self.samples += rewards[len(rewards) - calls :]
        if ended:
            self.ends.add(path)
        total = unseen = 0.0
        if self.valued and not ended and len(path) != self.horizon:
            total = self.model.value(path)
        elif not self.valued and not ended:
            unseen = self.steps_left(path)
        for t in range(len(path) - 1, -1, -1):
            total, unseen = rewards[t] + self.gamma * total, self.gamma * unseen
            self.returns[path[: t + 1]].append((total, unseen))
        self.first_reward.setdefault(path, rewards[-1])
        for t in range(1, len(path) + 1):
            self.low = min(self.low, self.q(path[:t]))
            self.high = max(self.high, self.q(path[:t]))


def simulations(book, calls, access):
    """The calls as (path, rewards, ended, number of calls), simulation by simulation."""
    if access == "restore":
        for path, reward, ended in calls:
            known = [book.first_reward[path[:t]] for t in range(1, len(path))]
            yield path, [*known, reward], ended, 1
        return
    starts = [i for i, (path, _, _) in enumerate(calls) if len(path) == 1]
    for start, end in zip(starts, [*starts[1:], len(calls)], strict=True):
        walk = calls[start:end]
        yield walk[-1][0], [reward for _, reward, _ in walk], walk[-1][2], len(walk)


@in_parts(40, CASES)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_it_makes_the_choices_of_the_textbook(access, monkeypatch, cases):
    searches = []
    begin = gumbel_mcts.begin_search

    def spy(*args, **kwargs):
        searches.append(begin(*args, **kwargs))
        return searches[-1]

    monkeypatch.setattr(gumbel_mcts, "begin_search", spy)
    alone = choices = 0
    for seed in cases:
        rng = np.random.default_rng(seed)
        num_actions = int(rng.integers(1, 7))
        kind = Valued if seed % 4 == 0 else Recorded
        noise, ends = float(rng.choice([0.0, 0.3])), float(rng.choice([0.0, 0.2]))
        model = kind(seed, num_actions, noise, ends)
        horizon = int(rng.integers(1, 5)) if seed % 3 == 0 else None
        gamma = float(rng.choice([0.0, 0.3, 0.6])) if horizon is None else 1.0
        budget = int(rng.integers(num_actions, 120))
        planner = pp.planners.GumbelMCTS(
            gamma,
            max_considered=int(rng.choice([1, 3, 16])),
            gumbel_scale=float(rng.choice([0.0, 1.0])),
        )
        plan = planner.plan(model, budget=budget, horizon=horizon, seed=seed, access=access)
        book = Textbook(model, searches[-1].gumbel, planner, budget, horizon)
        for path, rewards, ended, calls in simulations(book, model.calls, access):
            alone += book.allows(path)
            choices += len(path)
            book.add(path, rewards, ended, calls)
        assert plan.calls == book.calls
        assert budget - plan.calls < (1 if access == "restore" else book.longest)
        assert plan.action == max(book.left, key=book.scores()[1].get)
        for action, value in enumerate(plan.action_values):
            tried = bool(book.returns[(action,)])
            assert np.isnan(value) != tried
            assert not tried or value == pytest.approx(book.q((action,)), abs=1e-9)
    assert alone > choices / 2, (alone, choices)  # most choices are not mere ties


@pytest.mark.parametrize(
    ("num_actions", "budget", "visits"),
    [
        (4, 16, [6, 6, 2, 2]),  # 2 phases of 8 calls: 4 · 2, 2 · 4
        (8, 48, [14, 14, 6, 6, 2, 2, 2, 2]),  # 3 phases of 16 calls: 8 · 2, 4 · 4, 2 · 8
        (5, 5, [1, 1, 1, 1, 1]),
        (2, 9, [5, 4]),
        (1, 3, [3]),
    ],
)
def test_the_first_actions_are_halved(num_actions, budget, visits):
    """Every action ends the episode; the later its number, the smaller its reward."""
    model = pp.FunctionModel(lambda s, action, rng: (s, -float(action), True), num_actions, 0)
    for seed in range(5):
        plan = pp.planners.GumbelMCTS(0.9).plan(model, budget=budget, seed=seed)
        tree = plan.tree
        found = np.zeros(num_actions, int)
        found[tree.action[1 : tree.num_nodes]] = tree.pulls[1 : tree.num_nodes]
        assert sorted(found[:2], reverse=True) == visits[:2]
        assert found[2:].tolist() == visits[2:]
        assert plan.action == 0


def test_it_considers_some_actions_at_random():
    """3 of 10 actions in each of 400 plans: 120 plans an action, four standard errors are 37."""
    model = pp.FunctionModel(lambda s, action, rng: (s, float(action), True), 10, 0)
    counts = np.zeros(10, int)
    for seed in range(400):
        plan = pp.planners.GumbelMCTS(0.9, max_considered=3).plan(model, budget=40, seed=seed)
        tried = np.flatnonzero(~np.isnan(plan.action_values))
        assert len(tried) == 3
        assert plan.action == tried.max()
        counts[tried] += 1
    assert (np.abs(counts - 120) < 37).all(), counts


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize(("scale", "shift"), [(3.0, 100.0), (0.1, -100.0), (1e4, 0.0)])
def test_scale_and_shift_do_not_matter(access, scale, shift):
    for seed in range(30):
        problem = pp.problems.Garnet(10, 3, seed=seed)
        other = pp.problems.Tabular(problem.successor, scale * problem.reward + shift)
        plans = [
            pp.planners.GumbelMCTS(0.9).plan(model.compiled(), budget=300, seed=seed, access=access)
            for model in (problem, other)
        ]
        assert plans[0].actions == plans[1].actions
        assert plans[0].tree.num_nodes == plans[1].tree.num_nodes
        expected = scale * plans[0].action_values + shift / (1 - 0.9)
        np.testing.assert_allclose(plans[1].action_values, expected, rtol=1e-9, atol=1e-9)


def test_noise_is_averaged_by_reset():
    """Action 1 pays 0.1 more and ends the episode, as action 0 does; the noise is up to 1."""

    def step(state, action, rng):
        return state, 0.1 * action + rng.uniform(-1, 1), True

    model = pp.FunctionModel(step, 2, 0)
    plans = [
        pp.planners.GumbelMCTS(0.9).plan(model, budget=4_000, seed=seed, access="reset")
        for seed in range(20)
    ]
    assert sum(plan.action for plan in plans) == 20


def test_random_dynamics_are_planned_open_loop():
    """Action 0 leads to a gold mine or, with probability 0.1, ends; action 1 pays 1 for ever."""

    def step(state, action, rng):
        if state == 0 and action == 0:
            return (1, 0.0, False) if rng.random() < 0.9 else (2, 0.0, True)
        return (3 if state == 0 else state), 10.0 if state == 1 else 1.0, False

    model = pp.FunctionModel(step, 2, 0, access=pp.Access.RESET)
    for seed in range(10):
        plan = pp.planners.GumbelMCTS(0.8).plan(model, budget=4_000, seed=seed)
        assert plan.action == 0
        assert 30.0 < plan.value < 36.0  # 0.9 · 0.8 · 10 / (1 − 0.8) = 36, and fewer steps seen
        assert plan.tree.pulls[: plan.tree.num_nodes].sum() >= plan.calls


def test_nothing_is_counted_after_an_end_by_chance():
    """Every step pays 1, and ends the episode with probability 1/2: Σ 0.45^t = 1.82."""

    def step(state, action, rng):
        return state, 1.0, rng.random() < 0.5

    model = pp.FunctionModel(step, 1, 0, access=pp.Access.RESET)
    values = [
        pp.planners.GumbelMCTS(0.9).plan(model, budget=4_000, seed=seed).value for seed in range(10)
    ]
    assert np.mean(values) == pytest.approx(1 / 0.55, abs=0.1), values


def test_bad_parameters_are_named():
    with pytest.raises(pp.InvalidArgument, match=r"max_considered must be a whole number .* got 0"):
        pp.planners.GumbelMCTS(0.9, max_considered=0)
    with pytest.raises(pp.InvalidArgument, match=r"gumbel_scale must be .* at least 0, got -1"):
        pp.planners.GumbelMCTS(0.9, gumbel_scale=-1.0)
