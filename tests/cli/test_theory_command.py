"""The command ``platypoos theory``."""

from __future__ import annotations

import json

import pytest

import platypoos as pp
from platypoos import lab
from platypoos.cli.main import main
from platypoos.lab.commands import theory as commands
from platypoos.lab.theory.measure import Point


def test_the_command(capsys, tmp_path):
    assert main(["theory", "made-to-order:kappa=2,num_actions=3,rho=0.6", "--discount", "0.8",
                 "--noise", "0.5", "--depth", "30"]) == 0  # fmt: skip
    out = capsys.readouterr().out
    for part in ("ν = 1, ρ = 0.6", "κ^u = 2.000 [", "N^u_h: 1 3 6 12", "γ²κ^u = 1.28 > 1",
                 "with 10,000 calls (n = 3,333)", "high noise", "(n/b²)^−0.403",
                 "sequool: the theorems on sequool are for rewards without noise",
                 "olop: the rate of olop is for rho = discount"):  # fmt: skip
        assert part in out
    assert main(["theory", "garnet:num_states=6,seed=2", "--discount", "0.5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    h = lab.theory.hardness(pp.problems.Garnet(6, seed=2), 0.5)
    assert result["hardness"]["kappa_u"] == h.kappa_u
    assert [row["planner"] for row in result["bounds"]] == list(commands.PLANNERS)
    assert result["bounds"][0]["bound"] == lab.theory.bound(h, budget=10_000).bound
    assert main(["theory", "switch-chain"]) == 0
    assert "all sequences are near-optimal at this depth" in capsys.readouterr().out


def test_the_figure(capsys, tmp_path):
    file = tmp_path / "new" / "regret.png"
    order = ["theory", "made-to-order:kappa=1,rho=0.8", "--discount", "0.8", "--budget", "1000",
             "--runs", "3"]  # fmt: skip
    assert main([*order, "--figure", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert str(file) in capsys.readouterr().err
    assert main([*order, "--noise", "1", "--quiet", "--figure", str(file.with_suffix(".svg"))]) == 0
    picture = file.with_suffix(".svg").read_text()
    assert "<svg" in picture
    capsys.readouterr()
    assert main([*order, "--figure", str(file.with_suffix(".pig"))]) == 2
    assert "regret.pig" in capsys.readouterr().err


def test_an_interrupted_figure_shows_what_is_done(capsys, tmp_path, monkeypatch):
    def interrupted(problem, planner, budget, runs, access):
        if budget > 300:
            raise KeyboardInterrupt
        return Point(budget, 0.1, 0.01, runs, 3)

    monkeypatch.setattr(commands, "mean_regret", interrupted)
    file = tmp_path / "regret.png"
    assert main(["theory", "garnet", "--discount", "0.5", "--figure", str(file), "--quiet"]) == 130
    assert "interrupted; the figure shows what is done" in capsys.readouterr().err
    assert file.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["garnt"], "unknown problem 'garnt'; did you mean 'garnet'?"),
        (["gymnasium:env=CartPole-v1"], "unknown problem 'gymnasium'"),
        (["garnet:noise=1"], "pass the noise as --noise"),
        (["garnet", "--rho", "0.99"], "rho must be at most the discount 0.95, got 0.99"),
        (["garnet", "--noise", "-1"], "noise must be at least 0, got -1.0"),
        (["garnet", "--budget", "1"], "budget 1 is below the number of actions 2"),
        (["garnet", "--depth", "1"], "depth must be at least 2"),
        (["garnet", "--budget", "90", "--figure", "x.png"], "a figure needs --budget above 100"),
        (["made-to-order:kappa=9"], "kappa must be at most num_actions = 2, got 9"),
    ],
)
def test_bad_commands(arguments, message, capsys):
    assert main(["theory", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
