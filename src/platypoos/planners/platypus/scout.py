"""Looking farther: a few long sequences beside the many short ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from platypoos.planners.platypus.reaching import Reached
from platypoos.planners.platypus.sequences import Asking, Candidate, Level, change, weigh
from platypoos.planners.platypus.walking import CHANGES, LONG, Walk, complete

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search

LEAST_LENGTH = 1.5
"""Long sequences are so many times as long as the others, or there are none."""
SETTLED = 0.01
"""Short sequences are settled if they gain less than this share of what long ones differ by."""
LEAST_WALKS = 6
"""A plan has calls for so many of them."""


class Scout:
    """Sequences of a box that are too long to be searched well.

    Where it takes many steps to a reward, short sequences see nothing. Long ones are tried at
    random with a share of the calls. The best one overrules the short ones if it is better than
    the best short one, also if the last action of that is held over the whole length, by more than
    the search of short ones has still gained in this plan.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.level = Level(0)
        self.rest: list[Any] = []
        """What is left of the last decision's best long sequence."""
        self.tried: list[list[Any]] = []
        """The sequences that were walked for this decision."""
        self.held: Candidate | None = None
        """The best short sequence, with its last action held."""
        self.began: Candidate | None = None
        """The best short sequence when this decision began."""
        self.reached = Reached(search)
        self.credit, self.paid_at = 0.0, 0
        self.low, self.high = math.inf, -math.inf
        """The least and the largest value of the long sequences."""

    def restart(self, far: float, budget: int) -> int:
        """Begin a decision; returns the length of the long sequences, 0 if there are none."""
        search = self.search
        length = int(min(far, budget / LEAST_WALKS))
        if not search.graph.endless or length < LEAST_LENGTH * search.level.length:
            length = 0
        self.level, self.tried, self.held = Level(length), [], None
        self.began, self.credit = None, 0.0
        self.paid_at = search.calls - search.spent[LONG]
        self.low, self.high = math.inf, -math.inf
        self.reached.restart(length)
        return length

    def explore(self) -> Asking:
        """Walk long sequences with the calls that were earned."""
        search, near = self.search, self.search.level
        if not self.level.length or near.leader is None:
            return
        if self.began is None:
            self.began = near.leader
        share = search.rules.scout_share
        if self.gained(near.leader) < SETTLED * (self.high - self.low):
            share = search.rules.settled_share
        if near.low == near.high:  # they see no difference at all
            share = search.rules.blind_share
        others = search.calls - search.spent[LONG]
        self.credit += share / (1.0 - share) * (others - self.paid_at)
        self.paid_at = others
        end = search.spent[LONG] + self.credit
        beside = max(0.0, self.credit) * (1.0 - share) / share  # changes of short ones go on
        search.limit[CHANGES] = min(search.limit[CHANGES], search.spent[CHANGES]) + beside
        held = Walk(search, near.leader.actions, LONG, self.level)
        begin = [held]
        if self.rest:
            begin, self.rest = [held, Walk(search, self.rest, LONG, self.level)], []
        try:
            yield from complete(search, begin)
            self.held = self.level.best.get(held.path[0].action)
            if search.spent[LONG] < end:
                yield from self.explore_until(end)
        finally:
            self.credit = end - search.spent[LONG]

    def explore_until(self, end: float) -> Asking:
        """Extend the tree of reached states, and walk long sequences, one after the other."""
        search, reached = self.search, self.reached
        start, reaching = search.spent[LONG], 0
        while search.spent[LONG] < end:
            made = search.spent[LONG]
            chosen: list[Any] | None = None
            if reached.works and 2 * reaching <= made - start:
                yield from reached.extend()
                reaching += max(1, search.spent[LONG] - made)
                chosen = reached.promising(self.level.leader)
                if chosen is None:
                    continue
            chosen = self.propose() if chosen is None else chosen
            self.tried.append(chosen)
            walk = Walk(search, chosen, LONG, self.level)
            yield from complete(search, [walk])
            self.low, self.high = min(self.low, walk.value), max(self.high, walk.value)

    def propose(self) -> list[Any]:
        """The best long sequence, changed; or the beginning of one, and then anything."""
        search, draw, length = self.search, self.search.random.random, self.level.length
        if self.level.leader is not None and draw() < 0.5:
            return change(search, self.level.leader, length)
        before = [[], *self.tried]
        actions = before[int(draw() * len(before))]
        actions = actions[: int(draw() * len(actions))]
        while len(actions) < length:
            stretch = 2 ** int(draw() * length.bit_length())
            actions = actions + search.moves.sequence(1) * stretch
        return actions[:length]

    def overrule(self, chosen: Candidate) -> Candidate:
        """The best long sequence if it is clearly better, or else the one that was chosen."""
        search = self.search
        self.rest = []
        best = self.level.leader
        if best is None or self.held is None:
            return chosen
        weigh(search, best)
        weigh(search, self.held)
        if best.value <= max(chosen.value, self.held.value) + self.gained(chosen):
            return chosen
        self.rest = best.actions[1:]
        return best

    def gained(self, leader: Candidate) -> float:
        """What the search of short sequences has gained in this plan."""
        if self.began is None:
            return 0.0
        weigh(self.search, self.began)
        return max(0.0, leader.value - self.began.value)
