"""Random streams: what a request draws depends on its place in the batch, not on who plays it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

WORD = 16
"""Bytes that say where a stream starts."""
_AHEAD = 256  # streams drawn beforehand


class Stream:
    """A generator that can be put at the start of any stream."""

    def __init__(self) -> None:
        self._bits = np.random.PCG64(0)
        self.rng = np.random.Generator(self._bits)
        self._state = self._bits.state
        self.start = self._fast() or self._by_state

    def _by_state(self, word: bytes) -> None:
        self._state["state"]["state"] = int.from_bytes(word, "little")
        self._bits.state = self._state

    def _fast(self) -> Callable[[bytes], None] | None:
        """Write the generator's memory, five times faster, if it is laid out as we know it."""
        address = self._bits.ctypes.state_address
        where = ctypes.c_void_p.from_address(address).value
        if where is None:
            return None
        words = memoryview((ctypes.c_char * WORD).from_address(where)).cast("B")
        half_used = memoryview((ctypes.c_char * 4).from_address(address + 8)).cast("B")
        none = bytes(4)

        whole = slice(None)

        def start(word: bytes) -> None:
            words[whole] = word
            if half_used[0]:
                half_used[:] = none  # no half of a 64-bit draw is left over

        trial = bytes(range(WORD))
        self._by_state(trial)
        expected = self.rng.bytes(32)
        self._by_state(bytes(WORD))
        self.rng.integers(10, dtype=np.uint32)  # leaves half of a draw
        start(trial)
        same = self._bits.state["has_uint32"] == 0 and self.rng.bytes(32) == expected
        return start if same else None


class RunningStream:
    """The same generator, which goes on from where it is."""

    def __init__(self, stream: Stream) -> None:
        self.rng = stream.rng

    def start(self, word: bytes) -> None:
        """Go on."""


class Streams:
    """Where the streams of a batch start: 16 bytes for each request, drawn in bulk."""

    def __init__(self, seeder: np.random.Generator) -> None:
        self._seeder = seeder
        self._pool = b""
        self._next = 0

    def draw(self, number: int) -> bytes:
        """The starts of the next streams, one after the other."""
        start, end = self._next, self._next + number * WORD
        if end > len(self._pool):  # drawing bytes takes long, so many are drawn at once
            rest = self._pool[start:]
            start, end = 0, number * WORD
            self._pool = rest + self._seeder.bytes(end + _AHEAD * WORD - len(rest))
        self._next = end
        return self._pool[start:end]
