"""Walk a whole sequence from the root: known steps are free, unknown ones are calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.compiled.code import borrowed, inlined, jit, part
from platypoos.compiled.platypus.extending import extend
from platypoos.compiled.platypus.knowledge import (
    add_child,
    child_by,
    is_over,
    may,
    outlook,
    random_action,
    value_of,
)
from platypoos.compiled.platypus.state import BEFORE, NOBODY, SEQUENCES, TREE, Search
from platypoos.trees.requests import calls_made, is_late, play_whole
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import TERMINAL


@part
def follow(sim: Any, search: Search) -> bool:
    """Walk along ``trial``, and weigh it. False if time is up, or if a compiled model failed."""
    return walk_on(sim, search, begin_walk(search, calls_made(sim)))


@part
def walk_on(sim: Any, search: Search, t: int) -> bool:
    """Go on with a walk whose first steps are laid, and weigh it."""
    if search.reset:
        got = play_whole(sim, search.tree, search.path[:t], search.samples)
        if got < 0:
            return False
        end_walk(search, got, t)
        if is_late(sim):
            return False
    else:
        while t >= 0:
            t = extend(sim, search, t)
            if t < 0 or is_late(sim):
                return False
            t = lay(search, t, calls_made(sim))
    weigh(search)
    return True


@jit
def begin_walk(search: Search, calls: int) -> int:
    """Lay the known steps; by RESET all steps, as nodes to be played."""
    search = borrowed(search)
    at = search.at[0]
    at.known = search.tree.size[0]
    at.whole = at.ended = at.steps = 0
    if not search.reset:
        return lay(search, 0, calls)
    state = int(at.root)
    length = min(len(search.trial), at.limit - calls)
    for t in range(length):
        if is_over(search, state):
            return t
        if not may(search, state, search.trial[t]):
            search.trial[t] = random_action(search, state)
        child = child_by(search, state, search.trial[t])
        if child == NOBODY:
            child = add_child(search, state, search.trial[t])
        search.path[t] = state = child
    return length  # type: ignore[no-any-return]


@jit
def end_walk(search: Search, got: int, steps: int) -> None:
    """By RESET: take back the nodes that were made behind the end of the episode.

    Chance may lead where the planned action is not allowed, and another one is taken. If that is
    known there, what was seen from then on is forgotten: a state has one child for an action.
    """
    search = borrowed(search)
    at, tree = search.at[0], search.tree
    state = int(at.root)
    for t in range(got):
        node = int(search.path[t])
        if tree.action[node] != search.trial[t] and has_twin(search, state, node):
            got = t
            if node < at.known:  # older than this walk, but never sampled: as it was
                tree.action[node] = search.trial[t]
                tree.pulls[node] = 0
                tree.flags[node] &= ~np.uint8(TERMINAL)
            break
        state = node
    stay = got  # nodes of the path that remain: those that are older do
    while stay < steps and search.path[stay] < at.known:
        stay += 1
    if stay < steps:
        tree.size[0] = search.path[stay]
        end = search.path[stay - 1] if stay > 0 else at.root
        search.first[end] = search.sibling[search.path[stay]]
        search.tried[end] -= 1
    for t in range(got):
        search.trial[t] = tree.action[search.path[t]]
    at.steps = got
    at.ended = got > 0 and is_over(search, int(search.path[got - 1]))
    at.whole = at.ended == 1 or got == len(search.trial)


@jit
def has_twin(search: Search, state: int, node: int) -> bool:
    """Whether another child of a state has the same action."""
    child = int(search.first[state])
    while child != NOBODY:
        if child != node and search.tree.action[child] == search.tree.action[node]:
            return True
        child = int(search.sibling[child])
    return False


@jit
def lay(search: Search, t: int, calls: int) -> int:
    """Go on along the known steps of ``trial``. Returns where an unknown one comes, or −1.

    Actions that are not legal are replaced by random ones. −1 if there is no such step, or if
    there are no calls for it.
    """
    search = borrowed(search)
    at = search.at[0]
    node = int(search.path[t - 1]) if t > 0 else int(at.root)
    state = int(search.homes.home[node])
    length = len(search.trial)
    while t < length:
        if t > 0 and is_over(search, node):
            at.ended = 1
            break
        action = search.trial[t]
        if not may(search, state, action):
            action = random_action(search, state)
            search.trial[t] = action
        child = child_by(search, state, action)
        if child == NOBODY:
            at.steps, at.here = t, state
            return t if calls < at.limit else -1
        search.path[t] = node = child
        state = int(search.homes.home[child])
        t += 1
    if t == length and is_over(search, node):
        at.ended = 1
    at.steps = t
    at.whole = 1
    return -1


@jit
def weigh(search: Search) -> None:
    """Compare a sequence that was walked with the best one that begins alike, and keep one.

    Of equal ones the one with the better outlook is kept, then the new one, unless it ends the
    episode and the other does not, or earlier. One that was cut short is not kept. A new one leads
    if no other is better: where all are equal, the search drifts on.
    """
    search = borrowed(search)
    at = search.at[0]
    at.idle = at.idle + 1 if search.tree.size[0] == at.known else 0
    steps = at.steps
    if steps == 0 or at.whole == 0:
        return
    first = int(search.trial[0])
    rival = search.value[first]
    value = value_of(search, search.trial, steps)
    if rival > -np.inf:
        rival = value_of(search, search.sequences[first], search.steps[first])
        search.value[first] = rival
        if value < rival:
            return
        if value == rival:
            rest = outlook(search, search.sequences[first], search.steps[first])
            search.outlook[first] = rest
            if outlook(search, search.trial, steps) < rest:
                return
            if at.ended == 1 and steps < search.steps[first]:
                return
    if at.leader != BEFORE and value > search.value[at.leader]:
        if at.phase == TREE:
            at.tree_wins += 1
        elif at.phase == SEQUENCES:
            at.sequence_wins += 1
    search.value[first] = value
    search.outlook[first] = outlook(search, search.trial, steps)
    for t in range(len(search.trial)):
        search.sequences[first, t] = search.trial[t]
    search.steps[first] = steps
    lead(search)
    if value == search.value[at.leader] and search.outlook[first] == search.outlook[at.leader]:
        at.leader = first


@jit
def lead(search: Search) -> None:
    """Find the best candidate."""
    at = search.at[0]
    at.leader = BEFORE
    for action in range(len(search.value)):
        if search.value[action] > -np.inf and (
            at.leader == BEFORE or is_better(search, action, int(at.leader))
        ):
            at.leader = action


@inlined
def is_better(search: Search, one: int, other: int) -> bool:
    """Whether a candidate is better than another; of equal ones, by the outlook, then by chance."""
    if search.value[one] != search.value[other]:
        return search.value[one] > search.value[other]  # type: ignore[no-any-return]
    if search.outlook[one] != search.outlook[other]:
        return search.outlook[one] > search.outlook[other]  # type: ignore[no-any-return]
    return ticket(search.at[0].seed, one) > ticket(search.at[0].seed, other)  # type: ignore[return-value]
