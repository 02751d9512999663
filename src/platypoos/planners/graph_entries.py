"""What the rounds of a graph planner work with: sequences of actions, requests, the noise."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DONE, TREE_FULL, ENTRIES_FULL, PAUSED, FAILED, LACKING = 0, 1, 2, 3, 4, 5
"""How a visit to the search ends."""
LAYER, START, SIZE, H_MAX, HOME, FRESH, OPENED, ASKED, STAMP, SPENT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
"""Entries of ``Search.place``. STAMP counts, so that ``Search.stamp`` never has to be cleared;
SPENT tells that the round is finished with the samples there are, for want of calls."""
SQUARES, DEGREES, SAMPLES, REPEATS = 0, 1, 2, 3
"""Entries of ``Search.noise``: squared moves of means, in units of one sample's variance, their
number, all samples, and those of actions that had been sampled before."""
LOOK_SHARE, LOOKS = 10, 64
"""While no noise was seen, a call in so many looks for it; and so many do before it is believed
that nothing is left to learn."""


class Entries(NamedTuple):
    """The sequences of a round; the first is the empty one. A parent comes before its children."""

    node: NDArray[np.int32]  # [room] the last action's node of the tree
    parent: NDArray[np.int32]  # [room]
    depth: NDArray[np.int32]  # [room]
    p_index: NDArray[np.int16]  # [room]
    value: Floats  # [room] û
    doubt: Floats  # [room] Σ γ^2t / T: its variance, in units of the noise's


class Search(NamedTuple):
    """What a round works with, as compiled code reads it."""

    place: Ints  # where the round is
    noise: Floats  # what is known of the noise
    group_end: Ints  # [p_max + 2] as ``layered.Course.group_end``
    opened: Ints  # [room] entries opened in a layer…
    opened_p: Ints  # [room] …and their p
    nodes: Ints  # [room] a request…
    repeats: Ints  # [room]
    before: Floats  # [room] …and the means before it
    fresh: Ints  # [room] nodes that it evaluates for the first time
    keys: Floats  # [room] the pool of entries that wait to be opened
    pool: NDArray[np.uint64]  # [room]
    stamp: Ints  # [capacity] the last layer in which a state was seen…
    best: NDArray[np.int32]  # [capacity] …and the best entry that leads to it there
    pinned: NDArray[np.int32]  # [depth] the states along the best sequence so far, then NONE
    power: Floats  # [depth] γ^t
    num_actions: int
    gamma: float


def make_entries(room: int) -> Entries:
    """Room for so many."""
    kinds = ("i4", "i4", "i4", "i2", "f8", "f8")
    return Entries._make(np.empty(room, kind) for kind in kinds)


def grown_entries(entries: Entries, room: int, size: int) -> Entries:
    """A copy with more room."""
    larger: Any = make_entries(room)
    kept: Any = entries
    for array, copy in zip(kept, larger, strict=True):
        copy[:size] = array[:size]
    return larger  # type: ignore[no-any-return]


def horizon(discount: float) -> int:
    """The depth at which γ^h is lost in the rounding of a double."""
    return 1 if discount == 0 else max(1, math.ceil(math.log(1e-16) / math.log(discount)))
