"""Noise: candidates are compared on fresh samples, and halved; the twin of ``jury.py``."""

from __future__ import annotations

import math

import numpy as np

from platypoos.compiled.twin.arrays import NONE, Ints, Search
from platypoos.compiled.twin.asking import ask, request
from platypoos.compiled.twin.draws import bit_length
from platypoos.compiled.twin.graph import add, added, variance
from platypoos.compiled.twin.parts import part
from platypoos.compiled.twin.policies import propose_policies
from platypoos.compiled.twin.sequences import (
    difference,
    explore_sequences,
    follows,
    rank,
    row_of,
    sort_ranked,
    weigh_again,
)


@part
def sample_again(search: Search, heard: Ints, count: int, calls: int) -> bool:
    """Take fresh samples of candidates, step t in proportion to γ^t: by walks that stop early."""
    search.at[0].requests = 0
    power = search.power
    for i in range(count):
        steps, path = search.candidates[heard[i]].steps, search.ways[heard[i]]
        # The walkers' rows of the tape are free now; there is one for each action.
        place = row_of(search, i)
        total, lost = 0.0, 0.0
        for t in range(steps):
            search.tape[place + t] = search.edges[path[t]].action
            total, lost = add(total, lost, power[t])
        walks = np.int64(calls / added(total, lost))
        length = steps
        for walk in range(walks):
            while length > 0 and not power[length - 1] * walks > walk:
                length -= 1
            request(search, search.graph[0].root, place, length, 1, NONE)
        if walks == 0:
            request(search, search.graph[0].root, place, min(steps, calls), 1, NONE)
    if not ask(search):
        return False
    weigh_again(search)
    return True


@part
def hear_jury(search: Search, end: float) -> bool:
    """Compare the candidates on fresh samples and halve them, until one is left."""
    at, jury = search.at[0], search.lists[2]
    count = rank(search, jury)
    hearings = max(1, bit_length(max(0, count - 1)))
    while at.calls < end and hearings > 0 and count > 0:
        calls = max(1, np.int64(end - at.calls) // (hearings * count))
        steps = 0
        for i in range(count):
            steps = max(steps, search.candidates[jury[i]].steps)
        if count == 2 and (not at.has_fresh or calls >= steps):
            note_fresh(search, jury)  # not for the last few calls of a plan
        if not sample_again(search, jury, count, calls):
            return False
        sort_ranked(search, jury, count)
        count = min(count, max(2, (count + 1) // 2))
        hearings -= 1
        if hearings > 0:
            propose_policies(search)
            if not explore_sequences(search, 0.0):
                return False
    while at.calls < end and count == 2:  # what division has left over
        if not sample_again(search, jury, count, max(1, np.int64(end - at.calls) // 2)):
            return False
    return True


@part
def note_fresh(search: Search, jury: Ints) -> None:
    """Note the last two candidates, and what is known of them before their last hearing."""
    search.at[0].has_fresh = 1
    for which in range(2):
        candidate = search.candidates[jury[which]]
        search.steps[which] = candidate.steps
        for t in range(candidate.steps):
            edge = search.ways[jury[which], t]
            search.fresh[which, t] = edge
            search.means[which, t] = search.edges[edge].mean
            search.samples[which, t] = search.edges[edge].samples


@part
def fresh_lead(search: Search) -> tuple[float, float]:
    """How far the first one is ahead in the samples since then, and the standard error."""
    one, other = search.steps[0], search.steps[1]
    count = difference(search, search.fresh[0], one, search.fresh[1], other)
    for i in range(count):
        search.noted[search.listed[i]] = i + 1
    mean, samples = np.zeros(count), np.zeros(count, np.int64)
    for which in range(2):
        for t in range(search.steps[which]):
            place = search.noted[search.fresh[which, t]] - 1
            mean[place] = search.means[which, t]
            samples[place] = search.samples[which, t]
    lead = squares = 0.0
    for i in range(count):
        search.noted[search.listed[i]] = 0
        edge, share = search.edges[search.listed[i]], search.weights[i]
        fresh = edge.samples - samples[i]
        if fresh == 0:
            lead += share * edge.mean
            squares += share * share / edge.samples
        else:
            lead += share * (edge.mean * edge.samples - mean[i] * samples[i]) / fresh
            squares += share * share / fresh
    for which in range(2):
        sign = 1.0 if which == 0 else -1.0
        steps = search.steps[which]
        rest = follows(search, search.fresh[which, steps - 1])
        lead += sign * search.power[steps] * rest
    return lead, math.sqrt(squares * variance(search))
