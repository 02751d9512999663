"""The command bench: what workers bring for a simulator."""

from __future__ import annotations

import json

import pytest

from platypoos.cli.main import main

SLOW = """
import time

import platypoos as pp

drawn = iter(range(10**6))


def step(state, action, rng):
    time.sleep(0.002)
    return state + 2 * action - 1, float(state == 3), False


def unsound(state, action, rng):
    return state + 2 * action - 1, float(next(drawn) % 7), False


def make_model():
    return pp.FunctionModel(step, 2, 0)


def make_unsound():
    return pp.FunctionModel(unsound, 2, 0)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_more_workers_are_advised_where_they_help(module, capsys):
    asked = ["bench", "slow_module:make_model", "--pool", "threads", "--quiet"]
    asked += ["--planner", "platypoos", "--budget", "120", "--workers", "1", "8"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "with ThreadPoolExecutor(8) as pool:" in out
    assert "plan(model, budget=120, executor=pool)" in out
    assert main([*asked, "--json"]) == 0
    one, eight = json.loads(capsys.readouterr().out)
    assert one["workers"] == 1
    assert one["busy"] is None
    assert eight["times_as_fast"] > 1.2
    assert 0.0 < eight["busy"] <= 1.0


def test_none_are_advised_where_they_do_not(module, capsys):
    asked = ["bench", "slow_module:make_model", "--pool", "threads", "--quiet"]
    assert main([*asked, "--planner", "uct", "--set", "horizon=5", "--budget", "60"]) == 0
    assert "Do without workers" in capsys.readouterr().out


def test_plans_that_differ_are_told(module, capsys):
    asked = ["bench", "slow_module:make_unsound", "--pool", "threads", "--quiet"]
    assert main([*asked, "--workers", "1", "3", "--budget", "200"]) == 2
    assert "the plans differ, and should not" in capsys.readouterr().err
