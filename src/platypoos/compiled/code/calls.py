"""Calls of compiled functions from Python, without the search for their types at every call."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numba.core.dispatcher import Dispatcher

from platypoos.compiled.code.unsafe import entry_point


def fast(kernel: Any) -> Callable[..., Any]:
    """A compiled function that is always called with the same types; compiled at the first call."""
    entry: Callable[..., Any] | None = None

    def call(*args: Any) -> Any:
        nonlocal entry
        if entry is None:
            entry = entry_point(kernel, args)
        return entry(*args)

    return call


def with_fast_kernels(function: Any) -> Callable[..., Any]:
    """A copy of a Python function that calls compiled functions in this way, and so do its parts.

    A driver always passes the same types to a kernel. Numba would find that out anew at every
    call, which takes longer than the kernel's work on a small layer.
    """
    names = {**function.__globals__}
    code = function.__code__
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, Dispatcher):
            names[name] = fast(value)
        elif hasattr(value, "is_part"):
            names[name] = with_fast_kernels(value)
    return types.FunctionType(code, names)
