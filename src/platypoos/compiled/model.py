"""A model from a Numba-compiled step: planned without leaving machine code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numba.core.dispatcher import Dispatcher

from platypoos.checks import check_function
from platypoos.errors import InvalidArgument
from platypoos.models.base import (
    DETERMINISTIC,
    Access,
    Transition,
    check_access,
    check_dynamics,
    check_names,
)
from platypoos.spaces import as_space

_SIGNATURES = {
    "kernel": "kernel(state, action, params, rng, next_state) -> (reward, terminated)",
    "legal": "legal(state, params, mask), which writes the mask",
    "value": "value(state, params) -> float",
    "policy": "policy(state, params, weights), which writes the weights",
}


def _check_compiled(name: str, function: Any, signature: str) -> None:
    if function is None:
        return
    if not isinstance(function, Dispatcher):
        raise InvalidArgument(f"{name} must be compiled with numba.njit, got {function!r}")
    takes = len(inspect.signature(function.py_func).parameters)
    wanted = signature[: signature.index(")")].count(",") + 1
    if takes != wanted:
        raise InvalidArgument(
            f"the {name} {function.py_func.__name__} takes {takes} arguments; it must be "
            f"{signature}"
        )


def _is_plain(params: Any) -> bool:
    """Whether compiled code can read it from memory as it is."""
    if isinstance(params, tuple):
        return all(_is_plain(item) for item in params)
    if isinstance(params, np.ndarray):
        return not params.dtype.hasobject
    return params is None or isinstance(params, int | float | complex | np.generic)


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """A model whose whole plan runs in machine code.

    Args:
        kernel: a function compiled with ``numba.njit``,
            ``kernel(state, action, params, rng, next_state) -> (reward, terminated)``.
            It writes the next state into ``next_state`` and changes nothing else.
        actions: how many actions there are; the kernel gets their numbers, from 0.
        initial_state: a one-dimensional array; all states have its length and type.
        params: passed to every step: an array, a number, or a tuple of these.
        dynamics: "deterministic" or "random"; see ``FunctionModel``.
        policy: compiled, ``policy(state, params, weights)``; it writes a weight for each action.
            The default planner then plans in Python, which takes longer.
        value: compiled, ``value(state, params)``: roughly what a state is worth.
        legal: compiled, ``legal(state, params, mask)``; it writes False to ``mask[action]`` where
            an action is not allowed. All entries are True before.
        features: ``features(state)``, compiled or not, returns the features of a state, for
            planners that look for new ones; without it they are the entries of the state.
        action_names: a text for each action, to print plans with.
        name: what to call the model, to be the title of explanations.
        access: ``Access.RESET`` if only whole trajectories from the root can be simulated.
        problem: the problem this is a form of, if it has one that is solved exactly.

    The first plan compiles the kernel, and on a new machine the planner and its loops too (half a
    minute). These are kept on disk for later processes and other models. With a deadline there
    is no time for that: ``Agent.warm_up`` does it ahead.

    >>> import numba, numpy as np
    >>> import platypoos as pp
    >>> @numba.njit
    ... def kernel(state, action, params, rng, next_state):
    ...     next_state[0] = state[0] + 2 * action - 1
    ...     return 1.0 if next_state[0] == params else 0.0, False
    >>> model = pp.CompiledModel(kernel, actions=2, initial_state=np.zeros(1), params=3)
    >>> pp.plan(model, budget=200, discount=0.9, seed=0).actions[:3]
    (1, 1, 1)
    """

    kernel: Any
    actions: Any
    initial_state: Any
    params: Any = 0.0
    _: KW_ONLY
    dynamics: str = DETERMINISTIC
    policy: Any = None
    value: Any = None
    legal: Any = None
    features: Callable[[Any], Any] | None = None
    action_names: Sequence[str] | None = None
    name: str = ""
    access: Access = Access.RESTORE
    problem: Any = None
    is_compiled: ClassVar[bool] = True
    functions: list[Any] = field(init=False, repr=False)
    planned: set[tuple[type, Access]] = field(init=False, repr=False)
    """Planners that have planned with it in this process: their machine code is there."""

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Dispatcher):
            raise InvalidArgument(
                f"kernel must be compiled with numba.njit, got {self.kernel!r}; "
                "for a plain Python function use FunctionModel"
            )
        for name, signature in _SIGNATURES.items():
            _check_compiled(name, getattr(self, name), signature)
        check_function("features", self.features)
        if not _is_plain(self.params):
            raise InvalidArgument(
                f"params must be an array, a number or a tuple of these, got {self.params!r}"
            )
        space = as_space(self.actions)
        if not space.is_numbered:
            raise InvalidArgument(
                f"a kernel takes the numbers of actions, but these actions are {space}: pass how "
                "many there are, actions=3, and their texts as action_names="
            )
        object.__setattr__(self, "actions", space)
        object.__setattr__(self, "action_names", check_names(self.action_names, space))
        object.__setattr__(self, "dynamics", check_dynamics(self.dynamics))
        object.__setattr__(self, "access", check_access(self.access))
        state = np.ascontiguousarray(self.initial_state)
        if state.ndim != 1 or state.dtype.kind not in "biufc":
            raise InvalidArgument(
                "initial_state must be a one-dimensional array of numbers, got "
                f"{self.initial_state!r}"
            )
        state = state.copy()
        state.flags.writeable = False
        object.__setattr__(self, "initial_state", state)
        object.__setattr__(self, "functions", [])
        object.__setattr__(self, "planned", set())

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Take ``action`` in one state."""
        after = np.empty_like(self.initial_state)
        reward, terminated = self.step_into(np.array(state, after.dtype), action, rng, after)
        return Transition(after, reward, terminated)

    def step_into(self, state: Any, action: int, rng: np.random.Generator, after: Any) -> Any:
        """Call the kernel on arrays as they are; it writes the next state into ``after``."""
        return self.kernel(state, int(action), self.params, rng, after)

    def single_legal(self) -> Callable[[Any], Any] | None:
        """The legal actions of one state, if the model tells."""
        if self.legal is None:
            return None

        def legal(state: Any) -> Any:
            mask = np.ones(self.actions.n, np.uint8)
            self.legal(np.array(state, self.initial_state.dtype), self.params, mask)
            return mask != 0

        return legal

    def single_value(self) -> Callable[[Any], Any] | None:
        """What one state is worth, if the model tells."""
        if self.value is None:
            return None
        return lambda state: self.value(np.array(state, self.initial_state.dtype), self.params)

    def single_policy(self) -> Callable[[Any], Any] | None:
        """The policy's weights in one state, if the model has one."""
        if self.policy is None:
            return None

        def policy(state: Any) -> Any:
            weights = np.zeros(self.actions.n)
            self.policy(np.array(state, self.initial_state.dtype), self.params, weights)
            return weights

        return policy
