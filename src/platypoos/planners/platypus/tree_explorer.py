"""The tree explorer: rounds of the paper's Figure 3 on the graph of states."""

from __future__ import annotations

from typing import Any

from platypoos.compile import borrowed, inlined, jit, part
from platypoos.ledger.requests import calls_made, is_due
from platypoos.ledger.tree import ticket
from platypoos.planners.platypus.asking import ask
from platypoos.planners.platypus.knowledge import (
    add_child,
    child_by,
    is_noisy,
    is_over,
    may,
)
from platypoos.planners.platypus.mind import BEFORE, NOBODY, Mind
from platypoos.planners.platypus.tuning import DEEPER, GROWTH
from platypoos.planners.platypus.walking import follow
from platypoos.search.schedules import PLATYPOOS, evaluations

ROUND_OVER, PIECE_OVER = -1, -2


@part
def explore_tree(sim: Any, mind: Mind) -> bool:
    """Run rounds until this piece's calls are spent; False if interrupted."""
    while True:
        count = next_request(mind, calls_made(sim))
        if count == PIECE_OVER:
            return True
        if count > 0 and not ask(sim, mind, count):
            return False
        if count == ROUND_OVER:
            while best_leaf(mind):
                if not follow(sim, mind):
                    return False
        if is_due(sim):
            return False


@jit
def next_request(mind: Mind, calls: int) -> int:
    """Go through the layers of a round until something is missing; returns the request's size.

    ROUND_OVER after a round that has learned something; PIECE_OVER if no round is begun.
    """
    mind = borrowed(mind)
    at = mind.at[0]
    count = 0
    while count == 0:
        if at.depth == BEFORE:
            if at.wide == 1 and is_noisy(mind) and (calls >= at.piece_end or at.stuck == 1):
                at.wide = at.stuck = 0
                at.piece_end = at.tree_end
            if calls >= at.piece_end or at.stuck == 1:
                return PIECE_OVER
            begin_round(mind)
        elif at.cut == 0:
            spread(mind)
        last = at.depth > size_of(mind) or at.depth >= DEEPER * len(mind.trial)
        if at.cut == 1 or last or at.entries == at.layer:
            end_round(mind)
            if at.opened == 1:
                return ROUND_OVER
        else:
            count = pick(mind, calls)
    return count


@inlined
def size_of(mind: Mind) -> int:
    """h_max of the present round."""
    at = mind.at[0]
    return at.h_wide if at.wide == 1 else at.h_max  # type: ignore[no-any-return]


@jit
def begin_round(mind: Mind) -> None:
    """Start at the root."""
    at = mind.at[0]
    at.depth = at.layer = at.cut = at.opened = 0
    at.round_number += 1
    at.entries = 1
    at.best_end = BEFORE
    mind.entry_node[0] = at.root
    mind.entry_before[0] = BEFORE
    mind.entry_value[0] = 0.0


@jit
def spread(mind: Mind) -> None:
    """Make the entries of the next layer: of those that meet in a state, the best.

    A state is opened once in a round, where it is met first.
    """
    at, tree, home = mind.at[0], mind.tree, mind.homes.home
    start = at.entries
    weight = at.discount ** float(at.depth)
    for i in range(at.picked):
        entry = mind.picked[i]
        child = int(mind.first[home[mind.entry_node[entry]]])
        while child != NOBODY:
            if tree.pulls[child] > 0:
                value = mind.entry_value[entry] + weight * tree.reward[child]
                if at.entries == len(mind.entry_node):
                    at.cut = 1
                    break
                if is_over(mind, child):
                    if at.best_end == BEFORE or value > mind.entry_value[at.best_end]:
                        at.best_end = at.entries
                        put(mind, at.entries, child, entry, value)
                        at.entries += 1
                elif mind.seen_in[home[child]] != at.round_number:
                    state = home[child]
                    place = int(mind.place[state])
                    if start <= place < at.entries and home[mind.entry_node[place]] == state:
                        if value > mind.entry_value[place]:
                            put(mind, place, child, entry, value)
                    else:
                        mind.place[state] = at.entries
                        put(mind, at.entries, child, entry, value)
                        at.entries += 1
            child = int(mind.sibling[child])
    at.layer = start
    at.depth += 1


@inlined
def put(mind: Mind, entry: int, node: int, before: int, value: float) -> None:
    """Write an entry."""
    mind.entry_node[entry] = node
    mind.entry_before[entry] = before
    mind.entry_value[entry] = value


@jit
def pick(mind: Mind, calls: int) -> int:
    """Choose the states of the layer to open, and write what is missing there as a request."""
    at, tree = mind.at[0], mind.tree
    at.picked = 0
    count = 0
    h = at.depth
    left = at.piece_end - calls
    if h == 0:
        times = 1 if at.wide == 1 else at.h_max
        return open_entry(mind, 0, times, left, 0)[0]
    rank_layer(mind)
    waiting = at.entries - at.layer
    h_max = size_of(mind)
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
            entry = int(mind.ranks[i])
            node = mind.entry_node[entry]
            ready = tree.pulls[node] >= needed and not is_over(mind, node)
            if ready and quota > 0 and at.cut == 0:
                count, left = open_entry(mind, entry, times, left, count)
                quota -= 1
            else:
                mind.ranks[left_over] = entry
                left_over += 1
        waiting = left_over
    return count


@jit
def rank_layer(mind: Mind) -> None:
    """Order the entries of the layer in ``ranks``, the best first; ties by chance."""
    at = mind.at[0]
    size = at.entries - at.layer
    for i in range(size):
        mind.ranks[i] = at.layer + i
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:  # by Shell's method: layers are small, and nothing is allocated
        for i in range(gap, size):
            entry = int(mind.ranks[i])
            j = i
            while j >= gap and comes_before(mind, entry, int(mind.ranks[j - gap])):
                mind.ranks[j] = mind.ranks[j - gap]
                j -= gap
            mind.ranks[j] = entry
        gap //= 3


@inlined
def comes_before(mind: Mind, one: int, other: int) -> bool:
    """Whether an entry is better than another."""
    mine, others = mind.entry_value[one], mind.entry_value[other]
    if mine != others:
        return mine > others  # type: ignore[no-any-return]
    seed, home = mind.at[0].seed, mind.homes.home
    return ticket(seed, home[mind.entry_node[one]]) > ticket(seed, home[mind.entry_node[other]])  # type: ignore[return-value]


@jit
def open_entry(mind: Mind, entry: int, times: int, left: int, count: int) -> tuple[int, int]:
    """Ask for so many samples of each action in a state, of those that it has not got yet."""
    at, tree = mind.at[0], mind.tree
    state = int(mind.homes.home[mind.entry_node[entry]])
    cost = at.depth + 1 if mind.reset else 1
    for action in range(len(mind.value)):
        if not may(mind, state, action):
            continue
        child = child_by(mind, state, action)
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
            child = add_child(mind, state, action)
        at.opened = 1
        mind.nodes[count] = child
        mind.repeats[count] = missing
        left -= missing * cost
        count += 1
    mind.seen_in[state] = at.round_number
    mind.picked[at.picked] = entry
    at.picked += 1
    return count, left


@jit
def best_leaf(mind: Mind) -> bool:
    """Write the best sequence of the round to ``trial``; False if there is none left.

    First the best of the last layer, then the best of those that end the episode.
    """
    mind = borrowed(mind)
    at = mind.at[0]
    entry = BEFORE
    if at.layer >= 0:
        for i in range(at.layer, at.entries):
            if is_over(mind, mind.entry_node[i]):
                continue
            if entry == BEFORE or mind.entry_value[i] > mind.entry_value[entry]:
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
        before = mind.entry_before[before]
    last = mind.tree.action[mind.entry_node[entry]]
    for t in range(steps, len(mind.trial)):
        mind.trial[t] = last
    while entry > 0:
        steps -= 1
        if steps < len(mind.trial):
            mind.trial[steps] = mind.tree.action[mind.entry_node[entry]]
        entry = mind.entry_before[entry]
    return True


@jit
def end_round(mind: Mind) -> None:
    """A round that was not cut short is followed by a larger one.

    It is larger by a quarter, or twice as large if all of it was known. If there was nothing to
    ask for, and it was cut short or looked at all states, none will find more.
    """
    at, size = mind.at[0], mind.tree.size[0]
    if at.opened == 0 and (at.cut == 1 or size_of(mind) > size * DEEPER * len(mind.trial)):
        at.stuck = 1
        if at.wide == 1:
            at.seen = size
    elif at.cut == 0:
        larger = size_of(mind)
        larger += max(1, int(GROWTH * larger)) if at.opened == 1 else larger
        if at.wide == 1:
            at.h_wide = larger
        else:
            at.h_max = larger
    at.depth = BEFORE
