"""Calls of compiled functions: quick ones, and interpreted ones until machine code is there."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from platypoos.compile.handles import code_for
from platypoos.compile.selftest import still_works
from platypoos.compile.unsafe import borrow_row, entry_point, is_on_disk
from platypoos.compile.workshop import WORKSHOP, are_loaded, waits

INTERPRETED = False
"""True in functions that are interpreted: there, compiled ones may do less in the same time."""
LOOK_AGAIN, SLOW = 16, 1e-3
"""Calls after which to look again whether there is machine code by now; after a call that took so
many seconds it is looked at once."""


def with_fast_kernels(function: Any, patience: float = 0.0) -> Callable[..., Any]:
    """A copy of a Python function that calls compiled functions without looking up their types.

    A driver always passes the same types to a kernel. Numba would find that out anew at every
    call, which takes longer than the kernel's work on a small layer. See ``fast``.
    """
    names = {**function.__globals__}
    code = function.__code__
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, Dispatcher):
            names[name] = fast(value, patience)
        elif hasattr(value, "_is_part"):
            names[name] = with_fast_kernels(value, patience)
    return types.FunctionType(code, names)


def fast(kernel: Any, patience: float = 0.0) -> Any:
    """A compiled function that is always called with the same types.

    It is interpreted until its machine code is there, which is made in the background. That begins
    when this process has interpreted such functions for ``patience`` seconds in all (a small plan
    ends long before it would be compiled), or at once if there is a deadline.
    """
    entry: Callable[..., Any] | None = None
    signature: tuple[Any, ...] = ()
    calls = 0
    was_slow = False

    def is_ready(args: tuple[Any, ...]) -> bool:
        nonlocal signature, calls
        calls += 1
        eager = WORKSHOP.is_eager and not waits()
        if calls == 1:
            signature = tuple(kernel.typeof_pyval(argument) for argument in args)
            if not eager and is_on_disk(kernel, signature):
                return still_works()
        if patience > _SPENT[0] and not eager:
            return False
        if waits():
            return still_works()
        look = was_slow or calls % LOOK_AGAIN == 1
        return look and are_loaded(code_for(kernel, signature))

    def call(*args: Any) -> Any:
        nonlocal entry, was_slow
        if entry is not None:
            return entry(*args)
        if is_ready(args):
            entry = entry_point(kernel, args)
            return entry(*args)
        start = time.perf_counter()
        with np.errstate(all="ignore"):  # as compiled code does; hashes overflow on purpose
            result = interpreted(kernel)(*args)
        took = time.perf_counter() - start
        was_slow = took > SLOW
        _SPENT[0] += took
        return result

    return call


_SPENT = [0.0]
"""Seconds that this process has interpreted functions which are compiled later."""
_INTERPRETED: dict[Any, Callable[..., Any]] = {}


def interpreted(kernel: Any) -> Callable[..., Any]:
    """A compiled function as plain Python, and so are those that it calls."""
    function = getattr(kernel, "py_func", kernel)
    if function not in _INTERPRETED:
        names = {**function.__globals__}
        if "INTERPRETED" in names:
            names["INTERPRETED"] = True
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        made = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        _INTERPRETED[function] = made  # before what it calls, which may be itself
        for name in names.keys() & set(function.__code__.co_names):
            names[name] = _plain(names[name])
        for cell, before in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = _plain(before.cell_contents)
    return _INTERPRETED[function]


def _plain(value: Any) -> Any:
    """What a name in a compiled function stands for when it is interpreted."""
    if value is borrow_row:
        return lambda array, row: array[row]
    ours = str(getattr(value, "__module__", "")).startswith("platypoos.")
    if isinstance(value, Dispatcher) or (ours and isinstance(value, types.FunctionType)):
        return interpreted(value)
    return value
