"""Room for what the twin knows, and how Python calls machine code about it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from platypoos.compiled.code.records import RECORD_BYTES
from platypoos.compiled.platypus.arrays import (
    CANDIDATE,
    EDGE,
    ENTRY,
    EXPLORER,
    GRAPH,
    HEARD,
    MOST_PROPOSED,
    OPENING,
    REQUEST,
    RULES,
    SEARCH,
    STATE,
    WALKER,
    Search,
)
from platypoos.compiled.platypus.draws import AHEAD
from platypoos.compiled.platypus.parts import write
from platypoos.planners.platypus.rules import Rules

I4, I8, U4 = np.int32, np.int64, np.uint32


class Room:
    """The arrays of a search.

    Args:
        fields: the arrays that never grow, by their names in ``Search``.
        row: a state of the model.
        actions: how many actions there are.
    """

    def __init__(self, fields: dict[str, Any], row: Any, actions: int) -> None:
        self.fields, self._row, self._actions = fields, row, actions
        self.rows: Any = None
        """The stored states, by their numbers."""
        self.nodes = self.length = self.most = self.calls = -1
        """How many states and edges, steps of a sequence, steps of a walk, and calls of a plan
        there is room for."""
        self._memory = np.empty(RECORD_BYTES, np.uint8)
        self.address = self._memory.ctypes.data
        """Where machine code finds it."""

    def empty(self, nodes: int) -> Room:
        """Another one with the same contents but for the graph."""
        fields = {**self.fields, "graph": self.fields["graph"].copy()}
        other = Room(fields, self._row, self._actions)
        other._make_nodes(nodes)
        other._take_rest_of(self)
        other.close()
        return other

    def _take_rest_of(self, other: Room) -> None:
        self.length, self.most, self.calls = other.length, other.most, other.calls

    def make(self, nodes: int, calls: int, length: int, most: int, *, close: bool = True) -> bool:
        """Have room for so much; returns whether states have moved."""
        moved = nodes > self.nodes
        if moved:
            self._make_nodes(nodes if self.nodes < 0 else max(nodes, 2 * self.nodes))
        if calls > self.calls:
            self.calls = calls
            self.fields["batch"] = np.empty(calls + 1, REQUEST)
            self.fields["pool"] = np.empty(4 * (calls + 1 + AHEAD), U4)
            self.fields["at"]["used"] = self.fields["at"]["pooled"] = 0
        if length > self.length or most > self.most:
            self._make_sequences(max(length, self.length), max(most, self.most))
        if close:
            self.close()
        return moved

    def _make_nodes(self, nodes: int) -> None:
        """Room for states and edges; what is known is copied."""
        graph, fields, actions = self.fields["graph"], self.fields, self._actions
        self.nodes = nodes
        known = int(graph["count"][0])
        masked, valued = bool(graph["masked"][0]), bool(graph["valued"][0])
        rows = np.empty((nodes + 1, len(self._row)), self._row.dtype)
        larger: dict[str, Any] = {
            "states": np.empty(nodes, STATE),
            "edges": np.empty(nodes, EDGE),
            "worth": np.empty(nodes if valued else 0),
            "legal": np.empty((nodes if masked else 0, actions), np.uint8),
        }
        if self.rows is not None:
            rows[:known] = self.rows[:known]
            for name, array in larger.items():
                some = fields[name][
                    : min(len(array), int(graph["edges"][0]) + 1, len(fields[name]))
                ]
                array[: len(some)] = some
        self.rows = rows
        ring = np.empty(1 << nodes.bit_length(), I4)
        if "queue" in fields:
            old, waiting = fields["queue"], int(graph["waiting"][0])
            ring[:waiting] = old[(int(graph["head"][0]) + np.arange(waiting)) % len(old)]
            graph["head"] = 0
        entries = nodes + 2
        fields.update(
            larger,
            bits=rows.view(np.uint8).reshape(nodes + 1, -1),
            queue=ring,
            table=np.zeros(1 << (2 * nodes).bit_length(), I4),
            found=np.empty(nodes, I4),
            noted=np.zeros(nodes, I4),
            entries=np.empty((2, entries), ENTRY),
            openings=np.empty((2, nodes + 1), OPENING),
            opened=np.zeros((2, nodes), I4),
            places=np.zeros((2, nodes), I4),
            order=np.empty((2, entries), I4),
        )

    def _make_sequences(self, length: int, most: int) -> None:
        """Room for sequences; only the decision and what is left of it are copied."""
        fields, actions = self.fields, self._actions
        self.length, self.most = length, most
        walkers = len(fields["walkers"])
        larger: dict[str, Any] = {
            "actions": np.empty((actions + 1, most), I4),
            "ways": np.empty((actions + 1, length), I4),
            "rest": np.empty((1, most), I4),
        }
        if "rest" in fields:
            for name, array in larger.items():
                before = np.atleast_2d(fields[name])
                array[:, : before.shape[1]] = before
        larger["rest"] = larger["rest"][0]
        tape = np.empty(actions + (walkers + 1) * most + actions * length, I4)
        tape[:actions] = np.arange(actions)
        fields.update(
            larger,
            tape=tape,
            paths=np.empty((walkers + 1, length), I4),
            heard=np.empty((actions, length), I4),
            kept=np.empty(most, I4),
            fresh=np.empty((2, length), I4),
            means=np.empty((2, length)),
            samples=np.empty((2, length), I8),
            listed=np.empty(2 * length, I4),
            weights=np.empty(2 * length),
            power=np.empty(length + 1),
        )

    def close(self) -> None:
        """Tell machine code where everything is."""
        write(Search(**self.fields), self.address)


@cache
def record_of(rules: Rules) -> Any:
    """The constants, as compiled code reads them."""
    record = np.zeros(1, RULES)
    for name in RULES.names or ():
        record[name] = getattr(rules, name)
    return record


def fixed_fields(actions: int, rules: Rules, walks: int) -> dict[str, Any]:
    """The arrays that never grow, but for random generators."""
    walkers = actions + MOST_PROPOSED + 2 * walks
    explorers = np.zeros(2, EXPLORER)
    explorers["h_max"] = 1
    return {
        "graph": np.zeros(1, GRAPH),
        "at": np.zeros(1, SEARCH),
        "rules": record_of(rules),
        "explorers": explorers,
        "ends": np.empty(2, ENTRY),
        "twister": np.empty((2, 625), U4),
        "stop": np.zeros(1, I8),
        "walkers": np.empty(walkers, WALKER),
        "under_way": np.empty(walkers, I4),
        "line": np.empty(walkers, I4),
        "spare": np.empty(walkers, I4),
        "asked": np.zeros((1 << (2 * walkers).bit_length(), 4), I8),
        "spent": np.zeros(6, I8),
        "limit": np.zeros(6),
        "wins": np.ones(6, I8),
        "jury": np.zeros(actions, HEARD),
        "candidates": np.zeros(actions + 1, CANDIDATE),
        "best": np.empty(actions, I4),
        "tried": np.zeros(actions, I4),
        "lists": np.empty((4, actions), I4),
        "numbers": np.empty(actions + 1),
        "steps": np.zeros(2, I8),
    }


def example() -> Search:
    """Arrays of the types that all have."""
    fields, rng = fixed_fields(1, Rules(), 1), np.random.default_rng(0)
    fields |= {"seeder": rng, "rng": rng, "stream": np.zeros(4, U4), "half": np.zeros(1, U4)}
    room = Room(fields, np.zeros(1), 1)
    room.make(1, 1, 1, 1, close=False)
    return Search(**room.fields)
