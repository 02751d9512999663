"""A model from a function over arrays of states: one call, a whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_action_names, check_function, check_num_actions
from platypoos.errors import InvalidArgument, TransitionError
from platypoos.models.base import Access, Transition, check_access

BatchStep = Callable[[NDArray[Any], NDArray[np.int64], np.random.Generator], Any]
Batch = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """A model from ``step(states, actions, rng) -> (states, rewards, terminated)`` over a batch.

    Args:
        function: takes an array of n states, an array of n actions and a random generator;
            returns n next states, n rewards and n flags (or one flag for all).
        num_actions: how many actions there are.
        initial_state: one state: an array or a scalar, the same shape and type for all states.
        access: ``Access.RESET`` if only whole trajectories from the root can be simulated.
        batch_size: the most rows passed to ``function`` at once.
        problem: the problem this is a form of, if it has one that is solved exactly.
        legal: ``legal(states)`` returns a boolean for each of n states and each action, an array
            of shape [n, num_actions]: whether it is allowed there.
        value: ``value(states)`` returns n numbers: roughly what the states are worth.
        policy: ``policy(states)`` returns n rows of weights of the actions.
        features: ``features(states)`` returns n rows of features, for planners that look for new
            ones; without it they are the entries of a state.
        action_names: a text for each action, to print plans with.

    >>> import numpy as np
    >>> import platypoos as pp
    >>> def step(positions, actions, rng):
    ...     positions = positions + 2 * actions - 1
    ...     return positions, (positions == 3).astype(float), False
    >>> model = pp.ArrayModel(step, num_actions=2, initial_state=np.int64(0))
    >>> pp.plan(model, budget=200, discount=0.9, seed=0).actions[:3]
    (1, 1, 1)
    """

    function: BatchStep
    num_actions: int
    initial_state: Any
    access: Access = Access.RESTORE
    batch_size: int = 8192
    problem: Any = None
    legal: Callable[[NDArray[Any]], Any] | None = None
    value: Callable[[NDArray[Any]], Any] | None = None
    policy: Callable[[NDArray[Any]], Any] | None = None
    features: Callable[[NDArray[Any]], Any] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                f"function must be callable, got {self.function!r}; "
                "pass step(states, actions, rng) -> (states, rewards, terminated)"
            )
        for name in ("legal", "value", "policy", "features"):
            check_function(name, getattr(self, name))
        object.__setattr__(self, "num_actions", check_num_actions(self.num_actions))
        names = check_action_names(self.action_names, self.num_actions)
        object.__setattr__(self, "action_names", names)
        object.__setattr__(self, "access", check_access(self.access))
        if not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise InvalidArgument(
                f"batch_size must be a whole number of at least 1, got {self.batch_size!r}"
            )
        state = np.asarray(self.initial_state)
        if state.dtype.kind not in "biufc":
            raise InvalidArgument(
                f"initial_state must be a number or an array of numbers, got "
                f"{self.initial_state!r}; for other states use FunctionModel"
            )

    def step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> Batch:
        """Take one action in each state; the result has been checked for its shape."""
        result = self.function(states, actions, rng)
        if not isinstance(result, tuple) or len(result) != 3:
            raise TransitionError(
                "an array model must return (states, rewards, terminated), "
                f"got {type(result).__name__}"
                + (f" of {len(result)}" if isinstance(result, tuple) else "")
            )
        after = np.asarray(result[0])
        if after.shape != states.shape:
            raise TransitionError(
                f"an array model given states of shape {states.shape} must return states of the "
                f"same shape, got {after.shape}"
            )
        if not np.can_cast(after.dtype, states.dtype, "same_kind"):
            raise TransitionError(
                f"an array model with an initial_state of type {states.dtype} must return states "
                f"of that type, got {after.dtype}, which would be cut off; use an initial_state "
                f"of type {after.dtype}"
            )
        rewards, terminated = np.asarray(result[1]), np.asarray(result[2])
        if rewards.dtype.kind not in "biuf" or terminated.dtype.kind not in "biu":
            raise TransitionError(
                "rewards must be real numbers and terminated must be flags, got arrays of type "
                f"{rewards.dtype} and {terminated.dtype}"
            )
        n = len(states)
        if rewards.shape != (n,):
            raise TransitionError(
                f"an array model given {n} states must return {n} rewards, got shape "
                f"{rewards.shape}"
            )
        if terminated.shape not in {(), (n,)}:
            raise TransitionError(
                f"an array model given {n} states must return {n} terminated flags or a single "
                f"one, got shape {terminated.shape}"
            )
        return after, rewards.astype(np.float64), np.broadcast_to(terminated != 0, (n,))

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Take ``action`` in one state: a batch of one."""
        states, rewards, terminated = self.step_batch(
            np.asarray(state)[None], np.array([action], dtype=np.int64), rng
        )
        return Transition(states[0], float(rewards[0]), bool(terminated[0]))

    def single_legal(self) -> Callable[[Any], Any] | None:
        """``legal`` of one state, if the model has it."""
        return _of_one(self.legal)

    def single_value(self) -> Callable[[Any], Any] | None:
        """``value`` of one state, if the model has it."""
        return _of_one(self.value)

    def single_policy(self) -> Callable[[Any], Any] | None:
        """``policy`` of one state, if the model has it."""
        return _of_one(self.policy)

    def single_features(self) -> Callable[[Any], Any] | None:
        """``features`` of one state, if the model has it."""
        return _of_one(self.features)


def _of_one(function: Callable[[NDArray[Any]], Any] | None) -> Callable[[Any], Any] | None:
    return None if function is None else lambda state: function(np.asarray(state)[None])[0]
