"""The command line, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from platypoos.cli import PLANNERS, PROBLEMS, main


def test_plan_prints_the_decision_and_why(capsys):
    assert main(["plan", "--seed", "0"]) == 0
    out = capsys.readouterr().out
    assert "decision: stay (action 0)" in out
    assert "* stay" in out
    assert "ahead of the runner-up by" in out
    assert "calls used: 1000 of 1000" in out
    assert "simple regret 0" in out


def test_plan_as_json(capsys):
    assert main(["plan", "--noise", "1", "--budget", "2000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["action_name"] == "stay"
    assert result["calls"] == result["budget"] == 2000
    assert len(result["action_values"]) == 2
    assert result["gap"] == pytest.approx(result["action_values"][0] - result["action_values"][1])
    assert result["simple_regret"] == 0


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_every_planner_on_every_problem(problem, planner, access, capsys):
    arguments = ["plan", "--problem", problem, "--planner", planner, "--access", access]
    assert main([*arguments, "--budget", "200", "--schedule"]) == 0
    out = capsys.readouterr().out
    assert "decision: " in out
    assert "h_max" in out


def test_the_schedule_as_json(capsys):
    assert main(["plan", "--budget", "40", "--discount", "0.5", "--json", "--schedule"]) == 0
    rows = json.loads(capsys.readouterr().out)["schedule"]
    assert rows[0] == {"depth": 1, "p": 1, "evaluations": 1, "quota": 3, "nodes": 2}


def test_a_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["demo", "--out", str(tmp_path / "taken")]) == 2
    assert "File exists" in capsys.readouterr().err


def test_large_budgets_run_in_machine_code(capsys):
    assert main(["plan", "--budget", "100000", "--noise", "5"]) == 0
    assert "calls used: 100000 of 100000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "1"], "budget 1 is below the number of actions 2"),
        (["--discount", "1.0"], "discount must be in [0, 1), got 1.0"),
        (["--noise", "-1"], "noise must be at least 0, got -1.0"),
        (["--seed", "-3"], "seed must be an int of at least 0"),
    ],
)
def test_bad_values(arguments, message, capsys):
    assert main(["plan", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


def test_unknown_names(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["plan", "--planner", "magic"])
    assert stopped.value.code == 2
    assert "choose from" in capsys.readouterr().err


def test_help_has_examples(capsys):
    for arguments in (["--help"], ["plan", "--help"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
        assert "examples:" in capsys.readouterr().out


def test_demo(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "decision: stay" in out
    assert "CartPole-v1" in out
    picture = tmp_path / "new" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in out


def test_runs_as_a_module():
    command = [sys.executable, "-m", "platypoos.cli", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "platypoos 0.1.0\n"
