"""What can go wrong, one class per thing a caller can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from platypoos.trees.tree import Tree


class PlatypoosError(Exception):
    """Base class of every error this package raises on purpose."""


class InvalidArgument(PlatypoosError, ValueError):
    """A value that cannot be planned with; the message names it and says what to pass."""


class BudgetExceeded(PlatypoosError):
    """A planner asked for more calls than it was given. The calls were not made."""


class ModelError(PlatypoosError):
    """The model failed at one state and action. The original error is the ``__cause__``.

    Nothing that was learned is lost: ``tree`` holds every sample taken before the failure.
    ``calls`` counts the calls made, the failing one included; if a compiled model raises, all
    samples that its node was to get. An array model fails as a batch:
    then ``state`` and ``action`` are those of the whole batch, unless one row is to blame.
    """

    def __init__(self, message: str, *, state: Any = None, action: Any = None) -> None:
        super().__init__(message)
        self.state = state
        self.action = action
        self.calls = 0
        self.tree: Tree | None = None
        self.replies: Any = None


class WorkerError(ModelError):
    """A worker of an executor died, or did not answer in time."""


class RewardError(ModelError):
    """The model returned a reward that is NaN, infinite or not a number."""


class TransitionError(ModelError):
    """The model's step did not return ``(state, reward, terminated)`` in the promised shape."""


class DynamicsError(ModelError):
    """The same step led to different results, or changed the state it was given."""


class MaskError(ModelError):
    """What the model says of legal actions cannot be planned with."""
