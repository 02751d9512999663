"""The lines of code that follow an advice."""

from __future__ import annotations

import math
from typing import Any

from platypoos.checks import same
from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access, is_compiled
from platypoos.models.gymnasium.actions import SPARSE, list_actions
from platypoos.models.gymnasium.making import gymnasium_package
from platypoos.models.gymnasium.model import ATARI_LIVES, GymnasiumModel
from platypoos.models.gymnasium.registry import is_atari
from platypoos.spaces import Discrete

USUAL_STEPS = 100
"""Decisions of an episode, where the model does not know of a time limit."""


def runs_in_batches(model: Any) -> bool:
    """Whether it is planned with in machine code or in batches: a single call tells no cost."""
    return is_compiled(model) or isinstance(model, ArrayModel)


def write_code(
    model: Any, repeat: int, factor: int, discount: float, limits: dict[str, Any], access: Access
) -> tuple[str, ...]:
    """Lines to copy: the model with its repeat, and a call of ``control``.

    Args:
        model: the model that the advice is for.
        repeat: simulator steps of an action, in all.
        factor: how many calls of ``model`` that is.
        discount: of one decision.
        limits: ``budget=`` or ``deadline=``.
        access: what to plan with.
    """
    settings = {**limits, "discount": discount, "steps": decisions(model, factor), "seed": 0}
    lines = ["import platypoos as pp", ""]
    if isinstance(model, GymnasiumModel):
        lines.append(f"model = {_made(model, repeat)}")
    elif factor > 1:
        single = round(discount ** (1 / factor), 6)
        lines.append(f"model = pp.models.RepeatedAction(model, repeat={factor}, discount={single})")
        del settings["discount"]  # the model's is taken
    if access is not getattr(model, "access", Access.RESTORE):
        settings["access"] = access.value
    said = ", ".join(f"{key}={_number(value)}" for key, value in settings.items())
    return (*lines, f"episode = pp.control(model, {said})")


def write_command(model: Any, repeat: int, factor: int, discount: float, budget: int) -> str:
    """The same for the command line; empty if it cannot make this model."""
    if not isinstance(model, GymnasiumModel):
        return ""
    env, options = _recipe(model)
    given = _given_actions(model)
    named = (model.ends, model._key, model._features)  # noqa: SLF001
    plain = all(isinstance(value, str | int | float) for value in options.values())
    if not isinstance(env, str) or given == "" or any(named) or not plain:
        return ""
    words = [f"platypoos play {env}"]
    words += [f"--option {key}={value}" for key, value in options.items()]
    words += [] if given is None else [f"--actions {given}"]
    words += [f"--repeat {repeat}"] if repeat > 1 else []
    words += [f"--method {model.method}"] if model.forced else []
    words += [f"--lives {model.lives}"] if model.lives != _usual_lives(model) else []
    if model.resolution is not None:
        cells = model.resolution
        widths = [cells] if isinstance(cells, int | float) else list(cells)
        words.append(f"--resolution {','.join(f'{width:g}' for width in widths)}")
    words += [f"--budget {budget} --discount {discount:g} --steps {decisions(model, factor)}"]
    return " ".join(words)


def decisions(model: Any, factor: int) -> int:
    """Decisions of an episode: up to the time limit, if there is one."""
    limit = None
    if isinstance(model, GymnasiumModel):
        env, _ = _recipe(model)
        spec = gymnasium_package().spec(env) if isinstance(env, str) else getattr(env, "spec", None)
        limit = getattr(spec, "max_episode_steps", None)
    if limit is None:
        return USUAL_STEPS
    return max(1, math.ceil(int(limit) / (factor * int(model.repeat))))


def _made(model: GymnasiumModel, repeat: int) -> str:
    """The expression that makes this model with another repeat."""
    env, options = _recipe(model)
    settings = [f'"{env}"' if isinstance(env, str) else "env"]
    given = _given_actions(model)
    settings += [f"seed={model.seed}"] if model.seed else []
    if given is not None:
        settings.append(f"actions={_number(given) if given else 'actions'}")
    settings += [f"repeat={repeat}"] if repeat > 1 else []
    settings += [f'method="{model.method}"'] if model.forced else []
    settings += [f'lives="{model.lives}"'] if model.lives != _usual_lives(model) else []
    settings += [f"resolution={model.resolution!r}"] if model.resolution is not None else []
    named = {"ends": model.ends, "key": model._key, "features": model._features}  # noqa: SLF001
    settings += [f"{name}={name}" for name, function in named.items() if function is not None]
    settings += [f"{name}={value!r}" for name, value in options.items()]
    return f"pp.GymnasiumModel({', '.join(settings)})"


def _recipe(model: GymnasiumModel) -> tuple[Any, dict[str, Any]]:
    return model._recipe  # noqa: SLF001


def _usual_lives(model: GymnasiumModel) -> str:
    return ATARI_LIVES if is_atari(model.keeper.core) else "ignore"


def _given_actions(model: GymnasiumModel) -> int | str | None:
    """``actions=`` as it was given: None if left out, empty if it was a list or a box."""
    if not isinstance(model.actions, Discrete):
        return None if model.asked_actions is None else ""
    space = model.env.action_space
    guesses: list[Any] = [None]
    if getattr(space, "shape", None):
        guesses += [round(model.actions.n ** (1 / math.prod(space.shape))), SPARSE]
    for guess in guesses:
        try:
            if same(list_actions(model.env, guess), model.env_actions):
                return guess  # type: ignore[no-any-return]
        except InvalidArgument:
            continue
    return ""


def _number(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:_}"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
