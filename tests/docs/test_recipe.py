"""The recipe for a planner: one file is enough."""

from __future__ import annotations

import importlib.util
import re
import sys

import numpy as np
import pytest
from pages import ROOT
from random_trees import Counted

import platypoos as pp
from platypoos.cli.main import main
from platypoos.search import base


@pytest.fixture
def dice(tmp_path, monkeypatch):
    """The planner of the recipe, as a module of its own."""
    monkeypatch.setattr(base, "REGISTERED", dict(base.REGISTERED))
    text = (ROOT / "docs/add-a-planner.md").read_text(encoding="utf-8")
    file = tmp_path / "dice.py"
    file.write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("dice", file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "dice", module)
    spec.loader.exec_module(module)
    return module.Dice


def test_a_planner_registers_itself(dice, capsys):
    assert pp.planners.available()["dice"] is dice
    assert main(["planners", "dice"]) == 0
    assert "dice" in capsys.readouterr().out
    assert main(["plan", "--planner", "dice", "--set", "length=3", "--budget", "50"]) == 0
    assert "50 of 50 calls" in capsys.readouterr().out


def test_the_planner_of_the_recipe_keeps_the_contract(dice):
    for budget in (2, 7, 100):
        counted = Counted(pp.problems.Garnet(5, 2, seed=1, num_terminal=1), "python")
        plans = [dice(0.9).plan(counted.model, budget=budget, seed=3) for _ in range(2)]
        assert counted.calls == sum(plan.calls for plan in plans) <= 2 * budget
        assert plans[0].actions == plans[1].actions


def test_it_finds_a_reward_that_is_two_steps_away(dice):
    def step(state, action, rng):
        return (*state, action), float((*state, action)[:2] == (1, 0)), False

    model = pp.FunctionModel(step, 2, ())
    found = [dice(0.9).plan(model, budget=200, seed=seed).action for seed in range(10)]
    assert np.mean(found) == 1
