"""Random numbers, the same as in Python: the Mersenne Twister of ``random.Random``, and streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.compiled.platypus.arrays import Bits, Ints, Search, Words
from platypoos.compiled.platypus.parts import part

OF_GRAPH, OF_SEARCH = 0, 1
SIZE, HALF = 624, 397
AHEAD = 256
"""Streams drawn beforehand; see ``simulator/streams.py``."""


@part
def seed(search: Search, which: int, number: Bits) -> None:
    """``random.Random(number)``, of 64 bits at most."""
    words = search.twister[which]
    number = np.uint64(number)
    words[0] = np.uint32(19650218)
    for i in range(1, SIZE):
        before = np.uint64(words[i - 1])
        mixed = np.uint64(1812433253) * (before ^ (before >> np.uint64(30))) + np.uint64(i)
        words[i] = np.uint32(mixed & np.uint64(0xFFFFFFFF))
    size = 2 if number >> np.uint64(32) else 1
    i, j = 1, 0
    for _ in range(SIZE):
        before = np.uint64(words[i - 1])
        key = (number >> np.uint64(32 * j)) & np.uint64(0xFFFFFFFF)
        mixed = np.uint64(words[i]) ^ ((before ^ (before >> np.uint64(30))) * np.uint64(1664525))
        words[i] = np.uint32((mixed + key + np.uint64(j)) & np.uint64(0xFFFFFFFF))
        i += 1
        j = j + 1 if j + 1 < size else 0
        if i >= SIZE:
            words[0] = words[SIZE - 1]
            i = 1
    for _ in range(SIZE - 1):
        before = np.uint64(words[i - 1])
        mixed = (
            np.uint64(words[i]) ^ ((before ^ (before >> np.uint64(30))) * np.uint64(1566083941))
        ) - np.uint64(i)
        words[i] = np.uint32(mixed & np.uint64(0xFFFFFFFF))
        i += 1
        if i >= SIZE:
            words[0] = words[SIZE - 1]
            i = 1
    words[0] = np.uint32(0x80000000)
    words[SIZE] = np.uint32(SIZE)


@part
def _next_block(words: Words) -> None:
    upper, lower = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
    for i in range(SIZE):
        y = (words[i] & upper) | (words[(i + 1) % SIZE] & lower)
        mixed = words[(i + HALF) % SIZE] ^ (y >> np.uint32(1))
        if y & np.uint32(1):
            mixed ^= np.uint32(0x9908B0DF)
        words[i] = mixed
    words[SIZE] = np.uint32(0)


@part
def bits_32(search: Search, which: int) -> Any:
    """32 random bits."""
    words = search.twister[which]
    if words[SIZE] >= SIZE:
        _next_block(words)
    place = np.int64(words[SIZE])
    y = words[place]
    words[SIZE] = np.uint32(place + 1)
    y ^= y >> np.uint32(11)
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    y ^= y >> np.uint32(18)
    return np.uint32(y)


@part
def draw(search: Search, which: int) -> float:
    """``random()``."""
    high = np.float64(bits_32(search, which) >> np.uint32(5))
    low = np.float64(bits_32(search, which) >> np.uint32(6))
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0)  # type: ignore[no-any-return]


@part
def bits_64(search: Search, which: int) -> Any:
    """``getrandbits(64)``."""
    low = np.uint64(bits_32(search, which))
    return low | (np.uint64(bits_32(search, which)) << np.uint64(32))


@part
def bit_length(number: int) -> int:
    """``int.bit_length``."""
    length = 0
    while number:
        number >>= 1
        length += 1
    return length


@part
def below(search: Search, which: int, number: int) -> int:
    """``randrange(number)``, up to 2^31."""
    bits = bit_length(number)
    while True:
        drawn = np.int64(bits_32(search, which) >> np.uint32(32 - bits))
        if drawn < number:
            return drawn


@part
def shuffle(search: Search, which: int, items: Ints, count: int) -> None:
    """``shuffle`` of the first ``count`` items."""
    for i in range(count - 1, 0, -1):
        j = below(search, which, i + 1)
        items[i], items[j] = items[j], items[i]


@part
def draw_streams(search: Search, number: int) -> None:
    """Have the starts of so many streams ready; see ``Streams.draw``."""
    at, pool = search.at[0], search.pool
    if at.used + 4 * number <= at.pooled:
        return
    rest = at.pooled - at.used
    for i in range(rest):
        pool[i] = pool[at.used + i]
    count = 4 * (number + AHEAD) - rest
    drawn = search.seeder.integers(0, 4294967296, count, np.uint32)
    for i in range(count):
        pool[rest + i] = drawn[i]
    at.used, at.pooled = 0, rest + count


@part
def start_stream(search: Search) -> None:
    """Put the model's generator at the start of the next stream."""
    at = search.at[0]
    for i in range(4):
        search.stream[i] = search.pool[at.used + i]
    search.half[0] = 0
    at.used += 4
