"""Functions that are compiled, with caches on disk that notice every change of their code.

Numba caches a compiled function beside its source and recompiles when *that file* changes. Our
functions call each other across files, and use constants of others, so every cache here is stamped
with the contents of all files that compiled code may come from: after an upgrade or an edit
nothing stale is ever run. Edits of other files cost nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import overload as _numba_overload
from numba.extending import register_jitable

from platypoos.compiled.code.marks import tell_by
from platypoos.compiled.code.trust import is_trusted
from platypoos.compiled.code.unsafe import stamp_cache

F = TypeVar("F", bound=Callable[..., Any])
tell_by(register_jitable)


_MARKS = re.compile(r"compiled\.code(\.marks)? import")
_IMPORTS = re.compile(r"^from (platypoos[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


@cache
def _package_stamp() -> str:
    """Of all files with functions to compile, and of those they take constants from."""
    package = Path(__file__).parents[2]
    files = {file: file.read_text(encoding="utf-8") for file in sorted(package.rglob("*.py"))}
    rooms = ("code", "ledger")
    ours = {f for f, text in files.items() if f.parent.name in rooms or _MARKS.search(text)}
    ours -= {f for f in ours if f.name in {"notice.py", "trust.py"}}  # they compile nothing
    for text in [files[file] for file in ours]:
        for module, names in _IMPORTS.findall(text):
            if any(name.isupper() for name in re.findall(r"\w+", names)):
                home = package.joinpath(*module.split(".")[1:])
                ours |= {home.with_suffix(".py"), home / "__init__.py"} & files.keys()
    digest = hashlib.sha256()
    for file in sorted(ours):
        digest.update(files[file].encode())
    return digest.hexdigest()


def jit(function: F) -> F:
    """Compile at the first call, and keep the machine code on disk for the next process."""
    dispatcher = numba.njit(cache=True, no_cfunc_wrapper=True)(function)
    folder = dispatcher.stats.cache_path
    if folder is not None and not is_trusted(folder):
        return numba.njit(no_cfunc_wrapper=True)(function)  # type: ignore[no-any-return]
    stamp_cache(dispatcher, _package_stamp())
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Copied into the compiled functions that call it: no call, nothing to compile by itself."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


def part(function: F) -> F:
    """A part of a driver: plain Python around a Python model, else compiled with the driver."""
    function.is_part = True  # type: ignore[attr-defined]
    return register_jitable(forceinline=True)(function)  # type: ignore[no-any-return]


@cache
def kernel(function: F) -> F:
    """A plain function as what a ``CompiledModel`` takes; the same one each time."""
    return numba.njit(function)  # type: ignore[no-any-return]


def overload(function: F) -> Callable[[F], F]:
    """What ``function`` means inside compiled code."""
    return _numba_overload(function, jit_options={"forceinline": True})  # type: ignore[no-any-return]
