"""The tree explorer: rounds of Figure 3 of the paper; the twin of ``planners/platypus/tree.py``.

What is a generator there is ``next_openings`` here: it goes on from where an explorer stands.
"""

from __future__ import annotations

import math

import numpy as np

from platypoos.compiled.platypus.arrays import NONE, OF_WIDE, TREE, WIDE, Search
from platypoos.compiled.platypus.asking import request
from platypoos.compiled.platypus.draws import bit_length
from platypoos.compiled.platypus.graph import count_options, find_edge
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.sequences import row_of
from platypoos.compiled.platypus.walking import advance, make_walk, may_propose, pad, put_in_line
from platypoos.planners.platypus.tree import DEEPEST, LARGEST


@part
def restart(search: Search, which: int) -> None:
    """Begin again at the root, with smaller rounds."""
    explorer = search.explorers[which]
    explorer.h_max = 1 + explorer.h_max // 2
    explorer.inside = explorer.openings = explorer.opened = 0
    explorer.exhausted = -1


@part
def spent_by(search: Search, which: int) -> int:
    """Calls of an explorer, in all plans."""
    return search.spent[OF_WIDE + which]


@part
def is_waiting(search: Search, which: int) -> bool:
    """Whether openings were asked for that are not paid for yet."""
    explorer = search.explorers[which]
    return explorer.opened < explorer.openings


@part
def explore(search: Search, which: int, credit: float) -> bool:
    """Go on with so many calls at most, or until there is nothing to ask for.

    False if the plan is over.
    """
    at, explorer = search.at[0], search.explorers[which]
    end = spent_by(search, which) + credit
    while spent_by(search, which) < end and explorer.exhausted != search.graph[0].known:
        if not is_waiting(search, which):
            next_openings(search, which)
            continue
        left = np.int64(end - spent_by(search, which))
        at.requests = 0
        while is_waiting(search, which) and left >= 0:
            left = ask_for(search, which, explorer.opened, left)
            if left >= 0:
                explorer.opened += 1
        if at.requests == 0 and is_waiting(search, which):
            return True
        if at.requests > 0 and not advance(search):
            return False
    return True


@part
def ask_for(search: Search, which: int, number: int, left: int) -> int:
    """Ask for what is missing of an opening; returns the calls left, −1 if too few."""
    opening = search.openings[which, number]
    state, masked = opening.state, search.graph[0].masked
    if masked:
        count_options(search, state)
    for action in range(search.graph[0].num_actions):
        if masked and search.legal[state, action] == 0:
            continue
        edge = find_edge(search, state, action)
        missing = opening.times - (0 if edge == NONE else search.edges[edge].samples)
        if missing > 0:
            paid = min(missing, left)
            if paid > 0:
                request(search, state, action, 1, paid, OF_WIDE + which, NONE)
                left -= paid
            if paid < missing:
                return -1
    return left


@part
def next_openings(search: Search, which: int) -> None:
    """Round after round, each larger than the one before: what to open next."""
    explorer, graph = search.explorers[which], search.graph[0]
    if not explorer.inside:
        begin_round(search, which)
        return
    next_layer(search, which)
    explorer.openings = explorer.opened = 0
    if explorer.h < explorer.layers and explorer.layer < explorer.entries:
        choose(search, which)
        return
    end_round(search, which)
    explorer.inside = 0
    learned = spent_by(search, which) > explorer.spent_before
    h_max = explorer.h_max
    factor = search.rules[0].growth if learned else 2.0
    explorer.h_max = min(LARGEST, max(h_max + 1, np.int64(factor * h_max)))
    if (
        not learned
        and graph.known == explorer.known_before
        and h_max > DEEPEST * search.at[0].length
    ):
        explorer.exhausted = graph.known  # nothing to ask for until more is known
        return
    begin_round(search, which)


@part
def begin_round(search: Search, which: int) -> None:
    """Figure 3, layer by layer; the first one is the root."""
    explorer, graph = search.explorers[which], search.graph[0]
    explorer.inside = 1
    explorer.openings = explorer.opened = 0
    explorer.round += 1
    explorer.spent_before = spent_by(search, which)
    explorer.known_before = graph.known
    explorer.h, explorer.layers = 0, min(explorer.h_max + 1, DEEPEST * search.at[0].length)
    explorer.layer, explorer.entries = 0, 1
    entry = search.entries[which, 0]
    entry.value, entry.edge, entry.before = 0.0, NONE, NONE
    explorer.best_end = NONE
    explorer.power = 1.0
    search.opened[which, graph.root] = explorer.round
    open_one(search, which, graph.root, 1 if which == WIDE else explorer.h_max, 0)


@part
def open_one(search: Search, which: int, state: int, times: int, depth: int) -> None:
    """Another opening of the present layer."""
    explorer = search.explorers[which]
    opening = search.openings[which, explorer.openings]
    opening.state, opening.times, opening.depth = state, times, depth
    explorer.openings += 1


@part
def next_layer(search: Search, which: int) -> None:
    """The states after those that were opened; of the ways that meet in one, only the best."""
    explorer, edges = search.explorers[which], search.edges
    entries, places = search.entries[which], search.places[which]
    layer = explorer.entries
    for i in range(explorer.openings):
        state = search.openings[which, i].state
        before = 0 if explorer.h == 0 else places[state]
        edge = search.states[state].first
        while edge != NONE:
            value = entries[before].value + explorer.power * edges[edge].mean
            place = edges[edge].after
            if place == NONE:
                end = explorer.best_end
                if end == NONE or value > search.ends[which].value:
                    explorer.best_end = 1
                    search.ends[which].value = value
                    search.ends[which].edge, search.ends[which].before = edge, before
            elif search.opened[which, place] != explorer.round:
                known = places[place]
                new = known < layer or known >= explorer.entries
                new = new or edges[entries[known].edge].after != place
                if new:
                    known = places[place] = explorer.entries
                    explorer.entries += 1
                if new or value > entries[known].value:
                    entry = entries[known]
                    entry.value, entry.edge, entry.before = value, edge, before
            edge = edges[edge].next
    explorer.power *= search.graph[0].discount
    explorer.layer = layer
    explorer.h += 1


@part
def end_round(search: Search, which: int) -> None:
    """The best sequences of the last layer, and of those that ended, are proposed."""
    explorer, entries = search.explorers[which], search.entries[which]
    if spent_by(search, which) <= explorer.spent_before:
        return
    if explorer.layer < explorer.entries:
        best = explorer.layer
        for i in range(explorer.layer + 1, explorer.entries):
            if entries[i].value > entries[best].value:
                best = i
        propose(search, which, entries[best].edge, entries[best].before)
    if explorer.best_end != NONE:
        propose(search, which, search.ends[which].edge, search.ends[which].before)


@part
def propose(search: Search, which: int, edge: int, before: int) -> None:
    """Propose the sequence of actions that an entry stands for."""
    entries = search.entries[which]
    if edge == NONE or not may_propose(search):
        return
    walker = make_walk(search, TREE, False)
    count = 1
    entry = before
    while entries[entry].edge != NONE:
        entry = entries[entry].before
        count += 1
    place = row_of(search, walker)
    for i in range(count - 1, -1, -1):
        search.tape[place + i] = search.edges[edge].action
        edge, before = entries[before].edge, entries[before].before
    pad(search, walker, count)
    put_in_line(search, walker)


@part
def samples_for(h: int, p: int, gamma: float, which: int) -> int:
    """c: how many samples all actions of an opened state get."""
    if which == WIDE or h == 0:
        return 1
    return max(1, np.int64(math.ceil(np.float64(h * (1 << p)) * gamma ** np.float64(2 * h))))


@part
def choose(search: Search, which: int) -> None:
    """Choose the best states of a layer; see the plain planner."""
    explorer, gamma = search.explorers[which], search.graph[0].discount
    entries, edges, opened = search.entries[which], search.edges, search.opened[which]
    h, h_max = explorer.h, explorer.h_max
    count = explorer.entries - explorer.layer
    order = search.order[0]
    for i in range(count):
        order[i] = explorer.layer + i
    sort_layer(search, which, count)
    first = 0 if which == WIDE else bit_length(h_max) - 1
    for p in range(first, -1, -1):
        times = samples_for(h, p, gamma, which)
        needed = samples_for(h - 1, p, gamma, which)
        quota = h_max // (h * times)
        for i in range(count):
            if quota <= 0:
                break
            edge = entries[order[i]].edge
            state = edges[edge].after
            if opened[state] != explorer.round and edges[edge].samples >= needed:
                quota -= 1
                opened[state] = explorer.round
                open_one(search, which, state, times, h)


@part
def sort_layer(search: Search, which: int, count: int) -> None:
    """Sort ``order``: the best states first, equal ones by their tickets (merge sort)."""
    one, other = search.order[0], search.order[1]
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle, end = min(start + width, count), min(start + 2 * width, count)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j >= end or not is_before(search, which, one[j], one[i])):
                    other[k] = one[i]
                    i += 1
                else:
                    other[k] = one[j]
                    j += 1
            start = end
        for k in range(count):
            one[k] = other[k]
        width *= 2


@part
def is_before(search: Search, which: int, one: int, other: int) -> bool:
    """Whether one entry is better than another."""
    entries, edges, states = search.entries[which], search.edges, search.states
    first, second = entries[one].value, entries[other].value
    if first != second:
        return first > second
    return states[edges[entries[one].edge].after].ticket > (
        states[edges[entries[other].edge].after].ticket
    )
