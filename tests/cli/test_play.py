"""Films, tables, and the commands check and play."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import platypoos as pp
from platypoos.cli.main import main
from platypoos.progress import StatusLine
from platypoos.version import install


def frames(path):
    with Image.open(path) as film:
        number = getattr(film, "n_frames", 1)
        shown = []
        for i in range(number):
            film.seek(i)
            shown.append(np.asarray(film.convert("RGB")))
    return shown


def test_a_film_shows_the_episode(tmp_path):
    film = tmp_path / "cartpole.gif"
    model = pp.GymnasiumModel("CartPole-v1", repeat=4)
    episode = pp.control(model, budget=200, steps=10, discount=0.9, seed=0, render=film)
    shown = frames(film)
    assert len(shown) == len(episode.actions) + 1
    # The last frame is the environment's own picture of the last state.
    painter = pp.GymnasiumModel("CartPole-v1", render_mode="rgb_array")
    painter.restore(episode.states[-1])
    expected = painter.env.render()
    assert np.mean(np.abs(shown[-1].astype(int) - expected)) < 0.02
    moved = [np.mean(np.abs(frame.astype(int) - shown[0])) for frame in shown]
    assert max(moved) > 0.3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("FrozenLake-v1", {}),
        ("MiniGrid-Empty-8x8-v0", {}),
        ("LunarLander-v3", {}),
        ("ALE/Asterix-v5", {"repeat_action_probability": 0.0}),
        ("highway-fast-v0", {}),
    ],
)
def test_every_family_can_be_filmed(name, options):
    model = pp.GymnasiumModel(name, **options)
    rng = np.random.default_rng(0)
    first = model.render(model.initial_state)
    state = model.initial_state
    for action in (1, 2, 1):
        state, _, ended = model.step(state, action, rng)
        if ended:
            break
    later = model.render(state)
    assert first.ndim == 3
    assert first.shape == later.shape
    assert first.std() > 5  # something is on it
    assert not np.array_equal(first, later)
    if name.startswith("ALE"):  # the emulator restores no screen: the frame after is shown
        again = model.render(model.initial_state)
        assert np.mean(again != first) < 0.02 < np.mean(later != first) + 0.02
    else:
        assert np.array_equal(model.render(model.initial_state), first)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # ffmpeg's pipes
def test_an_mp4(tmp_path):
    import imageio.v3 as imageio

    film = tmp_path / "pendulum.mp4"
    model = pp.GymnasiumModel("Pendulum-v1", actions=3)
    pp.control(model, budget=50, steps=5, discount=0.9, seed=0, render=film)
    assert imageio.imread(film).shape == (6, 500, 500, 3)


@pytest.mark.parametrize(
    ("model", "render", "match"),
    [
        (pp.problems.SwitchChain(), "x.gif", r"SwitchChain has none"),
        (pp.GymnasiumModel("CartPole-v1"), "x.avi", r"\.gif or an \.mp4 file, got 'x.avi'"),
        (pp.GymnasiumModel("CartPole-v1"), "no/such/x.gif", "there is no folder 'no/such'"),
    ],
)
def test_what_cannot_be_filmed_is_said_before_planning(model, render, match):
    def never(*_):
        pytest.fail("it planned first")

    with pytest.raises(pp.InvalidArgument, match=match):
        pp.control(model, budget=50, steps=2, discount=0.9, render=render, on_step=never)


@pytest.mark.parametrize(
    ("module", "film", "extra"),
    [("imageio", "x.gif", "video"), ("imageio_ffmpeg", "x.mp4", "mp4")],
)
def test_a_missing_extra_is_named(monkeypatch, module, film, extra):
    monkeypatch.setitem(sys.modules, module, None)
    model = pp.GymnasiumModel("CartPole-v1")
    with pytest.raises(pp.InvalidArgument, match=re.escape(install(extra))):
        pp.control(model, budget=50, steps=2, render=film)


def test_the_table_of_an_episode(tmp_path):
    episode = pp.control(pp.problems.SwitchChain(), budget=100, steps=3, discount=0.9, seed=0)
    episode.save(tmp_path / "episode.json")
    table = json.loads((tmp_path / "episode.json").read_text())
    assert [row["action"] for row in table["steps"]] == list(episode.actions)
    assert [row["reward"] for row in table["steps"]] == list(episode.rewards)
    assert table["steps"][-1]["total"] == pytest.approx(sum(episode.rewards))
    assert table["discounted_return"] == episode.discounted_return
    assert (table["calls"], table["terminated"]) == (300, False)


def test_play(tmp_path, capsys):
    film, table = tmp_path / "out.gif", tmp_path / "out.json"
    command = [
        "play", "Pendulum-v1", "--actions", "3", "--repeat", "2", "--budget", "60", "--steps", "10",
        "--noise", "0.5", "--save", str(film), "--json", str(table),
    ]  # fmt: skip
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "Pendulum-v1, platypus: 10 steps; total reward -" in printed.out
    assert "600 calls of up to 2 simulator steps (1200)" in printed.out
    assert "step 10 of 10" in printed.err
    assert "calls/s of 2 simulator steps" in printed.err
    assert len(frames(film)) == 11
    first = json.loads(table.read_text())
    assert (first["environment"], first["planner"]) == ("Pendulum-v1", "platypus")
    assert (first["access"], first["action_names"]) == ("restore", ["-2", "0", "2"])
    assert (first["calls"], first["steps_per_call"]) == (600, 2)
    assert first["simulator_steps_at_most"] == 1200
    assert main([*command, "--workers", "2", "--quiet"]) == 0
    assert json.loads(table.read_text()) == first
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("planner", ["platypus", "platypoos"])
def test_play_tells_how_it_planned(planner, tmp_path, capsys):
    table = tmp_path / "out.json"
    command = ["play", "LunarLander-v3", "--budget", "40", "--steps", "3", "--planner", planner]
    assert main([*command, "--json", str(table)]) == 0
    printed = capsys.readouterr()
    assert f"LunarLander-v3, {planner}, access reset (open loop): 3 steps; " in printed.out
    assert "120 calls\n" in printed.out  # one step each
    assert "replayed" in printed.out
    first = json.loads(table.read_text())
    assert (first["planner"], first["access"]) == (planner, "reset")
    name = first["action_names"][first["steps"][-1]["action"]]
    assert f"step 3 of 3  action {first['steps'][-1]['action']}, {name}  reward" in printed.err
    assert main([*command, "--quiet", "--access", "restore"]) == 2
    assert "can only be reset" in capsys.readouterr().err


def test_access_that_was_asked_for_is_told(tmp_path, capsys):
    table = tmp_path / "out.json"
    command = ["play", "CartPole-v1", "--budget", "20", "--steps", "2", "--quiet"]
    assert main([*command, "--access", "reset", "--json", str(table)]) == 0
    assert "CartPole-v1, platypus, access reset (open loop): 2 steps" in capsys.readouterr().out
    assert json.loads(table.read_text())["access"] == "reset"
    assert main(["plan", "--access", "reset", "--budget", "20"]) == 0
    assert "platypus, access reset (open loop), seed 0\n" in capsys.readouterr().out


def test_play_with_sparse_actions(capsys):
    command = ["play", "HalfCheetah-v5", "--budget", "30", "--steps", "1", "--quiet"]
    assert main([*command, "--actions", "sparse"]) == 0
    assert "HalfCheetah-v5, platypus: 1 steps" in capsys.readouterr().out
    assert main([*command, "--actions", "5"]) == 2
    assert "(play: --actions sparse)" in capsys.readouterr().err


def test_wrapped_models_count_simulator_steps():
    inner = pp.GymnasiumModel("CartPole-v1", repeat=4)
    assert pp.models.NoisyReward(inner, 1.0).steps_per_call == 4
    model = pp.models.RepeatedAction(inner, repeat=2, discount=0.9)
    episode = pp.control(model, budget=10, steps=2, seed=0)
    table = episode.as_dict()
    assert (table["calls"], table["simulator_steps_at_most"]) == (20, 160)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_doctor_shows_how_far_it_is(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(StatusLine, "_SECONDS", 0.0)
    pp.check_simulator("CartPole-v1", trajectories=2, steps=5)
    lines = terminal.getvalue().split("\r")
    for what in ("restoring states", "looking for randomness", "measuring", "comparing pictures"):
        assert any(line.startswith(f"CartPole-v1: {what}") for line in lines), what
    assert any("restoring states, 7 of 10 in " in line for line in lines)
    assert max(len(line) for line in lines) < 80
    assert lines[-1] == ""  # what is printed next is at the start of an empty line
    assert not lines[-2].strip()


def test_the_doctor_is_silent_where_nobody_watches(capsys):
    pp.check_simulator("CartPole-v1", trajectories=1, steps=2)
    assert capsys.readouterr().err == ""
    told = []
    pp.check_simulator("CartPole-v1", trajectories=1, steps=2, on_progress=told.append)
    assert told[0].startswith("CartPole-v1: restoring states, 0 of 2 in 0 s of at most 40")
    assert capsys.readouterr().err == ""


def test_play_shows_a_line_that_fits(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(StatusLine, "_SECONDS", 0.0)
    command = ["play", "Hopper-v5", "--actions", "3", "--repeat", "2", "--budget", "30"]
    assert main([*command, "--steps", "2"]) == 0
    lines = terminal.getvalue().split("\r")
    assert max(len(line.rstrip("\n")) for line in lines) < 80
    assert any(line.startswith("step 2 of 2  action ") for line in lines)
    assert lines[-1].endswith("\n")


def test_the_doctor_tells_what_a_call_is(capsys):
    command = ["check", "CartPole-v1", "--trajectories", "1", "--steps", "3", "--no-pictures"]
    assert main([*command, "--repeat", "4"]) == 0
    printed = capsys.readouterr().out
    assert "  cost     a call is up to 4 steps of the simulator\n" in printed
    assert "pictures" not in printed
    assert main([*command, "--repeat", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeat"] == 4


def test_an_interruption_keeps_what_was_played(tmp_path):
    film, table = tmp_path / "out.gif", tmp_path / "out.json"
    process = subprocess.Popen(
        [
            sys.executable, "-m", "platypoos.cli.main", "play", "Pendulum-v1", "--actions", "3",
            "--budget", "300", "--steps", "500", "--save", str(film), "--json", str(table),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert "step 50 of 500" in process.stderr.readline()
    os.kill(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted: what was played is kept" in errors
    steps = json.loads(table.read_text())["steps"]
    assert 50 <= len(steps) < 500
    assert f"{len(steps)} steps" in printed
    assert len(frames(film)) > 25  # of which some are alike, and shown as one


def test_check(capsys):
    assert main(["check", "CartPole-v1", "--trajectories", "2", "--steps", "5"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("CartPole-v1: safe to plan with\n")
    assert "family   classic control; restored by native; access RESTORE" in printed
    assert main(["check", "FrozenLake-v1", "--option", "is_slippery=false", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], report["access"], report["ok"]) == ("safe", "restore", True)
    wrong = ["check", "InvertedPendulum-v5", "--method", "deepcopy", "--json"]
    assert main(wrong) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "not safe"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["play", "CartPol-v1"], "cannot make 'CartPol-v1'"),
        (["check", "CartPole-v1", "--option", "x"], "--option takes NAME=VALUE, got 'x'"),
        (["play", "Pendulum-v1", "--planner", "uniform"], "chooses from a finite list of actions"),
        (["play", "CartPole-v1", "--budget", "1"], "budget"),
        (["play", "CartPole-v1", "--seed", "-1"], "seed must be"),
        (["check", "CartPole-v1", "--seed", "-1"], "seed must be"),
        (["play", "CartPole-v1", "--workers", "0"], "workers must be"),
        (["play", "CartPole-v1", "--save", "no/such/x.gif"], "there is no folder"),
        (["play", "CartPole-v1", "--planner", "olop"], "pass --set reward_max"),
        (["play", "CartPole-v1", "--option", "colour=red"], "colour"),
    ],
)
def test_bad_commands(command, message, capsys):
    assert main(command) == 2
    assert message in capsys.readouterr().err


OWN = """
import gymnasium
import numpy as np


class Walk(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, goal=3, render_mode=None):
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, (1,))
        self.action_space = gymnasium.spaces.Discrete(2)
        self.goal, self.render_mode, self.x = goal, render_mode, 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += 2 * action - 1
        return np.array([self.x], np.float32), -abs(self.x - self.goal), False, False, {}

    def render(self):
        picture = np.full((64, 64, 3), 255, np.uint8)
        picture[:, int(32 + 4 * self.x)] = 0
        return picture
"""


def test_an_environment_of_ones_own(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_walk.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["check", "own_walk:Walk"]) == 0
    assert "Walk: safe" in capsys.readouterr().out
    saved = ["--save", str(tmp_path / "walk.gif")]
    few = ["--budget", "60", "--steps", "4", "--quiet"]
    assert main(["play", "own_walk:Walk", "--option", "goal=4", *few, *saved]) == 0
    assert "total reward -6" in capsys.readouterr().out  # 3 + 2 + 1 + 0 from the goal
    with Image.open(tmp_path / "walk.gif") as film:
        assert film.n_frames == 5
    assert main(["advise", "own_walk:Walk", "--calls", "200", "--quiet"]) == 0
    assert "env = Walk()\nmodel = pp.GymnasiumModel(env" in capsys.readouterr().out
