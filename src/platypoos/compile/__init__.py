"""Machine code by Numba: what is compiled, cached, loaded in the background, or interpreted.

Numba is imported with the first name that needs it.
"""

from typing import TYPE_CHECKING

from platypoos.compile.marks import jitable

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
    "kernel",
    "name_for_cache",
    "opened",
    "overload",
    "part",
    "with_fast_kernels",
]

if TYPE_CHECKING:
    from platypoos.compile.cache import (
        inlined,
        jit,
        jit_uncached,
        kernel,
        name_for_cache,
        overload,
        part,
    )
    from platypoos.compile.handles import code_for, handle, handle_kind, handle_of
    from platypoos.compile.kernels import INTERPRETED, fast, interpreted, with_fast_kernels
    from platypoos.compile.unsafe import HandleType, borrow_row, borrowed, opened
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.compile.cache": (
                "inlined jit jit_uncached kernel name_for_cache overload part"
            ),
            "platypoos.compile.handles": "code_for handle handle_kind handle_of",
            "platypoos.compile.kernels": "INTERPRETED fast interpreted with_fast_kernels",
            "platypoos.compile.unsafe": "HandleType borrow_row borrowed opened",
        },
    )
