"""All that touches private parts of Numba, each with its reason.

Numba promises nothing about these parts, so its version is bounded in ``pyproject.toml``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from platypoos.compiled.code.notice import compiling


def stamp_cache(dispatcher: Any, stamp: str) -> None:
    """Let a function's cache on disk be valid for this stamp only.

    Numba compares the time of the function's own file, and has no way to name others: after an
    edit of a function that is called from another file, old machine code would run.
    """
    file = getattr(dispatcher._cache, "_cache_file", None)
    if file is not None:
        file._source_stamp = stamp
        # Numba reads on only if this is the same: an old index may name types that are gone.
        file._version = f"{file._version} {stamp}"


def entry_point(dispatcher: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code for these arguments, without the search for it at every call."""
    return entry_point_for(dispatcher, tuple(map(numba.typeof, arguments)))


def entry_point_for(dispatcher: Any, kinds: tuple[Any, ...]) -> Callable[..., Any]:
    """The same, where the types are known.

    Numba finds the types of all arrays out at each call. Around the cheapest model (a chain whose
    step is five operations in Python) SOO takes 16 to 20 % less time without that, PlaTyPOOS up to
    8 % less.
    """
    if kinds not in dispatcher.overloads:
        with compiling(dispatcher):
            dispatcher.compile(kinds)
    return dispatcher.overloads[kinds].entry_point  # type: ignore[no-any-return]
