"""Walks: sequences that are played from the root, several at once; the twin of ``walking.py``."""

from __future__ import annotations

import numpy as np

from platypoos.compiled.platypus.arrays import (
    CHALLENGES,
    CHANGES,
    MOST_PROPOSED,
    NONE,
    Ints,
    Search,
)
from platypoos.compiled.platypus.asking import ask, request
from platypoos.compiled.platypus.draws import OF_SEARCH, draw
from platypoos.compiled.platypus.graph import allows, find_edge
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.sequences import (
    change,
    consider,
    note_return,
    random_actions,
    row_of,
    undecided,
)


@part
def make_walk(search: Search, payer: int, by_chance: bool) -> int:
    """Take a walker that is free; there is one. Its actions are to be written."""
    at = search.at[0]
    at.free -= 1
    walker = np.int64(search.spare[at.free])
    walking = search.walkers[walker]
    walking.payer, walking.by_chance = payer, by_chance
    walking.steps = walking.found = walking.awaited = 0
    walking.level, walking.state = at.level, NONE
    return walker


@part
def free_walk(search: Search, walker: int) -> None:
    """A walker has come to its end, or is not needed."""
    search.spare[search.at[0].free] = walker
    search.at[0].free += 1


@part
def pad(search: Search, walker: int, count: int) -> None:
    """So many actions are written; a sequence that is too short is followed by the last one."""
    place, length = row_of(search, walker), search.at[0].length
    for t in range(count, length):
        search.tape[place + t] = search.tape[place + count - 1]
    search.walkers[walker].count = max(count, length)


@part
def give(search: Search, actions: Ints, count: int, payer: int) -> int:
    """A walk with a sequence of actions."""
    walker = make_walk(search, payer, False)
    place = row_of(search, walker)
    for i in range(count):
        search.tape[place + i] = actions[i]
    pad(search, walker, count)
    return walker


@part
def may_propose(search: Search) -> bool:
    """Whether there is room for another walk in the line. There always is, nearly."""
    return search.at[0].proposed < MOST_PROPOSED


@part
def put_under_way(search: Search, walker: int, awaited: bool) -> None:
    """Let a walk begin."""
    at = search.at[0]
    search.walkers[walker].awaited = awaited
    search.under_way[at.walks] = walker
    at.walks += 1


@part
def put_in_line(search: Search, walker: int) -> None:
    """Propose a walk."""
    at = search.at[0]
    search.line[(at.line + at.proposed) % len(search.line)] = walker
    at.proposed += 1


@part
def next_in_line(search: Search) -> int:
    """Take the first walk that was proposed."""
    at = search.at[0]
    walker = np.int64(search.line[at.line])
    at.line = (at.line + 1) % len(search.line)
    at.proposed -= 1
    return walker


@part
def walk(search: Search) -> bool:
    """Walk those that are awaited to their ends, all at once. False if the plan is over."""
    while True:
        waits = False
        for i in range(search.at[0].walks):
            waits = waits or search.walkers[search.under_way[i]].awaited != 0
        if not waits:
            return True
        search.at[0].requests = 0
        if not advance(search):
            return False


@part
def advance(search: Search) -> bool:
    """Have the batch played, and with it the next steps of all walks; see the plain planner.

    False if the plan is over.
    """
    at, rules = search.at[0], search.rules[0]
    number = min(at.requests, len(search.batch))
    start_walks(search)
    most = rules.stretch
    if number > 0:
        for i in range(number):
            most = max(most, search.batch[i].steps)
    elif at.walks > 0:
        least = left_of(search, search.under_way[0])
        for i in range(1, at.walks):
            least = min(least, left_of(search, search.under_way[i]))
        most = max(most, least)
    at.walk_pass += 1
    for i in range(at.walks):
        walker = search.under_way[i]
        walking = search.walkers[walker]
        walking.asks = ask_first(search, walking.state, walking.action, walker)
    if at.walks > 0:
        for i in range(number):
            asked = search.batch[i]
            walker = who_asks(search, asked.state, search.tape[asked.place])
            if walker != NONE:
                search.walkers[walker].asks = 0
    for i in range(at.walks):
        walker = search.under_way[i]
        walking = search.walkers[walker]
        if walking.asks:
            steps = min(search.graph[0].tail, left_of(search, walker), most)
            place = row_of(search, walker) + walking.steps
            request(search, walking.state, place, steps, 1, walking.payer, walker)
    if at.requests == 0:
        return True
    if not ask(search):
        return False
    next_steps(search, True)
    return True


@part
def _place(search: Search, state: int, action: int) -> int:
    """Where a step is in the table of those that are asked for, or would be."""
    asked, number = search.asked, search.at[0].walk_pass
    mask = len(asked) - 1
    mixed = (state * search.graph[0].num_actions + action) * 0x9E3779B1
    place = (mixed ^ (mixed >> 15)) & mask
    while asked[place, 0] == number and (asked[place, 1] != state or asked[place, 2] != action):
        place = (place + 1) & mask
    return place


@part
def ask_first(search: Search, state: int, action: int, walker: int) -> bool:
    """Whether no other walk has asked for a step; now this one has."""
    asked, number = search.asked, search.at[0].walk_pass
    place = _place(search, state, action)
    if asked[place, 0] == number:
        return False
    asked[place, 0], asked[place, 1] = number, state
    asked[place, 2], asked[place, 3] = action, walker
    return True


@part
def who_asks(search: Search, state: int, action: int) -> int:
    """The walk that asks for a step, or NONE."""
    place = _place(search, state, action)
    return search.asked[place, 3] if search.asked[place, 0] == search.at[0].walk_pass else NONE


@part
def left_of(search: Search, walker: int) -> int:
    """Steps to the end of a walk, at most."""
    return search.at[0].length - search.walkers[walker].steps


@part
def start_walks(search: Search) -> None:
    """Start new walks where there is room."""
    at = search.at[0]
    next_steps(search, False)
    while at.walks < at.width:
        started = new_walk(search)
        if started == NONE:
            return
        if goes_on(search, started):
            put_under_way(search, started, False)


@part
def next_steps(search: Search, again: bool) -> None:
    """Go along known steps with all walks, or with new ones only."""
    at = search.at[0]
    count, at.walks = at.walks, 0
    for i in range(count):
        walker = search.under_way[i]
        seen = not again and search.walkers[walker].state != NONE
        if seen or goes_on(search, walker):
            search.under_way[at.walks] = walker
            at.walks += 1


@part
def goes_on(search: Search, walker: int) -> bool:
    """Go along known steps with one walk; False if it has come to its end."""
    follow(search, walker)
    walking = search.walkers[walker]
    if walking.state != NONE and left_of(search, walker) > 0:
        return True
    finish_walk(search, walker)
    free_walk(search, walker)
    return False


@part
def finish_walk(search: Search, walker: int) -> None:
    """Compare a walk that has come to its end."""
    at, walking, place = search.at[0], search.walkers[walker], row_of(search, walker)
    path, steps, count = search.paths[walker], walking.steps, walking.count
    if search.graph[0].masked:
        for t in range(steps):
            search.tape[place + t] = search.edges[path[t]].action
    if walking.by_chance:
        note_return(search, path, steps)
    if walking.payer == CHANGES:
        at.idle = 0 if walking.found else at.idle + 1
    if walking.level == at.level:
        actions = search.tape[place : place + count]
        consider(search, actions, count, path, steps, walking.payer)


@part
def follow(search: Search, walker: int) -> None:
    """Go along known steps; notes the state where something is unknown, and the action there."""
    walking, path, edges = search.walkers[walker], search.paths[walker], search.edges
    place, steps, length = row_of(search, walker), walking.steps, search.at[0].length
    state = search.graph[0].root if steps == 0 else np.int64(edges[path[steps - 1]].after)
    action = NONE
    while state != NONE and steps < length:
        action = search.tape[place + steps]
        edge = find_edge(search, state, action)
        if edge == NONE:
            if not allows(search, state, action):
                edge = instead(search, state)
            if edge == NONE:
                break
        path[steps] = edge
        steps += 1
        state = np.int64(edges[edge].after)
    walking.steps = steps
    walking.state, walking.action = state, action


@part
def instead(search: Search, state: int) -> int:
    """In place of an action that is not allowed: the best that is known, or any that is."""
    known = search.states[state]
    return known.choice if known.choice != NONE else known.first


# ---------------------------------------------------------------------- new walks


@part
def new_walk(search: Search) -> int:
    """What to walk next: what was proposed, or else a change of the leader; NONE if nothing."""
    at = search.at[0]
    due = 0
    for i in range(at.walks):
        due += left_of(search, search.under_way[i])
    while at.proposed > 0:
        walker = next_in_line(search)
        follow(search, walker)
        fits = at.calls + due + left_of(search, walker) <= at.walks_until
        if fits and (search.walkers[walker].payer != CHALLENGES or may_pay(search, CHALLENGES)):
            return walker
        free_walk(search, walker)
    while at.idle < search.rules[0].idle and search.spent[CHANGES] < search.limit[CHANGES]:
        walker = variation(search)
        if walker == NONE:
            return NONE
        follow(search, walker)
        if at.calls + due + left_of(search, walker) <= at.walks_until:
            return walker
        free_walk(search, walker)
        at.idle += 1
    return NONE


@part
def may_pay(search: Search, payer: int) -> bool:
    """Whether a payer has calls left when its walks under way have come to their ends."""
    due = 0
    for i in range(search.at[0].walks):
        walker = search.under_way[i]
        if search.walkers[walker].payer == payer:
            due += left_of(search, walker)
    return search.spent[payer] + due < search.limit[payer]


@part
def variation(search: Search) -> int:
    """A change of the leader, or a random sequence; see the plain planner."""
    at, rules = search.at[0], search.rules[0]
    if not rules.sequences or at.leader == NONE:
        return NONE
    equals = search.lists[0]
    count = undecided(search, equals)
    if count > 0 and draw(search, OF_SEARCH) < rules.steady_share:
        least, walks, ticket = NONE, 0, 0.0
        for i in range(count):
            edge = search.edges[search.ways[equals[i], 0]]
            drawn = draw(search, OF_SEARCH)
            fewer = edge.walks < walks or (edge.walks == walks and drawn < ticket)
            if least == NONE or fewer:
                least, walks, ticket = np.int64(equals[i]), np.int64(edge.walks), drawn
        walker = make_walk(search, CHANGES, True)
        search.tape[row_of(search, walker)] = least
        random_actions(search, row_of(search, walker) + 1)
        pad(search, walker, 1 + at.length)
        return walker
    if at.idle > 0 and draw(search, OF_SEARCH) < 0.5:
        walker = make_walk(search, CHANGES, True)
        random_actions(search, row_of(search, walker))
        pad(search, walker, at.length)
        return walker
    walker = make_walk(search, CHANGES, False)
    pad(search, walker, change(search, row_of(search, walker)))
    return walker
