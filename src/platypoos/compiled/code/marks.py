"""Plain Python functions that compiled code may call; Numba is told of them when it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_WAITING: list[Callable[..., Any]] = []
_TELL: list[Callable[..., Any]] = []


def jitable(function: F) -> F:
    """Plain Python here, compiled when called from compiled code."""
    _WAITING.append(function)
    _tell_all()
    return function


def tell_by(tell: Callable[..., Any]) -> None:
    """Let ``tell`` be called with all such functions, those to come too."""
    _TELL.append(tell)
    _tell_all()


def _tell_all() -> None:
    while _TELL and _WAITING:
        _TELL[0](_WAITING.pop())
