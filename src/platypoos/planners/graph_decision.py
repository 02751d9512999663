"""Which sequence of a round to recommend: the candidates of Figure 3 on the graph of states.

As ``validation.py``, with two differences: the best sequence that begins with another action is a
candidate too, and the samples of the cross-validation are also looked at by themselves. Nothing
was chosen by them, so they tell without favour how far the best is ahead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos._jit import borrowed, jit, jitable
from platypoos.graph import NONE
from platypoos.planners.graph_entries import (
    ASKED,
    DEGREES,
    LOOKS,
    REPEATS,
    SQUARES,
    Entries,
    Search,
)
from platypoos.planners.graph_requests import learn
from platypoos.simulator import calls_made, evaluate
from platypoos.simulator_compiled import Driver
from platypoos.tree import TERMINAL, Tree, ticket

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Ballot(NamedTuple):
    """Scratch memory of a decision, as compiled code reads it."""

    candidates: Ints  # [p_max + 2] for each p an entry, and the best with another first action
    best: Floats  # [p_max + 2] their values
    tickets: NDArray[np.uint64]  # [p_max + 2]
    first: NDArray[np.int32]  # [room] the first action of each entry
    by_action: Ints  # [K] the best entry for each first action
    weights: Floats  # [room] of the steps of the cross-validation
    result: Floats  # [5] value, floor, fresh gap and its variance, whether there is one


VALUE, FLOOR, GAP, GAP_VARIANCE, HAS_GAP = 0, 1, 2, 3, 4


def make_ballot(levels: int, room: int, num_actions: int) -> Ballot:
    """Room for the candidates of so many p."""
    return Ballot(
        candidates=np.empty(levels + 1, np.int64),
        best=np.empty(levels + 1),
        tickets=np.empty(levels + 1, np.uint64),
        first=np.empty(room, np.int32),
        by_action=np.empty(num_actions, np.int64),
        weights=np.empty(room),
        result=np.zeros(5),
    )


@Driver
def decide(
    sim: Any,
    tree: Tree,
    entries: Entries,
    size: int,
    search: Search,
    ballot: Ballot,
    limit: int,
    given_floor: float,
    tie_seed: int,
) -> int:
    """Find candidates, cross-validate them with what is left, return the best one's entry."""
    nodes, repeats = search.nodes, search.repeats
    asked = elect(
        tree, entries, size, search, ballot, limit - calls_made(sim), given_floor, tie_seed
    )
    if asked > 0 and not evaluate(sim, tree, nodes[:asked], repeats[:asked]):
        return NONE
    return judge(tree, entries, search, ballot)


@jitable
def reward_floor(tree: Tree, entries: Entries, size: int, search: Search, given: float) -> float:
    """The reward that unseen steps are counted at; see ``validation.py``."""
    if not np.isnan(given):
        return given
    floor, least = np.inf, np.inf
    ended = False
    entries.value[0] = 0.0
    for i in range(1, size):
        node = entries.node[i]
        weight = search.power[entries.depth[i] - 1]
        entries.value[i] = entries.value[entries.parent[i]] + weight * tree.reward[node]
        steps = (1.0 - weight * search.gamma) / (1.0 - search.gamma)
        least = min(least, entries.value[i] / steps)
        floor = min(floor, tree.reward[node])
        ended = ended or tree.flags[node] & TERMINAL != 0
    return min(least, 0.0) if ended else floor


@jit
def elect(
    tree: Tree,
    entries: Entries,
    size: int,
    search: Search,
    ballot: Ballot,
    calls_left: int,
    given_floor: float,
    tie_seed: int,
) -> int:
    """The candidates, and the request that cross-validates them; returns its length."""
    tree, entries = borrowed(tree), borrowed(entries)
    floor = reward_floor(tree, entries, size, search, given_floor)
    ballot.result[FLOOR] = floor
    candidates, best, tickets = ballot.candidates, ballot.best, ballot.tickets
    first, by_action = ballot.first, ballot.by_action
    levels = len(candidates) - 1
    for p in range(levels + 1):
        candidates[p] = NONE
        best[p] = -np.inf
        tickets[p] = np.uint64(0)
    for action in range(len(by_action)):
        by_action[action] = NONE
    gamma = search.gamma
    entries.value[0] = 0.0
    for i in range(1, size):
        node, parent = entries.node[i], entries.parent[i]
        weight = search.power[entries.depth[i] - 1]
        value = entries.value[parent] + weight * (tree.reward[node] - floor)
        if tree.flags[node] & TERMINAL:  # absorbing with reward 0 for ever, and that is certain
            value -= weight * gamma * floor / (1.0 - gamma)
        entries.value[i] = value
        first[i] = tree.action[node] if parent == 0 else first[parent]
        p = entries.p_index[i]
        entry = ticket(tie_seed, i)
        if value > best[p] or (value == best[p] and entry > tickets[p]):
            candidates[p], best[p], tickets[p] = i, value, entry
        rival = by_action[first[i]]
        if rival == NONE or value > entries.value[rival]:
            by_action[first[i]] = i
    for p in range(levels - 2, -1, -1):
        if best[p + 1] > best[p] or (best[p + 1] == best[p] and tickets[p + 1] > tickets[p]):
            candidates[p], best[p], tickets[p] = candidates[p + 1], best[p + 1], tickets[p + 1]
    for action in range(len(by_action)):  # the best that begins otherwise
        rival = by_action[action]
        if rival != NONE and action != first[candidates[0]] and entries.value[rival] > best[levels]:
            candidates[levels], best[levels] = rival, entries.value[rival]
    return write_validation(tree, entries, search, ballot, calls_left)


@jitable
def write_validation(
    tree: Tree, entries: Entries, search: Search, ballot: Ballot, calls_left: int
) -> int:
    """Divide the calls among the steps of the candidates, by (t+1)·γ^(2t)."""
    search.place[ASKED] = 0
    if search.noise[DEGREES] > 0.0 and search.noise[SQUARES] == 0.0:  # another look for noise
        calls_left = min(calls_left, max(0, LOOKS - int(search.noise[REPEATS])))
    if calls_left <= 0:
        return 0
    candidates = ballot.candidates
    steps = 0
    total = 0.0
    for p in range(len(candidates)):
        i = candidates[p]
        if i == NONE or (p > 0 and i == candidates[p - 1]):
            continue
        while entries.parent[i] != NONE:
            if steps == len(search.nodes):
                break
            t = entries.depth[i] - 1
            weight = (t + 1) * search.power[t] ** 2
            search.nodes[steps] = entries.node[i]
            ballot.weights[steps] = weight
            total += weight
            steps += 1
            i = entries.parent[i]
    order = np.argsort(search.nodes[:steps], kind="mergesort")
    nodes = search.nodes[:steps][order]
    asked = 0
    running = 0.0
    given = 0
    for k in range(steps):
        running += ballot.weights[order[k]]
        if k + 1 < steps and nodes[k + 1] == nodes[k]:
            continue  # steps of several candidates, or of a loop
        upto = calls_left if k + 1 == steps else int(calls_left * (running / total))
        if upto > given:
            node = nodes[k]
            search.nodes[asked] = node
            search.repeats[asked] = upto - given
            search.before[asked] = tree.reward[node]
            asked += 1
            given = upto
    search.place[ASKED] = asked
    return asked


@jit
def judge(tree: Tree, entries: Entries, search: Search, ballot: Ballot) -> int:
    """The candidate with the largest value, by all samples; ties go to the larger p."""
    learn(tree, search)
    candidates, result = ballot.candidates, ballot.result
    floor, gamma = result[FLOOR], search.gamma
    levels = len(candidates) - 1
    chosen, best = np.int64(NONE), -np.inf
    for k in range(levels + 1):
        p = levels - 1 - k if k < levels else levels  # the other first action comes last
        i = candidates[p]
        if i == NONE:
            continue
        value = worth(tree, entries, search, i, floor)
        if chosen == NONE or value > best:
            chosen, best = i, value
    result[VALUE] = best + floor / (1.0 - gamma)
    rival, rival_best = np.int64(NONE), -np.inf
    for p in range(levels + 1):
        i = candidates[p]
        if i != NONE and ballot.first[i] != ballot.first[chosen]:
            value = worth(tree, entries, search, i, floor)
            if value > rival_best:
                rival, rival_best = i, value
    result[HAS_GAP] = 0.0
    if rival != NONE and search.place[ASKED] > 0:
        compare(tree, entries, search, ballot, int(chosen), int(rival))
    return chosen  # type: ignore[return-value]


@jitable
def worth(tree: Tree, entries: Entries, search: Search, i: int, floor: float) -> float:
    """Σ γ^t (r̂ − f) along a sequence."""
    value = 0.0
    if tree.flags[entries.node[i]] & TERMINAL:
        value = -floor / (1.0 - search.gamma)
    while entries.parent[i] != NONE:
        value = tree.reward[entries.node[i]] - floor + search.gamma * value
        i = entries.parent[i]
    return value


@jitable
def compare(
    tree: Tree, entries: Entries, search: Search, ballot: Ballot, chosen: int, rival: int
) -> None:
    """How far one sequence is ahead of another, by the samples of the last request only."""
    asked = search.place[ASKED]
    floor, gamma = ballot.result[FLOOR], search.gamma
    share = ballot.weights
    for k in range(asked):
        share[k] = 0.0
    gap = 0.0
    missing = 0.0
    for side in range(2):
        i = chosen if side == 0 else rival
        sign = 1.0 if side == 0 else -1.0
        if tree.flags[entries.node[i]] & TERMINAL:
            gap -= sign * search.power[entries.depth[i] - 1] * gamma * floor / (1.0 - gamma)
        while entries.parent[i] != NONE:
            node = entries.node[i]
            weight = sign * search.power[entries.depth[i] - 1]
            k = np.searchsorted(search.nodes[:asked], node)
            if k < asked and search.nodes[k] == node:
                share[k] += weight
            else:  # it got no fresh sample
                missing += weight * weight / tree.pulls[node]
                gap += weight * tree.reward[node]
            gap -= weight * floor
            i = entries.parent[i]
    variance = missing
    for k in range(asked):
        if share[k] != 0.0:
            node, count = search.nodes[k], search.repeats[k]
            pulls = tree.pulls[node]
            fresh = (tree.reward[node] * pulls - search.before[k] * (pulls - count)) / count
            gap += share[k] * fresh
            variance += share[k] * share[k] / count
    result = ballot.result
    result[GAP] = gap
    result[GAP_VARIANCE] = variance * search.noise[SQUARES] / max(1.0, search.noise[DEGREES])
    result[HAS_GAP] = 1.0 if search.noise[DEGREES] > 0.0 else 0.0
