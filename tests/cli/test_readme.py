"""The README's code runs, and says the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.slow
def test_every_block_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 10
    names: dict[str, object] = {}
    exec(blocks[0], names)  # noqa: S102
    plan = names["plan"]
    assert (plan.action, plan.calls) == (0, 10_000)
    exec(blocks[1], names)  # noqa: S102
    assert names["episode"].calls == 20_000
    exec(blocks[2], names)  # noqa: S102
    assert names["plan"].actions[:3] == (1, 1, 1)
    exec(blocks[3], names)  # noqa: S102
    assert names["plan"].actions == (0, 1, 2, 3)
    exec(blocks[4], names)  # noqa: S102
    assert names["plan"].calls <= 1_000
    monkeypatch.chdir(tmp_path)
    exec(blocks[5], names)  # noqa: S102
    assert "CartPole-v1: safe" in capsys.readouterr().out
    assert len(names["episode"].actions) == 10
    exec(blocks[6], names)  # noqa: S102
    assert names["agent"].steps == 5
    assert names["plan"].calls >= 1
    assert {path.name for path in tmp_path.iterdir()} == {"cartpole.gif", "cartpole.json"}
    names["__name__"] = "__main__"
    exec(blocks[8], names)  # noqa: S102
    assert names["found"].summary.done == 15
    assert "mine (total, 5 runs)" in capsys.readouterr().out
    exec(blocks[9], names)  # noqa: S102
    h = names["h"]
    assert (round(h.nu, 2), h.rho, h.kappa_u) == (1.16, 0.5, 1.0)
    said = re.findall(r"# '(.*?)': ", blocks[9])
    calls = re.findall(r"^pp\.theory\.bound\(.*?\)\.rate", blocks[9], re.MULTILINE)
    assert said == [eval(call, names) for call in calls]  # noqa: S307
    assert len(said) == 2


def test_the_page_on_simulators_is_true():
    page = (Path(__file__).parents[2] / "docs" / "simulators.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    exec(blocks[0], names)  # noqa: S102
    assert names["episode"].actions == (1, 2, 3, 4, 5)
    for block in (blocks[1], blocks[3]):
        exec(block, names)  # noqa: S102
        assert names["episode"].terminated
    exec(blocks[2], names)  # noqa: S102
    assert (len(names["few"]), len(names["more"])) == (13, 15)
    assert names["model"].action_names[:3] == ("(0, 0, 0)", "(-1, 0, 0)", "(1, 0, 0)")


def test_no_placeholder_is_left():
    assert not re.search(r"[A-Z]+_[A-Z]+", README.replace("PLATYPOOS_COMPILE", ""))
