"""The examples run."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "own_simulator": ["ready to plan with", "first action: heat", "480,000 calls"],
    "real_time": ["50 steps upright"],
}


def test_all_are_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("example", SAYS)
def test_example(example, capsys):
    runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    out = capsys.readouterr().out
    for words in SAYS[example]:
        assert words in out
