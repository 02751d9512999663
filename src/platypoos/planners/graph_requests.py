"""Which samples a layer lacks: requests, the noise, and how many evaluations are enough for it."""

from __future__ import annotations

import math

from platypoos._jit import jit, jitable
from platypoos.advice import is_legal
from platypoos.graph import NONE, Graph
from platypoos.planners.graph_entries import (
    ASKED,
    CUT,
    DEGREES,
    FRESH,
    H_MAX,
    HOME,
    KNOWN,
    LAYER,
    LOOK_SHARE,
    MET,
    OPENED,
    ORIGIN,
    PAUSED,
    REPEATS,
    SAMPLES,
    SIZE,
    SMALL,
    SQUARES,
    START,
    SUM,
    SUM_INVERSE,
    SUM_SQUARES,
    TREE_FULL,
    Desk,
    Ints,
    Search,
)
from platypoos.tree import ILLEGAL, Tree, set_node

FEW = 0.1
"""Where at most so many successors are states known before, sequences hardly ever meet."""


@jitable
def meets(search: Search) -> bool:
    """Whether sequences meet in the same states, more than by chance."""
    return bool(search.noise[MET] > FEW * search.noise[KNOWN])


@jitable
def is_quiet(search: Search) -> bool:
    """Whether no two samples of an action have ever differed, among some that might have."""
    return bool(search.noise[DEGREES] > 0.0 and search.noise[SQUARES] == 0.0)


@jitable
def is_noisy_tree(search: Search) -> bool:
    """Whether nothing is to be shared, and much to be repeated: the published planner's home."""
    return bool(search.noise[SQUARES] > 0.0 and not meets(search))


@jit
def request_root(desk: Desk, calls_left: int) -> int:
    """The root is opened with h_max evaluations, or few if there is no noise.

    Where sequences meet with a quarter of them, but in small rounds.
    """
    tree, graph, search = desk.tree, desk.graph, desk.search
    h_max = search.place[H_MAX]
    home = search.place[HOME]
    first = graph.child[home]
    search.place[ASKED] = 0
    if first == NONE:
        if tree.size[0] + search.num_actions > len(tree.parent):
            return TREE_FULL
        if calls_left < search.num_actions:
            search.place[OPENED], search.place[CUT] = 0, 1
            return PAUSED
        make_children(tree, graph, search, home)
    evaluations = max(min(h_max, SMALL), h_max // 4) if meets(search) else h_max
    if first != NONE and is_quiet(search):
        evaluations = min(h_max, quiet_evaluations(search))
    if evaluations * search.num_actions > calls_left:
        evaluations = max(1, calls_left // search.num_actions)
    asked = ask(tree, graph, search, home, evaluations, 0)
    if first != NONE and search.noise[DEGREES] == 0.0:
        asked = min(asked, 1)  # a look for noise will do
    settle(desk, asked)
    return PAUSED


@jitable
def quiet_evaluations(search: Search) -> int:
    """While no two samples of an action have ever differed: one, and now and then a second."""
    noise = search.noise
    return 2 if noise[REPEATS] * LOOK_SHARE < noise[SAMPLES] else 1


@jit
def enough_evaluations(desk: Desk) -> int:
    """More evaluations than this cannot matter in a layer: û differ by far more than the noise.

    The variance of û over the layer is that of the true values and that of the noise, which is
    known from repeated samples. What is left for the true ones, if it is more than half, says how
    many evaluations make the noise as small as they are.
    """
    entries, search = desk.entries, desk.search
    h, start, end = search.place[LAYER], search.place[START], search.place[SIZE]
    squares, degrees = search.noise[SQUARES], search.noise[DEGREES]
    most = 1 << 40
    if degrees == 0.0:
        return most
    if squares == 0.0:
        return quiet_evaluations(search)
    if not meets(search):
        return most
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
        ahead = float(h)
        if search.gamma < 1.0:
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
        if not is_legal(graph.legal, home, action):
            tree.flags[first + action] = ILLEGAL
    tree.size[0] = first + search.num_actions


@jitable
def ask(tree: Tree, graph: Graph, search: Search, home: int, evaluations: int, asked: int) -> int:
    """Bring the actions of a state to so many evaluations; returns the length of the request."""
    first = graph.child[home]
    quiet = is_quiet(search)
    for node in range(first, first + search.num_actions):
        if tree.flags[node] & ILLEGAL:
            continue
        pulls = tree.pulls[node]
        # A second sample tells of noise only if it comes later.
        wanted = 1 if quiet and pulls == 0 else evaluations
        if pulls < wanted:
            search.nodes[asked] = node
            search.keys[asked] = wanted - pulls
            asked += 1
    return asked


@jit
def write_request(desk: Desk, calls_left: int) -> None:
    """What the opened entries lack, as far as calls suffice."""
    tree, graph, entries, search = desk.tree, desk.graph, desk.entries, desk.search
    place, opened, node_of, home_of = search.place, search.opened, entries.node, graph.home
    pulls, num_actions = tree.pulls, search.num_actions
    needed = 0
    asked = 0
    for k in range(place[OPENED]):
        home = home_of[node_of[opened[k]]]
        first = graph.child[home]
        evaluations = search.repeats[k]
        for action in range(num_actions):
            if not is_legal(graph.legal, home, action):
                continue
            known = 0 if first == NONE else pulls[first + action]
            needed += max(0, evaluations - known)
        if needed > calls_left:
            place[OPENED] = k
            place[CUT] = 1
            break
    for k in range(place[OPENED]):
        home = home_of[node_of[opened[k]]]
        make_children(tree, graph, search, home)
        asked = ask(tree, graph, search, home, search.repeats[k], asked)
    settle(desk, asked)


@jit
def sort_request(nodes: Ints, repeats: Ints, size: int) -> None:
    """Sort nodes, and their repeats with them: a Shell sort, as they are almost in order."""
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, size):
            node, count = nodes[k], repeats[k]
            at = k
            while at >= gap and nodes[at - gap] > node:
                nodes[at], repeats[at] = nodes[at - gap], repeats[at - gap]
                at -= gap
            nodes[at], repeats[at] = node, count
        gap //= 3


@jit
def settle(desk: Desk, asked: int) -> None:
    """Sort the request, note what was known before it."""
    tree, search = desk.tree, desk.search
    nodes, repeats, before, new = search.nodes, search.repeats, search.before, search.fresh
    pulls, reward, keys = tree.pulls, tree.reward, search.keys
    for k in range(asked):
        repeats[k] = int(keys[k])
    sort_request(nodes, repeats, asked)
    fresh = 0
    for k in range(asked):
        node = nodes[k]
        before[k] = reward[node]
        if pulls[node] == 0:
            new[fresh] = node
            fresh += 1
    search.place[ASKED] = asked
    search.place[FRESH] = fresh


@jit
def learn(desk: Desk) -> None:
    """What a request tells: how far the means moved, and which states meet."""
    tree, graph, search = desk.tree, desk.graph, desk.search
    noise = search.noise
    for k in range(search.place[ASKED]):
        node = search.nodes[k]
        count = search.repeats[k]
        pulls = tree.pulls[node]
        known = pulls - count
        noise[SAMPLES] += count
        if noise[KNOWN] == 0.0:
            noise[ORIGIN] = tree.reward[node]
        now = tree.reward[node] - noise[ORIGIN]
        noise[SUM] += now
        noise[SUM_SQUARES] += now * now
        if known == 0:
            noise[SUM_INVERSE] += 1.0 / pulls
            noise[KNOWN] += 1.0
            noise[MET] += graph.home[node] != node
            continue
        before = search.before[k] - noise[ORIGIN]
        noise[SUM] -= before
        noise[SUM_SQUARES] -= before * before
        both = float(pulls) * known
        noise[SUM_INVERSE] -= count / both
        moved = now - before
        noise[SQUARES] += moved * moved * both / count
        noise[DEGREES] += 1.0
        noise[REPEATS] += count


@jitable
def believe(search: Search) -> tuple[float, float]:
    """The mean of all mean rewards, and the noise's variance over theirs.

    Of a tree as little is believed as in the paper: where rewards change slowly along a sequence,
    they differ by far less than all of them do.
    """
    noise = search.noise
    count = noise[KNOWN]
    if noise[SQUARES] == 0.0 or count < 2.0 or not meets(search):
        return 0.0, 0.0
    variance = noise[SQUARES] / noise[DEGREES]
    mean = noise[SUM] / count
    total = max(0.0, noise[SUM_SQUARES] / count - mean * mean)
    true = max(0.0, total - variance * noise[SUM_INVERSE] / count)
    true += 3.0 * math.sqrt(2.0 / count) * total  # it may well be so much more
    return noise[ORIGIN] + mean, variance / max(true, 1e-300)


@jitable
def shrunk(tree: Tree, node: int, belief: tuple[float, float]) -> float:
    """A mean reward, drawn to the mean of all as far as noise makes it unsure."""
    pulls = float(tree.pulls[node])
    return float(belief[0] + (tree.reward[node] - belief[0]) * (pulls / (pulls + belief[1])))
