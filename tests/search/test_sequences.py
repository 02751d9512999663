"""Searches over whole sequences: no known step is played, the books agree with dictionaries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from parts import in_parts
from random_trees import SequenceTree

import platypoos as pp
from platypoos import lab
from platypoos.planners.cem import MOMENTUM, TRUST
from platypoos.search.base import Task
from platypoos.search.sequences import whole_length
from platypoos.trees.tickets import ticket

CASES = 200  # random models for each planner; seeds 0 … 199
PLANNERS = [pp.planners.SequenceSearch, pp.planners.CEM, pp.planners.RandomShooting]


class Written(SequenceTree):
    """Writes down every call: the sequence and its sample."""

    def __init__(self, *args):
        super().__init__(*args)
        self.calls = []

    def step(self, state, action, rng):
        after = super().step(state, action, rng)
        self.calls.append((after.state, after.reward, after.terminated))
        return after


def random_case(seed):
    rng = np.random.default_rng(seed)
    num_actions = int(rng.integers(1, 5))
    gamma = float(rng.choice([0.3, 0.6, 0.9]))
    ends = float(rng.choice([0.0, 0.0, 0.1, 0.3]))
    budget = int(rng.integers(num_actions, 200))
    length = int(rng.integers(1, 9))
    return Written(seed, num_actions, 0.0, ends), gamma, budget, length


def whole_values(calls, length, gamma):
    """The value of every sequence that was played to its end or to the full length."""
    known = {node: (reward, ended) for node, reward, ended in calls}
    values = {}
    for node, (_, ended) in known.items():
        if ended or len(node) == length:
            rewards = [known[node[: t + 1]][0] for t in range(len(node))]
            values[node] = sum(gamma**t * reward for t, reward in enumerate(rewards))
    return values


@in_parts(40, CASES)
@pytest.mark.parametrize("kind", PLANNERS)
def test_no_known_step_is_played_and_the_best_whole_sequence_wins(kind, cases):
    whole = 0
    for seed in cases:
        model, gamma, budget, length = random_case(seed)
        plan = kind(gamma, length=length).plan(model, budget=budget, seed=seed)
        nodes = [node for node, _, _ in model.calls]
        assert len(set(nodes)) == len(nodes) == plan.calls <= budget
        assert all(len(node) <= length for node in nodes)
        values = whole_values(model.calls, min(length, budget), gamma)
        if values:
            best = max(values.values())
            assert plan.value == pytest.approx(best, abs=1e-12)
            assert values[plan.actions] == pytest.approx(best, abs=1e-12)
            for action in range(model.actions.n):
                starts = [v for node, v in values.items() if node[0] == action]
                expected = max(starts, default=np.nan)
                assert plan.action_values[action] == pytest.approx(expected, nan_ok=True)
            whole += 1
    assert whole > 0.8 * len(cases)


@pytest.mark.parametrize("kind", [pp.planners.SequenceSearch, pp.planners.CEM])
def test_no_known_step_is_played_again_in_a_whole_episode(kind):
    for seed in range(20):
        model, gamma, budget, length = random_case(seed)
        model.ends = 0.0
        episode = pp.control(
            model, planner=kind(gamma, length=length), budget=budget, steps=5, seed=seed
        )
        taken = [episode.actions[: t + 1] for t in range(5)]
        planned = [node for node, _, _ in model.calls]
        for node in taken:
            planned.remove(node)  # acting is a call of its own
        assert len(set(planned)) == len(planned) == episode.calls


@pytest.mark.parametrize("kind", PLANNERS)
def test_small_trees_are_solved(kind):
    for seed in range(20):
        model = SequenceTree(seed, 2, 0.0)
        values = {}
        for sequence in itertools.product(range(2), repeat=5):
            rewards = [model.sample(sequence[: t + 1])[0] for t in range(5)]
            values[sequence] = sum(0.8**t * reward for t, reward in enumerate(rewards))
        best = max(values, key=values.__getitem__)
        plan = kind(0.8, length=5).plan(SequenceTree(seed, 2, 0.0), budget=62, seed=seed)
        assert plan.calls >= 61  # (almost) every sequence was played
        assert plan.actions == best


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_state_that_ends_everything_is_avoided_if_that_costs_nothing(access):
    """Rewards are all 0, and action 1 ends the episode: a sequence that goes on is better."""

    def step(state, action, rng):
        return state + 1, 0.0, action == 1

    model = pp.FunctionModel(step, 2, 0)
    for seed in range(20):
        plan = pp.planners.SequenceSearch(0.9, length=6).plan(
            model, budget=150, seed=seed, access=access
        )
        assert plan.actions == (0,) * 6


def test_length_if_nobody_says_so():
    assert whole_length(0.95, 1_000) == 31  # 0.95^31 = 0.204, 0.95^32 = 0.194
    assert whole_length(0.99, 70) == 17
    assert whole_length(1.0, 100) == 25
    assert whole_length(0.5, 2) == 1
    assert (
        pp.planners.SequenceSearch(1.0)
        .plan(pp.problems.Garnet(5, 2), budget=100, horizon=7, seed=0)
        .depth
        <= 7
    )


@pytest.mark.parametrize("name", ["length", "population", "elites"])
def test_parameters_are_checked(name):
    kind = pp.planners.SequenceSearch if name == "length" else pp.planners.CEM
    for wrong in (0, -1, 1.5):
        with pytest.raises(pp.InvalidArgument, match=name):
            kind(0.9, **{name: wrong})
    with pytest.raises(pp.InvalidArgument, match="elites must be at most the population, 3"):
        pp.planners.CEM(0.9, population=3, elites=4)


class TextbookCEM:
    """The cross-entropy method with dictionaries and lists; random numbers are given."""

    def __init__(self, model, gamma, length, population, elites, seed):
        self.model, self.gamma, self.length = model, gamma, length
        self.population, self.elites, self.seed, self.drawn = population, elites, seed, 0
        self.known = {}  # sequence -> (reward, ended)
        self.calls = 0

    def below(self, end):
        self.drawn += 1
        bits = int(ticket(self.seed + 1, self.drawn)) >> 32
        return (bits * end) >> 32

    def draw(self, weights):
        total, unit = 0.0, self.below(1 << 30) / (1 << 30) * sum(weights)
        for action, weight in enumerate(weights):
            total += weight
            if unit < total:
                return action
        return len(weights) - 1

    def needed(self, actions):
        """The calls that a sequence takes at most."""
        for t in range(len(actions)):
            if actions[: t + 1] not in self.known:
                return len(actions) - t
            if self.known[actions[: t + 1]][1]:
                return 0
        return 0

    def play(self, actions):
        """The value of a sequence; None if it is too short."""
        node, value = (), 0.0
        for t, action in enumerate(actions):
            node = (*node, action)
            if node not in self.known:
                self.calls += 1
                self.known[node] = self.model.sample(node)
            reward, ended = self.known[node]
            value += self.gamma**t * reward
            if ended:
                return value
        return value if len(actions) == self.length else -np.inf

    def search(self, budget):
        num_actions = self.model.actions.n
        weights = [[1 / num_actions] * num_actions for _ in range(self.length)]
        best, best_value, idle, entered = None, -np.inf, 0, []
        while self.calls < budget and idle < 200:
            left, drawn = budget - self.calls, {}  # how far each is walked
            walked = []
            while left and len(entered) + len(walked) < self.population:
                actions = tuple(
                    self.draw(row) if idle % 2 == 0 else self.below(num_actions) for row in weights
                )
                missing = self.needed(actions)
                calls = 0 if actions in drawn else min(left, missing)
                drawn.setdefault(actions, self.length - missing + calls)
                left -= calls
                idle = 0 if calls else idle + 1
                walked.append(actions)
            for actions in walked:
                value = self.play(actions[: drawn[actions]])
                entered.append((value, actions))
                if value > best_value or value == best_value:
                    best, best_value = actions, max(best_value, value)
            if len(entered) < self.population:
                continue
            chosen = sorted(entered, key=lambda one: -one[0])[: self.elites]
            for t, row in enumerate(weights):
                for action in range(num_actions):
                    row[action] *= MOMENTUM
                for actions in [best, *(actions for _, actions in chosen)]:
                    row[actions[t]] += (1 - MOMENTUM) / (self.elites + 1)
            entered = []
        return best, best_value


@in_parts(40, CASES)
def test_cem_draws_the_sequences_of_the_textbook(monkeypatch, cases):
    monkeypatch.setattr(Task, "tie_seed", lambda _: 12_345)
    for seed in cases:
        model, gamma, budget, length = random_case(seed)
        model.ends = 0.0
        length = min(length, budget)
        plan = pp.planners.CEM(gamma, length=length, population=6, elites=2).plan(
            model, budget=budget, seed=seed
        )
        book = TextbookCEM(SequenceTree(seed, model.actions.n, 0.0), gamma, length, 6, 2, 12_345)
        best, value = book.search(budget)
        assert {node for node, _, _ in model.calls} == set(book.known)
        if best is not None:
            assert plan.value == pytest.approx(value, abs=1e-12)


def test_cem_trusts_the_last_sequence_and_evaluates_it_first():
    """With a population too large to fit anything, the first sequence of a step is the old one."""
    model = Written(3, 3, 0.0)
    plans = []
    pp.control(
        model,
        planner=pp.planners.CEM(0.9, length=6, population=100),
        budget=60,
        steps=2,
        seed=0,
        on_step=lambda _, plan, __: plans.append((plan.actions, len(model.calls))),
    )
    (first, until), _ = plans
    # What was known is not played: a new call extends the old sequence by its last action.
    assert (*first, first[-1]) in {node for node, _, _ in model.calls[until:]}
    assert 0 < TRUST < 1


def test_the_drone_is_flown_without_a_crash():
    """Nine thrusts among pillars, 1,000 calls a decision; the fields are those of seeds 0 to 2."""
    totals = []
    for seed in range(3):
        model = lab.problems.Pillars(seed=seed)
        episode = pp.control(
            model.compiled(),
            planner=pp.planners.SequenceSearch(0.95),
            budget=1_000,
            steps=60,
            seed=seed,
        )
        assert not episode.terminated
        totals.append(sum(episode.rewards))
    assert np.mean(totals) > -25
