"""Tests of many random cases: a part in every run, the rest with those marked slow."""

from __future__ import annotations

import pytest


def in_parts(first: int, count: int) -> pytest.MarkDecorator:
    """Let a test have ``cases``: the first ones always, the others in ``make test-all``."""
    rest = pytest.param(range(first, count), marks=pytest.mark.slow)
    return pytest.mark.parametrize("cases", [range(first), rest], ids=[f"first {first}", "rest"])
