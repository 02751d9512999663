"""Named tuples of arrays that compiled code is told the place of, and calls of addresses.

Only the default planner's machine code uses this.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_cast,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from platypoos.compiled.code.records import Stored, store, uncounted

Record = TypeVar("Record")
__all__ = ["Handle", "HandleType", "handle", "handle_kind", "store"]


class HandleType(types.Type):  # type: ignore[misc]
    """The type of a handle in compiled code: a pointer to ``record``."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(name=f"Handle({record})")

    @property
    def key(self) -> Any:
        """What makes two of them the same, in another process too."""
        return self.record

    def can_convert_to(self, _context: Any, other: Any) -> Any:
        """A handle is passed where its tuple is wanted."""
        return Conversion.safe if other == self.record else None


@lower_cast(HandleType, types.BaseTuple)  # type: ignore[untyped-decorator]
def _opened(context: Any, builder: Any, kind: Any, _wanted: Any, pointer: Any) -> Any:
    place = builder.bitcast(pointer, context.get_value_type(kind.record).as_pointer())
    return uncounted(context, builder, kind.record, builder.load(place))


register_model(HandleType)(models.OpaqueModel)


class Handle:
    """A named tuple that compiled code is told the place of, instead of all that is in it.

    Compiled functions are handed tuples item by item: with dozens of arrays that takes longer
    than a small layer, and long to compile. Items of a handle are read when they are needed, and
    count no references; tuples among them are handles. The arrays live as long as it does.
    """

    def __init__(self, record: Any) -> None:
        self.record = record
        self.__dict__.update(record._asdict())

    @cached_property
    def _stored(self) -> Stored:
        return Stored(self.record)

    @property
    def address(self) -> int:
        """Where compiled code finds it."""
        return self._stored.address


def handle(record: Record) -> Record:
    """A handle of a named tuple, which can be used in its place."""
    return Handle(record)  # type: ignore[return-value]


@typeof_impl.register(Handle)  # type: ignore[untyped-decorator]
def _type_of_handle(value: Handle, _context: Any) -> HandleType:
    cls = type(value.record)
    if cls not in _KINDS:
        _KINDS[cls] = HandleType(numba.typeof(value.record))
    return _KINDS[cls]


_KINDS: dict[type, HandleType] = {}
"""The arrays of a named tuple are always of the same types; to look at all of them takes long."""


@unbox(HandleType)  # type: ignore[untyped-decorator]
def _unbox_handle(kind: Any, value: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_ulonglong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, c.context.get_value_type(kind)))


@infer_getattr
class _HandleItems(AttributeTemplate):  # type: ignore[misc]
    key = HandleType

    def generic_resolve(self, kind: HandleType, name: str) -> Any:
        if name not in kind.record.fields:
            return None
        item = kind.record.types[kind.record.fields.index(name)]
        return HandleType(item) if isinstance(item, types.BaseTuple) else item


@lower_getattr_generic(HandleType)  # type: ignore[untyped-decorator]
def _read_item(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    index = kind.record.fields.index(name)
    item = kind.record.types[index]
    record = builder.bitcast(pointer, context.get_value_type(kind.record).as_pointer())
    place = cgutils.gep_inbounds(builder, record, 0, index)
    if isinstance(item, types.BaseTuple):
        return builder.bitcast(place, pointer.type)
    return uncounted(context, builder, item, builder.load(place))


def handle_kind(record: type) -> HandleType:
    """The type of the handles of a named tuple, of which there has been one."""
    return _KINDS[record]
