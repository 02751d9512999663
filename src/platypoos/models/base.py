"""What a simulator is to a planner: a state goes in, a state comes out."""

from __future__ import annotations

import enum
from collections.abc import Callable
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

    A model may say more, by methods that are all optional:

    - ``legal(state)``: the numbers of the actions that are allowed, or a boolean for each action.
      Planners never call or recommend another one.
    - ``key(state)``: states with the same key are the same, for planners that share states.
    - ``value(state)``: roughly what a state is worth. Planners use it where a sequence ends.
    - ``policy(state)``: a weight for each action. Planners that roll out draw actions by it.
    - ``features(state)``: a value for each feature of a state, for planners that look for new ones.
    - ``action_names``: a text for each action, to print plans with.
    - ``steps_per_call``: the simulator's steps that a call takes at most, if it is more than one.
    - ``acting``: a model of the same states to act in, if ends are different there.
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


def said_of_one(model: Any, name: str) -> Callable[[Any], Any] | None:
    """A model's ``legal``, ``value``, … as a function of one state; None if it has none.

    Array and compiled models have these in another form.
    """
    single = getattr(model, f"single_{name}", None)
    said = single() if callable(single) else getattr(model, name, None)
    return said if callable(said) else None


def check_access(access: object) -> Access:
    """RESTORE or RESET, also by its name, or an error that names it."""
    try:
        return Access(access)
    except ValueError:
        raise InvalidArgument(
            f"access must be Access.RESTORE or Access.RESET, got {access!r}"
        ) from None


def access_of(model: Any, asked: Access | str | None = None) -> Access:
    """The access to plan with: what the caller asked for, else what the model declares."""
    declared = check_access(getattr(model, "access", Access.RESTORE))
    if asked is None:
        return declared
    access = check_access(asked)
    if access is Access.RESTORE and declared is Access.RESET:
        raise InvalidArgument(
            "this model can only be reset (access = Access.RESET), so it cannot be planned with "
            "Access.RESTORE; leave access out, or give the model a way to restore its states"
        )
    return access
