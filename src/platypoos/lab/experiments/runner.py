"""Run what is missing of an experiment, on all cores or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from platypoos.checks import check_count
from platypoos.errors import InvalidArgument, PlatypoosError
from platypoos.lab.experiments.cells import Row, run_cells
from platypoos.lab.experiments.spec import NO_MAKERS, PROBLEMS, Cell, Experiment, Makers
from platypoos.lab.experiments.store import Store
from platypoos.models.gymnasium.snapshots import pickled
from platypoos.progress import progress_bar
from platypoos.version import install

CALLS_PER_CHUNK = 2_000_000
"""Compiled calls of a chunk of cells that is sent to a worker: less than a second of work."""
SLOW = 100
"""A call of a Python model counts as this number of compiled ones."""
CLUSTER_SECONDS = 20
"""How long a scheduler may take to answer."""
DEATHS = 5
"""Times in a row that workers may die before the run gives up."""


@dataclass(frozen=True)
class Summary:
    """What a run did."""

    done: int
    failed: int
    already: int
    failed_before: int
    calls: int
    seconds: float

    def __str__(self) -> str:
        """One line."""
        text = f"{self.done} cells done in {self.seconds:.1f} s, {self.already} were there already"
        rate = self.calls / max(self.seconds, 1e-9)
        if rate > 5e4:
            text += f"; {rate / 1e6:.1f} million calls per second"
        if self.failed:
            text += f"; {self.failed} FAILED"
        if self.failed_before:
            text += f"; {self.failed_before} had FAILED before"
        return text


def run(
    experiment: Experiment,
    out: Path | str,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    extend: bool = False,
    progress: bool = True,
    problems: Makers = NO_MAKERS,
) -> Summary:
    """Run the cells that have no row yet; every row is written as it comes.

    Args:
        experiment: what to run.
        out: the directory of the results; made if it is not there.
        workers: processes on this machine; as many as it has cores if left out. One is this one.
        cluster: the address of a Dask scheduler to use instead.
        retry_failed: run cells again that have failed before.
        extend: go on although the directory holds another experiment.
        progress: show a progress bar.
        problems: what makes problems that are not ours, by their names: functions without
            arguments, or of a ``seed``, that return a model.

    Worker processes import the script that calls this, so call it under
    ``if __name__ == "__main__":`` there.
    """
    experiment.check(problems)
    makers = sent(problems)
    if workers is not None:
        check_count("workers", workers)
    store = Store(Path(out), create=True)
    try:
        store.accept(experiment, extend=extend)
        cells = experiment.cells()
        done, failures = store.keys("done"), store.keys("failed")
        missing = [cell for cell in cells if cell.key not in done | failures]
        before = [cell for cell in cells if cell.key in failures]
        if retry_failed:
            missing, before = missing + before, []
        already = len(cells) - len(missing) - len(before)
        start = time.perf_counter()
        failed = calls = 0
        at = len(cells) - len(missing)
        with progress_bar(len(cells), "cell", already=at, quiet=not progress) as bar:
            for chunk, rows in _results(missing, workers, cluster, makers):
                store.add(chunk, rows)
                failed += sum(row["status"] == "failed" for row in rows)
                calls += int(sum(row.get("calls", 0) for row in rows))
                bar.update(len(chunk))
        seconds = time.perf_counter() - start
        return Summary(len(missing) - failed, failed, already, len(before), calls, seconds)
    finally:
        store.close()


def chunks(cells: list[Cell]) -> list[list[Cell]]:
    """Neighbouring cells together, largest work first so that no core waits at the end."""
    found: list[list[Cell]] = []
    size = CALLS_PER_CHUNK
    for cell in cells:
        work = _work(cell)
        if not found or size + work > CALLS_PER_CHUNK or found[-1][0].planner != cell.planner:
            found.append([])
            size = 0
        found[-1].append(cell)
        size += work
    return sorted(found, key=lambda chunk: -sum(map(_work, chunk)))


def _work(cell: Cell) -> int:
    compiled = hasattr(PROBLEMS.get(cell.problem.name), "compiled")
    return cell.calls * cell.steps * (1 if compiled else SLOW)


def sent(problems: Makers) -> bytes:
    """What makes problems that are not ours, as workers get it."""
    if not problems:
        return b""
    try:
        return pickled(dict(problems))
    except Exception as error:
        raise InvalidArgument(
            f"a problem cannot be sent to workers ({type(error).__name__}: {error}); make it by a "
            "function at the top of a module, or install cloudpickle"
        ) from error


def _results(
    cells: list[Cell], workers: int | None, cluster: str | None, makers: bytes
) -> Iterator[tuple[list[Cell], list[Row]]]:
    """Chunks and their rows, as they are done; a chunk whose worker died is sent out again."""
    waiting = chunks(cells)[::-1]
    deaths = 0
    while waiting and workers == 1 and cluster is None:  # no other process is needed
        chunk = waiting.pop()
        yield chunk, run_cells(chunk, makers)
    while waiting:
        with _executor(workers, cluster) as (executor, width):
            under_way: dict[Future[list[Row]], list[Cell]] = {}
            try:
                while waiting or under_way:
                    while waiting and len(under_way) < 2 * width:
                        chunk = waiting.pop()
                        under_way[executor.submit(run_cells, chunk, makers)] = chunk
                    ready, _ = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in ready:
                        try:
                            rows = future.result()
                        except Exception as error:
                            if not _is_loss(error):
                                raise
                            deaths = _one_more(deaths, error)
                            waiting.append(under_way.pop(future))
                            continue
                        yield under_way.pop(future), rows
                        deaths = 0
            except BrokenProcessPool as error:
                deaths = _one_more(deaths, error)
                waiting += under_way.values()


def _is_loss(error: Exception) -> bool:
    """Whether Dask has given a chunk up because several workers died with it, one by one."""
    return type(error).__name__ == "KilledWorker"


def _one_more(deaths: int, error: Exception) -> int:
    """Count the deaths of workers; an error if there were too many without a result between."""
    if deaths >= DEATHS:
        raise PlatypoosError(
            f"worker processes died {deaths + 1} times in a row; all results so far are kept. If "
            "memory is short, use fewer workers. If this is your own script, call run under: "
            'if __name__ == "__main__":'
        ) from error
    return deaths + 1


@contextmanager
def _executor(workers: int | None, cluster: str | None) -> Iterator[tuple[Executor, int]]:
    """Anything with the ``concurrent.futures`` interface, and how many workers it has."""
    if cluster is not None:
        try:
            from distributed import Client
        except ImportError as error:
            raise InvalidArgument(f"a cluster needs Dask: {install('cluster')}") from error
        try:
            client = Client(cluster, timeout=CLUSTER_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise InvalidArgument(f"no Dask scheduler answers at {cluster}: {error}") from error
        with client:
            width = max(1, sum(client.nthreads().values()))
            yield client.get_executor(retries=3, pure=False), width  # sent again, run again
        return
    width = workers or os.cpu_count() or 1
    pool = Pool(width, mp_context=get_context("spawn"))
    try:
        yield pool, width
    except BaseException:
        pool.end_at_once()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Pool(ProcessPoolExecutor):
    """Worker processes that leave Ctrl-C to us, and can be ended in the middle of their work."""

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """As usual; a process that is started for it ignores Ctrl-C from its first moment."""
        if threading.current_thread() is not threading.main_thread():
            return super().submit(*args, **kwargs)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return super().submit(*args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, before)

    def end_at_once(self) -> None:
        """Do not wait for what is under way: it may take minutes."""
        for process in list((self._processes or {}).values()):
            process.terminate()
