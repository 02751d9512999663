"""What a plan under random dynamics gains over the user's rule: pairs of fresh roll-outs.

In each pair one roll-out follows what was learned (and the rule where nothing was), the other one
the rule from the first step on. Both draw the same random numbers at each step, so they are the
same until the plan does something else. Nothing was chosen by these samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from platypoos.planners.chance.knowledge import Knowledge, State
from platypoos.results import Improvement
from platypoos.simulator import Request, Simulator
from platypoos.simulator.streams import WORD

SHARE = 0.2
"""Share of the calls for these roll-outs…"""
FEWEST = 4
"""…if that is enough for so many pairs."""
NORMAL = 1.96
"""Quantile of a 95 % interval where there are many pairs."""


def pairs_for(calls: int, length: int) -> int:
    """How many pairs a plan with so many calls compares; 0 if that would be too few."""
    pairs = int(SHARE * calls / (2 * length))
    return pairs if pairs >= FEWEST else 0


class RollOut:
    """One roll-out: of the rule, or of what was learned."""

    __slots__ = ("at", "pair", "state", "total")

    def __init__(self, pair: int, at: Any, state: State | None) -> None:
        self.pair, self.at = pair, at
        self.state = state
        """What is known of where it is; None for the rule, and where nothing is known."""
        self.total = 0.0


def gain_over_rule(
    knowledge: Knowledge,
    simulator: Simulator,
    pairs: int,
    length: int,
    rng: np.random.Generator,
) -> Improvement:
    """Compare what was learned with the rule, in so many pairs of so many steps at most."""
    root = knowledge.root
    learned = [RollOut(pair, root.stored, root) for pair in range(pairs)]
    by_rule = [RollOut(pair, root.stored, None) for pair in range(pairs)]
    going = [*learned, *by_rule]
    power = 1.0
    for time in range(1, length + 1):
        words = rng.bytes(WORD * pairs)
        requests = [Request(one.at, [action_of(simulator, one)], 1) for one in going]
        drawn = b"".join(words[one.pair * WORD : (one.pair + 1) * WORD] for one in going)
        replies = simulator.run(requests, words=drawn)
        left = []
        for one, walks in zip(going, replies, strict=True):
            _, stored, reward, ended = walks[0][0]
            one.total += power * reward
            one.at = stored
            if one.state is not None:
                one.state = None if ended else knowledge.find(stored, root.time + time)
            if not ended:
                left.append(one)
        power *= knowledge.discount
        going = left
        if not going:
            break
    if knowledge.value_of_state is not None:
        for one in going:
            one.total += power * knowledge.value_of_state(one.at)
    return interval([one.total - other.total for one, other in zip(learned, by_rule, strict=True)])


def action_of(simulator: Simulator, one: RollOut) -> int:
    """What a roll-out does next."""
    if one.state is not None and one.state.choice is not None:
        return one.state.choice.action
    assert simulator.rule is not None  # noqa: S101  whoever calls has looked
    allowed = None if simulator.legal is None else simulator.legal(one.at)
    return int(simulator.rule(one.at, allowed))


def interval(gains: Sequence[float]) -> Improvement:
    """The mean of some gains, and a 95 % interval (Student's).

    >>> interval([1.0, 2.0, 3.0, 4.0, 5.0])
    Improvement(estimate=3.0, low=1.0..., high=4.9...)
    """
    mean = float(np.mean(gains))
    error = float(np.std(gains, ddof=1)) / math.sqrt(len(gains))
    z, n = NORMAL, len(gains) - 1
    quantile = z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    quantile += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    return Improvement(mean, mean - quantile * error, mean + quantile * error)
