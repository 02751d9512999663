"""The states of the fuzzer's models: numbers in many dresses, some of them hostile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LARGE = b"x" * 100_000
DEPTH = 3_000


class Form(NamedTuple):
    """How a number is written as a state, read from it, and overwritten in place."""

    name: str
    make: Callable[[int], Any]
    read: Callable[[Any], int]
    spoil: Callable[[Any, int], Any] = lambda _state, _number: None


class Box:
    """A plain object."""

    def __init__(self, number: int) -> None:
        self.number = number

    def overwrite(self, number: int) -> None:
        self.number = number


class Unhashable(Box):
    """Compares by its contents, so it has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and other.number == self.number


class Unspeakable(Box):
    """Has no text."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class HashRaises(Box):
    """Says that it can be hashed, and cannot."""

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __eq__(self, other: object) -> bool:
        return self is other


class EqualRaises(Box):
    """Cannot be compared."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")


class EqualIsArray(Box):
    """Its comparison is not a truth value."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return np.array([True, False])  # type: ignore[return-value]


class NoPickle(Box):
    """Cannot be pickled or copied."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("no pickle")


class BadPickle(Box):
    """Is pickled, and cannot be read back."""

    def __reduce__(self) -> Any:
        return _fail, ()


class Evasive(Box):
    """Raises for every attribute that it does not have."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


def _fail() -> Any:
    raise RuntimeError("no way back")


def _deep(number: int) -> Any:
    state: Any = (number,)
    for _ in range(DEPTH):
        state = (state,)
    return state


def _dig(state: Any) -> int:
    while isinstance(state, tuple):
        state = state[0]
    return int(state)


def _long(number: int) -> Any:
    state = np.zeros(20_000)
    state[0] = number
    return state


def _first(state: Any) -> int:
    return int(state[0])


def _set_first(state: Any, number: int) -> None:
    state[0] = number


def _box(kind: type[Box]) -> Form:
    return Form(kind.__name__, kind, lambda s: int(s.number), Box.overwrite)


FORMS = (
    Form("int", int, int),
    Form("tuple", lambda n: (n, "x"), _first),
    Form("text", str, int),
    Form("list", lambda n: [n], _first, _set_first),
    Form("dict", lambda n: {"at": n}, lambda s: int(s["at"]), lambda s, n: s.update(at=n)),
    Form("set", lambda n: {n}, lambda s: int(next(iter(s))), lambda s, n: s.add(n + 100)),
    Form("none", lambda n: n or None, lambda s: s or 0),
    Form("array", lambda n: np.array([n, 0]), _first, _set_first),
    Form("nan", lambda n: np.array([n, np.nan]), _first, _set_first),
    Form("objects", lambda n: np.array([n, None], object), _first, _set_first),
    Form("scalar", np.int32, int),
    Form("zero-dimensional", np.array, int),
    Form("generator", lambda n: (n, np.random.default_rng(n)), _first),
    Form("large", lambda n: (n, LARGE), _first),
    Form("long", _long, _first, _set_first),
    Form("deep", _deep, _dig),
    *(
        _box(kind)
        for kind in (
            Box, Unhashable, Unspeakable, HashRaises, EqualRaises, EqualIsArray, NoPickle,
            BadPickle, Evasive,
        )
    ),
)  # fmt: skip
"""The first one is the usual one."""
