"""The loop of the default planner."""

from __future__ import annotations

from typing import Any

from platypoos.compiled.code import borrowed, inlined, jit, part
from platypoos.compiled.ledger.drivers import Driver
from platypoos.compiled.platypus.asking import ask
from platypoos.compiled.platypus.jury import hear, is_sure, next_look
from platypoos.compiled.platypus.knowledge import is_noisy
from platypoos.compiled.platypus.policies import propose_policies
from platypoos.compiled.platypus.sequence_explorer import explore_sequences
from platypoos.compiled.platypus.state import (
    BEFORE,
    FINISHED,
    JURY,
    LOOK,
    POLICIES,
    SEQUENCES,
    START,
    TREE,
    Search,
)
from platypoos.compiled.platypus.tree_explorer import explore_tree
from platypoos.compiled.platypus.tuning import (
    HEARING_SHARE,
    JURY_SHARE,
    LEAST_SHARE,
    STAGES,
    WIDE_SHARE,
)
from platypoos.compiled.platypus.walking import follow
from platypoos.trees.requests import calls_made


@Driver
def plan_on(sim: Any, search: Search) -> bool:
    """Plan on; True when it is finished, False if it is interrupted and can go on."""
    phase = present(search)
    while phase != FINISHED:
        if phase == START:
            done = start(sim, search)
        elif phase == TREE:
            done = explore_tree(sim, search)
        elif phase == SEQUENCES:
            done = explore_sequences(sim, search)
        elif phase == POLICIES:
            done = propose_policies(sim, search)
        elif phase == LOOK:
            done = look(sim, search)
        else:
            done = hear(sim, search)
        if not done:
            return False
        phase = advance(search, calls_made(sim))
    return True


@jit
def present(search: Search) -> int:
    """What is going on."""
    return search.at[0].phase  # type: ignore[no-any-return]


@part
def start(sim: Any, search: Search) -> bool:
    """Begin with what is left of the last decision's sequence, and with those of one action."""
    if take_kept(search) and not follow(sim, search):
        return False
    return explore_sequences(sim, search)


@jit
def take_kept(search: Search) -> bool:
    """Whether ``trial`` holds a sequence that was not walked yet."""
    at = search.at[0]
    first = at.kept == 1
    if first:
        at.kept = 2
    return first  # type: ignore[no-any-return]


@part
def look(sim: Any, search: Search) -> bool:
    """Look for noise."""
    count = next_look(search, calls_made(sim))
    return count == 0 or ask(sim, search, count)


@inlined
def share_of_tree(search: Search) -> float:
    """What the tree explorer earns of each call: by new best sequences for each call it has cost.

    Each explorer is given one in a stage to begin with.
    """
    at = search.at[0]
    tree = at.tree_wins / (at.tree_spent + at.stage)
    share = tree / (tree + at.sequence_wins / (at.sequence_spent + at.stage))
    least = LEAST_SHARE * min(1.0, (at.limit - at.began) / (STAGES * len(search.value)))
    return max(least, min(1.0 - LEAST_SHARE, share))  # type: ignore[no-any-return]


@jit
def advance(search: Search, calls: int) -> int:
    """What comes next, and until how many calls."""
    search = borrowed(search)
    at = search.at[0]
    if at.phase in (JURY, LOOK):
        at.agreed = at.agreed + 1 if at.leader == at.last_leader else 0
        at.last_leader = at.leader
        at.sure = at.stops == 1 and is_sure(search)
    elif at.phase == TREE:
        at.tree_spent += calls - at.turn_began
        at.credit = min(0.0, at.credit - (calls - at.turn_began))
    elif at.phase == SEQUENCES:
        at.sequence_spent += calls - at.turn_began
    if at.last == 1 or calls >= at.limit or at.sure == 1:
        at.phase = FINISHED
    elif at.phase == TREE:
        at.phase = SEQUENCES
        at.turn_began = calls
        at.idle = 0
        at.piece_end = at.stage_began + at.stage
    elif at.phase == SEQUENCES:
        at.phase = POLICIES
        at.offered = 0
    elif at.phase == POLICIES and not is_noisy(search):
        at.phase = LOOK
    elif is_noisy(search) and at.limit - calls <= JURY_SHARE * (at.limit - at.began):
        at.phase = JURY
        at.last = 1
        at.alive = at.offered = 0
        at.piece_end = at.limit
    elif at.phase == POLICIES:
        at.phase = JURY
        at.alive = at.offered = 0
        at.piece_end = calls + int(HEARING_SHARE * at.stage)
    else:
        made = calls - at.stage_began
        if not is_noisy(search):  # nobody is heard: idle sequences must not end the pay
            made = max(made, at.stage)
        at.credit += share_of_tree(search) * made
        at.stage_began = at.turn_began = calls
        at.phase = SEQUENCES
        at.idle = 0
        at.piece_end = calls + at.stage
        if at.credit >= 1.0:
            at.phase = TREE
            at.depth = BEFORE
            at.stuck = at.seen == search.tree.size[0]
            at.wide = 1
            at.tree_end = min(at.limit, calls + int(at.credit))
            at.piece_end = at.tree_end
            if is_noisy(search):
                at.piece_end = calls + max(1, int(WIDE_SHARE * at.credit))
    at.piece_end = min(at.piece_end, at.limit)
    return at.phase  # type: ignore[no-any-return]
