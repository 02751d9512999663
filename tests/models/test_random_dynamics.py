"""Random dynamics by RESET: episodes end by chance, and every planner copes."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import PLANNERS, Counted, can_use

import platypoos as pp
from platypoos import lab

RESETTING = [name for name in PLANNERS if can_use(name, "reset")]


@pytest.mark.parametrize("name", RESETTING)
def test_ends_by_chance_leave_the_books_in_order(name):
    """A cliff, from which one slips at every tenth step; 20 seeds, both forms, 400 calls."""
    problem = lab.problems.Cliff(width=8, slip=0.1, fall=20.0)
    for seed in range(20):
        model = problem.compiled() if seed % 2 else problem
        planner = PLANNERS[name](0.95)
        plan = planner.plan(model, budget=400, seed=seed, access="reset")
        assert plan.calls <= 400
        assert 0 <= plan.action < problem.actions.n
        tree = plan.tree
        for node in range(1, tree.num_nodes):
            parent = int(tree.parent[node])
            assert 0 <= parent < node
            assert tree.depth[node] == tree.depth[parent] + 1
        assert np.isfinite(tree.reward[: tree.num_nodes][tree.pulls[: tree.num_nodes] > 0]).all()


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_where_an_episode_ends_nothing_need_be_legal(name, kind):
    """Tables of 6 states of which 3 are ends, where no action is legal; 10 seeds, 300 calls."""
    for seed in range(10):
        problem = pp.problems.Garnet(6, 3, seed=seed, num_terminal=3)
        masks = np.repeat(~problem.terminal[:, None], 3, axis=1)
        counted = Counted(problem, kind, masks)
        plan = PLANNERS[name](0.9).plan(counted.model, budget=300, seed=seed)
        assert plan.calls == counted.calls <= 300
        assert counted.illegal_calls == 0
