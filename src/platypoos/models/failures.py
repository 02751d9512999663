"""Errors that say where a model failed, and how."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.checks import LARGEST_REWARD, as_number
from platypoos.errors import DynamicsError, ModelError, RewardError, TransitionError
from platypoos.models.base import Transition

NOTHING = object()
"""What a step that raised has returned."""


def act(model: Any, state: Any, action: Any, rng: np.random.Generator) -> Transition:
    """Take one step of a model, and check what comes back."""
    result: Any = NOTHING
    try:
        result = model.step(state, action, rng)
        after, reward, terminated = result
        reward = as_number(reward)
        if not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            raise bad_reward(reward, state, action)
        return Transition(after, float(reward), as_flag(terminated))
    except ModelError as error:
        located(error, state, action)
        raise
    except Exception as error:
        raise explained(error, state, action, result) from error


def list_successors(model: Any, state: Any, action: Any) -> list[tuple[float, Any, float, bool]]:
    """What a model's ``successors`` lists, each with whether the episode ends."""
    try:
        entries = list(model.successors(state, action))
    except Exception as error:
        raise ModelError(f"the model's successors raised {worded(error)}") from error
    listed = []
    for entry in entries:
        try:
            chance, successor, reward, *ended = entry
            terminated = as_flag(*ended) if ended else False
            listed.append((float(chance), successor, float(reward), terminated))
        except (TypeError, ValueError) as error:
            raise TransitionError(
                "successors must list (probability, state, reward) or (probability, state, "
                f"reward, terminated), got {brief(entry)}"
            ) from error
    return listed


def as_flag(terminated: Any) -> bool:
    """Whether the episode ended, or an error if that is not what was returned."""
    if terminated is True or terminated is False:
        return terminated
    if isinstance(terminated, np.bool_ | int | np.integer) and terminated in (0, 1):
        return bool(terminated)
    raise TransitionError(
        "the model's step must return (state, reward, terminated) with terminated True or False, "
        f"got {brief(terminated)}"
    )


def bad_reward(reward: Any, state: Any, action: Any) -> RewardError:
    """The error for a reward that is NaN, infinite or too large."""
    return RewardError(
        f"the model returned the reward {reward!r}; rewards must be finite numbers, "
        f"{LARGEST_REWARD:g} at most",
        state=state,
        action=action,
    )


def not_deterministic(state: Any, action: Any) -> DynamicsError:
    """The error for an episode that ends now and then."""
    return DynamicsError(
        "the episode ended in one try and went on in another, from the same state with the same "
        "action. Either the step changes the state it is given (platypoos.check_model tells), or "
        'the dynamics are random: then give the model dynamics="random"',
        state=state,
        action=action,
    )


def unlike_before(state: Any, action: Any, expected: Any, got: Any) -> DynamicsError:
    """The error for a step that led to one state before and leads to another now."""
    return DynamicsError(
        f"the same step led to {brief(expected)} and then to {brief(got)}. Either the dynamics are "
        'random: then give the model dynamics="random". '
        "Or the step keeps something outside of the state it returns: platypoos.check_model "
        "tells. If the two states are the same for you, give the model key(state)",
        state=state,
        action=action,
    )


def step_changed_state(before: Any, now: Any, action: Any) -> DynamicsError:
    """The error for a step that changed the state it was given."""
    who = "the model's step" if action is not None else "the model's step, legal, value or policy"
    error = DynamicsError(
        f"{who} changed the state it was given from {brief(before)} to {brief(now)}; "
        "let it leave the state alone, and return a new one. platypoos.check_model tells more",
        state=before,
        action=action,
    )
    if action is None:
        error.args = (f"{error.args[0]} (at state {brief(before)}, in one of the last calls)",)
    return error


def say_action(action: Any) -> str:
    """An action in a message: a number as it is, a text in quotes."""
    return str(action) if isinstance(action, int | np.integer) else brief(action)


def brief(value: Any, limit: int = 200) -> str:
    """A value in a message, not too long."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  whatever it is, the message is about something else
        text = f"<{type(value).__name__} that has no text>"
    return text if len(text) <= limit else text[:limit] + "…"


def worded(error: BaseException) -> str:
    """An error's kind and text, in a message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  the message is about the first error
        return f"{type(error).__name__} (its text cannot be made)"


def located(error: ModelError, state: Any = None, action: Any = None) -> ModelError:
    """The same error, with the place in its message."""
    if error.action is None:
        error.state, error.action = state, action
    if error.args and "at state" not in str(error.args[0]):
        place = f" (at state {brief(error.state)}, action {say_action(error.action)})"
        error.args = (f"{error.args[0]}{place}",)
    return error


def explained(
    error: Exception, state: Any, action: Any, result: Any = NOTHING, where: str = ""
) -> ModelError:
    """An error that says where the model failed, and how."""
    place = where or f"state {brief(state)}, action {say_action(action)}"
    if result is NOTHING:
        hint = ""
        if isinstance(error, TypeError) and "positional argument" in worded(error):
            hint = "; it is called as step(state, action, rng)"
        return ModelError(
            f"the model's step raised {worded(error)}{hint} (at {place}); the "
            "original traceback is above",
            state=state,
            action=action,
        )
    if isinstance(result, tuple | list) and len(result) == 3:
        return RewardError(
            f"the model returned the reward {brief(result[1])} of type "
            f"{type(result[1]).__name__}; rewards must be finite numbers (at {place})",
            state=state,
            action=action,
        )
    hint = ""
    if isinstance(result, tuple) and len(result) == 5:
        hint = (
            "; those look like Gymnasium's five: return the state to go on from, the reward, and "
            "terminated, or plan with pp.GymnasiumModel(env)"
        )
    return TransitionError(
        f"the model's step must return (state, reward, terminated), got {brief(result)} "
        f"(at {place}){hint}",
        state=state,
        action=action,
    )
