"""Play a batch on the workers of an executor: the same walks, whoever plays them."""

from __future__ import annotations

import hashlib
import heapq
import pickle
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from platypoos.checking.watch import Watch
from platypoos.errors import InvalidArgument, ModelError, WorkerError
from platypoos.models.base import Access
from platypoos.models.failures import brief, worded
from platypoos.models.gymnasium.snapshots import pickled
from platypoos.simulator.asking import questions
from platypoos.simulator.play import drop_states, play
from platypoos.simulator.pools import Pool
from platypoos.simulator.requests import Replies, Request, most_calls
from platypoos.simulator.streams import WORD, Stream

_KEPT = 4  # models that a worker keeps
SMALL_MODEL = 2_000
"""Bytes of a pickled model that is sent along with each task."""
TOGETHER, ALONE = 2, 2
"""Losses of workers in a batch after which requests are sent out one by one, and how often one of
these may be lost."""
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
    seconds: float = 0.0
    """That it took to play."""
    needs_model: bool = False
    """The worker does not have the model: it must be sent along."""


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
    payload: bytes | None,
    words: bytes,
    batch: list[Request],
    until: float | None,
    check_legal: bool,
) -> Answer:
    """Play the requests of a chunk; runs in a worker. After a failure it makes no more calls.

    ``until`` is a time of ``time.time()``. When it has passed, no further step is made; but each
    worker makes at least one. Without a ``payload`` the worker must have the model already.
    """
    began = time.perf_counter()
    try:
        player = _player(token, payload)
        if player is None:
            return Answer([], 0, needs_model=True)
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
    return Answer(replies, calls, failure, time.perf_counter() - began)


def _player(token: str, payload: bytes | None) -> Player | None:
    """What a worker plays with, made once."""
    kept: dict[str, Player] = _here.__dict__.setdefault("players", {})
    if token not in kept:
        if payload is None:
            return None
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


class Loss(NamedTuple):
    """Requests that were not answered, and why."""

    places: list[int]
    error: Exception


class Workers:
    """Sends batches to the workers of an executor, about as many calls to each.

    What a worker had that died or hangs is sent out again, and a broken pool of processes is
    replaced. Each request has its own random stream, so the walks are the same. What is lost
    again and again is sent out alone, to find out which request it is.
    """

    def __init__(self, player: Player, executor: Any, timeout: float | None) -> None:
        self._given = executor  # the pool does not hold it
        self._pool, self._timeout = Pool.of(executor), timeout
        try:
            self._payload = pickled(tuple(player))
        except Exception as error:
            raise InvalidArgument(
                f"the model cannot be sent to workers ({worded(error)}); with an "
                "executor it must be picklable"
            ) from error
        self._token = hashlib.sha256(self._payload).hexdigest()
        self._sent = False
        self.number = self._pool.usage.workers
        self.usage = self._pool.usage

    def play(
        self,
        batch: Sequence[Request],
        words: bytes,
        replies: Replies,
        until: float | None,
        check_legal: bool,
    ) -> int:
        """Play a batch and add its walks to ``replies``; returns the calls made.

        A failing model loses nothing that others answered. After a failure ``error.calls`` are
        the calls made; those that were lost for good count as made.
        """
        began = time.perf_counter()
        round_ = Round(batch, words, until, check_legal)
        losses = 0
        try:
            while round_.waiting:
                alone = losses > TOGETHER
                loss = self._send(round_, round_.waiting[:1] if alone else round_.waiting)
                if round_.failure is not None:
                    break
                if loss is None:
                    losses = min(losses, TOGETHER + 1)  # the one that was alone is answered
                    continue
                losses += 1
                if losses > TOGETHER + ALONE or not self._pool.replace(loss.error):
                    round_.fail(loss, self._timeout)
                    break
        except BaseException as error:
            # Interrupted: nobody knows what was made, so all that was asked for is counted.
            error.calls = most_calls(batch)  # type: ignore[attr-defined]
            raise
        finally:
            replies += round_.replies
            self.usage.note(round_.seconds, time.perf_counter() - began, len(batch))
        failure = round_.failure
        if failure is not None:
            failure.error.calls = round_.calls
            raise failure.error from WorkerTraceback(failure.trace)
        return round_.calls

    def _send(self, round_: Round, places: list[int]) -> Loss | None:
        """Send some requests out, and take the answers; returns what was lost."""
        parts = parts_of(round_.batch, places, self.number)
        # A large model is sent along at first. Later, workers that do not have it ask for it.
        sends = not self._sent or len(self._payload) <= SMALL_MODEL
        lost: list[int] = []
        why: Exception | None = None
        pending = [(part, sends, self._submit(round_, part, sends)) for part in parts]
        try:
            for part, sent, future in pending:  # grows
                try:
                    answer = future.result(self._timeout)
                except Exception as error:  # noqa: BLE001  the worker, not the model
                    if why is None or isinstance(why, CancelledError):
                        why = error
                    for _, _, other in pending:
                        other.cancel()
                    lost += part
                    continue
                if answer.needs_model and not sent:
                    pending.append((part, True, self._submit(round_, part, True)))
                    continue
                round_.take(part, answer)
        except BaseException:
            for _, _, future in pending:
                future.cancel()
            raise
        self._sent = True
        round_.waiting = sorted({*round_.waiting} - {*places} | {*lost})
        return None if why is None else Loss(lost, why)

    def _submit(self, round_: Round, part: list[int], sends: bool) -> Any:
        words = b"".join(round_.words[place * WORD : (place + 1) * WORD] for place in part)
        return self._pool.submit(
            work,
            self._token,
            self._payload if sends else None,
            words,
            [round_.batch[place] for place in part],
            round_.until,
            round_.check_legal,
        )


class Round:
    """A batch that is being played: what came of it so far."""

    def __init__(
        self, batch: Sequence[Request], words: bytes, until: float | None, check_legal: bool
    ) -> None:
        self.batch, self.words, self.until, self.check_legal = batch, words, until, check_legal
        self.waiting = list(range(len(batch)))
        """The requests that were not answered yet."""
        self.replies: Replies = [[] for _ in batch]
        self.calls = 0
        self.seconds = 0.0
        """That workers worked, added up."""
        self.failure: Failure | None = None

    def take(self, part: list[int], answer: Answer) -> None:
        """Take an answer to some of the requests."""
        for place, walks in zip(part, answer.replies, strict=False):
            self.replies[place] = walks
        self.calls += answer.calls
        self.seconds += answer.seconds
        self.failure = self.failure or answer.failure

    def fail(self, loss: Loss, timeout: float | None) -> None:
        """Give up on what was lost."""
        lost = [self.batch[place] for place in loss.places]
        asked = most_calls(lost)
        where = ""
        if len(lost) == 1:
            request = lost[0]
            where = f", from state {brief(request.state)} with actions {brief(request.actions)}"
        if isinstance(loss.error, TimeoutError):
            error = WorkerError(
                f"no answer within {timeout:g} s to {asked} calls{where}, also when they were sent "
                "out again: a worker hangs, or timeout is too short; what the others answered is "
                "kept"
            )
        else:
            error = WorkerError(
                f"a worker was lost with {asked} calls{where} ({worded(loss.error)}); what the "
                "others answered is kept. It may have been killed, have run out of memory, or have "
                "crashed in compiled code; a script must start its pool under "
                "if __name__ == '__main__'. Make a new executor to go on"
            )
        self.calls += asked
        self.failure = Failure(error, "".join(traceback.format_exception(loss.error)))


def parts_of(batch: Sequence[Request], places: list[int], number: int) -> list[list[int]]:
    """Share requests out, about as many calls to each of ``number`` workers.

    >>> batch = [Request(0, [0] * n, n) for n in (1, 5, 2, 2)]
    >>> parts_of(batch, [0, 1, 2, 3], 2)
    [[1], [0, 2, 3]]
    """
    calls = {place: batch[place].steps * batch[place].times for place in places}
    total = sum(calls.values())
    # Of a large batch, twice as many parts as workers even out calls of different length.
    number = min(len(places), number * (1 if total < 32 * number else 2))
    parts: list[list[int]] = [[] for _ in range(number)]
    loads = [(0, part) for part in range(number)]
    for place in sorted(places, key=lambda place: -calls[place]):
        load, part = loads[0]
        parts[part].append(place)
        heapq.heapreplace(loads, (load + calls[place], part))
    return [sorted(part) for part in parts]
