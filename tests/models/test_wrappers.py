"""Models made of other models."""

from __future__ import annotations

import numpy as np
import pytest

import platypoos as pp

CHAIN = pp.problems.SwitchChain(noise=0.0, shift=0.0)


@pytest.mark.parametrize(
    "model", [CHAIN, CHAIN.array(), CHAIN.compiled()], ids=lambda m: type(m).__name__
)
def test_noise_on_any_model(model):
    noisy = pp.models.NoisyReward(model, 3.0)
    rng = np.random.default_rng(0)
    start = noisy.initial_state
    rewards = np.array([noisy.step(start, 1, rng).reward for _ in range(4_000)])
    exact = float(model.step(start, 1, rng).reward)
    assert np.abs(rewards - exact).max() <= 3.0
    assert rewards.std() == pytest.approx(3.0 / np.sqrt(3), rel=0.05)  # 4,000 draws: 4 σ is 3 %
    assert rewards.mean() == pytest.approx(exact, abs=4 * 3 / np.sqrt(3 * 4_000))
    assert pp.check_model(noisy).ok
    assert pp.plan(noisy, budget=3_000, discount=0.95, seed=0).calls == 3_000


def test_noise_of_ones_own():
    noisy = pp.models.NoisyReward(CHAIN, lambda rng: rng.normal())
    assert pp.check_model(noisy).ok
    with pytest.raises(pp.InvalidArgument, match="noise must be at least 0, got -1"):
        pp.models.NoisyReward(CHAIN, -1.0)
    with pytest.raises(pp.InvalidArgument, match="model"):
        pp.models.NoisyReward(3, 1.0)


def test_scaled_rewards_give_the_same_plan():
    plan = pp.plan(CHAIN, budget=2_000, discount=0.9, seed=0)
    for scale, shift in ((1e6, 0.0), (1.0, -50.0), (1e-3, 7.0)):
        scaled = pp.models.ScaledReward(CHAIN, scale, shift)
        assert pp.plan(scaled, budget=2_000, discount=0.9, seed=0).action == plan.action
        expected = scale * CHAIN.step(CHAIN.initial_state, 1, None).reward + shift
        assert scaled.step(CHAIN.initial_state, 1, None).reward == pytest.approx(expected)


def test_repeated_actions_are_worth_what_their_steps_are():
    gamma, repeat = 0.9, 3
    garnet = pp.problems.Garnet(8, 2, seed=1)
    model = pp.models.RepeatedAction(garnet, repeat, gamma)
    rng = np.random.default_rng(0)
    assert model.discount == pytest.approx(gamma**repeat)
    state, fine, value = garnet.initial_state, garnet.initial_state, 0.0
    total = 0.0
    for decision, action in enumerate((0, 1, 1, 0)):
        state, reward, _ = model.step(state, action, rng)
        total += model.discount**decision * reward
        for i in range(repeat):
            fine, small, _ = garnet.step(fine, action, rng)
            value += gamma ** (decision * repeat + i) * small
    assert total == pytest.approx(value)
    assert np.array_equal(state, fine)


def test_shaping_changes_no_optimal_action():
    """Returns of all sequences of 8 actions move by −Φ(start) + γ^8·Φ(end)."""
    gamma, garnet = 0.9, pp.problems.Garnet(6, 2, seed=3)

    def potential(state):
        return 10.0 * float(state) - 3.0

    shaped = pp.models.ShapedReward(garnet, potential, gamma)
    rng = np.random.default_rng(0)
    for code in range(2**8):
        plain, hinted = garnet.initial_state, garnet.initial_state
        difference = 0.0
        for t in range(8):
            action = code >> t & 1
            plain, reward, _ = garnet.step(plain, action, rng)
            hinted, with_hint, _ = shaped.step(hinted, action, rng)
            difference += gamma**t * (with_hint - reward)
        expected = gamma**8 * potential(plain) - potential(garnet.initial_state)
        assert difference == pytest.approx(expected)


def test_models_made_for_a_discount_are_planned_with_it():
    model = pp.models.NoisyReward(pp.models.RepeatedAction(CHAIN, 2, 0.9), 0.1)
    assert pp.plan(model, budget=100, seed=0).discount == pytest.approx(0.81)
    with pytest.raises(pp.InvalidArgument, match=r"discount 0.9 is not the model's, 0.81"):
        pp.plan(model, budget=100, discount=0.9)
    with pytest.raises(pp.InvalidArgument, match="is not the model's"):
        pp.control(model, planner=pp.planners.OneStep(0.5), budget=100, steps=2)


def test_an_end_has_no_potential():
    ending = pp.FunctionModel(lambda s, a, rng: (s + 1, 1.0, s == 1), 1, 0)
    shaped = pp.models.ShapedReward(ending, lambda s: 5.0, 0.5)
    assert shaped.step(0, 0, None).reward == 1.0 + 0.5 * 5 - 5
    assert shaped.step(1, 0, None).reward == 1.0 - 5
    with pytest.raises(pp.InvalidArgument, match="potential must be a function"):
        pp.models.ShapedReward(ending, 3, 0.5)


def test_what_the_model_offers_is_passed_on_but_not_its_forms():
    env = pp.models.NoisyReward(pp.GymnasiumModel("CartPole-v1"), 0.1)
    assert env.render(env.initial_state).shape == (400, 600, 3)
    assert env.family == "classic control"
    lake = pp.models.NoisyReward(pp.GymnasiumModel("FrozenLake-v1"), 0.1)
    assert (lake.access, lake.dynamics) == (pp.Access.RESTORE, "random")
    assert not hasattr(lake, "successors")  # they know nothing of the noise
