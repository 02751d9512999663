"""Which nodes of a tree lead to the same state: sequences that meet there share its samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, jit
from platypoos.models.keys import key_failure


class Homes(NamedTuple):
    """The states behind the nodes of a tree. A state is named after its home."""

    home: NDArray[np.int32]  # [capacity] the first node that led to the state of a node
    table: NDArray[np.int32]  # [slots] 1 + a home, by the hash of its state; compiled models only
    depth: NDArray[np.int32]  # of the nodes; empty if the same state is the same at any time


def make_homes(capacity: int, slots: int, depth: NDArray[np.int32] | None = None) -> Homes:
    """Nothing is known yet. With ``depth``, states are the same at the same depth only."""
    table = np.zeros(slots, np.int32)  # of zeros: memory that is never looked at costs nothing
    return Homes(
        np.empty(capacity, np.int32), table, np.empty(0, np.int32) if depth is None else depth
    )


def settle(sim: Any, homes: Homes, nodes: NDArray[np.int64]) -> None:
    """Find the homes of nodes that have just been sampled for the first time."""
    sim.settle(homes, nodes)


def settle_by_key(sim: Any, homes: Homes, nodes: NDArray[np.int64]) -> None:
    """Find homes by what tells the states of a Python model apart."""
    if sim.key is None:
        homes.home[nodes] = nodes
        return
    timed = len(homes.depth) > 0
    for node in nodes.tolist():
        depth = int(homes.depth[node]) if timed else None
        homes.home[node] = find_home(sim, node, sim.states[node], depth)


def find_home(sim: Any, node: int, state: Any, depth: int | None, *, keep: bool = True) -> int:
    """The home of a state; if it is new, ``node``, which is its home from then on if ``keep``."""
    try:
        name = sim.key(state)
        if name is None:
            return node
        if depth is not None:
            name = (depth, name)
        return int(sim.homes.setdefault(name, node) if keep else sim.homes.get(name, node))
    except Exception as error:
        raise key_failure(error, state) from error


@jit
def settle_rows(homes: Homes, bits: NDArray[Any], nodes: NDArray[np.int64]) -> None:
    """Find homes by the memory of the states."""
    homes = borrowed(homes)
    table, depth = homes.table, homes.depth
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
        while table[slot] != 0:
            other = table[slot] - 1
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
            table[slot] = 1 + node
        homes.home[node] = home
