"""A model's functions, all of one signature for such states and parameters.

Loops call them by pointers: they are compiled once for all models with the same types, and a new
kernel is ready when it is compiled itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
from numba import typeof, types

from platypoos.compiled.ledger.machine import Machine

MASK = types.Array(types.uint8, 1, "C")
WEIGHTS = types.Array(types.float64, 1, "C")
RESULT = types.Tuple((types.float64, types.boolean))


@lru_cache(maxsize=64)
def _step(kernel: Any) -> Any:
    @numba.njit  # type: ignore[untyped-decorator]
    def step(state: Any, action: Any, params: Any, rng: Any, after: Any) -> Any:
        reward, ended = kernel(state, action, params, rng, after)
        return float(reward), bool(ended)

    return step


@lru_cache(maxsize=64)
def _writer(function: Any) -> Any:
    @numba.njit  # type: ignore[untyped-decorator]
    def write(state: Any, params: Any, target: Any) -> bool:
        function(state, params, target)
        return True

    return write


@lru_cache(maxsize=64)
def _number(function: Any) -> Any:
    @numba.njit  # type: ignore[untyped-decorator]
    def number(state: Any, params: Any) -> float:
        return float(function(state, params))

    return number


def first_class(machine: Machine) -> tuple[dict[str, Any], Any]:
    """Such functions, compiled, for a machine, and the type of the machine that has them."""
    kinds = {name: typeof(value) for name, value in machine._asdict().items()}
    state = types.Array(kinds["states"].dtype, 1, "C")
    params, rng = kinds["params"], kinds["rng"]
    wanted = {
        "kernel": (_step, RESULT(state, types.int64, params, rng, state)),
        "legal_kernel": (_writer, types.boolean(state, params, MASK)),
        "value_kernel": (_number, types.float64(state, params)),
        "policy_kernel": (_writer, types.boolean(state, params, WEIGHTS)),
    }
    made = {}
    for name, (wrapped, signature) in wanted.items():
        function = getattr(machine, name)
        if function is not None:
            made[name] = wrapped(function)
            made[name].compile(signature.args)
            kinds[name] = types.FunctionType(signature)
    return made, types.NamedTuple(list(kinds.values()), Machine)
