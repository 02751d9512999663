"""Machine code is made in the background: no plan waits for a compiler.

What is missing is compiled by another process, into Numba's cache on disk, and loaded from there by
a thread. Until then the same functions are interpreted: the plan is the same, only slower.

Numba itself is not imported here: planners that never need it may look whether somebody hurries.

With PLATYPOOS_COMPILE=wait in the environment, code is compiled when it is first needed, as Numba
does. Experiments do that: they make thousands of plans and want them all fast.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

SWITCH = 0.0005
"""Seconds after which the thread that loads code must give way to the others."""
IDLE = 10.0
"""Seconds without an order after which the other process is ended. It takes a second to start."""

Signature = tuple[Any, ...]


def waits() -> bool:
    """Whether to compile in the caller's time."""
    return os.environ.get("PLATYPOOS_COMPILE") == "wait"


def wait_for_compilers() -> None:
    """Compile in the caller's time from now on, in this process and those it starts."""
    os.environ.setdefault("PLATYPOOS_COMPILE", "wait")


def are_loaded(code: list[tuple[Any, Signature]]) -> bool:
    """Whether there is machine code of these in this process; what is missing is asked for."""
    missing = [(function, types) for function, types in code if types not in function.overloads]
    for function, types in missing:
        WORKSHOP.want(function, types)
    return not missing


class Workshop:
    """Gets machine code ready in the background."""

    def __init__(self) -> None:
        self.is_eager = False
        """Whether somebody has a deadline: nothing is compiled or loaded in the caller's time."""
        self._lock = threading.Lock()
        self._wanted: set[tuple[int, Signature]] = set()
        self._orders: queue.SimpleQueue[tuple[Any, Signature]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._open = 0
        self._has_told = False
        self._done = threading.Condition(self._lock)

    def want(self, dispatcher: Any, signature: Signature) -> None:
        """Order the code of a function for these types, once."""
        with self._lock:
            order = (id(dispatcher), signature)
            if order in self._wanted:
                return
            self._wanted.add(order)
            self._open += 1
            self._orders.put((dispatcher, signature))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    @property
    def open_orders(self) -> int:
        """How many are not delivered yet."""
        return self._open

    def wait(self, seconds: float) -> bool:
        """Wait until all orders are delivered, at most so long; whether they are."""
        with self._done:
            return self._done.wait_for(lambda: self._open == 0, seconds)

    def wait_and_show(self, *, quiet: bool) -> None:
        """Wait for all orders, with a line on the standard error stream unless ``quiet``."""
        total = self.open_orders
        start = time.perf_counter()
        quiet = quiet or not sys.stderr.isatty()
        while not self.wait(0.2):
            if not quiet:
                total = max(total, self.open_orders)
                done, seconds = total - self.open_orders, time.perf_counter() - start
                sys.stderr.write(f"\rcompiling: {done} of {total} parts, {seconds:.0f} s ")
                sys.stderr.flush()
        if not quiet:
            sys.stderr.write("\n")

    def _work(self) -> None:
        while True:
            try:
                idle = None if self._process is None else IDLE
                dispatcher, signature = self._orders.get(timeout=idle)
            except queue.Empty:
                self._dismiss()
                continue
            try:
                # Whoever needs it compiles it himself after an error, and is told.
                with suppress(Exception):
                    self._deliver(dispatcher, signature)
            finally:
                with self._done:
                    self._open -= 1
                    self._done.notify_all()

    def _tell(self) -> None:
        """Say once why the first plans are slow, to whoever looks at a terminal."""
        if not self._has_told and sys.stderr.isatty():
            self._has_told = True
            sys.stderr.write(
                "platypoos compiles in the background, once on this machine; until then plans are "
                "slower. 'platypoos warm-up' does it ahead.\n"
            )

    def _dismiss(self) -> None:
        """End the other process; it is started again if need be."""
        if self._process is not None:
            self._process.communicate()  # closes its input, which ends it
            self._process = None

    def _deliver(self, dispatcher: Any, signature: Signature) -> None:
        from platypoos.compile import selftest
        from platypoos.compile.unsafe import is_on_disk

        for function, types in (*selftest.code(), (dispatcher, signature)):
            if types not in function.overloads and not is_on_disk(function, types):
                self._compile(function, types)
        with _giving_way():
            if selftest.still_works():
                dispatcher.compile(signature)  # from the disk, if the process has done it

    def _compile(self, dispatcher: Any, signature: Signature) -> None:
        """Let the other process compile; does nothing if that is not possible."""
        from numba.core import serialize

        function = dispatcher.py_func
        order = (sys.path, function.__module__, function.__qualname__, signature)
        try:
            message = serialize.dumps(order)
        except Exception:  # noqa: BLE001  a type that cannot be sent
            return
        if self._process is None or self._process.poll() is not None:
            self._tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "platypoos.compile.workshop"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is not for it; it ends when its input does
            )
        _send(self._process.stdin, message)
        self._process.stdout.read(1)  # type: ignore[union-attr]


WORKSHOP = Workshop()


@contextmanager
def _giving_way() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _send(stream: BinaryIO | Any, message: bytes) -> None:
    stream.write(struct.pack("<q", len(message)) + message)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> bytes | None:
    head = stream.read(8)
    return stream.read(struct.unpack("<q", head)[0]) if len(head) == 8 else None


def dispatcher_of(module: str, name: str) -> Any:
    """What is compiled under a name: a function, the loop of a request, or a whole driver."""
    found = getattr(importlib.import_module(module), name)
    for attribute in ("compiled", "loop"):
        found = getattr(found, attribute, found)
    return found


def main() -> None:
    """The other process: compile what is asked for, and say when it is done."""
    os.environ["PLATYPOOS_COMPILE"] = "wait"
    os.nice(10)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nobody else speaks there
    while True:
        message = _receive(sys.stdin.buffer)
        if message is None:
            return
        try:
            path, module, name, signature = pickle.loads(message)  # noqa: S301  from our parent
            sys.path[:] = path
            dispatcher = dispatcher_of(module, name)
            with _one_at_a_time(dispatcher):
                dispatcher.compile(signature)
            answers.write(b"1")
        except Exception:  # noqa: BLE001  the parent finds nothing on the disk, and sees itself
            answers.write(b"0")
        try:
            answers.flush()
        except BrokenPipeError:  # the parent has ended; go on, for the next one
            continue


@contextmanager
def _one_at_a_time(dispatcher: Any) -> Iterator[None]:
    """Many processes may want the same code; the first one compiles it."""
    import fcntl

    if dispatcher.stats.cache_path is None:  # what is compiled here is of use to nobody
        yield
        return
    folder = Path(dispatcher.stats.cache_path)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "compiling.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
