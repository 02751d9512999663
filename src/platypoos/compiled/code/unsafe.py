"""All that touches private parts of Numba, each with its reason.

Numba promises nothing about these parts, so its version is bounded in ``pyproject.toml``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import cgutils
from numba.core import types as nbtypes
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_builtin,
    models,
    register_model,
    type_callable,
    unbox,
)
from numba.np.arrayobj import populate_array

from platypoos.compiled.code.notice import compiling

Record = TypeVar("Record")

HANDLE_BYTES = 8192
"""Room for a tuple of arrays as machine code lays it out."""


def stamp_cache(dispatcher: Any, stamp: str) -> None:
    """Let a function's cache on disk be valid for this stamp only.

    Numba compares the time of the function's own file, and has no way to name others.
    """
    file = getattr(dispatcher._cache, "_cache_file", None)
    if file is not None:
        file._source_stamp = stamp
        # Numba reads on only if this is the same: an old index may name types that are gone.
        file._version = f"{file._version} {stamp}"


def entry_point(dispatcher: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code for these argument types, without the search for it at every call."""
    kinds = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    return entry_point_for(dispatcher, kinds)


def entry_point_for(dispatcher: Any, kinds: tuple[Any, ...]) -> Callable[..., Any]:
    """The same, where the types are known."""
    return _made(dispatcher, kinds).entry_point  # type: ignore[no-any-return]


def address_of(dispatcher: Any, signature: tuple[Any, ...]) -> int:
    """Where the machine code for these argument types is."""
    made = _made(dispatcher, signature)
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


def _made(dispatcher: Any, signature: tuple[Any, ...]) -> Any:
    if signature not in dispatcher.overloads:
        with compiling(dispatcher):
            dispatcher.compile(signature)
    return dispatcher.overloads[signature]


@intrinsic  # type: ignore[untyped-decorator]
def borrow_row(_typing: Any, array: Any, row: Any) -> Any:
    """``array[row]`` of a C-contiguous matrix, as a view that counts no references.

    Atomic reference counts cost more than a cheap simulator's step. The view is safe as long as
    the matrix outlives it, which a planner's arrays do.
    """
    view_type = nbtypes.Array(array.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        matrix = context.make_array(signature.args[0])(context, builder, args[0])
        number = context.cast(builder, args[1], signature.args[1], nbtypes.intp)
        offset = builder.mul(number, builder.extract_value(matrix.strides, 0))
        view = context.make_array(view_type)(context, builder)
        populate_array(
            view,
            data=cgutils.pointer_add(builder, matrix.data, offset, return_type=matrix.data.type),
            shape=cgutils.pack_array(builder, [builder.extract_value(matrix.shape, 1)]),
            strides=cgutils.pack_array(builder, [matrix.itemsize]),
            itemsize=matrix.itemsize,
            meminfo=None,
        )
        return view._getvalue()

    return view_type(array, row), codegen


def borrowed(record: Record) -> Record:
    """A tuple of arrays as it is; inside compiled code, one that counts no references.

    Compiled code counts a reference up and down each time it takes an array out of a tuple. That
    can cost more than all the rest of an inner loop. A function that begins with
    ``tree = borrowed(tree)`` pays nothing; its caller keeps the arrays alive.
    """
    return record


class HandleType(nbtypes.Type):
    """Its type in compiled code: a pointer."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(name=f"Handle({record})")

    @property
    def key(self) -> Any:
        """What makes two of them the same, in another process too."""
        return self.record


register_model(HandleType)(models.OpaqueModel)


@unbox(HandleType)  # type: ignore[untyped-decorator]
def _unbox_handle(kind: Any, value: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_ulonglong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, c.context.get_value_type(kind)))


@intrinsic  # type: ignore[untyped-decorator]
def write(_typing: Any, record: Any, address: Any) -> Any:
    """Write a tuple to an address, as machine code lays it out."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = context.get_value_type(record)
        if context.get_abi_sizeof(kind) > HANDLE_BYTES:
            raise ValueError(f"larger than the {HANDLE_BYTES} bytes of a handle: {record}")
        builder.store(args[0], builder.inttoptr(args[1], kind.as_pointer()))
        return context.get_dummy_value()

    return nbtypes.void(record, address), codegen


@infer_getattr
class _HandleItems(AttributeTemplate):  # type: ignore[misc]
    key = HandleType

    def generic_resolve(self, kind: HandleType, name: str) -> Any:
        if name not in kind.record.fields:
            return None
        item = kind.record.types[kind.record.fields.index(name)]
        return HandleType(item) if isinstance(item, numba.types.BaseTuple) else item


@lower_getattr_generic(HandleType)  # type: ignore[untyped-decorator]
def _read_item(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    index = kind.record.fields.index(name)
    item = kind.record.types[index]
    record = builder.bitcast(pointer, context.get_value_type(kind.record).as_pointer())
    place = cgutils.gep_inbounds(builder, record, 0, index)
    if isinstance(item, numba.types.BaseTuple):
        return builder.bitcast(place, pointer.type)
    return _uncounted(context, builder, item, builder.load(place))


@intrinsic  # type: ignore[untyped-decorator]
def opened(_typing: Any, pointer: Any) -> Any:
    """The tuple itself that a handle is the place of; its arrays count no references."""
    record = pointer.record

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_value_type(record).as_pointer())
        return _uncounted(context, builder, record, builder.load(place))

    return record(pointer), codegen


def seen_as(record: Any) -> Any:
    """See a handle of anything as one of such a tuple; a pointer is a pointer."""

    @intrinsic  # type: ignore[untyped-decorator]
    def seen(_typing: Any, _pointer: Any) -> Any:
        return HandleType(record)(_pointer), lambda _context, _builder, _signature, args: args[0]

    return seen


def by_address(result: Any, count: int, kinds: Callable[[], tuple[Any, ...]]) -> Any:
    """A call of a compiled function whose address is known at run time only: ``f(address, …)``.

    It has ``count`` arguments, of these kinds. A tuple, or an address, is passed as a handle where
    one is wanted. What the function raises goes through to the caller.
    """

    def call(_typing: Any, address: Any, *given: Any) -> Any:
        wanted = kinds()

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = []
            pairs = zip(args[1:], signature.args[1:], wanted, strict=True)
            for value, kind, goal in pairs:
                if isinstance(goal, HandleType) and isinstance(kind, numba.types.BaseTuple):
                    place = cgutils.alloca_once_value(builder, value)
                    values.append(builder.bitcast(place, context.get_value_type(goal)))
                elif isinstance(goal, HandleType) and isinstance(kind, nbtypes.Integer):
                    values.append(builder.inttoptr(value, context.get_value_type(goal)))
                else:
                    values.append(context.cast(builder, value, kind, goal))
            convention = context.call_conv
            shape = convention.get_function_type(result, wanted)
            function = builder.inttoptr(args[0], shape.as_pointer())
            status, returned = convention.call_function(builder, function, result, wanted, values)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return returned

        return result(address, *given), codegen

    names = ["typing", "address", *(f"argument{i}" for i in range(count))]
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD  # Numba would else pack them into a tuple
    call.__signature__ = inspect.Signature([inspect.Parameter(n, plain) for n in names])  # type: ignore[attr-defined]
    return intrinsic(call)


@type_callable(borrowed)  # type: ignore[untyped-decorator]
def _type_of_borrowed(_context: Any) -> Any:
    return lambda record: record


@lower_builtin(borrowed, nbtypes.Any)  # type: ignore[untyped-decorator]
def _borrow(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if isinstance(signature.args[0], HandleType):
        return args[0]
    return _uncounted(context, builder, signature.args[0], args[0])


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Let an array, or those of a tuple, forget who counts their references."""
    if isinstance(kind, numba.types.BaseTuple):
        for i, of_item in enumerate(kind.types):
            item = _uncounted(context, builder, of_item, builder.extract_value(value, i))
            value = builder.insert_value(value, item, i)
        return value
    if not isinstance(kind, nbtypes.Array | nbtypes.NumPyRandomGeneratorType):
        return value
    counted = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    counted.meminfo = cgutils.get_null_value(counted.meminfo.type)
    return counted._getvalue()
