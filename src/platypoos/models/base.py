"""What a simulator is to a planner: a state goes in, a state comes out."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np


class Access(enum.Enum):
    """How a planner may query a model."""

    RESTORE = "restore"
    """Any visited state can be queried again: a call is one (state, action)."""

    RESET = "reset"
    """Every trajectory starts at the root: a call is one step of it."""


class Transition(NamedTuple):
    """What one call of a model returns. A plain tuple of the same three things will do."""

    state: Any
    reward: float
    terminated: bool = False


@runtime_checkable
class Model(Protocol):
    """A simulator: states are values, ``step`` never changes the state it is given.

    The dynamics must be deterministic for ``Access.RESTORE``; rewards may be random, with all
    their randomness drawn from ``rng``. A model may declare ``access = Access.RESET``.
    """

    @property
    def num_actions(self) -> int:
        """Actions are 0, 1, …, num_actions − 1."""
        ...

    @property
    def initial_state(self) -> Any:
        """Where planning starts unless another state is given."""
        ...

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        ...
