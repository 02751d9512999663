"""A model whose actions are numbers, from one whose actions are anything.

The published planners and the samplers number the actions of a model from 0. What they plan with is
the view that ``numbered`` makes: it takes the number of an action, and calls the model with the
action itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import ModelError
from platypoos.models.advice import Advisor
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition, actions_of
from platypoos.models.failures import say_action
from platypoos.models.points import is_pointed
from platypoos.spaces import Discrete, Space

_OTHER_FORMS = ("compiled", "array", "single_legal", "single_value", "single_policy",
                "single_features", "acting")  # fmt: skip


class Numbered:
    """A view of a model with a finite list of actions: its actions are 0, 1, …, n − 1.

    What else the model offers (``value``, ``key``, ``access``, …) the view offers too.

    >>> from platypoos.models.function import FunctionModel
    >>> model = FunctionModel(lambda x, pace, rng: (x + pace, 0.0, False), [-1, 5], 0)
    >>> Numbered(model).step(0, 1, None)
    (5, 0.0, False)
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.payloads = actions_of(model).payloads
        self.actions = Discrete(len(self.payloads))
        self.num_actions = self.actions.n

    @property
    def initial_state(self) -> Any:
        """Where the model starts."""
        return self.model.initial_state

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Take the action with this number."""
        return self.model.step(state, self.payloads[action], rng)  # type: ignore[no-any-return]

    @cached_property
    def _advisor(self) -> Advisor:
        return Advisor(self.model)

    @property
    def legal(self) -> Callable[[Any], Any] | None:
        """Which actions are legal, as a mask; None if the model does not tell."""
        return self._legal if self._advisor.masked else None

    @property
    def policy(self) -> Callable[[Any], Any] | None:
        """The weights of the actions; None if the model has no policy."""
        return self._policy if self._advisor.guided else None

    def _legal(self, state: Any) -> Any:
        return self._advisor.mask(state) != 0

    def _policy(self, state: Any) -> Any:
        return self._advisor.weights(state, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in _OTHER_FORMS or "model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        found = getattr(self.model, name)
        if name == "successors":
            return lambda state, action: found(state, self.payloads[action])
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: kept for name, kept in vars(self).items() if name != "_advisor"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


@dataclass(frozen=True, eq=False)
class NumberedArray(ArrayModel):
    """The same for an array model, which stays one."""

    model: Any = field(default=None, kw_only=True)


@dataclass(frozen=True)
class _ByNumber:
    """The step of an array model that takes the numbers of actions."""

    model: ArrayModel

    def __call__(
        self, states: NDArray[Any], numbers: NDArray[np.int64], rng: np.random.Generator
    ) -> Any:
        return self.model.function(states, self.model.action_table[numbers], rng)


def numbered(model: Any) -> Any:
    """The model itself if its actions are numbers from 0, else a view of it in which they are.

    The actions must be a finite list.
    """
    space = actions_of(model)
    if space.is_numbered:
        return model
    if isinstance(model, ArrayModel):
        fields = {name: getattr(model, name) for name in ArrayModel.__dataclass_fields__}
        fields |= {"function": _ByNumber(model), "actions": space.n}
        return NumberedArray(**fields, model=model)
    return Numbered(model)


def original(model: Any) -> Any:
    """The model that a view was made of; the model itself if it is none."""
    is_view = isinstance(model, Numbered | NumberedArray) or is_pointed(model)
    return model.model if is_view else model


def rename(error: ModelError, actions: Space) -> None:
    """Let an error name the action itself in place of its number."""
    if actions.is_numbered or error.action is None:
        return
    given = error.action
    if isinstance(given, np.ndarray):
        error.action = [actions.payloads[number] for number in given.tolist()]
        return
    if not isinstance(given, int | np.integer):
        return
    error.action = actions.payloads[given]
    if error.args:
        before, found, after = str(error.args[0]).rpartition(f", action {given})")
        if found:
            said = f"{before}, action {say_action(error.action)}){after}"
            error.args = (said, *error.args[1:])
