"""From a search to a plan: what is recommended, how sure it is, and the sequences to show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos.graph import Edge, Graph, State
from platypoos.models.points import as_action
from platypoos.planners.platypus.confidence import can_tell, confidence
from platypoos.planners.platypus.jury import standard_error
from platypoos.planners.platypus.plan import Search
from platypoos.planners.platypus.sequences import MOST_FIRSTS, Candidate, weigh
from platypoos.results import CLEAR, Improvement, Lead, Noise
from platypoos.spaces import Tried
from platypoos.trees.tree import ROOT, TERMINAL, Tree, make_tree, set_node, set_root

WIDE = 1.96
"""Standard errors on each side of a 95 % interval."""


def describe(search: Search) -> dict[str, Any]:
    """The fields of ``Plan`` that depend on the search."""
    graph = search.graph
    chosen = search.recommend() or first_step(search)
    rival = rival_of(search, chosen)
    shown = sequences_to_show(search, chosen, rival)
    rule = search.level.rule
    lines = [*shown, *([] if rule is None else [rule])]
    number, space = number_actions(search, lines, len(shown))
    tree, ends, edges = tree_of(lines, graph.origin, number)
    values = np.full(len(shown) if graph.endless else graph.num_actions, np.nan)
    for candidate in shown:
        values[number[candidate.first]] = candidate.value + graph.origin * graph.root.span
    states: dict[int, Any] = {}
    if not graph.open_loop:
        states = {ROOT: graph.root.stored}
        states |= {n: e.after.stored for n, e in enumerate(edges, 1) if e.after is not None}
    numbers: dict[Edge, int] = {}
    sources = [0] + [numbers.setdefault(edge, 1 + len(numbers)) for edge in edges]
    return {
        "tree": tree,
        "node": ends[shown.index(chosen)],
        "rule_node": None if rule is None else ends[-1],
        "action": number[chosen.first],
        "space": space,
        "value": float(values[number[chosen.first]]),
        "reward_floor": graph.rate + graph.origin,
        "estimates": values,
        "heard": lead_heard(search, chosen, rival),
        "rival_index": None if rival is None else number[rival.first],
        **how_sure(search, chosen),
        "improvement": improvement(search, chosen),
        "states": states,
        "sources": np.array(sources),
        "parts": {n: edge.parts for n, edge in enumerate(edges, 1) if edge.parts is not None},
        "noise": Noise(math.sqrt(graph.variance), graph.middle + graph.origin, graph.spread),
        "searched": None if graph.endless else Searched(graph),
    }


def number_actions(
    search: Search, lines: list[Candidate], firsts: int
) -> tuple[dict[Any, int] | range, Tried | None]:
    """A number for each action, as a plan has them.

    Those of a list have one. Of a box, the actions of the sequences that are shown are listed, the
    first ones of so many of them first.
    """
    if search.space is None:
        return range(search.graph.num_actions), None
    points = [candidate.first for candidate in lines[:firsts]]
    points += [edge.action for candidate in lines for edge in candidate.path]
    number = {point: i for i, point in enumerate(dict.fromkeys(points))}
    actions = [as_action(search.space, point) for point in number]
    return number, Tried(search.space, actions, firsts)


def first_step(search: Search) -> Candidate:
    """Time was up before a whole sequence was known: take the best first step."""
    edges = search.graph.root.edges.values()
    path = [max(edges, key=lambda edge: edge.mean)]
    found = Candidate([path[0].action], path)
    search.power = search.power if len(search.power) > 1 else [1.0, search.graph.discount]
    weigh(search, found)
    search.decided = found
    return found


def sequences_to_show(
    search: Search, chosen: Candidate, rival: Candidate | None
) -> list[Candidate]:
    """The best sequence that is known for each first action; in a box, of some first actions."""
    found = {**search.level.best, chosen.first: chosen}
    if search.graph.endless:
        ranked = sorted(
            found.values(), key=lambda c: (c is chosen, c is rival, c.rank), reverse=True
        )
        return ranked[:MOST_FIRSTS]
    return [found[action] for action in sorted(found)]


def tree_of(
    lines: list[Candidate], origin: float, number: Any
) -> tuple[Tree, list[int], list[Edge]]:
    """A tree of some sequences, the nodes at their ends, and the edges of all nodes."""
    tree = make_tree(1 + sum(len(candidate.path) for candidate in lines))
    set_root(tree)
    ends, edges = [], []
    for candidate in lines:
        last = ROOT
        for depth, edge in enumerate(candidate.path, 1):
            last = add_node(tree, last, depth, edge, origin, number[edge.action])
            edges.append(edge)
        ends.append(last)
    return tree, ends, edges


def add_node(tree: Tree, parent: int, depth: int, edge: Edge, origin: float, action: int) -> int:
    """Add an edge to a tree; returns its node."""
    node = tree.num_nodes
    tree.size[0] += 1
    set_node(tree, node, parent, action, depth, 0)
    tree.pulls[node], tree.reward[node], tree.value[node] = edge.samples, edge.mean + origin, 0.0
    tree.flags[node] = TERMINAL if edge.after is None else 0
    return node


class Searched:
    """All that was searched, as a tree: each state below the first edge that led to it."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._root = graph, graph.root

    def tree(self) -> Tree:
        """Make the tree."""
        return spanning_tree(self._graph, self._root)


def spanning_tree(graph: Graph, root: State) -> Tree:
    """All known edges from a state on, each state below the first edge that leads to it."""
    tree = make_tree(1 + graph.known)
    set_root(tree)
    places = {root: ROOT}
    numbers: dict[Any, int] = {}  # of points, which have none
    waiting = [root]
    for state in waiting:
        parent = places[state]
        depth = int(tree.depth[parent]) + 1
        for edge in state.edges.values():
            action = edge.action
            if graph.endless:
                action = numbers.setdefault(action, len(numbers))
            node = add_node(tree, parent, depth, edge, graph.origin, action)
            if edge.after is not None and edge.after not in places:
                places[edge.after] = node
                waiting.append(edge.after)
    return tree.trimmed()


def rival_of(search: Search, chosen: Candidate) -> Candidate | None:
    """What the recommended sequence is compared with.

    The other one of the last hearing, if both are still what they were; else the best sequence
    with another first action.
    """
    fresh, best = search.fresh, search.level.best
    if fresh is not None and search.graph.noisy:
        one, other = fresh.one, fresh.other
        if chosen.path == other.path:
            one, other = other, one
        now = best.get(other.first)
        if chosen.path == one.path and now is not None and now.path == other.path:
            return now
    others = [candidate for candidate in best.values() if candidate.first != chosen.first]
    return max(others, key=lambda candidate: candidate.value, default=None)


def lead_heard(search: Search, chosen: Candidate, rival: Candidate | None) -> Lead | None:
    """The lead over the rival by samples that nothing was chosen by (95 %)."""
    fresh = search.fresh
    if fresh is None or rival is None or not search.graph.noisy:
        return None
    heard = [fresh.one.path, fresh.other.path]
    if heard not in ([chosen.path, rival.path], [rival.path, chosen.path]):
        return None
    lead, error = fresh.lead(search)
    if chosen.path == fresh.other.path:
        lead = -lead
    return Lead(lead, lead - WIDE * error, lead + WIDE * error)


def how_sure(search: Search, chosen: Candidate) -> dict[str, Any]:
    """The fields of ``Plan`` that say how sure the decision is."""
    if not can_tell(search.graph):
        return {}
    sure, signs = confidence(search, chosen)
    return {"confidence": sure, "signs": tuple(signs), "enough": sure >= CLEAR}


def improvement(search: Search, chosen: Candidate) -> Improvement | None:
    """How much better than the user's rule the plan is; None without a rule."""
    rule = search.level.rule
    if rule is None:
        return None
    gain = chosen.value - rule.value
    error = WIDE * standard_error(search, chosen, rule)
    return Improvement(gain, gain - error, gain + error)
