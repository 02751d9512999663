"""Drivers: planners' loops that are plain Python around a Python model, else machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import platypoos.compiled.ledger.machine_requests  # noqa: F401  what drivers mean by evaluate, play, …
from platypoos.compiled.code import jit, with_fast_kernels


class Driver:
    """One source, two speeds: a planner's main function, ``f(sim, tree, ...)``.

    Around a Python model it runs as plain Python, and only the inner loops it calls are
    compiled; around a compiled model it is compiled as a whole, once for all models.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.has_run = False
        """Whether the inner loops that it uses around a Python model are compiled."""
        self._python: Callable[..., Any] | None = None
        self.compiled: Any = jit(function)

    def __call__(self, sim: Any, *args: Any) -> Any:
        """Run with the ledger ``sim``, which knows how."""
        return sim.drive(self, args)

    def around_python(self, sim: Any, args: tuple[Any, ...]) -> Any:
        """Run as plain Python, with inner loops that are compiled."""
        if self._python is None:
            self._python = with_fast_kernels(self._function)
        result = self._python(sim, *args)
        self.has_run = True
        return result
