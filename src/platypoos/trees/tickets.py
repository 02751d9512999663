"""Random numbers that are the same in every form of a model: hashes of a seed and a number."""

from __future__ import annotations

import numpy as np

from platypoos.compiled.code import inlined


@inlined
def draw_below(seed: int, number: int, end: int) -> int:
    """The next random number from 0 to end − 1: the same in every form of a model."""
    bits = ticket(seed + 1, number) >> np.uint64(32)
    # Signed: compiled code would else mix it with signed numbers, and make floats of both.
    return np.int64((bits * np.uint64(end)) >> np.uint64(32))  # type: ignore[return-value]


@inlined
def ticket(seed: int, node: int | np.uint64) -> np.uint64:
    """A random number that belongs to a node: the larger one wins a tie.

    The low half is the node itself, the high half SplitMix64's hash of it.
    """
    z = np.uint64(seed) + np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z & np.uint64(0xFFFFFFFF00000000)) | np.uint64(node)
