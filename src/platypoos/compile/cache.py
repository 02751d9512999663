"""Functions that are compiled, with caches on disk that notice every change of their code.

Numba caches a compiled function beside its source and recompiles when *that file* changes. Our
functions call each other across files, and use constants of others, so every cache here is stamped
with the contents of all of them: after an upgrade or an edit nothing stale is ever run.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.extending import overload as _numba_overload
from numba.extending import register_jitable

from platypoos.compile.marks import tell_by
from platypoos.compile.trust import is_trusted
from platypoos.compile.unsafe import drop_cache, identify, identity_of, stamp_cache

F = TypeVar("F", bound=Callable[..., Any])
tell_by(register_jitable)


@cache
def _package_stamp() -> str:
    """Of all files whose functions or constants may be in compiled code."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    rooms = ("compile", "compiled", "ledger", "models", "planners", "search")
    inside = [file for room in rooms for file in (package / room).rglob("*.py")]
    for file in sorted([*package.glob("*.py"), *inside]):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def jit(function: F) -> F:
    """Compile at the first call, and keep the machine code on disk for the next process."""
    dispatcher = numba.njit(cache=True, no_cfunc_wrapper=True)(function)
    stamp_cache(dispatcher, _package_stamp())
    folder = dispatcher.stats.cache_path
    if folder is not None and not is_trusted(folder):
        drop_cache(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Copied into the compiled functions that call it: no call, nothing to compile by itself."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


def part(function: F) -> F:
    """A part of a driver: plain Python around a Python model, else compiled with the driver."""
    function._is_part = True  # type: ignore[attr-defined]
    return register_jitable(forceinline=True)(function)  # type: ignore[no-any-return]


@cache
def kernel(function: F) -> F:
    """A plain function as what a ``CompiledModel`` takes; the same one each time."""
    return numba.njit(function)  # type: ignore[no-any-return]


def overload(function: F) -> Callable[[F], F]:
    """What ``function`` means inside compiled code."""
    return _numba_overload(function, jit_options={"forceinline": True})  # type: ignore[no-any-return]


def fingerprint(function: Any) -> str | None:
    """Name a compiled function by all it depends on, or None if that cannot be told.

    The name covers the byte code, the constants, and whatever globals and closure cells the code
    uses, recursively: two processes that define the same step agree on it. It covers the module
    too, because cached machine code imports it when it is loaded.
    """
    digest = hashlib.sha256()
    try:
        _absorb(digest, function, set())
    except TypeError:
        return None
    return digest.hexdigest()


def _absorb(digest: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, Dispatcher):
        value = value.py_func
    if isinstance(value, types.FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        used = inspect.getclosurevars(value)
        digest.update(str(value.__module__).encode())
        _absorb(digest, value.__code__, seen)
        for name, item in sorted({**used.globals, **used.nonlocals}.items()):
            digest.update(name.encode())
            _absorb(digest, item, seen)
    elif isinstance(value, types.CodeType):
        digest.update(value.co_code)
        digest.update(" ".join(value.co_names).encode())
        for constant in value.co_consts:
            _absorb(digest, constant, seen)
    elif isinstance(value, types.ModuleType | types.BuiltinFunctionType | type | np.ufunc):
        digest.update(f"{getattr(value, '__module__', '')}.{value.__name__}".encode())
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
    elif isinstance(value, tuple):
        for item in value:
            _absorb(digest, item, seen)
    elif isinstance(value, int | float | complex | str | bytes | np.generic | None):
        digest.update(repr(value).encode())
    else:
        raise TypeError(f"no fingerprint for {type(value).__name__}")


def name_for_cache(dispatcher: Any) -> bool:
    """Let code specialised for ``dispatcher`` be cached on disk. Returns whether it can be.

    Numba tells functions apart by a random identifier, drawn anew in every process. A name that
    depends on the code only makes machine code that was specialised for it usable again.
    """
    known = identity_of(dispatcher)
    if known is not None:
        return known.startswith("platypoos-")
    name = fingerprint(dispatcher)
    return name is not None and identify(dispatcher, f"platypoos-{name}")
