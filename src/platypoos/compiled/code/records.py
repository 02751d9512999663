"""Tuples that compiled code reads from their address, and that count no references.

This is Numba's extension interface (``numba.extending``): small pieces of generated code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, type_callable

from platypoos.compiled.code.cache import jit

Record = TypeVar("Record")

RECORD_BYTES = 8192
"""Room for a tuple of arrays as compiled code lays it out."""


@intrinsic  # type: ignore[untyped-decorator]
def write(_typing: Any, record: Any, address: Any) -> Any:
    """Write a tuple to an address. Its arrays must live as long as it is read."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = context.get_value_type(record)
        if context.get_abi_sizeof(kind) > RECORD_BYTES:
            raise ValueError(f"larger than the {RECORD_BYTES} bytes of a record: {record}")
        builder.store(args[0], builder.inttoptr(args[1], kind.as_pointer()))
        return context.get_dummy_value()

    return types.void(record, address), codegen


@jit
def store(record: Any, address: int) -> None:
    """Write a tuple to an address."""
    write(record, address)


class Stored:
    """A tuple in memory that compiled code can read; it is there as long as this object."""

    def __init__(self, record: Any) -> None:
        self.record = record
        self._memory = np.empty(RECORD_BYTES, np.uint8)
        self.address = int(self._memory.ctypes.data)
        store(record, self.address)


def reader(record: Any) -> Any:
    """A function for compiled code that reads a tuple of this type from an address.

    Without it planners would be compiled once for each kind of model, because tuples of different
    arrays are of different types. An address is always a whole number.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def read(_typing: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], context.get_value_type(record).as_pointer())
            return uncounted(context, builder, record, builder.load(place))

        return record(address), codegen

    return read


def borrowed(record: Record) -> Record:
    """A tuple of arrays as it is; inside compiled code, one that counts no references.

    Compiled code counts a reference up and down each time it takes an array out of a tuple, with
    atomic instructions. A function that begins with ``tree = borrowed(tree)`` pays nothing; its
    caller keeps the arrays alive. Without it a plan of PlaTyPOOS with 30,000 calls of a compiled
    chain takes 1.4 times as long.
    """
    return record


@type_callable(borrowed)  # type: ignore[untyped-decorator]
def _type_of_borrowed(_context: Any) -> Callable[[Any], Any]:
    return lambda record: record


@lower_builtin(borrowed, types.Any)  # type: ignore[untyped-decorator]
def _borrow(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return uncounted(context, builder, signature.args[0], args[0])


def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Let an array, or those of a tuple, forget who counts their references."""
    if isinstance(kind, types.BaseTuple):
        for i, of_item in enumerate(kind.types):
            item = uncounted(context, builder, of_item, builder.extract_value(value, i))
            value = builder.insert_value(value, item, i)
    elif isinstance(kind, types.Array | types.NumPyRandomGeneratorType):
        counted = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        counted.meminfo = cgutils.get_null_value(counted.meminfo.type)
        value = counted._getvalue()  # noqa: SLF001  as in Numba's manual
    return value
