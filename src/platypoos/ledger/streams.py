"""Random streams of a request: what a call draws depends on its place, not on who makes it."""

from __future__ import annotations

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.simulator.streams import WORD, Stream

CALLS_PER_STREAM = 64
"""Calls of a Python model that share a stream, unless it declares ``calls_per_stream``."""
_AHEAD = 256  # streams drawn beforehand
_FEWEST = 8  # streams of a request, if it has as many calls: what workers can share


class Streams:
    """Random streams for a request, drawn in the order of its calls.

    A stream serves 64 calls, or as many as the model declares.

    Which stream a call uses depends on the seed and its place in the request only, not on who
    makes the call, so a request can be split among workers and give the same samples.
    """

    def __init__(self, seeder: np.random.Generator, calls_per_stream: int | None = None) -> None:
        self._seeder = seeder
        self._calls_per_stream = calls_per_stream or CALLS_PER_STREAM
        self._fewest = _FEWEST if calls_per_stream is None else 1
        self._stream = Stream()
        self.rng = self._stream.rng
        self._pool = b""
        self._words = b""
        self._next = 0
        self.units = 1
        """Units of the request that share a stream: a unit is a call, or a walk of several."""

    def begin(self, units: int, calls: int) -> None:
        """Start a request of ``units``."""
        streams = min(units, max(-(-calls // self._calls_per_stream), self._fewest))
        self.units = -(-units // streams)
        needed = -(-units // self.units) * WORD
        if len(self._pool) < needed:  # drawing bytes takes long, so many are drawn at once
            self._pool += self._seeder.bytes(needed + _AHEAD * WORD)
        self._words, self._pool = self._pool[:needed], self._pool[needed:]
        self._next = 0

    def words(self) -> list[bytes]:
        """Where each stream of the request starts."""
        return [self._words[at : at + WORD] for at in range(0, len(self._words), WORD)]

    def turn(self) -> int:
        """Go to the next stream; returns how many units it is for."""
        at = self._next
        if at == len(self._words):
            self.begin(1, 1)
            at = 0
        self._next = at + WORD
        self._stream.start(self._words[at : at + WORD])
        return self.units


Seed = int | np.random.SeedSequence | np.random.Generator | None


def make_generator(seed: Seed) -> np.random.Generator:
    """The random generator of a plan; a ``Generator`` is used as it is, and moves on."""
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"seed must be an int of at least 0, a SeedSequence or a Generator, got {seed!r}"
        ) from error
