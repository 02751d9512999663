"""Noise: candidates are compared on fresh samples, and halved (sequential halving)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from platypoos.graph import Edge, Path
from platypoos.planners.platypus.policies import propose_policies
from platypoos.planners.platypus.sequences import (
    Asking,
    Candidate,
    follows,
    weigh_again,
)
from platypoos.planners.platypus.walking import advance, complete

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search


PIECE = 4
"""Steps of a path that are sampled again in one go."""


def sample_again(search: Search, paths: list[Path], calls: int) -> Asking:
    """Take fresh samples of paths, step t in proportion to γ^t: by walks that stop early.

    Where states can be restored, the pieces of a walk are played at the same time.
    """
    batch = []
    for path in paths:
        power, actions = search.power[: len(path)], [edge.action for edge in path]
        walks = int(calls / sum(power))
        lengths = [sum(p * walks > i for p in power) for i in range(walks)]
        piece = len(path) if search.graph.open_loop else PIECE
        for length in lengths or [min(len(path), calls)]:
            batch += [
                search.request(
                    path[t].start, actions[t : min(t + piece, length)], min(piece, length - t)
                )
                for t in range(0, length, piece)
            ]
    yield from advance(search, batch)
    weigh_again(search)


def hear_jury(search: Search, end: float) -> Asking:
    """Compare the candidates on fresh samples and halve them, until one is left."""
    level = search.level
    jury = level.ranked()
    hearings = max(1, (len(jury) - 1).bit_length())
    while search.calls < end and hearings > 0 and jury:
        calls = max(1, int(end - search.calls) // (hearings * len(jury)))
        steps = max(len(candidate.path) for candidate in jury)
        if len(jury) == 2 and (search.fresh is None or calls >= steps):
            search.fresh = Fresh(*jury)  # not for the last few calls of a plan
        yield from sample_again(search, [candidate.path for candidate in jury], calls)
        jury.sort(key=lambda candidate: candidate.rank, reverse=True)
        jury = jury[: max(2, (len(jury) + 1) // 2)]
        hearings -= 1
        if hearings:
            propose_policies(search)
            queue, search.queue = search.queue, []
            yield from complete(search, queue)
            jury = [level.best.get(candidate.first, candidate) for candidate in jury]
    while search.calls < end and len(jury) == 2:  # what division has left over
        paths = [candidate.path for candidate in jury]
        yield from sample_again(search, paths, max(1, int(end - search.calls) // 2))


class Fresh:
    """The last two candidates, and what was known of them before their last hearing."""

    def __init__(self, one: Candidate, other: Candidate) -> None:
        self.one, self.other = one, other
        self.before = {edge: (edge.mean, edge.samples) for edge in (*one.path, *other.path)}

    def lead(self, search: Search) -> tuple[float, float]:
        """How far ``one`` is ahead in the samples since then, and the standard error."""
        weight = difference(search, self.one, self.other)
        lead = variance = 0.0
        for edge, share in weight.items():
            mean, samples = self.before[edge]
            fresh = edge.samples - samples
            if fresh == 0:
                lead += share * edge.mean
                variance += share * share / edge.samples
            else:
                lead += share * (edge.mean * edge.samples - mean * samples) / fresh
                variance += share * share / fresh
        for sign, candidate in ((1.0, self.one), (-1.0, self.other)):
            rest = follows(search, candidate.path)
            lead += sign * search.power[len(candidate.path)] * rest
        return lead, math.sqrt(variance * search.graph.variance)


def difference(search: Search, one: Candidate, other: Candidate | None) -> dict[Edge, float]:
    """How much each edge counts in the difference of two candidates' values."""
    weight: dict[Edge, float] = {}
    for sign, candidate in ((1.0, one), (-1.0, other)):
        if candidate is not None:
            for power, edge in zip(search.power, candidate.path, strict=False):
                weight[edge] = weight.get(edge, 0.0) + sign * power
    return weight


def standard_error(search: Search, one: Candidate, other: Candidate | None = None) -> float:
    """Of a candidate's value, or of the difference of two."""
    squares = sum(
        share * share / edge.samples for edge, share in difference(search, one, other).items()
    )
    return math.sqrt(squares * search.graph.variance)
