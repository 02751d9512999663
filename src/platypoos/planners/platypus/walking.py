"""Walk a whole sequence from the root: known steps are free, unknown ones are calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.compile import borrowed, inlined, jit, part
from platypoos.ledger.requests import calls_made, is_late, play_whole
from platypoos.ledger.tree import ticket
from platypoos.planners.platypus.extending import extend
from platypoos.planners.platypus.knowledge import (
    add_child,
    child_by,
    is_over,
    may,
    outlook,
    random_action,
    value_of,
)
from platypoos.planners.platypus.mind import BEFORE, NOBODY, SEQUENCES, TREE, Mind


@part
def follow(sim: Any, mind: Mind) -> bool:
    """Walk along ``trial``, and weigh it. False if time is up, or if a compiled model failed."""
    return walk_on(sim, mind, begin_walk(mind, calls_made(sim)))


@part
def walk_on(sim: Any, mind: Mind, t: int) -> bool:
    """Go on with a walk whose first steps are laid, and weigh it."""
    if mind.reset:
        got = play_whole(sim, mind.tree, mind.path[:t], mind.samples)
        if got < 0:
            return False
        end_walk(mind, got, t)
        if is_late(sim):
            return False
    else:
        while t >= 0:
            t = extend(sim, mind, t)
            if t < 0 or is_late(sim):
                return False
            t = lay(mind, t, calls_made(sim))
    weigh(mind)
    return True


@jit
def begin_walk(mind: Mind, calls: int) -> int:
    """Lay the known steps; by RESET all steps, as nodes to be played."""
    mind = borrowed(mind)
    at = mind.at[0]
    at.known = mind.tree.size[0]
    at.whole = at.ended = at.steps = 0
    if not mind.reset:
        return lay(mind, 0, calls)
    state = int(at.root)
    length = min(len(mind.trial), at.limit - calls)
    for t in range(length):
        if is_over(mind, state):
            return t
        if not may(mind, state, mind.trial[t]):
            mind.trial[t] = random_action(mind, state)
        child = child_by(mind, state, mind.trial[t])
        if child == NOBODY:
            child = add_child(mind, state, mind.trial[t])
        mind.path[t] = state = child
    return length  # type: ignore[no-any-return]


@jit
def end_walk(mind: Mind, got: int, steps: int) -> None:
    """By RESET: take back the nodes that were made behind the end of the episode."""
    mind = borrowed(mind)
    at, tree = mind.at[0], mind.tree
    if got < steps:
        tree.size[0] = mind.path[got]
        end = mind.path[got - 1] if got > 0 else at.root
        mind.first[end] = mind.sibling[mind.path[got]]
        mind.tried[end] -= 1
    for t in range(got):
        mind.trial[t] = tree.action[mind.path[t]]
    at.steps = got
    at.ended = got > 0 and is_over(mind, int(mind.path[got - 1]))
    at.whole = at.ended == 1 or got == len(mind.trial)


@jit
def lay(mind: Mind, t: int, calls: int) -> int:
    """Go on along the known steps of ``trial``. Returns where an unknown one comes, or −1.

    Actions that are not legal are replaced by random ones. −1 if there is no such step, or if
    there are no calls for it.
    """
    mind = borrowed(mind)
    at = mind.at[0]
    node = int(mind.path[t - 1]) if t > 0 else int(at.root)
    state = int(mind.homes.home[node])
    length = len(mind.trial)
    while t < length:
        if t > 0 and is_over(mind, node):
            at.ended = 1
            break
        action = mind.trial[t]
        if not may(mind, state, action):
            action = random_action(mind, state)
            mind.trial[t] = action
        child = child_by(mind, state, action)
        if child == NOBODY:
            at.steps, at.here = t, state
            return t if calls < at.limit else -1
        mind.path[t] = node = child
        state = int(mind.homes.home[child])
        t += 1
    if t == length and is_over(mind, node):
        at.ended = 1
    at.steps = t
    at.whole = 1
    return -1


@jit
def weigh(mind: Mind) -> None:
    """Compare a sequence that was walked with the best one that begins alike, and keep one.

    Of equal ones the one with the better outlook is kept, then the new one, unless it ends the
    episode and the other does not, or earlier. One that was cut short is not kept. A new one leads
    if no other is better: where all are equal, the search drifts on.
    """
    mind = borrowed(mind)
    at = mind.at[0]
    at.idle = at.idle + 1 if mind.tree.size[0] == at.known else 0
    steps = at.steps
    if steps == 0 or at.whole == 0:
        return
    first = int(mind.trial[0])
    rival = mind.value[first]
    value = value_of(mind, mind.trial, steps)
    if rival > -np.inf:
        rival = value_of(mind, mind.sequences[first], mind.steps[first])
        mind.value[first] = rival
        if value < rival:
            return
        if value == rival:
            rest = outlook(mind, mind.sequences[first], mind.steps[first])
            mind.outlook[first] = rest
            if outlook(mind, mind.trial, steps) < rest:
                return
            if at.ended == 1 and steps < mind.steps[first]:
                return
    if at.leader != BEFORE and value > mind.value[at.leader]:
        if at.phase == TREE:
            at.tree_wins += 1
        elif at.phase == SEQUENCES:
            at.sequence_wins += 1
    mind.value[first] = value
    mind.outlook[first] = outlook(mind, mind.trial, steps)
    for t in range(len(mind.trial)):
        mind.sequences[first, t] = mind.trial[t]
    mind.steps[first] = steps
    lead(mind)
    if value == mind.value[at.leader] and mind.outlook[first] == mind.outlook[at.leader]:
        at.leader = first


@jit
def lead(mind: Mind) -> None:
    """Find the best candidate."""
    at = mind.at[0]
    at.leader = BEFORE
    for action in range(len(mind.value)):
        if mind.value[action] > -np.inf and (
            at.leader == BEFORE or is_better(mind, action, int(at.leader))
        ):
            at.leader = action


@inlined
def is_better(mind: Mind, one: int, other: int) -> bool:
    """Whether a candidate is better than another; of equal ones, by the outlook, then by chance."""
    if mind.value[one] != mind.value[other]:
        return mind.value[one] > mind.value[other]  # type: ignore[no-any-return]
    if mind.outlook[one] != mind.outlook[other]:
        return mind.outlook[one] > mind.outlook[other]  # type: ignore[no-any-return]
    return ticket(mind.at[0].seed, one) > ticket(mind.at[0].seed, other)  # type: ignore[return-value]
