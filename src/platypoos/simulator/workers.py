"""Play a batch on the workers of an executor: the same walks, whoever plays them."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from platypoos.checking.watch import Watch
from platypoos.errors import InvalidArgument, ModelError, WorkerError
from platypoos.models.base import Access
from platypoos.models.failures import brief, worded
from platypoos.models.gymnasium.snapshots import pickled
from platypoos.simulator.asking import questions
from platypoos.simulator.pace import Pace
from platypoos.simulator.play import drop_states, play
from platypoos.simulator.pools import Pool
from platypoos.simulator.requests import Replies, Request, most_calls
from platypoos.simulator.sharing import Chain, Shares
from platypoos.simulator.streams import RunningStream, Stream

_KEPT = 4  # models that a worker keeps
SMALL_MODEL = 2_000
"""Bytes of a pickled model that is sent along with each task."""
TOGETHER, ALONE = 2, 2
"""Losses of a worker after which a request that it had is sent out alone, and how often it may be
lost then."""
STARTS = 10
"""How often a new pool may break before one of its workers is ready."""
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
    stream: Any = None
    """Where the random stream stands, if the worker stopped before the end."""
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
    onward: Any,
    until: float | None,
    seconds: float | None,
    check_legal: bool,
) -> Answer:
    """Play the requests of a task; runs in a worker. After a failure it makes no more calls.

    No further step is made after ``until``, a time of ``time.time()``, or when ``seconds`` have
    passed; but each task makes at least one. With ``onward`` it goes on with the random stream
    that stands there. Without a ``payload`` the worker must have the model already.
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
    if onward is not None:
        stream.rng.bit_generator.state = onward
    end = None if seconds is None else began + seconds
    stopped = False

    def due(_: int) -> bool:
        nonlocal stopped
        stopped = (end is not None and time.perf_counter() >= end) or (
            until is not None and time.time() >= until
        )
        return stopped

    step = Watch(model, batch[0].state).guard(model.step, 0, 1)
    replies: Replies = []
    failure: Failure | None = None
    try:
        calls = play(
            step,
            ask_legal,
            rule,
            batch,
            words,
            stream if onward is None else RunningStream(stream),
            replies,
            None if end is None and until is None else due,
        )
    except ModelError as error:
        calls, failure = error.calls, _portable(error)
    if access is Access.RESET:
        drop_states(replies)
    stands = stream.rng.bit_generator.state if stopped else None
    return Answer(replies, calls, failure, time.perf_counter() - began, stands)


def get_ready(token: str, payload: bytes) -> None:
    """Make the model; runs in a worker. If that fails, the first task says so."""
    with contextlib.suppress(Exception):
        _player(token, payload)


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

    chains: list[Chain]
    error: Exception


class Flight(NamedTuple):
    """A task that was sent out."""

    future: Any
    chains: list[Chain]
    seconds: float | None
    """After which it should come back."""
    sent: float
    has_model: bool
    """Whether the model was sent along."""


class Workers:
    """Keeps the workers of an executor busy with the requests of a batch.

    Each worker has one task at a time; ``sharing.py`` says what is in it. What a worker had that
    died or hangs is sent out again, and a broken pool of processes is replaced. Each request has
    its own random stream, so the walks are the same. A request that is lost again and again is
    sent out alone, to find out whether it is the one to blame.
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
        self._copies = 0  # of the model, sent so far
        self._restores = player.access is Access.RESTORE
        self._pace = Pace()
        self.number = self._pool.count()
        self.usage = self._pool.usage

    def play(
        self,
        batch: Sequence[Request],
        words: bytes,
        replies: Replies,
        until: float | None,
        due: Callable[[int], bool] | None,
        check_legal: bool,
    ) -> int:
        """Play a batch and add its walks to ``replies``; returns the calls made.

        A failing model loses nothing that others answered. After a failure ``error.calls`` are
        the calls made; those that were lost for good count as made.

        Args:
            batch: what to play.
            words: where the random stream of each request starts.
            replies: where the walks go.
            until: when workers stop, in the time of ``time.time()``.
            due: told the calls made, says whether to stop; it is asked before each task is sent
                out, but not before the first answer.
            check_legal: whether to ask the model which actions are legal.
        """
        began = time.perf_counter()
        round_ = Round(batch, words, until, due, check_legal)
        try:
            self._play(round_)
        except BaseException as error:
            # Interrupted: nobody knows what was made, so all that was asked for is counted.
            error.calls = most_calls(batch)  # type: ignore[attr-defined]
            raise
        finally:
            replies += [chain.walks for chain in round_.chains]
            self.usage.note(round_.seconds, time.perf_counter() - began, len(batch))
        failure = round_.failure
        if failure is not None:
            failure.error.calls = round_.calls
            raise failure.error from WorkerTraceback(failure.trace)
        return round_.calls

    def _play(self, round_: Round) -> None:
        """Send requests out until all are answered, the model fails, or time is up."""
        while not round_.is_over:
            waiting = [chain for chain in round_.chains if chain.requests]
            if not waiting:
                return
            trusted = [chain for chain in waiting if chain.losses <= TOGETHER]
            loss = self._send(round_, trusted or waiting[:1])
            if loss is None or round_.is_over:
                continue
            hopeless = any(chain.losses > TOGETHER + ALONE for chain in loss.chains)
            if hopeless or not self._recover(loss.error):
                round_.fail(loss, self._timeout)

    def _recover(self, error: Exception) -> bool:
        """After a loss, make sure that tasks can be sent again; returns whether they can.

        A worker that dies while it starts is not the fault of a request: so one must be ready.
        """
        for _ in range(STARTS):
            before = self._pool.replaced
            if not self._pool.replace(error):
                return False
            if self._pool.replaced == before:
                return True
            try:
                self._pool.submit(get_ready, self._token, self._payload).result(self._timeout)
            except Exception as again:  # noqa: BLE001  the worker, not the model
                error = again
            else:
                return True
        return False

    def _send(self, round_: Round, chains: list[Chain]) -> Loss | None:
        """Send some requests out, and take the answers; returns what was lost."""
        timed = round_.due is not None
        shares = Shares(
            chains,
            self.number,
            self._pace,
            self._pool.latency,
            restores=self._restores,
            in_order=timed,
            stops=timed and round_.until is None,
            timeout=self._timeout,
        )
        answered: SimpleQueue[tuple[float, int]] = SimpleQueue()
        flying: dict[int, Flight] = {}
        number = 0  # of tasks
        lost: list[Chain] = []
        why: Exception | None = None

        def submit(chains: list[Chain], seconds: float | None, has_model: bool) -> None:
            nonlocal number
            number += 1
            sent, name = time.perf_counter(), number
            future = self._submit(round_, chains, seconds, has_model)
            flying[name] = Flight(future, chains, seconds, sent, has_model)
            future.add_done_callback(lambda _: answered.put((time.perf_counter(), name)))

        try:
            while True:
                while (
                    why is None
                    and shares
                    and len(flying) < self.number
                    and not (round_.is_over or round_.is_due())
                ):
                    # A large model is sent along at first. Later, who does not have it asks for it.
                    sends = self._copies < self.number or len(self._payload) <= SMALL_MODEL
                    submit(*shares.take(self.number - len(flying)), sends)
                if not flying:
                    break
                try:
                    came, name = answered.get(timeout=self._timeout)
                except Empty:
                    why = TimeoutError()
                    for flight in flying.values():
                        flight.future.cancel()
                        lost += flight.chains
                    break
                flight = flying.pop(name)
                try:
                    answer: Answer = flight.future.result()
                except Exception as error:  # noqa: BLE001  the worker, not the model
                    if why is None:
                        why = error
                        for other in flying.values():
                            other.future.cancel()
                    if error is why or not flight.future.cancelled():
                        lost += flight.chains
                    continue
                if answer.needs_model and not flight.has_model:
                    if why is None:
                        submit(flight.chains, flight.seconds, has_model=True)
                    continue
                self._pool.note_latency(came - flight.sent - answer.seconds)
                self._pace.note(answer.calls, answer.seconds)
                round_.take(flight.chains, answer)
                shares.put_back(chain for chain in flight.chains if chain.requests)
        except BaseException:
            for flight in flying.values():
                flight.future.cancel()
            raise
        if why is None:
            return None
        for chain in lost:
            chain.losses += 1
        return Loss(lost, why)

    def _submit(
        self, round_: Round, chains: list[Chain], seconds: float | None, has_model: bool
    ) -> Any:
        batch = [request for chain in chains for request in chain.requests]
        onward = chains[0].stream
        words = b"".join(chain.word * len(chain.requests) for chain in chains)
        payload = self._payload if has_model else None
        self._copies += has_model
        return self._pool.submit(
            work, self._token, payload, words, batch, onward, round_.until, seconds,
            round_.check_legal,
        )  # fmt: skip


class Round:
    """A batch that is being played: what came of it so far."""

    def __init__(
        self,
        batch: Sequence[Request],
        words: bytes,
        until: float | None,
        due: Callable[[int], bool] | None,
        check_legal: bool,
    ) -> None:
        self.until, self.due, self.check_legal = until, due, check_legal
        self.chains = Chain.of(batch, words)
        self.calls = 0
        self.seconds = 0.0
        """That workers worked, added up."""
        self.failure: Failure | None = None
        self._late = False

    @property
    def is_over(self) -> bool:
        """Whether no more requests are to be sent out."""
        return self._late or self.failure is not None

    def is_due(self) -> bool:
        """Whether time is up; not before the first answer."""
        if self.due is not None and self.calls and not self._late:
            self._late = self.due(self.calls)
        return self._late

    def take(self, chains: list[Chain], answer: Answer) -> None:
        """Take an answer to some of the requests."""
        replies = iter(answer.replies)
        for chain in chains:
            found = [walks for _, walks in zip(chain.requests, replies, strict=False)]
            chain.take(found, answer.stream)
        if answer.stream is not None and self.until is not None and time.time() >= self.until:
            self._late = True
        self.calls += answer.calls
        self.seconds += answer.seconds
        self.failure = self.failure or answer.failure

    def fail(self, loss: Loss, timeout: float | None) -> None:
        """Give up on what was lost."""
        asked = sum(chain.calls for chain in loss.chains)
        where = ""
        if len(loss.chains) == 1:
            request = loss.chains[0].requests[0]
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
