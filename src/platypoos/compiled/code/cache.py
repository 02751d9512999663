"""Functions that are compiled, with caches on disk that notice every change of their code.

Numba caches a compiled function beside its source and recompiles when *that file* changes. Our
functions call each other across files, and use constants of others, so every cache here is stamped
with the contents of its file, of those that it imports code and constants from, and of the base:
after an upgrade or an edit nothing stale is ever run, and edits of other files cost nothing.
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


BASE = ("code", "ledger", "trees")
"""Folders whose files are a part of all compiled code…"""
NOT_COMPILED = {"notice.py", "trust.py"}
"""…but for these."""


@cache
def _sources() -> dict[Path, tuple[bytes, set[Path]]]:
    """Files that compiled code may come from: what is in them, and which others they import.

    They are those with functions to compile, and those that such files take constants from.
    """
    package = Path(__file__).parents[2]
    texts = {file: file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    imports: dict[Path, set[Path]] = {}
    ours = {f for f, text in texts.items() if f.parent.name in BASE or _MARKS.search(text)}
    for file, text in texts.items():
        imports[file] = set()
        for module, names in _IMPORTS.findall(text):
            home = package.joinpath(*module.split(".")[1:])
            homes = {home.with_suffix(".py"), home / "__init__.py"} & texts.keys()
            imports[file] |= homes
            if file in ours and any(name.isupper() for name in re.findall(r"\w+", names)):
                ours |= homes
    ours -= {file for file in ours if file.name in NOT_COMPILED}
    return {file: (texts[file].encode(), imports[file] & ours) for file in sorted(ours)}


@cache
def _stamp(module: Path) -> str:
    """Of a file with functions to compile, and of all that it imports such functions from."""
    sources = _sources()
    seen: set[Path] = set()
    waiting = {module, *(file for file in sources if file.parent.name in BASE)} & sources.keys()
    while waiting:
        file = waiting.pop()
        seen.add(file)
        waiting |= sources[file][1] - seen
    # An index names the modules of its types: it cannot be read when one of them is gone.
    package = Path(__file__).parents[2]
    names = sorted(file.relative_to(package).as_posix() for file in package.rglob("*.py"))
    digest = hashlib.sha256("\n".join(names).encode())
    for file in sorted(seen):
        digest.update(sources[file][0])
    if module not in sources and module.is_file():  # somebody else's, such as a planner of your own
        digest.update(module.read_bytes())
    return digest.hexdigest()


def jit(function: F) -> F:
    """Compile at the first call, and keep the machine code on disk for the next process."""
    dispatcher = numba.njit(cache=True)(function)
    folder = dispatcher.stats.cache_path
    if folder is not None and not is_trusted(folder):
        return numba.njit(function)  # type: ignore[no-any-return]
    stamp_cache(dispatcher, _stamp(Path(function.__code__.co_filename)))
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
