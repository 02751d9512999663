"""Machine code by Numba: what is compiled, when it is first used, and kept on disk.

Numba is imported with the first name that needs it.
"""

from typing import TYPE_CHECKING

from platypoos.compile.marks import jitable

__all__ = [
    "HandleType",
    "borrow_row",
    "borrowed",
    "fast",
    "handle",
    "handle_kind",
    "handle_of",
    "inlined",
    "jit",
    "jitable",
    "kernel",
    "opened",
    "overload",
    "part",
    "with_fast_kernels",
]

if TYPE_CHECKING:
    from platypoos.compile.cache import inlined, jit, kernel, overload, part
    from platypoos.compile.calls import fast, with_fast_kernels
    from platypoos.compile.handles import handle, handle_kind, handle_of
    from platypoos.compile.unsafe import HandleType, borrow_row, borrowed, opened
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.compile.cache": "inlined jit kernel overload part",
            "platypoos.compile.calls": "fast with_fast_kernels",
            "platypoos.compile.handles": "handle handle_kind handle_of",
            "platypoos.compile.unsafe": "HandleType borrow_row borrowed opened",
        },
    )
