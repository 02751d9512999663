"""The simulator: it makes the calls that planners ask for, counts them, and keeps to the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from platypoos.checking.watch import SMALL, Watch
from platypoos.errors import BudgetExceeded, InvalidArgument, ModelError
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access, access_of
from platypoos.models.failures import NOTHING
from platypoos.simulator.arrays import ArrayPlayer, Rows
from platypoos.simulator.asking import Legal, Rule, listed_actions, questions
from platypoos.simulator.pace import GLANCE, Pace, never
from platypoos.simulator.play import drop_states, play
from platypoos.simulator.requests import Replies, Request, most_calls
from platypoos.simulator.scans import ScanPlayer, jax_model
from platypoos.simulator.streams import WORD, RunningStream, Stream, Streams
from platypoos.simulator.workers import Player, Workers


class Simulator:
    """The only caller of a Python model.

    It knows nothing of trees or graphs. A planner gives it a batch of requests and gets walks.
    The walks depend on the seed and the batches only, not on the executor or its workers.

    If the model fails, or on Ctrl-C, the exception has what was learned before: ``error.replies``
    is as long as the batch, ``error.calls`` counts the calls so far, the failing one included.

    Args:
        model: a :class:`~platypoos.Model`; array models are called with whole batches.
        rng: where the random streams of the requests start.
        budget: how many calls may be made.
        state: where planning starts. It is watched: the model must not change it. If left out, it
            is the state of the first request.
        access: RESTORE or RESET; what the model declares if left out. With RESET, only the last
            state of a walk is reported.
        executor: with the interface of ``concurrent.futures.Executor``, to play requests on its
            workers.
        timeout: the seconds to wait for a worker's answer; for ever if left out.
        due: says whether time is up. When it is, ``run`` returns what it has: walks that are
            shorter than asked for and have not ended, fewer walks, or none. The first call after
            the start, and after ``allow``, is always made.
        until: the same for the workers of an executor, who cannot ask ``due``: a time of
            ``time.time()`` after which they stop.
        legal: in place of the model's ``legal(state)``.
        policy: in place of the model's ``policy(state)``.
        actions: the model's actions as its step takes them; 0, 1, … if left out.

    >>> import numpy as np
    >>> import platypoos as pp
    >>> from platypoos.simulator import Request, Simulator
    >>> model = pp.FunctionModel(lambda s, a, rng: (s + a, float(s), False), 2, 0)
    >>> simulator = Simulator(model, np.random.default_rng(0), budget=10)
    >>> simulator.run([Request(3, [1, 1], 2), Request(0, [0], 1, times=2)])
    [[[(1, 4, 3.0, False), (1, 5, 4.0, False)]], [[(0, 0, 0.0, False)], [(0, 0, 0.0, False)]]]
    >>> simulator.calls, simulator.left
    (4, 6)
    """

    def __init__(
        self,
        model: Any,
        rng: np.random.Generator,
        *,
        budget: int,
        state: Any = NOTHING,
        access: Access | str | None = None,
        executor: Any = None,
        timeout: float | None = None,
        due: Callable[[], bool] = never,
        until: float | None = None,
        legal: Callable[[Any], Any] | None = None,
        policy: Callable[[Any], Any] | None = None,
        actions: Sequence[Any] | None = None,
    ) -> None:
        self.model = model
        self.access = access_of(model, access)
        self.budget, self.calls = budget, 0
        self.due, self.until = due, until
        self.pace = Pace()
        """How long calls take, if there is a clock."""
        self.legal: Legal | None
        """The legal actions in a state, checked; None if all are legal."""
        self.rule: Rule | None
        """What the model's policy does in a state, checked; None if it has no policy."""
        listed = listed_actions(model) if actions is None else actions
        self.legal, self.rule = questions(model, legal, policy, listed)
        self._began = 0  # calls before this decision
        self._here, self._checks, self._goes_on = False, True, False  # for the current batch
        self._step = model.step
        self._streams, self._stream = Streams(rng), Stream()
        self._running_on = RunningStream(self._stream)
        self._watches = state is not NOTHING  # whether the first state is known
        if self._watches:
            self._watch = Watch(model, state)
        self._arrays: ArrayPlayer | None = None
        self._workers: Workers | None = None
        if executor is not None:
            player = Player(model, legal, policy, listed, self.access)
            self._workers = Workers(player, executor, timeout)
        elif isinstance(model, ArrayModel):
            kind = ArrayPlayer if jax_model(model) is None else ScanPlayer
            self._arrays = kind(model, self._stream, legal, policy)

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self.budget - self.calls

    @property
    def workers(self) -> int:
        """Requests that are played at the same time."""
        return 1 if self._workers is None else self._workers.number

    @property
    def watch(self) -> Watch:
        """Notices models that change their states or are random; see ``Watch.compare``."""
        if not self._watches:
            self._watch, self._watches = Watch(self.model, self.model.initial_state), True
        return self._watch

    def allow(self, calls: int) -> None:
        """Extend the budget by ``calls``, for the next decision."""
        self.budget += calls
        self._began = self.calls

    def run(
        self,
        batch: Sequence[Request],
        *,
        here: bool = False,
        check_legal: bool = True,
        go_on: bool = False,
        words: bytes | None = None,
    ) -> Replies:
        """Play the requests of a batch; returns a list of walks for each, in their order.

        Args:
            batch: if it might need more calls than are left, it is refused before the first call;
                see ``fitting``.
            here: play in this thread, even if there is an executor.
            check_legal: False if all actions are known to be legal: the model is not asked.
            go_on: in this thread, go on with the random stream of the last batch. So a walk that
                is made step by step draws the same numbers as one that is made at once.
            words: where the random stream of each request starts, ``WORD`` bytes each, to draw the
                same numbers again; an ``ArrayModel``, which has one stream for all, draws anew.
        """
        asked = most_calls(batch)
        if self.calls + asked > self.budget:
            self._refuse(asked)
        if not batch:
            return []
        if not self._watches:
            self._watch, self._watches = Watch(self.model, batch[0][0]), True
        self._here, self._checks, self._goes_on = here or go_on, check_legal, go_on
        if self._arrays is not None:
            words = self._words_for_arrays(len(batch), words, go_on)
        elif go_on:
            words = bytes(WORD * len(batch))
        elif words is None:
            words = self._streams.draw(len(batch))
        replies: Replies = []
        before = self.calls
        try:
            if self.due is never:
                self.calls = before + self._play(batch, words, replies, None)
            elif self._workers is not None and not self._here:
                self._play_on_workers(batch, words, replies)
            else:
                self._play_in_parts(batch, words, replies)
        except BaseException as error:
            self._keep(error, batch, replies)
            raise
        return replies

    def _words_for_arrays(self, requests: int, words: bytes | None, go_on: bool) -> bytes:
        """Where random streams start: one for the batch, and one for each request if needed."""
        assert self._arrays is not None  # noqa: S101  whoever calls has looked
        if self._arrays.keyed:
            if go_on:
                return self._stream.rng.bytes(WORD * requests)
            words = self._streams.draw(requests) if words is None else words
            self._stream.start(words[:WORD])
            return words
        if not go_on:
            self._stream.start(self._streams.draw(1))
        return b""

    def run_rows(self, states: NDArray[Any], actions: NDArray[Any]) -> Rows:
        """Take one step from each state of an array model, without a reply for each.

        With a clock, or after a failure, there are fewer rows; ``Rows.failure`` is the error.
        """
        if self._arrays is None:
            raise InvalidArgument("run_rows is for array models")
        if self.calls + len(states) > self.budget:
            self._refuse(len(states))
        self._stream.start(self._streams.draw(1))
        if self.due is never:
            return self._step_rows(states, actions)
        parts: list[Rows] = []
        start = 0
        while start < len(states) and not (self.calls > self._began and self.due()):
            end = min(len(states), start + self.pace.within(GLANCE))
            began = time.perf_counter()
            parts.append(self._step_rows(states[start:end], actions[start:end]))
            self.pace.note(parts[-1].calls, time.perf_counter() - began)
            if parts[-1].failure is not None:
                break
            start = end
        if not parts:
            return Rows(states[:0], np.empty(0), np.empty(0, np.bool_), 0)
        after, rewards, ended, calls, failures = zip(*parts, strict=True)
        return Rows(
            np.concatenate(after),
            np.concatenate(rewards),
            np.concatenate(ended),
            sum(calls),
            failures[-1],
        )

    def _step_rows(self, states: NDArray[Any], actions: NDArray[Any]) -> Rows:
        """Take and count the steps."""
        assert self._arrays is not None  # noqa: S101  whoever calls has looked
        try:
            rows = self._arrays.step_rows(states, actions)
        except BaseException as error:  # interrupted
            self.calls += getattr(error, "calls", 0)
            raise
        self.calls += rows.calls
        return rows

    def _refuse(self, asked: int) -> NoReturn:
        raise BudgetExceeded(
            f"a request for {asked} calls was refused: {self.calls} of the budget of "
            f"{self.budget} are spent"
        )

    def _keep(self, error: BaseException, batch: Sequence[Request], replies: Replies) -> None:
        """Count the calls of a failed part, and let the exception have what was learned."""
        replies += [[] for _ in batch[len(replies) :]]
        error.calls = self.calls  # type: ignore[attr-defined]
        error.replies = replies  # type: ignore[attr-defined]

    def _play(
        self,
        batch: Sequence[Request],
        words: bytes,
        replies: Replies,
        due: Callable[[int], bool] | None,
    ) -> int:
        """Play a part of a batch; returns the calls made, and counts them if it fails."""
        before = self.calls
        try:
            if self._workers is not None and not self._here:
                until = None if due is None else self.until
                return self._workers.play(batch, words, replies, until, due, self._checks)
            if self._arrays is not None:
                return self._arrays.play(batch, words, replies, due, self._checks)
            return self._play_here(batch, words, replies, due)
        except BaseException as error:
            self.calls = before + getattr(error, "calls", 0)
            raise

    def _play_here(
        self,
        batch: Sequence[Request],
        words: bytes,
        replies: Replies,
        due: Callable[[int], bool] | None,
    ) -> int:
        """Play requests one after the other in this thread."""
        watch, step = self._watch, self._step
        legal = self.legal if self._checks else None
        stream = self._running_on if self._goes_on else self._stream
        if watch.looks_at_states:
            asked = most_calls(batch) if len(batch) <= SMALL else len(batch)
            step = watch.guard(step, self.calls, asked)
        if self.access is Access.RESET:
            first = len(replies)
            try:
                made = play(step, legal, self.rule, batch, words, stream, replies, due)
            finally:
                drop_states(replies[first:])
        else:
            made = play(step, legal, self.rule, batch, words, stream, replies, due)
        if watch.looks_at_states:
            try:
                watch.look_back(self.calls + made)
            except ModelError as error:
                error.calls = made
                raise
        return made

    def _play_on_workers(self, batch: Sequence[Request], words: bytes, replies: Replies) -> None:
        """Play a batch on workers, who look at the clock themselves."""
        if self.calls > self._began and self.due():
            replies += [[] for _ in batch]
            return
        before, began = self.calls, time.perf_counter()
        self.calls = before + self._play(batch, words, replies, self._look_from(before))
        self.pace.note(self.calls - before, time.perf_counter() - began)

    def _play_in_parts(self, batch: Sequence[Request], words: bytes, replies: Replies) -> None:
        """Play about a millisecond of calls at a time, and look at the clock in between."""
        start = 0
        while start < len(batch):
            if self.calls > self._began and self.due():
                replies += [[] for _ in batch[start:]]
                return
            most = self.pace.within(GLANCE)
            end, asked = start, 0
            while end < len(batch):
                more = batch[end][2] * batch[end][3]
                if asked + more > most and end > start:
                    break
                asked += more
                end += 1
            before, began = self.calls, time.perf_counter()
            look = self._look_from(before) if asked > most else None
            part = words[start * WORD : end * WORD]
            self.calls = before + self._play(batch[start:end], part, replies, look)
            self.pace.note(self.calls - before, time.perf_counter() - began)
            start = end

    def _look_from(self, before: int) -> Callable[[int], bool]:
        """The clock for calls in the middle of a part: it may want to know how many there were."""

        def due(made: int) -> bool:
            self.calls = before + made
            return self.due()

        return due
