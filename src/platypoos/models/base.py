"""What a simulator is to a planner: a state goes in, a state comes out."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np

from platypoos.checks import check_action_names, missing_from
from platypoos.errors import InvalidArgument
from platypoos.spaces import Box, MultiDiscrete, Space, as_space

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel

DETERMINISTIC, RANDOM = "deterministic", "random"
"""The words for ``dynamics=``."""


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


class Reward(float):
    """A reward that says what it consists of; as a number, it is the sum of its parts.

    Models may return it in place of a number. Explanations by the default planner then say which
    part speaks for the recommended action. Wrappers that change rewards drop the parts.

    >>> reward = Reward({"energy": -2.0, "comfort": -0.5})
    >>> reward + 1.0, reward.parts["energy"]
    (-1.5, -2.0)
    """

    __slots__ = ("parts",)
    parts: dict[str, float]

    def __new__(cls, parts: Mapping[str, float]) -> Self:
        """Sum the parts up."""
        known = {str(name): float(part) for name, part in parts.items()}
        made = super().__new__(cls, sum(known.values()))
        made.parts = known
        return made

    def __getnewargs__(self) -> tuple[dict[str, float]]:  # type: ignore[override]
        return (self.parts,)

    def __repr__(self) -> str:
        return f"Reward({self.parts!r})"


@runtime_checkable
class Model(Protocol):
    """A simulator: states are values, ``step`` never changes the state it is given.

    Rewards may be random, with all their randomness drawn from ``rng``. A :class:`Reward` also says
    what it consists of, for explanations.

    A model may say more. All of this is optional:

    - ``dynamics``: "deterministic" if the same step always leads to the same state, which is the
      default, or "random".
    - ``access``: ``Access.RESET`` if states cannot be stored and gone on from.
    - ``legal(state)``: the actions that are allowed, or a boolean for each action. Planners never
      call or recommend another one.
    - ``key(state)``: states with the same key are the same, for planners that share states.
    - ``value(state)``: roughly what a state is worth. Planners use it where a sequence ends.
    - ``policy(state)``: an action, or a weight for each action. The default planner tries to
      improve on it; planners that roll out draw actions by it.
    - ``features(state)``: a value for each feature of a state, for planners that look for new ones.
    - ``action_names``: a text for each action, or for each coordinate of arrays, to print plans
      with.
    - ``steps_per_call``: the simulator's steps that a call takes at most, if it is more than one.
    - ``acting``: a model of the same states to act in, if ends are different there.
    """

    @property
    def actions(self) -> Any:
        """What there is to choose from.

        The number of actions n (``step`` gets 0, 1, …, n − 1), a list of actions (``step`` gets
        one of them), or a space such as ``Box(low, high)``.
        """
        ...

    @property
    def initial_state(self) -> Any:
        """Where planning starts unless another state is given."""
        ...

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        ...


def actions_of(model: Any) -> Space:
    """The actions of a model as a space; an error if it has none, or calls them something else.

    >>> from types import SimpleNamespace
    >>> actions_of(SimpleNamespace(actions=["left", "right"]))
    Discrete(['left', 'right'])
    """
    if not hasattr(model, "actions"):
        raise InvalidArgument(missing_from(model))
    return as_space(model.actions)


def is_compiled(model: Any) -> TypeGuard[CompiledModel]:
    """Whether it is a ``CompiledModel``; to ask does not import Numba."""
    return getattr(type(model), "is_compiled", False) is True


def count_actions(model: Any) -> int:
    """How many actions a model has."""
    return actions_of(model).n


def check_names(names: Any, actions: Space) -> tuple[str, ...] | None:
    """A text for each action, or of arrays for each coordinate; or None; else an error.

    >>> check_names(["steering", "gas"], Box([-1.0, 0.0], 1.0))
    ('steering', 'gas')
    """
    if names is None:
        return None
    if not isinstance(actions, Box | MultiDiscrete):
        return check_action_names(names, actions.n)
    if actions.is_finite and not isinstance(names, str) and np.size(names) == actions.n:
        return check_action_names(names, actions.n)
    return check_action_names(names, math.prod(actions.shape), "coordinate")


def check_dynamics(dynamics: object) -> str:
    """The word "deterministic" or "random", or an error that names what was given."""
    if dynamics not in (DETERMINISTIC, RANDOM):
        raise InvalidArgument(
            f'dynamics must be "deterministic" or "random", got {dynamics!r}; "random" is for '
            "models whose next state is random, not for random rewards"
        )
    return str(dynamics)


def dynamics_of(model: Any) -> str:
    """What a model says of its dynamics; deterministic if it says nothing."""
    return check_dynamics(getattr(model, "dynamics", DETERMINISTIC))


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
