"""Machine code by Numba: what is compiled, when it is first used, and kept on disk.

Numba is imported with the first name that needs it.
"""

from typing import TYPE_CHECKING

from platypoos.compiled.code.marks import jitable

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
    from platypoos.compiled.code.cache import inlined, jit, kernel, overload, part
    from platypoos.compiled.code.calls import fast, with_fast_kernels
    from platypoos.compiled.code.handles import handle, handle_kind, handle_of
    from platypoos.compiled.code.unsafe import HandleType, borrow_row, borrowed, opened
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.compiled.code.cache": "inlined jit kernel overload part",
            "platypoos.compiled.code.calls": "fast with_fast_kernels",
            "platypoos.compiled.code.handles": "handle handle_kind handle_of",
            "platypoos.compiled.code.unsafe": "HandleType borrow_row borrowed opened",
        },
    )
