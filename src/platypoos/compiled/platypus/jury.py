"""Noise: candidates are compared on fresh samples, and halved; the twin of ``jury.py``."""

from __future__ import annotations

import math

import numpy as np

from platypoos.compiled.platypus.arrays import NONE, OTHERS, Search
from platypoos.compiled.platypus.asking import request
from platypoos.compiled.platypus.draws import bit_length
from platypoos.compiled.platypus.graph import add, added, variance
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.policies import propose_policies
from platypoos.compiled.platypus.sequences import difference, follows, rank, row_of, weigh_again
from platypoos.compiled.platypus.walking import advance, next_in_line, put_under_way, walk
from platypoos.planners.platypus.jury import PIECE


@part
def hear(search: Search, place: int, row: int) -> None:
    """Let a candidate be heard: it is kept as it is, also if a better one takes its place."""
    heard, candidate = search.jury[place], search.candidates[row]
    heard.first, heard.version, heard.steps = row, candidate.version, candidate.steps
    for t in range(candidate.steps):
        search.heard[place, t] = search.ways[row, t]
    weigh_heard(search, place)


@part
def weigh_heard(search: Search, place: int) -> None:
    """Note the rank of a candidate that is heard, unless another one has taken its place."""
    heard, candidate = search.jury[place], search.candidates[search.jury[place].first]
    if heard.version == candidate.version:
        heard.value, heard.steady = candidate.value, candidate.steady
        heard.outlook = candidate.outlook


@part
def sample_again(search: Search, count: int, calls: int) -> bool:
    """Take fresh samples of those that are heard, step t in proportion to γ^t.

    Walks stop early; their pieces are played at the same time.
    """
    search.at[0].requests = 0
    power, width = search.power, search.heard.shape[1]
    first = row_of(search, len(search.walkers) + 1)
    for i in range(count):
        steps, path, place = search.jury[i].steps, search.heard[i], first + i * width
        total, lost = 0.0, 0.0
        for t in range(steps):
            search.tape[place + t] = search.edges[path[t]].action
            total, lost = add(total, lost, power[t])
        walks = np.int64(calls / added(total, lost))
        length = steps if walks > 0 else min(steps, calls)
        for walk_ in range(max(1, walks)):
            while walks > 0 and not power[length - 1] * walks > walk_:
                length -= 1
            for t in range(0, length, PIECE):
                start = search.edges[path[t]].start
                request(search, start, place + t, min(PIECE, length - t), 1, OTHERS, NONE)
    if not advance(search):
        return False
    weigh_again(search)
    return True


@part
def hear_jury(search: Search, end: float) -> bool:
    """Compare the candidates on fresh samples and halve them, until one is left."""
    at, ranked = search.at[0], search.lists[2]
    count = rank(search, ranked)
    for i in range(count):
        hear(search, i, ranked[i])
    hearings = max(1, bit_length(max(0, count - 1)))
    while at.calls < end and hearings > 0 and count > 0:
        calls = max(1, np.int64(end - at.calls) // (hearings * count))
        steps = 0
        for i in range(count):
            steps = max(steps, search.jury[i].steps)
        if count == 2 and (not at.has_fresh or calls >= steps):
            note_fresh(search)  # not for the last few calls of a plan
        if not sample_again(search, count, calls):
            return False
        sort_jury(search, count)
        count = min(count, max(2, (count + 1) // 2))
        hearings -= 1
        if hearings > 0:
            propose_policies(search)
            while at.proposed > 0:
                put_under_way(search, next_in_line(search), True)
            if not walk(search):
                return False
            for i in range(count):
                hear(search, i, search.jury[i].first)
    while at.calls < end and count == 2:  # what division has left over
        if not sample_again(search, count, max(1, np.int64(end - at.calls) // 2)):
            return False
    return True


@part
def sort_jury(search: Search, count: int) -> None:
    """Sort those that are heard, the best first; equal ones stay as they are."""
    for i in range(count):
        weigh_heard(search, i)
    for i in range(1, count):
        j = i
        while j > 0 and is_above(search, j, j - 1):
            swap(search, j, j - 1)
            j -= 1


@part
def is_above(search: Search, one: int, other: int) -> bool:
    """Whether the rank of one that is heard is above that of another."""
    first, second = search.jury[one], search.jury[other]
    if first.value != second.value:
        return first.value > second.value
    if first.steady != second.steady:
        return first.steady > second.steady
    return first.outlook > second.outlook


@part
def swap(search: Search, one: int, other: int) -> None:
    """Let two that are heard change places."""
    first, second = search.jury[one], search.jury[other]
    first.value, second.value = second.value, first.value
    first.steady, second.steady = second.steady, first.steady
    first.outlook, second.outlook = second.outlook, first.outlook
    first.first, second.first = second.first, first.first
    first.version, second.version = second.version, first.version
    for t in range(max(first.steps, second.steps)):
        edge = search.heard[one, t]
        search.heard[one, t] = search.heard[other, t]
        search.heard[other, t] = edge
    first.steps, second.steps = second.steps, first.steps


@part
def note_fresh(search: Search) -> None:
    """Note the last two candidates, and what is known of them before their last hearing."""
    search.at[0].has_fresh = 1
    for which in range(2):
        search.steps[which] = search.jury[which].steps
        for t in range(search.steps[which]):
            edge = search.heard[which, t]
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
