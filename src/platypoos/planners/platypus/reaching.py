"""Reaching new states of a box's model: a tree that grows to where nothing is known.

Long sequences that are drawn at random come back to the same places: beside a wall they push
against it. The tree draws a place instead, anywhere in what was reached and around it, and goes on
from one of the nearest states (LaValle and Kuffner 2001; the best of some near ones as in Li,
Littlefield and Bekris 2016). So it grows where it is thin. It needs states that are numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.graph import State
from platypoos.models.features import ask_features, entries
from platypoos.planners.platypus.sequences import Asking, Candidate, follows
from platypoos.planners.platypus.walking import LONG, advance

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search

NEAR = 16
"""The best of so many near states is extended."""
WIDER = 2.0
"""Places are drawn from a box so many times as wide as what was reached."""
BEST_SHARE = 0.3
"""Share of the extensions that begin at one of the best states, wherever it is."""
AMONG = 4
"""That is the best of this share of all: of one in four."""
LONGEST = 3
"""An extension has 1, 2, 4, … steps, up to two to this power."""
MOST_NUMBERS = 256
"""States with more numbers than these are not compared."""


class Node(NamedTuple):
    """A way from the root to a state."""

    state: State
    depth: int
    value: float
    """The discounted rewards on the way."""
    promise: float
    """What it would be worth if the last reward were had at each step from there on."""
    before: int
    """The place of the node before it."""
    action: Any


class Reached:
    """The states that were reached in a decision, as a tree.

    Args:
        search: whose simulator and graph are used.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.nodes: list[Node] = []
        self.states: set[State] = set()
        """Those that the tree reached. What other sequences saw is crowded where they end up."""
        self.places = np.empty((0, 0))
        self.ahead: list[float] = []
        """What a reward at each of the next steps is worth, by their number."""
        self.best = -math.inf
        """The greatest promise that was followed up."""

    def restart(self, length: int) -> None:
        """Begin a decision with what the tree has reached below its root."""
        root = self.search.graph.root
        self.nodes, self.best = [], -math.inf
        self.ahead = [0.0]
        for t in range(length):
            self.ahead.append(self.ahead[-1] + self.search.graph.discount**t)
        self.look = self.search.look
        numbers = self.look(root.stored) if length else None
        if numbers is None:
            return
        self.places = np.empty((64, len(numbers)))
        self._add(Node(root, 0, 0.0, -math.inf, -1, None), numbers)
        known = self.states
        self.states = {root}
        for place, node in enumerate(self.nodes):
            for edge in node.state.edges.values():
                if edge.after in known and edge.after not in self.states:
                    self._follow(place, [edge])

    @property
    def works(self) -> bool:
        """Whether states are numbers."""
        return bool(self.nodes)

    def extend(self) -> Asking:
        """Go on from one of the states, with one action that is held for some steps."""
        search, draw = self.search, self.search.random.random
        chosen = self._choose()
        node = self.nodes[chosen]
        steps = min(2 ** int(draw() * (LONGEST + 1)), len(self.ahead) - 1 - node.depth)
        if steps < 1:
            return
        actions = search.moves.sequence(1) * steps
        asked = search.request(node.state, actions, steps, 1, LONG)
        paths = yield from advance(search, [asked])
        for path in paths[0] if paths else []:
            self._follow(chosen, path)

    def promising(self, leader: Candidate | None) -> list[Any] | None:
        """The way to the most promising state, if it promises more than all before it.

        It goes on with the middle of the box to the end.
        """
        place = max(range(len(self.nodes)), key=lambda i: self.nodes[i].promise)
        promise = self.nodes[place].promise
        bar = self.best
        if leader is not None:
            beyond = self.search.power[len(leader.path)] * follows(self.search, leader.path)
            bar = max(bar, leader.value - beyond)
        if promise <= bar:
            return None
        self.best = promise
        actions = []
        while self.nodes[place].before >= 0:
            actions.append(self.nodes[place].action)
            place = self.nodes[place].before
        return actions[::-1] + self.search.moves.seeds()

    def _choose(self) -> int:
        """A node to go on from."""
        count, draw = len(self.nodes), self.search.random.random
        if draw() < BEST_SHARE:
            some = [int(draw() * count) for _ in range(1 + count // AMONG)]
        else:
            places = self.places[:count]
            low, width = places.min(axis=0), np.ptp(places, axis=0)
            width[width == 0.0] = 1.0
            drawn = [0.5 + WIDER * (draw() - 0.5) for _ in range(len(low))]
            gaps = np.square((places - low) / width - drawn).sum(axis=1)
            near = min(NEAR, count)
            some = np.argpartition(gaps, near - 1)[:near].tolist()
        return max(some, key=lambda i: self.nodes[i].promise)

    def _follow(self, place: int, path: list[Any]) -> None:
        """Add the states of a path from a node."""
        for edge in path:
            node = self.nodes[place]
            depth = node.depth + 1
            if edge.after is None or depth >= len(self.ahead):
                return
            numbers = self.look(edge.after.stored)
            if numbers is None or len(numbers) != self.places.shape[1]:
                return
            power = self.search.power[node.depth]
            value = node.value + power * edge.mean
            promise = node.value + power * edge.mean * self.ahead[len(self.ahead) - 1 - node.depth]
            self._add(Node(edge.after, depth, value, promise, place, edge.action), numbers)
            place = len(self.nodes) - 1

    def _add(self, node: Node, numbers: list[float]) -> None:
        count = len(self.nodes)
        if count == len(self.places):
            self.places = np.concatenate([self.places, np.empty_like(self.places)])
        self.places[count] = numbers
        self.states.add(node.state)
        self.nodes.append(node)


def numbers_of(features: Callable[[Any], Any] | None) -> Callable[[Any], list[float] | None]:
    """A function that tells the numbers of a state, or None if it has none.

    Args:
        features: the model's, if it has any.

    >>> numbers_of(None)((0.5, (1, 2)))
    [0.5, 1.0, 2.0]
    """

    def look(stored: Any) -> list[float] | None:
        try:
            seen = entries(stored if features is None else ask_features(features, stored))
        except InvalidArgument:  # an environment's states may show nothing
            return None
        if not 0 < len(seen) <= MOST_NUMBERS:
            return None
        try:
            numbers = [float(x) for x in seen]
        except (TypeError, ValueError):
            return None
        return numbers if all(map(math.isfinite, numbers)) else None

    return look
