"""Every code block of the README and of the site runs, and its commands exist."""

from __future__ import annotations

import re
import shlex
import sys
import types
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from pages import PAGES, ROOT, blocks


CODE = [page for page in PAGES if any(block.kind == "python" for block in blocks(page))]
SHELL = [block for page in PAGES for block in blocks(page) if block.kind == "sh"]


@pytest.fixture
def module(monkeypatch):
    """A module for the code of a page, as dataclasses and pickle want one."""
    name = "code_of_a_page"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    return sys.modules[name].__dict__


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("page", CODE)
def test_code_runs(page, module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    skipped = []
    for block in blocks(page):
        if block.kind != "python":
            continue
        if block.reason is not None:
            skipped.append(f"line {block.line}: {block.reason}")
            continue
        module["__name__"] = "__main__" if "__main__" in block.code else "code_of_a_page"
        code = "\n" * (block.line - 1) + block.code
        exec(compile(code, str(ROOT / page), "exec"), module)  # noqa: S102
    if skipped and all(block.reason for block in blocks(page) if block.kind == "python"):
        pytest.skip("; ".join(skipped))
