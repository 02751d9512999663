"""What must hold of a graph of the default planner, whatever was learned."""

from __future__ import annotations

import math

import pytest

from platypoos.graph import Graph, State


def all_states(graph: Graph) -> list[State]:
    """Those that can be reached from the root or have a name."""
    found = graph.reachable()
    return found + [s for s in graph.states.values() if s not in set(found)]


def check_graph(graph: Graph, *, whole: bool = False) -> None:
    """Edges know where they start and end; the sums over all edges are right.

    Args:
        graph: the graph.
        whole: whether all of it can be reached from the root.
    """
    edges = []
    states = all_states(graph)
    for state in states:
        assert all(edge.start.edges.get(edge.action) is edge for edge in state.parents)
        assert all(edge.after is state for edge in state.parents)
        for action, edge in state.edges.items():
            assert edge.start is state
            assert edge.action == action
            assert edge.samples >= 1
            assert edge.after is None or edge in edge.after.parents
            edges.append(edge)
        if state.choice is not None:
            assert state.edges[state.choice.action] is state.choice
    if whole:
        assert graph.known == len(edges)
        assert graph.count == len(states)
        assert graph._sum == pytest.approx(math.fsum(e.mean for e in edges), abs=1e-9)
        squares = math.fsum(e.mean**2 for e in edges)
        assert graph._squares_sum == pytest.approx(squares, rel=1e-9, abs=1e-9)
        inverse = math.fsum(1.0 / e.samples for e in edges)
        assert graph._inverse_sum == pytest.approx(inverse, rel=1e-9, abs=1e-9)
