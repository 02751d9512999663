"""The jury: candidates are compared like with like, on fresh samples, and halved."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos._jit import borrowed, jit, part
from platypoos.planners.platypus.asking import ask
from platypoos.planners.platypus.knowledge import child_by, solve, value_of
from platypoos.planners.platypus.mind import BEFORE, NOBODY, Mind
from platypoos.planners.platypus.tuning import CANDIDATES, LOOK_SHARE
from platypoos.planners.platypus.walking import follow, lead
from platypoos.simulator import calls_made, is_due


@part
def propose_policies(sim: Any, mind: Mind) -> bool:
    """Propose what the best policy in all that is known would do; False if interrupted."""
    while next_policy(mind, calls_made(sim)):
        if not follow(sim, mind):
            return False
    return not is_due(sim)


@jit
def next_policy(mind: Mind, calls: int) -> bool:
    """Write the policy for the next best first action to ``trial``; False after the last."""
    mind = borrowed(mind)
    at, tree, home = mind.at[0], mind.tree, mind.homes.home
    if at.offered == 0:
        solve(mind)
    if at.offered == mind.knob[8] or calls >= at.limit:
        return False
    # The next in the order of values: those before it have been offered.
    rank = 0
    last, last_value = NOBODY, np.inf
    while True:
        best, best_value = NOBODY, -np.inf
        child = int(mind.first[at.root])
        while child != NOBODY:
            if tree.pulls[child] > 0:
                value = tree.reward[child] + at.discount * tree.value[home[child]]
                below = value < last_value or (value == last_value and child < last)
                if below and (value > best_value or (value == best_value and child > best)):
                    best, best_value = child, value
            child = int(mind.sibling[child])
        if best == NOBODY:
            return False
        last, last_value = best, best_value
        if rank == at.offered:
            break
        rank += 1
    at.offered += 1
    node = last
    t = 0
    action = int(tree.action[node])
    while t < len(mind.trial):
        mind.trial[t] = action
        t += 1
        node = int(mind.choice[home[node]])
        if node == NOBODY:
            break
        action = int(tree.action[node])
    for later in range(t, len(mind.trial)):
        mind.trial[later] = action
    return True


@part
def hear(sim: Any, mind: Mind) -> bool:
    """Halve the candidates until one is left or the calls are spent; False if interrupted."""
    while True:
        count = next_hearing(mind, calls_made(sim))
        if count == 0:
            return True
        if not ask(sim, mind, count):
            return False
        halve(mind)
        if not propose_policies(sim, mind):
            return False


@jit
def next_hearing(mind: Mind, calls: int) -> int:
    """Write the samples of the next hearing as a request; returns its size, 0 if it is over."""
    mind = borrowed(mind)
    at, tree, home = mind.at[0], mind.tree, mind.homes.home
    if at.alive == 0:
        rank(mind, BEFORE)
        at.hearings = 0
        while (1 << at.hearings) < at.alive:
            at.hearings += 1
        at.hearings = max(at.hearings, 1)
    left = at.piece_end - calls
    if at.hearings == 0 or left <= 0:
        return 0
    count = 0
    per_candidate = max(1, left // (at.hearings * at.alive))
    for i in range(at.alive):
        action = mind.order[i]
        sequence = mind.sequences[action]
        state, total = int(at.root), 0.0
        start = count
        room = min(per_candidate, left)
        for t in range(mind.steps[action]):
            child = child_by(mind, state, sequence[t])
            if mind.share[child] == 0.0:
                mind.nodes[count] = child
                count += 1
            mind.share[child] += mind.power[t]
            total += mind.power[t]
            state = int(home[child])
        for j in range(start, count):
            node = mind.nodes[j]
            mind.repeats[j] = int(room * mind.share[node] / total)
            left -= mind.repeats[j]
            room_left = 0
        # What rounding has left over goes to the first steps.
        spent = 0
        for j in range(start, count):
            spent += mind.repeats[j]
        j = start
        while spent < room and j < count:
            mind.repeats[j] += 1
            left -= 1
            spent += 1
            j += 1
        for j in range(start, count):
            mind.share[mind.nodes[j]] = 0.0
    return merge(mind, count)


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
def halve(mind: Mind) -> None:
    """Keep the better half of the candidates."""
    mind = borrowed(mind)
    at = mind.at[0]
    at.hearings -= 1
    alive = max(1, (at.alive + 1) // 2)
    rank(mind, at.alive)
    at.alive = min(at.alive, alive)
    at.offered = 0


@jit
def rank(mind: Mind, among: int) -> None:
    """Order the candidates by value; only the first ``among`` of the present order if given."""
    at = mind.at[0]
    for action in range(len(mind.value)):
        if mind.value[action] > -np.inf:
            mind.value[action] = value_of(mind, mind.sequences[action], mind.steps[action])
    lead(mind)
    count = 0
    if among == BEFORE:
        for action in range(len(mind.value)):
            if mind.value[action] > -np.inf:
                mind.order[count] = action
                count += 1
    else:
        count = among
    for i in range(1, count):  # by insertion: there are few
        action = mind.order[i]
        j = i - 1
        while j >= 0 and mind.value[mind.order[j]] < mind.value[action]:
            mind.order[j + 1] = mind.order[j]
            j -= 1
        mind.order[j + 1] = action
    at.alive = count


@jit
def next_look(mind: Mind, calls: int) -> int:
    """Write a request that looks for noise: along the leader, or anywhere if all is known."""
    mind = borrowed(mind)
    at, tree, home = mind.at[0], mind.tree, mind.homes.home
    left = min(at.limit - calls, max(1, int(mind.knob[7] * at.stage)))
    count = 0
    if at.exhausted == 1:
        left = min(at.limit - calls, at.stage)
        size = tree.size[0] - 1
        for i in range(min(left, size, len(mind.nodes))):
            node = 1 + (at.looked + i) % size
            if tree.pulls[node] > 0:
                mind.nodes[count], mind.repeats[count] = node, 1
                count += 1
        at.looked += count
    elif at.leader != BEFORE:
        state, sequence = int(at.root), mind.sequences[at.leader]
        for t in range(min(left, mind.steps[at.leader])):
            child = child_by(mind, state, sequence[t])
            mind.nodes[t], mind.repeats[t] = child, 1
            state = int(home[child])
            count += 1
    return merge(mind, count)
