"""How planners in machine code reach a model's loops: by address, once for each request.

A planner is compiled once a machine, not once a model: it knows a model as an ``Engine``, which is
of the same type for all models. The small loops that call the model's step over a whole request
(``evaluate``), a trajectory (``play``) or a walk are compiled together with the step.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from platypoos.compiled.code.cache import jit
from platypoos.compiled.code.unsafe import HandleType, address_of, by_address


class Engine(NamedTuple):
    """What a planner knows of a compiled model."""

    machine: int  # the address of the ``Machine``
    requests: NDArray[np.int64]  # addresses of its loops, by their numbers; 0 if not compiled
    ledger: Any  # those of the machine
    legal: NDArray[np.uint8]
    worth: NDArray[np.float64]


EVALUATE, PLAY, PLAY_WHOLE, ASK_LEGAL, SETTLE, EXTEND = range(6)
"""Numbers of requests. Cached machine code knows them: new ones go to the end."""
REQUESTS = 6

_MACHINE = HandleType(types.none)
"""A machine as planners see it: they do not look into it."""


Kinds = Callable[[], tuple[Any, ...]]


class Request:
    """A loop that is compiled with a model, and called by its address.

    Args:
        function: the loop, of a ``Machine`` (as a handle) and more.
        number: one of EVALUATE, PLAY, …
        result: the type of what it returns.
        kinds: returns the types of its arguments but the first.
        needs: the field of a ``Machine`` without which it is never asked for, if there is one.
    """

    def __init__(
        self, function: Callable[..., Any], number: int, result: Any, kinds: Kinds, needs: str
    ) -> None:
        self.number, self.needs = number, needs
        self._kinds = kinds
        self.loop = jit(function)
        count = function.__code__.co_argcount
        self.call = by_address(result, count, lambda: (_MACHINE, *kinds()))

    def address_for(self, machine: HandleType) -> int:
        """Where the machine code of the loop is, for a kind of machine."""
        return address_of(self.loop, (machine, *self._kinds()))


def request(
    meaning: Callable[..., Any], number: int, result: Any, kinds: Kinds, needs: str = ""
) -> Callable[[Callable[..., Any]], Request]:
    """Make a loop what ``meaning`` asks for."""

    def make(function: Callable[..., Any]) -> Request:
        made = Request(function, number, result, kinds, needs)
        setattr(meaning, "_request", made)  # noqa: B010
        return made

    return make


def requests_of(function: Any) -> list[Request]:
    """All requests that a planner's function can make, by itself or by what it calls."""
    found: dict[Request, None] = {}
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        now = waiting.pop()
        if id(now) in seen:
            continue
        seen.add(id(now))
        asked = getattr(now, "_request", None)
        if asked is not None:
            found[asked] = None
            continue
        now = now.py_func if isinstance(now, Dispatcher) else now
        for name in now.__code__.co_names:
            value = now.__globals__.get(name)
            ours = str(getattr(value, "__module__", "")).startswith("platypoos.")
            if ours and isinstance(value, Dispatcher | python_types.FunctionType):
                waiting.append(value)
    return sorted(found, key=lambda request: request.number)


def is_engine(sim: Any) -> bool:
    """Whether a type of compiled code is that of an engine."""
    return isinstance(sim, HandleType) and getattr(sim.record, "instance_class", None) is Engine
