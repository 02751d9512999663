"""Machine code by Numba: what is compiled, when it is first used, and kept on disk.

Numba is imported with the first name that needs it.
"""

from typing import TYPE_CHECKING

from platypoos.compiled.code.marks import jitable

__all__ = [
    "HandleType",
    "borrowed",
    "fast",
    "handle",
    "handle_kind",
    "inlined",
    "jit",
    "jitable",
    "kernel",
    "overload",
    "part",
    "with_fast_kernels",
]

if TYPE_CHECKING:
    from platypoos.compiled.code.cache import inlined, jit, kernel, overload, part
    from platypoos.compiled.code.calls import fast, with_fast_kernels
    from platypoos.compiled.code.handles import HandleType, handle, handle_kind
    from platypoos.compiled.code.records import borrowed
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.compiled.code.cache": "inlined jit kernel overload part",
            "platypoos.compiled.code.calls": "fast with_fast_kernels",
            "platypoos.compiled.code.handles": "HandleType handle handle_kind",
            "platypoos.compiled.code.records": "borrowed",
        },
    )
