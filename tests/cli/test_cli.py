"""The command line, as a user runs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import MISSING

import pytest

import platypoos as pp
from platypoos.cli.main import main
from platypoos.cli.options import parameters


def test_plan_prints_the_decision_and_why(capsys):
    assert main(["plan", "--seed", "0"]) == 0
    out = capsys.readouterr().out
    assert "decision: bin 0 (action 0)" in out
    assert "recommended" in out
    assert "ahead of the runner-up by" in out
    assert "1,000 of 1,000 calls" in out
    assert "simple regret 0" in out


def test_plan_as_json(capsys):
    assert main(["plan", "--noise", "1", "--budget", "2000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["action_name"] == "bin 0"
    assert result["calls"] == result["budget"] == 2000
    assert len(result["action_values"]) == 2
    lead = result["lead"]
    assert lead["low"] < lead["estimate"] < lead["high"]
    assert 0.0 < result["confidence"] < 1.0
    assert result["simple_regret"] == 0


REQUIRED = {"reward_max": 10, "scale": 10, "horizon": 8, "depth": 4, "noise": 1, "epsilon": 2}


PROBLEMS = pp.problems.available()
FIRST = ("battery", "garnet", "grid", "switch-chain")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_problem(problem, capsys):
    arguments = ["plan", "--problem", problem, "--planner", "sequence-search", "--budget", "200"]
    kind = PROBLEMS[problem]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    exact = issubclass(kind, pp.problems.Problem) and found["optimal_values"] is not None
    assert (found["simple_regret"] is not None) == exact
    assert found["calls"] <= 200


LISTS = [name for name, kind in pp.planners.available().items() if kind.lists]


@pytest.mark.parametrize("planner", LISTS)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_every_planner(planner, access, capsys):
    # Each with one of the problems; that all plan alike is tested without the command line.
    problem = FIRST[(LISTS.index(planner) + (access == "reset")) % len(FIRST)]
    fields = parameters(pp.planners.available()[planner])
    needed = [key for key, field in fields.items() if field.default is MISSING]
    settings = [part for key in needed for part in ("--set", f"{key}={REQUIRED[key]}")]
    arguments = ["plan", "--problem", problem, "--planner", planner, "--access", access]
    assert main([*arguments, *settings, "--budget", "200"]) == 0
    out = capsys.readouterr().out
    assert "decision: " in out
    assert "of 200" in out
    if planner in {"trailblazer", "stop"}:
        assert "the accuracy asked for was not reached" in out
    scheduled = planner in {"platypoos", "sequool", "stroquool", "uniform"}
    assert main([*arguments, *settings, "--budget", "200", "--schedule"]) == (0 if scheduled else 2)
    captured = capsys.readouterr()
    assert "h_max" in captured.out if scheduled else "has no schedule" in captured.err
    if needed:
        assert main(arguments) == 2
        assert f"--set {needed[0]}=" in capsys.readouterr().err


def test_the_planners_are_listed(capsys):
    assert main(["planners"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    for name in pp.planners.available():
        assert name in rows
    assert rows["mppi"].split()[1:] == ["box", "anytime", "value", "yes", "many"]
    can = "list yes repeats value rule one in the limit"
    assert " ".join(rows["uct"].split()[1:]) == can
    assert main(["planners", *pp.planners.available()]) == 0
    out = capsys.readouterr().out
    for name, kind in pp.planners.available().items():
        assert f"{name}: " in out
        assert kind.needs in out
        assert kind.citation in out
    assert main(["planners", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == len(pp.planners.available())
    reacting = {name for name, kind in pp.planners.available().items() if kind.reacts}
    assert {row["planner"] for row in rows if row["reacts"]} == reacting
    assert out.count("reacts to chance\n") == len(reacting) == 10
    olop = next(row for row in rows if row["planner"] == "olop")
    assert olop["parameters"] == {"reward_max": "required", "reward_min": 0.0, "noise": None}
    assert olop["access"] == ["restore", "reset"]
    assert main(["planners", "utc"]) == 2
    assert "did you mean 'uct'" in capsys.readouterr().err


def test_what_platypus_tells(capsys):
    # With this noise 20 of 20 seeds are clear; with three times as much 15 of 20.
    assert main(["plan", "--planner", "platypus", "--noise", "3", "--budget", "1000"]) == 0
    out = capsys.readouterr().out
    assert " with 95 %)" in out
    assert "clear: more calls hardly change it" in out
    assert main(["plan", "--planner", "platypus", "--noise", "10", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["lead"]["low"] < row["lead"]["high"]
    assert row["enough"] in (True, False)


def test_a_deadline_instead_of_a_budget(capsys):
    assert main(["plan", "--deadline", "0.05"]) == 0
    out = capsys.readouterr().out
    assert "decision: bin 0 (action 0)" in out
    assert re.search(r"\n[\d,]+ calls, depth", out)
    assert main(["plan", "--deadline", "0.05", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["budget"] is None
    assert main(["plan", "--deadline", "5", "--budget", "50", "--noise", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 50
    assert main(["plan", "--planner", "platypoos", "--deadline", "0.05"]) == 0
    assert re.search(r"\n[\d,]+ calls, depth", capsys.readouterr().out)
    assert main(["plan", "--planner", "one-step", "--deadline", "0.05"]) == 0
    assert re.search(r"\n[\d,]+ calls, depth", capsys.readouterr().out)
    assert main(["plan", "--deadline", "0"]) == 2
    assert "deadline must be" in capsys.readouterr().err


def test_settings(capsys):
    assert main(["plan", "--planner", "olop", "--set", "reward_max=130", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 957
    assert main(["plan", "--planner", "uniform", "--set", "share=false"]) == 0
    capsys.readouterr()
    for setting, message in [
        ("reward_mx=130", "has no parameter 'reward_mx'; it takes: reward_max, reward_min, noise"),
        ("130", "NAME=VALUE, got '130'"),
        ("reward_max=much", "reward_max must be a finite number, got 'much'"),
        ("noise=1", "olop needs reward range, noise range (may be wrong): pass --set reward_max="),
    ]:
        assert main(["plan", "--planner", "olop", "--set", setting]) == 2
        assert message in capsys.readouterr().err


def test_the_schedule_as_json(capsys):
    command = ["plan", "--budget", "40", "--discount", "0.5", "--json", "--schedule"]
    assert main([*command, "--planner", "platypoos"]) == 0
    rows = json.loads(capsys.readouterr().out)["schedule"]
    assert rows[0] == {"depth": 1, "p": 1, "evaluations": 1, "quota": 3, "nodes": 2}
    assert main(command) == 2
    assert "pass --planner platypoos" in capsys.readouterr().err


def test_a_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["demo", "--out", str(tmp_path / "taken")]) == 2
    assert "File exists" in capsys.readouterr().err


def test_large_budgets_run_in_machine_code(capsys):
    assert main(["plan", "--budget", "100000", "--noise", "5"]) == 0
    assert "100,000 of 100,000 calls" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "1"], "budget 1 is below the number of actions 2"),
        (["--discount", "1.5"], "discount must be in [0, 1), got 1.5"),
        (["--discount", "1.0"], "discount 1.0 needs horizon="),
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


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "decision: stay" in out
    assert "CartPole-v1" in out
    assert "upright after" in out
    assert (tmp_path / "new" / "pendulum.gif").read_bytes().startswith(b"GIF8")
    picture = tmp_path / "new" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in out


def test_runs_as_a_module():
    command = [sys.executable, "-m", "platypoos.cli.main", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "platypoos 0.1.0\n"
