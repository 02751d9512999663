"""``platypoos explain``."""

from __future__ import annotations

import json
import shlex

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
