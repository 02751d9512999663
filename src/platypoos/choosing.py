"""Which planner is used, if none or only a discount was given."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from platypoos.checks import required_fields
from platypoos.errors import InvalidArgument
from platypoos.explain.origin import public_name
from platypoos.models.wrappers import WrappedModel
from platypoos.planners import available
from platypoos.planners.platypus.planner import Platypus
from platypoos.search.base import Planner

DEFAULT_DISCOUNT = 0.95


def with_memory(planner: Planner, memory: int | None) -> Planner:
    """The planner, with a memory of ``memory`` bytes."""
    if memory is None:
        return planner
    if not isinstance(planner, Platypus):
        raise InvalidArgument(
            f"{type(planner).__name__} has no setting for its memory; leave memory= out"
        )
    return replace(planner, memory=memory)


def choose_planner(planner: Planner | None, discount: float | None, model: Any) -> Planner:
    """The planner that is given, or the default one; its discount must be the model's."""
    made_for = getattr(model, "discount", None) if isinstance(model, WrappedModel) else None
    if planner is None:
        usual = DEFAULT_DISCOUNT if made_for is None else made_for
        planner = Platypus(usual if discount is None else discount)
    if not isinstance(planner, Planner):
        raise InvalidArgument(_no_planner(planner))
    if discount is not None and discount != planner.discount:
        raise InvalidArgument(
            f"discount {discount!r} is not the planner's, {planner.discount!r}; pass one of them"
        )
    if made_for is not None and not math.isclose(planner.discount, made_for):
        raise InvalidArgument(
            f"discount {planner.discount!r} is not the model's, {made_for!r}: its rewards are made "
            "for that one; plan with discount=model.discount"
        )
    return planner


def _no_planner(given: object) -> str:
    """What to say to somebody who passed something else, such as the name of a planner."""
    text = f"planner must be a planner such as pp.Platypus(discount=0.95), got {given!r}"
    kind = given if isinstance(given, type) else available().get(str(given).lower())
    if isinstance(kind, type) and issubclass(kind, Planner):
        names = required_fields(kind)
        settings = ", ".join(
            "discount=0.95" if name == "discount" else f"{name}=…" for name in names
        )
        text += f"; write planner={public_name(kind)}({settings})"
    return text
