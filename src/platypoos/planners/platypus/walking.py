"""Walks: sequences of actions that are played from the root, several at once.

A walk is played a few steps at a time. Whatever else is asked for, a layer of the tree or fresh
samples, goes in the same batch as the next steps of all walks under way. A walk that has come to
its end makes room for a new one at once. So there is always work for several workers.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from platypoos.graph import Edge, Path, State
from platypoos.planners.platypus.sequences import (
    Asking,
    Candidate,
    Level,
    change,
    consider,
    note_return,
    steadiness,
)

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Asked, Search

CHANGES, TREE, CHALLENGES, LONG, OTHERS = "changes", "tree", "challenges", "long", ""
"""Who had the idea of a walk, and pays for it: the sequence explorer, which changes the leader; the
tree; challengers; the scout; or nobody in particular."""


class Walk:
    """A sequence that is being walked.

    Args:
        search: whose actions and rule it takes.
        actions: the sequence. If it is too short it is followed by the rule, or else by its last
            action; an empty one is the rule itself.
        payer: who had the idea.
        level: where it is compared with others.
        by_chance: whether it was drawn at random, to see how steady its first action is.
    """

    __slots__ = (
        "action",
        "actions",
        "at",
        "beyond",
        "by_chance",
        "found",
        "is_over",
        "is_rule",
        "level",
        "path",
        "payer",
        "value",
    )

    def __init__(
        self,
        search: Search,
        actions: Sequence[Any],
        payer: str,
        level: Level | None = None,
        *,
        by_chance: bool = False,
    ) -> None:
        self.level = search.level if level is None else level
        length = self.level.length
        self.actions = list(actions[:length])
        self.beyond = list(actions[length:])
        self.is_rule = not self.actions
        self.path: Path = []
        self.payer, self.by_chance = payer, by_chance
        self.at: State | None = None
        """Where something is unknown; None as long as nobody has looked…"""
        self.action: Any = None
        """…and the action there."""
        self.is_over = self.found = False
        """Whether it has come to its end; and whether it has found anything new."""
        self.value = 0.0
        """What it is worth, when it has come to its end."""
        if search.rule is None:
            self.actions += self.actions[-1:] * (length - len(self.actions))

    @property
    def left(self) -> int:
        """Steps to its end, at most."""
        return self.level.length - len(self.path)


def walk_all(search: Search, sequences: list[list[Any]], payer: str = OTHERS) -> Asking:
    """Walk sequences to their ends, all at once."""
    yield from complete(search, [Walk(search, actions, payer) for actions in sequences])


def complete(search: Search, walks: list[Walk]) -> Asking:
    """The same with walks that were made already."""
    search.walks += walks
    while any(walk in search.walks for walk in walks):
        yield from advance(search)


def advance(
    search: Search, batch: Sequence[Asked] = ()
) -> Generator[list[Any], Any, list[list[Path]]]:
    """Have requests played, and with them the next steps of all walks.

    Returns the paths of the requests. Known steps are free. A walk waits if another one, or one of
    the requests, asks for the same step.
    """
    graph, asked = search.graph, list(batch)
    start_walks(search)
    most = search.rules.stretch
    if batch:
        most = max(most, *(one.request.steps for one in batch))
    elif search.walks:
        most = max(most, min(walk.left for walk in search.walks))
    taken = {(one.state, one.request.actions[0]) for one in batch if one.request.actions}
    asking = []
    for walk in search.walks:
        state, action = walk.at, walk.action
        if state is None or (state, action) in taken:
            continue
        taken.add((state, action))
        t, steps = len(walk.path), walk.left
        if not graph.open_loop:
            steps = min(graph.tail, steps, most)
        asking.append(walk)
        asked.append(search.request(state, walk.actions[t : t + steps], steps, 1, walk.payer))
    if not asked:
        return []
    replies = yield asked
    answers = []
    for place, (one, walks) in enumerate(zip(asked, replies, strict=False)):
        known = graph.known
        paths = search.learn(one, walks)
        if place < len(batch):
            answers.append(paths)
        elif paths:
            take_steps(search, asking[place - len(batch)], paths[-1], new=graph.known > known)
    search.walks = [walk for walk in search.walks if goes_on(search, walk)]
    return answers


def start_walks(search: Search) -> None:
    """Start new walks where there is room."""
    search.walks = [w for w in search.walks if w.at is not None or goes_on(search, w)]
    room = search.width - sum(walk.payer != LONG for walk in search.walks)
    while room > 0:
        started = new_walk(search)
        if started is None:
            return
        if goes_on(search, started):
            search.walks.append(started)
            room -= 1


def goes_on(search: Search, walk: Walk) -> bool:
    """Go along known steps; a walk that has come to its end is compared with others."""
    if walk.is_over:
        return False
    walk.at, walk.action = follow(search, walk)
    if walk.at is not None and walk.left > 0:
        return True
    finish(search, walk)
    return False


def take_steps(search: Search, walk: Walk, path: Path, *, new: bool) -> None:
    """What was played of a walk."""
    walk.found = walk.found or new
    if not search.graph.open_loop:
        walk.path += path
        return
    walk.is_over = True  # it was walked as a whole
    taken = [edge.action for edge in path]
    if taken:
        planned = taken + walk.actions[len(taken) :]
        walk.path = path[: walk.level.length]
        compare(search, walk, planned)


def finish(search: Search, walk: Walk) -> None:
    """Compare a walk that has come to its end."""
    walk.is_over = True
    planned = walk.actions + walk.beyond
    if search.rule is not None or search.graph.legal_actions is not None:
        planned = [edge.action for edge in walk.path] + planned[len(walk.path) :]
    if walk.by_chance:
        note_return(search, walk.path)
    compare(search, walk, planned)


def compare(search: Search, walk: Walk, planned: list[Any]) -> None:
    """Compare a sequence that was walked with the others of its level."""
    if walk.payer == CHANGES:
        search.idle = 0 if walk.found else search.idle + 1
    walk.value = consider(
        search, walk.level, planned, walk.path, is_rule=walk.is_rule, finder=walk.payer
    )


def follow(search: Search, walk: Walk) -> tuple[State | None, Any]:
    """Go along known steps; returns the state where something is unknown, and the action there."""
    path, actions, length = walk.path, walk.actions, walk.level.length
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


# ---------------------------------------------------------------------- new walks


def new_walk(search: Search) -> Walk | None:
    """What to walk next: what was proposed, or else a change of the leader; None if nothing.

    Nothing is begun that could not come to its end before the plan's last hearing, or its end.
    """
    due = sum(walk.left for walk in search.walks)
    while search.queue:
        walk = search.queue.pop(0)
        follow(search, walk)
        fits = search.calls + due + walk.left <= search.walks_until
        if fits and (walk.payer != CHALLENGES or may_pay(search, CHALLENGES)):
            return walk
    while search.idle < search.rules.idle and search.spent[CHANGES] < search.limit[CHANGES]:
        made = variation(search)
        if made is None:
            return None
        follow(search, made)
        if search.calls + due + made.left <= search.walks_until:
            return made
        search.idle += 1
    return None


def may_pay(search: Search, payer: str) -> bool:
    """Whether a payer has calls left when its walks under way have come to their ends."""
    due = sum(walk.left for walk in search.walks if walk.payer == payer)
    return search.spent[payer] + due < search.limit[payer]


def variation(search: Search) -> Walk | None:
    """A change of the leader, or a random sequence.

    Random sequences are walked in half of the cases where the last ones were known already; and
    where first actions are equal: then they tell how steady each is.
    """
    level, draw = search.level, search.random.random
    if not search.rules.sequences or level.leader is None:
        return None
    equals = [] if search.graph.endless else undecided(search)
    if equals and draw() < search.rules.steady_share:
        least = min(equals, key=lambda c: (c.path[0].walks, draw()))
        actions = [least.first, *search.moves.sequence(level.length)]
        return Walk(search, actions, CHANGES, by_chance=True)
    if search.idle and draw() < 0.5:
        return Walk(search, search.moves.sequence(level.length), CHANGES, by_chance=True)
    return Walk(search, change(search, level.leader, level.length), CHANGES)


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
