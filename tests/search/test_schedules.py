"""Schedules against tables worked out by hand, the paper's numbers, and the textbook recursion."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import SequenceTree

import platypoos as pp
from platypoos.search import counts, schedules
from platypoos.search.counts import NODES, QUOTA
from platypoos.trees.tree import OPENED


def table(schedule):
    """(depth, p, evaluations, nodes) of the rows that open something."""
    return [(h, p, c, o) for h, p, c, _, o in schedule.rows.tolist() if o]


def test_platypoos_by_hand():
    # K = 2, γ = 0.5: γ^2 = 1/4, so c(1, p) = ⌈2^p/4⌉, c(2, p) = ⌈2·2^p/16⌉, c(3, p) = ⌈3·2^p/64⌉.
    # h_max = 6, p_max = 2: c(h, p) = 1 for all, k = 6, 3, 2, 1, 1, 1 at depths 1 to 6.
    # Depth 1: two nodes, both opened at p = 2. Depth 2: four nodes of index 2; three are opened
    # at p = 2 and the last at p = 1. Depth 3: six of index 2 and two of index 1: two at p = 2,
    # two at 1, two at 0. Depths 4 to 6: one for each p.
    # Calls: root 2·6, exploration 2·(2 + 4 + 6 + 3 + 3 + 3) = 42. Cross-validation of step t:
    # ⌈(t+1)/4^t·6·9/16⌉ = ⌈3.375⌉, ⌈1.6875⌉, then 1: 4 + 2 + 5·1 = 11, for 3 candidates: 33.
    # In all 12 + 42 + 33 = 87.
    expected = [
        (1, 2, 1, 2),
        (2, 2, 1, 3),
        (2, 1, 1, 1),
        (3, 2, 1, 2),
        (3, 1, 1, 2),
        (3, 0, 1, 2),
        *[(h, p, 1, 1) for h in (4, 5, 6) for p in (2, 1, 0)],
    ]
    schedule = schedules.platypoos(87, 2, 0.5)
    assert (schedule.h_max, schedule.p_max, schedule.calls) == (6, 2, 87)
    assert table(schedule) == expected
    assert schedule.validation.tolist() == [4, 2, 1, 1, 1, 1, 1]
    assert schedules.platypoos(86, 2, 0.5).h_max == 5


def test_platypoos_repeats_evaluations_by_hand():
    # K = 2, γ = 0.9: γ^2 = 0.81, γ^4 = 0.6561, γ^6 = 0.531441.
    # h_max = 4, p_max = 2. Depth 1: c = ⌈3.24⌉ = 4, ⌈1.62⌉ = 2, ⌈0.81⌉ = 1; k = 1, 2, 4.
    # Depth 2: c = ⌈8·0.6561⌉ = 6, 3, 2; k = ⌊4/(2c)⌋ = 0, 0, 1. Depth 3: c = ⌈12·0.531⌉ = 7,
    # 4, 2; k = ⌊4/(3c)⌋ = 0: the end.
    # Depth 1 opens one node at p = 2 and the other at p = 1, depth 2 one at p = 0.
    # Calls: 2·4 + 2·(4 + 2 + 2) = 24; cross-validation ⌈4·0.0361⌉, … = 1, 1, 1, 3 times: 33.
    schedule = schedules.platypoos(33, 2, 0.9)
    assert (schedule.h_max, schedule.p_max, schedule.calls) == (4, 2, 33)
    assert table(schedule) == [(1, 2, 4, 1), (1, 1, 2, 1), (2, 0, 2, 1)]
    assert schedule.depth == 3


def test_platypoos_reset_by_hand():
    # K = 2, γ = 0.5, h_max = 4, p_max = 2, k = ⌊4/h²⌋ = 4, 1 and then 0, c = 1.
    # Depth 1: both nodes at p = 2; depth 2: one for each p. Children of depth 2 cost 2 calls,
    # of depth 3 cost 3: 2·4 + 2·2·2 + 2·3·3 = 34. Cross-validation: steps need ⌈2.25⌉ = 3,
    # ⌈1.125⌉ = 2 and ⌈0.42⌉ = 1 evaluations, so 1 walk of 3, 1 of 2 and 1 of 1: 6 calls, 3 times.
    schedule = schedules.platypoos(52, 2, 0.5, pp.Access.RESET)
    assert (schedule.h_max, schedule.calls) == (4, 52)
    assert table(schedule) == [(1, 2, 1, 2), (2, 2, 1, 1), (2, 1, 1, 1), (2, 0, 1, 1)]


def test_sequool_by_hand():
    # K = 2: quota 5, 2, 1, 1, 1 at depths 1 to 5, of 2, 4, 4, 2, 2 nodes: 2, 2, 1, 1, 1 opened.
    schedule = schedules.sequool(16, 2, 0.9)
    assert table(schedule) == [(1, 0, 1, 2), (2, 0, 1, 2), (3, 0, 1, 1), (4, 0, 1, 1), (5, 0, 1, 1)]
    assert schedule.calls == 2 * (1 + 2 + 2 + 1 + 1 + 1)


def test_sequool_reset_by_hand():
    # K = 3, ⌊9/h²⌋ = 9, 2, 1 of 3, 9, 6 nodes: 3, 2, 1 opened, by walks of 2, 3 and 4 calls.
    schedule = schedules.sequool(51, 3, 0.9, "reset")
    assert table(schedule) == [(1, 0, 1, 3), (2, 0, 1, 2), (3, 0, 1, 1)]
    assert schedule.calls == 3 + 3 * (3 * 2 + 2 * 3 + 1 * 4) == 51


def test_stroquool_by_hand():
    # K = 2, h_max = 4: 2^p evaluations of ⌊4/(h·2^p)⌋ nodes. Depth 1: 1 node at p = 2 and 1 of
    # the 2 at p = 1. Depth 2: p = 1: 1, p = 0: 2. Depths 3 and 4: p = 0: 1 each.
    # Calls: 2·4 + 2·(4 + 2 + 2 + 2 + 1 + 1) = 32; cross-validation at most 3·(4 + 5) = 27.
    schedule = schedules.stroquool(59, 2, 0.9)
    assert table(schedule) == [
        (1, 2, 4, 1),
        (1, 1, 2, 1),
        (2, 1, 2, 1),
        (2, 0, 1, 2),
        (3, 0, 1, 1),
        (4, 0, 1, 1),
    ]
    assert schedule.calls == 59


def test_uniform_by_hand():
    # K = 2, N = 100: 4·2^4 = 64 fits, 5·2^5 = 160 does not, so H = 4 and 25 calls per depth.
    schedule = schedules.uniform(100, 2, 0.9)
    assert schedule.depth == 4
    assert schedule.root_evaluations == 12
    assert table(schedule) == [(1, 0, 6, 2), (2, 0, 3, 4), (3, 0, 1, 8)]
    assert schedule.calls == 24 + 24 + 24 + 16


def test_the_papers_h_max():
    for n, h_max in [(128, 1), (1_000, 4), (10_000, 24), (100_000, 161)]:
        assert schedules.platypoos(2 * n, 2, 0.95, budget_use="paper").h_max == h_max
    # SequOOL: ⌊100/H_100⌋ with H_100 = 5.187…
    assert schedules.sequool(200, 2, 0.95, budget_use="paper").h_max == 19


def counts_of(kind, gamma, reset):
    return {
        "platypoos": oracles.platypoos_counts(gamma, reset),
        "stroquool": oracles.stroquool_counts(reset),
        "sequool": oracles.sequool_counts(reset),
    }[kind]


@settings(deadline=None, max_examples=300)
@given(
    kind=st.sampled_from(["platypoos", "stroquool", "sequool"]),
    budget=st.integers(8, 1_500),
    num_actions=st.integers(1, 8),
    gamma=st.floats(0, 0.999),
    reset=st.booleans(),
)
def test_agrees_with_the_textbook_recursion(kind, budget, num_actions, gamma, reset):
    access = pp.Access.RESET if reset else pp.Access.RESTORE
    schedule = getattr(schedules, kind)(budget, num_actions, gamma, access)
    counts = counts_of(kind, gamma, reset)
    assert schedule.h_max == oracles.largest_h_max(counts, budget, num_actions, reset)
    assert schedule.calls <= budget
    if schedule.h_max:
        opened = oracles.opened_counts(counts, schedule.h_max, num_actions)
        assert {(h, p): o for h, p, _, o in table(schedule)} == opened
        assert schedule.calls == oracles.cost(counts, schedule.h_max, num_actions, reset)


@settings(deadline=None, max_examples=40)
@given(
    kind=st.sampled_from([schedules.PLATYPOOS, schedules.STROQUOOL, schedules.SEQUOOL]),
    budget=st.integers(8, 30_000),
    num_actions=st.integers(1, 8),
    gamma=st.floats(0, 0.999),
    reset=st.booleans(),
    horizon=st.none() | st.integers(1, 50),
)
def test_compiled_and_plain_schedules_agree(kind, budget, num_actions, gamma, reset, horizon):
    horizon = horizon if gamma else None
    norm = counts.validation_norm(gamma, horizon)
    deepest = budget if horizon is None else horizon - 1
    arguments = (kind, num_actions, gamma, norm, deepest, reset, budget)
    h_max = counts.largest_h_max(*arguments)
    assert counts.largest_h_max_compiled(*arguments) == h_max
    if h_max:
        plain, compiled = np.zeros((2, 20_000, 5), np.int64)
        made = counts.tabulate(kind, h_max, *arguments[1:-1], plain)
        assert counts.tabulate_compiled(kind, h_max, *arguments[1:-1], compiled) == made
        assert (plain == compiled).all()


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize(
    "planner", [pp.PlaTyPOOS(0.95), pp.planners.StroquOOL(0.95), pp.planners.SequOOL(0.95)]
)
def test_a_real_run_opens_what_the_schedule_says(planner, access):
    for seed, budget in enumerate([50, 300, 2_000, 5_000]):
        schedule = planner.schedule(budget, 3, access)
        tree = planner.plan(
            SequenceTree(seed, 3, noise=1.0), budget=budget, seed=seed, access=access
        ).tree
        nodes = np.flatnonzero(tree.flags[: tree.num_nodes] & OPENED)[1:]
        # A node's children carry the index that it was opened at.
        children = {int(tree.parent[i]): int(tree.p_index[i]) for i in range(1, tree.num_nodes)}
        seen: dict[tuple[int, int], int] = {}
        for node in nodes.tolist():
            key = (int(tree.depth[node]), children[node])
            seen[key] = seen.get(key, 0) + 1
        assert seen == {(h, p): o for h, p, _, o in table(schedule)}
        assert tree.num_nodes == schedule.num_nodes


def test_quota_bounds_nodes():
    rows = schedules.platypoos(5_000, 3, 0.9).rows
    assert (rows[:, NODES] <= rows[:, QUOTA]).all()


def test_prints_as_a_table():
    short = str(schedules.platypoos(40, 2, 0.5))
    assert "h_max 3" in short
    assert "worst case 28 of 40 calls" in short
    long = str(schedules.platypoos(20_000, 2, 0.95))
    assert "more rows" in long
    assert len(long.splitlines()) < 50
