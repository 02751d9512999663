"""Other ideas of what to walk: the greedy sequence, and challengers of the leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from platypoos.graph import State
from platypoos.planners.platypus.sequences import Asking
from platypoos.planners.platypus.walking import CHALLENGES, Walk, advance, walk_all

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search


def be_greedy(search: Search, end: float) -> Asking:
    """Walk the sequence that takes, at each step, the action that brings most at once."""
    graph, length = search.graph, search.level.length
    state: State | None = graph.root
    actions: list[Any] = []
    while state is not None and len(actions) < length:
        missing = [a for a in graph.options(state) if a not in state.edges]
        if search.calls + len(missing) > end:
            break
        if missing:
            yield from advance(search, [search.request(state, [a], 1) for a in missing])
        rewards = {edge.mean for edge in state.edges.values()}
        if not rewards or (len(rewards) == 1 and not actions):
            break  # all bring the same at once: there is nothing to be greedy for
        edge = max(state.edges.values(), key=lambda e: (e.mean, e.after.ticket if e.after else 0.0))
        actions.append(edge.action)
        state = edge.after
    won = False
    if actions:
        yield from walk_all(search, [actions])
        leader = search.level.leader
        won = leader is not None and leader.actions[: len(actions)] == actions
    search.greed = search.rules.greedy_share if won else max(0.03, search.greed / 2.0)


def propose_challengers(search: Search) -> None:
    """Propose other first actions, followed by what the leader does (and by the rule).

    So the values of first actions are those of the actions and not of neglect: the best ones are
    tried, and one of the others in turn.
    """
    level, leader = search.level, search.level.leader
    if leader is None or search.spent[CHALLENGES] >= search.limit[CHALLENGES]:
        return
    sequences = []
    others = [c.first for c in level.ranked() if c is not leader]
    if not search.graph.endless:
        others += [a for a in search.graph.options(search.graph.root) if a not in level.best]
    most = search.rules.challengers
    if len(others) > most > 0:
        in_turn = min(others[most - 1 :], key=lambda action: level.tried.get(action, 0))
        level.tried[in_turn] = level.tried.get(in_turn, 0) + 1
        others = others[: most - 1]
        sequences.append([in_turn, *leader.actions[1:]])
    for action in others[:most]:
        tails = [leader.actions[1:], leader.actions[:-1]]
        if search.rule is not None:
            tails.append([])
        sequences += [[action, *tail] for tail in tails]
    search.queue += [Walk(search, actions, CHALLENGES) for actions in sequences]
