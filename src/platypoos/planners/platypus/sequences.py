"""Whole sequences of actions: candidates, walks, changes, challengers."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from operator import mul
from typing import TYPE_CHECKING, Any

from platypoos.graph import Edge, Path, State

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
        self.last = 0.0
        """What the last sequence that was walked is worth."""
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


def consider(search: Search, actions: list[Any], path: Path, *, is_rule: bool = False) -> None:
    """Keep the better one of two sequences that begin alike."""
    level = search.level
    new = Candidate(actions, path)
    weigh(search, new)
    level.last = new.value
    level.low, level.high = min(level.low, new.value), max(level.high, new.value)
    if is_rule:
        level.rule = new
    first = path[0].action
    old = level.best.get(first)
    rival = level.leader if old is None and search.graph.endless else old
    if rival is not None:
        bar = rival.value if old is not None else -math.inf
        if new.ends and rival.ends and len(path) < len(rival.path):
            # It saves the costs of the way to the old end. That is no merit: most ends can be
            # avoided by a change just before them, so it must be better without the last step.
            last, power = rival.path[-1], search.power[len(rival.path) - 1]
            bar = rival.value - min(0.0, power * (last.mean + search.graph.origin))
        if new.value < bar:
            return
        shorter = new.ends and len(path) < len(rival.path)
        if new.value == bar and (new.rank < rival.rank or shorter):
            return
    level.best[first] = new
    if search.graph.endless and len(level.best) > 2 * MOST_FIRSTS:
        level.best = {candidate.first: candidate for candidate in level.ranked()[:MOST_FIRSTS]}
    leader = level.leader
    if search.finder and leader is not None and new.value > leader.value:
        search.wins[search.finder] += 1
    if leader is None or new.rank >= leader.rank:
        level.leader = new
    elif old is leader:
        level.leader = level.ranked()[0]


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


class Walker:
    """A sequence that is being walked."""

    __slots__ = ("actions", "beyond", "is_rule", "path")

    def __init__(self, actions: Sequence[Any], length: int, *, ruled: bool) -> None:
        self.actions = list(actions[:length])
        self.beyond = list(actions[length:])
        self.is_rule = not self.actions
        self.path: Path = []
        if not ruled:
            self.actions += self.actions[-1:] * (length - len(self.actions))


def walk(search: Search, sequences: list[list[Any]], *, by_chance: bool = False) -> Asking:
    """Walk sequences from the root, all at once. Known steps are free.

    A sequence that is too short is followed by the rule, or else by its last action; an empty one
    is the rule itself. A walk asks for several steps at once while all is new. It waits if another
    one asks for the same step.
    """
    graph, length = search.graph, search.level.length
    walkers = [Walker(s, length, ruled=search.rule is not None) for s in sequences]
    while walkers:
        batch, asking, asked, later = [], [], set(), []
        for walker in walkers:
            state, action = follow(search, walker, length)
            t = len(walker.path)
            if state is None or t == length:
                planned = walker.actions + walker.beyond
                if search.rule is not None or graph.legal_actions is not None:
                    planned = [edge.action for edge in walker.path] + planned[t:]
                if by_chance:
                    note_return(search, walker.path)
                consider(search, planned, walker.path, is_rule=walker.is_rule)
                continue
            later.append(walker)
            if (state, action) in asked:
                continue
            asked.add((state, action))
            steps = length - t if graph.open_loop else min(graph.tail, length - t)
            batch.append(search.request(state, walker.actions[t : t + steps], steps))
            asking.append(walker)
        replies = yield from search.ask(batch)
        for walker, paths in zip(asking, replies, strict=False):
            if not paths:
                continue
            if graph.open_loop:  # it was walked as a whole
                taken = [edge.action for edge in paths[-1]]
                if taken:
                    planned = taken + walker.actions[len(taken) :]
                    consider(search, planned, paths[-1][:length], is_rule=walker.is_rule)
                later.remove(walker)
            else:
                walker.path += paths[-1]
        walkers = later


def follow(search: Search, walker: Walker, length: int) -> tuple[State | None, Any]:
    """Go along known steps; returns the state where something is unknown, and the action there."""
    path, actions = walker.path, walker.actions
    state = path[-1].after if path else search.graph.root
    for action in actions[len(path) :]:
        if state is None:
            return None, -1
        edge = state.edges.get(action)
        if edge is None:
            edge = None if search.graph.allows(state, action) else instead(state)
            if edge is None:
                return state, action
        path.append(edge)
        state = edge.after
    while state is not None and len(path) < length:  # the rule
        if search.graph.open_loop:
            return state, -1  # nobody knows what it will do
        action = search.advice(state)
        edge = state.edges.get(action)
        if edge is None:
            return state, action
        path.append(edge)
        state = edge.after
    return state, -1


def instead(state: State) -> Edge | None:
    """In place of an action that is not allowed: the best that is known, or any that is."""
    if state.choice is not None:
        return state.choice
    return next(iter(state.edges.values()), None)


def change(search: Search, candidate: Candidate) -> list[Any]:
    """Change a random stretch of 1, 2, 4, … steps of a sequence."""
    draw, known, actions = search.random.random, len(candidate.path), candidate.actions
    length = search.level.length
    start = int(draw() ** search.rules.early * known)
    if known < length and draw() < 0.5:  # shortly before the episode's end
        start = max(0, known - 1 - int(draw() * (1 + 2 ** int(4 * draw()))))
    end = start + 2 ** int(draw() * length.bit_length())
    changed = actions[:start] + search.moves.stretch(candidate, start, end)
    if search.rule is not None and draw() < 0.5:
        return changed  # and the rule from there
    return changed + actions[max(end, len(changed)) :]


def explore_sequences(search: Search, end: float) -> Asking:
    """Walk what was proposed, and changes of the leader, some at a time.

    Random sequences are walked instead, in half of the cases, where the last ones were known
    already; and where first actions are equal: then they tell how steady each is.
    """
    idle, level = 0, search.level
    while search.proposed or (search.calls < end and idle < search.rules.idle):
        known, sequences = search.graph.known, search.proposed
        search.proposed = []
        randomly: list[list[Any]] = []
        if search.calls < end and search.rules.sequences and level.leader is not None:
            equals = [] if search.graph.endless else undecided(search)
            width = search.width
            if search.graph.noisy:  # the calls of the last hearing are kept for it
                width = max(1, min(width, int((end - search.calls) / level.length)))
            for _ in range(width):
                if equals and search.random.random() < search.rules.steady_share:
                    least = min(equals, key=lambda c: (c.path[0].walks, search.random.random()))
                    randomly.append([least.first, *search.moves.sequence(level.length)])
                elif idle and search.random.random() < 0.5:
                    randomly.append(search.moves.sequence(level.length))
                else:
                    sequences.append(change(search, level.leader))
        if not sequences and not randomly:
            return
        walks = len(sequences) + len(randomly)
        yield from walk(search, sequences)
        yield from walk(search, randomly, by_chance=True)
        idle = idle + walks if search.graph.known == known else 0


def undecided(search: Search) -> list[Candidate]:
    """Equal first actions that random walks can tell apart, as far as is known."""
    equals = search.equals()
    if len(equals) < 2:
        return []
    firsts = [candidate.path[0] for candidate in equals]
    returns = {steadiness(search, edge) for edge in firsts}
    if len(returns) == 1 and all(edge.walks > 1 for edge in firsts):
        return []  # a random walk brings the same after each
    return equals


def be_greedy(search: Search, end: float) -> Asking:
    """Walk the sequence that takes, at each step, the action that brings most at once."""
    graph, length = search.graph, search.level.length
    state: State | None = graph.root
    actions: list[Any] = []
    while state is not None and len(actions) < length:
        missing = [a for a in graph.options(state) if a not in state.edges]
        if search.calls + len(missing) > end:
            break
        yield from search.ask([search.request(state, [action], 1) for action in missing])
        rewards = {edge.mean for edge in state.edges.values()}
        if not rewards or (len(rewards) == 1 and not actions):
            break  # all bring the same at once: there is nothing to be greedy for
        edge = max(state.edges.values(), key=lambda e: (e.mean, e.after.ticket if e.after else 0.0))
        actions.append(edge.action)
        state = edge.after
    won = False
    if actions:
        yield from walk(search, [actions])
        leader = search.level.leader
        won = leader is not None and leader.actions[: len(actions)] == actions
    search.greed = search.rules.greedy_share if won else max(0.03, search.greed / 2.0)


def challenge(search: Search, credit: float) -> Asking:
    """Try other first actions, followed by what the leader does (and by the rule).

    So the values of first actions are those of the actions and not of neglect: the best ones are
    tried, and one of the others in turn. No more is tried when the calls that it has cost exceed
    ``credit``.
    """
    level, began = search.level, search.calls
    leader = level.leader
    if leader is None:
        return
    others = [c.first for c in level.ranked() if c is not leader]
    if not search.graph.endless:
        others += [a for a in search.graph.options(search.graph.root) if a not in level.best]
    most = search.rules.challengers
    if len(others) > most > 0 and credit > 0:
        in_turn = min(others[most - 1 :], key=lambda action: level.tried.get(action, 0))
        level.tried[in_turn] = level.tried.get(in_turn, 0) + 1
        others = others[: most - 1]
        yield from walk(search, [[in_turn, *leader.actions[1:]]])
    for action in others[:most]:
        tails = [leader.actions[1:], leader.actions[:-1]]
        if search.rule is not None:
            tails.append([])
        for tail in tails:
            if search.calls - began >= credit:
                return
            yield from walk(search, [[action, *tail]])
