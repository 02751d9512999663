"""From a search to a plan: what is recommended, how sure it is, and the sequences to show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos.graph import Edge, Graph, State
from platypoos.ledger.tree import ROOT, TERMINAL, Tree, make_tree, set_node, set_root
from platypoos.models.points import as_action
from platypoos.plan import Improvement, Noise
from platypoos.planners.platypus.jury import standard_error
from platypoos.planners.platypus.plan import Search
from platypoos.planners.platypus.sequences import MOST_FIRSTS, Candidate, weigh
from platypoos.spaces import Tried

WIDE = 1.96
"""Standard errors on each side of a 95 % interval."""
SURE, AGAIN = 4.0, 3
"""A plan is enough if its lead is so many standard errors, and all was sampled so often again."""


def describe(search: Search) -> dict[str, Any]:
    """The fields of ``Plan`` that depend on the search."""
    graph = search.graph
    chosen = search.recommend() or first_step(search)
    shown = sequences_to_show(search, chosen)
    number, space = number_actions(search, shown)
    tree, end, edges = tree_of(shown, chosen, graph.origin, number)
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
        "node": end,
        "action": number[chosen.first],
        "space": space,
        "value": float(values[number[chosen.first]]),
        "reward_floor": graph.rate + graph.origin,
        "estimates": values,
        "gap_interval": lead_interval(search, chosen),
        "enough": None if graph.endless else is_enough(search, chosen),
        "improvement": improvement(search, chosen),
        "states": states,
        "sources": np.array(sources),
        "noise": Noise(math.sqrt(graph.variance), graph.middle + graph.origin, graph.spread),
        "searched": None if graph.endless else Searched(graph),
    }


def number_actions(
    search: Search, shown: list[Candidate]
) -> tuple[dict[Any, int] | range, Tried | None]:
    """A number for each action, as a plan has them.

    Those of a list have one. Of a box, the actions of the sequences that are shown are listed, the
    first ones first.
    """
    if search.space is None:
        return range(search.graph.num_actions), None
    points = [candidate.first for candidate in shown]
    points += [edge.action for candidate in shown for edge in candidate.path]
    number = {point: i for i, point in enumerate(dict.fromkeys(points))}
    actions = [as_action(search.space, point) for point in number]
    return number, Tried(search.space, actions, len(shown))


def first_step(search: Search) -> Candidate:
    """Time was up before a whole sequence was known: take the best first step."""
    edges = search.graph.root.edges.values()
    path = [max(edges, key=lambda edge: edge.mean)]
    found = Candidate([path[0].action], path)
    search.power = search.power if len(search.power) > 1 else [1.0, search.graph.discount]
    weigh(search, found)
    search.decided = found
    return found


def sequences_to_show(search: Search, chosen: Candidate) -> list[Candidate]:
    """The best sequence that is known for each first action."""
    found = {**search.level.best, chosen.first: chosen}
    if search.graph.endless:
        ranked = sorted(found.values(), key=lambda c: (c is chosen, c.rank), reverse=True)
        return ranked[:MOST_FIRSTS]
    return [found[action] for action in sorted(found)]


def tree_of(
    shown: list[Candidate], chosen: Candidate, origin: float, number: Any
) -> tuple[Tree, int, list[Edge]]:
    """A tree of some sequences; the node at the end of the chosen one; the edges of the nodes."""
    tree = make_tree(1 + sum(len(candidate.path) for candidate in shown))
    set_root(tree)
    end, edges = ROOT, []
    for candidate in shown:
        last = ROOT
        for depth, edge in enumerate(candidate.path, 1):
            last = add_node(tree, last, depth, edge, origin, number[edge.action])
            edges.append(edge)
        end = last if candidate is chosen else end
    return tree, end, edges


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
    """The best candidate with another first action, of the same length."""
    others = [c for c in search.level.best.values() if c.first != chosen.first]
    return max(others, key=lambda candidate: candidate.value, default=None)


def lead_interval(search: Search, chosen: Candidate) -> tuple[float, float] | None:
    """Where the lead over the rival lies, by samples that nothing was chosen by (95 %)."""
    fresh = search.fresh
    if fresh is None or not search.graph.noisy:
        return None
    lead, error = fresh.lead(search)
    if chosen.first == fresh.one.first:
        sign = 1.0
    elif chosen.first == fresh.other.first:
        sign = -1.0
    else:
        return None
    return sign * lead - WIDE * error, sign * lead + WIDE * error


def improvement(search: Search, chosen: Candidate) -> Improvement | None:
    """How much better than the user's rule the plan is; None without a rule."""
    rule = search.level.rule
    if rule is None:
        return None
    gain = chosen.value - rule.value
    error = WIDE * standard_error(search, chosen, rule)
    return Improvement(gain, gain - error, gain + error)


def is_enough(search: Search, chosen: Candidate) -> bool:
    """Whether more calls are unlikely to change the decision.

    The last stages agree; all first actions have a candidate; all was sampled again and again;
    the lead is larger than what noise and states out of sight might change.
    """
    graph = search.graph
    level = search.level
    if graph.endless:
        return False
    options = graph.options(graph.root)
    if graph.open_loop or search.agreed < 2 or graph.degrees < AGAIN * graph.known:
        return False
    if any(action not in level.best for action in options):
        return False
    rival = rival_of(search, chosen)
    if rival is None:
        return True
    interval = lead_interval(search, chosen)
    if interval is not None and interval[0] + interval[1] < interval[1] - interval[0]:
        return False  # fresh samples speak against it
    lead = chosen.value - rival.value
    doubt = SURE * standard_error(search, chosen, rival)
    return lead > doubt and lead > doubt + out_of_sight(graph)


def out_of_sight(graph: Graph) -> float:
    """How much the nearest unknown states might change a value."""
    if graph.closed:
        return 0.0
    depth, layer, seen = 0, [graph.root], {graph.root}
    values: list[float] = []
    nearest = -1
    while layer:
        below = []
        for state in layer:
            if nearest < 0 and len(state.edges) < len(graph.options(state)):
                nearest = depth
            if state.edges:
                values.append(state.value)
            for edge in state.edges.values():
                if edge.after is not None and edge.after not in seen:
                    seen.add(edge.after)
                    below.append(edge.after)
        layer, depth = below, depth + 1
    if nearest < 0:
        return 0.0
    return float(graph.discount**nearest * (max(values) - min(values)))
