"""The tasks of dm_control's suite."""

from __future__ import annotations

import logging
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import gymnasium
import numpy as np
import pytest

import platypoos as pp
from platypoos.models.gymnasium.making import choose_gl, make_environment

choose_gl("disable")  # else dm_control complains of no screen when it is imported

TASKS = [
    "cheetah-run", "cartpole-swingup", "finger-turn_hard", "reacher-easy", "walker-walk",
    "ball_in_cup-catch", "point_mass-hard", "hopper-hop", "acrobot-swingup", "swimmer-swimmer6",
    "manipulator-bring_ball", "humanoid-stand", "quadruped-walk", "fish-swim",
]  # fmt: skip
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def physics_of(model):
    return model.keeper.physics.data.qpos.copy(), model.keeper.physics.data.qvel.copy()


@pytest.mark.parametrize("task", TASKS)
def test_states_are_restored_exactly(task):
    """The doctor says so, and dm_control itself, without the adapter, does the same."""
    name = f"dm_control/{task}-v0"
    report = pp.check_simulator(name, trajectories=2, steps=8, pictures=False)
    assert (report.verdict, report.family, report.method) == ("safe", "dm_control", "native")
    from dm_control import suite

    model = pp.GymnasiumModel(name, seed=3)
    rng = np.random.default_rng(0)
    actions = [model.actions.draw(rng) for _ in range(12)]
    states, rewards = [model.initial_state], []
    for action in actions:
        after, reward, _ = model.step(states[-1], action, rng)
        states.append(after)
        rewards.append(reward)
    end = physics_of(model)
    model.start(4)  # another target, another start
    model.step(model.initial_state, actions[5], rng)
    for middle in (9, 2):  # restored in the middle, in another order
        here = states[middle]
        for t in range(middle, 12):
            here, reward, _ = model.step(here, actions[t], rng)
            assert reward == rewards[t]
        assert all(np.array_equal(a, b) for a, b in zip(end, physics_of(model), strict=True))
    domain, kind = task.split("-")
    original = suite.load(domain, kind, task_kwargs={"random": 3})
    original.reset()
    assert [original.step(action).reward for action in actions] == rewards


def test_a_plan_and_an_episode():
    model = pp.GymnasiumModel("dm_control/cheetah-run-v0")
    assert model.actions == pp.Box(-np.ones(6), np.ones(6))
    assert model.action_names == ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
    episode = pp.control(model, budget=60, steps=5, seed=0)
    env = gymnasium.make("dm_control/cheetah-run-v0")
    env.reset(seed=0)
    assert [env.step(action)[1] for action in episode.actions] == list(episode.rewards)
    assert "cheetah-run" in model.name


def test_the_time_limit_is_no_end_and_is_left_as_it_was():
    env = make_environment("dm_control/pendulum-swingup-v0", {"task_kwargs": {"time_limit": 0.1}})
    env.reset(seed=0)
    limit = 0
    while not env.step(np.zeros(1))[3]:
        limit += 1
        assert limit < 100
    env.reset(seed=0)
    model = pp.GymnasiumModel(env)
    state = model.save()
    for _ in range(limit + 20):
        state, reward, ended = model.step(state, np.array([1.0]), RNG)
        assert not ended
        assert np.isfinite(reward)
    model.restore(model.initial_state)
    cuts = [env.step(np.zeros(1))[3] for _ in range(limit + 1)]
    assert cuts == limit * [False] + [True]


def test_wrappers_see_observations_and_no_limit():
    seen = []

    class Watching(gymnasium.Wrapper):
        def step(self, action):
            result = super().step(action)
            seen.append(result[0])
            return (result[0], result[1] + 1.0, *result[2:])

    def make():
        short = {"task_kwargs": {"time_limit": 0.1}}
        return Watching(make_environment("dm_control/pendulum-swingup-v0", short))

    model = pp.GymnasiumModel(make)
    state = model.initial_state
    for _ in range(20):
        state, reward, _ = model.step(state, np.array([0.5]), RNG)
        assert reward >= 1.0
    assert len({row.tobytes() for row in seen[-15:]}) == 15  # it was not reset


def test_ends_are_discounts_of_zero(monkeypatch):
    model = pp.GymnasiumModel("dm_control/lqr-lqr_2_1-v0")
    assert float(model.actions.high[0]) > 1e9
    for discount, ends in ((0.0, True), (1.0, False), (None, False)):
        kind = type(model.keeper.task)
        monkeypatch.setattr(kind, "get_termination", lambda task, physics, said=discount: said)
        assert model.step(model.initial_state, np.zeros(1), RNG)[2] is ends


def test_invalid_physics_is_an_error_as_in_dm_control():
    from dm_control.rl.control import PhysicsError

    model = pp.GymnasiumModel("dm_control/cheetah-run-v0")
    start, action = model.initial_state, np.zeros(6)
    expected = model.step(start, action, RNG).reward
    model.keeper.physics.data.qfrc_applied[:] = 1e20  # a push that no body survives
    broken = model.keeper.save()
    with pytest.raises(PhysicsError, match="mjWARN_BADQACC"):
        model.step(broken, action, RNG)
    assert model.step(start, action, RNG).reward == expected  # and not twice


@pytest.mark.parametrize("integrator", ["mjINT_EULER", "mjINT_RK4", "mjINT_IMPLICITFAST"])
def test_steps_are_those_of_dm_control_by_any_integrator(integrator):
    import mujoco
    from dm_control import suite

    chosen = getattr(mujoco.mjtIntegrator, integrator)
    original = suite.load("walker", "walk", task_kwargs={"random": 0})
    original.physics.model.opt.integrator = chosen
    original.reset()
    model = pp.GymnasiumModel("dm_control/walker-walk-v0")
    model.keeper.physics.model.opt.integrator = chosen
    state, rng = model.start(0), np.random.default_rng(0)
    for _ in range(10):
        action = model.actions.draw(rng)
        state, reward, _ = model.step(state, action, rng)
        assert reward == original.step(action).reward


def test_other_processes_have_the_same_target():
    model = pp.GymnasiumModel("dm_control/reacher-easy-v0", seed=5)
    elsewhere = model.start(7)  # a target that no worker starts with
    alone = pp.plan(model, elsewhere, budget=40, seed=0)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        spread = pp.plan(model, elsewhere, budget=40, seed=0, executor=pool)
    assert spread.value == alone.value
    sent = pickle.loads(pickle.dumps(model))
    action = np.array([0.5, -0.5])
    assert sent.step(elsewhere, action, RNG)[1] == model.step(elsewhere, action, RNG)[1]


def test_unknown_tasks():
    with pytest.raises(pp.InvalidArgument, match=r"no task 'dm_control/cheetah-fly-v0'; there are"):
        pp.GymnasiumModel("dm_control/cheetah-fly-v0")


@pytest.mark.filterwarnings("ignore:.*Overriding environment:UserWarning")  # when it is imported
def test_through_shimmy():
    from dm_control import suite
    from shimmy.dm_control_compatibility import DmControlCompatibilityV0

    env = DmControlCompatibilityV0(suite.load("reacher", "easy", task_kwargs={"random": 0}))
    model = pp.GymnasiumModel(env, seed=0)
    assert (model.family, model.method) == ("dm_control", "native")
    report = pp.check_simulator(model, trajectories=2, steps=6, pictures=False)
    assert report.verdict == "safe"
    one, two = model.start(1), model.start(2)
    action = np.array([0.3, -0.3])
    rewards = [model.step(state, action, RNG)[1] for state in (one, two, one)]
    assert rewards[0] == rewards[2]
