"""What is made from a name that somebody typed: problems, planners, and models of one's own."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from platypoos.checks import missing_from, nearest, required_fields
from platypoos.errors import InvalidArgument

Maker = Callable[..., Any]
"""A function that makes a model."""


def make(
    kinds: Mapping[str, Any], what: str, name: str, given: Mapping[str, Any], **fixed: Any
) -> Any:
    """Build a problem or a planner; unknown names are answered with the nearest one."""
    kind = kinds[nearest(name, kinds, what)]
    if dataclasses.is_dataclass(kind):
        names = [item.name for item in dataclasses.fields(kind)]
    else:
        names = list(inspect.signature(kind).parameters)
    names = [known for known in names if known not in fixed]
    for key in given:
        if "options" not in names:  # passed on to someone else
            nearest(key, names, f"parameter of {name}")
    named = {**fixed, **given}
    missing = [f"{field}=…" for field in required_fields(kind) if field not in named]
    if missing:
        raise InvalidArgument(
            f"{what} {name} lacks {', '.join(missing)}; it needs "
            f"{getattr(kind, 'needs', 'them')}: write {name}:{','.join(missing)}"
        )
    try:
        return kind(**named)
    except (TypeError, AttributeError) as error:
        needs = f"; it needs {kind.needs}" if hasattr(kind, "needs") else ""
        raise InvalidArgument(f"{what} {name}: {error}{needs}") from error


def made_by(name: str, maker: Maker, *, seed: int, **options: Any) -> tuple[Any, bool]:
    """The model that a function makes, and whether it makes another one for each seed."""
    try:
        varies = "seed" in inspect.signature(maker).parameters
        model = maker(seed=seed, **options) if varies else maker(**options)
    except Exception as error:
        raise InvalidArgument(
            f"problem {name!r} cannot be made: {type(error).__name__}: {error}; its function must "
            "take nothing, or one argument named seed"
        ) from error
    missing = missing_from(model)
    if missing:
        raise InvalidArgument(f"problem {name!r}: {missing}")
    return model, varies


def is_own(text: str) -> bool:
    """Whether a problem on the command line is somebody's own: ``module:function``.

    >>> is_own("my_module:make_model"), is_own("switch-chain:noise=10"), is_own("garnet")
    (True, False, False)
    """
    module, colon, function = text.partition(":")
    return (
        bool(colon)
        and function.isidentifier()
        and all(part.isidentifier() for part in module.split("."))
    )


def load_own(text: str) -> Maker:
    """Import ``module:function``; modules in the present directory are found too."""
    module, _, function = text.partition(":")
    if not is_own(text):
        raise InvalidArgument(
            f"your own problem is written MODULE:FUNCTION, such as my_module:make_model, without "
            f".py and parameters; got {text!r}"
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(f"problem {text}: {error}") from error
    return found  # type: ignore[no-any-return]
