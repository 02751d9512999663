"""Play a batch on the workers of an executor: the same walks, whoever plays them."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, NamedTuple

from platypoos.errors import InvalidArgument, ModelError, WorkerError
from platypoos.models.base import Access
from platypoos.models.failures import worded
from platypoos.models.gymnasium.snapshots import pickled
from platypoos.simulator.asking import questions
from platypoos.simulator.play import drop_states, play
from platypoos.simulator.requests import Replies, Request, most_calls
from platypoos.simulator.streams import WORD, Stream
from platypoos.simulator.watch import Watch

_KEPT = 4  # models that a worker keeps
_here = threading.local()


class Failure(NamedTuple):
    """What a step raised, and where in the code of the worker."""

    error: ModelError
    trace: str


class Answer(NamedTuple):
    """What a worker sends back."""

    replies: Replies
    """Fewer than were asked for if it failed, or if the time was up."""
    calls: int
    failure: Failure | None = None


class WorkerTraceback(Exception):
    """The traceback of an error in a worker."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class Player(NamedTuple):
    """What a worker needs to play; it is sent once."""

    model: Any
    legal: Any
    policy: Any
    actions: Sequence[Any] | None
    access: Access


def work(
    token: str,
    payload: bytes,
    words: bytes,
    batch: list[Request],
    until: float | None,
    check_legal: bool,
) -> Answer:
    """Play the requests of a chunk; runs in a worker. After a failure it makes no more calls.

    ``until`` is a time of ``time.time()``. When it has passed, no further step is made; but each
    worker makes at least one.
    """
    try:
        player = _player(token, payload)
    except Exception as error:  # noqa: BLE001  whatever it is, the model cannot be made here
        failed = ModelError(
            f"the model cannot be made in a worker ({worded(error)}); with an "
            "executor it must be picklable, and what it imports must be there"
        )
        failed.__cause__ = error
        return Answer([], 0, _portable(failed))
    model, legal, policy, actions, access = player
    ask_legal, rule = questions(model, legal, policy, actions)
    ask_legal = ask_legal if check_legal else None
    stream: Stream = _here.__dict__.setdefault("stream", None) or Stream()
    _here.stream = stream
    due = None if until is None else lambda _: time.time() >= until
    step = Watch(model, batch[0].state).guard(model.step, 0, 1)
    replies: Replies = []
    failure: Failure | None = None
    try:
        calls = play(step, ask_legal, rule, batch, words, stream, replies, due)
    except ModelError as error:
        calls, failure = error.calls, _portable(error)
    if access is Access.RESET:
        drop_states(replies)
    return Answer(replies, calls, failure)


def _player(token: str, payload: bytes) -> Player:
    """What a worker plays with, made once."""
    kept: dict[str, Player] = _here.__dict__.setdefault("players", {})
    if token not in kept:
        while len(kept) >= _KEPT:
            kept.pop(next(iter(kept)))
        kept[token] = Player(*pickle.loads(payload))  # noqa: S301  our own process sent it
    return kept[token]


def _portable(error: ModelError) -> Failure:
    trace = "".join(traceback.format_exception(error.__cause__ or error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  only to see whether it can be sent
    except Exception:  # noqa: BLE001  the state cannot be sent; its text is in the message
        error = type(error)(str(error), state=None, action=error.action)
    return Failure(error, trace)


class Workers:
    """Sends batches to the workers of an executor, a chunk of requests for each."""

    def __init__(self, player: Player, executor: Any, timeout: float | None) -> None:
        self._executor, self._timeout = executor, timeout
        try:
            self._payload = pickled(tuple(player))
        except Exception as error:
            raise InvalidArgument(
                f"the model cannot be sent to workers ({worded(error)}); with an "
                "executor it must be picklable"
            ) from error
        self._token = hashlib.sha256(self._payload).hexdigest()
        self.number = _number_of_workers(executor)

    def play(
        self,
        batch: Sequence[Request],
        words: bytes,
        replies: Replies,
        until: float | None,
        check_legal: bool,
    ) -> int:
        """Play a batch and add its walks to ``replies``; returns the calls made.

        A lost worker or a failing model loses nothing that others answered. After a failure
        ``error.calls`` are the calls made. Those of a lost worker count as made.
        """
        ends = self._ends(batch)
        parts = list(zip([0, *ends[:-1]], ends, strict=True))
        calls = 0
        failure: Failure | None = None
        lost = False
        futures: list[Any] = []
        try:
            futures += [
                self._submit(
                    words[start * WORD : end * WORD], list(batch[start:end]), until, check_legal
                )
                for start, end in parts
            ]
            for (start, end), future in zip(parts, futures, strict=True):
                answer = Answer([], 0)
                try:
                    answer = future.result(self._timeout)
                except Exception as error:  # noqa: BLE001  the worker, not the model
                    if not (lost and isinstance(error, CancelledError)):  # else: never begun
                        lost = True
                        for other in futures:
                            other.cancel()
                        asked = most_calls(batch[start:end])
                        trace = "".join(traceback.format_exception(error))
                        answer = Answer([], asked, Failure(self._lost(error, asked), trace))
                calls += answer.calls
                failure = failure or answer.failure
                replies += answer.replies
                replies += [[] for _ in range(end - start - len(answer.replies))]
        except BaseException as error:
            for future in futures:
                future.cancel()
            # Interrupted: nobody knows what was made, so all that was asked for is counted.
            error.calls = most_calls(batch)  # type: ignore[attr-defined]
            raise
        if failure is not None:
            failure.error.calls = calls
            raise failure.error from WorkerTraceback(failure.trace)
        return calls

    def _ends(self, batch: Sequence[Request]) -> list[int]:
        """Where to cut a batch, so that all parts have about the same number of calls."""
        total = most_calls(batch)
        # A part for each worker; of a large batch two, to even out calls of different length.
        number = self.number * (1 if total < 32 * self.number else 2)
        ends: list[int] = []
        done = 0
        for place, request in enumerate(batch):
            if done * number >= (len(ends) + 1) * total:
                ends.append(place)
            done += request.steps * request.times
        return [*ends, len(batch)]

    def _submit(self, *task: Any) -> Any:
        try:
            return self._executor.submit(work, self._token, self._payload, *task)
        except Exception as error:  # noqa: BLE001  a pool that is shut down or broken
            refused: Future[Any] = Future()
            refused.set_exception(error)
            return refused

    def _lost(self, error: Exception, calls: int) -> WorkerError:
        if isinstance(error, TimeoutError):
            return WorkerError(
                f"no answer within {self._timeout:g} s to a request of {calls} calls: a worker "
                "hangs, or timeout is too short; what the others answered is kept"
            )
        return WorkerError(
            f"a worker was lost with {calls} calls ({worded(error)}); what the "
            "others answered is kept. It may have been killed, have run out of memory, or have "
            "crashed in compiled code; a script must start its pool under "
            "if __name__ == '__main__'. Make a new executor to go on"
        )


def _number_of_workers(executor: Any) -> int:
    number = getattr(executor, "_max_workers", None)
    return number if isinstance(number, int) and number > 0 else os.cpu_count() or 1
