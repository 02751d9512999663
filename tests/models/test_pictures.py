"""Pictures: films show what a plain environment shows in the same states."""

from __future__ import annotations

import functools
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from environments import NAMED, Walk
from gymnasium.spaces import Discrete

import platypoos as pp
from platypoos import video
from platypoos.checks import make_generator
from platypoos.models.gymnasium import making, registry
from platypoos.models.gymnasium.making import make_environment
from platypoos.models.gymnasium.physics import MuJoCo
from platypoos.models.gymnasium.snapshots import Keeper

FILMED = {
    "CartPole-v1": {},
    "Pendulum-v1": {},
    "MountainCar-v0": {},
    "FrozenLake-v1": {},
    "Taxi-v4": {},
    "HalfCheetah-v5": {},
    "Reacher-v5": {},
    "ALE/Breakout-v5": {"repeat_action_probability": 0.0},
    "MiniGrid-DoorKey-5x5-v0": {},
    "parking-v0": {},
    "LunarLander-v3": {},
    "BipedalWalker-v3": {},
}


@functools.cache
def no_gl():
    """Why nothing can draw MuJoCo's pictures; empty if something can."""
    making.choose_gl()
    env = gymnasium.make("Reacher-v5", render_mode="rgb_array")
    env.reset(seed=0)
    try:
        env.render()
    except Exception as error:  # noqa: BLE001  whatever GL raises
        return f"MuJoCo cannot render here, as there is no EGL or OSMesa: {error}"
    return ""


def needs_gl(name):
    if name.startswith(("HalfCheetah", "Reacher")) and no_gl():
        pytest.skip(no_gl())


class Plain:
    """The environment by itself, drawing what belongs to its state only."""

    def __init__(self, name, options):
        self.env = make_environment(name, {**options, "render_mode": "rgb_array"})
        self.follows = name.startswith("HalfCheetah") and not options
        self.core = self.env.unwrapped
        self.env.reset(seed=0)
        self.start = self.centre() if hasattr(self.core, "mujoco_renderer") else None
        self.lookat = None

    def centre(self):
        """The centre of mass of everything that moves."""
        mass = self.core.model.body_mass
        return mass @ self.core.data.xipos / mass.sum()

    def look_at_it(self):
        """Gymnasium's own camera, as far from the body as it was in the first picture."""
        camera = self.core.mujoco_renderer._get_viewer("rgb_array").cam
        if self.lookat is None:
            self.lookat = np.array(camera.lookat)
        camera.lookat[:2] = (self.lookat + self.centre() - self.start)[:2]

    def step(self, model, action, rng):
        if model.method == "replay":
            rng = np.random.default_rng(int(rng.integers(2**63)))
        self.core.np_random = rng
        self.env.step(model.env_actions[action])

    def draw(self):
        core = self.core
        for name, unset in (("last_u", None), ("lastaction", None), ("taxi_orientation", 0)):
            if hasattr(core, name):
                setattr(core, name, unset)
        if hasattr(core, "road"):
            if core.viewer is None:
                core.config["offscreen_rendering"] = True
                core.render()
            core.viewer.enabled = True  # it is off where there is no screen
        if not hasattr(core, "mujoco_renderer"):
            return core.render()
        import mujoco

        kept = mujoco.MjData(core.model)
        mujoco.mj_copyData(kept, core.model, core.data)
        mujoco.mj_forward(core.model, core.data)  # MuJoCo draws its bodies a small step late
        if self.follows:
            self.look_at_it()
        frame = core.render()
        mujoco.mj_copyData(core.data, core.model, kept)
        return frame


class Reel:
    """A film in memory: no colours are lost."""

    def __init__(self, path, frames_per_second):
        self.frames = []
        REELS.append(self)

    def add(self, frame):
        self.frames.append(frame)

    def close(self):
        pass


REELS = []


def apart(one, other):
    """The share of pixels that differ."""
    return float((one != other).any(axis=-1).mean())


@pytest.mark.filterwarnings("ignore")  # of the environments
@pytest.mark.parametrize("name", FILMED)
def test_a_film_shows_what_a_plain_environment_shows(name, monkeypatch):
    needs_gl(name)
    monkeypatch.setattr(video, "Film", Reel)
    options = NAMED[name].options | FILMED[name] if name in NAMED else FILMED[name]
    model = pp.GymnasiumModel(name, **options)
    episode = pp.control(
        model, planner=pp.planners.Random(discount=0.9), budget=100, steps=5, seed=0, render="x.gif"
    )
    frames = REELS.pop().frames
    plain = Plain(name, {k: v for k, v in options.items() if k != "actions"})
    acting, _ = make_generator(0).spawn(2)
    expected = [plain.draw()]
    for action in episode.actions:
        plain.step(model, action, acting)
        expected.append(plain.draw())
    assert len(frames) == len(expected)
    gaps = [apart(*pair) for pair in zip(frames, expected, strict=True)]
    if model.family == "Atari":  # the emulator draws no first state
        assert gaps.pop(0) < 0.02
    allowed = 0.002 if name == "BipedalWalker-v3" else 0.0  # draws one ray after the other
    assert max(gaps) <= allowed, gaps
    assert any(apart(frames[0], frame) > 0.001 for frame in frames)  # something moves
    # The same states, restored in another order. Sparks and rays depend on what was drawn before.
    allowed = 0.005 if model.family in ("Atari", "Box2D") else 0.0
    for state, frame in list(zip(episode.states, expected, strict=True))[::-1]:
        assert apart(model.render(state), frame) <= allowed


@pytest.mark.parametrize("name", ["HalfCheetah-v5"])
def test_drawing_changes_no_physics(name):
    needs_gl(name)
    model = pp.GymnasiumModel(name, actions=2, render_mode="rgb_array")
    rng = np.random.default_rng(0)
    state = model.initial_state
    for action in (5, 60, 33):
        state = model.step(state, action, rng).state
    data = model.env.unwrapped.data
    fields = [n for n in dir(data) if isinstance(getattr(data, n), np.ndarray)]
    before = {field: getattr(data, field).copy() for field in fields}
    expected = model.step(state, 7, rng)
    for _ in range(2):
        model.restore(state)
        model.render(state)
        assert np.array_equal(model.save(), state)
        again = model.step(state, 7, rng)
        assert np.array_equal(again.state, expected.state)
        assert again.reward == expected.reward
    model.step(model.initial_state, 5, rng)
    model.step(model.step(model.step(model.initial_state, 5, rng).state, 60, rng).state, 33, rng)
    for field in fields:
        assert np.array_equal(getattr(data, field), before[field], equal_nan=True), field
    model.render(model._live)
    for field in fields:
        assert np.array_equal(getattr(data, field), before[field], equal_nan=True), field


def test_the_camera_is_gymnasiums_own_and_follows():
    needs_gl("HalfCheetah-v5")
    model = pp.GymnasiumModel("HalfCheetah-v5", seed=0)
    start = model.initial_state
    far = start.copy()
    far[1] += 4.0  # in front of what moves; the first entry is the time
    plain = Plain("HalfCheetah-v5", {})
    plain.follows = False
    expected = plain.draw()
    seen = model.render(far), model.render(start)  # the far one first
    assert apart(seen[1], expected) == 0
    assert apart(seen[0], expected) < 0.02  # the floor's pattern repeats
    own = pp.GymnasiumModel("HalfCheetah-v5", default_camera_config={"distance": 4.0})
    assert apart(own.render(start), expected) == 0
    assert apart(own.render(far), expected) > 0.03  # a camera of one's own stays


def test_nothing_is_said_when_python_ends():
    """The renderer is closed before the graphics library is."""
    needs_gl("HalfCheetah-v5")
    script = (
        "import platypoos as pp; model = pp.GymnasiumModel('Reacher-v5'); "
        "print(model.render(model.initial_state).shape)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert ended.stdout.split() == [b"(480,", b"480,", b"3)"]
    assert b"Exception" not in ended.stderr


POSES = (
    "xpos", "xmat", "ximat", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "cam_xpos",
    "cam_xmat", "light_xpos", "light_xdir",
)  # fmt: skip


@pytest.mark.parametrize("name", ["HalfCheetah-v5", "Humanoid-v5", "Reacher-v5"])
def test_limbs_are_together_in_an_environment_that_was_put_back(name):
    """All that pictures are made of is what the environment's own step had left."""
    env = gymnasium.make(name)
    env.reset(seed=0)
    env.action_space.seed(0)
    data = env.unwrapped.data

    def poses():
        return {field: getattr(data, field).copy() for field in POSES}

    def changed():
        return [field for field, then in before.items() if (then != getattr(data, field)).any()]

    for _ in range(3):
        env.step(env.action_space.sample())
    before = poses()
    agent = pp.Agent(env, budget=20, seed=0)
    assert changed() == []
    agent.act()
    assert changed() == []
    here = agent.model.save()
    env.step(env.action_space.sample())
    assert changed()
    agent.model.restore(here)
    assert changed() == []


@pytest.mark.filterwarnings("ignore")
def test_a_picture_of_another_state_does_not_disturb_the_grid():
    """The painter shares doors and keys with the environment that is planned with."""
    model = pp.GymnasiumModel("MiniGrid-DoorKey-5x5-v0", seed=1)
    core, rng = model.keeper.core, np.random.default_rng(0)
    door = next(cell for cell in core.grid.grid if cell is not None and cell.type == "door")
    start = model.initial_state
    door.is_locked, door.is_open = False, True
    opened = model.save()
    left = model.step(opened, 0, rng).state
    model.render(start)
    after = model.step(left, 0, rng).state
    assert model.key(after) != model.key(model.step(start, 0, rng).state)
    model.restore(after)
    assert door.is_open


def test_a_torque_that_planning_tried_is_not_drawn():
    model = pp.GymnasiumModel("Pendulum-v1", actions=3, render_mode="rgb_array")
    first = model.render(model.initial_state)
    model.step(model.initial_state, 0, np.random.default_rng(0))
    assert apart(model.render(model.initial_state), first) == 0


class Sign(Walk):
    """Draws more than the place that is saved."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012  as in Gymnasium
    action_space = Discrete(2)
    render_mode = "rgb_array"
    steps = 0

    def step(self, action):
        self.steps += 1
        return super().step(action)

    def render(self):
        picture = np.zeros((20, 20, 3), np.uint8)
        picture[: self.steps % 20] = 255
        picture[:, self.place[0] % 20] = 100
        return picture


def test_the_doctor_compares_pictures(monkeypatch):
    monkeypatch.setattr(registry, "_FAMILIES", list(registry._FAMILIES))
    report = pp.check_simulator(Sign)
    assert report.pictures == "the same as the original's in 3 restored states"
    assert f"  pictures {report.pictures}\n" in str(report)
    assert report.as_dict()["pictures"] == report.pictures
    assert pp.check_simulator(Sign, pictures=False).pictures == ""
    assert "not compared: Walk cannot be rendered" in pp.check_simulator(Walk).pictures
    pp.models.register_family(
        "sign", lambda env: isinstance(env, Sign), lambda env: env.place[0],
        lambda env, place: setattr(env, "place", [place]),
    )  # fmt: skip
    report = pp.check_simulator(Sign)
    assert report.verdict == "safe"  # planners do not look at pictures
    assert report.pictures.startswith("wrong: up to ")
    assert "do       do not trust films of it" in str(report)


def test_the_doctor_sees_limbs_apart(monkeypatch):
    needs_gl("HalfCheetah-v5")
    monkeypatch.setattr(MuJoCo, "render", Keeper.render)
    report = pp.check_simulator("HalfCheetah-v5", trajectories=1, steps=2)
    assert report.pictures.startswith("wrong: up to "), report


@pytest.mark.parametrize(
    ("there", "given", "chosen"),
    [
        ({"EGL", "OSMesa"}, None, "egl"),
        ({"OSMesa"}, None, "osmesa"),
        (set(), None, None),
        ({"EGL"}, "glfw", "glfw"),
    ],
)
def test_mujoco_renders_with_the_library_that_is_there(monkeypatch, there, given, chosen):
    environment = {} if given is None else {"MUJOCO_GL": given}
    monkeypatch.setattr(making.os, "environ", environment)
    monkeypatch.setattr(making, "find_library", lambda name: name if name in there else None)
    making.choose_gl()
    assert environment.get("MUJOCO_GL") == chosen


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [({}, "disable"), ({"DISPLAY": ":0"}, None), ({"MUJOCO_GL": "osmesa"}, "osmesa")],
)
def test_what_is_chosen_where_there_is_no_library(monkeypatch, environment, chosen):
    monkeypatch.setattr(making.os, "environ", environment)
    monkeypatch.setattr(making, "find_library", lambda name: None)
    making.choose_gl("disable")
    assert environment.get("MUJOCO_GL") == chosen
