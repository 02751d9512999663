"""Try whether the private parts of Numba that ``unsafe.py`` uses do what we take them for."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import types as nbtypes

from platypoos.compile.cache import jit
from platypoos.compile.handles import handle, handle_kind
from platypoos.compile.unsafe import address_of, borrow_row, borrowed, by_address, is_on_disk


class Sample(NamedTuple):
    """Arrays of both kinds that planners have."""

    numbers: Any
    table: Any


@jit
def read(sample: Sample, row: int) -> float:
    """Through a handle, and without counting references."""
    sample = borrowed(sample)
    return borrow_row(sample.table, row)[1] + sample.numbers[row]  # type: ignore[no-any-return]


_call = by_address(nbtypes.float64, 2, lambda: (handle_kind(Sample), nbtypes.int64))


@jit
def read_by_address(address: int, sample: Sample, row: int) -> float:
    """The same, by a call of an address."""
    return _call(address, sample, row)  # type: ignore[no-any-return]


def make_sample() -> Any:
    """What is read: 5 + 20 in row 1."""
    return handle(Sample(np.array([10.0, 20.0]), np.arange(2.0, 6.0).reshape(2, 2)))


def code() -> list[tuple[Any, tuple[Any, ...]]]:
    """The functions that are tried, with the types of their arguments."""
    kind = numba.typeof(make_sample())
    return [
        (read, (kind, nbtypes.int64)),
        (read_by_address, (nbtypes.int64, kind, nbtypes.int64)),
    ]


@cache
def still_works() -> bool:
    """Try all of it, once a process; if anything fails, warn, and never use machine code."""
    try:
        sample = make_sample()
        (function, types), _ = code()
        found = (read(sample, 1), read_by_address(address_of(function, types), sample, 1))
        is_on_disk(function, types)  # raises if Numba keeps its caches in another way
        fine = found == (25.0, 25.0)
    except Exception as error:  # noqa: BLE001  whatever a new version of Numba may raise
        fine, found = False, (repr(error),)  # type: ignore[assignment]
    if not fine:
        warnings.warn(
            f"machine code is not used: Numba {numba.__version__} works in another way than those "
            f"that platypoos knows ({found}); plans are the same, and slower",
            RuntimeWarning,
            stacklevel=2,
        )
    return fine
