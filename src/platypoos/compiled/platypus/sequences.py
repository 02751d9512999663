"""Whole sequences of actions; the twin of ``planners/platypus/sequences.py``."""

from __future__ import annotations

import numpy as np

from platypoos.compiled.platypus.arrays import CHANGES, NONE, TREE, Ints, Search
from platypoos.compiled.platypus.draws import OF_SEARCH, bit_length, draw
from platypoos.compiled.platypus.graph import (
    add,
    added,
    count_options,
    is_noisy,
    reward_of,
    span_of,
    take_moments,
    variance,
)
from platypoos.compiled.platypus.parts import part

# ---------------------------------------------------------------------- candidates


@part
def weigh(search: Search, path: Ints, steps: int) -> tuple[float, float, float]:
    """The rank of a sequence: its value with what follows it, its steadiness, its outlook."""
    total, lost = 0.0, 0.0
    for t in range(steps):
        total, lost = add(total, lost, search.power[t] * reward_of(search, path[t]))
    last = search.edges[path[steps - 1]]
    value = added(total, lost) + search.power[steps] * follows(search, path[steps - 1])
    outlook = last.rest if last.after == NONE else search.states[last.after].value
    return value, steadiness(search, path[0]), outlook


@part
def follows(search: Search, edge: int) -> float:
    """What follows a sequence that ends with an edge; see the plain planner."""
    graph, after = search.graph[0], search.edges[edge].after
    if after == NONE:
        return search.edges[edge].rest
    if graph.valued:
        return search.worth[after]
    if graph.closed:
        return search.states[after].value
    return graph.rate * span_of(search, after)


@part
def weigh_candidate(search: Search, row: int) -> None:
    """Weigh a candidate that is known."""
    candidate = search.candidates[row]
    candidate.value, candidate.steady, candidate.outlook = weigh(
        search, search.ways[row], candidate.steps
    )


@part
def is_above(search: Search, one: int, other: int) -> bool:
    """Whether the rank of one candidate is above that of another."""
    first, second = search.candidates[one], search.candidates[other]
    if first.value != second.value:
        return first.value > second.value
    if first.steady != second.steady:
        return first.steady > second.steady
    return first.outlook > second.outlook


@part
def rank(search: Search, ranked: Ints) -> int:
    """List the candidates, the best first; returns how many there are."""
    count = search.at[0].ranked
    for i in range(count):
        ranked[i] = search.best[i]
    sort_ranked(search, ranked, count)
    return count


@part
def sort_ranked(search: Search, ranked: Ints, count: int) -> None:
    """Sort candidates, the best first; equal ones stay as they are."""
    for i in range(1, count):
        now, j = ranked[i], i
        while j > 0 and is_above(search, now, ranked[j - 1]):
            ranked[j] = ranked[j - 1]
            j -= 1
        ranked[j] = now


@part
def lead(search: Search) -> None:
    """The best candidate leads."""
    at = search.at[0]
    at.leader = search.best[0]
    for i in range(1, at.ranked):
        if is_above(search, search.best[i], at.leader):
            at.leader = search.best[i]


@part
def consider(
    search: Search, actions: Ints, count: int, path: Ints, steps: int, finder: int
) -> None:
    """Keep the better one of two sequences that begin alike."""
    at, edges = search.at[0], search.edges
    value, steady, outlook = weigh(search, path, steps)
    ends = edges[path[steps - 1]].after == NONE
    first = edges[path[0]].action
    old = search.candidates[first]
    is_new = old.steps == 0
    if not is_new:
        last = edges[search.ways[first, old.steps - 1]]
        bar = old.value
        if ends and last.after == NONE and steps < old.steps:
            # It saves the costs of the way to the old end: see the plain planner.
            power = search.power[old.steps - 1]
            bar = old.value - min(0.0, power * (last.mean + search.graph[0].origin))
        if value < bar:
            return
        if value == bar:
            shorter = ends and steps < old.steps
            below = value < old.value
            if value == old.value:
                below = steady < old.steady
                if steady == old.steady:
                    below = outlook < old.outlook
            if below or shorter:
                return
    # Whether the leader is beaten is asked before it is overwritten.
    leader = at.leader
    if leader == NONE:
        leads = True
    else:
        before = search.candidates[leader]
        if finder in (TREE, CHANGES) and value > before.value:
            search.wins[finder] += 1
        leads = value > before.value
        if value == before.value:
            leads = steady > before.steady
            if steady == before.steady:
                leads = outlook >= before.outlook
    if is_new:
        search.best[at.ranked] = first
        at.ranked += 1
    old.value, old.steady, old.outlook = value, steady, outlook
    old.count, old.steps = count, steps
    old.version += 1
    for i in range(count):
        search.actions[first, i] = actions[i]
    for i in range(steps):
        search.ways[first, i] = path[i]
    if leads:
        at.leader = first
    elif leader == first:
        lead(search)


@part
def note_return(search: Search, path: Ints, steps: int) -> None:
    """Average the returns of random walks: how steady an action is, whatever follows."""
    edges, gamma = search.edges, search.graph[0].discount
    last = edges[path[steps - 1]]
    if last.after == NONE:
        total, going_on = last.rest, 0.0
    else:
        total, going_on = 0.0, span_of(search, last.after)
    for i in range(steps - 1, -1, -1):
        edge = edges[path[i]]
        total, going_on = edge.mean + gamma * total, gamma * going_on
        edge.walks += 1
        edge.average += (total - edge.average) / edge.walks
        edge.going_on += (going_on - edge.going_on) / edge.walks


@part
def steadiness(search: Search, edge: int) -> float:
    """What a random walk brings on average that begins with an edge."""
    known = search.edges[edge]
    if known.walks == 0:
        return search.at[0].usual_return
    return known.average + known.going_on * search.graph[0].rate


@part
def weigh_again(search: Search) -> None:
    """Find out who leads now that values have changed."""
    at = search.at[0]
    take_moments(search)
    total, lost, walked = 0.0, 0.0, 0
    edge = search.states[search.graph[0].root].first
    while edge != NONE:
        if search.edges[edge].walks > 0:
            total, lost = add(total, lost, steadiness(search, edge))
            walked += 1
        edge = search.edges[edge].next
    if walked > 0:
        at.usual_return = added(total, lost) / walked
    for i in range(at.ranked):
        weigh_candidate(search, search.best[i])
    if at.ranked > 0:
        lead(search)


# ---------------------------------------------------------------------- changes


@part
def row_of(search: Search, walker: int) -> int:
    """Where the actions of a walker begin on the tape."""
    return search.graph[0].num_actions + walker * search.actions.shape[1]


@part
def change(search: Search, place: int) -> int:
    """Write the leader's sequence to the tape, a random stretch of 1, 2, 4, … steps changed.

    Returns how many actions there are.
    """
    at = search.at[0]
    leader = search.candidates[at.leader]
    actions = search.actions[at.leader]
    known, length = leader.steps, at.length
    start = np.int64(draw(search, OF_SEARCH) ** search.rules[0].early * known)
    if known < length and draw(search, OF_SEARCH) < 0.5:  # shortly before the episode's end
        share = draw(search, OF_SEARCH)
        start = known - 1 - np.int64(share * (1 + (1 << np.int64(4 * draw(search, OF_SEARCH)))))
        start = max(0, start)
    end = start + (1 << np.int64(draw(search, OF_SEARCH) * bit_length(length)))
    state = search.edges[search.ways[at.leader, start]].start
    other = other_action(search, state, actions[start])
    count = max(leader.count, end)
    for i in range(count):
        search.tape[place + i] = other if start <= i < end else actions[i]
    return count


@part
def other_action(search: Search, state: int, action: int) -> int:
    """A random action that is allowed in a state, another one if there is one."""
    masked = search.graph[0].masked
    count = count_options(search, state)
    if not masked or search.legal[state, action] == 1:
        count -= 1
    if count == 0:
        draw(search, OF_SEARCH)
        return action
    left = np.int64(draw(search, OF_SEARCH) * count)
    other = -1
    while left >= 0:
        other += 1
        if other != action and (not masked or search.legal[state, other] == 1):
            left -= 1
    return other


@part
def random_actions(search: Search, place: int) -> None:
    """Write a whole sequence of any actions to the tape."""
    for i in range(search.at[0].length):
        number = draw(search, OF_SEARCH) * np.float64(search.graph[0].num_actions)
        search.tape[place + i] = np.int64(np.floor(number))


@part
def equal_candidates(search: Search, equals: Ints) -> int:
    """List the candidates that nobody can tell from the best one; returns how many there are."""
    at = search.at[0]
    if at.leader == NONE:
        return 0
    count, best = 0, search.candidates[at.leader].value
    near = search.rules[0].near if is_noisy(search) else 0.0
    for i in range(at.ranked):
        row = search.best[i]
        bar = 0.0
        if near != 0.0:
            bar = near * standard_error(search, at.leader, row)
        if best - search.candidates[row].value <= bar:
            equals[count] = row
            count += 1
    return count


@part
def undecided(search: Search, equals: Ints) -> int:
    """List equal first actions that random walks can tell apart; returns how many there are."""
    count = equal_candidates(search, equals)
    if count < 2:
        return 0
    one = steadiness(search, search.ways[equals[0], 0])
    same = True
    for i in range(count):
        edge = search.ways[equals[i], 0]
        same = same and search.edges[edge].walks > 1 and steadiness(search, edge) == one
    return 0 if same else count  # a random walk brings the same after each


# ---------------------------------------------------------------------- standard errors


@part
def difference(search: Search, one: Ints, steps: int, other: Ints, other_steps: int) -> int:
    """How much each edge counts in the difference of two paths' values: ``listed``, ``weights``."""
    count = 0
    for which in range(2):
        path, length = (one, steps) if which == 0 else (other, other_steps)
        sign = 1.0 if which == 0 else -1.0
        for t in range(length):
            edge = path[t]
            if search.noted[edge] == 0:
                search.listed[count] = edge
                search.weights[count] = 0.0
                count += 1
                search.noted[edge] = count
            search.weights[search.noted[edge] - 1] += sign * search.power[t]
    for i in range(count):
        search.noted[search.listed[i]] = 0
    return count


@part
def standard_error(search: Search, one: int, other: int) -> float:
    """Of the difference of two candidates' values; of one if there is no other."""
    steps = 0 if other == NONE else search.candidates[other].steps
    path = search.ways[one] if other == NONE else search.ways[other]
    count = difference(search, search.ways[one], search.candidates[one].steps, path, steps)
    total, lost = 0.0, 0.0
    for i in range(count):
        share = search.weights[i]
        squared = share * share / search.edges[search.listed[i]].samples
        total, lost = add(total, lost, squared)
    return np.sqrt(added(total, lost) * variance(search))
