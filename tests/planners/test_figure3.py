"""``PlaTyPOOS(faithful=True)`` against Figure 3 of the paper, to the letter."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from figure3 import figure_3
from parts import in_parts
from random_trees import Counted, SequenceTree

import platypoos as pp
from platypoos.trees.tree import OPENED


def settings_of(seeds):
    """Trees, n, K, γ: h_max from 1 to about 40."""
    for seed in seeds:
        rng = np.random.default_rng([3, seed])
        n = int(np.exp(rng.uniform(np.log(130), np.log(20_000))))
        gamma = float(rng.choice([0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99]))
        yield seed, n, int(rng.integers(2, 5)), gamma


def plan_of(seed, n, num_actions, gamma, noise, **options):
    planner = pp.PlaTyPOOS(gamma, **options)
    return planner.plan(SequenceTree(seed, num_actions, noise), budget=n * num_actions, seed=seed)


def seen(plan):
    """Sequences that were opened, and the evaluations of each sequence."""
    tree = plan.tree
    pulls = {tree.actions(node): int(tree.pulls[node]) for node in range(1, tree.num_nodes)}
    opened = {tree.actions(node) for node in np.flatnonzero(tree.flags[: tree.num_nodes] & OPENED)}
    return opened, pulls


@in_parts(30, 150)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_figure_to_the_letter(noise, cases):
    several, other_rows, other_choice, count = 0, 0, 0, len(cases)
    for seed, n, num_actions, gamma in settings_of(cases):
        tree = SequenceTree(seed, num_actions, noise)
        expected = figure_3(lambda a, tree=tree: tree.sample(a)[0], n, num_actions, gamma)
        plan = plan_of(seed, n, num_actions, gamma, noise, faithful=True)
        case = f"{seed=} {n=} {num_actions=} {gamma=}"
        assert seen(plan) == (set(expected.opened), expected.pulls), case
        assert plan.actions == expected.output, case
        assert plan.calls == sum(expected.pulls.values()) <= plan.budget, case
        # The figure's tables and candidates are not those of the default.
        several += len(set(expected.candidates)) < len(expected.candidates)
        usual = plan_of(seed, n, num_actions, gamma, noise, budget_use="paper", reward_floor=0.0)
        other_rows += set(seen(usual)[0]) != set(expected.opened)
        other_choice += seen(usual)[1] != expected.pulls
    assert several > count // 2  # else validating a candidate once would not be seen
    assert other_rows > count // 10  # else the figure's p and its test would not be seen
    assert other_choice > count // 2


def test_a_table_by_hand():
    # K = 2, γ = 0.9, h_max = 4: ⌈h²γ^(2h)⌉ = 1, 3, 5, 7, so p starts at 2, 0, −1, −1 (no p).
    # Depth 1: c = ⌈3.24⌉ = 4, 2, 1; k = 1, 2, 4. Depth 2: c = ⌈2·0.6561⌉ = 2, k = 1.
    schedule = pp.PlaTyPOOS(0.9, faithful=True).schedule(2_000, 2)
    assert (schedule.h_max, schedule.p_max) == (4, 2)
    rows = [(h, p, c, k, o) for h, p, c, k, o in schedule.rows.tolist()]
    assert rows == [(1, 2, 4, 1, 1), (1, 1, 2, 2, 1), (1, 0, 1, 4, 0), (2, 0, 2, 1, 1)]
    assert "Figure 3" in str(schedule)


def test_the_default_has_rows_that_the_figure_has_not():
    # γ = 0.5, h_max = 4, depth 2: ⌈4/16⌉ = 1. Depth 1: ⌈1/4⌉ = 1. But γ = 0.8, h_max = 4, depth 1:
    # ⌈0.64⌉ = 1; depth 2: ⌈4·0.4096⌉ = 2, so p starts at 1, where c(2, 2) = ⌈3.3⌉ = 4 has k = 0;
    # with h_max = 9: ⌊log2(9/2)⌋ = 2, and c(2, 3) = ⌈6.6⌉ = 7 has k = 0. γ = 0.7, h_max = 9:
    # ⌈4·0.2401⌉ = 1, ⌈9·0.1176⌉ = 2 (p from 2), but c(3, 3) = ⌈2.8⌉ = 3 has k = ⌊9/9⌋ = 1.
    def rows(**options):
        table = pp.PlaTyPOOS(0.7, **options).schedule(5_830, 2)
        assert table.h_max == 9
        return {(h, p) for h, p, *_ in table.rows.tolist()}

    assert rows(budget_use="paper") - rows(faithful=True) >= {(3, 3)}
    assert rows(faithful=True) <= rows(budget_use="paper")


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("kind", ["python", "array", "compiled"])
def test_budgets_of_any_size(kind, access):
    for seed, budget in enumerate([3, 4, 7, 20, 90, 400, 3_000, 20_000]):
        counted = Counted(pp.problems.Garnet(12, 3, seed=seed, noise=0.5), kind)
        planner = pp.PlaTyPOOS(0.9, faithful=True)
        plan = planner.plan(counted.model, budget=budget, seed=seed, access=access)
        assert counted.calls == plan.calls <= budget
        usual = dataclasses.replace(planner, budget_use="paper")
        assert usual.schedule(budget, 3, access).h_max == planner.schedule(budget, 3, access).h_max


def test_faithful_must_be_a_flag():
    with pytest.raises(pp.InvalidArgument, match="faithful"):
        pp.PlaTyPOOS(0.9, faithful="yes")
