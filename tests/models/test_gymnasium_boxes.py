"""Gymnasium environments whose actions are arrays, planned in as they are."""

from __future__ import annotations

import json
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import gymnasium
import numpy as np
import pytest
from environments import Keys, Levers, Masker, Mixed, Walk
from gymnasium.spaces import Box, MultiBinary, MultiDiscrete

import platypoos as pp
from platypoos.cli.main import main
from platypoos.models.gymnasium.making import make_environment


class Slide(Walk):
    """A push to either side, of any strength; steps keep what they were given."""

    action_space = Box(np.array([-1.0, 0.0]), np.array([1.0, 0.5]), dtype=np.float64)

    def step(self, action):
        self.given = action
        self.place[0] += float(action[0]) * float(action[1])
        return self._seen(), self.place[0], False, False, {}


class FreeSlide(Slide):
    """The same without bounds."""

    action_space = Box(-np.inf, np.inf, (2,), np.float64)


class WholeSlide(Slide):
    action_space = Box(0, 9, (2,), np.int64)


class FlatSlide(Slide):
    action_space = Box(np.array([-1.0, 0.5]), np.array([1.0, 0.5]), dtype=np.float64)


class Switches(Walk):
    """Eight switches, and a reward for each that is on where the pattern says so."""

    action_space = MultiBinary(8)
    pattern = np.array([1, 0, 1, 1, 0, 0, 1, 0])

    def step(self, action):
        self.given = action
        return self._seen(), float((action == self.pattern).sum()), False, False, {}


class Later(Walk):
    action_space = MultiDiscrete([6, 7], start=[1, 1])

    def step(self, action):
        return self._seen(), float(np.sum(action)), False, False, {}


CONTINUOUS = [
    ("Pendulum-v1", {}, ("torque",), 60, 4),
    ("MountainCarContinuous-v0", {}, ("force",), 60, 4),
    ("HalfCheetah-v5", {}, ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"), 60, 4),
    ("Hopper-v5", {}, ("thigh joint", "leg joint", "foot joint"), 60, 4),
    ("LunarLander-v3", {"continuous": True}, ("main engine", "side engines"), 40, 3),
    ("BipedalWalker-v3", {}, ("hip 1", "knee 1", "hip 2", "knee 2"), 40, 3),
    ("CarRacing-v3", {}, ("steering", "gas", "brake"), 10, 2),
    ("parking-v0", {}, ("acceleration", "steering"), 10, 2),
]


@pytest.mark.parametrize(("name", "options", "names", "budget", "steps"), CONTINUOUS)
def test_environments_are_planned_in_as_they_are(name, options, names, budget, steps):
    model = pp.GymnasiumModel(name, **options)
    env = gymnasium.make(name, **options)
    space = env.action_space
    assert model.actions == pp.Box(space.low, space.high)
    assert model.env_actions == []
    assert model.action_names == names
    episode = pp.control(model, budget=budget, steps=steps, seed=0)
    assert all(space.contains(action) for action in episode.actions)
    assert {action.dtype for action in episode.actions} == {np.dtype(np.float32)}
    # What was planned and carried out in restored states is what the environment itself does.
    env.reset(seed=0)
    rewards = [float(env.step(action)[1]) for action in episode.actions]
    if name == "LunarLander-v3":  # its engines are noisy, except in the first step's reward
        rewards = rewards[:1]
    assert rewards == pytest.approx(list(episode.rewards[: len(rewards)]), abs=1e-12)
    env.close()


@pytest.mark.parametrize(
    ("name", "of", "method"),
    [
        ("CarRacing-v3", lambda core: core, "_render"),
        ("racetrack-v1", lambda core: core.observation_type, "observe"),
        ("MiniGrid-Empty-5x5-v0", lambda core: core, "gen_obs"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of the environments
def test_nothing_is_observed_while_planning(name, of, method, monkeypatch):
    model = pp.GymnasiumModel(name)
    seen, kind = [], type(of(model.env.unwrapped))
    original = getattr(kind, method)
    monkeypatch.setattr(kind, method, lambda *given: seen.append(1) or original(*given))
    pp.plan(model, budget=10, seed=0)
    assert not seen
    watched = pp.GymnasiumModel(lambda: gymnasium.Wrapper(make_environment(name, {})))
    seen.clear()
    pp.plan(watched, budget=10, seed=0)
    assert len(seen) >= 10  # a wrapper may look


def test_the_pendulum_swings_up():
    episode = pp.control("Pendulum-v1", budget=300, steps=100, seed=0)
    assert sum(episode.rewards) > -300.0
    assert sum(episode.rewards[-20:]) > -5.0  # it stands
    inside = [float(action[0]) for action in episode.actions if abs(action[0]) < 2.0]
    assert len({round(torque, 3) for torque in inside}) > 20  # no grid


def test_a_step_gives_the_environment_its_own_kind_of_array():
    model = pp.GymnasiumModel(Slide, method="deepcopy")
    given = np.array([0.25, 0.5], np.float32)
    after, reward, _ = model.step(model.initial_state, given, np.random.default_rng(0))
    assert reward == model.initial_state.unwrapped.place[0] + 0.125
    kept = after.unwrapped.given
    assert kept.dtype == np.float64
    given[:] = 0.0
    assert kept.tolist() == [0.25, 0.5]  # a copy: a replay takes it again later
    assert model.step(model.initial_state, [0.25, 0.5], None).reward == reward  # a list will do
    with pytest.raises(pp.InvalidArgument, match=r"its shape is \(3,\), not \(2,\)"):
        model.step(model.initial_state, np.zeros(3), np.random.default_rng(0))


def test_an_own_environment_and_its_copies():
    model = pp.GymnasiumModel(Slide)
    assert (model.method, model.access) == ("deepcopy", pp.Access.RESTORE)
    assert model.action_names is None
    plan = pp.plan(model, budget=1_000, discount=0.5, seed=0)
    assert plan.action.dtype == np.float64
    assert float(plan.action[0] * plan.action[1]) > 0.4  # to the right, nearly as far as it goes


def test_repeats_and_ends():
    model = pp.GymnasiumModel("Pendulum-v1", repeat=4)
    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=0)
    torque = np.array([1.5], np.float32)
    expected = sum(float(env.step(torque)[1]) for _ in range(4))
    found = model.step(model.initial_state, torque, np.random.default_rng(0))
    assert found.reward == pytest.approx(expected, abs=1e-12)
    plan = pp.plan(pp.GymnasiumModel("Hopper-v5", ends=lambda info: info["x_position"] > 0.01),
                   budget=60, seed=0)  # fmt: skip
    assert plan.action.shape == (3,)


def test_grids_and_lists_can_still_be_asked_for():
    grid = pp.GymnasiumModel("Pendulum-v1", actions=5)
    assert grid.actions == pp.Discrete(5)
    assert len(pp.GymnasiumModel("HalfCheetah-v5", actions="sparse").env_actions) == 25
    listed = pp.GymnasiumModel("Pendulum-v1", actions=[[-2.0], [2.0]])
    assert [action.tolist() for action in listed.actions.payloads] == [[-2.0], [2.0]]
    assert pp.plan(grid, budget=100, seed=0).action in range(5)


def test_a_part_of_the_box():
    model = pp.GymnasiumModel("HalfCheetah-v5", actions=pp.Box(-0.5, 0.25))
    assert model.actions == pp.Box(np.full(6, -0.5, np.float32), np.full(6, 0.25, np.float32))
    episode = pp.control(model, budget=60, steps=2, seed=0)
    assert all(action.min() >= -0.5 and action.max() <= 0.25 for action in episode.actions)
    assert episode.actions[0].dtype == np.float32
    of_gymnasium = pp.GymnasiumModel("Pendulum-v1", actions=Box(-1.0, 1.0, (1,)))
    assert of_gymnasium.actions == pp.Box(np.float32([-1.0]), np.float32([1.0]))
    free = pp.GymnasiumModel(FreeSlide, actions=pp.Box([-1.0, 0.0], [1.0, 0.5]))
    assert free.actions == pp.Box([-1.0, 0.0], [1.0, 0.5])
    assert pp.plan(free, budget=50, seed=0).action in free.actions


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: pp.GymnasiumModel(FreeSlide), r"FreeSlide are Box\(-inf.*without finite bounds"),
        (lambda: pp.GymnasiumModel(FreeSlide), r"actions=pp\.Box\(low, high\)"),
        (lambda: pp.GymnasiumModel(WholeSlide), r"a box of whole numbers; pass a list"),
        (lambda: pp.GymnasiumModel(FlatSlide), r"low must be below high, got 0\.5 and 0\.5 at"),
        (lambda: pp.GymnasiumModel(Mixed), r"of Mixed are Tuple\(.*pass a list"),
        (lambda: pp.GymnasiumModel("Pendulum-v1", actions=pp.Box(-3, 1)), "is not inside of Box"),
        (lambda: pp.GymnasiumModel("Pendulum-v1", actions=pp.Box([-1, -1], 1)), r"shape \(2,\)"),
        (lambda: pp.GymnasiumModel("CartPole-v1", actions=pp.Box(-1, 1)), "are Discrete"),
        (
            lambda: pp.GymnasiumModel("Pendulum-v1", action_names=["torque", "more"]),
            "there are 1 coordinates; pass one for each",
        ),
        (
            lambda: pp.GymnasiumModel(Masker(Slide(), lambda env: [1, 0]), seed=0),
            "gives masks, but its actions are Box",
        ),
    ],
)
def test_what_cannot_be_planned_in(make, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        make()


def test_many_combinations_are_arrays_and_few_are_a_list():
    assert pp.GymnasiumModel(Levers).actions == pp.Discrete(6)
    keys = pp.GymnasiumModel(Keys)
    assert keys.actions == pp.MultiDiscrete([10] * 5)
    assert pp.plan(keys, budget=50, seed=0).action in keys.actions
    switches = pp.GymnasiumModel(Switches)
    assert switches.actions == pp.MultiDiscrete([2] * 8)
    found = pp.plan(switches, budget=100, discount=0.5, seed=0)
    after = switches.step(switches.initial_state, found.action, np.random.default_rng(0)).state
    assert after.unwrapped.given.dtype == np.int8
    assert after.unwrapped.given.tolist() == found.action.tolist()
    # Planners of lists take them as the list that they are.
    listed = pp.planners.UCT(0.5, horizon=2).plan(switches, budget=300, seed=0)
    assert listed.action in switches.actions


def test_all_switches_are_set():
    # Measured with 80 seeds: 71 of them are right. With as many walks under way as in a box 30 are,
    # because what is better is added up one by one.
    switches = pp.GymnasiumModel(Switches)
    plans = [pp.plan(switches, budget=3_000, discount=0.5, seed=seed) for seed in range(10)]
    right = [plan.action.tolist() == Switches.pattern.tolist() for plan in plans]
    assert sum(right) >= 7


def test_arrays_that_do_not_start_at_zero_and_those_with_masks_are_a_list():
    later = pp.GymnasiumModel(Later)
    assert later.actions == pp.Discrete(42)
    assert later.env_actions[0].tolist() == [1, 1]
    mask = np.ones(16, np.int8)
    mask[1] = 0  # the first switch must be off
    masked = pp.GymnasiumModel(Masker(Switches(), lambda env: mask), seed=0)
    assert masked.actions == pp.Discrete(256)
    assert len(masked.legal(masked.initial_state)) == 128
    plan = pp.plan(masked, budget=1_000, discount=0.5, seed=0)
    assert masked.env_actions[plan.action][0] == 0


def test_the_same_plan_in_other_processes():
    model = pp.GymnasiumModel("Pendulum-v1")
    alone = pp.plan(model, budget=60, seed=0)
    sent = pickle.loads(pickle.dumps(model))
    assert (sent.actions, sent.action_names) == (model.actions, model.action_names)
    torque = np.array([0.3], np.float32)
    rng = np.random.default_rng(0)
    assert (
        sent.step(sent.initial_state, torque, rng)[1]
        == (model.step(model.initial_state, torque, rng)[1])
    )
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        spread = pp.plan(model, budget=60, seed=0, executor=pool)
    assert [a.tolist() for a in spread.actions] == [a.tolist() for a in alone.actions]
    assert spread.value == alone.value


@pytest.mark.parametrize("name", ["Pendulum-v1", "HalfCheetah-v5"])
def test_the_doctor(name):
    for env in (name, pp.GymnasiumModel(name)):
        report = pp.check_simulator(env, trajectories=2, steps=5, pictures=False)
        assert (report.verdict, report.method) == ("safe", "native")


class Luck(Slide):
    def step(self, action):
        self.place[0] += float(self.np_random.normal())
        return self._seen(), 0.0, False, False, {}


def test_random_dynamics_are_found_with_drawn_actions():
    assert pp.GymnasiumModel(Luck).access is pp.Access.RESET
    assert pp.GymnasiumModel(Slide).access is pp.Access.RESTORE


def test_a_model_that_hides_its_state_is_found_out():
    hidden = {"x": 0.0}

    def step(state, action, rng):
        hidden["x"] += action
        return "under way", hidden["x"], False

    model = pp.FunctionModel(step, pp.Box(-1, 1), "start", access=pp.Access.RESET)
    with pytest.raises(pp.errors.DynamicsError, match="keep its state to itself"):
        pp.control(model, budget=40, steps=3, seed=0)


def test_the_commands(tmp_path, capsys):
    table, film = tmp_path / "table.json", tmp_path / "film.gif"
    command = ["play", "Pendulum-v1", "--budget", "40", "--steps", "10"]
    assert main([*command, "--json", str(table), "--save", str(film)]) == 0
    shown = capsys.readouterr()
    assert "Pendulum-v1, platypus: 10 steps" in shown.out
    assert re.search(r"step 1 of 10  action -?[0-9.]+  reward", shown.err)
    assert film.stat().st_size > 1000
    data = json.loads(table.read_text())
    assert data["payloads"][data["steps"][0]["action"]] == pytest.approx([-2.0], abs=4.0)
    assert main(["check", "Pendulum-v1", "--trajectories", "1", "--no-pictures"]) == 0
    assert "Pendulum-v1: safe" in capsys.readouterr().out
    assert main(["play", "Pendulum-v1", "--planner", "platypoos", "--budget", "40"]) == 2
    assert "PlaTyPOOS chooses from a finite list of actions" in capsys.readouterr().err
    assert main(["play", "Pendulum-v1", "--actions", "3", "--budget", "40", "--steps", "10"]) == 0
    assert "action 0, -2 " in capsys.readouterr().err
