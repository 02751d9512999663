"""Batches of requests: written down, cut to the calls that are left, played, and learned from.

It does what ``Search.ask`` and ``Search.learn``, the driver, and the simulator do for a Python
model. A walk is learned from step by step: it is the same, as requests are chosen before.
"""

from __future__ import annotations

import numpy as np

from platypoos.checking.watch import GLANCE
from platypoos.checks import LARGEST_REWARD
from platypoos.compiled.ledger.first_class import functions_at
from platypoos.compiled.platypus.arrays import BAD_REWARD, NONE, RANDOM_END, RANDOM_STATE, Search
from platypoos.compiled.platypus.draws import draw_streams, start_stream
from platypoos.compiled.platypus.graph import (
    ask_legal,
    count_options,
    learn,
    note_length,
    same_row,
)
from platypoos.compiled.platypus.parts import part


@part
def request(
    search: Search, state: int, place: int, steps: int, times: int, payer: int, walker: int
) -> None:
    """Ask for walks from a state, with actions that are on the tape; see ``ask``.

    Each takes a call at least, so what does not fit in the batch does not fit in the budget.
    """
    number = search.at[0].requests
    if number < len(search.batch):
        asked = search.batch[number]
        asked.state, asked.place, asked.steps = state, place, steps
        asked.times, asked.payer, asked.walker = times, payer, walker
    search.at[0].requests = number + 1


@part
def ask(search: Search) -> bool:
    """Have the requests played, and learn. False if the plan is over."""
    at = search.at[0]
    number, at.requests = min(at.requests, len(search.batch)), 0
    if number == 0:
        return True
    left = at.end - at.calls
    if left <= 0:
        at.over = 1
    elif at.calls > at.first_call and search.stop[0]:
        at.over = at.late = 1
    if at.over:
        return False
    fitting = 0  # see ``fitting`` in simulator/requests.py
    while fitting < number and left > 0:
        asked = search.batch[fitting]
        if asked.steps * asked.times > left:
            if asked.steps <= left:
                asked.times = left // asked.steps
            else:
                asked.steps, asked.times = left, 1
        left -= asked.steps * asked.times
        fitting += 1
    draw_streams(search, fitting)
    for i in range(fitting):
        asked = search.batch[i]
        start_stream(search)
        calls, known = at.calls, search.graph[0].known
        for _ in range(asked.times):
            take_walk(search, asked.state, asked.place, asked.steps, asked.walker)
        search.spent[asked.payer] += at.calls - calls
        if asked.walker != NONE and search.graph[0].known > known:
            search.walkers[asked.walker].found = 1
    return True


@part
def take_walk(search: Search, here: int, place: int, steps: int, walker: int) -> None:
    """Make steps from a state, and learn from each; a walker's path goes on with them."""
    at, graph = search.at[0], search.graph[0]
    new = taken = 0
    for i in range(steps):
        if search.stop[0] and at.calls > at.first_call:
            at.late = 1
            break
        action = search.tape[place + i]
        if graph.masked:
            action = choose(search, here, action)
        at.at_state, at.at_action = here, action
        at.calls += 1  # before the step: it may raise
        row = graph.count
        reward, ended = functions_at(at.functions).kernel(at.given, here, np.int64(action), row)
        if not abs(reward) <= LARGEST_REWARD:
            at.status, at.reward = BAD_REWARD, reward
            raise ValueError
        edge, is_new = learn(search, here, action, reward, ended)
        after = search.edges[edge].after
        if is_new:
            new += 1
        elif ended != (after == NONE) and search.states[here].time + 1 != graph.horizon:
            at.status = RANDOM_END
            raise ValueError
        elif after != NONE and compares(search) and not same_row(search, after, row):
            at.status = RANDOM_STATE
            raise ValueError
        if walker != NONE:
            walking = search.walkers[walker]
            search.paths[walker, walking.steps] = edge
            walking.steps += 1
        taken += 1
        here = after
        if here == NONE:
            break
    note_length(search, taken, new)


@part
def compares(search: Search) -> bool:
    """Whether to see if a repeated step leads where it led before; see ``Watch.compares``."""
    at = search.at[0]
    calls = at.calls - at.first_call
    if calls >= at.next_glance:
        at.next_glance = 2 * calls
        at.compares = GLANCE
    if at.compares > 0:
        at.compares -= 1
        return True
    return False


@part
def choose(search: Search, state: int, action: int) -> int:
    """The action to play: the planned one if it is legal, else a random legal one."""
    ask_legal(search, state)
    if search.legal[state, action] == 1:
        return action
    left = np.int64(search.rng.random() * count_options(search, state))
    action = -1
    while left >= 0:
        action += 1
        left -= search.legal[state, action]
    return action
