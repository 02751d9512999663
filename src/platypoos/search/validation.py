"""Which sequence to recommend: candidates, their cross-validation, the output (Figure 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, inlined, jit, jitable
from platypoos.models.base import Access
from platypoos.search.counts import FIGURE, STROQUOOL
from platypoos.search.schedules import Schedule
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import OPENED, ROOT, TERMINAL, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Ballot(NamedTuple):
    """The cross-validation of a schedule and its scratch memory, as compiled code reads them."""

    candidates: Ints  # [p_max + 1] for each p, the node to validate
    tickets: NDArray[np.uint64]  # [p_max + 1] their tickets, for ties
    finalists: Ints  # [p_max + 1] the distinct ones
    shares: Ints  # [p_max + 1] calls beyond Figure 3's for each of them
    weights: Floats  # [p_max + 1] what the shares are proportional to
    validation: Ints  # [depth] evaluations of step t in the cross-validation…
    weight: Floats  # [depth] …which are proportional to this, (t+1)·γ^(2t)
    power: Floats  # [depth] γ^t
    span: Floats  # [depth + 1] worth of a reward of 1 at every step from a depth on
    even: bool  # StroquOOL: all steps of a candidate are validated alike
    every: bool  # Figure 3 to the letter: a candidate is validated once for each p it is best for
    h_max: int
    gamma: float
    budget: int
    validated: bool
    spend_all: bool
    reset: bool
    finite: bool  # is there a horizon?


def make_ballot(schedule: Schedule) -> Ballot:
    """The cross-validation of a schedule."""
    levels = schedule.p_max + 1
    return Ballot(
        candidates=np.empty(levels, np.int64),
        tickets=np.empty(levels, np.uint64),
        finalists=np.empty(levels, np.int64),
        shares=np.empty(levels, np.int64),
        weights=np.empty(levels),
        validation=schedule.validation,
        weight=schedule.weight,
        power=schedule.power,
        span=schedule.span,
        even=schedule.kind == STROQUOOL,
        every=schedule.kind == FIGURE,
        h_max=schedule.h_max,
        gamma=schedule.discount,
        budget=schedule.budget,
        validated=schedule.validated,
        spend_all=schedule.spend_all,
        reset=schedule.access is Access.RESET,
        finite=schedule.horizon is not None,
    )


@jitable
def least_rate(tree: Tree, ballot: Ballot) -> float:
    """The smallest discounted average of rewards along a sequence.

    Where episodes end, what comes after a sequence is weighed against an end, which is worth 0
    for certain. The smallest mean reward would be too dark for that: noise and single bad rewards
    make it small, and an end would look better than to go on.
    """
    least = np.inf
    tree.value[ROOT] = 0.0
    depth, steps, weight = 0, 0.0, 1.0  # Σ γ^t and γ^t of the last step
    for node in range(1, tree.size[0]):
        while depth < tree.depth[node]:
            weight = ballot.power[depth]
            steps += weight
            depth += 1
        tree.value[node] = tree.value[tree.parent[node]] + weight * tree.reward[node]
        if tree.pulls[node] > 0:
            least = min(least, tree.value[node] / steps)
    return least


@inlined
def set_values(tree: Tree, ballot: Ballot, floor: float) -> None:
    """Σ γ^t (r̂ − f) of every node; an end is followed by reward 0 for ever, for certain."""
    depth = 0
    weight = 1.0
    tree.value[ROOT] = 0.0
    for node in range(np.uint64(1), np.uint64(tree.size[0])):
        if tree.depth[node] != depth:
            depth = tree.depth[node]
            weight = ballot.power[depth - 1]
        parent = np.uint64(tree.parent[node])
        value = tree.value[parent] + weight * (tree.reward[node] - floor)
        if tree.flags[node] & TERMINAL:
            value -= weight * ballot.gamma * floor * ballot.span[depth]
        if tree.pulls[node] == 0:  # it is not legal, or comes after what is not
            value = -np.inf
        tree.value[node] = value


@jit
def find_candidates(
    tree: Tree, ballot: Ballot, worth: Floats, floor: float, tie_seed: int
) -> float:
    """For each p the node of index ≥ p with the largest value; returns the reward floor f.

    Across depths nodes are compared by Σ γ^t (r̂ − f): every reward then counts as at least 0,
    as in the paper, whatever the sign of the rewards. f = 0 is the paper.
    """
    tree, ballot = borrowed(tree), borrowed(ballot)
    size = tree.size[0]
    if len(worth) > 0:
        leaf_candidates(tree, ballot, worth, 0.0, tie_seed)
        return 0.0
    ended = 0
    if np.isnan(floor):
        floor = np.inf
        for node in range(1, size):
            if tree.pulls[node] > 0:
                floor = min(floor, tree.reward[node])
                ended |= tree.flags[node] & TERMINAL
        if ended:
            floor = min(least_rate(tree, ballot), 0.0)
    if ended and ballot.finite:
        leaf_candidates(tree, ballot, worth, floor, tie_seed)
        return floor
    set_values(tree, ballot, floor)
    candidates, best, tickets = ballot.candidates, ballot.weights, ballot.tickets
    for p in range(len(candidates)):
        candidates[p] = ROOT
        best[p] = -np.inf
    # From the deepest on: they have mostly the largest values, so few others are better yet.
    end = np.uint64(size)
    for back in range(np.uint64(1), end):
        deep = end - back
        index = np.uint64(tree.p_index[deep])
        value = tree.value[deep]
        if value >= best[index]:
            entry = ticket(tie_seed, deep)
            if value > best[index] or entry > tickets[index]:
                candidates[index] = deep
                best[index] = value
                tickets[index] = entry
    for p in range(len(candidates) - 2, -1, -1):
        if best[p + 1] > best[p] or (best[p + 1] == best[p] and tickets[p + 1] > tickets[p]):
            candidates[p] = candidates[p + 1]
            best[p] = best[p + 1]
            tickets[p] = tickets[p + 1]
    return floor


@jit
def leaf_candidates(tree: Tree, ballot: Ballot, worth: Floats, floor: float, tie_seed: int) -> None:
    """For each p the best node of index ≥ p that was not opened; of any index if there is none.

    What follows an opened node was seen. A guess of it, by the model or by the floor, may be
    better than all of that, and then no number of calls would correct it.
    """
    size = tree.size[0]
    set_values(tree, ballot, floor)
    for p in range(len(ballot.candidates)):
        best, most = ROOT, -np.inf
        for node in range(1, size):
            if tree.p_index[node] < p or tree.flags[node] & OPENED or tree.pulls[node] == 0:
                continue
            value = tree.value[node]
            if len(worth) > 0:
                value += ballot.power[tree.depth[node] - 1] * ballot.gamma * worth[node]
            if (
                best == ROOT
                or value > most
                or (value == most and ticket(tie_seed, node) > ticket(tie_seed, best))
            ):
                best, most = node, value
        ballot.candidates[p] = best if best != ROOT else ballot.candidates[0]


@jitable
def step_share(
    ballot: Ballot, t: int, depth: int, most: int, heaviest: float
) -> tuple[int, int, float]:
    """Cross-validation of step t of a candidate: evaluations, calls for each, and weight.

    With RESTORE access a step is evaluated on its own. With RESET access a walk to step t
    evaluates all steps before it as well: only as many walks end at t as it needs more than
    ``most``, the most that any later step needs. The weight is in calls.
    """
    needed = -(-ballot.h_max // depth) if ballot.even else ballot.validation[t]
    weight = 1.0 if ballot.even else ballot.weight[t]
    if ballot.reset:
        return max(0, needed - most), t + 1, (t + 1) * max(0.0, weight - heaviest)
    return needed, 1, weight


@jitable
def share_out(tree: Tree, ballot: Ballot, calls_left: int) -> int:
    """Keep the distinct candidates, and divide what is left of the budget among them.

    Returns how many there are. Each gets what Figure 3 says; the rest (none if the budget is
    used as in the paper) is divided by weight, to the last call.
    """
    count = 0
    for p in range(len(ballot.candidates) - 1, -1, -1):
        node = ballot.candidates[p]
        if count == 0 or node != ballot.finalists[count - 1] or ballot.every:
            ballot.finalists[count] = node
            count += 1
    spare = calls_left
    total = 0.0
    for i in range(count):
        depth = tree.depth[ballot.finalists[i]]
        most, heaviest, weights = 0, 0.0, 0.0
        for t in range(depth - 1, -1, -1):
            evaluations, price, weight = step_share(ballot, t, depth, most, heaviest)
            most += evaluations
            heaviest += weight / price
            weights += weight
            spare -= evaluations * price
        ballot.weights[i] = weights
        total += weights
    if not ballot.spend_all:
        spare = 0
    running = 0.0
    given = 0
    for i in range(count):
        running += ballot.weights[i]
        upto = int(spare * (running / total))
        ballot.shares[i] = upto - given
        given = upto
    return count


@jitable
def validate(tree: Tree, ballot: Ballot, i: int, nodes: Ints, repeats: Ints) -> int:
    """Write the request that cross-validates candidate i with its share; returns its length."""
    node = ballot.finalists[i]
    depth = int(tree.depth[node])
    share = ballot.shares[i]
    most, heaviest, running = 0, 0.0, 0.0
    given = 0
    for t in range(depth - 1, -1, -1):
        evaluations, price, weight = step_share(ballot, t, depth, most, heaviest)
        most += evaluations
        heaviest += weight / price
        running += weight
        upto = share if t == 0 else int(share * (running / ballot.weights[i]))
        extra = (upto - given) // price
        given += extra * price
        nodes[t] = node
        repeats[t] = evaluations + extra
        node = tree.parent[node]
    return depth


@jitable
def output(
    tree: Tree, ballot: Ballot, worth: Floats, floor: float
) -> tuple[int, int, int, float, float]:
    """The candidate with the largest value, its first action, its p, its value, and the floor.

    Ties go to the larger p.
    """
    best, action, best_p, best_value = -1, -1, 0, -np.inf
    for p in range(len(ballot.candidates) - 1, -1, -1):
        node = ballot.candidates[p]
        value = 0.0
        if tree.flags[node] & TERMINAL:
            value = -floor * ballot.span[tree.depth[node]]
        elif len(worth) > 0:
            value = worth[node]
        at = first = node
        while at != ROOT:
            value = tree.reward[at] - floor + ballot.gamma * value
            first = at
            at = tree.parent[at]
        if best < 0 or value > best_value:
            best, action, best_p, best_value = node, tree.action[first], p, value
    return best, action, best_p, best_value + floor * ballot.span[ROOT], floor
