"""Real simulators: restored states go on as the environment itself does."""

from __future__ import annotations

import re

import gymnasium
import numpy as np
import pytest
from environments import NAMED
from parts import in_parts

import platypoos as pp
from platypoos.checks import same
from platypoos.models.gymnasium.model import make_environment
from platypoos.version import install

TRAJECTORIES, POINTS, LENGTH, AHEAD = 10, 20, 24, 3


def reference(name, model, actions, seeds, number):
    """What the environment itself does, uninterrupted, made by Gymnasium for this purpose."""
    options = {k: v for k, v in NAMED[name].options.items() if k != "actions"}
    if model.family == "Atari":
        options |= {"obs_type": "ram", "repeat_action_probability": 0.0}
    env = make_environment(name, options).unwrapped
    env.reset(seed=number)
    seen = []
    for action, seed in zip(actions, seeds, strict=True):
        generator = np.random.default_rng(seed)
        if model.method == "replay":  # which draws a generator for each step
            generator = np.random.default_rng(int(generator.integers(2**63)))
        env.np_random = generator
        if model.family == "highway-env":
            env.road.np_random = generator
        observation, reward, terminated, _, _ = env.step(action)
        seen.append((observation, reward, bool(terminated)))
        if terminated:
            break
    return seen


@pytest.mark.filterwarnings("ignore")  # of the environments
@in_parts(4, TRAJECTORIES)
@pytest.mark.parametrize("name", NAMED)
def test_restored_states_go_on_identically(name, cases):
    truth = NAMED[name]
    model = pp.GymnasiumModel(name, **truth.options)
    assert (model.method, model.access.value) == (truth.method, truth.access)
    keeper = model.keeper
    rng = np.random.default_rng(0)
    # Where the emulator itself is no reference: its chance, and what it does once after a reset.
    unlike = getattr(keeper, "sticky", 0) or name == "ALE/Tetris-v5"
    restored = 0
    for number in cases:
        actions = [model.env_actions[i] for i in rng.integers(model.actions.n, size=LENGTH)]
        seeds = rng.integers(2**32, size=LENGTH).tolist()
        keeper.reset(number)
        snapshots, seen = [], []
        for action, seed in zip(actions, seeds, strict=True):
            snapshots.append(keeper.save())
            observation, reward, ended = keeper.step(action, np.random.default_rng(seed))
            seen.append((keeper.observe(observation), reward, bool(ended)))
            if ended:
                break
        if not unlike and number < 3:
            assert same(seen, reference(name, model, actions, seeds, number))
        for point in rng.integers(len(snapshots), size=POINTS).tolist():
            keeper.restore(snapshots[point])
            for step in range(point, min(point + AHEAD, len(seen))):
                got = keeper.step(actions[step], np.random.default_rng(seeds[step]))
                assert same((keeper.observe(got[0]), got[1], bool(got[2])), seen[step])
            restored += 1
    assert restored == len(cases) * POINTS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMED)
def test_the_doctor_is_right(name):
    truth = NAMED[name]
    slow = name == "highway-fast-v0"
    report = pp.check_simulator(
        name, trajectories=1 if slow else 2, steps=3 if slow else 8, **truth.options
    )
    verdict = "safe" if truth.access == "restore" else "safe with RESET access"
    assert (report.verdict, report.method, report.ok) == (verdict, truth.method, True), report
    assert report.access.value == truth.access
    assert report.step_us > 0
    assert report.restore_us > 0
    assert name.split("/")[-1].split("-")[0][:6] in report.name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("Hopper-v5", "went another way"),
        ("InvertedPendulum-v5", "went another way"),
        ("ALE/Pong-v5", "went another way"),
        ("LunarLander-v3", "cannot be stepped"),
    ],
)
def test_the_doctor_sees_that_plain_copies_are_wrong(name, finding):
    report = pp.check_simulator(name, method="deepcopy", trajectories=2, steps=10)
    assert report.verdict == "not safe"
    assert not report.ok
    assert any(finding in problem for problem in report.problems), report
    assert "leave out method='deepcopy'" in str(report)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["CartPole-v1", "Hopper-v5", "ALE/Pong-v5", "LunarLander-v3"])
def test_states_travel_between_environments(name):
    """A pickled model, and states that it did not make itself: what workers do."""
    import cloudpickle

    options = NAMED[name].options
    model = pp.GymnasiumModel(name, seed=3, **options)
    twin = cloudpickle.loads(cloudpickle.dumps(model))
    assert twin.access is model.access
    rng = np.random.default_rng(0)
    state = model.initial_state
    for _ in range(5):
        action, seed = model.actions.draw(rng), int(rng.integers(1000))
        sent = cloudpickle.loads(cloudpickle.dumps(state))
        after, reward, ended = model.step(state, action, np.random.default_rng(seed))
        _, twin_reward, twin_ended = twin.step(sent, action, np.random.default_rng(seed))
        assert (reward, ended) == (twin_reward, twin_ended)
        state = after


def test_sticky_actions_are_drawn_as_the_emulator_draws_them():
    """Of 4,000 frames with one action, a quarter repeat the one before it: compare the ALE's."""
    model = pp.GymnasiumModel("ALE/Breakout-v5")
    keeper = model.keeper
    assert keeper.sticky == 0.25
    asked = []
    keeper.ale = type("Spy", (), {"act": lambda _, a: asked.append(a) or 0.0,
                                  "game_over": lambda _, **__: False})()  # fmt: skip
    rng = np.random.default_rng(0)
    for step in range(2_000):
        keeper.step(step % 2, rng)
    keys = keeper.core._action_set
    wanted = np.repeat(np.arange(2_000) % 2, 4)
    # A frame shows the last action if all frames since the change were sticky: Σ 0.25^k / 4.
    expected = sum(0.25**k for k in range(1, 5)) / 4
    share = float(np.mean([key != keys[w] for key, w in zip(asked, wanted, strict=True)]))
    assert share == pytest.approx(expected, abs=4 * np.sqrt(expected / 8_000))


def test_environments_of_ones_own_that_build_on_mujoco_keep_their_attributes():
    from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv

    class Counting(InvertedPendulumEnv):
        pushes = 0

        def step(self, action):
            self.pushes += 1
            observation, _, ended, late, info = super().step(action)
            return observation, float(self.pushes), ended, late, info

    model = pp.GymnasiumModel(Counting, actions=3)
    start = model.initial_state
    rng = np.random.default_rng(0)
    one = model.step(start, 0, rng)
    two = model.step(one.state, 1, rng)
    assert (one.reward, two.reward, model.step(start, 0, rng).reward) == (1.0, 2.0, 1.0)


def test_sparse_grid_things_are_restored():
    """The door of DoorKey: opened in one branch, still locked in the other."""
    model = pp.GymnasiumModel("MiniGrid-DoorKey-5x5-v0", seed=1)
    core, rng = model.keeper.core, np.random.default_rng(0)
    door = next(cell for cell in core.grid.grid if cell is not None and cell.type == "door")
    assert door.is_locked
    before = model.save()
    door.is_locked, door.is_open, core.carrying = False, True, door
    after = model.save()
    for state, locked in ((before, True), (after, False), (before, True)):
        model.restore(state)
        assert (door.is_locked, door.is_open) == (locked, not locked)
        assert (core.carrying is None) == locked
        model.step(state, int(rng.integers(7)), rng)


def test_a_missing_extra_is_named(monkeypatch):
    import builtins
    import sys

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] in {"ale_py", "minigrid", "highway_env"}:
            raise ImportError(f"No module named {name!r}", name=name)
        return real(name, *args, **kwargs)

    for module in ("ale_py", "minigrid", "highway_env"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(builtins, "__import__", without)
    for name, extra in (
        ("ALE/Pong-v5", "atari"),
        ("MiniGrid-Empty-8x8-v0", "minigrid"),
        ("highway-fast-v0", "highway"),
    ):
        with pytest.raises(pp.InvalidArgument, match=re.escape(install(extra))):
            pp.GymnasiumModel(name)


@pytest.mark.parametrize(("name", "extra"), [("Hopper-v5", "mujoco"), ("LunarLander-v3", "box2d")])
def test_a_missing_extra_of_gymnasium_is_named(monkeypatch, name, extra):
    def fail(*_, **__):
        raise gymnasium.error.DependencyNotInstalled("it is not installed")

    monkeypatch.setattr(gymnasium, "make", fail)
    with pytest.raises(pp.InvalidArgument, match=re.escape(install(extra))):
        pp.GymnasiumModel(name)
