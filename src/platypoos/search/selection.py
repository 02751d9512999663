"""The largest of many keys, without sorting: keys and tickets in two arrays that move together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import inlined

Tickets = NDArray[np.uint64]
NONE, ONE, FEW = np.uint64(0), np.uint64(1), np.uint64(4)
SIGN, ALL_BUT_SIGN = np.int64(63), np.int64((1 << 63) - 1)


@inlined
def in_order(value: float) -> np.int64:
    """An integer that is larger for a larger number: they are faster to compare.

    The bits of a float, those of negative ones turned around. û is never −0.
    """
    bits = np.float64(value).view(np.int64)
    return bits ^ ((bits >> SIGN) & ALL_BUT_SIGN)


@inlined
def move_best_to_end(keys: Any, pool: Tickets, size: np.uint64, count: np.uint64) -> None:
    """Move the ``count`` best of the first ``size`` entries behind the others.

    Places are unsigned: compiled code need not look whether they count from the end.
    """
    if count > FEW:
        quickselect(keys, pool, size, count)
        return
    for taken in range(count):
        last = size - ONE - taken
        key = keys[last]
        for i in range(NONE, last):  # first the key alone: no branch to guess
            key = max(key, keys[i])
        best: Any = last
        entry = NONE
        for i in range(NONE, last + ONE):
            if keys[i] == key and pool[i] > entry:
                best, entry = i, pool[i]
        keys[best], pool[best] = keys[last], pool[last]
        keys[last], pool[last] = key, entry


@inlined
def quickselect(keys: Any, pool: Tickets, size: np.uint64, count: np.uint64) -> None:
    """As ``move_best_to_end``, in time proportional to the size."""
    low, high, cut = NONE, size, size - count  # the cut is among the entries low..high
    while high - low > ONE:
        last = high - ONE
        pivot = (low + high) >> ONE  # the median of three
        if (keys[low] < keys[pivot]) != (keys[low] < keys[last]):
            pivot = low
        elif (keys[last] < keys[low]) != (keys[last] < keys[pivot]):
            pivot = last
        key, entry = keys[pivot], pool[pivot]
        keys[pivot], pool[pivot] = keys[last], pool[last]
        at = low  # entries before it are worse than the pivot
        for i in range(low, last):
            other_key, other = keys[i], pool[i]
            worse = np.uint64(other_key < key)
            if other_key == key:
                worse = np.uint64(other < entry)
            # Swapped in any case: no branch that the processor would have to guess.
            keys[i], pool[i] = keys[at], pool[at]
            keys[at], pool[at] = other_key, other
            at += worse
        keys[last], pool[last] = keys[at], pool[at]
        keys[at], pool[at] = key, entry
        if at < cut:
            low = at + ONE
        else:
            high = at
        if at == cut:
            break
