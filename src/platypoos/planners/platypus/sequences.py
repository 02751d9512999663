"""Whole sequences of actions: candidates, what they are worth, and changes of them."""

from __future__ import annotations

import math
from collections.abc import Generator
from operator import mul
from typing import TYPE_CHECKING, Any

from platypoos.graph import Edge, Path

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search

MOST_FIRSTS = 8
"""First actions that are remembered where they cannot be listed, or up to twice as many."""
Asking = Generator[list[Any], Any, None]


class Candidate:
    """A sequence of actions, and the path it takes through the graph.

    The path is shorter than the level's length if the episode ends. The actions may go on beyond
    it: what a longer level had planned, or what was planned after an end.
    """

    __slots__ = ("actions", "path", "rank", "value")

    def __init__(self, actions: list[Any], path: Path) -> None:
        self.actions, self.path = actions, path
        self.value = 0.0
        self.rank = (0.0, 0.0, 0.0)

    @property
    def first(self) -> Any:
        """Its first action."""
        return self.path[0].action

    @property
    def ends(self) -> bool:
        """Whether it ends the episode."""
        return self.path[-1].after is None


class Level:
    """The best sequence of a length that is known for each first action."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.best: dict[Any, Candidate] = {}
        self.leader: Candidate | None = None
        self.tried: dict[Any, int] = {}
        """How often a first action was a challenger in turn."""
        self.low, self.high = math.inf, -math.inf
        """The least and the largest value of a sequence that was walked."""
        self.rule: Candidate | None = None
        """What the user's rule does, from the first step on."""

    def ranked(self) -> list[Candidate]:
        """The candidates, the best first."""
        return sorted(self.best.values(), key=lambda candidate: candidate.rank, reverse=True)


def weigh(search: Search, candidate: Candidate) -> None:
    """The discounted rewards of a sequence, and what follows it."""
    path = candidate.path
    value = sum(map(mul, search.power, search.graph.rewards(path)))
    after = path[-1].after
    candidate.value = value + search.power[len(path)] * follows(search, path)
    outlook = path[-1].rest if after is None else after.value
    candidate.rank = (candidate.value, steadiness(search, path[0]), outlook)


def follows(search: Search, path: Path) -> float:
    """What follows a sequence.

    Nothing follows an end. After a state that goes on, the model's value of it counts, if it has
    one; or the value in the graph, if nothing is unknown anywhere; else what going on is worth on
    average, which is the same for all sequences that do not end.
    """
    graph, after = search.graph, path[-1].after
    if after is None:
        return path[-1].rest
    if after.worth is not None:
        return after.worth
    return after.value if graph.closed else graph.rate * after.span


def consider(
    search: Search,
    level: Level,
    actions: list[Any],
    path: Path,
    *,
    is_rule: bool = False,
    finder: str = "",
) -> float:
    """Keep the better one of two sequences that begin alike; returns what the new one is worth.

    Args:
        search: what is known.
        level: the sequences to compare with.
        actions: the new sequence.
        path: its path.
        is_rule: whether it is the user's rule.
        finder: who found it, and wins if it is the best of all.
    """
    new = Candidate(actions, path)
    weigh(search, new)
    level.low, level.high = min(level.low, new.value), max(level.high, new.value)
    if is_rule:
        level.rule = new
    old = level.best.get(new.first)
    rival = level.leader if old is None and search.graph.endless else old
    if rival is not None and not is_better(search, new, rival, same_first=old is not None):
        return new.value
    level.best[new.first] = new
    if search.graph.endless and len(level.best) > 2 * MOST_FIRSTS:
        level.best = {candidate.first: candidate for candidate in level.ranked()[:MOST_FIRSTS]}
    leader = level.leader
    if finder in search.wins and leader is not None and new.value > leader.value:
        search.wins[finder] += 1
    if leader is None or new.rank >= leader.rank:
        level.leader = new
    elif old is leader:
        level.leader = level.ranked()[0]
    return new.value


def is_better(search: Search, new: Candidate, rival: Candidate, *, same_first: bool) -> bool:
    """Whether a new sequence replaces one that begins alike, or is to be kept beside another."""
    bar = rival.value if same_first else -math.inf
    shorter = new.ends and len(new.path) < len(rival.path)
    if shorter and rival.ends:
        # It saves the costs of the way to the old end. That is no merit: most ends can be
        # avoided by a change just before them, so it must be better without the last step.
        last, power = rival.path[-1], search.power[len(rival.path) - 1]
        bar = rival.value - min(0.0, power * (last.mean + search.graph.origin))
    if new.value != bar:
        return new.value > bar
    return new.rank >= rival.rank and not shorter


def note_return(search: Search, path: Path) -> None:
    """Average the returns of random walks: how steady an action is, whatever follows."""
    last, gamma = path[-1], search.graph.discount
    if last.after is None:
        total, going_on = last.rest, 0.0
    else:
        total, going_on = 0.0, last.after.span
    for edge in reversed(path):
        total, going_on = edge.mean + gamma * total, gamma * going_on
        edge.walks += 1
        edge.average += (total - edge.average) / edge.walks
        edge.going_on += (going_on - edge.going_on) / edge.walks


def steadiness(search: Search, edge: Edge) -> float:
    """What a random walk brings on average that begins with an edge."""
    if not edge.walks:
        return search.usual_return
    return edge.average + edge.going_on * search.graph.rate


def weigh_again(search: Search) -> None:
    """Find out who leads now that values have changed."""
    search.graph.take_moments()
    level = search.level
    walked = [edge for edge in search.graph.root.edges.values() if edge.walks]
    if walked:
        search.usual_return = sum(steadiness(search, edge) for edge in walked) / len(walked)
    for candidate in level.best.values():
        weigh(search, candidate)
    if level.best:
        level.leader = level.ranked()[0]


def change(search: Search, candidate: Candidate, length: int) -> list[Any]:
    """Change a random stretch of 1, 2, 4, … steps of a sequence of some length."""
    draw, known, actions = search.random.random, len(candidate.path), candidate.actions
    start = int(draw() ** search.rules.early * known)
    if known < length and draw() < 0.5:  # shortly before the episode's end
        start = max(0, known - 1 - int(draw() * (1 + 2 ** int(4 * draw()))))
    end = start + 2 ** int(draw() * length.bit_length())
    changed = actions[:start] + search.moves.stretch(candidate, start, end)
    if search.rule is not None and draw() < 0.5:
        return changed  # and the rule from there
    return changed + actions[max(end, len(changed)) :]
