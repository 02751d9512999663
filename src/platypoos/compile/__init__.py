"""Machine code by Numba: what is compiled, cached, loaded in the background, or interpreted."""

from platypoos.compile.cache import (
    inlined,
    jit,
    jit_uncached,
    jitable,
    name_for_cache,
    overload,
    part,
)
from platypoos.compile.handles import code_for, handle, handle_kind, handle_of
from platypoos.compile.kernels import INTERPRETED, fast, interpreted, with_fast_kernels
from platypoos.compile.unsafe import HandleType, borrow_row, borrowed, opened

__all__ = [
    "INTERPRETED",
    "HandleType",
    "borrow_row",
    "borrowed",
    "code_for",
    "fast",
    "handle",
    "handle_kind",
    "handle_of",
    "inlined",
    "interpreted",
    "jit",
    "jit_uncached",
    "jitable",
    "name_for_cache",
    "opened",
    "overload",
    "part",
    "with_fast_kernels",
]
