"""Machine code: how a compiled planner asks a model about its states; see ``models/advice.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from platypoos.checks import LARGEST_REWARD
from platypoos.compiled.code import overload
from platypoos.models.advice import pick, random_unit

FINE, OVER_BUDGET, BAD_REWARD, RANDOM_END, RANDOM_STATE, NO_LEGAL, BAD_ADVICE = range(7)
"""Values of ``Machine.ledger[0].status``."""
NEVER = 1 << 62
ACCOUNT = np.dtype(
    [
        ("calls", "i8"),  # made so far
        ("budget", "i8"),
        ("status", "i8"),  # FINE, or what went wrong…
        ("step", "i8"),  # …at which step of a walk…
        ("node", "i8"),  # …and at which node
        ("pause", "i8"),  # calls after which to look at the clock
        ("horizon", "i8"),  # the depth at which episodes are over
        ("seed", "i8"),  # of the actions that are drawn…
        ("drawn", "i8"),  # …and how many there were
    ]
)
"""Of ``Machine.ledger``, which has one entry."""


def make_account(budget: int, horizon: int) -> Any:
    """No call was made yet."""
    return np.array([(0, budget, FINE, 0, 0, NEVER, horizon, 0, 0)], ACCOUNT).view(np.recarray)


SPARE = 2
"""Rows of states and masks behind those of the nodes, to work with."""


def says(sim: Any, name: str) -> bool:
    """Whether a machine's type has something under a name, and not None."""
    return not isinstance(sim.types[sim.fields.index(name)], types.NoneType)


def starts_over(sim: Any) -> bool:
    """Whether every walk begins at the root: there is no state to restore."""
    return sim.path is not None


def has_masks(sim: Any) -> bool:
    """Whether the model tells which actions are legal."""
    return bool(len(sim.legal) > 0)


def write_mask(sim: Any, row: int, mask: Any) -> bool:
    """Ask which actions are legal in a row of ``states``; False if none is."""
    return True if sim.legal_kernel is None else _ask_for_mask(sim, row, mask)


def value_of(sim: Any, row: Any) -> float:
    """Ask what a row of ``states`` is worth."""
    return 0.0 if sim.value_kernel is None else _ask_for_value(sim, row)


def draw(sim: Any, row: int, planned: Any, mask: Any, rolling_out: bool) -> Any:
    """The action of a walk: the planned one if it is legal, or one by the policy."""
    if sim.policy_kernel is not None:
        return _draw_by_policy(sim, row, planned, mask, rolling_out)
    if sim.legal_kernel is not None:
        return _draw_by_mask(sim, row, planned, mask, rolling_out)
    return planned


def _ask_for_mask(sim: Any, row: Any, mask: Any) -> Any:
    mask[:] = 1
    sim.legal_kernel(sim.given, np.int64(row), mask)
    some = False
    for action in range(len(mask)):
        mask[action] = 1 if mask[action] else 0
        some = some or mask[action] == 1
    if not some:
        sim.ledger[0].status = NO_LEGAL
        sim.ledger[0].node = sim.ledger[0].step = row
    return some


def _ask_for_value(sim: Any, row: Any) -> Any:
    value = sim.value_kernel(sim.given, np.int64(row))
    if not abs(value) <= LARGEST_REWARD:
        sim.ledger[0].status = BAD_ADVICE
        sim.ledger[0].node = sim.ledger[0].step = row
    return value


def _draw_by_mask(sim: Any, row: Any, planned: Any, mask: Any, rolling_out: Any) -> Any:  # noqa: ARG001
    if mask[planned] == 1:
        return planned
    sim.ledger[0].drawn += 1
    return pick(mask, random_unit(sim.ledger[0].seed, sim.ledger[0].drawn))


def _draw_by_policy(sim: Any, row: Any, planned: Any, mask: Any, rolling_out: Any) -> Any:
    if not rolling_out:
        if len(mask) == 0 or mask[planned] == 1:
            return planned
        sim.ledger[0].drawn += 1
        return pick(mask, random_unit(sim.ledger[0].seed, sim.ledger[0].drawn))
    weights = sim.weights
    weights[:] = 0.0
    sim.policy_kernel(sim.given, np.int64(row), weights)
    total = 0.0
    for action in range(len(weights)):
        if not (weights[action] >= 0.0 and np.isfinite(weights[action])):
            sim.ledger[0].status = BAD_ADVICE
            sim.ledger[0].node = sim.ledger[0].step = row
        if len(mask) > 0 and mask[action] != 1:
            weights[action] = 0.0
        total += weights[action]
    if total == 0.0:
        for action in range(len(weights)):
            weights[action] = 1.0 if len(mask) == 0 else mask[action]
    sim.ledger[0].drawn += 1
    return pick(weights, random_unit(sim.ledger[0].seed, sim.ledger[0].drawn))


# Inside compiled code the kernels that a model has are known when it is compiled.


def _is_known(question: Callable[[Any], bool], name: str) -> None:
    @overload(question)
    def answer(sim: Any) -> Any:
        known = says(sim, name)

        def implementation(sim: Any) -> Any:  # noqa: ARG001
            return known

        return implementation


_is_known(starts_over, "path")
_is_known(has_masks, "legal_kernel")


@overload(write_mask)
def _write_mask(sim: Any, row: Any, mask: Any) -> Any:  # noqa: ARG001
    def all_legal(sim: Any, row: Any, mask: Any) -> Any:  # noqa: ARG001
        return True

    return _ask_for_mask if says(sim, "legal_kernel") else all_legal


@overload(value_of)
def _value_of(sim: Any, row: Any) -> Any:  # noqa: ARG001
    def nothing(sim: Any, row: Any) -> Any:  # noqa: ARG001
        return 0.0

    return _ask_for_value if says(sim, "value_kernel") else nothing


@overload(draw)
def _draw(sim: Any, row: Any, planned: Any, mask: Any, rolling_out: Any) -> Any:  # noqa: ARG001
    def as_planned(sim: Any, row: Any, planned: Any, mask: Any, rolling_out: Any) -> Any:  # noqa: ARG001
        return planned

    if says(sim, "policy_kernel"):
        return _draw_by_policy
    return _draw_by_mask if says(sim, "legal_kernel") else as_planned
