"""How sure a decision is; the twin of ``confidence.py``."""

from __future__ import annotations

import math

import numpy as np

from platypoos.compiled.platypus.arrays import NONE, Search
from platypoos.compiled.platypus.graph import count_options, edge_value, find_edge, is_noisy
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.sequences import standard_error
from platypoos.planners.platypus.confidence import AHEAD, BOTH, CONSTANT, DEEP
from platypoos.results import PROVED


@part
def note_confidence(search: Search) -> None:
    """The probability that no other first action is clearly better than the decision."""
    at, graph = search.at[0], search.graph[0]
    note_signs(search)
    differs = graph.total_variance > 0.0
    if graph.closed and differs and not is_noisy(search) and graph.degrees >= graph.known:
        at.confidence = PROVED
        return
    odds = math.exp(CONSTANT + at.ahead * (AHEAD + BOTH * at.solid))
    at.confidence = at.looked * odds / (1.0 + odds)


@part
def note_signs(search: Search) -> None:
    """Look at the candidates, and at the known graph."""
    at, graph, row = search.at[0], search.graph[0], len(search.candidates) - 1
    chosen = search.edges[search.ways[row, 0]].action
    mine, others, rival = search.candidates[row].value, -np.inf, NONE
    first_of_all = True
    for i in range(at.ranked):
        action = search.best[i]
        value = search.candidates[action].value
        if action == chosen:
            mine = value if first_of_all else max(mine, value)
            first_of_all = False
        else:
            others = max(others, value)
            if rival == NONE or value > search.candidates[rival].value:
                rival = action
    edge = search.states[graph.root].first
    while edge != NONE:
        value = edge_value(search, edge)
        if search.edges[edge].action == chosen:
            mine = value if first_of_all else max(mine, value)
            first_of_all = False
        else:
            others = max(others, value)
        edge = search.edges[edge].next
    lead = mine - others
    error = standard_error(search, row, rival)
    at.ahead = 0.0
    if lead > 0.0:
        at.ahead = lead / (lead + error) if lead < np.inf else 1.0
    least = np.inf
    count_options(search, graph.root)
    for action in range(graph.num_actions):
        if not graph.masked or search.legal[graph.root, action] == 1:
            edge = find_edge(search, graph.root, action)
            least = min(least, solid_steps(search, edge))
    at.solid = 1.0 - graph.discount**least
    at.looked = 1.0 if is_noisy(search) else (graph.degrees + 1) / (graph.degrees + 2)


@part
def solid_steps(search: Search, edge: int) -> float:
    """Steps of the best known policy through states in which all actions were tried."""
    if edge == NONE:
        return 0.0
    graph = search.graph[0]
    graph.marks += 1
    for steps in range(DEEP):
        number = search.edges[edge].after
        if number == NONE or search.states[number].mark == graph.marks:
            return np.inf  # it ends, or goes round in a circle
        state = search.states[number]
        if state.degree < count_options(search, number):
            return np.float64(steps)
        state.mark = graph.marks
        edge = state.choice
        if edge == NONE:
            return np.float64(steps + 1)
    return np.float64(DEEP)
