"""Against independent oracles: the textbook version of Figure 3, and value iteration."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from parts import in_parts
from random_trees import SequenceTree

import platypoos as pp
from platypoos.trees.tree import OPENED

CASES = 200  # random models for each planner and access; seeds 0 … 199


def planner_and_counts(name, gamma, reset, floor):
    return {
        "platypoos": (pp.PlaTyPOOS(gamma, floor), oracles.platypoos_counts(gamma, reset)),
        "stroquool": (pp.planners.StroquOOL(gamma, floor), oracles.stroquool_counts(reset)),
        "sequool": (pp.planners.SequOOL(gamma, floor), oracles.sequool_counts(reset)),
    }[name]


@in_parts(40, CASES)
@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("name", ["platypoos", "stroquool", "sequool"])
def test_chooses_the_same_nodes_as_the_textbook(name, access, cases):
    deep = 0
    for seed in cases:
        rng = np.random.default_rng(seed)
        num_actions = int(rng.integers(1, 5))
        gamma = float(rng.choice([0.5, 0.8, 0.95, 0.99]))
        # Not so deep that rewards drown in the rounding of û: all would tie.
        budget = int(rng.integers(num_actions, 600 if gamma > 0.5 and num_actions > 1 else 40))
        noise = float(rng.choice([0.0, 0.3, 2.0]))
        ends = float(rng.choice([0.0, 0.0, 0.15]))
        # With one action the smallest reward is on the only path: prefixes would tie.
        floor = -10.0 if num_actions == 1 else None
        planner, counts = planner_and_counts(name, gamma, access == "reset", floor)
        case = f"{name} {access} {seed=} {num_actions=} {budget=} {gamma=} {noise=} {ends=}"

        mine = planner.plan(
            SequenceTree(seed, num_actions, noise, ends), budget=budget, seed=seed, access=access
        )
        source = SequenceTree(seed, num_actions, noise, ends)
        book = oracles.run(
            counts, source.sample, budget, num_actions, gamma, access == "reset", floor
        )

        tree = mine.tree
        nodes = [tree.actions(i) for i in range(tree.num_nodes)]
        opened = {nodes[i] for i in np.flatnonzero(tree.flags[: tree.num_nodes] & OPENED)}
        assert opened == set(book.opened), case
        assert (
            dict(zip(nodes[1:], tree.p_index[1 : len(nodes)].tolist(), strict=True)) == book.index
        )
        pulls = dict(zip(nodes[1:], tree.pulls[1 : len(nodes)].tolist(), strict=True))
        assert pulls == {node: len(samples) for node, samples in book.samples.items()}, case
        assert mine.calls == book.calls, case
        assert mine.actions == book.output, case
        assert mine.value == pytest.approx(book.value, rel=1e-9, abs=1e-9), case
        deep += mine.depth >= 4
    assert deep > len(cases) / 5  # the cases are not all trivial


@in_parts(50, 200)
@pytest.mark.parametrize("planner", [pp.PlaTyPOOS(0.8), pp.planners.SequOOL(0.8)], ids=repr)
@pytest.mark.parametrize("num_actions", [2, 3])
def test_finds_the_optimal_action_of_every_garnet(planner, num_actions, cases):
    # 5 states, discount 0.8, no noise, 200 seeds, budget 20,000. Margin: the accuracy of Q*.
    for seed in cases:
        problem = pp.problems.Garnet(num_states=5, num_actions=num_actions, seed=seed)
        found = planner.plan(problem.compiled(), budget=20_000, seed=seed)
        assert pp.problems.simple_regret(problem, found) < 1e-9, seed
