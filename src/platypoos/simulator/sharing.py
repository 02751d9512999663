"""What each worker gets: the requests of a batch, cut and put together into tasks.

Calls may be slow or quick, and their cost may vary. So nothing is shared out beforehand: whoever is
idle gets the next task. A request is a task of its own, unless its calls are so quick that sending
it takes long beside them. A long walk is cut in pieces as long as others wait, and the one with the
most calls left goes first: then no worker is left with a whole walk when the others are done.

None of it changes the walks. A worker stops between two calls and says where the request's random
stream stands; the next piece goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from platypoos.simulator.pace import Pace
from platypoos.simulator.requests import Request, Walk
from platypoos.simulator.streams import WORD

OVERHEAD = 20
"""A task should take so many times as long as it takes to send it…"""
PIECES = 8
"""…and, if others wait, a piece of a walk at most so much of the time that they will take."""
LONGEST = 1.0
"""Seconds of a piece at most: what a worker that dies takes along. Half of the timeout if that is
less."""
ATTENTIVE = 0.01
"""Seconds of a piece if somebody may say at any time that it is enough."""


class Chain:
    """A request, and what came of it so far: its calls can only be made one after the other."""

    __slots__ = ("begun", "losses", "midway", "place", "requests", "stream", "walks", "word")

    def __init__(self, place: int, request: Request, word: bytes) -> None:
        self.place, self.word = place, word
        self.requests = [request]
        """What is left to do: the rest of a walk, and the walks after it."""
        self.walks: list[Walk] = []
        self.begun = self.midway = False
        """Whether there are calls already; whether the last walk is to go on."""
        self.stream: Any = None
        """Where its random stream stands, if it has begun."""
        self.losses = 0
        """How often a worker was lost with it, since it last got on."""

    @classmethod
    def of(cls, batch: Sequence[Request], words: bytes) -> list[Chain]:
        """The chains of a batch."""
        return [
            cls(place, request, words[place * WORD : (place + 1) * WORD])
            for place, request in enumerate(batch)
        ]

    @property
    def calls(self) -> int:
        """Calls that are left, at most."""
        return sum([request[2] * request[3] for request in self.requests])

    def take(self, answered: Iterable[list[Walk]], stream: Any) -> None:
        """Add the walks of an answer, which stopped early if it has a stream.

        >>> chain = Chain(0, Request("s", [0, 1, 2], 3, times=2), b"")
        >>> chain.take([[[(0, "t", 1.0, False)]]], "somewhere")
        >>> chain.requests  # doctest: +NORMALIZE_WHITESPACE
        [Request(state='t', actions=[1, 2], steps=2, times=1),
         Request(state='s', actions=[0, 1, 2], steps=3, times=1)]
        """
        rest: list[Request] = []
        number = 0
        for number, walks in enumerate(answered, 1):
            state, actions, steps, times = self.requests[number - 1]
            if walks and self.midway:
                self.walks[-1] += walks[0]
                self.walks += walks[1:]
            else:
                self.walks += walks
            if walks:
                self.begun, self.midway, self.losses = True, False, 0
            if stream is None:
                continue
            last = walks[-1] if walks else None
            if last and len(last) < steps and not last[-1][3]:
                made = len(last)
                rest.append(Request(last[-1][1], actions[made:], steps - made))
                self.midway = True
            if len(walks) < times:
                rest.append(Request(state, actions, steps, times - len(walks)))
        self.requests = rest + self.requests[number:]
        self.stream = stream if self.begun else None


class Shares:
    """The chains that wait for a worker.

    Args:
        chains: what to play.
        number: of workers.
        pace: how long calls take.
        latency: seconds that it takes to send a task and to get its answer, beside playing it.
        restores: whether a walk can go on from a state; else it is not cut.
        in_order: play the first ones first, and whole: then time may run out at any moment.
        stops: come back often, to ask whether to go on.
        timeout: the seconds after which a task counts as lost.
    """

    def __init__(
        self,
        chains: Iterable[Chain],
        number: int,
        pace: Pace,
        latency: float,
        *,
        restores: bool = True,
        in_order: bool = False,
        stops: bool = False,
        timeout: float | None = None,
    ) -> None:
        self._number, self._pace, self._restores = number, pace, restores
        self._in_order, self._stops = in_order, stops
        self._least = OVERHEAD * latency
        self._most = LONGEST if timeout is None else min(LONGEST, timeout / 2)
        self._heap = [self._entry(chain) for chain in chains]
        heapify(self._heap)
        self._calls = sum([entry[2] for entry in self._heap])

    def __bool__(self) -> bool:
        return bool(self._heap)

    def _entry(self, chain: Chain) -> tuple[int, int, int, Chain]:
        """The first ones of the heap are played first. No two have the same place."""
        calls = chain.calls
        order = -int(chain.begun) if self._in_order else -calls
        return order, chain.place, calls, chain

    def put_back(self, chains: Iterable[Chain]) -> None:
        """Let chains wait that are not done."""
        for chain in chains:
            entry = self._entry(chain)
            self._calls += entry[2]
            heappush(self._heap, entry)

    def take(self, idle: int) -> tuple[list[Chain], float | None]:
        """The next task, and after how many seconds it should come back; None for at its end.

        ``idle`` is the number of workers that wait for one.

        >>> batch = [Request(0, [0] * steps, steps) for steps in (1, 3, 1)]
        >>> def tasks(seconds):
        ...     pace = Pace()
        ...     pace.note(1, seconds)
        ...     shares = Shares(Chain.of(batch, b""), 2, pace, latency=0.001)
        ...     while shares:
        ...         yield [chain.calls for chain in shares.take(2)[0]]
        >>> list(tasks(seconds=0.1)), list(tasks(seconds=1e-4))
        ([[3], [1], [1]], [[3], [1], [1]])
        """
        _, _, calls, chain = heappop(self._heap)
        task, waiting = [chain], self._calls
        pace = self._pace.seconds
        if pace and not chain.begun:
            goal = min(self._least / pace, waiting / idle)
            heap = self._heap
            while heap and not heap[0][3].begun and calls + heap[0][2] <= goal:
                entry = heappop(heap)
                calls += entry[2]
                task.append(entry[3])
        self._calls = waiting - calls
        return task, self._seconds()

    def _seconds(self) -> float | None:
        if not self._restores:
            return None
        if self._stops:
            return min(self._most, max(ATTENTIVE, self._least))
        if self._in_order or not self._heap:
            return self._most
        share = self._calls * self._pace.seconds / (PIECES * self._number)
        return min(self._most, max(self._least, share))
