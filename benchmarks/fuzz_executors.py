"""Executors that do what workers do on bad days: die, hang, refuse, answer in another order."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

FINE = ("now", "backwards", "threads")
FAILING = ("dies", "hangs", "refuses", "cancels")
_THREADS: list[ThreadPoolExecutor] = []


class OddExecutor:
    """Works in this process; ``mode`` says how, ``at`` with which request it begins to fail."""

    def __init__(self, mode: str, at: int, workers: int) -> None:
        self.mode, self.at = mode, at
        self._max_workers = workers
        self._requests = 0
        self._queue: list[tuple[Future[Any], Any]] = []
        self._lock = threading.Lock()

    def submit(self, function: Any, *args: Any) -> Future[Any]:
        """As ``concurrent.futures.Executor.submit``."""
        self._requests += 1
        if self.mode == "threads":
            if not _THREADS:
                _THREADS.append(ThreadPoolExecutor(2))
            return _THREADS[0].submit(function, *args)
        if self.mode == "backwards":
            late: Future[Any] = Future()
            self._queue.append((late, lambda: function(*args)))
            threading.Timer(0.001, self._work_on_the_last).start()
            return late
        if self.mode in FAILING and self._requests >= self.at:
            if self.mode == "refuses":
                raise RuntimeError("cannot schedule new futures after shutdown")
            lost = {"dies": BrokenProcessPool("a child died"), "hangs": TimeoutError()}
            gone: Future[Any] = Future()
            gone.set_exception(lost.get(self.mode) or CancelledError())
            return gone
        done: Future[Any] = Future()
        done.set_result(function(*args))
        return done

    def _work_on_the_last(self) -> None:
        """Work on what was submitted last."""
        with self._lock:
            future, work = self._queue.pop()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001  as executors do
                    future.set_exception(error)
