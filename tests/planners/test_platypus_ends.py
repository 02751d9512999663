"""Ends: when the default planner stops, goes on, and does not die for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from test_platypus import platypus, thought_for

import platypoos as pp
from platypoos import lab
from platypoos.graph import Graph
from platypoos.planners.platypus.plan import Search
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.sequences import Level, consider

GAMMA = 0.95


def separated(step):
    """The same problem, but every sequence of actions leads to a state of its own."""

    def separate(state, action, rng):
        after, reward, ended = step(state[0], action, rng)
        return (after, (*state[1], action)), reward, ended

    return separate


def both(step, actions, start):
    """The problem, with states that meet and with states that do not."""
    yield "shared", pp.FunctionModel(step, actions, start)
    yield "separate", pp.FunctionModel(separated(step), actions, (start, ()))


@pytest.mark.parametrize("cost", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("budget", [12, 40, 300])
def test_where_each_step_costs_it_stops_at_once(budget, cost):
    def step(state, action, rng):
        return (state, 0.0, True) if action == 2 else (state + action + 1, -cost, False)

    for form, model in both(step, 3, 0):
        for seed in range(10):
            plan = platypus(GAMMA).plan(model, budget=budget, seed=seed)
            assert plan.action == 2, f"{form} {seed=}"
            assert plan.value == 0.0, f"{form} {seed=}"
            assert plan.actions == (2,)


@pytest.mark.parametrize("budget", [12, 40, 300])
def test_where_each_step_pays_it_goes_on(budget):
    def step(state, action, rng):
        return (state, 0.0, True) if action == 2 else (state + action + 1, 1.0, False)

    for form, model in both(step, 3, 0):
        for seed in range(10):
            plan = platypus(GAMMA).plan(model, budget=budget, seed=seed)
            assert plan.action != 2, f"{form} {seed=}"
            assert 2 not in plan.actions, f"{form} {seed=}"


def exit_problem(seed, prize):
    """A round of 7 states: one of three moves pays 1, the others 0.2; the first has an exit."""
    right = np.random.default_rng(seed).integers(0, 3, 7).tolist()

    def step(state, action, rng):
        if action == 3:
            return (state, prize, True) if state == 0 else ((state + 1) % 7, 0.0, False)
        return (state + 1) % 7, 1.0 if action == right[state] else 0.2, False

    return step


@pytest.mark.parametrize(("prize", "leaves"), [(4.0, False), (30.0, True)])
def test_an_end_with_a_prize_is_taken_if_it_is_worth_more_than_going_on(prize, leaves):
    # Going on well is worth 20, at random 8. Seeds 0 … 9.
    for seed in range(10):
        for form, model in both(exit_problem(seed, prize), 4, 0):
            plan = platypus(GAMMA).plan(model, budget=300, seed=seed)
            assert (plan.action == 3) == leaves, f"{form} {seed=}"


def test_a_small_prize_is_left_where_all_is_known():
    # 13 is more than random actions get and less than good ones do (20): benchmarks/stopping.py.
    for seed in range(20):
        model = pp.FunctionModel(exit_problem(seed, 13.0), 4, 0)
        plan = platypus(GAMMA).plan(model, budget=300, seed=seed)
        assert plan.action != 3, f"{seed=}"
        assert plan.action_values[3] == pytest.approx(13.0)
        assert plan.value == pytest.approx(20.0)


def lane(lanes, length):
    """Each step costs 0.1. At the wall only the last lane is open; a crash costs 10."""

    def step(state, action, rng):
        place, lane = state
        lane = min(lanes - 1, max(0, lane + action - 1))
        place += 1
        if place == length:
            return ((place, lane), -10.0, True) if lane < lanes - 1 else ((0, lane), 5.0, False)
        return (place, lane), -0.1, False

    return step


def test_it_does_not_crash_early_to_save_the_way():
    # The prize behind the wall is worth the way; a crash is not, however early.
    for seed in range(10):
        for form, model in both(lane(3, 8), 3, (0, 0)):
            episode = pp.control(model, planner=platypus(GAMMA), budget=200, steps=16, seed=seed)
            assert not episode.terminated, f"{form} {seed=}"
            assert sum(episode.rewards) > 5.0, f"{form} {seed=}"


def search_with(walks, origin=0.0, discount=GAMMA):
    """A search that knows some walks from its root."""
    graph = Graph(discount, 2, None, 0)
    graph.root = graph.state_of(None, 0)
    graph.origin = origin
    search = Search(graph, None, Rules())
    search.level = Level(20)
    search.power = [discount**t for t in range(21)]
    graph.known += 1  # the origin is given
    return search, [graph.learn(graph.root, walk, 0) for walk in walks]


def walk(rewards, *, ends, turn):
    """Steps of action 0, but 1 at a step, so that no two walks are the same."""
    return [
        (int(t == turn), None, reward, ends and t == len(rewards) - 1)
        for t, reward in enumerate(rewards)
    ]


@pytest.mark.parametrize(
    ("early", "replaces"),
    [
        ([-1.0, -1.0, -10.0], False),  # it only saves three steps
        ([-1.0, -1.0, -1.0, -10.0], False),
        ([-1.0, -1.0, 3.0], True),  # a prize
        ([-1.0, 0.0, 0.0], True),  # better even without the crash
    ],
)
def test_an_earlier_end_must_be_better_without_the_later_crash(early, replaces):
    late = [-1.0] * 5 + [-10.0]
    search, (late_path, early_path) = search_with(
        [walk(late, ends=True, turn=4), walk(early, ends=True, turn=1)]
    )
    consider(search, search.level, [0] * 6, late_path)
    consider(search, search.level, [0] * 3, early_path)
    kept = search.level.best[0]
    assert (kept.path is early_path) == replaces
    assert search.level.leader is kept
    # The other way round, the later end replaces the earlier one if it is worth more.
    search, (late_path, early_path) = search_with(
        [walk(late, ends=True, turn=4), walk(early, ends=True, turn=1)]
    )
    consider(search, search.level, [0] * 3, early_path)
    consider(search, search.level, [0] * 6, late_path)
    better = search.level.best[0].value
    assert better >= max(late_sum(late), late_sum(early)) - 1e-12


def late_sum(rewards):
    return sum(GAMMA**t * reward for t, reward in enumerate(rewards))


def test_an_end_that_nothing_can_avoid_is_postponed_or_taken_by_its_price():
    # Every way ends after 6 steps at most, with −5. If steps pay, it comes late; if they cost 1,
    # at once: −5 is more than −1 five times and −5·γ^5.
    for pay, planned in ((1.0, (0,) * 5), (-1.0, (1,))):

        def step(state, action, rng, pay=pay):
            if action == 1 or state == 5:
                return state, -5.0, True
            return state + 1, pay, False

        for form, model in both(step, 2, 0):
            plan = platypus(GAMMA).plan(model, budget=200, seed=0)
            assert plan.actions[: len(planned)] == planned, form


def test_going_on_is_counted_alike_for_all_that_go_on():
    # Of two sequences that do not end, what follows is the same: only what was seen decides.
    session = thought_for(lab.problems.RandomTree(9, 3, 0), 60)
    search = session.search
    search.recommend()
    graph = search.graph
    for candidate in search.level.best.values():
        after = candidate.path[-1].after
        if after is not None and not graph.closed:
            seen = sum(p * e.mean for p, e in zip(search.power, candidate.path, strict=False))
            rest = search.power[len(candidate.path)] * graph.rate * after.span
            assert candidate.value == pytest.approx(seen + rest)
