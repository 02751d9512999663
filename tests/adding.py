"""Sums as the planners make them."""

from __future__ import annotations

from collections.abc import Iterable


def added(numbers: Iterable[float]) -> float:
    """One after the other. Since Python 3.12 ``sum`` corrects rounding, which can decide a tie."""
    total = 0.0
    for number in numbers:
        total += number
    return total
