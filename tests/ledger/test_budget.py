"""The budget is sacred: models that count for themselves never see a call too many."""

from __future__ import annotations

import numpy as np
import pytest
from parts import in_parts
from random_trees import CONTENDERS, PLANNERS, Counted, can_use

import platypoos as pp

CASES = 4_800  # seeds 0 … 4,799
EVERY = {**PLANNERS, "paper": lambda discount: pp.PlaTyPOOS(discount, budget_use="paper")}


def random_case(seed):
    rng = np.random.default_rng(seed)
    kind = ["python", "array", "compiled"][seed % 3]
    name = list(EVERY)[seed // 3 % len(EVERY)]
    access = ["restore", "reset"][int(rng.integers(2))]
    num_actions = int(rng.integers(1, 9))
    most = 20_000 if kind == "compiled" else [300, 1_000, 4_000, 20_000][int(rng.integers(4))]
    if kind == "array" and name in CONTENDERS:
        most = 500  # they walk: batches of one
    budget = int(np.exp(rng.uniform(np.log(num_actions), np.log(most))))
    if num_actions == 1 and name.startswith(("uniform", "op")):
        budget = min(budget, 1_000)  # one sequence as long as the budget
    discount = float(rng.choice([0.0, 0.999, rng.uniform(0, 0.999)]))
    num_states = int(rng.integers(2, 30))
    problem = pp.problems.Garnet(
        num_states,
        num_actions,
        seed=seed,
        noise=float(rng.choice([0.0, 1.0])),
        num_terminal=int(rng.choice([0, 1, num_states // 2])) if num_states > 2 else 0,
    )
    if not can_use(name, access):
        access = "restore"
    return Counted(problem, kind), EVERY[name](discount), access, max(budget, num_actions)


@in_parts(800, CASES)
def test_never_a_call_too_many(cases):
    used = 0
    for seed in cases:
        counted, planner, access, budget = random_case(seed)
        plan = planner.plan(counted.model, budget=budget, seed=seed, access=access)
        case = f"{seed=} {planner} {access} {budget=}"
        assert counted.calls == plan.calls <= budget, case
        assert 0 <= plan.action < counted.problem.actions.n, case
        assert plan.actions[0] == plan.action, case
        assert np.isfinite(plan.value) or plan.calls == 0, case
        used += plan.calls
    assert used > 0


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_platypoos_uses_the_budget(access):
    # Without terminal states and for N ≥ 100·K, at least 95 % of it: in fact all of it.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        num_actions = int(rng.integers(1, 9))
        budget = int(rng.integers(100 * num_actions, 20_000))
        problem = pp.problems.Garnet(10, num_actions, seed=seed, noise=1.0)
        counted = Counted(problem, "compiled")
        planner = pp.PlaTyPOOS(rng.uniform(0, 0.999))
        plan = planner.plan(counted.model, budget=budget, seed=seed, access=access)
        assert counted.calls == plan.calls == budget


def test_what_terminal_states_save_goes_to_the_cross_validation():
    problem = pp.problems.Garnet(10, 3, seed=0, noise=1.0, num_terminal=5)
    counted = Counted(problem, "python")
    pp.PlaTyPOOS(0.9).plan(counted.model, budget=2_000, seed=0)
    assert counted.calls == 2_000


def test_the_papers_h_max_leaves_most_of_the_budget():
    counted = Counted(pp.problems.Garnet(10, 2, seed=0), "python")
    plan = pp.PlaTyPOOS(0.95, budget_use="paper").plan(counted.model, budget=20_000, seed=0)
    assert counted.calls == plan.calls
    assert 0.01 < plan.calls / plan.budget < 0.06


def test_control_gives_each_step_its_budget():
    counted = Counted(pp.problems.Garnet(10, 2, seed=0, noise=1.0), "python")
    episode = pp.control(counted.model, budget=300, steps=7, discount=0.9, seed=0)
    assert episode.step_calls == (300,) * 7
    assert episode.calls == 2_100
    assert counted.calls == 2_100 + 7  # and the seven steps that were taken


def test_the_ledger_refuses_before_it_calls():
    from platypoos.search.tree_simulator import TreeSimulator
    from platypoos.trees.tree import make_tree, set_node, set_root

    counted = Counted(pp.problems.Garnet(10, 2, seed=0), "python")
    tree = make_tree(3)
    set_root(tree)
    set_node(tree, 1, 0, 0, 1, 0)
    rng = np.random.default_rng(0)
    ledger = TreeSimulator(counted.model, 0, 5, rng, pp.Access.RESTORE, tree)
    ledger.evaluate(tree, np.array([1]), np.array([3]))
    with pytest.raises(pp.errors.BudgetExceeded, match="3 calls was refused: 3 of the budget of 5"):
        ledger.evaluate(tree, np.array([1]), np.array([3]))
    assert counted.calls == ledger.calls == tree.pulls[1] == 3
