"""Candidates from all that is known: what its best policy would do."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.compiled.code import borrowed, jit, part
from platypoos.compiled.platypus.knowledge import ROUGHLY, believed, is_over, solve
from platypoos.compiled.platypus.state import NOBODY, Ints, Search
from platypoos.compiled.platypus.tuning import CANDIDATES
from platypoos.compiled.platypus.walking import follow
from platypoos.trees.requests import calls_made, is_due


@part
def propose_policies(sim: Any, search: Search) -> bool:
    """Try what the best policy in all that is known would do; False if interrupted."""
    while next_policy(search, calls_made(sim)):
        if not follow(sim, search):
            return False
    return not is_due(sim)


@jit
def next_policy(search: Search, calls: int) -> bool:
    """Write the policy for the next best first action to ``trial``; False after the last.

    Where less than half of a sequence is known, there is no policy to speak of.
    """
    search = borrowed(search)
    at = search.at[0]
    if at.offered == 0:
        solve(search, ROUGHLY)
    while at.offered < CANDIDATES and calls < at.limit:
        node = ranked_child(search, at.offered)
        if node == NOBODY:
            return False
        at.offered += 1
        known = write_policy(search, node, search.trial)
        if 2 * known >= len(search.trial) or at.ended == 1:
            return True
    return False


@jit
def take_policies(search: Search) -> None:
    """Let the best policy be the candidate of every first action, where nothing is unknown."""
    tree = search.tree
    node = int(search.first[search.at[0].root])
    while node != NOBODY:
        first = int(tree.action[node])
        search.value[first] = 0.0  # there is one; it is valued with the others
        search.steps[first] = write_policy(search, node, search.sequences[first])
        node = int(search.sibling[node])


@jit
def write_policy(search: Search, node: int, sequence: Ints) -> int:
    """What the best policy does after a first action; returns how many steps are known.

    The last known action is repeated; ``ended`` tells whether the episode ends with it.
    """
    tree, home = search.tree, search.homes.home
    action, known = 0, 0
    search.at[0].ended = 0
    for t in range(len(sequence)):
        if node != NOBODY:
            known = t + 1
            action = int(tree.action[node])
            if is_over(search, node):
                search.at[0].ended = 1
                node = NOBODY
            else:
                node = int(search.choice[home[node]])
        sequence[t] = action
    return known


@jit
def ranked_child(search: Search, number: int) -> int:
    """The child of the root that has ``number`` better ones, or NOBODY."""
    at, tree, home = search.at[0], search.tree, search.homes.home
    last, last_value = NOBODY, np.inf
    for _ in range(number + 1):
        best, best_value = NOBODY, -np.inf
        child = int(search.first[at.root])
        while child != NOBODY:
            if tree.pulls[child] > 0:
                value = believed(search, child)
                if not is_over(search, child):
                    value += at.discount * tree.value[home[child]]
                after = value < last_value or (value == last_value and child < last)
                if after and (value > best_value or (value == best_value and child > best)):
                    best, best_value = child, value
            child = int(search.sibling[child])
        if best == NOBODY:
            return NOBODY
        last, last_value = best, best_value
    return last
