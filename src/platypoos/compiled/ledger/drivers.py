"""Drivers: planners' loops that are plain Python around a Python model, else machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import int64, typeof

import platypoos.compiled.ledger.machine_requests  # noqa: F401  what drivers mean by evaluate, play, …
from platypoos.compiled.code import HandleType, handle, jit, with_fast_kernels
from platypoos.compiled.code.engine import REQUESTS, Engine, Request, requests_of
from platypoos.compiled.code.handles import store
from platypoos.compiled.code.unsafe import entry_point_for
from platypoos.compiled.ledger.first_class import kind_of
from platypoos.compiled.ledger.machine import Machine
from platypoos.compiled.ledger.machine_advice import make_account

NO_MASKS = np.empty((0, 0), np.uint8)
NO_WORTH = np.empty(0)
ENGINE = typeof(handle(Engine(0, np.empty(0, np.int64), make_account(0, 0), NO_MASKS, NO_WORTH)))


class Loops:
    """The machine code for a model, by one kind of access."""

    def __init__(self, machine: Machine) -> None:
        kind = kind_of(machine)
        self._kind = HandleType(kind)
        self._store = entry_point_for(store, (kind, int64))
        self.addresses = np.zeros(REQUESTS, np.int64)
        self.drivers: dict[Driver, Callable[..., Any]] = {}

    def store(self, machine: Machine, address: int) -> None:
        """Write a machine to where its loops will read it."""
        self._store(machine, address)

    def compile(self, driver: Driver, machine: Machine) -> None:
        """Let there be the code of all loops that a driver can ask for."""
        for request in driver.requests_to(machine):
            if self.addresses[request.number] == 0:
                self.addresses[request.number] = request.address_for(self._kind)


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
        self._requests: list[Request] | None = None
        self.compiled: Any = jit(function)

    def requests_to(self, machine: Machine) -> list[Request]:
        """What it may ask such a model for."""
        if self._requests is None:
            self._requests = requests_of(self._function)
        return [
            request
            for request in self._requests
            if not request.needs or getattr(machine, request.needs) is not None
        ]

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
