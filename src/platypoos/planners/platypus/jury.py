"""The jury: candidates are compared like with like, on fresh samples, and halved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos.compile import borrowed, jit, part
from platypoos.ledger.requests import calls_made
from platypoos.planners.platypus.asking import ask
from platypoos.planners.platypus.knowledge import (
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
from platypoos.planners.platypus.mind import BEFORE, Mind
from platypoos.planners.platypus.policies import propose_policies, take_policies
from platypoos.planners.platypus.tuning import LOOK_SHARE
from platypoos.planners.platypus.walking import is_better, lead

ALL = -1
SURE = 4.0
"""Standard errors by which the best action must lead to be called sure."""
AGAIN = 3
"""Times that every action must have been sampled again before it is believed to have no noise."""


@part
def hear(sim: Any, mind: Mind) -> bool:
    """Halve the candidates until this piece's calls are spent; False if interrupted."""
    while True:
        count = next_hearing(mind, calls_made(sim))
        if count == 0:
            return True
        if not ask(sim, mind, count):
            return False
        if halve(mind, count) and not propose_policies(sim, mind):
            return False


@jit
def next_hearing(mind: Mind, calls: int) -> int:
    """Write the samples of the next hearing as a request; returns its size, 0 if all is over.

    The calls that are left are split evenly among the hearings to come, and those of a hearing
    among its candidates.
    """
    mind = borrowed(mind)
    at = mind.at[0]
    left = at.piece_end - calls
    if left <= 0 or at.leader == BEFORE:
        return 0
    if at.alive == 0:
        rank(mind, ALL)
        at.hearings = 0
        while (1 << at.hearings) < at.alive:
            at.hearings += 1
    elif at.alive == 1:  # calls are left over: hear the two best again
        rank(mind, ALL)
        at.alive = min(2, at.alive)
    hearings = max(1, at.hearings)
    calls_each = max(1, left // (hearings * at.alive))
    count = 0
    for i in range(at.alive):
        if left > 0:
            count = call_up(mind, mind.order[i], min(calls_each, left), count)
            left -= calls_each
    return merge(mind, count)


@jit
def call_up(mind: Mind, action: int, calls: int, count: int) -> int:
    """Ask for samples of a candidate: of each step as many as it counts, γ^t."""
    at, sequence = mind.at[0], mind.sequences[action]
    steps = mind.steps[action]
    state, total, start = int(at.root), 0.0, count
    if mind.reset:  # whole plays, or one of the first steps
        steps = min(steps, calls)
    if steps == 0:
        return count
    for t in range(steps):
        child = child_by(mind, state, sequence[t])
        if mind.share[child] == 0.0:
            mind.nodes[count] = child
            count += 1
        mind.share[child] += mind.power[t]
        total += mind.power[t]
        state = int(mind.homes.home[child])
    spent = 0
    for i in range(start, count):
        mind.repeats[i] = int(calls * mind.share[mind.nodes[i]] / total)
        spent += mind.repeats[i]
        mind.share[mind.nodes[i]] = 0.0
    if mind.reset:
        mind.nodes[start], mind.repeats[start] = state, calls // steps
        return start + 1
    while spent < calls:  # what rounding has left over goes to the first steps
        for i in range(start, count):
            if spent < calls:
                mind.repeats[i] += 1
                spent += 1
    return count


@jit
def merge(mind: Mind, count: int) -> int:
    """Let every node of a request be there once; those without samples are left out."""
    order = np.argsort(mind.nodes[:count], kind="mergesort")
    nodes, repeats = mind.nodes[:count][order], mind.repeats[:count][order]
    size = 0
    for i in range(count):
        if repeats[i] == 0:
            continue
        if size > 0 and mind.nodes[size - 1] == nodes[i]:
            mind.repeats[size - 1] += repeats[i]
        else:
            mind.nodes[size], mind.repeats[size] = nodes[i], repeats[i]
            size += 1
    return size


@jit
def halve(mind: Mind, count: int) -> bool:
    """Keep the better half of the candidates; whether policies may be proposed for the next."""
    mind = borrowed(mind)
    at = mind.at[0]
    if at.alive == 2 and not mind.reset:
        compare_last_two(mind, count)
    rank(mind, at.alive)
    at.alive = max(1, (at.alive + 1) // 2)
    at.leader = mind.order[0]
    at.hearings = max(0, at.hearings - 1)
    at.offered = 0
    return at.hearings > 0  # type: ignore[no-any-return]


@jit
def appraise(mind: Mind) -> None:
    """Value all candidates anew."""
    for action in range(len(mind.value)):
        if mind.value[action] > -np.inf:
            sequence, steps = mind.sequences[action], mind.steps[action]
            mind.value[action] = value_of(mind, sequence, steps)
            mind.outlook[action] = outlook(mind, sequence, steps)


@jit
def rank(mind: Mind, among: int) -> None:
    """Order the candidates by value: all, or the first ``among`` of the present order."""
    at = mind.at[0]
    appraise(mind)
    if among == ALL:
        lead(mind)
        at.alive = 0
        for action in range(len(mind.value)):
            if mind.value[action] > -np.inf:
                mind.order[at.alive] = action
                at.alive += 1
    for i in range(1, at.alive):  # by insertion: there are few
        action = mind.order[i]
        j = i - 1
        while j >= 0 and is_better(mind, action, mind.order[j]):
            mind.order[j + 1] = mind.order[j]
            j -= 1
        mind.order[j + 1] = action


@jit
def add_weights(mind: Mind, action: int, sign: float) -> float:
    """Add what the steps of a candidate count to the shares of their nodes; returns the rest."""
    state, child = int(mind.at[0].root), 0
    for t in range(mind.steps[action]):
        child = child_by(mind, state, mind.sequences[action, t])
        mind.share[child] += sign * mind.power[t]
        state = int(mind.homes.home[child])
    return sign * rest_after(mind, child, mind.steps[action])


@jit
def compare_last_two(mind: Mind, count: int) -> None:
    """How far one of two candidates is ahead in the samples of this request, and how sure."""
    at, tree = mind.at[0], mind.tree
    one, other = mind.order[0], mind.order[1]
    noise = variance(mind)
    gap = add_weights(mind, one, 1.0) + add_weights(mind, other, -1.0)
    doubt = 0.0
    for i in range(count):
        node = mind.nodes[i]
        weight, fresh = mind.share[node], tree.pulls[node] - mind.pulls[i]
        moved = (tree.reward[node] - mind.mean[i]) * tree.pulls[node] / fresh
        gap += weight * (mind.mean[i] + moved)
        doubt += weight * weight * noise / fresh
        mind.share[node] = 0.0
    for action in (one, other):  # steps without fresh samples
        state = int(at.root)
        for t in range(mind.steps[action]):
            child = child_by(mind, state, mind.sequences[action, t])
            weight, state = mind.share[child], int(mind.homes.home[child])
            gap += weight * tree.reward[child]
            doubt += weight * weight * noise / tree.pulls[child]
            mind.share[child] = 0.0
    at.has_gap = noise > 0.0
    at.gap, at.gap_variance, at.ahead = gap, doubt, one


@jit
def is_sure(mind: Mind) -> bool:
    """Whether more calls are unlikely to change the decision.

    The last stages agree; all first actions have a candidate; the lead is larger than what noise
    and states out of sight might change; and if no noise was seen, every action was sampled again
    and again.
    """
    mind = borrowed(mind)
    at, tree = mind.at[0], mind.tree
    if at.leader == BEFORE or mind.reset or at.degrees < AGAIN * (tree.size[0] - 1):
        return False
    rivals, rival = 0, BEFORE
    for action in range(len(mind.value)):
        if mind.value[action] > -np.inf:
            rivals += 1
            if action != at.leader and (rival == BEFORE or mind.value[action] > mind.value[rival]):
                rival = action
    if rivals < options(mind, at.root) or at.agreed < 2:
        return False
    if rival == BEFORE:
        return True
    if variance(mind) == 0.0 and at.looked < AGAIN * (tree.size[0] - 1):
        return False
    if at.has_gap == 1:  # fresh samples, which nothing was chosen by, must not speak against it
        gap = at.gap if at.ahead == at.leader else -at.gap
        if gap < 2.0 * math.sqrt(at.gap_variance):
            return False
    lead_now = mind.value[at.leader] - mind.value[rival]
    add_weights(mind, at.leader, 1.0)
    add_weights(mind, rival, -1.0)
    doubt, least, most = 0.0, np.inf, -np.inf
    for node in range(tree.size[0]):
        if mind.share[node] != 0.0:
            doubt += mind.share[node] ** 2 * variance(mind) / tree.pulls[node]
            mind.share[node] = 0.0
        if mind.choice[node] != 0:
            least, most = min(least, tree.value[node]), max(most, tree.value[node])
    unseen = nearest_unknown(mind)
    hidden = 0.0 if unseen < 0 else at.discount ** float(unseen) * (most - least)
    return lead_now > SURE * math.sqrt(doubt) + hidden  # type: ignore[no-any-return]


@jit
def assess(mind: Mind) -> tuple[bool, bool, float, float]:
    """Whether it is enough, and the lead of the leader in fresh samples with its error, if any."""
    mind = borrowed(mind)
    at = mind.at[0]
    if at.closed == 1:
        solve(mind, EXACTLY)
        if variance(mind) == 0.0:
            take_policies(mind)
        appraise(mind)
        if variance(mind) == 0.0:
            lead(mind)
    gap = at.gap if at.ahead == at.leader else -at.gap
    return at.sure == 1 or is_sure(mind), at.has_gap == 1, gap, math.sqrt(at.gap_variance)


@jit
def next_look(mind: Mind, calls: int) -> int:
    """Write a request that looks for noise: along the leader, or anywhere if nothing is new."""
    mind = borrowed(mind)
    at, tree = mind.at[0], mind.tree
    left = min(at.limit - calls, max(1, int(LOOK_SHARE * at.stage)))
    count = 0
    if calls == at.stage_began or at.stuck == 1:
        left = min(at.limit - calls, max(left, at.stage_began + at.stage - calls))
        size = tree.size[0] - 1
        while count < min(left, size, len(mind.nodes)):
            mind.nodes[count], mind.repeats[count] = 1 + (at.looked + count) % size, 1
            count += 1
        at.looked += count
    elif at.leader != BEFORE:
        state, sequence = int(at.root), mind.sequences[at.leader]
        for t in range(min(left, mind.steps[at.leader])):
            child = child_by(mind, state, sequence[t])
            mind.nodes[t], mind.repeats[t] = child, 1
            state = int(mind.homes.home[child])
            count += 1
    return merge(mind, count)
