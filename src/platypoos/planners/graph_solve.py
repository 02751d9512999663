"""The best sequence in the known part of the graph: policy iteration.

Dynamics are deterministic, so that a policy leads from every state along one path into an end, a
state whose actions are unknown, or a loop, and is evaluated exactly by walking along it once.
"""

from __future__ import annotations

import numpy as np

from platypoos._jit import borrowed, folded, inlined, jit
from platypoos.graph import NONE, Graph
from platypoos.planners.graph_entries import FRONTIER, HOME, KNOWN, ORIGIN, STAMP, SUM, Search
from platypoos.planners.graph_requests import believe, meets, shrunk
from platypoos.tree import TERMINAL, Tree, ticket

FLOOR = 0
MOST_SWEEPS = 200


@jit
def solve(tree: Tree, graph: Graph, search: Search, given_floor: float, tie_seed: int) -> int:
    """Find the best policy; returns the node of the first action, and writes ``action_values``."""
    tree, graph, search = borrowed(tree), borrowed(graph), borrowed(search)
    root = search.place[HOME]
    count = survey(tree, graph, search, given_floor)
    floor = search.result[FLOOR]
    rest = floor / (1.0 - search.gamma)
    belief = believe(search)
    improve(tree, graph, search, count, rest, belief, tie_seed, True)
    for _ in range(MOST_SWEEPS):
        evaluate_policy(tree, graph, search, count, rest, belief)
        if improve(tree, graph, search, count, rest, belief, tie_seed, False) == 0:
            break
    first = graph.child[root]
    for action in range(search.num_actions):
        search.action_values[action] = worth(tree, graph, search, first + action, rest, belief)
    return int(search.choice[root])


@folded
def survey(tree: Tree, graph: Graph, search: Search, given_floor: float) -> int:
    """The states with known actions, by their distance; and the reward that others are counted at.

    In a tree it is the smallest mean reward, or where episodes end the smallest average along a
    path, and at most 0: else an end would look better than to go on whenever there is noise. All
    known sequences are cut off somewhere, so that this is fair. Where sequences meet there are
    loops, which are known for ever: unknown states would stand no chance against them, and are
    counted at the mean of all rewards.
    """
    place, order, gamma = search.place, search.order, search.gamma
    place[STAMP] += 1
    seen = place[STAMP]
    root = place[HOME]
    belief = believe(search)
    order[0] = root
    search.stamp[root] = seen
    search.share[root] = 0.0  # the value of the path so far
    count, k, frontier = 1, 0, 0
    floor, least, ended = np.inf, np.inf, False
    end_of_layer, weight, steps = 1, 1.0, 1.0
    while k < count:
        if k == end_of_layer:
            end_of_layer = count
            weight *= gamma
            steps += weight
        home = order[k]
        first = graph.child[home]
        for node in range(first, first + search.num_actions):
            if tree.pulls[node] == 0:
                continue
            reward = shrunk(tree, node, belief)
            floor = min(floor, reward)
            value = search.share[home] + weight * reward
            least = min(least, value / steps)
            if tree.flags[node] & TERMINAL:
                ended = True
                continue
            after = graph.home[node]
            if search.stamp[after] != seen:
                search.stamp[after] = seen
                search.share[after] = value
                if graph.child[after] != NONE:
                    order[count] = after
                    count += 1
                else:
                    frontier += 1
        k += 1
    if ended:
        floor = min(least, 0.0)
    if meets(search):
        floor = search.noise[ORIGIN] + search.noise[SUM] / search.noise[KNOWN]
    place[FRONTIER] = frontier
    search.result[FLOOR] = floor if np.isnan(given_floor) else given_floor
    return count


@inlined
def worth(
    tree: Tree, graph: Graph, search: Search, node: int, rest: float, belief: tuple[float, float]
) -> float:
    """Q of an action."""
    if tree.pulls[node] == 0:
        return rest
    reward = shrunk(tree, node, belief)
    if tree.flags[node] & TERMINAL:
        return reward
    after = graph.home[node]
    if graph.child[after] == NONE or search.choice[after] == NONE:
        return reward + search.gamma * rest
    return reward + search.gamma * float(tree.value[after])


@folded
def improve(
    tree: Tree,
    graph: Graph,
    search: Search,
    count: int,
    rest: float,
    belief: tuple[float, float],
    tie_seed: int,
    only_new: bool,
) -> int:
    """Choose the best action in each state, the farthest first; returns how many changed.

    Or only in states that have none yet.
    """
    changed = 0
    for k in range(count - 1, -1, -1):
        home = search.order[k]
        first = graph.child[home]
        before = search.choice[home]
        if only_new and before != NONE:
            continue
        best, value = before, -np.inf
        if before != NONE:
            value = worth(tree, graph, search, before, rest, belief)
        for node in range(first, first + search.num_actions):
            if node == before:
                continue
            other = worth(tree, graph, search, node, rest, belief)
            lead = other - value
            if best == NONE or lead > 1e-12 * (abs(other) + abs(value)):
                best, value = node, other
            elif before == NONE and lead == 0.0 and ticket(tie_seed, node) > ticket(tie_seed, best):
                best = node
        changed += best != before
        search.choice[home] = best
        tree.value[home] = value
    return changed


@folded
def evaluate_policy(
    tree: Tree,
    graph: Graph,
    search: Search,
    count: int,
    rest: float,
    belief: tuple[float, float],
) -> None:
    """The values of all states under the policy."""
    place, stack, stamp, choice = search.place, search.stack, search.stamp, search.choice
    gamma = search.gamma
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
            if tree.pulls[node] == 0:
                value = rest
                break
            if tree.flags[node] & TERMINAL:
                value = 0.0
                break
            home = graph.home[node]
            if graph.child[home] == NONE:
                value = rest
                break
            if stamp[home] == known:
                value = tree.value[home]
                break
            if stamp[home] == on_path:  # a loop
                value, weight = 0.0, 1.0
                at = top - 1
                while True:
                    value = shrunk(tree, choice[stack[at]], belief) + gamma * value
                    weight *= gamma
                    if stack[at] == home:
                        break
                    at -= 1
                value /= 1.0 - weight
                break
        while top > 0:
            top -= 1
            home = stack[top]
            node = choice[home]
            if tree.pulls[node]:
                value = shrunk(tree, node, belief) + gamma * value
            tree.value[home] = value
            stamp[home] = known
