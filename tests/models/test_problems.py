"""Problems with a known answer: is the answer right?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import platypoos as pp

PROBLEMS = [
    pp.problems.SwitchChain(noise=3.0),
    pp.problems.Garnet(8, 3, seed=0, noise=0.5),
    pp.problems.Garnet(8, 3, seed=1, num_terminal=3),
    pp.problems.Grid(noise=0.2),
    pp.problems.Battery(),
]
every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)


def brute_force(problem, state, discount, depth):
    """max over all action sequences of this length, by recursion."""
    if depth == 0:
        return np.zeros(problem.actions.n)
    values = []
    for action in range(problem.actions.n):
        after, _, terminated = problem.step(state, action, np.random.default_rng(0))
        future = 0.0 if terminated else brute_force(problem, after, discount, depth - 1).max()
        values.append(problem.mean_reward(state, action) + discount * future)
    return np.array(values)


@every_problem
def test_values_against_brute_force(problem):
    # Depth 7 with γ = 0.2: what is cut off is below 0.2^7/0.8·(largest reward).
    largest = 110.0 if isinstance(problem, pp.problems.SwitchChain) else 100.0
    state = problem.initial_state
    rng = np.random.default_rng(0)
    for _ in range(3):
        np.testing.assert_allclose(
            problem.action_values(state, 0.2),
            brute_force(problem, state, 0.2, 7),
            atol=1.01 * 0.2**7 / 0.8 * largest,
        )
        state, _, _ = problem.step(state, 1 % problem.actions.n, rng)


@pytest.mark.parametrize("shift", [0.0, 100.0, -100.0])
@pytest.mark.parametrize("discount", [0.0, 0.3, 0.5, 0.7, 0.8, 0.95])
def test_switch_chain_in_closed_form(discount, shift):
    # Value iteration on (side, d) with d cut at 400; a cut d stays and pays 400.
    d = np.arange(401.0)
    value = np.zeros(401)
    for _ in range(4_000):
        stay = d + discount * np.append(value[1:], value[-1])
        switch = 2 + discount * value[0]
        value = np.maximum(stay, switch)
    problem = pp.problems.SwitchChain(shift=shift)
    for side, visits in itertools.product((0, 1), (0, 1, 2, 3, 7)):
        expected = np.array([stay[visits], switch]) + shift / (1 - discount)
        if side == 1:
            expected = expected[::-1]
        got = problem.action_values((side, visits), discount)
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_switch_chain_facts_of_the_paper():
    values = pp.problems.SwitchChain().action_values((0, 0), 0.95)
    assert values[0] - values[1] == pytest.approx(17.0)
    # Looking 5 steps ahead one switches, looking 6 ahead one stays.
    problem = pp.problems.SwitchChain(shift=0.0)
    assert brute_force(problem, (0, 0), 0.95, 5).argmax() == 1
    assert brute_force(problem, (0, 0), 0.95, 6).argmax() == 0


@every_problem
def test_the_three_forms_step_alike(problem):
    array, compiled = problem.array(), problem.compiled()
    state, row, vector = problem.initial_state, array.initial_state, compiled.initial_state
    rng = np.random.default_rng(5)
    streams = [np.random.default_rng(9) for _ in range(3)]
    for _ in range(200):
        action = int(rng.integers(problem.actions.n))
        a = problem.step(state, action, streams[0])
        b = array.step(row, action, streams[1])
        c = compiled.step(vector, action, streams[2])
        # The same random stream gives the same noise in all three.
        assert a.reward == pytest.approx(b.reward, rel=1e-12)
        if getattr(problem, "noise", 0.0) is not None and np.all(np.asarray(problem.noise) > 0):
            assert a.reward == pytest.approx(c.reward, rel=1e-12)
        assert np.ravel(a.state).tolist() == np.ravel(b.state).tolist()
        assert np.ravel(a.state).tolist() == np.ravel(c.state).tolist()
        assert bool(a.terminated) == bool(b.terminated) == bool(c.terminated)
        if a.terminated:
            state, row, vector = problem.initial_state, array.initial_state, compiled.initial_state
        else:
            state, row, vector = a.state, b.state, c.state


@every_problem
def test_noise_has_mean_zero_and_the_given_width(problem):
    rng = np.random.default_rng(0)
    action = problem.actions.n - 1
    draws = np.array([problem.step(problem.initial_state, action, rng)[1] for _ in range(4_000)])
    error = draws - problem.mean_reward(problem.initial_state, action)
    width = problem.noise
    if not np.isscalar(width):
        width = width[problem.initial_state, action]
    assert np.abs(error).max() <= width
    if width:
        assert np.abs(error).max() > 0.99 * width
        assert abs(error.mean()) < 4 * width / np.sqrt(3 * 4_000)


def test_grid_leads_around_walls_to_the_goal():
    grid = pp.problems.Grid()
    state, steps, rng = grid.initial_state, 0, np.random.default_rng(0)
    total = 0.0
    while steps < 100:
        action = int(grid.action_values(state, 0.95).argmax())
        state, reward, terminated = grid.step(state, action, rng)
        total += reward
        steps += 1
        if terminated:
            break
    assert terminated
    assert total > 5  # the goal, not the prize


def test_battery_buys_low_and_sells_high():
    battery = pp.problems.Battery(noise=0.0)
    cheapest, dearest = 3, 18  # hours of the default prices
    empty_and_cheap, full_and_dear = cheapest, battery.capacity * battery.hours + dearest
    assert battery.action_values(empty_and_cheap, 0.99).argmax() == 1
    assert battery.action_values(full_and_dear, 0.99).argmax() == 2
    # An empty battery cannot sell, a full one cannot buy: as good as waiting.
    values = battery.action_values(empty_and_cheap, 0.99)
    assert values[2] == values[0]
    values = battery.action_values(full_and_dear, 0.99)
    assert values[1] == values[0]


def test_garnet_is_the_same_for_the_same_seed():
    one, two = pp.problems.Garnet(6, 2, seed=3), pp.problems.Garnet(6, 2, seed=3)
    other = pp.problems.Garnet(6, 2, seed=4)
    assert (one.reward == two.reward).all()
    assert (one.reward != other.reward).any()


@every_problem
def test_simple_regret(problem):
    for form in (problem, problem.array(), problem.compiled()):
        plan = pp.plan(form, budget=100, discount=0.8, seed=0)
        values = problem.action_values(problem.initial_state, 0.8)
        assert pp.problems.simple_regret(form, plan) == values.max() - values[plan.action]


def test_expected_return_of_a_plan():
    problem = pp.problems.Grid(rows=["S.G"], noise=5.0)
    assert problem.expected_return((1, 1, 1, 1), 0.5) == pytest.approx(-0.1 + 0.5 * 10)
