"""The functions of the twin, compiled for one set of types each: those of their annotations.

Numba would compile a function anew for each mix of 32-bit and 64-bit numbers and constants that
it is called with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.extending import typeof_impl

from platypoos.compiled.code.cache import _stamp
from platypoos.compiled.code.handles import HandleType
from platypoos.compiled.code.records import write as write_record
from platypoos.compiled.code.trust import is_trusted
from platypoos.compiled.code.unsafe import entry_point_for, stamp_cache
from platypoos.compiled.ledger import first_class
from platypoos.compiled.platypus.arrays import Search
from platypoos.trees.tree import make_tree


@cache
def search_kind() -> Any:
    """The type of a ``Search`` in compiled code; it is always the same."""
    from platypoos.compiled.platypus.room import example

    return numba.typeof(example())


@cache
def _kinds() -> dict[str, Any]:
    return {
        "Search": HandleType(search_kind()),
        "int": types.int64,
        "float": types.float64,
        "bool": types.boolean,
        "Bits": types.uint64,
        "Ints": types.int32[::1],
        "Places": types.int64[::1],
        "Floats": types.float64[::1],
        "Words": types.uint32[::1],
        "Tree": numba.typeof(make_tree(1)),
    }


def _signature(function: Callable[..., Any]) -> tuple[Any, ...]:
    code, said = function.__code__, function.__annotations__
    return tuple(_kinds()[said[name]] for name in code.co_varnames[: code.co_argcount])


class Part:
    """A function that others of the twin call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled: Any = None

    def compiled(self) -> Any:
        """The compiled function."""
        if self._compiled is None:
            made = numba.njit(self._function)
            made.compile(_signature(self._function))
            made.disable_compile()
            self._compiled = made
        return self._compiled


@typeof_impl.register(Part)  # type: ignore[untyped-decorator]
def _type_of_part(part: Part, _context: Any) -> Any:
    return types.Dispatcher(part.compiled())


def part(function: Callable[..., Any]) -> Any:
    """Compiled when something that calls it is compiled, and kept on disk with that."""
    return Part(function)


NOT_COMPILED = {"session"}
"""Files that compiled code does not depend on."""


@cache
def stamp() -> str:
    """Of all that is compiled here: the files, the constants in them, and what they build on."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(_stamp(Path(first_class.__file__)).encode())
    for file in files:
        if file.stem in NOT_COMPILED:
            continue
        digest.update(file.read_bytes())
        module = import_module(f"{__package__}.{file.stem}")
        for name, value in sorted(vars(module).items()):
            if name.isupper() and isinstance(value, int | float):
                digest.update(f"{name}={value!r}".encode())
    return digest.hexdigest()


class Entry:
    """A function that Python calls; other threads can run meanwhile."""

    def __init__(
        self, function: Callable[..., Any], kinds: Callable[[], tuple[Any, ...]] | None = None
    ) -> None:
        self._function = function
        self._kinds = kinds or partial(_signature, function)
        self._point: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        """Call it; it is compiled, or read from disk, the first time."""
        if self._point is None:
            function = self._function
            made = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True)(function)
            folder = made.stats.cache_path
            if folder is not None and not is_trusted(folder):
                made = numba.njit(nogil=True, no_cfunc_wrapper=True)(function)
            else:
                stamp_cache(made, stamp())
            self._point = entry_point_for(made, self._kinds())
        return self._point(*args)


def entry(function: Callable[..., Any]) -> Any:
    """A function that Python calls."""
    return Entry(function)


def _store(record: Any, address: Any) -> None:
    write_record(record, address)


_writer = Entry(_store, lambda: (search_kind(), types.int64))


def write(search: Search, address: int) -> None:
    """Write a search to where machine code will find it."""
    _writer(search, address)
