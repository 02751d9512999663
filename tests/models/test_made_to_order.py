"""Problems made to order have the ν, ρ and κ that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab

MADE = [
    (actions, kappa, rho, gamma)
    for actions, kappas in [(2, (1.0, 1.2, 1.5, 2.0)), (4, (1.0, 1.7, 2.5, 3.0, 4.0))]
    for kappa in kappas
    for rho, gamma in [(0.9, 0.9), (0.5, 0.9), (0.3, 0.3), (0.1, 0.95)]
]


@pytest.mark.parametrize(("actions", "kappa", "rho", "gamma"), MADE)
def test_what_is_made_to_order_is_measured(actions, kappa, rho, gamma):
    problem = lab.problems.MadeToOrder(
        kappa=kappa, rho=rho, nu=3.0, depth=4, num_actions=actions, discount=gamma
    )
    h = lab.theory.hardness(problem, gamma, depth=100, rho=rho)
    assert h.nu == pytest.approx(3.0)
    for found, (low, high) in [(h.kappa_u, h.interval_u), (h.kappa_v, h.interval_v)]:
        assert found == pytest.approx(kappa, rel=0.05)
        assert low <= found <= high
    known = lab.theory.known_hardness(problem)
    assert (known.nu, known.rho, known.kappa_u) == (3.0, rho, kappa)
    assert all(
        count <= known.constant_u * kappa**k * (1 + 1e-9) for k, count in enumerate(h.counts_u)
    )


@pytest.mark.parametrize("horizon", [None, 3, 6])
@pytest.mark.parametrize("kappa", [1.0, 1.5, 2.7, 3.0])
def test_forms_and_values_of_a_problem_made_to_order(kappa, horizon):
    problem = lab.problems.MadeToOrder(
        kappa=kappa, rho=0.6, depth=3, num_actions=3, discount=0.8, seed=5, horizon=horizon
    )
    forms = problem.array(), problem.compiled()
    rng = np.random.default_rng(0)
    states = [problem.initial_state]
    for _ in range(300):
        state, action = states[rng.integers(len(states))], int(rng.integers(3))
        after, reward, over = problem.step(state, action, rng)
        for form in forms:
            other = form.step(np.array(state), action, rng)
            assert tuple(other.state) == after
            assert other.reward == pytest.approx(reward, rel=1e-12)
            assert bool(other.terminated) == over
        for discount in (0.5, 0.8, 0.9):
            rest = 0.0 if over else problem.action_values(after, discount).max()
            value = problem.action_values(state, discount)[action]
            assert value == pytest.approx(reward + discount * rest, rel=1e-12)
        if not over:
            states.append(after)
        if after[0] == horizon:
            assert over
    assert problem.num_good(0) >= 2
    values = np.sort(problem.action_values(problem.initial_state, 0.8))
    assert values[-1] - values[-2] == pytest.approx(problem.gap)
    noisy = lab.problems.MadeToOrder(kappa=kappa, noise=2.0, num_actions=3)
    rewards = [noisy.compiled().step(np.array([0, 2]), 0, rng).reward for _ in range(200)]
    assert 1.8 < np.ptp(rewards) <= 4.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kappa": 0.5}, "kappa must be a finite number of at least 1, got 0.5"),
        ({"kappa": 2.5}, "kappa must be at most num_actions = 2, got 2.5"),
        ({"rho": 0.96}, "rho must be at most the discount 0.95, got 0.96"),
        ({"nu": 0.0}, "nu must be a finite number above 0"),
        ({"depth": 0}, "depth must be a whole number of at least 1"),
        ({"depth": 5, "horizon": 4}, "horizon must be at least the depth 5 of the secret, got 4"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"num_actions": 1}, "num_actions must be at least 2, got 1"),
        ({"noise": -1.0}, "noise must be"),
        ({"discount": 1.0}, "discount must be"),
    ],
)
def test_orders_that_cannot_be_made(arguments, message):
    with pytest.raises(pp.InvalidArgument, match=message):
        lab.problems.MadeToOrder(**arguments)
