"""How a model from a Gymnasium environment is sent to another process."""

from __future__ import annotations

from typing import Any

from platypoos.models.gymnasium.actions import SOME
from platypoos.models.gymnasium.notes import Notes
from platypoos.models.gymnasium.snapshots import pickled


def sent_parts(model: Any) -> tuple[Any, dict[str, Any]]:
    """What makes the environment there, and the model's settings."""
    env, options = model._recipe
    if model._sent is None:  # once, so that workers see that it is the same model
        try:
            model._sent = env if isinstance(env, str) else pickled(env)
        except Exception:  # surfaces, locks, local functions, …
            model._sent = getattr(env, "spec", None)
            if model._sent is None:
                raise
    settings = {
        "seed": model.seed,
        "actions": model.env_actions if model.asked_actions is SOME else model.asked_actions,
        "repeat": model.repeat,
        "method": model.method,
        "lives": model.lives,
        "ends": model.ends,
        "key": model._key,
        "resolution": model.resolution,
        "features": model._features,
        "action_names": model.action_names,
        **options,
    }
    return model._sent, settings


def sent_notes(model: Any) -> Notes | None:
    """What was noted of the environment, without its states."""
    return None if model.keeper.notes is None else model.keeper.notes.blank()
