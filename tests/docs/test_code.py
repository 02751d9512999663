"""Every code block of the README and of the site runs and says the truth; its commands exist."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import types

import pytest
from pages import PAGES, ROOT, Block, blocks

from platypoos.cli.main import _parser
from platypoos.planners import available

CODE = [page for page in PAGES if any(block.kind == "python" for block in blocks(page))]
NAME = "code_of_a_page"
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def module(monkeypatch):
    """A module for the code of a page: dataclasses and pickle look for one."""
    monkeypatch.setitem(sys.modules, NAME, types.ModuleType(NAME))
    return sys.modules[NAME].__dict__


def promised(block: Block) -> dict[int, object]:
    """Values that comments promise, by the line of an expression: ``plan.calls  # 1000``.

    What follows a colon in such a comment explains the value.
    """
    lines = block.code.splitlines()
    found = {}
    for statement in ast.parse(block.code).body:
        comment = lines[statement.end_lineno - 1].partition("  # ")[2]
        if isinstance(statement, ast.Expr) and comment:
            try:
                found[statement.lineno] = ast.literal_eval(comment.split(": ")[0])
            except (SyntaxError, ValueError):
                continue  # a remark in words
    return found


def is_as_said(value: object, said: object) -> bool:
    """Whether they are the same; numbers with a fraction may be rounded."""
    if isinstance(said, tuple | list):
        pairs = zip(value, said, strict=False)
        return len(value) == len(said) and all(is_as_said(*pair) for pair in pairs)
    return value == (pytest.approx(said, rel=0.01) if isinstance(said, float) else said)


def run(block: Block, names: dict[str, object]) -> list[int]:
    """Run a block, and return the lines whose promises were checked."""
    names["__name__"] = "__main__" if "__main__" in block.code else NAME
    promises = promised(block)
    for statement in ast.parse(block.code).body:
        tree = ast.Module([statement], [])
        ast.increment_lineno(tree, block.line - 1)
        if isinstance(statement, ast.Expr):
            value = eval(  # noqa: S307
                compile(ast.Expression(statement.value), str(ROOT / block.page), "eval"), names
            )
            line = statement.lineno - block.line + 1
            if line in promises:
                where = f"{block.page}, line {statement.lineno}"
                assert is_as_said(value, promises[line]), f"{where}: {value!r}"
        else:
            exec(compile(tree, str(ROOT / block.page), "exec"), names)  # noqa: S102
    return list(promises)


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("page", CODE)
def test_code_runs(page, module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.kind == "python" and block.reason is None:
            run(block, module)


def test_a_wrong_promise_is_found(module):
    block = Block("README.md", 1, "python", "x = 1\nx + 1  # 2: two\nx  # two\n", None)
    assert run(block, module) == [2]
    with pytest.raises(AssertionError, match=r"README.md, line 1"):
        run(Block("README.md", 1, "python", "1 + 1  # 3\n", None), module)


def test_promises_are_checked_in_the_readme():
    assert sum(len(promised(block)) for block in blocks("README.md") if block.kind == "python") == 6


COMMANDS = [
    (block.page, line.split("  # ")[0].strip())
    for page in PAGES
    for block in blocks(page)
    if block.kind == "sh"
    for line in block.code.replace("\\\n", " ").splitlines()
    if line.strip() and not line.lstrip().startswith("#")
]


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_command_exists(page, command, capsys):
    words = shlex.split(command, comments=True)
    program = words[0].removeprefix(".venv/bin/")
    if program == "platypoos":
        if "dice" in words:
            pytest.skip("the toy planner of the recipe is not part of the library")
        try:
            _parser().parse_args(words[1:])
        except SystemExit:
            pytest.fail(f"{page}: {command}\n{capsys.readouterr().err}")
    elif program == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif program == "python":
        assert (ROOT / words[1]).is_file()
    elif program == "pip":
        extras = re.findall(r"\[(.*?)\]", command)
        known = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        for extra in ",".join(extras).split(",") if extras else ():
            assert f"\n{extra} = [" in known
    else:
        assert program in {"pytest", "apt-get"}, f"{page}: {command}"


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_no_placeholder_is_left():
    assert not re.search(r"[A-Z]+_[A-Z]+|TODO|FIXME", README)


def arena_rows() -> dict[str, list[str]]:
    """The rows of the tables of the arena's results, by planner."""
    text = (ROOT / "docs/results/arena.md").read_text(encoding="utf-8")
    rows: dict[str, list[str]] = {}
    for line in text.split("## Problems")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 3:
            rows.setdefault(cells[0], []).extend(cells[1:])
    return rows


def test_the_readme_says_what_the_arena_found():
    rows = arena_rows()
    head = rows["planner"]
    table = README.split("| | platypoos | UCT |")[1].split("\n\n")[0]
    planners = ["Platypus", "UCT", "CEM", "RolloutIW", "GumbelMCTS"]
    compared = 0
    for line in table.splitlines()[2:]:
        title, *cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        if title.startswith("mean"):
            column = "all"
        elif title.startswith("significantly"):
            column = "significantly worse than someone"
        else:
            column = re.search(r"\(([a-z-]+)\)$", title)[1]
        assert cells == [rows[planner][head.index(column)] for planner in planners], title
        compared += 1
    assert compared == 4


def means_of(page: str, columns: int) -> dict[str, list[float]]:
    """The first table of a results page: a mean for each planner and number of calls."""
    text = (ROOT / "docs/results" / page).read_text(encoding="utf-8")
    lines = text.split("|\n| ---", 1) if "|\n| ---" in text else text.split("|\n|---", 1)
    rows = {}
    for line in lines[1].split("\n\n")[0].splitlines()[1:]:
        name, *cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        rows[name] = [float(cell.split(" ")[0]) for cell in cells[:columns]]
    return rows


def test_the_readme_says_what_was_found_in_boxes_and_under_chance():
    table = README.split("| | platypoos | CEM (iCEM) |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")][1:] for line in table]
    boxes, chance = means_of("continuous.md", 4), means_of("chance.md", 3)
    names = ["Platypus", "CEM", "MPPI", "PredictiveSampling"]
    for row, column in ((rows[0], 1), (rows[1], 3)):
        assert row == [*(f"{boxes[name][column]:.2f}" for name in names), "–"]
    for row, column in ((rows[2], 1), (rows[3], 2)):
        assert row[0] == f"{1 - chance['Platypus'][column]:.2f}"
        assert row[-1] == f"{1 - chance['UCT, walks of 3 steps'][column]:.2f}"


SENTENCES = {  # what pages say of the arena: {planner column} stands for a figure of its tables
    "docs/results/index.md": (
        "mean score {Platypus all} of 1, the next {UCT all}; significantly worse than another "
        "planner on {Platypus significantly worse than someone} problems"
    ),
    "docs/paper.md": (
        "`PlaTyPOOS` scores {PlaTγPOOS all}, UCT {UCT all} and our default planner {Platypus all}"
    ),
    "docs/concepts/access.md": (
        "it scores {PlaTγPOOS slippery}, `UCT` {UCT slippery} and the default planner "
        "{Platypus slippery}"
    ),
}


@pytest.mark.parametrize("page", SENTENCES)
def test_pages_say_what_the_arena_found(page):
    rows = arena_rows()

    def figure(match: re.Match[str]) -> str:
        planner, column = match[1].split(" ", 1)
        return rows[planner][rows["planner"].index(column)]

    sentence = re.sub(r"\{(.*?)\}", figure, SENTENCES[page])
    assert sentence in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/results/index.md"])
def test_pages_say_what_was_found_in_atari_games(page):
    results = (ROOT / "docs/results/atari.md").read_text(encoding="utf-8")
    won = re.search(r"above the published score \| \| \| \| (\d+ of \d+)", results)[1]
    assert f" {won} games" in (ROOT / page).read_text(encoding="utf-8")


def test_the_table_of_planners_has_none_that_is_not_there():
    table = (ROOT / "docs/planners/index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(list/([a-z-]+)\.md\)", table)) <= set(available())
