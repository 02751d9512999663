"""Hooks and the workflow run what `make` runs, on the versions that the package names."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")


def read(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_hooks_are_the_checks_of_make_lint():
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nlint:")[1].split("\n\n")[0]
    checks = [line.strip().replace("$(BIN)", ".venv/bin") for line in lint.splitlines()[1:]]
    hooks = read(".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == checks


def test_the_workflow_tests_every_version_that_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if "Python :: 3." in c]
    job = read(".github/workflows/ci.yml")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == named
    assert [step["run"].split(" PYTHON")[0] for step in job["steps"] if "run" in step] == [
        "make lint",
        "make test",
    ]


def test_who_reports_a_mistake_is_asked_for_what_it_takes():
    asked = {field["id"] for field in read(".github/ISSUE_TEMPLATE/bug.yml")["body"]}
    assert {"version", "model", "seed"} <= asked
