"""Properties that hold for every model: scale, shift, order of the actions, form of the model."""

from __future__ import annotations

import numpy as np
import pytest
import random_trees
from hypothesis import example, given, settings
from hypothesis import strategies as st
from parts import in_parts
from random_trees import SequenceTree

import platypoos as pp
from platypoos.search.layered import LayeredPlanner
from platypoos.trees.tree import OPENED, ROOT, TERMINAL

PLANNERS = {name: make(0.9) for name, make in random_trees.LAYERED.items()}
PLANNERS["platypoos-paper"] = pp.PlaTyPOOS(0.9, budget_use="paper")
INVARIANT = {
    **PLANNERS,
    **{
        name: random_trees.PLANNERS[name](0.9)
        for name in (
            "platypus", "uct-auto", "brue", "soo", "sequential-halving", "gumbel-mcts",
            "sequence-search", "cem", "random-shooting", "one-step",
        )
    },
}  # fmt: skip
"""All that need not be told how large rewards are, but IW and RolloutIW: as published they compare
sums of rewards of sequences of different length, which a shift changes."""
EVERYBODY = {name: make(0.9) for name, make in random_trees.THINKING.items()}
every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS.keys())
everybody = pytest.mark.parametrize("planner", EVERYBODY.values(), ids=EVERYBODY.keys())
every_access = pytest.mark.parametrize("access", ["restore", "reset"])


class Affine:
    """α·r + β instead of r."""

    def __init__(self, model, scale, shift):
        self.model, self.scale, self.shift = model, scale, shift
        self.actions, self.initial_state = model.actions, model.initial_state

    def step(self, state, action, rng):
        state, reward, terminated = self.model.step(state, action, rng)
        return pp.models.Transition(state, self.scale * reward + self.shift, terminated)


class Permuted:
    """Action i of this model is action order[i] of the other."""

    def __init__(self, model, order):
        self.model, self.order = model, order
        self.actions, self.initial_state = model.actions, model.initial_state

    def step(self, state, action, rng):
        return self.model.step(state, self.order[action], rng)


@every_planner
@every_access
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    noise=st.sampled_from([0.0, 0.5]),
)
def test_scale_and_shift_do_not_matter(planner, access, seed, scale, shift, noise):
    # Rewards are in [0, 1]; shifts of at most 1e3·scale keep their differences above rounding.
    plain = planner.plan(SequenceTree(seed, 3, noise), budget=150, seed=seed, access=access)
    other = planner.plan(
        Affine(SequenceTree(seed, 3, noise), scale, shift * scale),
        budget=150,
        seed=seed,
        access=access,
    )
    assert other.actions == plain.actions
    assert other.calls == plain.calls
    expected = scale * plain.value + shift * scale / (1 - 0.9)
    assert other.value == pytest.approx(expected, rel=1e-6, abs=1e-6 * scale)
    lead = scale * plain.lead.estimate
    assert other.lead.estimate == pytest.approx(lead, rel=1e-4, abs=1e-6 * scale)
    assert other.confidence == pytest.approx(plain.confidence, abs=1e-6)


@pytest.mark.parametrize("planner", INVARIANT.values(), ids=INVARIANT.keys())
@every_access
@settings(deadline=None, max_examples=8, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    exponent=st.integers(-12, 12),
    shift=st.sampled_from([-1e6, -1e3, 0.0, 1e3, 1e6, 1e9]),
    noise=st.sampled_from([0.0, 0.5]),
)
@example(seed=1, exponent=0, shift=1e9, noise=0.0)
@example(seed=2, exponent=-12, shift=-1e6, noise=0.0)
@example(seed=3, exponent=12, shift=1e9, noise=0.5)
def test_no_scale_and_no_offset_is_too_large(planner, access, seed, exponent, shift, noise):
    # α·r + β in floating-point numbers: with β = 10⁹·α, rewards in [0, 1] keep 7 of their digits.
    # The same model in all runs, and the reward is rounded as if it had its shift, so that what
    # is compared differs by the scale and the offset only.
    scale = 2.0 ** round(exponent * np.log2(10))  # exact: a power of two near 10^exponent

    class Rounded(SequenceTree):
        def sample(self, node):
            reward, terminated = super().sample(node)
            return (reward + shift) - shift, terminated

    plain = planner.plan(Rounded(seed, 3, noise), budget=120, seed=seed, access=access)
    model = Affine(Rounded(seed, 3, noise), scale, shift * scale)
    other = planner.plan(model, budget=120, seed=seed, access=access)
    assert other.actions == plain.actions
    assert other.calls == plain.calls


@in_parts(6, 20)
@every_planner
@every_access
def test_the_order_of_the_actions_does_not_matter(planner, access, cases):
    # The naive planner hands the samples of a prefix to its sequences in the order of the actions.
    noise = 0.0 if planner is PLANNERS["uniform-naive"] else 0.3
    for seed in cases:
        order = np.random.default_rng(seed).permutation(3).tolist()
        plain = planner.plan(SequenceTree(seed, 3, noise), budget=200, seed=seed, access=access)
        other = planner.plan(
            Permuted(SequenceTree(seed, 3, noise), order), budget=200, seed=seed, access=access
        )
        assert tuple(order[action] for action in other.actions) == plain.actions
        assert other.value == pytest.approx(plain.value)


PROBLEMS = [
    pp.problems.SwitchChain(),
    pp.problems.Garnet(12, 3, seed=1),
    pp.problems.Garnet(12, 3, seed=2, num_terminal=3),
    pp.problems.Grid(),
    pp.problems.Battery(noise=0.0),
]
ACCESS = {
    name: [a for a in ("restore", "reset") if random_trees.can_use(name, a)] for name in EVERYBODY
}
IN_PAIRS = [
    pytest.param(name, ACCESS[name][(i + j) % len(ACCESS[name])], problem, id=f"{name}-{j}")
    for i, name in enumerate(EVERYBODY)
    for j, problem in enumerate(PROBLEMS)
]
"""Each planner with each problem and with each access, but not with all of both."""


@pytest.mark.parametrize(("name", "access", "problem"), IN_PAIRS)
def test_the_three_forms_of_a_problem_give_the_same_plan(name, access, problem):
    planner = EVERYBODY[name]
    forms = [problem, problem.array(), problem.compiled()]
    for seed, budget in enumerate([10, 400]):
        plans = [planner.plan(form, budget=budget, seed=seed, access=access) for form in forms]
        assert len({plan.actions for plan in plans}) == 1
        assert len({plan.calls for plan in plans}) == 1
        assert len({plan.tree.num_nodes for plan in plans}) == 1
        assert plans[0].value == pytest.approx(plans[1].value, rel=1e-12)
        assert plans[0].value == pytest.approx(plans[2].value, rel=1e-12)
        np.testing.assert_allclose(plans[0].action_values, plans[2].action_values, rtol=1e-12)


@everybody
@every_access
def test_same_seed_same_plan(planner, access):
    problem = pp.problems.Garnet(10, 3, seed=0, noise=1.0)
    for form in (problem, problem.array(), problem.compiled()):
        plans = [planner.plan(form, budget=500, seed=7, access=access) for _ in range(2)]
        assert plans[0].actions == plans[1].actions
        assert plans[0].value == plans[1].value
        other = planner.plan(form, budget=500, seed=8, access=access)
        assert other.value != plans[0].value


def test_seeds_of_every_kind():
    problem = pp.problems.Garnet(10, 3, seed=0, noise=1.0)

    def value(seed):
        return pp.plan(problem, budget=300, discount=0.9, seed=seed).value

    assert value(3) == value(np.random.SeedSequence(3)) == value(np.random.default_rng(3))
    generator = np.random.default_rng(3)
    assert value(generator) != value(generator)  # it moves on
    assert value(None) != value(None)


@everybody
def test_batches_of_any_size_give_the_same_plan(planner):
    problem = pp.problems.Garnet(10, 3, seed=0, noise=1.0)
    plans = [
        planner.plan(
            pp.ArrayModel(problem.array().function, 3, np.int64(0), batch_size=size),
            budget=700,
            seed=1,
        )
        for size in (1, 7, 64, 100_000)
    ]
    assert len({plan.actions for plan in plans}) == 1
    assert len({plan.value for plan in plans}) == 1


@in_parts(3, 10)
@everybody
@every_access
def test_the_tree_is_consistent(planner, access, cases):
    for seed in cases:
        tree = planner.plan(
            SequenceTree(seed, 3, 0.5, ends=0.1), budget=400, seed=seed, access=access
        ).tree
        n = tree.num_nodes
        nodes = np.arange(1, n)
        parent = tree.parent[1:n]
        assert (parent < nodes).all()
        assert (tree.depth[1:n] == tree.depth[parent] + 1).all()
        assert ((tree.action[1:n] >= 0) & (tree.action[1:n] < 3)).all()
        if isinstance(planner, LayeredPlanner):
            assert (tree.pulls[1:n] > 0).all()
            assert (tree.flags[parent] & OPENED).all()
            assert not (tree.flags[parent] & TERMINAL).any()
            opened = np.flatnonzero(tree.flags[:n] & OPENED)
            assert n == 1 + 3 * len(opened)
            deeper = parent != ROOT
            # An index never exceeds that of the parent.
            assert (tree.p_index[1:n][deeper] <= tree.p_index[parent[deeper]]).all()


def test_ties_are_broken_by_chance():
    flat = pp.FunctionModel(lambda state, action, rng: (state, 1.0, False), 4, 0)
    for planner in (*EVERYBODY.values(), pp.planners.Random(0.9)):
        chosen = {planner.plan(flat, budget=60, seed=seed).action for seed in range(60)}
        assert chosen == {0, 1, 2, 3}, planner


@everybody
@every_access
def test_the_model_is_left_as_it_was(planner, access):
    problem = pp.problems.Garnet(10, 3, seed=0, noise=1.0)
    before = [a.copy() for a in (problem.successor, problem.reward, problem.noise)]
    start = problem.compiled()
    planner.plan(problem, budget=300, seed=0, access=access)
    planner.plan(start, budget=300, seed=0, access=access)
    for a, b in zip(before, (problem.successor, problem.reward, problem.noise), strict=True):
        assert (a == b).all()
    assert start.initial_state.tolist() == [0]
