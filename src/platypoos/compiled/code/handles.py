"""Named tuples of arrays that compiled code is told the place of."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numba
import numpy as np
from numba.extending import typeof_impl

from platypoos.compiled.code.cache import jit
from platypoos.compiled.code.unsafe import HANDLE_BYTES, HandleType, write

Record = TypeVar("Record")


class Handle:
    """A named tuple that compiled code is told the place of, instead of all that is in it.

    Compiled functions are handed tuples item by item: with dozens of arrays that takes longer
    than a small layer, and long to compile. Items of a handle are read when they are needed, and
    count no references; tuples among them are handles. The arrays live as long as it does.
    """

    def __init__(self, record: Any) -> None:
        self.record = record
        self.__dict__.update(record._asdict())
        self._memory = np.empty(HANDLE_BYTES, np.uint8)

    @cached_property
    def address(self) -> int:
        """Where compiled code finds it."""
        address = self._memory.ctypes.data
        store(self.record, address)
        return address


def handle(record: Record) -> Record:
    """A handle of a named tuple, which can be used in its place."""
    return Handle(record)  # type: ignore[return-value]


def handle_of(example: Any) -> HandleType:
    """The type of a handle of such a tuple."""
    return HandleType(numba.typeof(example))


_KINDS: dict[type, HandleType] = {}
"""The arrays of a named tuple are always of the same types; to look at all of them takes long."""


def handle_kind(record: type) -> HandleType:
    """The type of the handles of a named tuple, of which there has been one."""
    return _KINDS[record]


@typeof_impl.register(Handle)  # type: ignore[untyped-decorator]
def _type_of_handle(value: Handle, _context: Any) -> HandleType:
    cls = type(value.record)
    if cls not in _KINDS:
        _KINDS[cls] = HandleType(numba.typeof(value.record))
    return _KINDS[cls]


@jit
def store(record: Any, address: int) -> None:
    """Write a tuple to where a handle of it will be read."""
    write(record, address)
