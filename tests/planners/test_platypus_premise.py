"""The premise of the proposition in ``docs/default-planner.md``: what the tree explorer does."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from random_trees import SequenceTree
from test_platypus import thought_for

from platypoos.planners.platypus import session as sessions
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.tree import DEEPEST

ONLY_THE_TREE = Rules(
    tree_share=1.0,
    sequences=False,
    challengers=0,
    policies=0,
    greedy_share=0.0,
    seed_share=0.0,
)
SEEDS = 80


class Round:
    """A complete round of the tree explorer: what it was, and what it opened."""

    def __init__(self, search, h_max, wide, opened):
        self.h_max, self.wide, self.length = h_max, wide, search.level.length
        self.opened = {state.stored for state in opened}
        graph = search.graph
        self.samples = {
            (*state.stored, action): edge.samples
            for state in graph.reachable()
            for action, edge in state.edges.items()
        }
        self.means = {
            (*state.stored, action): edge.mean + graph.origin
            for state in graph.reachable()
            for action, edge in state.edges.items()
        }


def rounds_of(model, budget, seed, discount, rules, monkeypatch):
    """Plan, and note all complete rounds: at the end of the budget, one is not paid in full."""
    found = []

    def note(search, *what):
        if search.calls < budget:
            found.append(Round(search, *what))

    class Watched(sessions.Search):
        def __init__(self, *args):
            super().__init__(*args)
            self.on_round = partial(note, self)

    with monkeypatch.context() as patch:
        patch.setattr(sessions, "Search", Watched)
        session = thought_for(model, budget, seed, discount, rules)
    return found, session.search


def published(children, discount, h_max, depth, samples=None):
    """Figure 3's exploration, line by line: the sequences that it opens.

    Args:
        children: what is known below an opened sequence: {sequence: (mean reward, ended)}.
        discount: γ.
        h_max: of the round.
        depth: layers, at most.
        samples: of each sequence, for rounds that repeat samples; without, one is enough.
    """

    def c(h, p):
        if samples is None or h == 0:
            return 1
        return max(1, math.ceil(h * 2**p * discount ** (2 * h)))

    opened, layer = {()}, {}
    for child, (reward, ended) in children(()).items():
        if not ended:
            layer[child] = reward
    for h in range(1, min(h_max + 1, depth)):
        now = set()
        for p in [0] if samples is None else range(math.floor(math.log2(h_max)), -1, -1):
            quota = h_max // (h * c(h, p))
            fit = [a for a in layer if a not in now]
            if samples is not None:
                fit = [a for a in fit if samples[a] >= c(h - 1, p)]
            now |= set(sorted(fit, key=layer.get, reverse=True)[:quota])
        opened |= now
        below = {}
        for sequence in now:
            for child, (reward, ended) in children(sequence).items():
                if not ended:
                    below[child] = layer[sequence] + discount**h * reward
        layer = below
    return opened


def settings(seed):
    rng = np.random.default_rng([21, seed])
    actions, discount = int(rng.integers(2, 5)), float(rng.choice([0.7, 0.8, 0.9, 0.95]))
    return actions, discount, float(rng.choice([0.0, 0.1])), int(rng.integers(60, 500))


@pytest.mark.parametrize("rules", [ONLY_THE_TREE, Rules()], ids=["tree only", "all"])
def test_rounds_open_what_the_published_rule_opens(rules, monkeypatch):
    # No noise, nothing meets. What is known already is only not bought again, so this holds
    # whatever else explores. Layers deeper than DEEPEST times the length of sequences are left out.
    rounds, deep, largest = 0, 0, 0
    for seed in range(SEEDS):
        actions, discount, ends, budget = settings(seed)
        tree = SequenceTree(seed, actions, 0.0, ends)
        tree.sample = cache(tree.sample)

        def children(sequence, tree=tree, actions=actions):
            nodes = [(*sequence, action) for action in range(actions)]
            return {node: tree.sample(node) for node in nodes}

        found, _ = rounds_of(tree, budget, seed, discount, rules, monkeypatch)
        assert found, f"{seed=}"
        for done in found:
            assert done.wide
            expected = published(children, discount, done.h_max, DEEPEST * done.length)
            assert done.opened == expected, f"{seed=} {done.h_max=}"
            assert expected - {()} <= set(done.samples)
            for sequence in expected:
                assert all((*sequence, action) in done.samples for action in range(actions))
            deep += max(map(len, expected)) >= 4
        rounds += len(found)
        largest = max(largest, *(done.h_max for done in found))
        sizes = [done.h_max for done in found]
        assert sizes == sorted(set(sizes)), f"{seed=}"
        assert all(b >= 1.25 * a - 1 for a, b in pairwise(sizes))
    assert rounds > 3 * SEEDS
    assert deep > SEEDS
    assert largest > 12


def test_rounds_with_noise_have_the_samples_that_the_figure_asks_for(monkeypatch):
    # The means change while a round goes on, so only the last layers' order could be repeated;
    # what must hold of any order: the root has h_max samples of each action, no depth has more
    # openings than the figure allows, and each opening the samples of its p.
    careful = 0
    for seed in range(60):
        actions, discount, ends, budget = settings(seed)
        tree = SequenceTree(seed, actions, 0.5, ends)
        found, _ = rounds_of(tree, 4 * budget, seed, discount, ONLY_THE_TREE, monkeypatch)
        for done in found:
            if done.wide:
                continue
            careful += 1
            assert all(done.samples[(a,)] >= done.h_max for a in range(actions))
            p_max = math.floor(math.log2(done.h_max))
            for h in range(1, 1 + max(map(len, done.opened))):
                layer = [s for s in done.opened if len(s) == h]
                counts = [
                    max(1, math.ceil(h * 2**p * discount ** (2 * h))) for p in range(p_max + 1)
                ]
                quota = [done.h_max // (h * c) for c in counts]
                assert len(layer) <= sum(quota)
                least = sorted(
                    (min(done.samples[(*s, a)] for a in range(actions)) for s in layer),
                    reverse=True,
                )
                asked = [c for p in range(p_max, -1, -1) for c in [counts[p]] * quota[p]]
                if ends == 0.0 and h == 1 and len(layer) == sum(quota[: p_max + 1]):
                    assert all(has >= c for has, c in zip(least, asked, strict=False))
                assert all(has >= counts[0] for has in least)
    assert careful > 60


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_tree_explorer_gets_its_share(noise, access):
    # At least tree_share of all calls before the last stage (before the jury, with noise), if
    # there are 16 calls for each action; less what one opening costs that it could not pay yet.
    rules = Rules()
    for seed in range(40):
        actions, discount, _, budget = settings(seed)
        budget *= 4
        tree = SequenceTree(seed, actions, noise)
        session = thought_for(tree, budget, seed, discount, rules, access)
        search = session.search
        before = budget - 2 * search.stage * (1 + rules.hearing_share)
        if noise:
            before = min(before, (1 - rules.jury_share) * budget - search.stage)
        spent = search.wide.spent + search.careful.spent
        room = 1 + search.level.length * DEEPEST if access == "reset" else 1
        assert spent >= rules.tree_share * (before - rules.seed_share * budget) - room, f"{seed=}"
