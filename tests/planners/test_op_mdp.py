"""OP-MDP on models whose next state is random, with known probabilities."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import platypoos as pp


class Chancy:
    """A random MDP with two or three successors for every state and action."""

    def __init__(self, seed, num_states=4, num_actions=2):
        rng = np.random.default_rng(seed)
        self.actions, self.initial_state, self.max_successors = pp.Discrete(num_actions), 0, 3
        shape = (num_states, num_actions, num_states)
        self.p = np.zeros(shape)
        for state, action in np.ndindex(shape[:2]):
            successors = rng.choice(num_states, size=int(rng.integers(2, 4)), replace=False)
            self.p[state, action, successors] = rng.dirichlet(np.ones(len(successors)))
        self.r = rng.random(shape)
        self.listed = 0

    def step(self, state, action, rng):
        after = int(rng.choice(len(self.p), p=self.p[state, action]))
        return after, self.r[state, action, after], False

    def successors(self, state, action):
        found = [
            (self.p[state, action, s], s, self.r[state, action, s])
            for s in np.flatnonzero(self.p[state, action])
        ]
        self.listed += len(found)
        return found

    def action_values(self, gamma):
        q = np.zeros(self.p.shape[:2])
        for _ in range(200):
            q = (self.p * (self.r + gamma * q.max(axis=1))).sum(axis=2)
        return q[self.initial_state]


def test_bounds_and_decisions_against_value_iteration():
    # 50 random MDPs, γ = 0.4, 3,000 successors; the gap is above 0.02 in all but a few.
    right = 0
    for seed in range(50):
        model = Chancy(seed)
        exact = model.action_values(0.4)
        plan = pp.planners.OPMDP(0.4, reward_max=1.0).plan(model, budget=3_000, seed=seed)
        assert plan.calls == model.listed <= 3_000
        assert (plan.action_values <= exact + 1e-12).all()  # they are lower bounds
        # The recommendation is as good as what its lower bound promises.
        assert exact[plan.action] >= plan.value - 1e-12
        assert exact.max() - exact[plan.action] < 0.02
        right += plan.action == exact.argmax()
    assert right >= 48


def test_leaves_are_expanded_in_the_order_of_brute_force():
    gamma = 0.7
    for seed in range(30):
        model = Chancy(seed)
        order, listed = [], {}

        def successors(history, action, model=model, order=order, listed=listed):
            if not order or order[-1] != history:
                order.append(history)
            found = [
                (model.p[history[-1], action, s], (*history, action, int(s)), reward)
                for s, reward in enumerate(model.r[history[-1], action])
                if model.p[history[-1], action, s] > 0
            ]
            listed[history, action] = found
            return found

        tree = SimpleNamespace(
            actions=2, initial_state=(0,), step=None, successors=successors, max_successors=3
        )
        pp.planners.OPMDP(gamma, reward_max=1.0).plan(tree, budget=150, seed=seed)
        assert len(order) > 10

        def upper(history, expanded, listed=listed):
            """The upper bound and the action that has it, from scratch."""
            if history not in expanded:
                return 1 / (1 - gamma), None
            bounds = [
                sum(p * (r + gamma * upper(s, expanded)[0]) for p, s, r in listed[history, a])
                for a in range(2)
            ]
            return max(bounds), int(np.argmax(bounds))

        def leaves(history, weight, expanded, listed=listed):
            """The leaves of the optimistic subtree, with P·γ^d."""
            if history not in expanded:
                return {history: weight}
            action = upper(history, expanded)[1]
            found = {}
            for p, s, _ in listed[history, action]:
                found |= leaves(s, weight * p * gamma, expanded)
            return found

        expanded = set()
        for history in order:
            options = leaves((0,), 1.0, expanded)
            assert options[history] == pytest.approx(max(options.values()), rel=1e-9)
            expanded.add(history)


def test_more_calls_give_better_bounds():
    model = Chancy(0)
    values = [
        pp.planners.OPMDP(0.6, reward_max=1.0).plan(model, budget=n, seed=0).value
        for n in (10, 100, 1_000, 10_000)
    ]
    assert values == sorted(values)
    assert model.action_values(0.6).max() - values[-1] < 0.2


def test_episodes_that_may_end():
    class Ending(Chancy):
        def successors(self, state, action):
            # Action 0 ends with probability 1/2, action 1 goes on with less.
            if action == 0:
                return [(0.5, 1, 0.5, True), (0.5, 0, 0.5, False)]
            return [(1.0, 0, 0.3, False)]

    plan = pp.planners.OPMDP(0.5, reward_max=1.0).plan(Ending(0), budget=2_000, seed=0)
    # Always 1: 0.6. Once 0, then the best: V = max(0.3 + V/2, 0.5 + V/4) = 2/3, by action 0.
    assert plan.action == 0
    assert plan.value == pytest.approx(2 / 3, abs=1e-3)


@pytest.mark.parametrize(
    ("listed", "match"),
    [
        ([(0.5, 0, 1.0)], r"add up to 1, got \[0.5\]"),
        ([(np.nan, 0, 1.0)], r"add up to 1, got \[nan\]"),
        ([(1.0, 0, np.nan)], "reward nan"),
        ([(1.5, 0, 1.0), (-0.5, 0, 1.0)], "of at least 0"),
        ([], r"add up to 1, got \[\]"),
        ([(0.25, 0, 1.0)] * 4, "listed 4 entries, but max_successors is 3"),
        ([(1.0, 0)], r"must list \(probability, state, reward\) .* got \(1.0, 0\)"),
        (None, "successors raised TypeError"),
        ([(1.0, 0, 1.0, "perhaps")], "terminated True or False"),
    ],
)
def test_successors_that_are_wrong(listed, match):
    model = Chancy(0)
    model.successors = lambda state, action: listed  # type: ignore[method-assign]
    with pytest.raises(pp.ModelError, match=match) as caught:
        pp.planners.OPMDP(0.5, reward_max=1.0).plan(model, budget=100, seed=0)
    assert caught.value.state == 0
    assert caught.value.tree is not None


def test_what_it_needs_is_asked_for():
    model = Chancy(0)
    assert "or plan with OPMDP" in str(pp.check_model(model))
    planner = pp.planners.OPMDP(0.5, reward_max=1.0)
    with pytest.raises(pp.InvalidArgument, match="budget 5 is below the 6 successors"):
        planner.plan(model, budget=5)
    assert planner.plan(model, budget=50, access="reset", seed=0).calls > 10
    del model.max_successors
    with pytest.raises(pp.InvalidArgument, match="max_successors must be a whole number"):
        planner.plan(model, budget=50)
