"""Experiments: specification, database, running, resuming, statistics, bad input."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import closing, contextmanager

import numpy as np
import pytest

import platypoos as pp
from platypoos.cli.main import main
from platypoos.lab import experiments
from platypoos.lab.experiments import Block, Choice, Experiment, statistics
from platypoos.lab.experiments.cells import run_cell
from platypoos.lab.experiments.store import Store, StoreError

SMALL = Experiment(
    "small",
    (
        Block(
            "garnets",
            (Choice.of("garnet", seed=1, noise=0.5), Choice.of("garnet", seed=2, noise=0.5)),
            (Choice.of("platypoos"), Choice.of("uct", "UCT", scale=1.0, horizon=10)),
            (20, 200),
            seeds=4,
            steps=3,
            discount=0.8,
        ),
    ),
)
MEASURES = ("received", "expected", "regret", "calls")


def table(folder):
    """All that the results say, without the times they took."""
    store = Store(folder)
    rows = store.rows()
    store.close()
    return {key: tuple(row[m] for m in MEASURES) for key, row in rows.items()}


def test_cells_are_what_they_contain():
    cells = SMALL.cells()
    assert len(cells) == len({cell.key for cell in cells}) == 2 * 2 * 2 * 4
    again = Experiment.from_json(SMALL.as_json())
    assert again == SMALL
    assert [cell.key for cell in again.cells()] == [cell.key for cell in cells]
    # The order of parameters and the label do not matter, values do.
    one = Choice.of("uct", "A", scale=1.0, horizon=10)
    other = Choice.of("uct", "B", horizon=10, scale=1.0)
    assert one == other
    assert one != Choice.of("uct", scale=2.0, horizon=10)


def test_planners_see_common_random_numbers():
    first, *others = SMALL.cells()
    same = [c for c in others if c.problem == first.problem and c.seed == first.seed]
    assert len(same) == 3
    assert {tuple(c.seeds().generate_state(4)) for c in [first, *same]} == {
        tuple(first.seeds().generate_state(4))
    }
    different = next(c for c in others if c.seed == 1)
    assert tuple(different.seeds().generate_state(4)) != tuple(first.seeds().generate_state(4))


def test_a_cell_is_the_control_it_stands_for():
    cell = SMALL.cells()[-1]
    row = run_cell(cell)
    problem = pp.problems.Garnet(seed=2, noise=0.5)
    episode = pp.control(
        problem.compiled(),
        planner=pp.planners.UCT(0.8, scale=1.0, horizon=10),
        budget=200,
        steps=3,
        seed=np.random.default_rng(cell.seeds()),
    )
    assert row["received"] == episode.discounted_return
    assert row["expected"] == problem.expected_return(episode.actions, 0.8)
    assert row["calls"] == episode.calls
    values = problem.action_values(0, 0.8)
    assert row["regret"] == values.max() - values[episode.actions[0]]


def test_run_and_run_again(tmp_path):
    summary = experiments.run(SMALL, tmp_path, workers=2, progress=False)
    assert (summary.done, summary.failed, summary.already) == (32, 0, 0)
    before = table(tmp_path)
    assert len(before) == 32
    summary = experiments.run(SMALL, tmp_path, workers=1, progress=False)
    assert (summary.done, summary.failed, summary.already) == (0, 0, 32)
    # A larger experiment computes only what is missing, and changes nothing.
    block = SMALL.blocks[0]
    larger = Experiment("larger", (Block(**{**vars(block), "budgets": (20, 200, 300)}),))
    summary = experiments.run(larger, tmp_path, workers=1, progress=False)
    assert (summary.done, summary.already) == (16, 32)
    after = table(tmp_path)
    assert {key: after[key] for key in before} == before
    # Another one is refused, unless asked for.
    with pytest.raises(pp.InvalidArgument, match="16 of its 48 cells are not in this one, 'small'"):
        experiments.run(SMALL, tmp_path, progress=False)
    assert experiments.run(SMALL, tmp_path, extend=True, progress=False).already == 32
    assert table(tmp_path) == after


FAILING = """
name = "failing"
[[blocks]]
problems = [{name = "garnet", seed = 1}]
planners = ["platypoos", "uniform"]
budgets = [50]
seeds = 2
steps = 1
"""


def test_a_failing_cell_is_recorded_and_the_others_go_on(tmp_path, capsys, monkeypatch):
    from platypoos.lab.experiments import cells, runner

    real = cells.run_cell

    def fails(cell, makers):
        if cell.planner.name == "uniform" and cell.seed == 1:
            message = "out of luck"
            raise ZeroDivisionError(message)
        return real(cell, makers)

    def in_this_process(missing, workers, cluster, makers):
        yield missing, cells.run_cells(missing, makers)

    monkeypatch.setattr(cells, "run_cell", fails)
    monkeypatch.setattr(runner, "_results", in_this_process)
    file = tmp_path / "grid.toml"
    file.write_text(FAILING)
    command = ["compare", "--file", str(file), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert "3 cells done" in captured.out
    assert "N = " in captured.out  # the table of means
    assert "1 cells failed" in captured.err
    page = (tmp_path / "out" / "report.html").read_text()
    assert "out of luck" in page
    assert "ZeroDivisionError" in page
    assert main(command) == 1  # it is not tried again, nor forgotten…
    assert "1 had FAILED before" in capsys.readouterr().out
    monkeypatch.setattr(cells, "run_cell", real)
    assert main([*command, "--retry-failed"]) == 0  # …unless asked for
    assert "1 cells done" in capsys.readouterr().out
    assert len(table(tmp_path / "out")) == 4


class KilledWorker(Exception):
    """As Dask calls it: several workers died with a task, so it is given up."""


@pytest.mark.parametrize("losses", [4, 100])
def test_what_a_cluster_gives_up_is_sent_out_again(losses, tmp_path, monkeypatch):
    left = [losses]

    class Cluster:
        def submit(self, function, *args):
            future = Future()
            if left[0]:
                left[0] -= 1
                future.set_exception(KilledWorker("all those workers died"))
            else:
                future.set_result(function(*args))
            return future

    @contextmanager
    def executor(workers, cluster):
        yield Cluster(), 2

    monkeypatch.setattr("platypoos.lab.experiments.runner._executor", executor)
    if losses > 5:
        with pytest.raises(pp.PlatypoosError, match="died 6 times in a row; all results so far"):
            experiments.run(SMALL, tmp_path / "lost", cluster="somewhere", progress=False)
        return
    experiments.run(SMALL, tmp_path / "lost", cluster="somewhere", progress=False)
    assert left == [0]
    experiments.run(SMALL, tmp_path / "quiet", workers=1, progress=False)
    assert table(tmp_path / "lost") == table(tmp_path / "quiet")


def wait_for_rows(folder, number, process):
    end = time.time() + 60
    while time.time() < end and process.poll() is None:
        try:
            with closing(sqlite3.connect(folder / "results.sqlite", timeout=5)) as db:
                if db.execute("SELECT count(*) FROM cells").fetchone()[0] >= number:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--planner", "platypos"], "unknown planner 'platypos'; did you mean 'platypoos'?"),
        (["--problem", "garnett"], "unknown problem 'garnett'; did you mean 'garnet'?"),
        (["--planner", "olop:reward_mx=1"], "did you mean 'reward_max'?"),
        (["--planner", "olop"], "it needs reward range, noise range"),
        (["--planner", "olop:130"], "parameters are written NAME=VALUE, got '130'"),
        (["--budget", "1"], "budget 1 is below the number of actions 2"),
        (["--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["--discount", "1"], "discount must be in [0, 1)"),
        (["--workers", "0"], "workers must be a whole number of at least 1"),
        (["--problem", "gymnasium:env=FrozenLake-v1"], "cannot react to chance"),
        (["--problem", "gymnasium:env=LunarLander-v3"], "can only be reset"),
        (["--problem", "gymnasium:env=CartPole-v1", "--measure", "regret"], "is not known"),
        (["--problem", "gymnasium:env=3"], "env must be an id such as"),
        (["--file", "x.toml", "--seeds", "3"], "not both"),
        (["--file", "nowhere.toml"], "nowhere.toml"),
        (["--file", "x.toml", "--planner", "opd"], "not both"),
        (["--cluster", "tcp://127.0.0.1:9"], "no Dask scheduler answers at tcp://127.0.0.1:9"),
    ],
)
def test_bad_arguments(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("platypoos.lab.experiments.runner.CLUSTER_SECONDS", 1)
    out = ["--out", str(tmp_path / "out"), "--quiet"]
    assert main(["compare", *arguments, *out]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not an experiment"),
        ("[[blocks]]\nproblem = ['garnet']", "unknown entry of a block 'problem'; did you mean"),
        ("[[blocks]]\nplanners = ['platypoos']\nbudgets = [10]", "has no problem"),
        ("name = 'empty'", "has no blocks"),
        ("[[blocks]]\nproblems = [{seed = 1}]", "is a name, or a table with one"),
        ("[[blocks]]\nproblems = 'garnet'", "problems must be a list, got 'garnet'"),
        ("[[blocks]]\nbudgets = 100", "budgets must be a list, got 100"),
        ("[blocks]\nseeds = 1", r"write \[\[blocks\]\]"),
        ("seeds = 2", "unknown entry of an experiment 'seeds'"),
        (
            "[[blocks]]\nproblems=['garnet']\nplanners=['platypoos']\nbudgets=[10.5]",
            "budget must be a whole number",
        ),
    ],
)
def test_bad_files(text, message, tmp_path):
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(pp.InvalidArgument, match=message):
        experiments.load(tmp_path / "grid.toml")


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("'named_code:make'", "unknown problem 'named_code:make'"),
        ("{name = 'named_code:make'}", "unknown problem"),
        ("{name = 'gymnasium', env = 'named_code:CartPole-v1'}", "would import a module"),
    ],
)
def test_a_file_cannot_name_code(problem, message, tmp_path, monkeypatch):
    (tmp_path / "named_code.py").write_text("raise SystemExit('was imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    grid = f"[[blocks]]\nproblems=[{problem}]\nplanners=['random']\nbudgets=[10]"
    (tmp_path / "grid.toml").write_text(grid)
    with pytest.raises(pp.InvalidArgument, match=message):
        experiments.load(tmp_path / "grid.toml")
    assert "named_code" not in sys.modules


def test_a_directory_without_results(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "there are no results in" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "nowhere"), "x.csv"]) == 2
    assert not (tmp_path / "nowhere").exists()


def test_databases_that_are_none(tmp_path):
    (tmp_path / "results.sqlite").write_bytes(b"not a database" * 100)
    before = (tmp_path / "results.sqlite").read_bytes()
    for create in (True, False):
        with pytest.raises(StoreError, match=r"is damaged .* left as it is"):
            Store(tmp_path, create=create)
    assert (tmp_path / "results.sqlite").read_bytes() == before
    other = tmp_path / "other"
    other.mkdir()
    with closing(sqlite3.connect(other / "results.sqlite")) as db, db:
        db.execute("CREATE TABLE cats (name TEXT)")
    before = (other / "results.sqlite").read_bytes()
    for create in (True, False):
        with pytest.raises(StoreError, match="another kind of database"):
            Store(other, create=create)
    assert (other / "results.sqlite").read_bytes() == before


def test_a_database_that_would_run_something(tmp_path):
    Store(tmp_path, create=True).close()
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as db, db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON cells BEGIN DELETE FROM facts; END")
    for create in (True, False):
        with pytest.raises(StoreError, match="has triggers or views"):
            Store(tmp_path, create=create)


def test_a_database_of_another_version(tmp_path):
    store = Store(tmp_path, create=True)
    store.set_fact("schema", "99")
    store.close()
    with pytest.raises(StoreError, match=r"another version \(its schema is 99, this one's 2\)"):
        experiments.run(SMALL, tmp_path, progress=False)


def test_a_full_disk_keeps_what_is_there(tmp_path):
    experiments.run(SMALL, tmp_path, workers=1, progress=False)
    before = table(tmp_path)
    store = Store(tmp_path, create=True)
    pages = store.db.execute("PRAGMA page_count").fetchone()[0]
    store.db.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own "disk full"
    cells = [
        SMALL.blocks[0].cell(SMALL.blocks[0].problems[0], Choice.of("platypoos"), 20, seed)
        for seed in range(100, 400)
    ]
    rows = [{"key": cell.key, "status": "done", "error": "x" * 500} for cell in cells]
    with pytest.raises(StoreError, match="the disk is full"):
        store.add(cells, rows)
    store.close()
    assert table(tmp_path) == before


def test_export(tmp_path, capsys):
    experiments.run(SMALL, tmp_path, workers=1, progress=False)
    for name in ("rows.csv", "rows.parquet"):
        assert main(["export", str(tmp_path), str(tmp_path / name)]) == 0
        assert "32 rows" in capsys.readouterr().out
    from pyarrow import csv, parquet

    text, binary = (
        csv.read_csv(tmp_path / "rows.csv"),
        parquet.read_table(tmp_path / "rows.parquet"),
    )
    assert text.num_rows == binary.num_rows == 32
    assert text["expected"].to_pylist() == binary["expected"].to_pylist()
    assert main(["export", str(tmp_path), str(tmp_path / "rows.xlsx")]) == 2


def test_statistics_against_known_values():
    rng = np.random.default_rng(0)
    sample = rng.normal(3.0, 2.0, 400)
    found = statistics.mean_interval(sample)
    error = 1.96 * sample.std() / 20
    assert found.mean == pytest.approx(sample.mean())
    assert found.low == pytest.approx(sample.mean() - error, abs=0.03)
    assert found.high == pytest.approx(sample.mean() + error, abs=0.03)
    # Paired: noise that is common to both cancels.
    difference = statistics.paired_difference(sample + 0.5, sample)
    assert (difference.mean, difference.low, difference.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (
        statistics.probability_of_improvement(np.array([1.0, 2.0]), np.array([0.0, 1.0])) == 0.875
    )
    assert statistics.interquartile_mean(np.array([-100.0, 1.0, 3.0, 100.0])) == 2.0


def test_ctrl_c_ends_all_workers_at_once(tmp_path):
    # Each cell would take minutes; 30 s are for a busy machine.
    command = [
        *(sys.executable, "-m", "platypoos", "compare", "--problem", "gymnasium:env=CartPole-v1"),
        *("--planner", "platypus", "--budget", "1000000", "--seeds", "4", "--workers", "2"),
        *("--out", str(tmp_path / "out")),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    time.sleep(6.0)  # workers are importing, or at work
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "what is done is kept" in said
    assert "Traceback" not in said
