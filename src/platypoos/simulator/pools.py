"""An executor whose workers may die or hang: a pool of processes that breaks is replaced."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import Any, NamedTuple

LATENCY = 0.0005
"""Seconds that a task is on its way, as long as nothing was measured."""
_pools: weakref.WeakKeyDictionary[Any, Pool] = weakref.WeakKeyDictionary()


class Pool:
    """Submits to an executor, or to the one that replaces it.

    There is one for each executor, so that later plans use the replacement too.
    """

    def __init__(self, executor: Any, *, hold: bool = False) -> None:
        self._given: Callable[[], Any] = (lambda: executor) if hold else weakref.ref(executor)
        self._new: ProcessPoolExecutor | None = None
        self.usage = Usage(number_of_workers(executor))
        self.latency = LATENCY
        """Seconds that it takes to send a task and to get its answer, beside playing it."""
        self._measured = False
        self.replaced = 0
        """How often the pool was replaced."""

    @classmethod
    def of(cls, executor: Any) -> Pool:
        """The pool of an executor, made once."""
        try:
            return _pools.setdefault(executor, cls(executor))
        except TypeError:  # it cannot be referred to weakly, or hashed
            return cls(executor, hold=True)

    @property
    def executor(self) -> Any:
        """What works now."""
        return self._given() if self._new is None else self._new

    def submit(self, *task: Any) -> Any:
        """Submit a task; a refusal is the future's exception."""
        try:
            return self.executor.submit(*task)
        except Exception as error:  # noqa: BLE001  a pool that is shut down or broken
            refused: Future[Any] = Future()
            refused.set_exception(error)
            return refused

    def count(self) -> int:
        """How many workers there are now; those of a cluster come and go."""
        self.usage.workers = number_of_workers(self.executor)
        return self.usage.workers

    def note_latency(self, seconds: float) -> None:
        """Learn from a task: the shortest one counts, since others may have waited."""
        if self._measured:
            seconds = min(self.latency, seconds)
        self.latency, self._measured = max(1e-5, seconds), True

    def replace(self, error: BaseException) -> bool:
        """After a loss, make sure that tasks can be sent again; returns whether they can."""
        executor = self.executor
        if not isinstance(executor, ProcessPoolExecutor):
            return not isinstance(error, RuntimeError) or isinstance(error, BrokenExecutor)
        hangs = isinstance(error, TimeoutError)
        if not hangs and not isinstance(error, BrokenExecutor):
            return False  # it was shut down by its owner
        processes = list((getattr(executor, "_processes", None) or {}).values())
        if hangs:
            for process in processes:
                process.kill()
        executor.shutdown(wait=False, cancel_futures=True)
        inside: Any = executor  # what it was made with
        new = ProcessPoolExecutor(
            inside._max_workers,  # noqa: SLF001
            mp_context=inside._mp_context,  # noqa: SLF001
            initializer=inside._initializer,  # noqa: SLF001
            initargs=inside._initargs,  # noqa: SLF001
        )
        given = self._given()
        if given is not None:
            with contextlib.suppress(TypeError):
                weakref.finalize(given, new.shutdown, wait=False, cancel_futures=True)
        self._new = new
        self.replaced += 1
        return True


def number_of_workers(executor: Any) -> int:
    """How many workers an executor has, as far as it says so."""
    number = getattr(executor, "_max_workers", None)
    if not isinstance(number, int):
        ask = getattr(getattr(executor, "_client", None), "ncores", None)  # Dask
        number = sum(ask().values()) if callable(ask) else None
    return number if isinstance(number, int) and number > 0 else os.cpu_count() or 1


class Busy(NamedTuple):
    """How well the workers of an executor were used."""

    number: int
    """Of workers, as far as the executor says."""
    share: float
    """Of the time that batches took, in which a worker worked, on average."""
    batches: int
    """That were sent out, one after the other…"""
    requests: int
    """…and the requests in them, which can be played at the same time."""


class Usage:
    """How busy the workers were.

    >>> usage = Usage(4)
    >>> before = usage.mark()
    >>> usage.note(6.0, 2.0, 10)
    >>> usage.since(before)
    Busy(number=4, share=0.75, batches=1, requests=10)
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.worked = self.took = 0.0
        """Seconds that workers worked, added up; and seconds that batches took."""
        self.batches = self.requests = 0

    def note(self, worked: float, took: float, requests: int) -> None:
        """Count a batch."""
        self.worked += worked
        self.took += took
        self.batches += 1
        self.requests += requests

    def mark(self) -> tuple[float, float, int, int]:
        """Where it stands."""
        return self.worked, self.took, self.batches, self.requests

    def since(self, mark: tuple[float, float, int, int]) -> Busy:
        """What was used since then."""
        worked, took = self.worked - mark[0], self.took - mark[1]
        share = min(1.0, worked / (self.workers * took)) if took > 0.0 else 0.0
        return Busy(self.workers, share, self.batches - mark[2], self.requests - mark[3])
