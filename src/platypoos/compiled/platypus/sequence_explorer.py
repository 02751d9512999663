"""The sequence explorer: change a stretch of the best sequence, at all time scales."""

from __future__ import annotations

from typing import Any

from platypoos.compiled.code import borrowed, jit, part
from platypoos.compiled.platypus.knowledge import random_below
from platypoos.compiled.platypus.state import BEFORE, Search
from platypoos.compiled.platypus.tuning import IDLE
from platypoos.compiled.platypus.walking import begin_walk, walk_on, weigh
from platypoos.planners.sequence_search import SEED_SHARE, scales
from platypoos.trees.requests import calls_made, is_due

NONE = -2


@part
def explore_sequences(sim: Any, search: Search) -> bool:
    """Try sequences until this piece's calls are spent; False if interrupted."""
    while True:
        t = next_sequence(search, calls_made(sim))
        if t == NONE:
            return True
        if not walk_on(sim, search, t) or is_due(sim):
            return False


@jit
def next_sequence(search: Search, calls: int) -> int:
    """Propose sequences until one has an unknown step; NONE if the piece is over.

    Those that are known are weighed at once. Returns the unknown step; see ``begin_walk``.
    """
    search = borrowed(search)
    while propose(search, calls):
        t = begin_walk(search, calls)
        if t >= 0 or search.reset:
            return t
        weigh(search)
    return NONE


@jit
def propose(search: Search, calls: int) -> bool:
    """Write the next sequence to ``trial``; False if the piece is over.

    First the sequences of one action, then changes of the best sequence; after a change that led
    to nothing new, a random sequence.
    """
    at = search.at[0]
    length, actions = len(search.trial), len(search.value)
    early = calls - at.began < max(actions, SEED_SHARE * (at.limit - at.began))
    ends = at.leader != BEFORE and search.steps[at.leader] < length
    if at.leader == BEFORE or (at.tried < actions and early and (at.kept == 0 or ends)):
        if calls >= at.limit or at.tried >= actions:
            return False
        for t in range(length):
            search.trial[t] = search.order[at.tried]
        at.tried += 1
        return True
    if calls >= at.piece_end or at.idle >= IDLE:
        return False
    if at.idle % 2 == 1:
        for t in range(length):
            search.trial[t] = random_below(search, actions)
        return True
    best, known = search.sequences[at.leader], int(search.steps[at.leader])
    start = random_below(search, known)
    if ends and random_below(search, 2) == 0:
        start = max(0, known - 1 - random_below(search, 1 + (1 << random_below(search, 4))))
    stretch = 1 << random_below(search, scales(length))
    action = best[start]
    if actions > 1:
        action = (action + 1 + random_below(search, actions - 1)) % actions
    for t in range(length):
        search.trial[t] = action if start <= t < start + stretch else best[t]
    return True
