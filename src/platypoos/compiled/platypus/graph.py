"""What is known of a simulator; the twin of ``platypoos/graph.py``."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from platypoos.checks import LARGEST_REWARD
from platypoos.compiled.ledger.first_class import functions_at
from platypoos.compiled.platypus.arrays import BAD_VALUE, FINE, NO_LEGAL, NONE, Search
from platypoos.compiled.platypus.draws import OF_GRAPH, draw
from platypoos.compiled.platypus.parts import part
from platypoos.graph import LONGEST_TAIL, ROUGHLY, SURVEY_LEAST
from platypoos.models.advice import UNASKED

COMPENSATED = sys.version_info >= (3, 12)
"""Whether Python's ``sum`` makes up for rounding."""


@part
def add(total: float, lost: float, number: float) -> tuple[float, float]:
    """One more number of a sum, as Python's ``sum`` adds it: the sum is ``total + lost``."""
    after = total + number
    if COMPENSATED:
        if abs(total) >= abs(number):
            lost += (total - after) + number
        else:
            lost += (number - after) + total
    return after, lost


@part
def added(total: float, lost: float) -> float:
    """The sum."""
    return total + lost if lost != 0.0 and math.isfinite(lost) else total


# ---------------------------------------------------------------------- states and samples


@part
def _hash(search: Search, row: int, time: int) -> Any:
    """Of the contents of a row, and of the time if it counts."""
    bits = search.bits[row]
    size = len(bits)
    mixed = np.uint64(time) * np.uint64(0x9E3779B97F4A7C15)
    whole = size - size % 8
    for i in range(0, whole, 8):
        word = np.uint64(0)
        for j in range(8):
            word |= np.uint64(bits[i + j]) << np.uint64(8 * j)
        mixed = (mixed ^ word) * np.uint64(0x9FB21C651E98DF25)
        mixed ^= mixed >> np.uint64(32)
    for i in range(whole, size):
        mixed = (mixed ^ np.uint64(bits[i])) * np.uint64(0x9FB21C651E98DF25)
        mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))


@part
def same_row(search: Search, one: int, other: int) -> bool:
    """Whether two rows have the same contents."""
    first, second = search.bits[one], search.bits[other]
    for i in range(len(first)):  # noqa: SIM110  compiled
        if first[i] != second[i]:
            return False
    return True


@part
def look_up(search: Search, row: int, time: int) -> int:
    """The place in the table of the state that has the contents of a row."""
    horizon = search.graph[0].horizon
    mask = len(search.table) - 1
    place = np.int64(_hash(search, row, time if horizon != NONE else 0) & np.uint64(mask))
    while True:
        state = search.table[place] - 1
        if state == NONE:
            return place
        if same_row(search, state, row) and (horizon == NONE or search.states[state].time == time):
            return place
        place = (place + 1) & mask


@part
def fill_table(search: Search) -> None:
    """Enter all states in a table of zeros."""
    for state in range(search.graph[0].count):
        search.table[look_up(search, state, search.states[state].time)] = state + 1


@part
def span_from(search: Search, time: int) -> float:
    """What a reward of 1 at each step to come is worth."""
    graph = search.graph[0]
    if graph.horizon == NONE:
        return graph.span
    left = np.float64(max(0, graph.horizon - time))
    gamma = graph.discount
    return left if gamma == 1.0 else (1.0 - gamma**left) / (1.0 - gamma)


@part
def span_of(search: Search, state: int) -> float:
    """The same, from a state."""
    return span_from(search, search.states[state].time)


@part
def state_of(search: Search, time: int) -> int:
    """The state in the row behind those of the known ones; it becomes a new one if it is."""
    graph = search.graph[0]
    row = graph.count
    place = look_up(search, row, time)
    if search.table[place] > 0:
        return search.table[place] - 1
    graph.count = row + 1
    search.table[place] = row + 1
    state = search.states[row]
    state.ticket = draw(search, OF_GRAPH)
    state.value = graph.rate * span_from(search, time)
    state.choice = state.first = state.last = state.parent = state.last_parent = NONE
    state.degree = state.queued = state.mark = 0
    state.time = time
    search.opened[0, row] = search.opened[1, row] = 0
    search.places[0, row] = search.places[1, row] = NONE
    if graph.masked:
        search.legal[row, 0] = UNASKED
    if graph.valued:
        at = search.at[0]
        at.status, at.at_state = BAD_VALUE, row  # it may raise
        worth = functions_at(at.functions).value_kernel(at.given, row)
        if not abs(worth) <= LARGEST_REWARD:
            raise ValueError
        at.status = FINE
        search.worth[row] = state.value = worth - graph.origin * span_from(search, time)
    return row


@part
def find_edge(search: Search, state: int, action: int) -> int:
    """The edge of an action, or NONE."""
    edge = search.states[state].first
    while edge != NONE and search.edges[edge].action != action:
        edge = search.edges[edge].next
    return edge


@part
def follows_edge(search: Search, edge: int) -> float:
    """What follows an action: the value of the state it leads to."""
    after = search.edges[edge].after
    return search.edges[edge].rest if after == NONE else search.states[after].value


@part
def learn(search: Search, here: int, action: int, reward: float, ended: bool) -> Any:
    """Add what happened on a step; returns its edge, and whether it is new.

    The state after it is in the row behind the known ones.
    """
    graph, start = search.graph[0], search.states[here]
    edge = find_edge(search, here, action)
    if graph.known == 0:
        begin(search, here, reward)
    reward -= graph.origin
    time = start.time + 1
    is_new = edge == NONE
    if is_new:
        after = NONE
        if not ended and time != graph.horizon:
            after = state_of(search, time)
        edge = graph.edges
        graph.edges += 1
        made = search.edges[edge]
        made.mean, made.samples = reward, 1
        made.start, made.action, made.after = here, action, after
        made.next = made.next_parent = NONE
        made.walks = 0
        made.rest = made.average = made.going_on = 0.0
        search.noted[edge] = 0
        if start.last == NONE:
            start.first = edge
        else:
            search.edges[start.last].next = edge
        start.last = edge
        start.degree += 1
        if after != NONE:
            target = search.states[after]
            if target.last_parent == NONE:
                target.parent = edge
            else:
                search.edges[target.last_parent].next_parent = edge
            target.last_parent = edge
        else:
            made.rest = -graph.origin * span_from(search, time)
        graph.known += 1
        graph.sum += reward
        graph.squares_sum += reward * reward
        graph.inverse_sum += 1.0
    else:
        add_sample(search, edge, reward)
    if not start.queued:
        start.queued = 1
        mask = len(search.queue) - 1
        graph.head = (graph.head - 1) & mask
        graph.waiting += 1
        search.queue[graph.head] = here
    return edge, is_new


@part
def note_length(search: Search, steps: int, new: int) -> None:
    """Ask for many steps at once where it pays."""
    graph = search.graph[0]
    if steps > 1:
        if new == steps:
            graph.tail = min(2 * graph.tail, LONGEST_TAIL)
        else:
            graph.tail = max(1, graph.tail // 2)


@part
def begin(search: Search, here: int, reward: float) -> None:
    """The first reward of all: the others are counted from it."""
    graph = search.graph[0]
    graph.origin = reward
    if graph.valued:
        search.worth[here] -= reward * span_of(search, here)
        search.states[here].value = search.worth[here]


@part
def add_sample(search: Search, edge: int, reward: float) -> None:
    """Another sample of an edge."""
    graph, known = search.graph[0], search.edges[edge]
    was, count = known.mean, known.samples
    moved = (reward - was) / (count + 1)
    known.mean = was + moved
    known.samples = count + 1
    graph.degrees += 1
    if moved != 0.0:
        graph.squares += moved * moved * count * (count + 1)
        graph.sum += moved
        graph.squares_sum += moved * (2.0 * was + moved)
    graph.inverse_sum -= 1.0 / (count * (count + 1))


@part
def ask_legal(search: Search, state: int) -> None:
    """Have the mask of a state."""
    mask = search.legal[state]
    if mask[0] != UNASKED:
        return
    at = search.at[0]
    mask[:] = 1
    at.status, at.at_state = NO_LEGAL, state  # it may raise
    functions_at(at.functions).legal_kernel(at.given, state, mask)
    some = False
    for action in range(len(mask)):
        mask[action] = 1 if mask[action] else 0
        some = some or mask[action] == 1
    if not some:
        mask[0] = UNASKED
        raise ValueError
    at.status = FINE


@part
def allows(search: Search, state: int, action: int) -> bool:
    """Whether an action is allowed in a state."""
    if not search.graph[0].masked:
        return True
    ask_legal(search, state)
    return search.legal[state, action] == 1


@part
def count_options(search: Search, state: int) -> int:
    """How many actions are allowed in a state."""
    graph = search.graph[0]
    if not graph.masked:
        return graph.num_actions
    ask_legal(search, state)
    count = 0
    for action in range(graph.num_actions):
        count += search.legal[state, action]
    return count


# ---------------------------------------------------------------------- values


@part
def is_noisy(search: Search) -> bool:
    """Whether two samples of an edge have ever differed."""
    return search.graph[0].squares > 0.0


@part
def variance(search: Search) -> float:
    """Of a sample; 0 as long as no noise was seen."""
    graph = search.graph[0]
    return graph.squares / graph.degrees if graph.squares > 0.0 else 0.0


@part
def take_moments(search: Search) -> None:
    """How far rewards are drawn to the mean of all, as noise makes them unsure."""
    graph = search.graph[0]
    n = max(1, graph.known)
    graph.middle = graph.sum / n
    total = max(0.0, graph.squares_sum / n - graph.middle * graph.middle)
    graph.total_variance = total
    graph.tolerance = ROUGHLY * span_of(search, graph.root) * math.sqrt(total)
    graph.spread, graph.doubt = total, 0.0
    if graph.squares > 0.0 and graph.shrinks:
        of_noise = graph.squares / graph.degrees
        graph.spread = max(total - of_noise * graph.inverse_sum / n, 0.01 * total)
        graph.doubt = of_noise / graph.spread if graph.spread > 0.0 else 0.0


@part
def reward_of(search: Search, edge: int) -> float:
    """The mean reward of an edge, drawn to the mean of all."""
    graph, known = search.graph[0], search.edges[edge]
    if graph.doubt == 0.0:
        return known.mean
    return graph.middle + (known.mean - graph.middle) / (1.0 + graph.doubt / known.samples)


@part
def edge_value(search: Search, edge: int) -> float:
    """What an action is worth: its reward, and the value of the state it leads to."""
    return reward_of(search, edge) + search.graph[0].discount * follows_edge(search, edge)


@part
def settle(search: Search, visits: float) -> None:
    """Bring values up to date, by looking at so many states at most."""
    graph, queue = search.graph[0], search.queue
    states, edges = search.states, search.edges
    gamma, tolerance = graph.discount, graph.tolerance
    mask = len(queue) - 1
    while graph.waiting > 0 and visits > 0:
        visits -= 1
        number = queue[graph.head]
        graph.head = (graph.head + 1) & mask
        graph.waiting -= 1
        state = states[number]
        state.queued = 0
        best, choice = -np.inf, NONE
        edge = state.first
        while edge != NONE:
            value = reward_of(search, edge) + gamma * follows_edge(search, edge)
            if value > best:
                best, choice = value, edge
            edge = edges[edge].next
        if choice == NONE:
            best = search.worth[number] if graph.valued else graph.rate * span_of(search, number)
        changed = abs(best - state.value) > tolerance
        state.value, state.choice = best, choice
        if changed:
            edge = state.parent
            while edge != NONE:
                start = edges[edge].start
                if not states[start].queued:
                    states[start].queued = 1
                    queue[(graph.head + graph.waiting) & mask] = start
                    graph.waiting += 1
                edge = edges[edge].next_parent


@part
def reachable(search: Search) -> int:
    """List all states that can be reached from the root in ``found``, nearest first."""
    graph, found = search.graph[0], search.found
    states, edges = search.states, search.edges
    graph.marks += 1
    found[0] = graph.root
    states[graph.root].mark = graph.marks
    count, place = 1, 0
    while place < count:
        edge = states[found[place]].first
        while edge != NONE:
            after = edges[edge].after
            if after != NONE and states[after].mark != graph.marks:
                states[after].mark = graph.marks
                found[count] = after
                count += 1
            edge = edges[edge].next
        place += 1
    return count


@part
def survey(search: Search, visits: int, exactly: bool) -> None:
    """Look at everything: what a step from an unknown state is worth, and whether any is."""
    graph, states = search.graph[0], search.states
    take_moments(search)
    if exactly:
        graph.tolerance *= 1e-9
    count = reachable(search)
    tried = fronts = missing = 0
    of_fronts, fronts_lost, of_tried, tried_lost = 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        number = search.found[i]
        state = states[number]
        missing += graph.num_actions - state.degree
        if state.degree > 0:
            share = state.value / span_of(search, number)
            tried += 1
            of_tried, tried_lost = add(of_tried, tried_lost, share)
            if state.degree < count_options(search, number):
                fronts += 1
                of_fronts, fronts_lost = add(of_fronts, fronts_lost, share)
    graph.closed = fronts == 0 and tried == count
    graph.missing = missing
    if graph.survey_at == 0:
        graph.rate = graph.middle
    elif fronts > 0:
        graph.rate = added(of_fronts, fronts_lost) / fronts
    elif tried > 0:
        graph.rate = added(of_tried, tried_lost) / tried
    for i in range(count):
        number = search.found[i]
        if states[number].degree == 0 and not graph.valued:
            states[number].value = graph.rate * span_of(search, number)
    mask = len(search.queue) - 1
    for i in range(count - 1, -1, -1):
        number = search.found[i]
        if not states[number].queued:
            states[number].queued = 1
            search.queue[(graph.head + graph.waiting) & mask] = number
            graph.waiting += 1
    settle(search, 200_000.0 if exactly else np.float64(visits + 2 * count))
    graph.surveyed = graph.known
    graph.survey_at = graph.known + max(SURVEY_LEAST, count)


# ---------------------------------------------------------------------- memory


@part
def copy_kept(search: Search, target: Search, count: int) -> None:
    """Copy the first states of ``found`` to arrays that are empty, and the edges among them."""
    graph, old, new = search.graph[0], search.states, target.states
    edges, numbers, places = search.edges, search.order[0], search.order[1]
    graph.marks += 1
    for i in range(count):
        old[search.found[i]].mark = graph.marks
        numbers[search.found[i]] = i
    total = squares = inverse = 0.0
    lost, squares_lost, inverse_lost = 0.0, 0.0, 0.0
    known = 0
    for i in range(count):
        source = search.found[i]
        target.bits[i] = search.bits[source]
        if graph.masked:
            target.legal[i] = search.legal[source]
        if graph.valued:
            target.worth[i] = search.worth[source]
        state, was = new[i], old[source]
        state.value, state.ticket, state.time = was.value, was.ticket, was.time
        state.choice = state.first = state.last = state.parent = state.last_parent = NONE
        state.degree = state.queued = state.mark = 0
        edge = was.first
        while edge != NONE:
            of = edges[edge]
            places[edge] = NONE
            if of.after == NONE or old[of.after].mark == graph.marks:
                made = target.edges[known]
                made.mean, made.rest, made.samples = of.mean, of.rest, of.samples
                made.average, made.going_on, made.walks = of.average, of.going_on, of.walks
                made.start, made.action = i, of.action
                made.after = NONE if of.after == NONE else numbers[of.after]
                made.next = made.next_parent = NONE
                if state.last == NONE:
                    state.first = known
                else:
                    target.edges[state.last].next = known
                state.last = known
                state.degree += 1
                if was.choice == edge:
                    state.choice = known
                places[edge] = known
                total, lost = add(total, lost, of.mean)
                squares, squares_lost = add(squares, squares_lost, of.mean * of.mean)
                inverse, inverse_lost = add(inverse, inverse_lost, 1.0 / of.samples)
                known += 1
            edge = of.next
    for i in range(count):
        edge = old[search.found[i]].parent
        while edge != NONE:
            if old[edges[edge].start].mark == graph.marks:
                made = places[edge]
                if new[i].last_parent == NONE:
                    new[i].parent = made
                else:
                    target.edges[new[i].last_parent].next_parent = made
                new[i].last_parent = made
            edge = edges[edge].next_parent
    goal, mask = target.graph[0], len(search.queue) - 1
    goal.head = goal.waiting = 0
    for i in range(graph.waiting):
        source = search.queue[(graph.head + i) & mask]
        if old[source].mark == graph.marks:
            target.queue[goal.waiting] = numbers[source]
            new[numbers[source]].queued = 1
            goal.waiting += 1
    goal.root, goal.count, goal.edges, goal.known = 0, count, known, known
    goal.sum, goal.squares_sum = added(total, lost), added(squares, squares_lost)
    goal.inverse_sum = added(inverse, inverse_lost)
    goal.survey_at = min(goal.survey_at, known)
    goal.marks = 0
    fill_table(target)
