"""Which nodes of a tree lead to the same state: sequences that meet there share its samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray

from platypoos._jit import borrowed, jit, overload
from platypoos.advice import make_advice
from platypoos.blame import brief
from platypoos.errors import InvalidArgument, ModelError
from platypoos.simulator_compiled import CompiledSimulator

NONE = -1


class Graph(NamedTuple):
    """The states behind the nodes of a tree.

    A state is named after its home, the first node that led to it. Only homes have children.
    """

    home: NDArray[np.int32]  # [capacity] the home of the state that the node leads to
    child: NDArray[np.int32]  # [capacity] a home's first child, and the others follow; or NONE
    table: NDArray[np.int32]  # [slots] homes by the hash of their state; compiled models only
    legal: NDArray[np.uint8]  # what the model says of the states; see ``Advice``
    worth: NDArray[np.float64]
    depth: NDArray[np.int32]  # of the nodes; empty if the same state is the same at any time


def make_graph(capacity: int, compiled: bool, depth: NDArray[np.int32] | None = None) -> Graph:
    """A graph that knows nothing. With ``depth``, states are the same at the same depth only."""
    table = np.empty(0, np.int32)
    if compiled:
        table = np.full(1 << (2 * capacity - 1).bit_length(), NONE, np.int32)
    child = np.full(capacity, NONE, np.int32)
    if depth is None:
        depth = np.empty(0, np.int32)
    advice = make_advice(0, 1, False, False)
    return Graph(np.empty(capacity, np.int32), child, table, *advice, depth)


def grown(graph: Graph, capacity: int, sim: Any, size: int) -> Graph:
    """The same graph with more room, after the ledger's was made larger."""
    compiled = isinstance(sim, CompiledSimulator)
    depth = sim.tree.depth if len(graph.depth) else None
    larger = make_graph(capacity, compiled, depth)._replace(**sim.advice._asdict())
    larger.home[:size] = graph.home[:size]
    larger.child[:size] = graph.child[:size]
    if compiled:
        # Nodes that were never evaluated have no state: what lies in their rows is anything.
        known = (sim.tree.pulls[:size] > 0) | (sim.tree.parent[:size] == NONE)
        homes = np.flatnonzero((larger.home[:size] == np.arange(size)) & known)
        link_rows(larger, bits_of(sim), homes)
    return larger


def link(sim: Any, graph: Graph, nodes: NDArray[np.int64]) -> None:
    """Find the homes of nodes that have just been evaluated for the first time."""
    if sim.key is None:
        graph.home[nodes] = nodes
        return
    key, states, find = sim.key, sim.states, sim.homes.setdefault
    try:
        for node in nodes.tolist():
            name = key(states[node])
            if name is not None and len(graph.depth):
                name = (int(graph.depth[node]), name)
            graph.home[node] = node if name is None else find(name, node)
    except TypeError as error:
        raise InvalidArgument(
            f"states must all have a key that can be hashed, or none: {error}; give the model "
            "key(state), which may return None"
        ) from error
    except Exception as error:
        raise ModelError(
            f"the model's key raised {type(error).__name__}: {error} (at state "
            f"{brief(states[node])}); the original traceback is above",
            state=states[node],
        ) from error


@overload(link)
def _link_compiled(sim: Any, graph: Any, nodes: Any) -> Any:  # noqa: ARG001
    word = words_of(as_dtype(sim.types[sim.fields.index("states")].dtype))

    def implementation(sim: Any, graph: Any, nodes: Any) -> Any:
        link_rows(graph, sim.states.view(word), nodes)

    return implementation


def words_of(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Whole numbers of the same size: states are the same if all their bits are."""
    return np.dtype(f"u{kind.itemsize}")


def bits_of(sim: CompiledSimulator) -> NDArray[Any]:
    """The states of a ledger, as bits."""
    states = sim.machine.states
    return states.view(words_of(states.dtype))


@jit
def link_rows(graph: Graph, bits: NDArray[Any], nodes: NDArray[np.int64]) -> None:
    """Find homes by the memory of the states."""
    graph = borrowed(graph)
    table, depth = graph.table, graph.depth
    timed = len(depth) > 0
    mask = np.uint64(len(table) - 1)
    words = bits.shape[1]
    for i in range(len(nodes)):
        node = nodes[i]
        h = np.uint64(0x9E3779B97F4A7C15)
        if timed:
            h ^= np.uint64(depth[node]) << np.uint64(32)
        for w in range(words):
            h = (h ^ np.uint64(bits[node, w])) * np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
        slot = h & mask
        home = node
        while table[slot] != NONE:
            other = table[slot]
            same = not timed or depth[other] == depth[node]
            for w in range(words):
                if bits[other, w] != bits[node, w]:
                    same = False
                    break
            if same:
                home = other
                break
            slot = (slot + np.uint64(1)) & mask
        if home == node:
            table[slot] = node
        graph.home[node] = home


def find_home(sim: Any, graph: Graph, node: int) -> None:
    """Find the home of one node."""
    nodes = np.array([node])
    if isinstance(sim, CompiledSimulator):
        link_rows(graph, bits_of(sim), nodes)
    else:
        link(sim, graph, nodes)
