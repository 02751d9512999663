"""Arguments that many functions share: the value, or an error that names it and the remedy."""

from __future__ import annotations

import dataclasses
import difflib
import operator
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument

LARGEST_BUDGET = 2**31 - 1
"""Nodes are numbered with 32 bits."""
LARGEST_REWARD = 1e100
"""Of rewards and values, either sign: their squares and sums are still numbers."""


def as_number(value: Any) -> Any:
    """A number of NumPy as a float; anything else as it is.

    Compared with LARGEST_REWARD, a number of 32 bits would overflow.

    >>> as_number(np.float32(0.5)), as_number("high")
    (0.5, 'high')
    """
    if (
        isinstance(value, np.generic | np.ndarray)
        and value.ndim == 0
        and value.dtype.kind in "biuf"
    ):
        return value.item()
    return value


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """The name itself if it is known, or an error that suggests the nearest one."""
    names = list(known)
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names) or 'none'}"
    raise InvalidArgument(f"unknown {what} {name!r}; {hint}")


def required_fields(kind: type[Any]) -> list[str]:
    """The fields of a dataclass that must be given; none if it is no dataclass."""
    if not dataclasses.is_dataclass(kind):
        return []
    return [
        entry.name
        for entry in dataclasses.fields(kind)
        if entry.init and entry.default is entry.default_factory is dataclasses.MISSING
    ]


def check_num_actions(num_actions: object) -> int:
    """The number of actions as an int, or an error that says what is wrong with it."""
    if isinstance(num_actions, bool) or not isinstance(num_actions, int | np.integer):
        raise InvalidArgument(
            f"num_actions must be a whole number, got {num_actions!r}; pass how many actions "
            "the model has. If some are not allowed in some states, pass legal=, which names "
            "those that are"
        )
    if num_actions < 1:
        raise InvalidArgument(f"num_actions must be at least 1, got {num_actions}")
    return int(num_actions)


def missing_from(model: Any) -> str:
    """What keeps an object from being a model; empty if nothing does."""
    if isinstance(model, type):
        return f"this is a class, not a model: pass {model.__name__}(...)"
    if isinstance(model, str):
        return (
            f"{model!r} is not a model; if it is the id of a Gymnasium environment, pass "
            f"platypoos.GymnasiumModel({model!r})"
        )
    parts = [part for part in ("actions", "initial_state", "step") if not hasattr(model, part)]
    if not parts:
        return ""
    number = getattr(model, "num_actions", None)
    if parts == ["actions"] and number is not None:
        return (
            f"{type(model).__name__} has no actions, but num_actions. num_actions is now actions: "
            f"write actions={number if isinstance(number, int) else 3}"
        )
    if is_environment(model):
        return (
            f"{type(model).__name__} is a Gymnasium environment, not a model: pass "
            "platypoos.GymnasiumModel(env)"
        )
    return (
        f"{type(model).__name__} is not a model: it has no {', '.join(parts)}; a model has "
        "actions, initial_state and step(state, action, rng). Wrap a function in "
        "platypoos.FunctionModel"
    )


def is_environment(thing: Any) -> bool:
    """Whether it is a Gymnasium environment, by what it has."""
    return not isinstance(thing, type) and all(
        hasattr(thing, part) for part in ("action_space", "observation_space", "reset", "unwrapped")
    )


def check_discount(discount: object, *, may_be_one: bool = False) -> float:
    """The discount as a float in [0, 1), or an error that names it."""
    if not isinstance(discount, int | float | np.number):
        raise InvalidArgument(f"discount must be a number in [0, 1), got {discount!r}")
    value = float(discount)
    if not (0.0 <= value < 1.0 or (may_be_one and value == 1.0)):
        if 10.0 <= value < 100.0:
            raise InvalidArgument(
                f"discount must be in [0, 1), got {discount!r}; did you mean {value / 100:g}?"
            )
        raise InvalidArgument(
            f"discount must be in [0, 1), got {discount!r}; for episodes without a discount, plan "
            "with discount=1.0 and horizon=, the number of steps to their end"
        )
    return value


def check_horizon(horizon: object) -> int:
    """Steps to the end of the episode, at least 1, or an error that names it."""
    return min(check_count("horizon", horizon), LARGEST_BUDGET)


def check_budget(budget: object, num_actions: int, largest: int = LARGEST_BUDGET) -> int:
    """The budget as an int of at least one call per action, or an error that names both."""
    try:
        value = operator.index(None if isinstance(budget, bool) else budget)  # type: ignore[arg-type]
    except TypeError:
        if not (isinstance(budget, float) and budget.is_integer()):
            raise InvalidArgument(
                f"budget must be a whole number of simulator calls, got {budget!r}"
            ) from None
        value = int(budget)
    if value < num_actions:
        raise InvalidArgument(
            f"budget {value} is below the number of actions {num_actions}: each action must be "
            f"tried at least once, so pass a budget of at least {num_actions}"
        )
    if value > largest:
        raise InvalidArgument(f"budget {value} is above the largest, {largest}")
    return value


def check_floor(reward_floor: float | None) -> float:
    """The reward floor as planners compute with it: NaN for None, the smallest reward seen."""
    if reward_floor is None:
        return float("nan")
    if not np.isfinite(reward_floor):
        raise InvalidArgument(f"reward_floor must be a finite number or None, got {reward_floor!r}")
    return float(reward_floor)


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
) -> float:
    """A finite number within limits, or an error that names it and them."""
    limits = []
    fits = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    number = float(value) if fits else float("nan")  # type: ignore[arg-type]
    fits = fits and bool(np.isfinite(number))
    if above is not None:
        limits.append(f"above {above:g}")
        fits = fits and number > above
    if least is not None:
        limits.append(f"of at least {least:g}")
        fits = fits and number >= least
    if below is not None:
        limits.append(f"below {below:g}")
        fits = fits and number < below
    if not fits:
        wanted = " and ".join(limits)
        raise InvalidArgument(
            f"{name} must be a finite number {wanted}".rstrip() + f", got {value!r}"
        )
    return number


def check_flag(name: str, value: object) -> bool:
    """True or False, or an error that names it."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_function(name: str, value: object) -> None:
    """None or a function of the state, or an error that names it."""
    if value is not None and not callable(value):
        raise InvalidArgument(f"{name} must be a function of the state, got {value!r}")


def check_action_names(names: Any, number: int, of: str = "action") -> tuple[str, ...] | None:
    """One text for each action, or None; else an error that names them."""
    if names is None:
        return None
    given = () if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    if not given or not all(isinstance(name, str) for name in given):
        raise InvalidArgument(
            f"action_names must be a text for each {of}, such as ('left', 'right'), got {names!r}"
        )
    if len(given) != number:
        raise InvalidArgument(
            f"action_names has {len(given)} names, {', '.join(map(repr, given))}, but there are "
            f"{number} {of}s; pass one for each"
        )
    return given


def check_count(name: str, value: object) -> int:
    """A whole number of at least 1, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidArgument(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def check_seed(seed: object) -> None:
    """An int of at least 0, or an error that names it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed must be a whole number of at least 0, got {seed!r}")


def check_state(state: Any, usual: NDArray[Any]) -> NDArray[Any]:
    """A state as an array like a model's usual ones, or an error if it does not fit."""
    given = np.asarray(state)
    if given.shape != usual.shape or not np.can_cast(given.dtype, usual.dtype, "same_kind"):
        raise InvalidArgument(
            f"state must be of the shape {usual.shape} and type {usual.dtype} of the model's "
            f"initial_state, got shape {given.shape}, type {given.dtype}"
        )
    return given.astype(usual.dtype)


def same(a: Any, b: Any) -> bool:
    """Whether two states or observations are equal, whatever they are made of; NaN equals NaN."""
    return _same(a, b, set())


def _same(a: Any, b: Any, open_pairs: set[tuple[int, int]]) -> bool:
    """The same; objects may refer to each other, so pairs that are being compared are known."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        floats = a.dtype.kind in "fc" and b.dtype.kind in "fc"
        return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=floats))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key], open_pairs) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(_same(x, y, open_pairs) for x, y in pairs)
    compares_by_identity = "__eq__" not in {name for c in type(a).__mro__[:-1] for name in vars(c)}
    if compares_by_identity and type(a) is type(b):
        pair = (id(a), id(b))
        if a is b or pair in open_pairs:
            return True
        if hasattr(a, "__dict__"):
            return _same(vars(a), vars(b), open_pairs | {pair})
        return bool(_contents(a) == _contents(b))
    try:
        return bool(a == b)
    except Exception:  # noqa: BLE001  such as tensors, which are compared entry by entry
        return bool(_contents(a) == _contents(b))


def _contents(thing: Any) -> Any:
    """What a thing is made of that does not compare itself by it; itself if nobody can tell."""
    try:
        return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001  it cannot be pickled
        return thing


def parsed(value: str) -> Any:
    """A number, true, false or none, else the text itself; who takes it checks it."""
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


Seed = int | np.random.SeedSequence | np.random.Generator | None


def make_generator(seed: Seed) -> np.random.Generator:
    """The random generator of a plan; a ``Generator`` is used as it is, and moves on."""
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"seed must be an int of at least 0, a SeedSequence or a Generator, got {seed!r}"
        ) from error
