"""Kill experiments again and again, go on, and compare the results with those of a quiet run.

python benchmarks/kills.py                  # a hundred SIGKILLs of `platypoos compare`
python benchmarks/kills.py --cluster        # Dask: four workers, one killed every 3 s
python benchmarks/kills.py --kills 5 --seeds 10      # a small one
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

PROBLEMS = ("switch-chain:noise=10", "garnet:seed=3,noise=1", "garnet:seed=4,num_actions=3", "grid")
PLANNERS = (
    "platypoos", "olop:reward_max=130,noise=10", "uct:scale=auto,horizon=20", "random",
    "sequence-search", "one-step", "cem",
)  # fmt: skip
BUDGETS = (20, 50, 200, 500, 1_000, 2_000)
MEASURED = "key, status, received, expected, total, regret, calls"
"""All columns of a result but the seconds it took, and when."""


def random_grid(draw: random.Random, seeds: int) -> list[str]:
    """The arguments of ``platypoos compare`` for a random grid."""
    return [
        "compare", "--problem", *draw.sample(PROBLEMS, 2), "--planner", *draw.sample(PLANNERS, 3),
        "--budget", *map(str, sorted(draw.sample(BUDGETS, 3))), "--seeds", str(seeds),
        "--steps", str(draw.randint(2, 8)), "--discount", "0.9", "--quiet",
    ]  # fmt: skip


def start(arguments: list[str], out: Path) -> subprocess.Popen[bytes]:
    """Run a command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "platypoos", *arguments, "--out", str(out)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )


def table(folder: Path) -> list[tuple[Any, ...]]:
    """All results of a directory, in their order."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as db:
        return db.execute(f"SELECT {MEASURED} FROM cells ORDER BY key").fetchall()  # noqa: S608


def rows_in(folder: Path) -> int:
    """How many results there are already."""
    try:
        with closing(sqlite3.connect(folder / "results.sqlite", timeout=5)) as db:
            return int(db.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def kill_and_go_on(arguments: list[str], out: Path, kills: int, draw: random.Random) -> int:
    """Start a command, kill it at a random moment, and so on; then let it end.

    Every other time it is killed soon after its start; else after it has written some rows.
    """
    killed = 0
    while killed < kills:
        process = start(arguments, out)
        wanted = rows_in(out) + draw.choice((0, 0, 1, 5, 20))
        early = draw.random() < 0.5
        moment = time.monotonic() + draw.uniform(0.0, 3.0)
        while process.poll() is None and time.monotonic() < moment + 60:
            if (early and time.monotonic() > moment) or (not early and rows_in(out) > wanted):
                break
            time.sleep(0.01)
        if process.poll() is not None:
            break  # all is done
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        killed += 1
    assert start(arguments, out).wait() == 0
    return killed


def by_kills(kills: int, seeds: int, seed: int, folder: Path) -> int:
    """Kill runs of random grids until there were ``kills``; the number of grids."""
    draw = random.Random(seed)  # noqa: S311
    done = grids = 0
    while done < kills:
        arguments = [*random_grid(draw, seeds), "--workers", "2"]
        quiet, disturbed = folder / f"quiet-{grids}", folder / f"killed-{grids}"
        assert start(arguments, quiet).wait() == 0
        killed = kill_and_go_on(arguments, disturbed, min(kills - done, 25), draw)
        done += killed
        grids += 1
        whole = table(quiet)
        assert table(disturbed) == whole, f"{arguments}: the tables differ"
        print(f"grid {grids}: {len(whole)} cells, killed {killed} times, the tables are identical")
    return grids


@contextmanager
def scheduler() -> Iterator[str]:
    """A Dask scheduler in a process; its address."""
    options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    found = None
    for line in process.stderr:
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", line)
        if found:
            break
    assert found, "the scheduler did not start"
    try:
        yield found.group(1)
    finally:
        process.kill()
        process.wait()


def start_worker(address: str) -> subprocess.Popen[bytes]:
    """A worker of a Dask cluster."""
    command = ["-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"]
    return subprocess.Popen([sys.executable, *command, "--no-dashboard"], stderr=subprocess.DEVNULL)


def by_cluster(workers: int, every: float, seeds: int, seed: int, folder: Path) -> int:
    """Run a grid on a cluster whose workers are killed and replaced; how many were killed."""
    draw = random.Random(seed)  # noqa: S311
    arguments = random_grid(draw, seeds)
    assert start([*arguments, "--workers", "2"], folder / "quiet").wait() == 0
    killed = 0
    with scheduler() as address:
        crew = [start_worker(address) for _ in range(workers)]
        process = start([*arguments, "--cluster", address], folder / "cluster")
        try:
            rows = 0  # when the last one was killed: else a slow machine never gets anywhere
            while process.poll() is None:
                time.sleep(every)
                before, rows = rows, rows_in(folder / "cluster")
                if process.poll() is None and rows > before:
                    victim = crew.pop(draw.randrange(len(crew)))
                    victim.kill()
                    victim.wait()
                    killed += 1
                    crew.append(start_worker(address))
        finally:
            for worker in crew:
                worker.kill()
                worker.wait()
        assert process.returncode == 0
    whole = table(folder / "quiet")
    assert table(folder / "cluster") == whole, f"{arguments}: the tables differ"
    print(f"cluster of {workers}: {len(whole)} cells, {killed} workers killed, tables identical")
    return killed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100, help="(default: 100)")
    parser.add_argument("--seeds", type=int, default=40, help="of each cell (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="of the grids and moments (default: 0)")
    parser.add_argument("--cluster", action="store_true", help="kill workers of a Dask cluster")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two (default: 3)")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if options.cluster:
            by_cluster(4, options.every, options.seeds, options.seed, Path(folder))
        else:
            grids = by_kills(options.kills, options.seeds, options.seed, Path(folder))
            print(f"{options.kills} kills, {grids} grids, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
