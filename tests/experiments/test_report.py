"""The report, opened in a real headless Chromium, and the paper's claims on the quick run."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import platypoos as pp
from platypoos.lab.experiments import Block, Choice, Experiment, compare, paper, run, write_report
from platypoos.lab.experiments.lines import across_problems, differences, lines
from platypoos.lab.experiments.standings_page import markdown_table
from platypoos.lab.experiments.store import Store


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """``platypoos paper --quick``, once."""
    out = tmp_path_factory.mktemp("paper")
    command = ["paper", "--quick", "--out", str(out), "--quiet"]
    subprocess.run([sys.executable, "-m", "platypoos.cli.main", *command], check=True)
    return out


def few():
    """The panels of ``platypoos paper --quick`` with two budgets and two seeds."""
    experiment = paper()
    blocks = (
        dataclasses.replace(block, budgets=block.budgets[:2], seeds=2)
        for block in experiment.blocks
    )
    return dataclasses.replace(experiment, blocks=tuple(blocks))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Their report."""
    out = tmp_path_factory.mktemp("few")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["platypoos", "paper", "--quick"])
        run(few(), out, workers=1, progress=False)
    write_report(out)
    return out


def table_rows(folder):
    store = Store(folder)
    found = store.rows()
    store.close()
    return found


@pytest.fixture(scope="module")
def rows(quick):
    return table_rows(quick)


@pytest.mark.slow
def test_the_papers_claims(rows):
    experiment = paper()
    assert len(experiment.blocks) == 10
    compared = 0
    for block in experiment.blocks[:3]:  # b = 1, 10, 20
        ours, olop, _ = lines(block, block.problems[0], rows)
        for budget, (difference, _) in differences(ours, olop).items():
            if budget >= 1_000:
                assert difference.low > 0, (block.title, budget)
                compared += 1
    assert compared == 9
    # What OLOP is told matters a lot; PlaTγPOOS is told nothing, and its line is one and the same.
    for block in experiment.blocks[4:6]:
        ours, *told, _ = lines(block, block.problems[0], rows)
        means = [line.intervals()[10_000].mean for line in told]
        assert np.ptp(means) > 20, block.title
        assert ours.intervals()[10_000].mean > max(means)
        plain = lines(experiment.blocks[1], experiment.blocks[1].problems[0], rows)[0]
        assert ours.runs == plain.runs


def test_the_pictures(small):
    assert (small / "figure.png").read_bytes().startswith(b"\x89PNG")
    svg = (small / "figure.svg").read_text()
    assert "<svg" in svg


def test_the_page_holds_everything(small):
    page = (small / "report.html").read_text(encoding="utf-8")
    for block in paper().blocks:
        assert block.title in page
    cells = len({cell.key for block in few().blocks for cell in block.cells()})
    assert f"{cells} of {cells} cells done, 0 failed" in page
    assert "paired by seed" in page
    assert "--quick" in page  # the command
    assert "src=" not in page.split("</script>", 1)[1]  # nothing is fetched from elsewhere


def test_the_arena_in_a_browser(browser, tmp_path):
    command = ["arena", "--family", "loops", "traps", "--planner", "one-step", "uniform",
               "--seeds", "12", "--workers", "1", "--quiet", "--out", str(tmp_path)]  # fmt: skip
    subprocess.run([sys.executable, "-m", "platypoos.cli.main", *command], check=True)
    browser.get((tmp_path / "report.html").as_uri())
    assert browser.get_log("browser") == []
    titles = [t.text for t in browser.find_elements("css selector", "h2")]
    assert titles[:2] == [
        "Scores, all problems",
        "Where planners are significantly worse than others",
    ]
    rows = browser.find_elements("css selector", "table")[0].find_elements("css selector", "tr")
    assert rows[0].text.split() == ["planner", "all", "traps", "loops"]
    assert {row.text.split()[0] for row in rows[1:]} == {"OneStep", "Uniform", "Random"}
    assert len(browser.find_elements("css selector", "#profile .scatterlayer .trace")) == 3
    # Random actions are significantly worse on some problem; the list opens by a click.
    lists = browser.find_elements("css selector", "details.worse")
    opened = next(one for one in lists if one.text == "Random")
    browser.execute_script("arguments[0].scrollIntoView()", opened)
    opened.find_element("css selector", "summary").click()
    assert "traps/one-off-tree, N = 1,000 Uniform" in opened.text
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_the_page_in_a_browser(small, browser):
    browser.get((small / "report.html").as_uri())
    figures = browser.find_elements("css selector", ".figure")
    assert len(figures) == 10
    for figure in figures:
        assert figure.find_elements("css selector", ".scatterlayer .trace path.js-line")
    assert browser.get_log("browser") == []
    # A click on a legend entry hides its line, and its band.
    first = figures[0]
    assert [t.text for t in first.find_elements("css selector", ".legendtext")] == [
        "PlaTγPOOS",
        "OLOP",
        "Platypus (the default)",
    ]
    drawn = len(first.find_elements("css selector", ".scatterlayer .trace"))
    assert drawn == 6
    browser.execute_script("arguments[0].scrollIntoView()", first)
    first.find_elements("css selector", ".legendtoggle")[1].click()
    hidden = []
    for _ in range(50):  # a click waits for a second one before it acts
        hidden = browser.execute_script(
            "return arguments[0].data.filter(t => t.visible === 'legendonly').length", first
        )
        if hidden:
            break
        browser.execute_async_script("setTimeout(arguments[0], 100)")
    assert hidden == 2
    assert len(first.find_elements("css selector", ".scatterlayer .trace")) == 4
    assert browser.get_log("browser") == []


def test_several_problems_are_summed_up(tmp_path):
    block = Block(
        "grids & garnets",
        (Choice.of("garnet", seed=1), Choice.of("garnet", seed=2), Choice.of("grid")),
        (Choice.of("sequool"), Choice.of("random", "<at random>")),
        (50, 500),
        seeds=3,
        steps=5,
        measure="regret",
    )
    run(Experiment("several", (block,)), tmp_path, workers=1, progress=False)
    page = write_report(tmp_path)[0].read_text(encoding="utf-8")
    assert "grids &amp; garnets: all problems" in page
    assert "interquartile mean" in page
    assert "&lt;at random&gt;" in page
    # Less regret is better: the planner is likely to improve on chance, and scores near 1.
    ours, chance = lines(block, block.problems[0], table_rows(tmp_path))
    assert differences(ours, chance, block.sign)[500][1] >= 0.5
    scores = across_problems(block, table_rows(tmp_path))
    assert scores["sequool"][500] > scores["<at random>"][500]
    settings = json.loads(Experiment("several", (block,)).as_json())
    assert settings["blocks"][0]["measure"] == "regret"


HOSTILE = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"


def fine():
    return pp.problems.Garnet(5, 2, seed=1)


def failing():
    def step(state, action, rng):
        raise ValueError(HOSTILE)

    return pp.FunctionModel(step, 2, 0)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report in which everything that has a name is called like a script."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    planners = [Choice.of("random", HOSTILE), Choice.of("uniform", r"$\frac{ <b>{% $x$ %}</b>")]
    makers = {f"<script>{HOSTILE}": fine, f"failing {HOSTILE}": failing}
    compare(makers, planners, [4], seeds=2, steps=2, out=tmp_path, workers=1, progress=False)
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as db, db:
        db.execute("INSERT INTO facts VALUES (?, ?)", (HOSTILE, HOSTILE))
    return write_report(tmp_path)[0]


def test_names_and_tracebacks_are_quoted(hostile):
    page = hostile.read_text(encoding="utf-8")
    body = page[page.index("</head>") :]
    assert "window.hit" in body
    assert "ValueError" in body
    assert "<script>window" not in body
    assert "<img" not in body


@pytest.mark.browser
def test_names_and_tracebacks_are_shown_and_not_run(hostile, browser):
    browser.get(hostile.as_uri())
    assert browser.execute_script("return window.hit") is None
    assert browser.get_log("browser") == []
    assert len(browser.find_elements("css selector", "img")) == 0
    titles = [title.text for title in browser.find_elements("css selector", "h2")]
    assert f"<script>{HOSTILE}" in titles
    legend = browser.find_elements("css selector", "#figure-0 .legendtext")
    assert legend[0].get_attribute("textContent") == HOSTILE
    assert legend[1].get_attribute("textContent") == r"$\frac{ <b>{% $x$ %}</b>"


def test_names_in_markdown_are_quoted():
    table = markdown_table(["planner"], [[f"a|b {HOSTILE}"]])
    assert table[2] == f"| a\\|b {HOSTILE.replace('<', '&lt;').replace('>', '&gt;')} |"
