"""Figure 3 on the graph of states: rounds of growing h_max that buy only the samples they lack.

A round goes down layer by layer as the published planner does. Its entries are sequences of
actions; a sequence ends in a state, and its last action is a node of the tree that holds the
samples, shared by all sequences through it. Of the sequences that meet in a state at one depth,
only the best is opened. All numbers that a round reads or leaves are in arrays, so that it can be
left at any layer, to look at the clock or to make room, and entered again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos._jit import borrowed, jit, jitable
from platypoos.graph import NONE, Graph, link
from platypoos.planners.graph_entries import (
    ASKED,
    DONE,
    ENTRIES_FULL,
    FAILED,
    FRESH,
    H_MAX,
    HOME,
    LACKING,
    LAYER,
    OPENED,
    PAUSED,
    SIZE,
    SPENT,
    STAMP,
    START,
    TREE_FULL,
    Entries,
    Search,
)
from platypoos.planners.graph_requests import (
    enough_evaluations,
    has_samples,
    learn,
    request_root,
    write_request,
)
from platypoos.planners.layered import move_best_to_end
from platypoos.simulator import calls_made, evaluate, is_due
from platypoos.simulator_compiled import Driver
from platypoos.tree import NODE_BITS, TERMINAL, Tree, ticket

NEW = np.uint64(1 << 63)


@Driver
def run_round(
    sim: Any,
    tree: Tree,
    graph: Graph,
    entries: Entries,
    search: Search,
    limit: int,
    tie_seed: int,
) -> int:
    """Go on with the round until it is done, or the budget, the time or the room ends."""
    nodes, repeats, fresh, place = search.nodes, search.repeats, search.fresh, search.place
    while True:
        left = limit - calls_made(sim)
        status = open_layer(tree, graph, entries, search, left, tie_seed)
        if status == LACKING:  # finish with the samples there are
            place[SPENT] = 1
            status = open_layer(tree, graph, entries, search, left, tie_seed)
        if status != PAUSED:
            return status
        asked = place[ASKED]
        if asked > 0 and not evaluate(sim, tree, nodes[:asked], repeats[:asked]):
            return FAILED
        if place[FRESH] > 0:
            link(sim, graph, fresh[: place[FRESH]])
        extend(tree, graph, entries, search)
        if is_due(sim):
            return PAUSED


@jit
def open_layer(
    tree: Tree, graph: Graph, entries: Entries, search: Search, calls_left: int, tie_seed: int
) -> int:
    """Choose what the deepest layer opens, and write the request for the samples it lacks.

    For p from p_max down to 0, of the entries of index ≥ p that are not open yet, the
    ⌊h_max/(h·m)⌋ with the largest û are opened with m = ⌈2^p·γ^(2h)/4⌉ evaluations. Nothing is
    changed but scratch memory until all of it is known to fit. When calls are LACKING, it is
    asked again, for what is SPENT already.
    """
    tree, graph = borrowed(tree), borrowed(graph)
    entries, search = borrowed(entries), borrowed(search)
    place, group_end = search.place, search.group_end
    h, start, size, h_max = place[LAYER], place[START], place[SIZE], place[H_MAX]
    p_max = len(group_end) - 2
    place[STAMP] += 1
    layer = place[STAMP]
    place[ASKED] = place[FRESH] = place[OPENED] = 0
    if h == 0:
        entries.node[0] = place[HOME]
        entries.parent[0] = NONE
        entries.depth[0] = 0
        entries.p_index[0] = p_max
        entries.value[0] = entries.doubt[0] = 0.0
        place[START], place[SIZE] = 0, 1
        search.opened[0], search.opened_p[0] = 0, p_max
        place[OPENED] = 1
        return request_root(tree, graph, search, h_max, calls_left)
    share = h_max // h
    if share == 0 or start == size or h >= len(search.power):
        return DONE
    most = enough_evaluations(entries, search, start, size, h)
    spent = place[SPENT] != 0
    weight = search.power[h] * search.power[h]
    waiting = np.uint64(0)
    taken = 0
    room = len(search.opened)
    wanted = 0
    for p in range(p_max, -1, -1):
        begin, end = group_end[p + 1], group_end[p]
        for i in range(begin, end):  # the best of those that meet in a state
            node = entries.node[i]
            if tree.flags[node] & TERMINAL:
                continue
            home = graph.home[node]
            if search.stamp[home] != layer:
                search.stamp[home] = layer
                search.best[home] = i
            else:
                best = search.best[home]
                lead = entries.value[i] - entries.value[best]
                if lead > 0.0 or (lead == 0.0 and ticket(tie_seed, i) > ticket(tie_seed, best)):
                    search.best[home] = i
        for i in range(begin, end):
            node = entries.node[i]
            if tree.flags[node] & TERMINAL == 0 and search.best[graph.home[node]] == i:
                search.keys[waiting] = entries.value[i]
                search.pool[waiting] = urgency(graph, node, ticket(tie_seed, i))
                waiting += np.uint64(1)
        evaluations = max(1, math.ceil((1 << p) * weight / 4.0))
        if evaluations > most or (spent and p == 0):
            evaluations = 1 if spent and p == 0 else most
        count = np.uint64(min(int(waiting), share // evaluations))
        if count == 0:
            continue
        if count < waiting:
            move_best_to_end(search.keys, search.pool, waiting, count)
        kept = 0  # they wait for a smaller p
        for _ in range(count):
            waiting -= np.uint64(1)
            i = int(search.pool[waiting] & NODE_BITS)
            home = graph.home[entries.node[i]]
            if search.best[home] != i:  # a better one has come with a smaller p
                continue
            if spent and not has_samples(tree, graph, search, home, evaluations):
                search.fresh[kept] = i
                kept += 1
                continue
            if taken == room:
                return ENTRIES_FULL
            search.opened[taken] = i
            search.opened_p[taken] = p
            taken += 1
            if graph.child[home] == NONE:
                wanted += 1
            search.repeats[taken - 1] = evaluations
        for k in range(kept):
            search.keys[waiting] = entries.value[search.fresh[k]]
            i = search.fresh[k]
            search.pool[waiting] = urgency(graph, entries.node[i], ticket(tie_seed, i))
            waiting += np.uint64(1)
    if is_left_out(tree, graph, entries, search, layer, h, taken):
        if taken == room:
            return ENTRIES_FULL
        search.opened[taken] = search.best[search.pinned[h]]
        search.opened_p[taken] = 0
        search.repeats[taken] = 1
        taken += 1
    if size + taken * search.num_actions > len(entries.node):
        return ENTRIES_FULL
    if tree.size[0] + wanted * search.num_actions > len(tree.parent):
        return TREE_FULL
    if taken == 0:
        return DONE
    place[OPENED] = taken
    return write_request(tree, graph, entries, search, calls_left)


@jitable
def urgency(graph: Graph, node: int, chance: np.uint64) -> np.uint64:
    """A ticket that wins ties against those of states whose actions are known already."""
    if graph.child[graph.home[node]] == NONE:
        return chance | NEW
    return chance & ~NEW


@jitable
def is_left_out(
    tree: Tree, graph: Graph, entries: Entries, search: Search, layer: int, h: int, taken: int
) -> bool:
    """Whether the best sequence so far goes through the layer, and was not chosen again.

    What earlier rounds have found is not lost for want of luck where many values are equal.
    """
    home = search.pinned[h]
    if home == NONE or search.stamp[home] != layer:
        return False
    if not has_samples(tree, graph, search, home, 1):
        return False
    again = 0
    for k in range(taken):
        again += graph.home[entries.node[search.opened[k]]] == home
    return again == 0


@jit
def pin(graph: Graph, entries: Entries, search: Search, chosen: int) -> None:
    """Remember the states along a sequence."""
    i = np.int64(chosen)
    last = entries.depth[i]
    for h in range(last + 1, len(search.pinned)):
        if search.pinned[h] == NONE:
            break
        search.pinned[h] = NONE
    while i > 0:
        search.pinned[entries.depth[i]] = graph.home[entries.node[i]]
        i = np.int64(entries.parent[i])


@jit
def extend(tree: Tree, graph: Graph, entries: Entries, search: Search) -> None:
    """The children of the opened entries are the next layer."""
    learn(tree, search)
    tree, graph = borrowed(tree), borrowed(graph)
    entries, search = borrowed(entries), borrowed(search)
    place, group_end = search.place, search.group_end
    h = place[LAYER]
    weight = search.power[h]
    start = size = place[SIZE]
    p_max = len(group_end) - 2
    group_end[p_max + 1] = start
    p = p_max
    for k in range(place[OPENED]):
        i = search.opened[k]
        while p > search.opened_p[k]:
            group_end[p] = size
            p -= 1
        first = graph.child[graph.home[entries.node[i]]]
        for node in range(first, first + search.num_actions):
            entries.node[size] = node
            entries.parent[size] = i
            entries.depth[size] = h + 1
            entries.p_index[size] = search.opened_p[k]
            entries.value[size] = entries.value[i] + weight * tree.reward[node]
            entries.doubt[size] = entries.doubt[i] + weight * weight / tree.pulls[node]
            size += 1
    while p >= 0:
        group_end[p] = size
        p -= 1
    place[LAYER], place[START], place[SIZE] = h + 1, start, size


def begin_round(search: Search, home: int, h_max: int) -> Search:
    """A new round from a state."""
    search.place[LAYER], search.place[H_MAX], search.place[HOME] = 0, h_max, home
    search.place[SPENT] = 0
    levels = int(h_max).bit_length()
    if len(search.group_end) != levels + 1:
        search = search._replace(group_end=np.empty(levels + 1, np.int64))
    return search
