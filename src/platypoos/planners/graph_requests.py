"""Which samples a layer lacks: requests, and how many evaluations are enough for the noise."""

from __future__ import annotations

import math

import numpy as np

from platypoos._jit import jit, jitable
from platypoos.graph import NONE, Graph
from platypoos.planners.graph_entries import (
    ASKED,
    DEGREES,
    FRESH,
    HOME,
    LACKING,
    LOOK_SHARE,
    OPENED,
    PAUSED,
    REPEATS,
    SAMPLES,
    SPENT,
    SQUARES,
    STAMP,
    TREE_FULL,
    Entries,
    Search,
)
from platypoos.tree import Tree, set_node


@jitable
def has_samples(tree: Tree, graph: Graph, search: Search, home: int, evaluations: int) -> bool:
    """Whether all actions of a state have been evaluated so often."""
    first = graph.child[home]
    if first == NONE:
        return False
    least = tree.pulls[first]
    for node in range(first + 1, first + search.num_actions):
        least = min(least, tree.pulls[node])
    return bool(least >= evaluations)


@jitable
def request_root(tree: Tree, graph: Graph, search: Search, h_max: int, calls_left: int) -> int:
    """The root is opened with h_max evaluations, or few if there is no noise."""
    home = search.place[HOME]
    if graph.child[home] == NONE and tree.size[0] + search.num_actions > len(tree.parent):
        return TREE_FULL
    evaluations = h_max
    if search.place[SPENT]:
        evaluations = 1
    elif graph.child[home] != NONE and search.noise[DEGREES] > 0 and search.noise[SQUARES] == 0.0:
        evaluations = min(h_max, quiet_evaluations(search))
    make_children(tree, graph, search, home)
    asked = ask(tree, graph, search, home, evaluations, 0)
    return settle(tree, search, asked, calls_left)


@jitable
def quiet_evaluations(search: Search) -> int:
    """While no two samples of an action have ever differed: one, and now and then a second."""
    noise = search.noise
    return 2 if noise[REPEATS] * LOOK_SHARE < noise[SAMPLES] else 1


@jitable
def enough_evaluations(entries: Entries, search: Search, start: int, end: int, h: int) -> int:
    """More evaluations than this cannot matter in a layer: û differ by far more than the noise.

    The variance of û over the layer is that of the true values and that of the noise, which is
    known from repeated samples. What is left for the true ones, if it is more than half, says how
    many evaluations make the noise as small as they are.
    """
    squares, degrees = search.noise[SQUARES], search.noise[DEGREES]
    most = 1 << 40
    if degrees == 0.0:
        return most
    if squares == 0.0:
        return quiet_evaluations(search)
    total, doubt = 0.0, 0.0
    for i in range(start, end):
        total += entries.value[i]
        doubt += entries.doubt[i]
    count = end - start
    if count < 2:
        return most
    mean = total / count
    spread = 0.0
    for i in range(start, end):
        spread += (entries.value[i] - mean) ** 2
    variance = squares / degrees * (1.0 + 4.0 / degrees)
    noise = variance * doubt / count
    true = spread / (count - 1) - noise
    if true > noise:
        ahead = (1.0 - search.power[h] ** 2) / (1.0 - search.gamma**2)
        needed = variance * ahead / true
        if needed < most:
            most = max(1, math.ceil(needed))
    return most


@jitable
def make_children(tree: Tree, graph: Graph, search: Search, home: int) -> None:
    """The nodes of a state's actions, if they are not there yet."""
    if graph.child[home] != NONE:
        return
    first = tree.size[0]
    graph.child[home] = first
    for action in range(search.num_actions):
        graph.home[first + action] = first + action  # until it is known better
        set_node(tree, first + action, home, action, tree.depth[home] + 1, 0)
        tree.reward[first + action] = 0.0
    tree.size[0] = first + search.num_actions


@jitable
def ask(tree: Tree, graph: Graph, search: Search, home: int, evaluations: int, asked: int) -> int:
    """Bring the actions of a state to so many evaluations; returns the length of the request."""
    first = graph.child[home]
    quiet = search.noise[DEGREES] > 0.0 and search.noise[SQUARES] == 0.0
    for node in range(first, first + search.num_actions):
        pulls = tree.pulls[node]
        # A second sample tells of noise only if it comes later.
        wanted = 1 if quiet and pulls == 0 else evaluations
        if pulls < wanted:
            search.nodes[asked] = node
            search.keys[asked] = wanted - pulls
            asked += 1
    return asked


@jitable
def write_request(
    tree: Tree, graph: Graph, entries: Entries, search: Search, calls_left: int
) -> int:
    """What the opened entries lack; a state that is opened twice asks once."""
    place = search.place
    place[STAMP] += 1
    layer = place[STAMP]
    needed = 0
    for k in range(place[OPENED]):  # does it fit?
        home = graph.home[entries.node[search.opened[k]]]
        if search.stamp[home] == layer:
            continue
        search.stamp[home] = layer
        first = graph.child[home]
        for action in range(search.num_actions):
            pulls = 0 if first == NONE else tree.pulls[first + action]
            needed += max(0, search.repeats[k] - pulls)
    if needed > calls_left:
        return LACKING
    place[STAMP] += 1
    layer = place[STAMP]
    asked = 0
    for k in range(place[OPENED]):
        home = graph.home[entries.node[search.opened[k]]]
        if search.stamp[home] == layer:
            continue
        search.stamp[home] = layer
        make_children(tree, graph, search, home)
        asked = ask(tree, graph, search, home, search.repeats[k], asked)
    return settle(tree, search, asked, calls_left)


@jitable
def settle(tree: Tree, search: Search, asked: int, calls_left: int) -> int:
    """Sort the request, note what was known before it; PAUSED means: make it."""
    needed = 0
    rising = True
    for k in range(asked):
        needed += int(search.keys[k])
        if k > 0 and search.nodes[k] < search.nodes[k - 1]:
            rising = False
    if needed > calls_left:
        return LACKING
    if rising:
        for k in range(asked):
            search.repeats[k] = int(search.keys[k])
    else:
        order = np.argsort(search.nodes[:asked])
        sorted_nodes = search.nodes[:asked][order]
        for k in range(asked):
            search.nodes[k] = sorted_nodes[k]
            search.repeats[k] = int(search.keys[order[k]])
    fresh = 0
    for k in range(asked):
        node = search.nodes[k]
        search.before[k] = tree.reward[node]
        if tree.pulls[node] == 0:
            search.fresh[fresh] = node
            fresh += 1
    search.place[ASKED] = asked
    search.place[FRESH] = fresh
    return PAUSED


@jit
def learn(tree: Tree, search: Search) -> None:
    """What a request tells of the noise: how far the means moved."""
    noise = search.noise
    for k in range(search.place[ASKED]):
        node = search.nodes[k]
        count = search.repeats[k]
        pulls = tree.pulls[node]
        known = pulls - count
        noise[SAMPLES] += count
        if known > 0:
            moved = tree.reward[node] - search.before[k]
            noise[SQUARES] += moved * moved * pulls * known / count
            noise[DEGREES] += 1.0
            noise[REPEATS] += count
