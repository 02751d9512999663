"""A model whose actions are points, from one whose actions are arrays of numbers.

The default planner searches sequences of actions, which it must compare and look up. An array
cannot be looked up, so it works with points: tuples of the array's entries, in their order. What it
plans with is the view that ``pointed`` makes: it takes a point, and calls the model with the array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition, actions_of, said_of_one
from platypoos.models.failures import brief, worded
from platypoos.spaces import Box, MultiDiscrete, Space, name_of

Point = tuple[float, ...]

MOST_LISTED = 32
"""A ``MultiDiscrete`` of more actions than this is searched entry by entry, not as a list."""


def has_points(space: Space) -> bool:
    """Whether the default planner takes the actions of a space as points."""
    if isinstance(space, MultiDiscrete):
        return not space.is_finite or space.n > MOST_LISTED
    return isinstance(space, Box)


def as_point(space: Space, action: Any) -> Point:
    """The point that stands for an action; an error if it is no action of the space."""
    space.check(action)
    return tuple(np.asarray(action, dtype_of(space)).ravel().tolist())


def dtype_of(space: Any) -> Any:
    """The type of the numbers in the actions of a space."""
    return np.int64 if isinstance(space, MultiDiscrete) else space.low.dtype


def rounding(space: Any) -> Callable[[Sequence[float]], Point]:
    """A function that rounds numbers to those that the actions of a space can have.

    A point must be the same when its action has been taken, or nothing that is known of it is
    found again.

    >>> rounding(Box(np.float32([0.0]), np.float32([1.0])))([0.1])
    (0.10000000149011612,)
    >>> rounding(Box([0.0], [1.0]))([0.1])
    (0.1,)
    """
    kind = dtype_of(space)
    if kind == np.float64:
        return tuple
    if kind == np.float32:  # several times as fast as by an array
        singles = Struct(f"{math.prod(space.shape)}f")
        return lambda numbers: singles.unpack(singles.pack(*numbers))
    return lambda numbers: tuple(np.array(numbers, kind).tolist())


def as_action(space: Any, point: Point) -> Any:
    """The action that a point stands for: what the model's step takes, made anew each time.

    >>> as_action(Box([0.0, 0.0], [1.0, 2.0]), (0.5, 2.0))
    array([0.5, 2. ])
    >>> as_action(Box(-1, 1), (0.25,))
    0.25
    """
    if not space.shape:
        return float(point[0])
    array = np.array(point, dtype_of(space))
    return array if len(space.shape) == 1 else array.reshape(space.shape)


class Pointed:
    """A view of a model whose actions are arrays: its actions are points.

    What else the model offers (``value``, ``key``, ``access``, …) the view offers too.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.actions = actions_of(model)

    @property
    def initial_state(self) -> Any:
        """Where the model starts."""
        return self.model.initial_state

    def step(self, state: Any, action: Point, rng: np.random.Generator) -> Transition:
        """Take the action that a point stands for."""
        return self.model.step(state, as_action(self.actions, action), rng)  # type: ignore[no-any-return]

    @property
    def legal(self) -> None:
        """Nothing: see ``pointed``."""
        return

    @property
    def policy(self) -> Callable[[Any], Point] | None:
        """The point that the model's policy chooses; None if the model has no policy."""
        return None if said_of_one(self.model, "policy") is None else self._policy

    def _policy(self, state: Any) -> Point:
        function = said_of_one(self.model, "policy")
        assert function is not None  # noqa: S101  whoever asks has looked
        try:
            said = function(state)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                f"the model's policy raised {worded(error)} (at state {brief(state)}); the "
                "original traceback is above",
                state=state,
            ) from error
        return checked_point(self.actions, said, state)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in {"compiled", "array", "model"}:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.model, name)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def checked_point(space: Space, said: Any, state: Any) -> Point:
    """The point of what a policy chose; an error that names the state if it is no action.

    A single number may come in an array of any shape.
    """
    try:
        shape = getattr(space, "shape", ())
        if isinstance(said, np.ndarray) and said.size == 1 == math.prod(shape):
            said = said.reshape(shape)
        return as_point(space, said)
    except InvalidArgument as error:
        raise ModelError(
            f"the model's policy chose what is no action: {error} (at state {brief(state)})",
            state=state,
            action=said,
        ) from None


@dataclass(frozen=True, eq=False)
class PointedArray(ArrayModel):
    """The same for an array model, which stays one."""

    model: Any = field(default=None, kw_only=True)

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take the action that a point stands for."""
        rows = np.array([action])
        states, rewards, ended = self.step_batch(np.asarray(state)[None], rows, rng)
        return Transition(states[0], float(rewards[0]), bool(ended[0]))

    def single_policy(self) -> Callable[[Any], Any] | None:
        """The point that ``policy`` chooses in one state, if the model has it."""
        said = super().single_policy()
        return None if said is None else lambda s: checked_point(self.actions, said(s), s)


@dataclass(frozen=True)
class _ByPoint:
    """The step of an array model that takes points, a row for each."""

    model: ArrayModel

    def __call__(self, states: NDArray[Any], points: NDArray[Any], rng: Any) -> Any:
        space = self.model.actions
        kind = np.int64 if isinstance(space, MultiDiscrete) else space.low.dtype
        return self.model.function(states, points.astype(kind).reshape(-1, *space.shape), rng)


def is_pointed(model: Any) -> bool:
    """Whether this is such a view."""
    return isinstance(model, Pointed | PointedArray)


def pointed(model: Any) -> Any:
    """A view of a model in which actions are points; see ``has_points``."""
    if is_pointed(model):
        return model
    space = actions_of(model)
    if getattr(model, "legal", None) is not None:
        raise InvalidArgument(
            f"legal= is for a list of actions, but the actions are {space}: let step take the "
            "nearest action that is allowed, or pass actions=[…]"
        )
    if isinstance(model, ArrayModel):
        fields = {name: getattr(model, name) for name in ArrayModel.__dataclass_fields__}
        fields["function"] = _ByPoint(model)
        return PointedArray(**fields, model=model)
    return Pointed(model)


def rename_point(error: ModelError, space: Space) -> None:
    """Let an error name the action itself in place of its point."""
    given = error.action
    if not isinstance(given, tuple):
        return
    error.action = as_action(space, given)
    if error.args:
        before, found, after = str(error.args[0]).rpartition(f", action {given})")
        if found:
            said = f"{before}, action {name_of(error.action)}){after}"
            error.args = (said, *error.args[1:])
