"""What a planner asks a simulator for, and what it gets back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Step = tuple[Any, Any, float, bool]
"""(action, state, reward, ended): the action that was played, and what came of it."""
Walk = list[Step]
Replies = list[list[Walk]]
"""For each request of a batch, its walks."""


class IfLegal(NamedTuple):
    """An action of a request that is not replaced if it is not legal: the walk stops before it."""

    action: Any


class Request(NamedTuple):
    """From ``state`` play ``actions``, then the model's rule, ``steps`` in all; ``times`` times."""

    state: Any
    """A stored state. With Access.RESET, the state that every walk starts from."""
    actions: Sequence[Any]
    """What ``step`` takes, one for each step, in order."""
    steps: int
    """How many steps to take at most. After ``actions`` the rule (the model's policy) chooses."""
    times: int = 1
    """How many walks to make, each from ``state``."""


def most_calls(batch: Iterable[Request]) -> int:
    """The calls that a batch needs if no episode ends."""
    return sum([request[2] * request[3] for request in batch])


def fitting(batch: Sequence[Request], left: int) -> list[Request]:
    """The part of a batch that surely fits in the calls that are left.

    A request that does not fit is made fewer times; if once is too much, it gets fewer steps.

    >>> fitting([Request("here", [0, 1], 2, times=3), Request("there", [0], 1)], 5)
    [Request(state='here', actions=[0, 1], steps=2, times=2), Request(state='there', actions=[0], \
steps=1, times=1)]
    >>> fitting([Request("here", [0, 1], 2), Request("there", [0, 1], 2)], 3)[1].steps
    1
    """
    if most_calls(batch) <= left:
        return list(batch)
    cut = []
    for request in batch:
        if left <= 0:
            break
        steps, times = request.steps, request.times
        if steps * times > left:
            if steps <= left:
                times = left // steps
            else:
                steps, times = left, 1
            request = request._replace(steps=steps, times=times)  # noqa: PLW2901  the cut one
        cut.append(request)
        left -= steps * times
    return cut
