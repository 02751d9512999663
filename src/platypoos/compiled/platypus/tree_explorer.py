"""The tree explorer: rounds of the paper's Figure 3 on the graph of states."""

from __future__ import annotations

from typing import Any

from platypoos.compiled.code import borrowed, inlined, jit, part
from platypoos.compiled.platypus.asking import ask
from platypoos.compiled.platypus.knowledge import (
    add_child,
    child_by,
    is_noisy,
    is_over,
    may,
)
from platypoos.compiled.platypus.state import BEFORE, NOBODY, Search
from platypoos.compiled.platypus.tuning import DEEPER, GROWTH
from platypoos.compiled.platypus.walking import follow
from platypoos.search.counts import PLATYPOOS, evaluations
from platypoos.trees.requests import calls_made, is_due
from platypoos.trees.tickets import ticket

ROUND_OVER, PIECE_OVER = -1, -2


@part
def explore_tree(sim: Any, search: Search) -> bool:
    """Run rounds until this piece's calls are spent; False if interrupted."""
    while True:
        count = next_request(search, calls_made(sim))
        if count == PIECE_OVER:
            return True
        if count > 0 and not ask(sim, search, count):
            return False
        if count == ROUND_OVER:
            while best_leaf(search):
                if not follow(sim, search):
                    return False
        if is_due(sim):
            return False


@jit
def next_request(search: Search, calls: int) -> int:
    """Go through the layers of a round until something is missing; returns the request's size.

    ROUND_OVER after a round that has learned something; PIECE_OVER if no round is begun.
    """
    search = borrowed(search)
    at = search.at[0]
    count = 0
    while count == 0:
        if at.depth == BEFORE:
            if at.wide == 1 and is_noisy(search) and (calls >= at.piece_end or at.stuck == 1):
                at.wide = at.stuck = 0
                at.piece_end = at.tree_end
            if calls >= at.piece_end or at.stuck == 1:
                return PIECE_OVER
            begin_round(search)
        elif at.cut == 0:
            spread(search)
        last = at.depth > size_of(search) or at.depth >= DEEPER * len(search.trial)
        if at.cut == 1 or last or at.entries == at.layer:
            end_round(search)
            if at.opened == 1:
                return ROUND_OVER
        else:
            count = pick(search, calls)
    return count


@inlined
def size_of(search: Search) -> int:
    """h_max of the present round."""
    at = search.at[0]
    return at.h_wide if at.wide == 1 else at.h_max  # type: ignore[no-any-return]


@jit
def begin_round(search: Search) -> None:
    """Start at the root."""
    at = search.at[0]
    at.depth = at.layer = at.cut = at.opened = 0
    at.round_number += 1
    at.entries = 1
    at.best_end = BEFORE
    search.entry_node[0] = at.root
    search.entry_before[0] = BEFORE
    search.entry_value[0] = 0.0


@jit
def spread(search: Search) -> None:
    """Make the entries of the next layer: of those that meet in a state, the best.

    A state is opened once in a round, where it is met first.
    """
    at, tree, home = search.at[0], search.tree, search.homes.home
    start = at.entries
    weight = at.discount ** float(at.depth)
    for i in range(at.picked):
        entry = search.picked[i]
        child = int(search.first[home[search.entry_node[entry]]])
        while child != NOBODY:
            if tree.pulls[child] > 0:
                value = search.entry_value[entry] + weight * tree.reward[child]
                if at.entries == len(search.entry_node):
                    at.cut = 1
                    break
                if is_over(search, child):
                    if at.best_end == BEFORE or value > search.entry_value[at.best_end]:
                        at.best_end = at.entries
                        put(search, at.entries, child, entry, value)
                        at.entries += 1
                elif search.seen_in[home[child]] != at.round_number:
                    state = home[child]
                    place = int(search.place[state])
                    if start <= place < at.entries and home[search.entry_node[place]] == state:
                        if value > search.entry_value[place]:
                            put(search, place, child, entry, value)
                    else:
                        search.place[state] = at.entries
                        put(search, at.entries, child, entry, value)
                        at.entries += 1
            child = int(search.sibling[child])
    at.layer = start
    at.depth += 1


@inlined
def put(search: Search, entry: int, node: int, before: int, value: float) -> None:
    """Write an entry."""
    search.entry_node[entry] = node
    search.entry_before[entry] = before
    search.entry_value[entry] = value


@jit
def pick(search: Search, calls: int) -> int:
    """Choose the states of the layer to open, and write what is missing there as a request."""
    at, tree = search.at[0], search.tree
    at.picked = 0
    count = 0
    h = at.depth
    left = min(at.piece_end - calls, len(search.nodes))
    if h == 0:
        times = 1 if at.wide == 1 else at.h_max
        return open_entry(search, 0, times, left, 0)[0]
    rank_layer(search)
    waiting = at.entries - at.layer
    h_max = size_of(search)
    most = 0
    if at.wide == 0:
        while 2 << most <= h_max:
            most += 1
    weight = at.discount ** (2.0 * h)
    before = at.discount ** (2.0 * (h - 1))
    for p in range(most, -1, -1):
        times = 1 if at.wide == 1 else evaluations(PLATYPOOS, h, p, weight)
        quota = h_max // max(1, h * times)
        needed = 1
        if h > 1 and at.wide == 0:
            needed = evaluations(PLATYPOOS, h - 1, p, before)
        left_over = 0
        for i in range(waiting):
            entry = int(search.ranks[i])
            node = search.entry_node[entry]
            ready = tree.pulls[node] >= needed and not is_over(search, node)
            if ready and quota > 0 and at.cut == 0:
                count, left = open_entry(search, entry, times, left, count)
                quota -= 1
            else:
                search.ranks[left_over] = entry
                left_over += 1
        waiting = left_over
    return count


@jit
def rank_layer(search: Search) -> None:
    """Order the entries of the layer in ``ranks``, the best first; ties by chance."""
    at = search.at[0]
    size = at.entries - at.layer
    for i in range(size):
        search.ranks[i] = at.layer + i
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:  # by Shell's method: layers are small, and nothing is allocated
        for i in range(gap, size):
            entry = int(search.ranks[i])
            j = i
            while j >= gap and comes_before(search, entry, int(search.ranks[j - gap])):
                search.ranks[j] = search.ranks[j - gap]
                j -= gap
            search.ranks[j] = entry
        gap //= 3


@inlined
def comes_before(search: Search, one: int, other: int) -> bool:
    """Whether an entry is better than another."""
    mine, others = search.entry_value[one], search.entry_value[other]
    if mine != others:
        return mine > others  # type: ignore[no-any-return]
    seed, home = search.at[0].seed, search.homes.home
    return ticket(seed, home[search.entry_node[one]]) > ticket(seed, home[search.entry_node[other]])  # type: ignore[return-value]


@jit
def open_entry(search: Search, entry: int, times: int, left: int, count: int) -> tuple[int, int]:
    """Bring each action of a state to ``times`` samples: ask for those that are missing."""
    at, tree = search.at[0], search.tree
    state = int(search.homes.home[search.entry_node[entry]])
    cost = at.depth + 1 if search.reset else 1
    for action in range(len(search.value)):
        if not may(search, state, action):
            continue
        child = child_by(search, state, action)
        have = 0 if child == NOBODY else tree.pulls[child]
        missing = times - have
        if missing <= 0:
            continue
        if missing * cost > left:
            at.cut = 1
            missing = left // cost
            if missing == 0:
                break
        if child == NOBODY:
            child = add_child(search, state, action)
        at.opened = 1
        search.nodes[count] = child
        search.repeats[count] = missing
        left -= missing * cost
        count += 1
    search.seen_in[state] = at.round_number
    search.picked[at.picked] = entry
    at.picked += 1
    return count, left


@jit
def best_leaf(search: Search) -> bool:
    """Write the best sequence of the round to ``trial``; False if there is none left.

    First the best of the last layer, then the best of those that end the episode.
    """
    search = borrowed(search)
    at = search.at[0]
    entry = BEFORE
    if at.layer >= 0:
        for i in range(at.layer, at.entries):
            if is_over(search, search.entry_node[i]):
                continue
            if entry == BEFORE or search.entry_value[i] > search.entry_value[entry]:
                entry = i
        at.layer = BEFORE
    if entry <= 0:
        entry, at.best_end = at.best_end, BEFORE
    if entry <= 0:
        return False
    steps = 0
    before = entry
    while before > 0:
        steps += 1
        before = search.entry_before[before]
    last = search.tree.action[search.entry_node[entry]]
    for t in range(steps, len(search.trial)):
        search.trial[t] = last
    while entry > 0:
        steps -= 1
        if steps < len(search.trial):
            search.trial[steps] = search.tree.action[search.entry_node[entry]]
        entry = search.entry_before[entry]
    return True


@jit
def end_round(search: Search) -> None:
    """A round that was not cut short is followed by a larger one.

    It is larger by a quarter, or twice as large if all of it was known. If there was nothing to
    ask for, and it was cut short or looked at all states, none will find more.
    """
    at, size = search.at[0], search.tree.size[0]
    if at.opened == 0 and (at.cut == 1 or size_of(search) > size * DEEPER * len(search.trial)):
        at.stuck = 1
        if at.wide == 1:
            at.seen = size
    elif at.cut == 0:
        larger = size_of(search)
        larger += max(1, int(GROWTH * larger)) if at.opened == 1 else larger
        if at.wide == 1:
            at.h_wide = larger
        else:
            at.h_max = larger
    at.depth = BEFORE
