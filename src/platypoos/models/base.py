"""What a simulator is to a planner: a state goes in, a state comes out."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from platypoos.errors import InvalidArgument


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


def check_num_actions(num_actions: object) -> int:
    """The number of actions as an int, or an error that says what is wrong with it."""
    if isinstance(num_actions, bool) or not isinstance(num_actions, int | np.integer):
        raise InvalidArgument(
            f"num_actions must be a whole number, got {num_actions!r}; "
            "pass how many actions the model has"
        )
    if num_actions < 1:
        raise InvalidArgument(f"num_actions must be at least 1, got {num_actions}")
    return int(num_actions)


def access_of(model: Any, asked: Access | str | None = None) -> Access:
    """The access to plan with: what the caller asked for, else what the model declares."""
    declared = Access(getattr(model, "access", Access.RESTORE))
    if asked is None:
        return declared
    try:
        access = Access(asked)
    except ValueError:
        raise InvalidArgument(
            f"access must be Access.RESTORE or Access.RESET, got {asked!r}"
        ) from None
    if access is Access.RESTORE and declared is Access.RESET:
        raise InvalidArgument(
            "this model can only be reset (access = Access.RESET), so it cannot be planned with "
            "Access.RESTORE; leave access out, or give the model a way to restore its states"
        )
    return access
