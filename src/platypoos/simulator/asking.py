"""What a model says of a state beside its step: which actions are legal, and what its rule does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import ModelError
from platypoos.models.advice import checked_mask, checked_weights, no_legal_action
from platypoos.models.base import actions_of, said_of_one
from platypoos.models.failures import brief, worded
from platypoos.spaces import Discrete

Legal = Callable[[Any], list[Any]]
"""The legal actions in a state, at least one."""
Rule = Callable[[Any, "list[Any] | None"], Any]
"""The action that the rule takes in a state, given the legal actions there (None: all)."""


def listed_actions(model: Any) -> Sequence[Any] | None:
    """The actions of a model as its step takes them; None if they cannot be listed."""
    space = actions_of(model)
    if not space.is_finite:
        return None
    return range(space.n) if space.is_numbered else space.payloads


def contains(actions: Sequence[Any], action: Any) -> bool:
    """Whether an action is among some others; actions may be arrays."""
    try:
        return action in actions
    except ValueError:  # arrays are compared entry by entry
        return place_of(actions, action) >= 0


def place_of(actions: Sequence[Any], action: Any) -> int:
    """Where an action is in a list; −1 if it is not there."""
    for place, other in enumerate(actions):
        if np.array_equal(other, action):
            return place
    return -1


class AskLegal:
    """Asks a model which actions are legal in a state, and checks what it says."""

    def __init__(self, function: Callable[[Any], Any], actions: Sequence[Any]) -> None:
        self._function, self._actions = function, actions
        self._space = Discrete(actions)
        self._numbered = actions == range(len(actions))

    def __call__(self, state: Any) -> list[Any]:
        """The legal actions in a state."""
        try:
            said = self._function(state)
        except ModelError:
            raise  # it says what is wrong
        except Exception as error:
            raise _raised("legal", error, state) from error
        actions = self._actions
        if self._numbered:
            if type(said) is list or type(said) is tuple or type(said) is range:
                seen = set(said) if all(type(number) is int for number in said) else ()
                if seen and len(seen) == len(said) and min(seen) >= 0 and max(seen) < len(actions):
                    return list(said)
        elif not _is_mask(said, len(actions)):
            listed = list(said)
            if not listed:
                raise no_legal_action(state)
            for action in listed:
                if not contains(actions, action):
                    raise ModelError(
                        f"legal named the action {brief(action)}, which is not one of the model's "
                        f"actions (at state {brief(state)})",
                        state=state,
                    )
            return listed
        mask = checked_mask(said, self._space, state)
        return [actions[number] for number in np.flatnonzero(mask).tolist()]


class AskRule:
    """Asks a model's policy for an action, and checks what it says.

    The policy may return an action, or a weight for each action: then the heaviest legal one is
    taken, the first of equals.
    """

    def __init__(self, function: Callable[[Any], Any], actions: Sequence[Any] | None) -> None:
        self._function, self._actions = function, actions
        self._space = None if actions is None else Discrete(actions)
        self._numbered = actions is not None and actions == range(len(actions))

    def __call__(self, state: Any, allowed: list[Any] | None) -> Any:
        """What the rule does in a state."""
        try:
            said = self._function(state)
        except ModelError:
            raise  # it says what is wrong
        except Exception as error:
            raise _raised("policy", error, state) from error
        actions = self._actions
        if actions is None:
            return said
        if self._numbered and isinstance(said, int | np.integer):
            number = int(said)
            if not 0 <= number < len(actions) or (allowed is not None and number not in allowed):
                raise _not_legal(said, state, known=0 <= number < len(actions))
            return number
        if self._numbered or not contains(actions, said):
            return self._heaviest(state, said, allowed)
        if allowed is not None and not contains(allowed, said):
            raise _not_legal(said, state, known=True)
        return said

    def _heaviest(self, state: Any, said: Any, allowed: list[Any] | None) -> Any:
        assert self._space is not None  # noqa: S101  whoever calls has looked
        actions = self._space.payloads
        weights = checked_weights(said, self._space, None, state)
        if allowed is not None:
            barred = [not contains(allowed, action) for action in actions]
            weights[barred] = -1.0
        return actions[int(weights.argmax())]


def legal_from(function: Any, actions: Sequence[Any] | None) -> AskLegal | None:
    """A function that lists legal actions; None if there is none."""
    return None if function is None or actions is None else AskLegal(function, actions)


def rule_from(function: Any, actions: Sequence[Any] | None) -> AskRule | None:
    """A function that says what the rule does; None if there is no rule."""
    return None if function is None else AskRule(function, actions)


def questions(
    model: Any, legal: Any, policy: Any, actions: Sequence[Any] | None
) -> tuple[AskLegal | None, AskRule | None]:
    """What to ask about single states: what was given, or else what the model has."""
    asked_legal = said_of_one(model, "legal") if legal is None else legal
    asked_rule = said_of_one(model, "policy") if policy is None else policy
    return legal_from(asked_legal, actions), rule_from(asked_rule, actions)


def _is_mask(said: Any, length: int) -> bool:
    try:
        given: NDArray[Any] = np.asarray(said)
    except ValueError:
        return False
    return given.dtype == np.bool_ and given.shape == (length,)


def _raised(name: str, error: Exception, state: Any) -> ModelError:
    return ModelError(
        f"the model's {name} raised {worded(error)} (at state {brief(state)}); the original "
        "traceback is above",
        state=state,
    )


def _not_legal(action: Any, state: Any, *, known: bool) -> ModelError:
    why = "is not legal there" if known else "is not one of the model's actions"
    return ModelError(
        f"the model's policy chose the action {brief(action)}, which {why} (at state "
        f"{brief(state)})",
        state=state,
        action=action,
    )
