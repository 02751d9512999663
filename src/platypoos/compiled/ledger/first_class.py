"""A model's functions as loops call them: Numba's first-class functions, all of one signature.

Loops do not know what states and parameters look like. They name states by their rows, and pass
on an address. So they are compiled once for all models, and a new model is ready when its own
functions are compiled. A call through such a function takes about 1 ns more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import typeof, types
from numba.extending import typeof_impl
from numpy.typing import NDArray

from platypoos.compiled.code.notice import compiling
from platypoos.compiled.code.records import reader

STEP = types.Tuple((types.float64, types.boolean))(*[types.int64] * 4)
VALUE = types.float64(types.int64, types.int64)
MASK = types.boolean(types.int64, types.int64, types.Array(types.uint8, 1, "C"))
WEIGHTS = types.boolean(types.int64, types.int64, types.Array(types.float64, 1, "C"))


class Functions(NamedTuple):
    """The functions of a model: the same types for all models."""

    kernel: Any
    legal_kernel: Any
    value_kernel: Any
    policy_kernel: Any


KIND = types.NamedTuple(
    [types.FunctionType(signature) for signature in (STEP, MASK, VALUE, WEIGHTS)], Functions
)
functions_at = reader(KIND)


@typeof_impl.register(Functions)  # type: ignore[untyped-decorator]
def _type_of_functions(_value: Functions, _context: Any) -> Any:
    return KIND


class Given(NamedTuple):
    """What a model's functions are given, as the address of this record."""

    states: NDArray[Any]  # [nodes + 2, state size] one state per node, and two to work with
    params: Any
    rng: np.random.Generator


@lru_cache(maxsize=64)
def _step(kernel: Any, record: Any) -> Any:
    read = reader(record)

    @numba.njit  # type: ignore[untyped-decorator]
    def step(address: int, source: int, action: int, target: int) -> Any:
        states, params, rng = read(address)
        reward, ended = kernel(states[source], action, params, rng, states[target])
        return float(reward), bool(ended)

    return step


@lru_cache(maxsize=64)
def _writer(function: Any, record: Any) -> Any:
    read = reader(record)

    @numba.njit  # type: ignore[untyped-decorator]
    def write(address: int, row: int, target: Any) -> bool:
        states, params, _ = read(address)
        function(states[row], params, target)
        return True

    return write


@lru_cache(maxsize=64)
def _number(function: Any, record: Any) -> Any:
    read = reader(record)

    @numba.njit  # type: ignore[untyped-decorator]
    def number(address: int, row: int) -> float:
        states, params, _ = read(address)
        return float(function(states[row], params))

    return number


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def nothing(address: int, row: int, target: Any) -> bool:  # noqa: ARG001
    """In place of what a model does not say; never called."""
    return True


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def no_value(address: int, row: int) -> float:  # noqa: ARG001
    """The same for its value."""
    return 0.0


FUNCTIONS = {
    "kernel": (_step, STEP, None),
    "legal_kernel": (_writer, MASK, nothing),
    "value_kernel": (_number, VALUE, no_value),
    "policy_kernel": (_writer, WEIGHTS, nothing),
}
"""How each is made, its signature, and what is in its place if the model does not have it."""


def first_class(functions: dict[str, Any], given: Given) -> dict[str, Any]:
    """Functions of a model, compiled in this form, by their names."""
    record = typeof(given)
    made = {}
    for name, function in functions.items():
        wrapped, signature, absent = FUNCTIONS[name]
        made[name] = absent if function is None else wrapped(function, record)
        with compiling(made[name]):
            made[name].compile(signature.args)
    return made
