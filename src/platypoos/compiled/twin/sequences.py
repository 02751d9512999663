"""Whole sequences of actions; the twin of ``planners/platypus/sequences.py``."""

from __future__ import annotations

import numpy as np

from platypoos.compiled.twin.arrays import NOBODY, NONE, TREE, Ints, Search
from platypoos.compiled.twin.asking import ask, request
from platypoos.compiled.twin.draws import OF_SEARCH, bit_length, draw
from platypoos.compiled.twin.graph import (
    add,
    added,
    allows,
    count_options,
    find_edge,
    is_noisy,
    reward_of,
    span_of,
    take_moments,
    variance,
)
from platypoos.compiled.twin.parts import part

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
def consider(search: Search, actions: Ints, count: int, path: Ints, steps: int) -> None:
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
        if at.finder != NOBODY and value > before.value:
            if at.finder == TREE:
                at.tree_wins += 1
            else:
                at.sequence_wins += 1
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


# ---------------------------------------------------------------------- walks


@part
def row_of(search: Search, walker: int) -> int:
    """Where the actions of a walker begin on the tape."""
    return search.graph[0].num_actions + walker * search.actions.shape[1]


@part
def pad(search: Search, walker: int) -> None:
    """A sequence that is too short is followed by its last action."""
    walking, place = search.walkers[walker], row_of(search, walker)
    for t in range(walking.count, search.at[0].length):
        search.tape[place + t] = search.tape[place + walking.count - 1]
    walking.count = max(walking.count, search.at[0].length)
    walking.steps = 0


@part
def walk(search: Search, first: int, count: int, by_chance: bool) -> bool:
    """Walk the sequences of some walkers from the root, all at once. Known steps are free.

    A walk asks for several steps at once while all is new. It waits if another one asks for the
    same step. False if the plan is over.
    """
    at, length = search.at[0], search.at[0].length
    masked = search.graph[0].masked
    turns = search.turns
    for i in range(count):
        pad(search, first + i)
        turns[i] = first + i
    while count > 0:
        later = 0
        at.requests = 0
        at.walk_pass += 1
        for i in range(count):
            walker = turns[i]
            walking, place = search.walkers[walker], row_of(search, walker)
            state, action = follow(search, walker, length)
            t = walking.steps
            if state == NONE or t == length:
                if masked:
                    for j in range(t):
                        edge = search.paths[walker, j]
                        search.tape[place + j] = search.edges[edge].action
                if by_chance:
                    note_return(search, search.paths[walker], t)
                actions = search.tape[place : place + walking.count]
                consider(search, actions, walking.count, search.paths[walker], t)
                continue
            turns[later] = walker
            later += 1
            if not is_first(search, at.walk_pass, state, action):
                continue
            steps = min(search.graph[0].tail, length - t)
            request(search, state, place + t, steps, 1, walker)
        if not ask(search):
            return False
        count = later
    return True


@part
def is_first(search: Search, number: int, state: int, action: int) -> bool:
    """Whether nobody else has asked for a step in this pass; now somebody has."""
    asked = search.asked
    mask = len(asked) - 1
    mixed = (state * search.graph[0].num_actions + action) * 0x9E3779B1
    place = (mixed ^ (mixed >> 15)) & mask
    while asked[place, 0] == number:
        if asked[place, 1] == state and asked[place, 2] == action:
            return False
        place = (place + 1) & mask
    asked[place, 0], asked[place, 1], asked[place, 2] = number, state, action
    return True


@part
def follow(search: Search, walker: int, length: int) -> tuple[int, int]:
    """Go along known steps; returns the state where something is unknown, and the action there."""
    walking, path, edges = search.walkers[walker], search.paths[walker], search.edges
    place, steps = row_of(search, walker), walking.steps
    state = search.graph[0].root if steps == 0 else edges[path[steps - 1]].after
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
        state = edges[edge].after
    walking.steps = steps
    return state, action


@part
def instead(search: Search, state: int) -> int:
    """In place of an action that is not allowed: the best that is known, or any that is."""
    known = search.states[state]
    return known.choice if known.choice != NONE else known.first


@part
def change(search: Search, walker: int) -> None:
    """Let a walker have the leader's sequence, with a random stretch of 1, 2, 4, … steps changed."""
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
    place = row_of(search, walker)
    count = max(leader.count, end)
    for i in range(count):
        search.tape[place + i] = other if start <= i < end else actions[i]
    search.walkers[walker].count = count


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
def any_actions(search: Search, walker: int, start: int) -> None:
    """Let a walker take any actions, a whole sequence of them after some steps."""
    at, place = search.at[0], row_of(search, walker)
    for i in range(at.length):
        number = draw(search, OF_SEARCH) * np.float64(search.graph[0].num_actions)
        search.tape[place + start + i] = np.int64(np.floor(number))
    search.walkers[walker].count = start + at.length


@part
def explore_sequences(search: Search, end: float) -> bool:
    """Walk what was proposed, and changes of the leader, some at a time; see the plain planner."""
    at, rules, graph = search.at[0], search.rules[0], search.graph[0]
    idle = 0
    while at.proposed > 0 or (at.calls < end and idle < rules.idle):
        known = graph.known
        sequences = take_proposed(search)
        randomly = 0
        if at.calls < end and rules.sequences and at.leader != NONE:
            equals = search.lists[0]
            count = undecided(search, equals)
            width = at.width
            if is_noisy(search):  # the calls of the last hearing are kept for it
                width = max(1, min(width, np.int64((end - at.calls) / at.length)))
            last = len(search.walkers) - 1  # random ones from the other side
            for _ in range(width):
                if count > 0 and draw(search, OF_SEARCH) < rules.steady_share:
                    least = NONE
                    walks, ticket = 0, 0.0
                    for i in range(count):
                        edge = search.edges[search.ways[equals[i], 0]]
                        drawn = draw(search, OF_SEARCH)
                        fewer = edge.walks < walks or (edge.walks == walks and drawn < ticket)
                        if least == NONE or fewer:
                            least, walks, ticket = equals[i], edge.walks, drawn
                    walker = last - randomly
                    randomly += 1
                    search.tape[row_of(search, walker)] = least
                    any_actions(search, walker, 1)
                elif idle > 0 and draw(search, OF_SEARCH) < 0.5:
                    walker = last - randomly
                    randomly += 1
                    any_actions(search, walker, 0)
                else:
                    change(search, sequences)
                    sequences += 1
        if sequences == 0 and randomly == 0:
            return True
        if not walk(search, 0, sequences, False):
            return False
        turn_round(search, randomly)
        if not walk(search, len(search.walkers) - randomly, randomly, True):
            return False
        idle = idle + sequences + randomly if graph.known == known else 0
    return True


@part
def turn_round(search: Search, count: int) -> None:
    """Bring the last walkers into the order in which they were made."""
    i, j = len(search.walkers) - count, len(search.walkers) - 1
    while i < j:
        one, other = row_of(search, i), row_of(search, j)
        for k in range(search.actions.shape[1]):
            action = search.tape[one + k]
            search.tape[one + k] = search.tape[other + k]
            search.tape[other + k] = action
        number = search.walkers[i].count
        search.walkers[i].count = search.walkers[j].count
        search.walkers[j].count = number
        i += 1
        j -= 1


@part
def take_proposed(search: Search) -> int:
    """Let the first walkers have what was proposed; returns how many they are."""
    at = search.at[0]
    count, at.proposed = at.proposed, 0
    for walker in range(count):
        give(search, walker, search.proposals[walker], search.lengths[walker])
    return count


@part
def give(search: Search, walker: int, actions: Ints, count: int) -> None:
    """Let a walker have a sequence."""
    place = row_of(search, walker)
    for i in range(count):
        search.tape[place + i] = actions[i]
    search.walkers[walker].count = count


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


@part
def be_greedy(search: Search, end: float) -> bool:
    """Walk the sequence that takes, at each step, the action that brings most at once."""
    at, graph, edges = search.at[0], search.graph[0], search.edges
    state, count = graph.root, 0
    while state != NONE and count < at.length:
        missing = count_options(search, state)
        for action in range(graph.num_actions):
            if allows(search, state, action) and find_edge(search, state, action) != NONE:
                missing -= 1
        if at.calls + missing > end:
            break
        at.requests = 0
        for action in range(graph.num_actions):
            if allows(search, state, action) and find_edge(search, state, action) == NONE:
                request(search, state, action, 1, 1, NONE)
        if not ask(search):
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
        give(search, 0, search.kept, count)
        if not walk(search, 0, 1, False):
            return False
        won = at.leader != NONE and search.candidates[at.leader].count >= count
        for i in range(count):
            won = won and search.actions[at.leader, i] == search.kept[i]
    at.greed = search.rules[0].greedy_share if won else max(0.03, at.greed / 2.0)
    return True


@part
def challenge(search: Search, credit: float) -> bool:
    """Try other first actions, followed by what the leader does; see the plain planner."""
    at, graph, began = search.at[0], search.graph[0], search.at[0].calls
    if at.leader == NONE:
        return True
    leader, others = at.leader, search.lists[0]
    steps = search.candidates[leader].count
    for i in range(steps):
        search.kept[i] = search.actions[leader, i]
    ranked = search.lists[1]
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
    if count > most > 0 and credit > 0:
        in_turn = others[most - 1]
        for i in range(most, count):
            if search.tried[others[i]] < search.tried[in_turn]:
                in_turn = others[i]
        search.tried[in_turn] += 1
        count = most - 1
        take_tail(search, in_turn, 1, steps - 1)
        if not walk(search, 0, 1, False):
            return False
    for i in range(min(count, most)):
        for tail in range(2):
            if at.calls - began >= credit:
                return True
            take_tail(search, others[i], 1 - tail, steps - 1)
            if not walk(search, 0, 1, False):
                return False
    return True


@part
def take_tail(search: Search, action: int, start: int, count: int) -> None:
    """Let the first walker take an action, and then what was kept of the leader."""
    place = row_of(search, 0)
    search.tape[place] = action
    for i in range(count):
        search.tape[place + 1 + i] = search.kept[start + i]
    search.walkers[0].count = 1 + count


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
