"""A model's functions as loops call them: by rows of its states, all of one signature.

So loops do not know what states and parameters look like, and are compiled once for all models. A
new model is ready when its own functions are compiled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from platypoos.compiled.code import HandleType, borrow_row, handle, opened
from platypoos.compiled.code.notice import compiling
from platypoos.compiled.code.unsafe import seen_as

GIVEN = HandleType(types.none)
"""What a model's functions are given, as loops see it: they do not look into it."""
STEP = types.Tuple((types.float64, types.boolean))(GIVEN, types.int64, types.int64, types.int64)
VALUE = types.float64(GIVEN, types.int64)
MASK = types.boolean(GIVEN, types.int64, types.Array(types.uint8, 1, "C"))
WEIGHTS = types.boolean(GIVEN, types.int64, types.Array(types.float64, 1, "C"))


class Given(NamedTuple):
    """What a model's functions are given."""

    states: NDArray[Any]  # [nodes + 2, state size] one state per node, and two to work with
    params: Any
    rng: np.random.Generator


@lru_cache(maxsize=64)
def _step(kernel: Any, record: Any) -> Any:
    seen = seen_as(record)

    @numba.njit  # type: ignore[untyped-decorator]
    def step(given: Any, source: int, action: int, target: int) -> Any:
        states, params, rng = opened(seen(given))
        state, after = borrow_row(states, source), borrow_row(states, target)
        reward, ended = kernel(state, action, params, rng, after)
        return float(reward), bool(ended)

    return step


@lru_cache(maxsize=64)
def _writer(function: Any, record: Any) -> Any:
    seen = seen_as(record)

    @numba.njit  # type: ignore[untyped-decorator]
    def write(given: Any, row: int, target: Any) -> bool:
        states, params, _ = opened(seen(given))
        function(borrow_row(states, row), params, target)
        return True

    return write


@lru_cache(maxsize=64)
def _number(function: Any, record: Any) -> Any:
    seen = seen_as(record)

    @numba.njit  # type: ignore[untyped-decorator]
    def number(given: Any, row: int) -> float:
        states, params, _ = opened(seen(given))
        return float(function(borrow_row(states, row), params))

    return number


FUNCTIONS = {
    "kernel": (_step, STEP),
    "legal_kernel": (_writer, MASK),
    "value_kernel": (_number, VALUE),
    "policy_kernel": (_writer, WEIGHTS),
}


def first_class(functions: dict[str, Any], given: Given) -> dict[str, Any]:
    """The functions, compiled in this form, by their names in a ``Machine``."""
    record = typeof(given)
    made = {}
    for name, function in functions.items():
        wrapped, signature = FUNCTIONS[name]
        made[name] = wrapped(function, record)
        with compiling(made[name]):
            made[name].compile(signature.args)
    return made


def kind_of(machine: Any) -> Any:
    """The type of a ``Machine`` in compiled code."""
    kinds = {
        name: types.FunctionType(FUNCTIONS[name][1])
        if name in FUNCTIONS and value is not None
        else GIVEN
        if name == "given"
        else typeof(value)
        for name, value in machine._asdict().items()
    }
    return types.NamedTuple(list(kinds.values()), type(machine))


def give(states: NDArray[Any], params: Any, rng: np.random.Generator) -> Any:
    """What the functions are given, as a handle."""
    return handle(Given(states, params, rng))


def bits_of(states: NDArray[Any]) -> NDArray[Any]:
    """The same memory as whole numbers, to compare states: as few as possible."""
    size = states.shape[1] * states.itemsize
    word = next(word for word in (8, 4, 2, 1) if size % word == 0)
    return states.view(f"u{word}")
