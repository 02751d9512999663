"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    No name may be that of a module inside the package as well: it would become the module.

    Args:
        package: the package's ``__name__``.
        homes: for modules, the names to take from them, in one string.
        modules: those that are names themselves, by their last part.

    >>> get, _ = lazy_names("platypoos", {"platypoos.errors": "InvalidArgument RewardError"})
    >>> get("RewardError").__name__
    'RewardError'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    parts = {module.rpartition(".")[2]: module for module in modules}
    face = sys.modules[package]

    def get(name: str) -> Any:
        if name in home_of:
            value = getattr(import_module(home_of[name]), name)
        elif name in parts:
            value = import_module(parts[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(face, name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(face), *home_of, *parts})

    return get, list_names
