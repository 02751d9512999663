"""Figure 3 on the graph of states: rounds of growing h_max that buy only the samples they lack.

A round goes down layer by layer as the published planner does. Its entries are sequences of
actions; a sequence ends in a state, and its last action is a node of the tree that holds the
samples, shared by all sequences through it. Of the sequences that meet in a state, only the first
that is chosen is opened, and of those of one length the best. All numbers that a round reads or
leaves are in arrays, so that it can be left at any layer, to look at the clock or to make room,
and entered again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos._jit import jit, jitable
from platypoos.graph import NONE, Graph, link
from platypoos.planners.graph_decision import (
    end_round,
    explore_until,
    judge,
    trace,
    write_validation,
)
from platypoos.planners.graph_entries import (
    ASKED,
    CLEARED,
    CUT,
    DEEPEST,
    DONE,
    ENTRIES_FULL,
    EXPLORING,
    FAILED,
    FRESH,
    H_MAX,
    H_TREE,
    HOME,
    LAYER,
    OPENED,
    PAUSED,
    PENDING,
    PHASE,
    REACH,
    ROUND,
    SIZE,
    STAMP,
    START,
    TREE_FULL,
    UNSIZED,
    VALIDATING,
    Desk,
    Ints,
    Search,
    clear,
)
from platypoos.planners.graph_requests import (
    believe,
    enough_evaluations,
    is_noisy_tree,
    is_quiet,
    learn,
    meets,
    request_root,
    shrunk,
    write_request,
)
from platypoos.planners.layered import move_best_to_end
from platypoos.simulator import ask_legal, calls_made, evaluate, is_due
from platypoos.simulator_compiled import patient_driver
from platypoos.tree import ENDED, ILLEGAL, NODE_BITS, OVER, ticket

PATIENCE = 10.0
"""Seconds to interpret compiled functions before they are compiled, which takes longer still."""
NEW = np.uint64(1 << 63)
TAKEN = -2
"""In place of a state's best entry: it is opened in this layer."""


@patient_driver(PATIENCE)
def search_on(sim: Any, desk: Desk, given_floor: float, tie_seed: int) -> int:
    """Go on with the search until it is done, or the time or the room ends."""
    tree, graph, search = desk.tree, desk.graph, desk.search
    nodes, repeats, fresh, place = search.nodes, search.repeats, search.fresh, search.place
    if not place[CLEARED]:
        clear(desk)
        link(sim, graph, fresh[:1])
        if not ask_legal(sim, fresh[:1]):
            return FAILED
    while True:
        status = advance(desk, calls_made(sim), given_floor, tie_seed)
        if status != PAUSED:
            return status
        asked, new = place[ASKED], place[FRESH]
        if not evaluate(sim, tree, nodes[:asked], repeats[:asked]):
            return FAILED
        place[PENDING] = 1
        if new > 0:
            close_at_horizon(desk, new)
            link(sim, graph, fresh[:new])
            if len(graph.legal) > 0 and not ask_legal(sim, going_on(desk, new)):
                return FAILED
        if is_due(sim):
            return PAUSED


@jit
def close_at_horizon(desk: Desk, count: int) -> None:
    """Of the nodes just evaluated for the first time, those at the horizon are never opened."""
    tree, search = desk.tree, desk.search
    if search.horizon == 0:
        return
    for k in range(count):
        node = search.fresh[k]
        if tree.depth[node] >= search.horizon:
            tree.flags[node] |= OVER


@jit
def going_on(desk: Desk, count: int) -> Ints:
    """The homes of the states just reached in which the episode has not ended.

    The home itself may be a node where it has: the same state, reached by a last step.
    """
    tree, graph, search = desk.tree, desk.graph, desk.search
    alive = np.empty(count, np.int64)
    size = 0
    for k in range(count):
        node = search.fresh[k]
        if tree.flags[node] & ENDED == 0:
            alive[size] = graph.home[node]
            size += 1
    return alive[:size]


@jit
def advance(desk: Desk, calls: int, given_floor: float, tie_seed: int) -> int:
    """Take in the last request, and go on to the next; PAUSED means: make it.

    Python is entered for requests only: many layers lack no samples.
    """
    search = desk.search
    place = search.place
    while True:
        if place[PENDING]:
            place[PENDING] = 0
            if place[PHASE] == EXPLORING:
                extend(desk)
            else:
                judge(desk, calls, given_floor, tie_seed)
        if place[PHASE] == EXPLORING:
            if place[LAYER] > 0 and place[H_TREE] == 0 and is_noisy_tree(search):
                return UNSIZED  # now that this is known, a round of the right size is worth more
            status = open_layer(desk, calls, tie_seed)
            if status == DONE:
                end_round(desk, calls, given_floor, tie_seed)
                continue
            if status != PAUSED:
                return int(status)
        elif place[PHASE] == VALIDATING:
            write_validation(desk, calls)
        else:
            trace(desk)
            return DONE
        if place[ASKED] > 0:
            return PAUSED
        place[PENDING] = 1


@jit
def open_layer(desk: Desk, calls: int, tie_seed: int) -> int:
    """Choose what the deepest layer opens, and write the request for the samples it lacks.

    For p from p_max down to 0, of the entries of index ≥ p that are not open yet, the
    ⌊h_max/(h·m)⌋ with the largest û are opened with m = ⌈h·2^p·γ^(2h)⌉ evaluations, or
    ⌈2^p·γ^(2h)/4⌉ where sequences meet. Nothing is changed but scratch memory until all of it is
    known to fit.
    """
    tree, graph, entries, search = desk.tree, desk.graph, desk.entries, desk.search
    place, group_end = search.place, search.group_end
    calls_left = explore_until(search) - calls
    h, start, size, h_max = place[LAYER], place[START], place[SIZE], place[H_MAX]
    p_max = largest_p(h_max)
    place[STAMP] += 1
    layer = place[STAMP]
    place[ASKED] = place[FRESH] = place[OPENED] = 0
    if h == 0:
        place[ROUND] += 1
        place[CUT] = 0
        entries.node[0] = place[HOME]
        entries.value[0] = entries.doubt[0] = 0.0
        place[START], place[SIZE] = 0, 1
        search.opened[0], search.opened_p[0] = 0, p_max
        search.opened_in[place[HOME]] = place[ROUND]
        place[OPENED] = 1
        return request_root(desk, calls_left)
    share = h_max // h
    if share == 0 or start == size or h >= reach(search) or place[CUT]:
        return DONE
    most = enough_evaluations(desk)
    weight = search.power[h] * search.power[h]
    if meets(search):
        weight *= 0.25
    elif not is_quiet(search):
        weight *= h
    node_of, value, home_of, flags = entries.node, entries.value, graph.home, tree.flags
    opened_in, stamp, best = search.opened_in, search.stamp, search.best
    keys, pool = search.keys, search.pool
    waiting = np.uint64(0)
    taken = 0
    room = len(search.opened)
    wanted = 0
    this_round = place[ROUND]
    for p in range(p_max, -1, -1):
        begin, end = group_end[p + 1], group_end[p]
        if begin == end and waiting == 0:
            continue
        for i in range(begin, end):  # the best of those that meet in a state
            node = node_of[i]
            home = home_of[node]
            if flags[node] & ENDED or opened_in[home] == this_round:
                continue
            if stamp[home] != layer:
                stamp[home] = layer
                best[home] = i
            elif best[home] != TAKEN:
                other = best[home]
                lead = value[i] - value[other]
                if lead > 0.0 or (lead == 0.0 and ticket(tie_seed, i) > ticket(tie_seed, other)):
                    best[home] = i
        for i in range(begin, end):
            node = node_of[i]
            home = home_of[node]
            if flags[node] & ENDED or opened_in[home] == this_round:
                continue
            if best[home] == i:
                keys[waiting] = value[i]
                if len(graph.worth) > 0:
                    keys[waiting] += search.power[h] * graph.worth[home]
                pool[waiting] = urgency(graph, node, ticket(tie_seed, i))
                waiting += np.uint64(1)
        evaluations = min(most, max(1, math.ceil((1 << p) * weight)))
        count = np.uint64(min(int(waiting), share // evaluations))
        if count == 0:
            continue
        if count < waiting:
            move_best_to_end(keys, pool, waiting, count)
        for _ in range(count):
            waiting -= np.uint64(1)
            i = int(pool[waiting] & NODE_BITS)
            home = home_of[node_of[i]]
            if best[home] != i:  # a better one has come with a smaller p
                continue
            if taken == room:
                return ENTRIES_FULL
            best[home] = TAKEN
            search.opened[taken] = i
            search.opened_p[taken] = p
            search.repeats[taken] = evaluations
            taken += 1
            wanted += graph.child[home] == NONE
    if size + taken * search.num_actions > len(node_of):
        return ENTRIES_FULL
    if tree.size[0] + wanted * search.num_actions > len(tree.parent):
        return TREE_FULL
    if taken == 0:
        return DONE
    place[OPENED] = taken
    write_request(desk, calls_left)
    for k in range(place[OPENED]):
        opened_in[home_of[node_of[search.opened[k]]]] = this_round
    return PAUSED


@jitable
def largest_p(h_max: int) -> int:
    """⌊log2 h_max⌋."""
    p = 0
    while h_max >> (p + 1):
        p += 1
    return p


@jitable
def reach(search: Search) -> int:
    """The depth at which nothing matters any more: rounding hides it, or the noise does."""
    return int(len(search.power) if is_quiet(search) else search.place[REACH])


@jitable
def urgency(graph: Graph, node: int, chance: np.uint64) -> np.uint64:
    """A ticket that wins ties against those of states whose actions are known already."""
    if graph.child[graph.home[node]] == NONE:
        return chance | NEW
    return chance & ~NEW


@jit
def extend(desk: Desk) -> None:
    """The children of the opened entries are the next layer."""
    tree, graph, entries, search = desk.tree, desk.graph, desk.entries, desk.search
    learn(desk)
    place, group_end = search.place, search.group_end
    h = place[LAYER]
    weight = search.power[h]
    start = size = place[SIZE]
    p_max = largest_p(place[H_MAX])
    group_end[p_max + 1] = start
    p = p_max
    belief = believe(search)
    node_of, value, doubt = entries.node, entries.value, entries.doubt
    opened, opened_p, num_actions = search.opened, search.opened_p, search.num_actions
    for k in range(place[OPENED]):
        i = opened[k]
        while p > opened_p[k]:
            group_end[p] = size
            p -= 1
        first = graph.child[graph.home[node_of[i]]]
        for node in range(first, first + num_actions):
            if tree.flags[node] & ILLEGAL:
                continue
            node_of[size] = node
            value[size] = value[i] + weight * shrunk(tree, node, belief)
            doubt[size] = doubt[i] + weight * weight / tree.pulls[node]
            size += 1
    while p >= 0:
        group_end[p] = size
        p -= 1
    place[LAYER], place[START], place[SIZE] = h + 1, start, size
    place[DEEPEST] = max(place[DEEPEST], h + 1)
