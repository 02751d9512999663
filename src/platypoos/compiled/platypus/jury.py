"""The jury: candidates are compared like with like, on fresh samples, and halved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos.compiled.code import borrowed, jit, part
from platypoos.compiled.platypus.asking import ask
from platypoos.compiled.platypus.knowledge import (
    EXACTLY,
    child_by,
    nearest_unknown,
    options,
    outlook,
    rest_after,
    solve,
    value_of,
    variance,
)
from platypoos.compiled.platypus.policies import propose_policies, take_policies
from platypoos.compiled.platypus.state import BEFORE, Search
from platypoos.compiled.platypus.tuning import LOOK_SHARE
from platypoos.compiled.platypus.walking import is_better, lead
from platypoos.trees.requests import calls_made

ALL = -1
SURE = 4.0
"""Standard errors by which the best action must lead to be called sure."""
AGAIN = 3
"""Times that every action must have been sampled again before it is believed to have no noise."""


@part
def hear(sim: Any, search: Search) -> bool:
    """Halve the candidates until this piece's calls are spent; False if interrupted."""
    while True:
        count = next_hearing(search, calls_made(sim))
        if count == 0:
            return True
        if not ask(sim, search, count):
            return False
        if halve(search, count) and not propose_policies(sim, search):
            return False


@jit
def next_hearing(search: Search, calls: int) -> int:
    """Write the samples of the next hearing as a request; returns its size, 0 if all is over.

    The calls that are left are split evenly among the hearings to come, and those of a hearing
    among its candidates.
    """
    search = borrowed(search)
    at = search.at[0]
    left = at.piece_end - calls
    if left <= 0 or at.leader == BEFORE:
        return 0
    if at.alive == 0:
        rank(search, ALL)
        at.hearings = 0
        while (1 << at.hearings) < at.alive:
            at.hearings += 1
    elif at.alive == 1:  # calls are left over: hear the two best again
        rank(search, ALL)
        at.alive = min(2, at.alive)
    hearings = max(1, at.hearings)
    calls_each = max(1, left // (hearings * at.alive))
    count = 0
    for i in range(at.alive):
        if left > 0:
            count = call_up(search, search.order[i], min(calls_each, left), count)
            left -= calls_each
    return merge(search, count)


@jit
def call_up(search: Search, action: int, calls: int, count: int) -> int:
    """Ask for samples of a candidate: of each step as many as it counts, γ^t."""
    at, sequence = search.at[0], search.sequences[action]
    steps = search.steps[action]
    state, total, start = int(at.root), 0.0, count
    if search.reset:  # whole plays, or one of the first steps
        steps = min(steps, calls)
    if steps == 0:
        return count
    for t in range(steps):
        child = child_by(search, state, sequence[t])
        if search.share[child] == 0.0:
            search.nodes[count] = child
            count += 1
        search.share[child] += search.power[t]
        total += search.power[t]
        state = int(search.homes.home[child])
    spent = 0
    for i in range(start, count):
        search.repeats[i] = int(calls * search.share[search.nodes[i]] / total)
        spent += search.repeats[i]
        search.share[search.nodes[i]] = 0.0
    if search.reset:
        search.nodes[start], search.repeats[start] = state, calls // steps
        return start + 1
    while spent < calls:  # what rounding has left over goes to the first steps
        for i in range(start, count):
            if spent < calls:
                search.repeats[i] += 1
                spent += 1
    return count


@jit
def merge(search: Search, count: int) -> int:
    """Let every node of a request be there once; those without samples are left out."""
    order = np.argsort(search.nodes[:count], kind="mergesort")
    nodes, repeats = search.nodes[:count][order], search.repeats[:count][order]
    size = 0
    for i in range(count):
        if repeats[i] == 0:
            continue
        if size > 0 and search.nodes[size - 1] == nodes[i]:
            search.repeats[size - 1] += repeats[i]
        else:
            search.nodes[size], search.repeats[size] = nodes[i], repeats[i]
            size += 1
    return size


@jit
def halve(search: Search, count: int) -> bool:
    """Keep the better half of the candidates; whether policies may be proposed for the next."""
    search = borrowed(search)
    at = search.at[0]
    if at.alive == 2 and not search.reset:
        compare_last_two(search, count)
    rank(search, at.alive)
    at.alive = max(1, (at.alive + 1) // 2)
    at.leader = search.order[0]
    at.hearings = max(0, at.hearings - 1)
    at.offered = 0
    return at.hearings > 0  # type: ignore[no-any-return]


@jit
def appraise(search: Search) -> None:
    """Value all candidates anew."""
    for action in range(len(search.value)):
        if search.value[action] > -np.inf:
            sequence, steps = search.sequences[action], search.steps[action]
            search.value[action] = value_of(search, sequence, steps)
            search.outlook[action] = outlook(search, sequence, steps)


@jit
def rank(search: Search, among: int) -> None:
    """Order the candidates by value: all, or the first ``among`` of the present order."""
    at = search.at[0]
    appraise(search)
    if among == ALL:
        lead(search)
        at.alive = 0
        for action in range(len(search.value)):
            if search.value[action] > -np.inf:
                search.order[at.alive] = action
                at.alive += 1
    for i in range(1, at.alive):  # by insertion: there are few
        action = search.order[i]
        j = i - 1
        while j >= 0 and is_better(search, action, search.order[j]):
            search.order[j + 1] = search.order[j]
            j -= 1
        search.order[j + 1] = action


@jit
def add_weights(search: Search, action: int, sign: float) -> float:
    """Add what the steps of a candidate count to the shares of their nodes; returns the rest."""
    state, child = int(search.at[0].root), 0
    for t in range(search.steps[action]):
        child = child_by(search, state, search.sequences[action, t])
        search.share[child] += sign * search.power[t]
        state = int(search.homes.home[child])
    return sign * rest_after(search, child, search.steps[action])


@jit
def compare_last_two(search: Search, count: int) -> None:
    """How far one of two candidates is ahead in the samples of this request, and how sure."""
    at, tree = search.at[0], search.tree
    one, other = search.order[0], search.order[1]
    noise = variance(search)
    gap = add_weights(search, one, 1.0) + add_weights(search, other, -1.0)
    doubt = 0.0
    for i in range(count):
        node = search.nodes[i]
        weight, fresh = search.share[node], tree.pulls[node] - search.pulls[i]
        moved = (tree.reward[node] - search.mean[i]) * tree.pulls[node] / fresh
        gap += weight * (search.mean[i] + moved)
        doubt += weight * weight * noise / fresh
        search.share[node] = 0.0
    for action in (one, other):  # steps without fresh samples
        state = int(at.root)
        for t in range(search.steps[action]):
            child = child_by(search, state, search.sequences[action, t])
            weight, state = search.share[child], int(search.homes.home[child])
            gap += weight * tree.reward[child]
            doubt += weight * weight * noise / tree.pulls[child]
            search.share[child] = 0.0
    at.has_gap = noise > 0.0
    at.gap, at.gap_variance, at.ahead = gap, doubt, one


@jit
def is_sure(search: Search) -> bool:
    """Whether more calls are unlikely to change the decision.

    The last stages agree; all first actions have a candidate; the lead is larger than what noise
    and states out of sight might change; and if no noise was seen, every action was sampled again
    and again.
    """
    search = borrowed(search)
    at, tree = search.at[0], search.tree
    if at.leader == BEFORE or search.reset or at.degrees < AGAIN * (tree.size[0] - 1):
        return False
    rivals, rival = 0, BEFORE
    for action in range(len(search.value)):
        if search.value[action] > -np.inf:
            rivals += 1
            if action != at.leader and (
                rival == BEFORE or search.value[action] > search.value[rival]
            ):
                rival = action
    if rivals < options(search, at.root) or at.agreed < 2:
        return False
    if rival == BEFORE:
        return True
    if variance(search) == 0.0 and at.looked < AGAIN * (tree.size[0] - 1):
        return False
    if at.has_gap == 1:  # fresh samples, which nothing was chosen by, must not speak against it
        gap = at.gap if at.ahead == at.leader else -at.gap
        if gap < 2.0 * math.sqrt(at.gap_variance):
            return False
    lead_now = search.value[at.leader] - search.value[rival]
    add_weights(search, at.leader, 1.0)
    add_weights(search, rival, -1.0)
    doubt, least, most = 0.0, np.inf, -np.inf
    for node in range(tree.size[0]):
        if search.share[node] != 0.0:
            doubt += search.share[node] ** 2 * variance(search) / tree.pulls[node]
            search.share[node] = 0.0
        if search.choice[node] != 0:
            least, most = min(least, tree.value[node]), max(most, tree.value[node])
    unseen = nearest_unknown(search)
    hidden = 0.0 if unseen < 0 else at.discount ** float(unseen) * (most - least)
    return lead_now > SURE * math.sqrt(doubt) + hidden  # type: ignore[no-any-return]


@jit
def assess(search: Search) -> tuple[bool, bool, float, float]:
    """Whether it is enough, and the lead of the leader in fresh samples with its error, if any."""
    search = borrowed(search)
    at = search.at[0]
    if at.closed == 1:
        solve(search, EXACTLY)
        if variance(search) == 0.0:
            take_policies(search)
        appraise(search)
        if variance(search) == 0.0:
            lead(search)
    gap = at.gap if at.ahead == at.leader else -at.gap
    return at.sure == 1 or is_sure(search), at.has_gap == 1, gap, math.sqrt(at.gap_variance)


@jit
def next_look(search: Search, calls: int) -> int:
    """Write a request that looks for noise: along the leader, or anywhere if nothing is new."""
    search = borrowed(search)
    at, tree = search.at[0], search.tree
    left = min(at.limit - calls, max(1, int(LOOK_SHARE * at.stage)))
    count = 0
    if calls == at.stage_began or at.stuck == 1:
        left = min(at.limit - calls, max(left, at.stage_began + at.stage - calls))
        size = tree.size[0] - 1
        while count < min(left, size, len(search.nodes)):
            search.nodes[count], search.repeats[count] = 1 + (at.looked + count) % size, 1
            count += 1
        at.looked += count
    elif at.leader != BEFORE:
        state, sequence = int(at.root), search.sequences[at.leader]
        for t in range(min(left, search.steps[at.leader])):
            child = child_by(search, state, sequence[t])
            search.nodes[t], search.repeats[t] = child, 1
            state = int(search.homes.home[child])
            count += 1
    return merge(search, count)
