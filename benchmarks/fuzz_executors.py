"""Executors that do what workers do on bad days: die, hang, refuse, answer in another order."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

FINE = ("now", "backwards", "threads")
FAILING = ("dies", "hangs", "refuses", "cancels")
_THREADS: list[ThreadPoolExecutor] = []


class _Late(Future[Any]):
    """Is worked on when somebody asks for any of them: the last one first."""

    def __init__(self, queue: list[_Late], work: Any) -> None:
        super().__init__()
        self._queue, self.work = queue, work

    def result(self, timeout: float | None = None) -> Any:
        while self._queue:
            late = self._queue.pop()
            if late.set_running_or_notify_cancel():
                late.set_result(late.work())
        return super().result(timeout)


class _Lost(Future[Any]):
    """Never comes back."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def result(self, timeout: float | None = None) -> Any:
        del timeout
        raise self._error


class OddExecutor:
    """Works in this process; ``mode`` says how, ``at`` with which request it begins to fail."""

    def __init__(self, mode: str, at: int, workers: int) -> None:
        self.mode, self.at = mode, at
        self._max_workers = workers
        self._requests = 0
        self._queue: list[_Late] = []

    def submit(self, function: Any, *args: Any) -> Future[Any]:
        """As ``concurrent.futures.Executor.submit``."""
        self._requests += 1
        if self.mode == "threads":
            if not _THREADS:
                _THREADS.append(ThreadPoolExecutor(2))
            return _THREADS[0].submit(function, *args)
        if self.mode == "backwards":
            late = _Late(self._queue, lambda: function(*args))
            self._queue.append(late)
            return late
        if self.mode in FAILING and self._requests >= self.at:
            if self.mode == "refuses":
                raise RuntimeError("cannot schedule new futures after shutdown")
            lost = {"dies": BrokenProcessPool("a child died"), "hangs": TimeoutError()}
            return _Lost(lost.get(self.mode) or CancelledError())
        done: Future[Any] = Future()
        done.set_result(function(*args))
        return done
