"""The tree explorer: rounds of Figure 3 of the paper, growing."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from platypoos.graph import Edge, State
from platypoos.planners.platypus.walking import TREE, Walk, advance

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search

LARGEST = 1 << 30
"""Of h_max."""
DEEPEST = 4
"""The deepest layer, as a multiple of the length of the longest sequences."""


class Entry(NamedTuple):
    """The best way of a length to a state."""

    value: float
    edge: Edge | None
    """The last step; None at the root."""
    before: Entry | None


class Opening(NamedTuple):
    """A state to be opened: all its actions are to have as many samples."""

    state: State
    times: int
    depth: int


class Explorer:
    """Rounds of one kind, which can be left and taken up again at any call.

    A wide round takes one sample of each action, as is enough without noise.
    """

    def __init__(self, search: Search, *, wide: bool) -> None:
        self.search, self.wide = search, wide
        self.h_max = 1
        self.rounds = self.run_rounds()
        self.waiting: list[Opening] = []
        """Openings that were asked for, and are not paid for yet."""
        self.exhausted = -1
        """Edges that were known when it found nothing more to ask for."""
        self.name = "wide" if wide else "careful"

    def restart(self) -> None:
        """Begin again at the root, with smaller rounds."""
        self.h_max = 1 + self.h_max // 2
        self.rounds, self.waiting, self.exhausted = self.run_rounds(), [], -1

    @property
    def spent(self) -> int:
        """Calls, in all plans."""
        return self.search.spent[self.name]

    def explore(self, credit: float) -> Generator[list[Any], Any, None]:
        """Go on with so many calls at most, or until there is nothing to ask for."""
        search = self.search
        end = self.spent + credit
        while self.spent < end and self.exhausted != search.graph.known:
            if not self.waiting:
                self.waiting = next(self.rounds)[::-1]
                continue
            batch: list[Any] = []
            left = int(end - self.spent)
            while self.waiting and left >= 0:
                left = self.ask_for(self.waiting[-1], left, batch)
                if left >= 0:
                    self.waiting.pop()
            if not batch and self.waiting:
                return
            if batch:
                yield from advance(search, batch)

    def ask_for(self, opening: Opening, left: int, batch: list[Any]) -> int:
        """Ask for what is missing of an opening; returns the calls left, −1 if too few."""
        state, times, depth = opening
        cost = depth + 1 if self.search.graph.open_loop else 1
        for action in self.search.graph.options(state):
            edge = state.edges.get(action)
            missing = times - (0 if edge is None else edge.samples)
            if missing > 0:
                paid = min(missing, left // cost)
                if paid > 0:
                    batch.append(self.search.request(state, [action], 1, paid, self.name))
                    left -= paid * cost
                if paid < missing:
                    return -1
        return left

    def run_rounds(self) -> Iterator[list[Opening]]:
        """Round after round, each larger than the one before."""
        search = self.search
        while True:
            spent, known, h_max = self.spent, search.graph.known, self.h_max
            yield from self.run_round(h_max)
            learned = self.spent > spent
            factor = search.rules.growth if learned else 2.0
            self.h_max = min(LARGEST, max(h_max + 1, int(factor * h_max)))
            if (
                not learned
                and known == search.graph.known
                and h_max > DEEPEST * search.level.length
            ):
                self.exhausted = known  # nothing to ask for until more is known
                yield []

    def run_round(self, h_max: int) -> Iterator[list[Opening]]:
        """Figure 3, layer by layer; then the best sequences of the last layer are proposed.

        Of the ways of one length that meet in a state, only the best counts, and a state is opened
        once in a round.
        """
        search, graph = self.search, self.search.graph
        layer: dict[State, Entry] = {graph.root: Entry(0.0, None, None)}
        opened: set[State] = set()
        best_end = Entry(-math.inf, None, None)
        spent, power = self.spent, 1.0
        for h in range(min(h_max + 1, DEEPEST * search.level.length)):
            openings = self.choose(layer, opened, h, h_max)
            yield openings
            above, layer = layer, {}
            for state, _, _ in openings:
                entry = above[state]
                for edge in state.edges.values():
                    value, place = entry.value + power * edge.mean, edge.after
                    if place is None:
                        if value > best_end.value:
                            best_end = Entry(value, edge, entry)
                    elif place not in opened:
                        other = layer.get(place)
                        if other is None or value > other.value:
                            layer[place] = Entry(value, edge, entry)
            power *= graph.discount
            if not layer:
                break
        if search.on_round is not None:
            search.on_round(h_max, self.wide, opened)
        if self.spent > spent:
            best = max(layer.values(), key=lambda entry: entry.value, default=best_end)
            for entry in (best,) if best is best_end else (best, best_end):
                actions = actions_to(entry)
                if actions:
                    search.queue.append(Walk(search, actions, TREE))

    def choose(
        self, layer: dict[State, Entry], opened: set[State], h: int, h_max: int
    ) -> list[Opening]:
        """Choose the best states of a layer.

        For all p, the h_max/(h·c) best states whose last action has as many samples as p asks
        for; all actions of an opened state get c = ⌈h·2^p·γ^(2h)⌉ samples. In a wide round p = 0
        and c = 1.
        """
        wide, gamma = self.wide, self.search.graph.discount
        if h == 0:
            opened.add(self.search.graph.root)
            return [Opening(self.search.graph.root, 1 if wide else h_max, 0)]

        def c(h: int, p: int) -> int:
            return 1 if wide or h == 0 else max(1, math.ceil(h * 2**p * gamma ** (2 * h)))

        waiting = sorted(layer, key=lambda s: (layer[s].value, s.ticket), reverse=True)
        chosen = []
        for p in (0,) if wide else range(h_max.bit_length() - 1, -1, -1):
            quota, times, needed = h_max // (h * c(h, p)), c(h, p), c(h - 1, p)
            for state in waiting:
                if quota <= 0:
                    break
                edge = layer[state].edge
                if state not in opened and edge is not None and edge.samples >= needed:
                    quota -= 1
                    opened.add(state)
                    chosen.append(Opening(state, times, h))
        return chosen


def actions_to(entry: Entry | None) -> list[int]:
    """The sequence of actions that an entry stands for."""
    actions: list[int] = []
    while entry is not None and entry.edge is not None:
        actions.append(entry.edge.action)
        entry = entry.before
    return actions[::-1]
