"""Episodes keep their plans, and can be drawn and filmed."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab
from platypoos.progress import StepBar

CHAIN = pp.problems.SwitchChain(noise=1.0)


@pytest.fixture(scope="module")
def flight():
    return pp.control(lab.problems.Pillars(repeat=4), budget=120, discount=0.9, steps=5, seed=0)


def test_summaries_are_kept():
    episode = pp.control(CHAIN, budget=100, steps=4, discount=0.9, seed=0)
    assert len(episode.plans) == 4
    for found, state, action in zip(episode.plans, episode.states, episode.actions, strict=False):
        assert found.action == action
        assert found.state == state
        assert found.searched is None
        assert found.summary is None
        assert found.states[0] == state
        assert found.explain().rival is not None


def test_whole_plans_are_kept():
    episode = pp.control(CHAIN, budget=100, steps=3, discount=0.9, seed=0, keep="plans")
    assert all(found.summary.samples >= 100 for found in episode.plans)
    assert all(found.searched is None for found in episode.plans)
    other = pp.control(CHAIN, budget=100, steps=3, discount=0.9, seed=0, keep="nothing")
    assert other.plans == ()
    assert other.actions == episode.actions  # what is kept changes nothing
    with pytest.raises(pp.InvalidArgument, match="keep must be"):
        pp.control(CHAIN, budget=100, steps=1, keep="all")


def test_states_and_values_are_saved(tmp_path):
    episode = pp.control(CHAIN, budget=60, steps=3, discount=0.9, seed=0)
    episode.save(tmp_path / "episode.json")
    data = json.loads((tmp_path / "episode.json").read_text())
    assert [tuple(row["state"]) for row in data["steps"]] == list(episode.states[:-1])
    assert tuple(data["last_state"]) == episode.states[-1]
    for row, found in zip(data["steps"], episode.plans, strict=True):
        assert row["value"] == found.value
        assert row["values"] == found.action_values.tolist()


def test_plots(flight):
    figure = flight.plot()
    titles = [axes.get_title() for axes in figure.axes]
    assert "the path taken" in titles  # in the plane
    drawn = figure.axes[1].lines[0].get_xydata()
    np.testing.assert_allclose(drawn, [state[:2] for state in flight.states])
    chain = pp.control(CHAIN, budget=60, steps=3, discount=0.9, seed=0).plot()
    assert "actions taken" in [axes.get_title() for axes in chain.axes]


def test_a_film_with_what_was_looked_ahead_to(flight, tmp_path):
    from imageio import v2 as imageio

    path = flight.film(tmp_path / "flight.gif")
    frames = imageio.mimread(path)
    assert len(frames) == len(flight.states)
    # The look-ahead is green: there is some in the first frame, none in the last.
    green = [_green(np.asarray(frame)[:, :, :3].astype(int)) for frame in frames]
    assert green[0] > 20
    assert green[-1] == 0


def _green(frame):
    red, green, blue = frame[:, :, 0], frame[:, :, 1], frame[:, :, 2]
    return int(((green > red + 40) & (green > blue)).sum())


def test_no_film_without_positions(tmp_path):
    episode = pp.control(CHAIN, budget=30, steps=1, discount=0.9, seed=0)
    with pytest.raises(pp.InvalidArgument, match="position"):
        episode.film(tmp_path / "film.gif")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_in_a_terminal_only(monkeypatch):
    for stream, said in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        pp.control(CHAIN, budget=20, steps=3, discount=0.9, seed=0, progress=True)
        assert ("3/3" in stream.getvalue()) == said
        assert said or not stream.getvalue()


def test_progress_without_tqdm(monkeypatch):
    monkeypatch.setattr("platypoos.progress.find_spec", lambda name: None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = StepBar(2, shown=True)
    bar.step("reward 1")
    bar.step("reward 2")
    bar.close()
    assert "step 2 of 2  reward 2" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\n")
