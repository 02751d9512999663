"""Numba, with caches on disk that notice every change of the compiled code.

Numba caches a compiled function beside its source and recompiles when *that file* changes. Our
functions call each other across files, and use constants of others, so every cache here is stamped
with the contents of all of them: after an upgrade or an edit nothing stale is ever run.
"""

from __future__ import annotations

import hashlib
import inspect
import time
import types
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import cgutils
from numba.core import types as nbtypes
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_builtin,
    models,
    register_jitable,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)
from numba.extending import overload as _numba_overload
from numba.np.arrayobj import populate_array

from platypoos.compiling import WORKSHOP, are_loaded, is_on_disk, waits

F = TypeVar("F", bound=Callable[..., Any])
Record = TypeVar("Record")


@cache
def _package_stamp() -> str:
    """Of all files whose functions or constants may be in compiled code."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for file in sorted([*package.glob("*.py"), *(package / "planners").rglob("*.py")]):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def jit(function: F) -> F:
    """Compile at the first call, and keep the machine code on disk for the next process."""
    dispatcher = numba.njit(cache=True, no_cfunc_wrapper=True)(function)
    cache_file = getattr(dispatcher._cache, "_cache_file", None)
    if cache_file is not None:
        cache_file._source_stamp = _package_stamp()
        # Numba reads on only if this is the same: an old index may name types that are gone.
        cache_file._version = f"{cache_file._version} {_package_stamp()}"
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Copied into the compiled functions that call it: no call, nothing to compile by itself."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


def jitable(function: F) -> F:
    """Plain Python here, compiled when called from compiled code."""
    return register_jitable(function)  # type: ignore[no-any-return]


def part(function: F) -> F:
    """A part of a driver: plain Python around a Python model, else compiled with the driver."""
    function._is_part = True  # type: ignore[attr-defined]
    return jitable(function)


def jit_uncached(function: F) -> F:
    """Compile at the first call, for this process only."""
    return numba.njit(function)  # type: ignore[no-any-return]


def overload(function: F) -> Callable[[F], F]:
    """What ``function`` means inside compiled code."""
    return _numba_overload(function, jit_options={"forceinline": True})  # type: ignore[no-any-return]


def fingerprint(function: Any) -> str | None:
    """Name a compiled function by all it depends on, or None if that cannot be told.

    The name covers the byte code, the constants, and whatever globals and closure cells the code
    uses, recursively: two processes that define the same step agree on it.
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
    known = getattr(dispatcher, "_MemoMixin__uuid", None)
    if known is not None:
        return str(known).startswith("platypoos-")
    name = fingerprint(dispatcher)
    if name is None or not hasattr(dispatcher, "_set_uuid"):
        return False
    dispatcher._set_uuid(f"platypoos-{name}")
    return True


def entry_point(dispatcher: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code for these argument types, without the search for it at every call."""
    signature = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    if signature not in dispatcher.overloads:
        dispatcher.compile(signature)
    return dispatcher.overloads[signature].entry_point  # type: ignore[no-any-return]


def code_for(dispatcher: Any, signature: tuple[Any, ...]) -> list[tuple[Any, tuple[Any, ...]]]:
    """All that must be compiled to call a function: itself, and what writes its handles."""
    records = [kind.record for kind in signature if isinstance(kind, HandleType)]
    return [(dispatcher, signature), *((store, (record, nbtypes.int64)) for record in records)]


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

    It is interpreted until its machine code is there, which is made in the background. That is
    begun when it was interpreted for so many seconds (a small plan is made long before it would be
    compiled), or at once if there is a deadline.
    """
    entry: Callable[..., Any] | None = None
    signature: tuple[Any, ...] = ()
    calls = 0

    def is_ready(args: tuple[Any, ...]) -> bool:
        nonlocal signature, calls
        calls += 1
        eager = WORKSHOP.is_eager and not waits()
        if calls == 1:
            signature = tuple(kernel.typeof_pyval(argument) for argument in args)
            if not eager and is_on_disk(kernel, signature):
                return True
        if patience > 0.0 and not eager:
            return False
        if waits():
            return True
        return calls % LOOK_AGAIN == 1 and are_loaded(code_for(kernel, signature))

    def call(*args: Any) -> Any:
        nonlocal entry, patience
        if entry is not None:
            return entry(*args)
        if is_ready(args):
            entry = entry_point(kernel, args)
            return entry(*args)
        start = time.perf_counter()
        with np.errstate(all="ignore"):  # as compiled code does; hashes overflow on purpose
            result = interpreted(kernel)(*args)
        patience -= time.perf_counter() - start
        return result

    call.is_compiled = lambda: entry is not None  # type: ignore[attr-defined]
    return call


LOOK_AGAIN = 16
"""After so many calls it is looked again whether there is machine code by now."""


_INTERPRETED: dict[Any, Callable[..., Any]] = {}


def interpreted(kernel: Any) -> Callable[..., Any]:
    """A compiled function as plain Python, and so are those that it calls."""
    function = getattr(kernel, "py_func", kernel)
    if function not in _INTERPRETED:
        names = {**function.__globals__}
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


class Handle:
    """A named tuple that compiled code is told the place of, instead of all that is in it.

    Compiled functions are handed tuples item by item: with dozens of arrays that takes longer
    than a small layer, and long to compile. Items of a handle are read when they are needed, and
    count no references; tuples among them are handles. The arrays live as long as it does.
    """

    BYTES = 8192

    def __init__(self, record: Any) -> None:
        self.record = record
        self.__dict__.update(record._asdict())
        self._memory = np.empty(self.BYTES, np.uint8)

    @cached_property
    def address(self) -> int:
        """Where compiled code finds it."""
        address = self._memory.ctypes.data
        store(self.record, address)
        return address


def handle(record: Record) -> Record:
    """A handle of a named tuple, which can be used in its place."""
    return Handle(record)  # type: ignore[return-value]


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


@unbox(HandleType)  # type: ignore[untyped-decorator]
def _unbox_handle(kind: Any, value: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_ulonglong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, c.context.get_value_type(kind)))


@intrinsic  # type: ignore[untyped-decorator]
def _write(_typing: Any, record: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = context.get_value_type(record)
        if context.get_abi_sizeof(kind) > Handle.BYTES:
            raise ValueError(f"larger than the {Handle.BYTES} bytes of a handle: {record}")
        builder.store(args[0], builder.inttoptr(args[1], kind.as_pointer()))
        return context.get_dummy_value()

    return nbtypes.void(record, address), codegen


@jit
def store(record: Any, address: int) -> None:
    """Write a tuple to where a handle of it will be read."""
    _write(record, address)


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


def by_address(result: Any, count: int, kinds: Callable[[], tuple[Any, ...]]) -> Any:
    """A call of a compiled function whose address is known at run time only: ``f(address, …)``.

    Its arguments are so many, of these kinds. A tuple, or an address, is passed as a handle where
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


def address_of(dispatcher: Any, signature: tuple[Any, ...]) -> int:
    """Where the machine code for these argument types is."""
    if signature not in dispatcher.overloads:
        dispatcher.compile(signature)
    made = dispatcher.overloads[signature]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


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
