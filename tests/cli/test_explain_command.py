"""``platypoos explain``."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from platypoos.cli.main import main


def test_a_problem(tmp_path, capsys):
    page = tmp_path / "why.html"
    assert main(["explain", "--budget", "200", "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("decision: ")
    assert f"page: {page}" in said
    assert "platypoos explain switch-chain --budget 200" in page.read_text(encoding="utf-8")


def test_the_command_makes_the_same_again(tmp_path):
    first, second = tmp_path / "one.json", tmp_path / "two.json"
    given = ["explain", "garnet", "--noise", "0.5", "--seed", "3", "--discount", "0.9", "--set",
             "stop_when_sure=true", "--option", "num_actions=3", "--budget", "150"]  # fmt: skip
    assert main([*given, "--out", str(first)]) == 0
    told = json.loads(first.read_text())
    words = shlex.split(told.pop("code"))
    assert words[0] == "platypoos"
    words[words.index("--out") + 1] = str(second)
    assert main(words[1:]) == 0
    again = json.loads(second.read_text())
    again.pop("code")
    assert again == told


def test_an_episode_in_an_environment(tmp_path, capsys):
    page = tmp_path / "lake.html"
    given = ["explain", "FrozenLake-v1", "--option", "is_slippery=false", "--budget", "100"]
    assert main([*given, "--steps", "2", "--quiet", "--out", str(page)]) == 0
    said = capsys.readouterr()
    assert "2 steps" in said.out
    assert said.err == ""
    assert "data:image/png" in page.read_text(encoding="utf-8")


SHOP = """
from typing import NamedTuple
import platypoos as pp

class Shop(NamedTuple):
    day: int
    stock: int

def step(shop, order, rng):
    sold = min(3, shop.stock + order)
    return Shop(shop.day + 1, shop.stock + order - sold), 5.0 * sold - 2.0 * order, False

def make_shop(start=0):
    return pp.FunctionModel(step, actions=4, initial_state=Shop(0, start))
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A module of somebody's own, in the present folder."""
    (tmp_path / "shop_of_mine.py").write_text(SHOP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", sys.path.copy())
    return "shop_of_mine:make_shop"


def test_a_model_of_ones_own(shop, capsys):
    assert main(["explain", shop, "--option", "start=4", "--budget", "200", "--seed", "1"]) == 0
    said = capsys.readouterr().out
    assert "day=1, stock=1" in said  # nothing need be ordered
    assert main(["advise", shop, "--quiet"]) == 0
    assert "4 actions" in capsys.readouterr().out
    assert main(["explain", shop, "--repeat", "2"]) == 2
    assert "pp.models.RepeatedAction(model, 2, discount)" in capsys.readouterr().err
    assert main(["explain", shop, "--lives", "end"]) == 2
    assert "--lives is for Gymnasium environments" in capsys.readouterr().err
    assert main(["check", shop]) == 0
    assert "safe to plan with" in capsys.readouterr().out
    assert main(["advise", "shop_of_mine"]) == 2
    assert "such as shop_of_mine:make_model" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["plan", "--problem", shop])
    assert f"platypoos explain {shop}" in capsys.readouterr().err
    assert main(["play", shop]) == 2
    assert f"platypoos explain {shop} --steps" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nothing"], "there is no problem 'nothing'"),
        (["--out", "why.txt"], ".html or .json"),
        (["--out", "no/where.html"], "no folder"),
        (["--film", "film.gif"], "--steps"),
    ],
)
def test_mistakes(given, said, capsys):
    assert main(["explain", "--budget", "20", *given]) == 2
    assert said in capsys.readouterr().err
