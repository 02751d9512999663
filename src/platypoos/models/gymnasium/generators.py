"""The random generators in an environment: where they are, and whether a step moves them."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np

from platypoos.models.gymnasium.snapshots import Keeper

_DEEPEST = 6  # attributes of attributes of … are searched
_KINDS = (np.random.Generator, np.random.RandomState, random.Random)


def generators_of(keeper: Keeper) -> list[tuple[str, Any]]:
    """The random generators in an environment and its wrappers, but for the planner's."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = {id(getattr(keeper.core, "_np_random", None))}

    def look(value: Any, name: str, depth: int) -> None:
        if id(value) in seen or depth > _DEEPEST:
            return
        seen.add(id(value))
        if isinstance(value, _KINDS):
            found.append((name, value))
            return
        if isinstance(value, dict):
            items = [(f"{name}[{key!r}]", item) for key, item in list(value.items())[:1000]]
        elif isinstance(value, list | tuple):
            items = [(f"{name}[{i}]", item) for i, item in enumerate(value[:1000])]
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            items = [
                (f"{name}.{key}" if name else key, item)
                for key, item in vars(value).items()
                if not key.endswith(("_space", "spec"))
            ]
        else:
            return
        for label, item in items:
            look(item, label, depth + 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        look(keeper.env, "env", 0)
    return found


def position(generator: Any) -> Any:
    """Where a generator is in its stream."""
    if isinstance(generator, random.Random):
        return hash(generator.getstate())
    bits = getattr(generator, "bit_generator", None) or generator._bit_generator  # noqa: SLF001
    return repr(bits.state)


def global_state() -> Any:
    """Where the global generators are."""
    return position(random._inst), repr(np.random.get_state())  # noqa: SLF001, NPY002
