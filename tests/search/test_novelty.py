"""IW and RolloutIW against slow versions with plain sets; features of all kinds of states."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from parts import in_parts
from random_trees import Counted

import platypoos as pp
from platypoos.planners import iw, rollout_iw
from platypoos.search.base import Asked

CASES = 200  # random models for each planner and width; seeds 0 … 199


class Case:
    """A table of states with random features, masks, ends and rewards, that writes down calls."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.num_actions = int(rng.integers(1, 5))
        self.num_states = int(rng.integers(2, 40))
        self.budget = int(rng.integers(self.num_actions, 60))
        self.horizon = int(rng.integers(1, 9)) if rng.integers(3) == 0 else None
        self.discount = float(rng.choice([0.0, 0.5, 0.9]))
        self.problem = pp.problems.Garnet(
            self.num_states,
            self.num_actions,
            seed=seed,
            num_terminal=int(rng.choice([0, self.num_states // 3])),
        )
        shape = (self.num_states, int(rng.integers(1, 7)))
        self.rows = rng.integers(int(rng.integers(2, 6)), size=shape)
        masks = rng.random((self.num_states, self.num_actions)) < rng.choice([0.5, 1.0])
        masks[np.arange(self.num_states), rng.integers(self.num_actions, size=self.num_states)] = 1
        self.masks = masks
        self.calls = []
        self.known = {(): (self.problem.initial_state, 0.0, False)}

    def features(self, path):
        return self.rows[self.end_of(path)[0]].tolist()

    def legal(self, path):
        return np.flatnonzero(self.masks[self.end_of(path)[0]]).tolist()

    def end_of(self, path):
        """The state that a sequence of actions leads to, the last reward, and whether it ended."""
        if path not in self.known:
            state = self.end_of(path[:-1])[0]
            self.known[path] = self.problem.step(state, path[-1], np.random.default_rng(0))
        return self.known[path]

    def step(self, path, action, rng):
        """Sequences are the states, so that every known step can be told."""
        self.calls.append((*path, action))
        _, reward, ended = self.end_of((*path, action))
        return (*path, action), reward, ended

    @property
    def model(self):
        return pp.FunctionModel(
            self.step, self.num_actions, (), legal=self.legal, features=self.features
        )

    def forms(self):
        """The three kinds of model of the same table."""
        rows = self.rows
        for kind, features in [
            ("python", lambda state: rows[state]),
            ("array", lambda states: rows[states]),
            ("compiled", lambda state: rows[state[0]]),
        ]:
            yield replace(Counted(self.problem, kind, self.masks).model, features=features)


class Slow:
    """The definitions, word by word: what was met is a set of paths, below the path ``root``."""

    def __init__(self, case, width, budget, horizon, root=(), kept=()):
        self.case, self.width, self.budget, self.horizon = case, width, budget, horizon
        self.root = root
        self.met = {(), *kept}  # without ``root`` in front
        self.kept = set(kept) - {()}
        self.closed = set()
        self.calls = []
        self.shown = {}

    def ended(self, path):
        return path != () and self.case.end_of((*self.root, *path))[2]

    def legal(self, path):
        return self.case.legal((*self.root, *path))

    def tuples(self, path):
        if path not in self.shown:
            atoms = list(enumerate(self.case.features((*self.root, *path))))
            sizes = range(1, self.width + 1)
            self.shown[path] = {t for size in sizes for t in combinations(atoms, size)}
        return self.shown[path]

    def is_novel(self, path, others, depth):
        """Whether it shows something that no other path of at most this depth shows."""
        seen = [
            self.tuples(other) for other in others if len(other) <= depth and not self.ended(other)
        ]
        return bool(self.tuples(path) - set().union(*seen))

    def call(self, path):
        self.calls.append((*self.root, *path))
        self.met.add(path)

    def is_solved(self, path):
        if path in self.closed:
            return True
        return path in self.met and all(self.is_solved((*path, a)) for a in self.legal(path))

    def roll_out(self, rng):
        path = ()
        while True:
            choices = [a for a in self.legal(path) if not self.is_solved((*path, a))]
            path = (*path, choices[int(rng.random() * len(choices))])
            if path in self.met:
                others = self.met - self.kept  # what was kept leaves no trace
                novel = not self.ended(path) and self.is_novel(path, others, len(path) - 1)
            elif len(self.calls) < self.budget:
                before = self.met - self.kept
                self.call(path)
                novel = not self.ended(path) and self.is_novel(path, before, len(path))
            else:
                return
            if not novel or len(path) == self.horizon:
                self.closed.add(path)
                return

    def all_rollouts(self, rng):
        while len(self.calls) < self.budget and not self.is_solved(()):
            self.roll_out(rng)

    def breadth_first(self, rng):
        waiting = [()]
        while waiting:
            path = waiting.pop(0)
            if len(path) == self.horizon:
                continue
            for action in rng.permutation(self.legal(path)).tolist():
                if len(self.calls) == self.budget:
                    return
                child = (*path, action)
                before = set(self.met)
                self.call(child)
                if not self.ended(child) and self.is_novel(child, before, len(child)):
                    waiting.append(child)

    def value(self, path):
        """The best discounted sum of rewards from a path on, its own reward included."""
        rest = 0.0
        if not self.ended(path):
            children = [(*path, action) for action in self.legal(path)]
            rest = max(self.value(child) if child in self.met else 0.0 for child in children)
        reward = self.case.end_of((*self.root, *path))[1] if path else 0.0
        return reward + self.case.discount * rest


@pytest.fixture
def seeds(monkeypatch):
    """The seeds of the plans that are made, for the slow versions to choose alike."""
    found = []
    for module in (iw, rollout_iw):

        def begin(*args, original=module.begin):
            sim, tree, growth = original(*args)
            found.append(growth.seed)
            return sim, tree, growth

        monkeypatch.setattr(module, "begin", begin)
    return found


def check_decision(slow, plan):
    values = {a: slow.value((a,)) for a in slow.legal(()) if (a,) in slow.met}
    for action, value in values.items():
        assert plan.action_values[action] == pytest.approx(value, abs=1e-12)
    assert values[plan.action] == pytest.approx(max(values.values()), abs=1e-12)
    assert plan.value == pytest.approx(max(values.values()), abs=1e-12)
    assert plan.tree.num_nodes == len(slow.met)
    assert plan.actions in slow.met


@in_parts(50, CASES)
@pytest.mark.parametrize("width", [1, 2])
def test_iw_opens_the_states_of_the_slow_version(width, seeds, cases):
    pruned = 0
    for seed in cases:
        case = Case(seed)
        planner = pp.planners.IW(case.discount, width=width)
        plan = planner.plan(case.model, budget=case.budget, horizon=case.horizon, seed=seed)
        slow = Slow(case, width, case.budget, case.horizon)
        slow.breadth_first(np.random.default_rng(seeds[-1]))
        assert case.calls == slow.calls, seed
        check_decision(slow, plan)
        assert plan.calls == len(case.calls) <= case.budget
        pruned += plan.calls < case.budget
    assert len(cases) / 10 < pruned < len(cases)


@in_parts(50, CASES)
@pytest.mark.parametrize("width", [1, 2])
def test_rollouts_take_the_steps_of_the_slow_version(width, seeds, cases):
    solved = 0
    for seed in cases:
        case = Case(seed)
        planner = pp.planners.RolloutIW(case.discount, width=width)
        plan = planner.plan(case.model, budget=case.budget, horizon=case.horizon, seed=seed)
        slow = Slow(case, width, case.budget, case.horizon)
        slow.all_rollouts(np.random.default_rng(seeds[-1]))
        assert case.calls == slow.calls, seed
        check_decision(slow, plan)
        assert plan.calls == len(case.calls) <= case.budget
        solved += plan.calls < case.budget
    assert len(cases) / 10 < solved < len(cases)


@in_parts(50, CASES)
@pytest.mark.parametrize("width", [1, 2])
def test_the_kept_tree_is_gone_on_with(width, seeds, cases):
    """Three steps of an episode; the slow version is given what is below the action taken."""
    reused = 0
    for seed in cases[::2]:
        case = Case(seed)
        planner = pp.planners.RolloutIW(case.discount, width=width)
        memory, model = planner.remember(), case.model
        root, kept = (), set()
        for turn in range(3):
            horizon = None if case.horizon is None else case.horizon - turn
            if horizon == 0 or (root and case.end_of(root)[2]):
                break
            case.calls.clear()
            plan = planner.answer(
                model, root, Asked(case.budget, horizon=horizon), seed=seed, memory=memory
            )
            slow = Slow(case, width, case.budget, horizon, root, kept)
            slow.all_rollouts(np.random.default_rng(seeds[-1]))
            assert case.calls == slow.calls, (seed, turn)
            check_decision(slow, plan)
            memory.observe(plan.action, 0.0)
            root = (*root, plan.action)
            kept = {path[1:] for path in slow.met if path[:1] == (plan.action,)}
            reused += len(kept) > 1
    assert reused > len(cases) / 4


def test_no_known_step_is_called_again():
    for seed in range(30):
        case, acted = Case(seed), []

        def take_out(step, plan, reward, case=case, acted=acted):
            acted.append(case.calls.pop())  # the step that was taken, not planned with

        episode = pp.control(
            case.model,
            planner=pp.planners.RolloutIW(0.9),
            budget=case.budget,
            steps=8,
            seed=seed,
            on_step=take_out,
        )
        assert len(case.calls) == len(set(case.calls)) == episode.calls
        assert all(calls <= case.budget for calls in episode.step_calls)
        assert acted[-1] == episode.actions


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("kind", [pp.planners.IW, pp.planners.RolloutIW])
def test_the_three_kinds_of_model_plan_alike(kind, width):
    for seed in range(60):
        case = Case(seed)
        episodes = [
            pp.control(
                model, planner=kind(0.9, width=width), budget=case.budget, horizon=6, seed=seed
            )
            for model in case.forms()
        ]
        assert len({(e.actions, e.step_calls) for e in episodes}) == 1
        problem = case.problem
        plans = [
            kind(0.9, width=width).plan(model, budget=case.budget, seed=seed)
            for model in (problem, problem.array(), problem.compiled())
        ]
        assert len({(p.actions, p.calls, p.value, p.tree.num_nodes) for p in plans}) == 1


def test_compiled_models_have_features_too():
    problem = pp.problems.Garnet(20, 3, seed=1)
    form = problem.compiled()
    blind = pp.CompiledModel(
        form.kernel, 3, form.initial_state, form.params, features=lambda state: (0,)
    )
    assert pp.planners.IW(0.9).plan(form, budget=100, seed=0).calls > 3
    assert pp.planners.IW(0.9).plan(blind, budget=100, seed=0).calls == 3


def test_states_must_be_restored():
    case = Case(0)
    for kind in (pp.planners.IW, pp.planners.RolloutIW):
        with pytest.raises(pp.InvalidArgument, match=f"{kind.__name__} goes on from stored states"):
            kind(0.9).plan(case.model, budget=50, access="reset")
    assert case.calls == []
