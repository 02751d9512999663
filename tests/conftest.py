"""Tests of every planner with every access: what a planner cannot do is left out."""

from __future__ import annotations

import os

os.environ.setdefault("PLATYPOOS_COMPILE", "wait")  # what is tested is the compiled form

from random_trees import can_use


def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        access = given.get("access")
        fits = access is None or all(can_use(value, access) for value in given.values())
        (kept if fits else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
