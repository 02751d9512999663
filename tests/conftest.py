"""What all tests share: what a planner cannot do is left out, and marks are set."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("PLATYPOOS_COMPILE", "wait")  # what is tested is the compiled form
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so it is in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)

from random_trees import can_use


def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        access = given.get("access")
        fits = access is None or all(can_use(value, access) for value in given.values())
        (kept if fits else left_out).append(item)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
