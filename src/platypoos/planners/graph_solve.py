"""The best sequence in the known part of the graph: policy iteration.

Dynamics are deterministic, so that a policy leads from every state along one path into an end, a
state whose actions are unknown, or a loop, and is evaluated exactly by walking along it once.
"""

from __future__ import annotations

import numpy as np

from platypoos._jit import jit, jitable
from platypoos.graph import NONE
from platypoos.planners.graph_entries import (
    ASKED,
    BEYOND,
    FRONTIER,
    HOME,
    KNOWN,
    MET,
    ORIGIN,
    STAMP,
    STATES,
    SUM,
    Desk,
    span_from,
)
from platypoos.planners.graph_requests import believe, is_quiet, meets, shrunk
from platypoos.tree import ENDED, ILLEGAL, TERMINAL, ticket

FLOOR, LIKE_ROOT = 0, 6
"""Entries of ``Search.result``. LIKE_ROOT: with a horizon, the floor is the root's average."""
ENDS, UNKNOWN = -1, -2
"""In place of the state that an action leads to."""
MOST_SWEEPS = 200


@jit
def solve(desk: Desk, given_floor: float, tie_seed: int, anew: bool) -> int:
    """Find the best policy; returns the node of the first action, and writes ``action_values``.

    If not ``anew``, nothing has changed since the last time but the rewards of the last request.
    """
    tree, graph, search = desk.tree, desk.graph, desk.search
    root = search.place[HOME]
    new = 0
    if anew:
        new = survey(desk, given_floor)
    else:
        belief = believe(search)
        for k in range(search.place[ASKED]):
            search.gain[search.nodes[k]] = shrunk(tree, search.nodes[k], belief)
    count = search.place[STATES]
    rest = rest_of_root(desk)
    if new > 0:
        improve(desk, count, rest, tie_seed, True)
    for _ in range(MOST_SWEEPS):
        evaluate_policy(desk, count, rest)
        better = search.result[LIKE_ROOT] > 0.0 and raise_floor(desk)
        if improve(desk, count, rest, tie_seed, False) == 0 and not better:
            break
    if search.place[BEYOND] != NONE:
        search.result[FLOOR] = (1.0 - search.gamma) * tree.value[root]
    first = graph.child[root]
    for action in range(search.num_actions):
        node = first + action
        illegal = tree.flags[node] & ILLEGAL != 0
        search.action_values[action] = np.nan if illegal else q_value(desk, node, rest)
    return int(search.choice[root])


@jitable
def rest_of_root(desk: Desk) -> float:
    """What the floor at every step from the root on is worth."""
    search = desk.search
    if search.horizon > 0:
        return float(search.result[FLOOR] * span_from(search, desk.tree.depth[search.place[HOME]]))
    return float(search.result[FLOOR] / (1.0 - search.gamma))


@jit
def raise_floor(desk: Desk) -> bool:
    """Count unknown steps up to the horizon at the average of the policy from the root.

    Its known steps are worth A, and the unknown ones behind them B times the floor f. A floor with
    A + f·B = f·S, S being all steps, makes the unknown as good as the root. Returns whether it has
    become larger; for the best policy it no longer does.
    """
    tree, search = desk.tree, desk.search
    root = search.place[HOME]
    floor, steps = search.result[FLOOR], span_from(search, tree.depth[root])
    unknown = 0.0
    node = search.choice[root]
    for t in range(len(search.power) - 1):
        state = search.after[node]
        if state == UNKNOWN:
            unknown = search.power[t + 1] * span_from(search, tree.depth[node])
        if state < 0:
            break
        node = search.choice[state]
    average = (tree.value[root] - floor * unknown) / (steps - unknown)
    search.result[FLOOR] = average
    return bool(average > floor)


@jit
def survey(desk: Desk, given_floor: float) -> int:
    """The states with known actions, by their distance; and the reward that others are counted at.

    Of a tree with noise it is the smallest mean reward, as in the published planner: all known
    sequences are cut off somewhere, so that this is fair. Else an unknown state is taken to be as
    good as the root: where sequences meet there are loops, which are known for ever, and unknown
    states would stand no chance against them; and of a tree without noise some sequences are known
    much farther than others. With noise that would count the luck of the shortest ones for ever.

    Where episodes end, that would make an unknown state next to an end as good as any. There it is
    the smallest average along a path, and at most 0: else an end would look better than to go on
    whenever there is noise; or where sequences meet the mean of all rewards.

    Returns in how many states no action was chosen yet.
    """
    tree, graph, search = desk.tree, desk.graph, desk.search
    place, order, gamma = search.place, search.order, search.gamma
    gain, after = search.gain, search.after
    place[STAMP] += 1
    seen = place[STAMP]
    root = place[HOME]
    belief = believe(search)
    order[0] = root
    search.stamp[root] = seen
    search.share[root] = 0.0  # the value of the path so far
    count, k, frontier, new = 1, 0, 0, 0
    floor, least, ended, unseen = np.inf, np.inf, False, False
    end_of_layer, weight, steps, share = 1, 1.0, 1.0, 1.0
    while k < count:
        if k == end_of_layer:
            end_of_layer = count
            weight *= gamma
            steps += weight
            share = 1.0 / steps
        home = order[k]
        first = graph.child[home]
        new += search.choice[home] == NONE
        for node in range(first, first + search.num_actions):
            if tree.flags[node] & ILLEGAL:
                continue
            if tree.pulls[node] == 0:
                after[node] = UNKNOWN
                unseen = True
                continue
            reward = shrunk(tree, node, belief)
            gain[node] = reward
            floor = min(floor, reward)
            value = search.share[home] + weight * reward
            least = min(least, value * share)
            if tree.flags[node] & ENDED:
                after[node] = ENDS
                ended = ended or tree.flags[node] & TERMINAL != 0
                continue
            state = graph.home[node]
            known = graph.child[state] != NONE
            after[node] = state if known else UNKNOWN
            if search.stamp[state] != seen:
                search.stamp[state] = seen
                search.share[state] = value
                if known:
                    order[count] = state
                    count += 1
                else:
                    frontier += 1
        k += 1
    if ended:
        floor = min(least, 0.0)
    like_root = not ended and (is_quiet(search) or search.noise[MET] > 0.0)
    like_root = like_root and len(graph.worth) == 0
    if like_root or meets(search):
        floor = search.noise[ORIGIN] + search.noise[SUM] / search.noise[KNOWN]
    timed = search.horizon > 0
    place[BEYOND] = root if like_root and not timed else NONE
    search.result[LIKE_ROOT] = 1.0 if like_root and timed else 0.0
    if not np.isnan(given_floor):
        floor = given_floor
        place[BEYOND] = NONE
        search.result[LIKE_ROOT] = 0.0
    if unseen:
        for k in range(count):
            first = graph.child[order[k]]
            for node in range(first, first + search.num_actions):
                if tree.pulls[node] == 0 and tree.flags[node] & ILLEGAL == 0:
                    gain[node] = floor
    place[FRONTIER] = frontier
    search.result[FLOOR] = floor
    place[STATES] = count
    return new


@jitable
def rest_after(desk: Desk, node: int, rest: float) -> float:
    """What an unknown state is worth: what the model says, or else ``rest``."""
    tree, search = desk.tree, desk.search
    if len(desk.graph.worth) > 0 and tree.pulls[node] > 0:
        return float(desk.graph.worth[desk.graph.home[node]])
    if search.horizon > 0:
        return float(search.result[FLOOR] * span_from(search, tree.depth[node]))
    return rest


@jitable
def q_value(desk: Desk, node: int, rest: float) -> float:
    """Q of an action."""
    search = desk.search
    state = search.after[node]
    if state == UNKNOWN and search.place[BEYOND] != NONE:
        state = search.place[BEYOND]
    if state >= 0:
        return float(search.gain[node] + search.gamma * desk.tree.value[state])
    if state == UNKNOWN:
        return float(search.gain[node] + search.gamma * rest_after(desk, node, rest))
    return float(search.gain[node])


@jit
def improve(desk: Desk, count: int, rest: float, tie_seed: int, only_new: bool) -> int:
    """Choose the best action in each state, the farthest first; returns how many changed.

    Or only in states that have none yet.
    """
    tree, graph, search = desk.tree, desk.graph, desk.search
    choice, all_values = search.choice, tree.value
    changed = 0
    if only_new:
        for k in range(count):
            if choice[search.order[k]] == NONE:
                all_values[search.order[k]] = rest
    for k in range(count - 1, -1, -1):
        home = search.order[k]
        before = choice[home]
        if only_new and before != NONE:
            continue
        first = graph.child[home]
        best, value = before, -np.inf
        if before != NONE:
            value = q_value(desk, before, rest)
        for node in range(first, first + search.num_actions):
            if node == before or tree.flags[node] & ILLEGAL:
                continue
            other = q_value(desk, node, rest)
            lead = other - value
            rounding = 1e-12 * (abs(other) + abs(value))
            if best == NONE or lead > rounding:
                best, value = node, other
            elif (
                before == NONE
                and lead >= -rounding
                and ticket(tie_seed, node) > ticket(tie_seed, best)
            ):
                best = node
        changed += best != before
        choice[home] = best
        all_values[home] = value
    return changed


@jit
def evaluate_policy(desk: Desk, count: int, rest: float) -> None:
    """The values of all states under the policy."""
    tree, search = desk.tree, desk.search
    place, stack, stamp, choice = search.place, search.stack, search.stamp, search.choice
    gain, after, gamma, values = search.gain, search.after, search.gamma, tree.value
    beyond = place[BEYOND]
    place[STAMP] += 2
    known = place[STAMP]
    on_path = known - 1
    for k in range(count):
        home = search.order[k]
        if stamp[home] == known:
            continue
        top = 0
        while True:
            stack[top] = home
            top += 1
            stamp[home] = on_path
            node = choice[home]
            home = after[node]
            if home == UNKNOWN and beyond != NONE:
                home = beyond
            if home < 0:
                value = rest_after(desk, node, rest) if home == UNKNOWN else 0.0
                break
            if stamp[home] == known:
                value = values[home]
                break
            if stamp[home] == on_path:  # a loop
                value, weight = 0.0, 1.0
                at = top - 1
                while True:
                    value = gain[choice[stack[at]]] + gamma * value
                    weight *= gamma
                    if stack[at] == home:
                        break
                    at -= 1
                value /= 1.0 - weight
                break
        while top > 0:
            top -= 1
            home = stack[top]
            value = gain[choice[home]] + gamma * value
            values[home] = value
            stamp[home] = known
