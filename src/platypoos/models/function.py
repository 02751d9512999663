"""A model from a Python function; states are any object."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from platypoos.checks import check_action_names, check_function, check_num_actions
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, Transition, check_access


@dataclass(frozen=True)
class FunctionModel:
    """A model from a function ``step(state, action, rng) -> (state, reward, terminated)``.

    Args:
        function: takes a state, an action and a random generator; returns the next state, the
            reward and whether the episode ended. It must not change the state it is given.
        num_actions: how many actions there are.
        initial_state: where planning starts; any object.
        access: ``Access.RESET`` if only whole trajectories from the root can be simulated.
        key: ``key(state)`` tells states apart, for planners that share what they know of them;
            not needed for states that can be hashed, and for arrays.
        legal: ``legal(state)`` returns the numbers of the actions that are allowed in a state, or
            a boolean for each action. Others are never called, and cost nothing.
        value: ``value(state)`` says roughly what a state is worth, in units of discounted reward.
        policy: ``policy(state)`` returns a weight for each action: what a sensible actor does.
        features: ``features(state)`` returns a value for each feature of a state, as a tuple, a
            list or an array, for planners that look for new ones; not needed for states that are
            made of hashable values.
        action_names: a text for each action, to print plans with.

    >>> import platypoos as pp
    >>> def step(position, action, rng):
    ...     position += 1 if action == 1 else -1
    ...     return position, float(position == 3), False
    >>> model = pp.FunctionModel(step, num_actions=2, initial_state=0)
    >>> pp.plan(model, budget=200, discount=0.9, seed=0).actions[:3]
    (1, 1, 1)
    >>> left_only = pp.FunctionModel(step, 2, 0, legal=lambda position: [0])
    >>> pp.plan(left_only, budget=200, discount=0.9, seed=0).action
    0
    """

    function: Callable[[Any, int, np.random.Generator], Any]
    num_actions: int
    initial_state: Any
    access: Access = Access.RESTORE
    key: Callable[[Any], Hashable] | None = None
    legal: Callable[[Any], Any] | None = None
    value: Callable[[Any], float] | None = None
    policy: Callable[[Any], Any] | None = None
    features: Callable[[Any], Any] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                f"function must be callable, got {self.function!r}; "
                "pass step(state, action, rng) -> (state, reward, terminated)"
            )
        for name in ("key", "legal", "value", "policy", "features"):
            check_function(name, getattr(self, name))
        object.__setattr__(self, "num_actions", check_num_actions(self.num_actions))
        names = check_action_names(self.action_names, self.num_actions)
        object.__setattr__(self, "action_names", names)
        object.__setattr__(self, "access", check_access(self.access))

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        return self.function(state, action, rng)  # type: ignore[no-any-return]
