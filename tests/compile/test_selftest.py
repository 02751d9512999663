"""Private parts of Numba are tried before they are used; without them, plans are the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numba
import pytest

import platypoos as pp
from platypoos.compile import selftest
from platypoos.ledger.compiled import CompiledSimulator

ROOT = Path(__file__).parents[2]


@pytest.fixture
def untried():
    selftest.still_works.cache_clear()
    yield
    selftest.still_works.cache_clear()


@pytest.mark.usefixtures("untried")
def test_they_work_with_this_version():
    assert selftest.still_works()


def gone(*_):
    raise AttributeError("no such part")


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("broken", [gone, lambda *_: 0.0], ids=["raises", "wrong"])
def test_if_numba_has_changed_plans_are_interpreted_and_the_same(broken, monkeypatch):
    model = pp.problems.Garnet(12, 3, seed=1, noise=0.5).compiled()
    before = pp.plan(model, budget=200, seed=0)
    monkeypatch.setattr(selftest, "read", broken)
    selftest.still_works.cache_clear()
    monkeypatch.setattr(CompiledSimulator, "run", None)  # no machine code
    with pytest.warns(RuntimeWarning, match="machine code is not used: Numba"):
        after = pp.plan(model, budget=200, seed=0)
    assert (after.actions, after.value) == (before.actions, before.value)


def test_the_version_of_numba_is_bounded():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (asked,) = [line for line in project["dependencies"] if line.startswith("numba")]
    low, high = re.fullmatch(r"numba>=0\.(\d+),<0\.(\d+)", asked).groups()
    assert int(low) <= int(numba.__version__.split(".")[1]) < int(high)


def test_only_one_file_touches_private_parts():
    private = re.compile(r"\._(cache|set_uuid|MemoMixin|index_key|load_index)\b|_MemoMixin__uuid")
    for file in (ROOT / "src" / "platypoos").rglob("*.py"):
        if file.name != "unsafe.py":
            assert not private.search(file.read_text(encoding="utf-8")), file
