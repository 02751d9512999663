"""What a plan under chance says: values, likely lines, and what to do after each outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from platypoos.planners.chance.confidence import confidence
from platypoos.planners.chance.plan import Search
from platypoos.results import CLEAR, Outcome
from platypoos.trees.tree import ROOT, TERMINAL, Tree, make_tree, set_node, set_root

MOST_OUTCOMES = 10
"""Outcomes of the recommended action that a plan lists."""


class KnownEdge(Protocol):
    """An action that was tried, and where it led: all that a plan shows of it."""

    @property
    def action(self) -> int:
        """Its number."""
        ...

    @property
    def samples(self) -> int:
        """How often it was tried."""
        ...

    @property
    def mean(self) -> float:
        """Of the rewards."""
        ...

    @property
    def outcomes(self) -> Mapping[Any, float]:
        """The states it led to (None: the episode ended), and how often."""
        ...


class KnownState(Protocol):
    """A state, and what was tried there."""

    @property
    def stored(self) -> Any:
        """As the model knows it."""
        ...

    @property
    def edges(self) -> Sequence[KnownEdge]:
        """The actions that were tried, or are about to be."""
        ...

    @property
    def choice(self) -> KnownEdge | None:
        """The best edge, if that is known."""
        ...


def describe(search: Search, payloads: Any) -> dict[str, Any]:
    """The fields of ``Plan`` that depend on the search.

    Args:
        search: after its last call.
        payloads: the actions as the model's step takes them.
    """
    knowledge = search.knowledge
    root = knowledge.root
    chosen = search.recommend()
    assert chosen is not None  # noqa: S101  whoever calls has looked
    start = knowledge.origin * root.span
    weight = 1.0 if knowledge.pays else 0.0  # else they only say how long an episode goes on
    values = np.full(knowledge.num_actions, np.nan)
    for edge in root.edges:
        if edge.samples:
            values[edge.action] = weight * edge.value + start
    shown = show(root, chosen, search.length, knowledge.known, payloads, knowledge.origin)
    sure, signs = confidence(search, chosen)
    return shown | {
        "value": weight * chosen.value + start,
        "reward_floor": weight * knowledge.rate + knowledge.origin,
        "estimates": values,
        "confidence": sure,
        "signs": tuple(signs),
        "enough": sure >= CLEAR,
    }


def show(
    root: KnownState,
    chosen: KnownEdge,
    length: int,
    known: int,
    payloads: Any,
    origin: float = 0.0,
) -> dict[str, Any]:
    """The fields of ``Plan`` that show what may happen, and what was searched.

    Args:
        root: the state that was planned for.
        chosen: the recommended edge.
        length: most steps of a line.
        known: edges with a sample.
        payloads: the actions as the model's step takes them.
        origin: what rewards are counted from.
    """
    tree, end, edges, states = likely_lines(root, chosen, length, origin)
    numbers: dict[int, int] = {}
    sources = [0] + [numbers.setdefault(id(edge), 1 + len(numbers)) for edge in edges]
    return {
        "tree": tree,
        "node": end,
        "action": chosen.action,
        "outcomes": outcomes_of(chosen, payloads),
        "states": states,
        "sources": np.array(sources),
        "searched": Searched(root, known, origin),
    }


def outcomes_of(edge: KnownEdge, payloads: Any) -> tuple[Outcome, ...]:
    """What an action led to, the likeliest first, and what to do there."""
    found = []
    for after, count in sorted(edge.outcomes.items(), key=lambda item: -item[1])[:MOST_OUTCOMES]:
        choice = None if after is None else after.choice
        found.append(
            Outcome(
                probability=count / edge.samples,
                state=None if after is None else after.stored,
                ends=after is None,
                action=None if choice is None else payloads[choice.action],
                action_index=None if choice is None else choice.action,
            )
        )
    return tuple(found)


def likely_lines(
    root: KnownState, chosen: KnownEdge, length: int, origin: float
) -> tuple[Tree, int, list[KnownEdge], dict[int, Any]]:
    """For each first action the likeliest outcomes, and the best known action after each.

    Returns a tree of these lines, the node at the end of the chosen one, the edges of all nodes
    but the root, and the states of the nodes.
    """
    firsts = sorted((e for e in root.edges if e.samples), key=lambda e: e.action)
    tree = make_tree(1 + len(firsts) * length)
    set_root(tree)
    states: dict[int, Any] = {ROOT: root.stored}
    end = ROOT
    edges: list[KnownEdge] = []
    for first in firsts:
        edge: KnownEdge | None = first
        node, depth = ROOT, 0
        while edge is not None and depth < length:
            depth += 1
            after = max(edge.outcomes, key=edge.outcomes.__getitem__)
            node = add_node(tree, node, depth, edge, origin, ends=after is None)
            edges.append(edge)
            if after is not None:
                states[node] = after.stored
            edge = None if after is None else after.choice
        end = node if first is chosen else end
    return tree, end, edges, states


def add_node(
    tree: Tree, parent: int, depth: int, edge: KnownEdge, origin: float, *, ends: bool
) -> int:
    """Add an edge to a tree; returns its node."""
    node = tree.num_nodes
    tree.size[0] += 1
    set_node(tree, node, parent, edge.action, depth, 0)
    tree.pulls[node], tree.reward[node], tree.value[node] = edge.samples, edge.mean + origin, 0.0
    tree.flags[node] = TERMINAL if ends else 0
    return node


class Searched:
    """All that was searched, as a tree: each state below the first edge that led to it."""

    def __init__(self, root: KnownState, known: int, origin: float) -> None:
        self.root, self._known, self.origin = root, known, origin

    def tree(self) -> Tree:
        """Make the tree."""
        return spanning_tree(self.root, self._known, self.origin)


def spanning_tree(root: KnownState, known: int, origin: float = 0.0) -> Tree:
    """All known edges from a state on, each state below the first edge that leads to it."""
    tree = make_tree(1 + known)
    set_root(tree)
    places = {root: ROOT}
    waiting = [root]
    for state in waiting:
        parent = places[state]
        depth = int(tree.depth[parent]) + 1
        for edge in state.edges:
            if not edge.samples:
                continue
            ends = None in edge.outcomes and len(edge.outcomes) == 1
            node = add_node(tree, parent, depth, edge, origin, ends=ends)
            for after in edge.outcomes:
                if after is not None and after not in places:
                    places[after] = node
                    waiting.append(after)
    return tree.trimmed()
