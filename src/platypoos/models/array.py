"""A model from a function over arrays of states: one call, a whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_function
from platypoos.errors import InvalidArgument, TransitionError
from platypoos.models.base import (
    DETERMINISTIC,
    Access,
    Transition,
    check_access,
    check_dynamics,
    check_names,
)
from platypoos.spaces import as_space

BatchStep = Callable[[NDArray[Any], NDArray[Any], np.random.Generator], Any]
MOST_NEW, MOST_KNOWN = 8192, 1 << 16
"""States that are kept to be asked about, and answers that are kept to be fetched."""
Batch = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """A model from ``step(states, actions, rng) -> (states, rewards, terminated)`` over a batch.

    Args:
        function: takes an array of n states, an array of n actions and a random generator;
            returns n next states, n rewards and n flags (or one flag for all).
        actions: what there is to choose from; see ``FunctionModel``. If it is a list of actions,
            ``function`` gets an array of n entries of the list: of numbers if they are numbers,
            with a row for each if they are arrays of one shape, else of objects.
        initial_state: one state: an array or a scalar, the same shape and type for all states.
        dynamics: "deterministic" or "random"; see ``FunctionModel``.
        policy: ``policy(states)`` returns n rows of weights of the actions.
        value: ``value(states)`` returns n numbers: roughly what the states are worth.
        legal: ``legal(states)`` returns a boolean for each of n states and each action, an array
            with a row for each state: whether it is allowed there.
        features: ``features(states)`` returns n rows of features, for planners that look for new
            ones; without it they are the entries of a state.
        action_names: a text for each action, to print plans with.
        name: what to call the model, to be the title of explanations.
        access: ``Access.RESET`` if only whole trajectories from the root can be simulated.
        batch_size: the most rows passed to ``function`` at once.
        problem: the problem this is a form of, if it has one that is solved exactly.

    >>> import numpy as np
    >>> import platypoos as pp
    >>> def step(positions, actions, rng):
    ...     positions = positions + 2 * actions - 1
    ...     return positions, (positions == 3).astype(float), False
    >>> model = pp.ArrayModel(step, actions=2, initial_state=np.int64(0))
    >>> pp.plan(model, budget=200, discount=0.9, seed=0).actions[:3]
    (1, 1, 1)
    """

    function: BatchStep
    actions: Any
    initial_state: Any
    _: KW_ONLY
    dynamics: str = DETERMINISTIC
    policy: Callable[[NDArray[Any]], Any] | None = None
    value: Callable[[NDArray[Any]], Any] | None = None
    legal: Callable[[NDArray[Any]], Any] | None = None
    features: Callable[[NDArray[Any]], Any] | None = None
    action_names: Sequence[str] | None = None
    name: str = ""
    access: Access = Access.RESTORE
    batch_size: int = 8192
    problem: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                f"function must be callable, got {self.function!r}; "
                "pass step(states, actions, rng) -> (states, rewards, terminated)"
            )
        for name in ("legal", "value", "policy", "features"):
            check_function(name, getattr(self, name))
        object.__setattr__(self, "actions", as_space(self.actions))
        object.__setattr__(self, "action_names", check_names(self.action_names, self.actions))
        object.__setattr__(self, "dynamics", check_dynamics(self.dynamics))
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
        self, states: NDArray[Any], actions: NDArray[Any], rng: np.random.Generator
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
        if after.dtype != states.dtype and not np.can_cast(after.dtype, states.dtype, "same_kind"):
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
        ended = np.full(n, bool(terminated)) if terminated.ndim == 0 else terminated != 0
        return after, rewards.astype(np.float64), ended

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in one state: a batch of one."""
        states, rewards, terminated = self.step_batch(
            np.asarray(state)[None], self.batch_of([action]), rng
        )
        return Transition(states[0], float(rewards[0]), bool(terminated[0]))

    @cached_property
    def action_table(self) -> NDArray[Any]:
        """The actions of a finite space, stacked: what ``function`` gets are rows of it."""
        return stack_actions(self.actions.payloads)

    def batch_of(self, actions: Sequence[Any]) -> NDArray[Any]:
        """Some actions as ``function`` gets them."""
        if self.actions.is_numbered or not self.actions.is_finite:
            return stack_actions(actions)
        return self.action_table[[self.actions.index(action) for action in actions]]

    def single_legal(self) -> Callable[[Any], Any] | None:
        """``legal`` of one state, if the model has it."""
        return self._of_one("legal")

    def single_value(self) -> Callable[[Any], Any] | None:
        """``value`` of one state, if the model has it."""
        return self._of_one("value")

    def single_policy(self) -> Callable[[Any], Any] | None:
        """``policy`` of one state, if the model has it."""
        return self._of_one("policy")

    def single_features(self) -> Callable[[Any], Any] | None:
        """``features`` of one state, if the model has it."""
        return self._of_one("features")

    def expect(self, states: NDArray[Any]) -> None:
        """Note new states, which planners may ask about one by one."""
        for one in self._ones.values():
            one.expect(states)

    @cached_property
    def _ones(self) -> dict[str, OfOne]:
        return {}

    def _of_one(self, name: str) -> OfOne | None:
        function = getattr(self, name)
        if function is None:
            return None
        if name not in self._ones:
            self._ones[name] = OfOne(function)
        return self._ones[name]


class OfOne:
    """A function of many states, for one state.

    When it is asked about a state that is new, it asks about all new states at once.

    >>> double = OfOne(lambda states: 2 * states)
    >>> double.expect(np.array([1, 2]))
    >>> int(double(np.int64(2))), len(double.known), int(double(np.int64(7)))
    (4, 1, 14)
    """

    def __init__(self, function: Callable[[NDArray[Any]], Any]) -> None:
        self.function = function
        self.new: list[NDArray[Any]] = []
        """States that were not asked about…"""
        self.count = 0
        """…and how many these are."""
        self.known: dict[bytes, Any] = {}
        """By the bytes of a state: what was not fetched yet."""

    def expect(self, states: NDArray[Any]) -> None:
        """Note new states."""
        self.new.append(states)
        self.count += len(states)
        while self.count > MOST_NEW:
            self.count -= len(self.new.pop(0))

    def __call__(self, state: Any) -> Any:
        """What the function says of a state."""
        row = np.asarray(state)
        said = self.known.pop(row.tobytes(), None)
        if said is None and self.new:
            self._ask_all()
            said = self.known.pop(row.tobytes(), None)
        return self.function(row[None])[0] if said is None else said

    def _ask_all(self) -> None:
        states, self.new, self.count = np.concatenate(self.new), [], 0
        if len(self.known) > MOST_KNOWN:
            self.known = {}
        try:
            said = self.function(states)
        except Exception:  # noqa: BLE001  then it will fail for the one state that matters, or not
            return
        if np.shape(said)[:1] == (len(states),):
            raw = states.tobytes()
            size = len(raw) // len(states)
            keys = [raw[start : start + size] for start in range(0, len(raw), size)]
            self.known.update(zip(keys, said, strict=True))


def stack_actions(actions: Sequence[Any]) -> NDArray[Any]:
    """An array with an entry or a row for each action; of objects if they are no numbers.

    >>> stack_actions([0.5, 1]).tolist(), stack_actions(["up", None]).dtype
    ([0.5, 1.0], dtype('O'))
    """
    try:
        stacked = np.asarray(actions)
    except ValueError:
        stacked = np.empty(0, object)
    if stacked.dtype.kind in "iu":
        return stacked.astype(np.int64)
    if stacked.dtype.kind in "bf":
        return stacked
    stacked = np.empty(len(actions), object)
    for place, action in enumerate(actions):
        stacked[place] = action
    return stacked
