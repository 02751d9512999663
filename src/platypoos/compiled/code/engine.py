"""How ``compiled/platypus`` asks a ledger for what has another form around Python models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload_attribute

from platypoos.compiled.code.cache import jit

EXTEND = 0


class Request:
    """A function that compiled code calls in place of another one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        loop = jit(function)

        def call(_number: int, machine: int, search: Any, t: int) -> Any:
            return loop(machine, search, t)

        self.call = jit(call)


def request(_meaning: Any, _number: int, _result: Any, _kinds: Any) -> Callable[..., Request]:
    """Make a function what ``meaning`` asks for."""
    return Request


overload_attribute(types.Integer, "machine", strict=False)(lambda _sim: lambda sim: sim)
overload_attribute(types.Integer, "requests", strict=False)(lambda _sim: lambda sim: (sim,))
