"""A model from a Python function; states are any object."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from platypoos.checks import check_function
from platypoos.errors import InvalidArgument
from platypoos.models.base import (
    DETERMINISTIC,
    Access,
    check_access,
    check_dynamics,
    check_names,
)
from platypoos.spaces import as_space


@dataclass(frozen=True)
class FunctionModel:
    """A model from a function ``step(state, action, rng) -> (state, reward, terminated)``.

    Args:
        step: takes a state, an action and a random generator; returns the next state, the
            reward and whether the episode ended. It must not change the state it is given.
        actions: what there is to choose from. A number n: ``step`` gets 0, 1, …, n − 1. A list:
            ``step`` gets one of its entries, which may be any objects. Or a space: ``Box``,
            ``MultiDiscrete``, or one of Gymnasium's.
        initial_state: where planning starts; any object.
        dynamics: "deterministic" if the same step always leads to the same state, "random" if
            not. Random rewards do not count.
        policy: ``policy(state)`` says what a sensible actor does: it returns an action, or a
            weight for each action. The default planner starts from this rule and improves it.
        value: ``value(state)`` says roughly what a state is worth, in units of discounted reward.
        legal: ``legal(state)`` returns the actions that are allowed in a state, or a boolean for
            each action. Others are never called, and cost nothing.
        key: ``key(state)`` tells states apart, for planners that share what they know of them;
            not needed for states that can be hashed, and for arrays.
        features: ``features(state)`` returns a value for each feature of a state, as a tuple, a
            list or an array, for planners that look for new ones; not needed for states that are
            made of hashable values.
        action_names: a text for each action, or for each coordinate of a box, to print plans
            with; the actions themselves as text if left out.
        name: what to call the model, to be the title of explanations.
        access: ``Access.RESET`` if only whole trajectories from the root can be simulated.

    >>> import platypoos as pp
    >>> def step(position, action, rng):
    ...     position += 1 if action == 1 else -1
    ...     return position, float(position == 3), False
    >>> model = pp.FunctionModel(step, actions=2, initial_state=0)
    >>> pp.plan(model, budget=200, discount=0.9, seed=0).actions[:3]
    (1, 1, 1)
    >>> def move(position, pace, rng):
    ...     return position + pace, float(position + pace == 3), False
    >>> walker = pp.FunctionModel(move, actions=[-1, +1], initial_state=0)
    >>> pp.plan(walker, budget=200, discount=0.9, seed=0).actions[:3]
    (1, 1, 1)
    >>> left_only = pp.FunctionModel(step, 2, 0, legal=lambda position: [0])
    >>> pp.plan(left_only, budget=200, discount=0.9, seed=0).action
    0
    """

    step: Callable[[Any, Any, np.random.Generator], Any]
    actions: Any
    initial_state: Any
    _: KW_ONLY
    dynamics: str = DETERMINISTIC
    policy: Callable[[Any], Any] | None = None
    value: Callable[[Any], float] | None = None
    legal: Callable[[Any], Any] | None = None
    key: Callable[[Any], Hashable] | None = None
    features: Callable[[Any], Any] | None = None
    action_names: Sequence[str] | None = None
    name: str = ""
    access: Access = Access.RESTORE

    def __post_init__(self) -> None:
        if not callable(self.step):
            raise InvalidArgument(
                f"step must be callable, got {self.step!r}; "
                "pass step(state, action, rng) -> (state, reward, terminated)"
            )
        for name in ("key", "legal", "value", "policy", "features"):
            check_function(name, getattr(self, name))
        object.__setattr__(self, "actions", as_space(self.actions))
        object.__setattr__(self, "action_names", check_names(self.action_names, self.actions))
        object.__setattr__(self, "dynamics", check_dynamics(self.dynamics))
        object.__setattr__(self, "access", check_access(self.access))
