"""Options that commands share: a planner and its parameters, numbers, NAME=VALUE."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
from collections.abc import Sequence
from typing import Any

from platypoos.checks import parsed, required_fields
from platypoos.errors import InvalidArgument
from platypoos.models.gymnasium.actions import SPARSE
from platypoos.models.gymnasium.making import gymnasium_package
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.named import is_own, load_own, made_by
from platypoos.planners import Planner, available

DEFAULT_BUDGET = 1000


PLANNER = ("planner", "set", "budget", "discount", "horizon", "seed")
"""Which planner, its parameters, its budget."""
ENVIRONMENT = ("option", "method", "repeat", "lives", "resolution")
"""How an environment is made a model."""


def add_options(command: argparse.ArgumentParser, *names: str, **defaults: Any) -> None:
    """Add options of the table to a command; ``defaults`` are this command's own."""
    for name in names:
        settings = OPTIONS[name]
        if name in defaults:
            settings = {**settings, "default": defaults[name]}
        if name == "planner":
            settings = {**settings, "choices": list(available())}
        command.add_argument(f"--{name}", **settings)


def add_environment(command: argparse.ArgumentParser, *, own: bool = False) -> None:
    """Which environment, and how it is made a model; or a function of one's own that makes one."""
    name, text = "ENV", "its id, such as CartPole-v1"
    if own:
        name, text = (
            "ENV|MODULE:NAME",
            f"{text}; or your own: a function that makes a model, or an environment's class",
        )
    command.add_argument("env", metavar=name, help=text)
    add_options(command, *ENVIRONMENT)


def make_planner(name: str, discount: float, settings: Sequence[str]) -> Planner:
    """A planner from its name and ``name=value`` settings."""
    kind = available()[name]
    fields = parameters(kind)
    chosen = as_settings(settings, "--set")
    for key in chosen:
        if key not in fields:
            takes = ", ".join(fields) if fields else "none"
            raise InvalidArgument(f"{name} has no parameter {key!r}; it takes: {takes}")
    missing = [key for key in required_fields(kind) if key not in {"discount", *chosen}]
    if missing:
        sets = " ".join(f"--set {key}=…" for key in missing)
        raise InvalidArgument(f"{name} needs {kind.needs}: pass {sets}")
    return kind(discount=discount, **chosen)


def make_environment(env: str, args: argparse.Namespace) -> Any:
    """The model of an environment, with the options that say how it is planned in.

    MODULE:FUNCTION is somebody's own model, and MODULE:CLASS an environment.
    """
    if env.isidentifier():
        raise InvalidArgument(
            f"{env!r} is no environment: they have ids such as CartPole-v1; your own model is "
            f"written MODULE:FUNCTION, such as {env}:make_model"
        )
    own = own_environment(env)
    if own is None and is_own(env):
        return make_own(env, args)
    settings = as_settings(args.option, "--option")
    films = getattr(args, "save", None) is not None
    if own is not None and films and "render_mode" in inspect.signature(own).parameters:
        settings.setdefault("render_mode", "rgb_array")
    return GymnasiumModel(
        env if own is None else own,
        seed=args.seed,
        actions=args.actions,
        repeat=args.repeat,
        method=args.method,
        lives=args.lives,
        resolution=args.resolution,
        **settings,
    )


def own_environment(text: str) -> Any:
    """Somebody's own Gymnasium environment, as its class; None if it is something else."""
    if not is_own(text):
        return None
    found = load_own(text)
    if "gymnasium" not in sys.modules or not isinstance(found, type):  # its class imports it
        return None
    return found if issubclass(found, gymnasium_package().Env) else None


def not_own(text: str) -> str:
    """The name of a problem; an error that points on if it is somebody's own."""
    if is_own(text):
        raise argparse.ArgumentTypeError(f"for your own model: platypoos explain {text}")
    return text


def make_own(text: str, args: argparse.Namespace) -> Any:
    """The model that a function of somebody's own module makes, with the options as arguments."""
    for name in ("actions", "method", "lives", "resolution"):
        if getattr(args, name, None) is not None:
            raise InvalidArgument(f"--{name} is for Gymnasium environments, and {text} is not one")
    if args.repeat != 1:
        raise InvalidArgument(
            f"--repeat is for Gymnasium environments; let {text} return "
            f"pp.models.RepeatedAction(model, {args.repeat}, discount)"
        )
    model, _ = made_by(text, load_own(text), seed=args.seed, **as_settings(args.option, "--option"))
    return model


def parameters(kind: type[Planner]) -> dict[str, dataclasses.Field[Any]]:
    """The parameters of a planner beside the discount."""
    return {field.name: field for field in dataclasses.fields(kind) if field.name != "discount"}


def whole(text: str) -> int:
    """A whole number, also written 1e6 or 10_000."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


def as_settings(given: Sequence[str], option: str) -> dict[str, Any]:
    """What NAME=VALUE options say."""
    settings: dict[str, Any] = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InvalidArgument(f"{option} takes NAME=VALUE, got {setting!r}")
        settings[key] = parsed(value)
    return settings


def box_actions(text: str) -> int | str:
    """A number, or the word sparse."""
    return text if text == SPARSE else whole(text)


def widths(text: str) -> float | list[float]:
    """One number, or several with commas between them."""
    numbers = [float(part) for part in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


OPTIONS: dict[str, dict[str, Any]] = {
    "planner": {
        "default": "platypus",
        "metavar": "PLANNER",
        "help": "see 'platypoos planners' (%(default)s)",
    },
    "set": {
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "help": "a parameter of the planner, such as reward_max=130; can be repeated",
    },
    "budget": {"type": whole, "help": f"calls of the simulator ({DEFAULT_BUDGET})"},
    "discount": {
        "type": float,
        "default": 0.95,
        "help": "in [0, 1), or 1 with --horizon (%(default)s)",
    },
    "horizon": {
        "type": whole,
        "metavar": "STEPS",
        "help": "steps to the end of the episode (no end)",
    },
    "seed": {"type": int, "default": 0, "help": "same seed, same result (%(default)s)"},
    "deadline": {
        "type": float,
        "metavar": "SECONDS",
        "help": "plan for so long, with as many calls as that allows, or as --budget does",
    },
    "noise": {"type": float, "help": "half-width of noise in the rewards"},
    "access": {"choices": ["restore", "reset"], "help": "(what the model declares)"},
    "steps": {"type": whole, "help": "decisions to take (%(default)s)"},
    "actions": {
        "type": box_actions,
        "metavar": "NUMBER|sparse",
        "help": "of a continuous box, choose from a list only: so many values of each coordinate, "
        "in all combinations; or sparse, which is one coordinate at a time and some corners",
    },
    "option": {
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "help": "an option of the environment, such as is_slippery=false; can be repeated",
    },
    "method": {
        "choices": ["native", "deepcopy", "replay"],
        "help": "how to restore states (the best that works)",
    },
    "repeat": {
        "type": whole,
        "default": 1,
        "help": "simulator steps that a decision lasts; a call is as many of them (1)",
    },
    "lives": {
        "choices": ["end", "ignore"],
        "help": "whether the loss of a life ends an episode for planning (end in Atari games)",
    },
    "resolution": {
        "type": widths,
        "metavar": "WIDTH[,WIDTH…]",
        "help": "states in the same cell of this width count as the same; one for all or for each "
        "entry",
    },
    "json": {"action": "store_true", "help": "print JSON instead of text"},
    "quiet": {"action": "store_true", "help": "no progress"},
}
"""All options that more than one command has."""
