"""The command ``arena``, and problems of one's own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab
from platypoos.cli.main import main
from platypoos.lab.arena import gate
from platypoos.lab.arena.families import CHALLENGES
from platypoos.lab.experiments.lines import PAIRED, verdict
from platypoos.lab.experiments.own import choice_from, compare
from platypoos.lab.experiments.statistics import paired_difference
from platypoos.named import is_own

# The command


@pytest.mark.slow
def test_the_command_runs_reports_and_guards(tmp_path, capsys):
    small = ["arena", "--family", "loops", "--planner", "one-step", "uniform", "--seeds", "2",
             "--workers", "1", "--quiet", "--out", str(tmp_path / "a")]  # fmt: skip
    base, page = tmp_path / "base.csv", tmp_path / "arena.md"
    assert main([*small, "--write-baseline", str(base), "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "6 cells done" in printed
    assert "OneStep" in printed
    text = page.read_text()
    assert "3 planners, 1 problems, 2 seeds." in text
    assert (tmp_path / "arena.png").exists()
    assert "| planner | all | loops |" in text
    assert "exact: the best action costs nothing" in text
    assert (tmp_path / "a" / "report.html").exists()
    assert main([*small, "--against", str(base), "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "6 runs compared: 3 planners as before, 0 changed." in printed
    assert "6 were there already" in printed
    assert page.read_text().count("## The gate") == 1
    assert "the gate is open" in page.read_text()


def test_a_gate_that_compares_nothing_is_not_open(tmp_path, capsys):
    gate.write_baseline(tmp_path / "base.csv", {("other/problem", "Uniform", 10, 0): 1.0})
    arguments = ["arena", "--family", "loops", "--planner", "uniform", "--seeds", "2", "--quiet",
                 "--workers", "1", "--out", str(tmp_path)]  # fmt: skip
    assert main([*arguments, "--against", str(tmp_path / "base.csv")]) == 2
    printed = capsys.readouterr().out
    assert "nothing was compared" in printed
    assert "not in the baseline: Random, loops/4-loops-delay-5" in printed


def test_own_problems_pass_the_gate_too(tmp_path, capsys, monkeypatch):
    (tmp_path / "gated_module.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    arguments = ["arena", "--problem", "gated_module:make_model", "--planner", "one-step",
                 "--seeds", "12", "--budget", "10", "--steps", "3", "--quiet", "--workers", "1",
                 "--out", "out"]  # fmt: skip
    assert main([*arguments, "--write-baseline", "base.csv"]) == 0
    results = gate.read_baseline(tmp_path / "base.csv")
    better = {k: v + 5.0 * (k[1] == "OneStep") for k, v in results.items()}
    gate.write_baseline(tmp_path / "better.csv", better)
    capsys.readouterr()
    assert main([*arguments, "--against", "base.csv"]) == 0
    assert main([*arguments, "--against", "better.csv"]) == 1
    assert "LOSS  OneStep, all problems" in capsys.readouterr().out


def test_results_belong_to_the_code_that_made_the_problem(tmp_path):
    def compared(make):
        return compare(
            {"mine": make}, ["one-step"], [10], seeds=2, steps=3, out=tmp_path, workers=1,
            progress=False,
        )  # fmt: skip

    first = compared(lambda: pp.problems.Garnet(6, 2, seed=3))
    other = compared(lambda: pp.problems.Garnet(6, 2, seed=4))
    assert first.summary.done == other.summary.done == 2
    assert str(first) != str(other)
    again = compared(lambda: pp.problems.Garnet(6, 2, seed=4))
    assert again.summary.done <= 2  # the place of a lambda is a part of its code


def test_failures_are_told_at_once(tmp_path, capsys, monkeypatch):
    (tmp_path / "failing_module.py").write_text(
        "import platypoos as pp\n"
        "def step(state, action, rng):\n    raise ValueError('no water')\n"
        "def make_model():\n    return pp.FunctionModel(step, 2, 0)\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["arena", "--problem", "failing_module:make_model", "--planner", "one-step",
                 "--seeds", "2", "--quiet", "--workers", "1", "--out", "out"]  # fmt: skip
    assert main(arguments) == 1
    assert "no water" in capsys.readouterr().err


def test_options_that_do_not_fit_are_refused(tmp_path, capsys):
    for wrong, message in [
        (["--budget", "10"], "--budget is for your own problems"),
        (["--seeds", "0"], "seeds must be a whole number of at least 1"),
        (["--problem", "my_module"], "written MODULE:FUNCTION"),
        (["--problem", "my_module.py:make"], "MODULE:FUNCTION|No module named"),
        (["--page", str(tmp_path / "none" / "page.md")], "there is no directory"),
        (["--family", "slippery", "--planner", "nobody"], "unknown planner of the arena"),
    ]:
        assert main(["arena", *wrong, "--quiet", "--out", str(tmp_path / "out")]) == 2
        assert re.search(message, capsys.readouterr().err), wrong


def test_problems_are_listed(capsys):
    assert main(["arena", "--list"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(CHALLENGES) >= 70
    assert main(["arena", "--list", "--family", "loops"]) == 0
    assert all(line.startswith("loops/") for line in capsys.readouterr().out.splitlines())


# Own problems

OWN = """
import platypoos as pp

def make_model(seed):
    return pp.problems.Garnet(6, 2, seed=seed)

def one_model():
    return pp.problems.Garnet(6, 2, seed=3)

def no_model():
    return 3
"""


def test_own_problems_from_the_command_line(tmp_path):
    (tmp_path / "my_module.py").write_text(OWN)

    def run(*args):
        command = [str(Path(sys.executable).with_name("platypoos")), *args, "--quiet",
                   "--workers", "1", "--out", "out"]  # fmt: skip
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("compare", "--problem", "my_module:make_model", "my_module:one_model", "--planner",
               "one-step", "random", "--budget", "10", "--seeds", "3", "--steps", "4")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "12 cells done" in done.stdout
    # Its results can be shown without the module.
    (tmp_path / "my_module.py").rename(tmp_path / "moved.py")
    assert run("report", "out").returncode != 0  # it takes no --quiet
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("platypoos")), "report", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    (tmp_path / "moved.py").rename(tmp_path / "my_module.py")
    wrong = run("compare", "--problem", "my_module:missing", "--budget", "10")
    assert wrong.returncode != 0
    assert "my_module:missing" in wrong.stderr
    assert "no_model" in run("arena", "--problem", "my_module:no_model").stderr


def test_a_file_never_names_code(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text('[[blocks]]\nproblems = ["os:getcwd"]\nplanners = ["random"]\nbudgets = [10]\n')
    with pytest.raises(pp.InvalidArgument, match="unknown problem 'os:getcwd'"):
        lab.experiments.load(path)


def test_own_problems_in_python(tmp_path):
    def make(seed):
        return pp.problems.Garnet(6, 2, seed=seed)

    planners = [pp.planners.OneStep(0.9), "random", pp.planners.UCT(0.9, horizon=5)]
    found = compare(
        {"mine": make}, planners, [10], seeds=4, steps=3, discount=0.9, out=tmp_path, workers=1,
        progress=False,
    )  # fmt: skip
    assert found.summary.done == 12
    assert "mine (total, 4 runs)" in str(found)
    assert found.report.is_file()
    assert {row["problem"] for row in found.rows.values()} == {"mine"}
    again = compare(
        {"mine": make}, planners, [10], seeds=4, steps=3, discount=0.9, out=tmp_path, workers=1,
        progress=False,
    )  # fmt: skip
    assert again.summary.done == 0
    # Each run had another instance: the same as control makes of it.
    block = found.experiment.blocks[0]
    for seed in range(4):
        cell = block.cell(block.problems[0], block.planners[0], 10, seed)
        assert dict(cell.problem.parameters) == {"seed": seed}
        episode = pp.control(
            make(seed).compiled(), planner=pp.planners.OneStep(0.9), budget=10, steps=3,
            seed=np.random.default_rng(cell.seeds()),
        )  # fmt: skip
        assert found.rows[cell.key]["total"] == pytest.approx(sum(episode.rewards))


GAMBLE = """
import platypoos as pp

def step(state, action, rng):
    return state + 1, float(action) + 0.1 * rng.normal(), False

def make_model():
    return pp.FunctionModel(step, 2, 0)
"""


def test_the_shell_python_and_the_report_say_who_is_better_in_the_same_words(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "gamble_module.py").write_text(GAMBLE)
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "--problem", "gamble_module:make_model", "--planner", "one-step",
                 "random", "--budget", "10", "--seeds", "8", "--steps", "6", "--measure", "total",
                 "--quiet", "--workers", "1", "--out", "shell"]  # fmt: skip
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    better = printed.split(PAIRED)[1].splitlines()[1]
    assert better.startswith("  N = 10: one-step is better than random by ")
    mean = float(better.split(" by ")[1].split()[0])
    from gamble_module import make_model

    found = compare(
        {"gamble_module:make_model": make_model}, ["one-step", "random"], [10], seeds=8, steps=6,
        discount=0.95, out="python", workers=1, progress=False,
    )  # fmt: skip
    assert better in str(found)
    by_planner = {}
    for row in found.rows.values():
        by_planner.setdefault(row["planner"], {})[row["seed"]] = row["total"]
    differences = [by_planner["one-step"][s] - by_planner["random"][s] for s in range(8)]
    assert mean == pytest.approx(np.mean(differences), rel=1e-3)
    assert better.strip() in (tmp_path / "shell" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("runs", [1, 5, 6])
def test_few_runs_prove_nothing(runs):
    said = verdict("one", "two", paired_difference(np.arange(runs) + 1.0, np.zeros(runs)), runs)
    assert said.startswith("one is better" if runs >= 6 else f"too few runs ({runs})")
    same = verdict("one", "two", paired_difference(np.ones(runs), np.ones(runs)), runs)
    assert same.startswith("one and two got the same")


def test_wrong_problems_and_planners_are_named(tmp_path):
    model = pp.problems.Garnet(6, 2)
    with pytest.raises(pp.InvalidArgument, match="'mine' must be a function that makes a model"):
        compare({"mine": model}, out=tmp_path)
    with pytest.raises(pp.InvalidArgument, match=r"discount 0\.5, but 0\.95 is compared"):
        compare({"mine": lambda: model}, [pp.planners.OneStep(0.5)], out=tmp_path)
    with pytest.raises(pp.InvalidArgument, match="a planner, or the name of one"):
        choice_from(3, 0.9)
    assert not (tmp_path / "results.sqlite").exists()
    assert is_own("package.module:make")
    assert not is_own("gymnasium:env=CartPole-v1")
