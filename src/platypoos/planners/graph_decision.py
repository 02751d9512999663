"""What a graph planner does between its rounds and after them: decide, and make sure.

The best sequence and the best that begins with another action are told apart by further samples,
each step as often as it counts in the lead of one over the other. Nothing was chosen by the last
of these samples, so they tell without favour how far the best is ahead.
"""

from __future__ import annotations

import numpy as np

from platypoos._jit import jit, jitable
from platypoos.graph import NONE
from platypoos.planners.graph_entries import (
    AGREED,
    ANSWER,
    ASKED,
    BEGAN,
    CUT,
    DEGREES,
    EXPLORING,
    FINISHED,
    FRESH,
    FRONTIER,
    H_BEFORE,
    H_MAX,
    H_TREE,
    HOME,
    KNOWN,
    LAYER,
    LIMIT,
    LOOKS,
    MADE,
    MET,
    PART,
    PARTS,
    PATH_END,
    PHASE,
    REACH,
    REPEATS,
    SIZE,
    SMALL,
    SQUARES,
    STAMP,
    VALIDATING,
    Desk,
    Search,
    span_from,
)
from platypoos.planners.graph_requests import is_noisy_tree, is_quiet, learn, sort_request
from platypoos.planners.graph_solve import FLOOR, UNKNOWN, rest_after, rest_of_root, solve
from platypoos.tree import ENDED, ILLEGAL, OPENED, ROOT, TERMINAL, set_node, set_root

GAP, GAP_VARIANCE, HAS_GAP, LARGEST, LEAD_VARIANCE = 1, 2, 3, 4, 5
"""Entries of ``Search.result``, after FLOOR: the lead of the best sequence by fresh samples; the
largest reward of a best sequence; the variance of the lead by all samples."""
MANY = 0.3
"""Where so many successors are states known before, the costs of a round hardly grow with it."""
RESERVE = 0.2
"""So large a share of the calls is kept to make sure."""


@jitable
def explore_until(search: Search) -> int:
    """The number of calls that rounds may reach; the rest is kept to make sure."""
    limit, began = search.place[LIMIT], search.place[BEGAN]
    if search.noise[SQUARES] == 0.0:  # no noise was seen yet
        return int(limit)
    kept = int(RESERVE * (limit - began))
    return int(max(limit - kept, min(limit, began + search.num_actions)))


@jitable
def parts(search: Search, calls: int) -> int:
    """In so many parts calls are spent to make sure.

    What they tell may make another sequence the best, which is then to be made sure of. In a tree
    with noise there are many that are better by luck.
    """
    return min(16, max(3, calls // 16)) if is_noisy_tree(search) else 3


@jit
def end_round(desk: Desk, calls: int, given_floor: float, tie_seed: int) -> None:
    """Decide by what is known now, and choose the next round's h_max, or that there is none."""
    tree, search = desk.tree, desk.search
    place = search.place
    decide(desk, given_floor, tie_seed, True)
    h, made = place[H_MAX], calls - place[MADE]
    # A round that lacked nothing: a larger one may, if there are states to reach or noise.
    idle = made == 0 and (
        (is_quiet(search) and place[FRONTIER] == 0)
        or h >= max(place[LIMIT] - place[BEGAN], tree.size[0])
    )
    left = explore_until(search) - calls
    after = (2.0 if h < SMALL else 4.0) * h
    if made > 0:
        after = min(after, h + (h - place[H_BEFORE]) * left / made)
    looked = search.noise[DEGREES] > 0.0  # that is all that the first rounds are for
    if h <= SMALL and looked and search.noise[MET] > MANY * search.noise[KNOWN]:
        after = max(after, float((place[LIMIT] - place[BEGAN]) // (4 * search.num_actions)))
    # With noise, calls that are too few for a larger round are better spent to make sure.
    enough = h > SMALL and after < h + h // 8 and not is_quiet(search)
    if is_noisy_tree(search):
        if h < place[H_TREE]:
            after = float(place[H_TREE])
        enough = h >= place[H_TREE] and left < max(made, after * search.num_actions)
    if idle or enough or left <= 0 or place[CUT]:
        place[PHASE], place[PART] = VALIDATING, 0
        place[PARTS] = parts(search, place[LIMIT] - calls)
        return
    place[H_BEFORE], place[H_MAX] = h, max(int(after), h + 1 + h // 16)
    begin_round(search, calls)


@jitable
def begin_round(search: Search, calls: int) -> None:
    """The next call of ``open_layer`` starts at the root."""
    place = search.place
    place[LAYER], place[SIZE], place[MADE] = 0, 0, calls


@jit
def decide(desk: Desk, given_floor: float, tie_seed: int, anew: bool) -> None:
    """Solve what is known; count how often in a row the answer was the same."""
    tree, graph, search = desk.tree, desk.graph, desk.search
    place = search.place
    if graph.child[place[HOME]] == NONE:
        return
    answer = tree.action[solve(desk, given_floor, tie_seed, anew)]
    place[AGREED] = place[AGREED] + 1 if answer == place[ANSWER] else 1
    place[ANSWER] = answer


@jitable
def rival(search: Search) -> int:
    """The best other first action, or NONE."""
    best = NONE
    for action in range(search.num_actions):
        legal = not np.isnan(search.action_values[action])
        if (
            action != search.place[ANSWER]
            and legal
            and (best == NONE or search.action_values[action] > search.action_values[best])
        ):
            best = action
    return best


@jit
def follow(desk: Desk, action: int, sign: float, count: int) -> int:
    """Add the steps of a first action's best sequence to the request, by their weights."""
    tree, graph, search = desk.tree, desk.graph, desk.search
    seen = search.place[STAMP]
    node = graph.child[search.place[HOME]] + action
    for t in range(search.place[REACH]):
        if tree.pulls[node] == 0:
            break
        if search.stamp[node] != seen:
            search.stamp[node] = seen
            search.share[node] = 0.0
            if count == len(search.nodes):
                break
            search.nodes[count] = node
            count += 1
        search.share[node] += sign * search.power[t]
        home = graph.home[node]
        if tree.flags[node] & ENDED or graph.child[home] == NONE:
            break
        node = search.choice[home]
    return count


@jit
def write_validation(desk: Desk, calls: int) -> None:
    """Ask for samples that tell the best first action from its rival.

    Each step is brought to a number of samples that grows with its weight in the lead of the one
    over the other: where the two go the same way, nothing is to be learned.
    """
    tree, search = desk.tree, desk.search
    place = search.place
    place[ASKED] = place[FRESH] = 0
    left = place[LIMIT] - calls
    if is_quiet(search):  # another look for noise
        left = min(left, max(0, LOOKS - int(search.noise[REPEATS])))
    elif place[PART] < place[PARTS] - 1:
        left = min(left, max(1, left // (place[PARTS] - place[PART])))
    other = rival(search)
    place[STAMP] += 1
    count = follow(desk, place[ANSWER], 1.0, 0)
    if other != NONE:
        count = follow(desk, other, -1.0, count)
    if left <= 0 or count == 0:
        return
    nodes = search.nodes
    sort_request(nodes, search.repeats, count)
    largest = 0.0
    for k in range(count):
        search.before[k] = abs(search.share[nodes[k]])
        largest = max(largest, search.before[k])
    if largest == 0.0:
        return
    level = samples_per_weight(desk, count, left)
    asked, given, heaviest = 0, 0, 0
    for k in range(count):
        node = nodes[k]
        more = max(0, int(level * search.before[k]) - tree.pulls[node])
        if search.before[k] == largest:
            heaviest = asked
            more = max(more, 1)
        if more > 0 and given + more <= left:
            nodes[asked] = node
            search.repeats[asked] = more
            given += more
            asked += 1
    if asked > 0 and given < left and place[PART] >= place[PARTS] - 1:
        search.repeats[min(heaviest, asked - 1)] += left - given
    for k in range(asked):
        search.before[k] = tree.reward[nodes[k]]
    place[ASKED] = asked


@jit
def samples_per_weight(desk: Desk, count: int, calls: int) -> float:
    """So many samples for each unit of weight, if steps with more keep them, cost the calls."""
    tree, search = desk.tree, desk.search
    level = np.inf
    while True:
        weight, samples = 0.0, float(calls)
        for k in range(count):
            pulls = tree.pulls[search.nodes[k]]
            if level * search.before[k] > pulls:
                weight += search.before[k]
                samples += pulls
        if weight == 0.0 or samples / weight >= level:
            return level
        level = samples / weight


@jit
def judge(desk: Desk, calls: int, given_floor: float, tie_seed: int) -> None:
    """Learn from the request, and decide again."""
    search = desk.search
    place = search.place
    asked = place[ASKED]
    was_quiet = is_quiet(search)
    answer = place[ANSWER]
    other = rival(search)
    learn(desk)
    search.result[HAS_GAP] = 0.0
    if asked > 0 and other != NONE:
        compare(desk)
    decide(desk, given_floor, tie_seed, False)
    if place[ANSWER] != answer and search.result[HAS_GAP]:
        search.result[GAP] = -search.result[GAP]
    place[PART] += 1
    if was_quiet and not is_quiet(search) and calls < place[LIMIT]:
        place[PHASE] = EXPLORING  # there is noise after all
        begin_round(search, calls)
    elif place[PART] >= place[PARTS] or asked == 0 or is_quiet(search) or calls >= place[LIMIT]:
        place[PHASE] = FINISHED


@jit
def compare(desk: Desk) -> None:
    """How far one sequence is ahead of the other, by the samples of the last request if it can be.

    ``search.share`` has the weight of each step, from ``write_validation``.
    """
    tree, graph, search = desk.tree, desk.graph, desk.search
    noise, result, place = search.noise, search.result, search.place
    rest = rest_of_root(desk)
    gap, variance, of_all = 0.0, 0.0, 0.0
    asked = place[ASKED]
    for k in range(asked):
        node, count = search.nodes[k], search.repeats[k]
        pulls = tree.pulls[node]
        fresh = (tree.reward[node] * pulls - search.before[k] * (pulls - count)) / count
        gap += search.share[node] * fresh
        variance += search.share[node] ** 2 / count
        of_all += search.share[node] ** 2 / pulls
        search.share[node] = 0.0
    for side in range(2):  # the others, and how the sequences end
        action = place[ANSWER] if side == 0 else rival(search)
        node = graph.child[place[HOME]] + action
        for t in range(place[REACH]):
            if tree.pulls[node] == 0:
                unseen = search.power[t] * rest
                if search.horizon > 0:
                    steps = span_from(search, tree.depth[node] - 1)
                    unseen = search.power[t] * result[FLOOR] * steps
                gap += unseen if side == 0 else -unseen
                break
            gap += search.share[node] * tree.reward[node]
            variance += search.share[node] ** 2 / tree.pulls[node]
            of_all += search.share[node] ** 2 / tree.pulls[node]
            search.share[node] = 0.0
            home = graph.home[node]
            if tree.flags[node] & ENDED:
                break
            if graph.child[home] == NONE:
                if t + 1 < len(search.power):
                    unseen = search.power[t + 1] * rest_after(desk, node, rest)
                    gap += unseen if side == 0 else -unseen
                break
            node = search.choice[home]
    result[GAP] = gap
    of_one = noise[SQUARES] / max(1.0, noise[DEGREES])
    result[GAP_VARIANCE], result[LEAD_VARIANCE] = variance * of_one, of_all * of_one
    result[HAS_GAP] = 1.0 if noise[DEGREES] > 0.0 else 0.0


@jit
def trace(desk: Desk) -> None:
    """Write the best sequences of all first actions."""
    tree, graph, search = desk.tree, desk.graph, desk.search
    place, path = search.place, search.path
    rest = rest_of_root(desk)
    size = 1
    largest = -np.inf
    set_root(path)
    path.value[ROOT] = tree.value[place[HOME]]
    for action in range(search.num_actions):
        node = graph.child[place[HOME]] + action
        if tree.flags[node] & ILLEGAL:
            continue
        parent = 0
        for t in range(place[REACH]):
            state = search.after[node]
            set_node(path, size, parent, tree.action[node], t + 1, 0)
            path.pulls[size], path.reward[size] = tree.pulls[node], tree.reward[node]
            largest = max(largest, search.gain[node])
            if state >= 0:
                path.value[size] = tree.value[state]
            else:
                path.value[size] = rest_after(desk, node, rest) if state == UNKNOWN else 0.0
            path.flags[size] = tree.flags[node] & TERMINAL
            path.flags[parent] |= OPENED
            parent = size
            size += 1
            if state < 0:
                break
            node = search.choice[state]
        if action == place[ANSWER]:
            place[PATH_END] = parent
    path.size[0] = size
    search.result[LARGEST] = largest
