"""Machine code: how a model is asked about its states; see ``models/advice.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.checks import LARGEST_REWARD
from platypoos.compiled.code import part
from platypoos.compiled.ledger.first_class import functions_at
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


@part
def write_mask(sim: Any, row: Any, mask: Any) -> bool:
    """Ask which actions are legal in a row of ``states``; False if none is."""
    if len(sim.legal) == 0:
        return True
    mask[:] = 1
    functions_at(sim.functions).legal_kernel(sim.given, np.int64(row), mask)
    some = False
    for action in range(len(mask)):
        mask[action] = 1 if mask[action] else 0
        some = some or mask[action] == 1
    if not some:
        sim.ledger[0].status = NO_LEGAL
        sim.ledger[0].node = sim.ledger[0].step = row
    return some


@part
def value_of(sim: Any, row: Any) -> float:
    """Ask what a row of ``states`` is worth."""
    if len(sim.worth) == 0:
        return 0.0
    value = functions_at(sim.functions).value_kernel(sim.given, np.int64(row))
    if not abs(value) <= LARGEST_REWARD:
        sim.ledger[0].status = BAD_ADVICE
        sim.ledger[0].node = sim.ledger[0].step = row
    return value  # type: ignore[no-any-return]


@part
def draw(sim: Any, row: Any, planned: Any, mask: Any, rolling_out: bool) -> Any:
    """The action of a walk: the planned one if it is legal, or one by the policy."""
    weights = sim.weights
    if len(weights) == 0 or not rolling_out:
        if len(mask) == 0 or mask[planned] == 1:
            return planned
        sim.ledger[0].drawn += 1
        return pick(mask, random_unit(sim.ledger[0].seed, sim.ledger[0].drawn))
    weights[:] = 0.0
    functions_at(sim.functions).policy_kernel(sim.given, np.int64(row), weights)
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
