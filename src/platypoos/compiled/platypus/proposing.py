"""Other ideas of what to walk; the twin of ``proposing.py``."""

from __future__ import annotations

from platypoos.compiled.platypus.arrays import CHALLENGES, NONE, OTHERS, Search
from platypoos.compiled.platypus.asking import request
from platypoos.compiled.platypus.graph import allows, find_edge
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.sequences import rank, row_of
from platypoos.compiled.platypus.walking import (
    advance,
    give,
    make_walk,
    may_propose,
    pad,
    put_in_line,
    put_under_way,
    walk,
)


@part
def be_greedy(search: Search, end: float) -> bool:
    """Walk the sequence that takes, at each step, the action that brings most at once."""
    at, graph, edges = search.at[0], search.graph[0], search.edges
    state, count = graph.root, 0
    while state != NONE and count < at.length:
        missing = 0
        for action in range(graph.num_actions):
            if allows(search, state, action) and find_edge(search, state, action) == NONE:
                missing += 1
        if at.calls + missing > end:
            break
        if missing > 0:
            at.requests = 0
            for action in range(graph.num_actions):
                if allows(search, state, action) and find_edge(search, state, action) == NONE:
                    request(search, state, action, 1, 1, OTHERS, NONE)
            if not advance(search):
                return False
        edge = search.states[state].first
        if edge == NONE:
            break
        best, best_ticket, same = NONE, 0.0, True
        while edge != NONE:
            after = edges[edge].after
            ticket = 0.0 if after == NONE else search.states[after].ticket
            same = same and edges[edge].mean == edges[search.states[state].first].mean
            mean, most = edges[edge].mean, edges[best].mean
            if best == NONE or mean > most or (mean == most and ticket > best_ticket):
                best, best_ticket = edge, ticket
            edge = edges[edge].next
        if same and count == 0:
            break  # all bring the same at once: there is nothing to be greedy for
        search.kept[count] = edges[best].action
        count += 1
        state = edges[best].after
    won = False
    if count > 0:
        put_under_way(search, give(search, search.kept, count, OTHERS), True)
        if not walk(search):
            return False
        won = at.leader != NONE and search.candidates[at.leader].count >= count
        for i in range(count):
            won = won and search.actions[at.leader, i] == search.kept[i]
    at.greed = search.rules[0].greedy_share if won else max(0.03, at.greed / 2.0)
    return True


@part
def propose_challengers(search: Search) -> None:
    """Propose other first actions, followed by what the leader does; see the plain planner."""
    graph, leader = search.graph[0], search.at[0].leader
    if leader == NONE or search.spent[CHALLENGES] >= search.limit[CHALLENGES]:
        return
    others, ranked = search.lists[0], search.lists[1]
    count = 0
    for i in range(rank(search, ranked)):
        if ranked[i] != leader:
            others[count] = ranked[i]
            count += 1
    for action in range(graph.num_actions):
        if search.candidates[action].steps == 0 and allows(search, graph.root, action):
            others[count] = action
            count += 1
    most = search.rules[0].challengers
    if count > most > 0:
        in_turn = others[most - 1]
        for i in range(most, count):
            if search.tried[others[i]] < search.tried[in_turn]:
                in_turn = others[i]
        search.tried[in_turn] += 1
        count = most - 1
        propose_tail(search, in_turn, 1)
    for i in range(min(count, most)):
        propose_tail(search, others[i], 1)
        propose_tail(search, others[i], 0)


@part
def propose_tail(search: Search, action: int, start: int) -> None:
    """Propose an action, and then what the leader does without its first or its last step."""
    leader = search.at[0].leader
    if not may_propose(search):
        return
    walker = make_walk(search, CHALLENGES, False)
    count, place = search.candidates[leader].count, row_of(search, walker)
    search.tape[place] = action
    for i in range(count - 1):
        search.tape[place + 1 + i] = search.actions[leader, start + i]
    pad(search, walker, count)
    put_in_line(search, walker)
