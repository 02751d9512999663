"""How long calls take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]


def never() -> bool:
    """No clock."""
    return False


GLANCE = 0.001
"""Seconds of calls after which the clock is looked at."""


class Pace:
    """How long a call takes, lately."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Of a call; 0 as long as none was made."""

    def within(self, seconds: float) -> int:
        """Calls that take so long; one if nothing is known yet."""
        return max(1, int(seconds / self.seconds)) if self.seconds else 1

    def note(self, calls: int, seconds: float) -> None:
        """Learn from calls that were made."""
        if calls:
            now = max(1e-9, seconds / calls)
            self.seconds = now if self.seconds == 0.0 else 0.5 * (self.seconds + now)

    def spread(
        self, sim: Any, evaluate: Callable[..., None], tree: Any, nodes: Nodes, repeats: Nodes
    ) -> None:
        """Make the calls of a request: with a clock in parts, and no more when it has run out."""
        if sim.due is never:
            evaluate(tree, nodes, repeats)
            return
        ends = np.cumsum(repeats)
        done, total = 0, int(repeats.sum())
        while done < total and not sim.due():
            stop = min(total, done + max(sim.workers, self.within(GLANCE)))
            part = np.clip(np.minimum(ends, stop) - np.maximum(ends - repeats, done), 0, None)
            asked = np.flatnonzero(part)
            before, start = sim.calls, time.perf_counter()
            evaluate(tree, nodes[asked], part[asked])
            self.note(sim.calls - before, time.perf_counter() - start)
            done = stop
