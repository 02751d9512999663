"""What the best policy in all that is known would do; the twin of ``policies.py``."""

from __future__ import annotations

from typing import Any

from platypoos.compiled.platypus.arrays import NONE, OTHERS, Ints, Search
from platypoos.compiled.platypus.graph import edge_value, settle
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.sequences import consider, row_of
from platypoos.compiled.platypus.walking import give, may_propose, put_in_line


@part
def policy_path(search: Search, edge: int, path: Ints, length: int) -> int:
    """The steps that the best known policy takes, beginning with an edge; returns their number."""
    steps = 0
    while edge != NONE and steps < length:
        path[steps] = edge
        steps += 1
        after = search.edges[edge].after
        edge = NONE if after == NONE else search.states[after].choice
    return steps


@part
def propose_policies(search: Search) -> None:
    """Propose what the best known policy does after the best first actions."""
    at, length = search.at[0], search.at[0].length
    policies = search.rules[0].policies
    if policies == 0:
        return
    settle(search, 2.0 * at.stage)
    # The best first actions, the best first: so many at most.
    chosen, worth = search.lists[0], search.numbers
    count = 0
    edge = search.states[search.graph[0].root].first
    while edge != NONE:
        value = edge_value(search, edge)
        i = count
        while i > 0 and value > worth[i - 1]:
            i -= 1
        if i < policies:
            count = min(count + 1, policies)
            for j in range(count - 1, i, -1):
                chosen[j], worth[j] = chosen[j - 1], worth[j - 1]
            chosen[i], worth[i] = edge, value
        edge = search.edges[edge].next
    path = search.paths[len(search.paths) - 1]
    for i in range(count):
        steps = policy_path(search, chosen[i], path, length)
        ends = search.edges[path[steps - 1]].after == NONE
        if (ends or 2 * steps >= length) and may_propose(search):
            walker = give(search, actions_of(search, path, steps), steps, OTHERS)
            put_in_line(search, walker)


@part
def adopt_policies(search: Search) -> None:
    """Compare with what the best known policy does after each first action, for no calls."""
    at, length = search.at[0], search.at[0].length
    settle(search, 2.0 * at.stage)
    path = search.paths[len(search.paths) - 1]
    edge = search.states[search.graph[0].root].first
    while edge != NONE:
        steps = policy_path(search, edge, path, length)
        if steps == length or search.edges[path[steps - 1]].after == NONE:
            consider(search, actions_of(search, path, steps), steps, path, steps, OTHERS)
        edge = search.edges[edge].next


@part
def actions_of(search: Search, path: Ints, steps: int) -> Any:
    """The actions of a path, on the tape behind the walkers' rows."""
    place = row_of(search, len(search.walkers))
    for t in range(steps):
        search.tape[place + t] = search.edges[path[t]].action
    return search.tape[place : place + steps]
