"""The default planner where actions are arrays of numbers."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import platypoos as pp
from platypoos.planners.platypus.decision import sequences_to_show
from platypoos.planners.platypus.sequences import MOST_FIRSTS, Candidate


def mass(state, action, rng):
    """A point on a line with bounded force: go to 0 and stay there."""
    x, v = state
    v += 0.2 * float(action[0])
    x += 0.2 * v
    return (x, v), -(x * x) - 0.1 * v * v, False


ONE = pp.Box([-1.0], [1.0])


def test_it_finds_the_best_action_of_one_step():
    # 20 seeds: the reward of one step is largest at (0.3, -1.5); 300 calls.
    box = pp.Box([-1.0, -2.0], [1.0, 2.0])

    def step(state, action, rng):
        return state, -((action[0] - 0.3) ** 2) - ((action[1] + 1.5) / 2) ** 2, True

    model = pp.FunctionModel(step, box, 0)
    found = [pp.plan(model, budget=300, discount=0.0, seed=s).action for s in range(20)]
    error = np.abs(np.array(found) - [0.3, -1.5]) / [2.0, 4.0]
    assert error.mean() < 0.02
    assert error.max() < 0.1


def test_it_is_near_the_optimal_controller():
    # The oracle: value iteration on a fine grid of states and 41 forces.
    forces = np.linspace(-1, 1, 41)
    xs, vs = np.linspace(-3, 3, 121), np.linspace(-3, 3, 121)
    grid_x, grid_v, force = np.meshgrid(xs, vs, forces, indexing="ij")
    after_v = np.clip(grid_v + 0.2 * force, -3, 3)
    after_x = np.clip(grid_x + 0.2 * after_v, -3, 3)
    reward = -(after_x**2) - 0.1 * after_v**2
    i, j = (after_x + 3) / 0.05, (after_v + 3) / 0.05
    i0, j0 = np.minimum(i.astype(int), 119), np.minimum(j.astype(int), 119)
    fi, fj = i - i0, j - j0
    value = np.zeros((121, 121))
    for _ in range(120):
        mixed = (1 - fi) * ((1 - fj) * value[i0, j0] + fj * value[i0, j0 + 1])
        mixed += fi * ((1 - fj) * value[i0 + 1, j0] + fj * value[i0 + 1, j0 + 1])
        value = (reward + 0.95 * mixed).max(axis=2)
    best = value[100, 60]  # x = 2, v = 0
    model = pp.FunctionModel(mass, ONE, (2.0, 0.0))
    found = []
    for seed in range(5):
        episode = pp.control(model, budget=300, discount=0.95, steps=60, seed=seed)
        found.append(episode.discounted_return)
    resting = -sum(0.95**t * 4.0 for t in range(60))
    assert resting < 4 * best
    assert np.mean(found) > 1.2 * best  # at most 20 % worse; staying there is 4 times as bad


@pytest.mark.parametrize(("factor", "offset"), [(4.0, 0.0), (0.25, 0.0), (2.0, 64.0)])
def test_the_scale_of_the_box_does_not_matter(factor, offset):
    def rounded(state, action, rng):  # ten digits: a shifted number has others in its last ones
        return mass(state, np.round(action, 10), rng)

    def scaled(state, action, rng):
        return rounded(state, (action - offset) / factor, rng)

    model = pp.FunctionModel(rounded, ONE, (2.0, 0.0))

    box = pp.Box([offset - factor], [offset + factor])
    other = pp.FunctionModel(scaled, box, (2.0, 0.0))
    for seed in range(5):
        plan = pp.plan(model, budget=150, discount=0.9, seed=seed)
        same = pp.plan(other, budget=150, discount=0.9, seed=seed)
        assert (same.action - offset) / factor == pytest.approx(plan.action, abs=1e-9)
        assert same.value == pytest.approx(plan.value, abs=1e-9)


def test_adding_to_and_scaling_rewards_changes_nothing():
    def paid(state, action, rng):
        after, reward, ended = mass(state, action, rng)
        return after, 1024 * reward + 64, ended

    for seed in range(5):
        plans = [
            pp.plan(pp.FunctionModel(step, ONE, (2.0, 0.0)), budget=150, discount=0.9, seed=seed)
            for step in (mass, paid)
        ]
        assert plans[0].action == plans[1].action


class Counted:
    """Counts calls; ends now and then; rewards with noise if asked for."""

    def __init__(self, seed, noise, access="restore"):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 4))
        self.calls, self.noise, self.access = 0, noise, access
        self.actions = pp.Box(-rng.random(size), 1 + rng.random(size))
        self.direction, self.end = rng.standard_normal(size), float(rng.uniform(0.5, 4.0))
        self.initial_state = 0.0

    def step(self, state, action, rng):
        self.calls += 1
        assert action in self.actions
        state = state + float(self.direction @ action)
        reward = math.sin(state) + self.noise * rng.standard_normal()
        return state, reward, abs(state) > self.end


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_budgets_are_exact(access):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        model = Counted(seed, float(rng.choice([0.0, 0.5])), access)
        budget = int(rng.integers(1, 200))
        horizon = None if rng.random() < 0.5 else int(rng.integers(1, 12))
        discount = float(rng.choice([0.0, 0.5, 0.97]))
        plan = pp.plan(model, budget=budget, discount=discount, horizon=horizon, seed=seed)
        assert plan.calls == model.calls <= budget
        assert plan.action in model.actions
        assert all(action in model.actions for action in plan.actions)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_same_plan_on_any_executor(noise):
    def outcome(executor):
        model = Counted(7, noise)
        plan = pp.plan(model, budget=200, discount=0.9, seed=3, executor=executor)
        return plan.action.tolist(), plan.value, plan.calls

    with ThreadPoolExecutor(2) as two, ThreadPoolExecutor(4) as four:
        assert outcome(None) == outcome(two) == outcome(four) == outcome(None)


def test_array_models_give_the_same_plan():
    def batch(states, actions, rng):
        v = states[:, 1] + 0.2 * actions[:, 0]
        x = states[:, 0] + 0.2 * v
        return np.stack([x, v], axis=1), -(x * x) - 0.1 * v * v, False

    arrays = pp.ArrayModel(batch, ONE, np.array([2.0, 0.0]))

    def one(state, action, rng):
        (x, v), reward, ended = mass(tuple(state.tolist()), action, rng)
        return np.array([x, v]), reward, ended

    single = pp.FunctionModel(one, ONE, np.array([2.0, 0.0]))
    for seed in range(3):
        plans = [pp.plan(m, budget=150, discount=0.9, seed=seed) for m in (arrays, single)]
        assert plans[0].action == pytest.approx(plans[1].action, abs=1e-12)


def brake(state):
    x, v = state
    return np.clip([-1.5 * x - 2.0 * v], -1.0, 1.0)


def test_a_rule_is_made_better_and_never_worse():
    # 10 starts: the rule's roll-out is among the candidates, so the plan is at least as good.
    gains = []
    for seed in range(10):
        start = tuple(np.random.default_rng(seed).uniform(-2, 2, 2).tolist())
        model = pp.FunctionModel(mass, ONE, start, policy=brake)
        plan = pp.plan(model, budget=200, discount=0.95, seed=seed)
        assert plan.improvement.estimate >= 0
        gains.append(plan.improvement.estimate)
        few = pp.plan(model, budget=5, discount=0.95, seed=seed)
        assert few.improvement.estimate >= 0
    assert np.mean(gains) > 0


def test_the_rule_is_taken_as_it_is_if_nothing_is_better():
    def still(state, action, rng):
        return state, -abs(float(action[0]) - 1 / 3), False

    model = pp.FunctionModel(still, ONE, 0.0, policy=lambda state: [1 / 3])
    plan = pp.plan(model, budget=100, discount=0.9, seed=0)
    assert plan.action.tolist() == [1 / 3]
    assert plan.improvement.estimate == 0


@pytest.mark.parametrize("bad", [[2.0], [0.0, 0.0], ["fast"], [math.nan]])
def test_a_rule_outside_of_the_box_is_named(bad):
    model = pp.FunctionModel(mass, ONE, (2.0, 0.0), policy=lambda state: bad)
    with pytest.raises(pp.ModelError, match=r"policy chose .* is not an action of .*2\.0, 0\.0"):
        pp.plan(model, budget=100, discount=0.9)


def test_a_failing_step_names_the_action():
    def fails(state, action, rng):
        if state > 1.5:
            raise ZeroDivisionError("too far")
        return state + 0.5 + 0.1 * abs(float(action[0])), 1.0, False

    model = pp.FunctionModel(fails, ONE, 0.0)
    with pytest.raises(pp.ModelError, match="too far") as caught:
        pp.plan(model, budget=100, discount=0.9, seed=0)
    assert caught.value.action in ONE
    assert caught.value.calls > 0
    assert caught.value.tree.num_nodes > 1


def test_an_action_that_the_model_changes_is_its_own():
    def careless(state, action, rng):
        action[0] *= 0.5
        return mass(state, action, rng)

    model = pp.FunctionModel(careless, ONE, (2.0, 0.0))
    plan = pp.plan(model, budget=150, discount=0.9, seed=0)
    assert plan.action[0] < -0.9  # the model uses half of it, so all of it is wanted


def test_numbers_are_numbers():
    model = pp.FunctionModel(lambda s, a, r: (s, -((a - 0.5) ** 2), True), pp.Box(-1, 1), 0)
    plan = pp.plan(model, budget=100, discount=0.9, seed=0)
    assert isinstance(plan.action, float)
    assert plan.action == pytest.approx(0.5, abs=0.1)


def test_whole_numbers_of_many_entries():
    # 6 entries of 5 values: 15,625 actions. The best one is known; 20 seeds, 400 calls.
    best = np.array([0, 4, 2, 1, 3, 2])

    def step(state, action, rng):
        assert action.dtype == np.int64
        return state, -float(np.abs(action - best).sum()), True

    model = pp.FunctionModel(step, pp.MultiDiscrete([5] * 6), 0)
    worth = [pp.plan(model, budget=400, discount=0.0, seed=s).value for s in range(20)]
    assert np.mean(worth) > -2.5  # a random action has −9.4


def car(state, action, rng, cost):
    """A car in a valley that is too weak to climb at once; 100 at the top."""
    x, v = state
    push = float(action[0])
    for _ in range(4):
        v = min(0.07, max(-0.07, v + 0.0015 * push - 0.0025 * math.cos(3 * x)))
        x += v
        if x < -1.2:
            x, v = -1.2, 0.0
    return (x, v), (100.0 if x >= 0.45 else 0.0) - cost * push * push, x >= 0.45


def test_it_looks_far_where_rewards_are_late():
    # A car in a valley must swing back before it can climb; every push costs. 5 of 5 get out.
    model = pp.FunctionModel(partial(car, cost=0.1), ONE, (-0.5, 0.0))
    for seed in range(5):
        episode = pp.control(model, budget=600, discount=0.99, steps=80, seed=seed)
        assert sum(episode.rewards) > 80


def test_it_looks_far_where_nothing_near_makes_a_difference():
    # Seeds 0 to 7 get out, after 18 to 33 steps. With the usual share for long sequences, 1 of 8.
    model = pp.FunctionModel(partial(car, cost=0.0), ONE, (-0.5, 0.0))
    for seed in range(5):
        episode = pp.control(model, planner=pp.Platypus(0.97), budget=300, steps=40, seed=seed)
        assert episode.terminated


def test_what_is_left_of_a_sequence_is_kept():
    model = pp.FunctionModel(mass, ONE, (2.0, 0.0))
    agent = pp.Agent(model, budget=300, discount=0.95, seed=0)
    agent.act()
    first = agent.plan
    after, reward, _ = mass((2.0, 0.0), first.action, None)
    agent.observe(reward, after)
    agent.act()
    second = agent.plan
    rest = sum(0.95**t * r for t, r in enumerate(line_rewards(first)[1:]))
    new = sum(0.95**t * r for t, r in enumerate(line_rewards(second)[: len(first.actions) - 1]))
    assert new >= rest - 1e-9


def line_rewards(plan):
    state, rewards = plan.state, []
    for action in plan.actions:
        state, reward, _ = mass(state, action, None)
        rewards.append(reward)
    return rewards


def test_deadlines():
    model = pp.FunctionModel(mass, ONE, (2.0, 0.0))
    plan = pp.plan(model, deadline=0.05, discount=0.9, seed=0)
    assert plan.calls > 50
    assert plan.action[0] < 0


def test_masks_are_for_lists():
    model = pp.FunctionModel(mass, ONE, (2.0, 0.0), legal=lambda state: [0])
    with pytest.raises(pp.InvalidArgument, match=r"legal= is for a list of actions"):
        pp.plan(model, budget=100, discount=0.9)


@pytest.mark.parametrize("said", [0.5, np.array(0.5), np.array([0.5]), np.array([[0.5]])])
def test_a_rule_may_return_one_number_in_any_shape(said):
    def step(state, action, rng):
        return state + 1, -abs(action - 0.5), False

    model = pp.FunctionModel(step, pp.Box(-1.0, 1.0), 0, policy=lambda state: said)
    plan = pp.plan(model, budget=20, discount=0.9, seed=0)
    assert plan.action == 0.5
    assert plan.improvement.estimate == 0.0


def push_in_a_u(state, action, rng):
    """Behind a wall like a U lies the goal, (2, 0); the nearest point is inside of the U."""
    x, y, vx, vy = state
    vx, vy = 0.7 * vx + 0.12 * float(action[0]), 0.7 * vy + 0.12 * float(action[1])
    to = x + vx
    if (x < 0.6) != (to < 0.6) and abs(y) <= 0.7:
        vx = 0.0
    else:
        x = to
    to = y + vy
    if -0.2 <= x <= 0.6 and ((y < 0.7) != (to < 0.7) or (y < -0.7) != (to < -0.7)):
        vy = 0.0
    else:
        y = to
    return (x, y, vx, vy), -math.hypot(x - 2.0, y), False


def test_it_gets_out_of_a_trap_by_reaching_new_states():
    # One seed; about half get out (13 of 24). Without the tree of reached states none does.
    model = pp.FunctionModel(push_in_a_u, pp.Box([-1.0] * 2, [1.0] * 2), (0.3, 0.1, 0.0, 0.0))
    episode = pp.control(model, budget=3000, discount=0.97, steps=35, seed=0, keep="nothing")
    assert math.hypot(episode.states[-1][0] - 2.0, episode.states[-1][1]) < 0.5


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("rule", [None, lambda state: np.array([0.1, 0.2, 0.3])])
def test_what_is_known_is_found_again_whatever_the_precision(kind, rule):
    # The action that is taken has the box's own type, where most numbers are others.
    box = pp.Box(-np.ones(3, kind), np.ones(3, kind))

    def step(state, action, rng):
        assert action.dtype == kind
        state += float(action @ np.array([0.3, 0.2, 0.1]))
        return state, -abs(state - 2.0), False

    model = pp.FunctionModel(step, box, 0.0, policy=rule)
    agent = pp.Agent(model, budget=200, discount=0.9, seed=0)
    state = model.initial_state
    for decision in range(4):
        action = agent.act(state)
        search = agent._memory.plain.session.search
        if decision:
            assert search.known_before > 0
            assert search.rest
        state, reward, _ = model.step(state, action, None)
        agent.observe(reward)


def test_states_that_are_no_numbers_are_not_compared():
    def step(state, action, rng):
        return (state[0], state[1] + 1), float(action), state[1] >= 30

    model = pp.FunctionModel(step, pp.Box(-1.0, 1.0), ("shop", 0))
    assert pp.plan(model, budget=600, discount=0.99, seed=0).action > 0.5


def test_the_rival_is_listed_where_many_first_actions_are_equal():
    def candidate(number):
        made = Candidate([(0.1 * number,)], [SimpleNamespace(action=(0.1 * number,))])
        made.rank = (1.0, 0.0, float(number))  # as good as the others, with a worse outlook
        return made

    known = [candidate(number) for number in range(12)]
    level = SimpleNamespace(best={c.first: c for c in known})
    search = SimpleNamespace(level=level, graph=SimpleNamespace(endless=True))
    chosen, rival = known[11], known[0]
    shown = sequences_to_show(search, chosen, rival)
    assert shown[:3] == [chosen, rival, known[10]]
    assert len(shown) == MOST_FIRSTS
    assert sequences_to_show(search, chosen, None) == known[:-9:-1]
