"""What is known: states, the actions tried there, their samples; and the best policy in it."""

from __future__ import annotations

import numpy as np

from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.platypus.state import NOBODY, Ints, Search
from platypoos.models.advice import UNASKED, count_legal, is_legal, legal_action
from platypoos.trees.tickets import draw_below
from platypoos.trees.tree import TERMINAL, set_node

LEAST_SWEEPS, MOST_VISITS = 8, 20_000
"""Solving takes so many sweeps over all states at most, and more if that is this many visits (ten
times as many, if it is to be exact)."""
ROUGHLY, EXACTLY = 1e-3, 1e-14


@inlined
def child_by(search: Search, home: int, action: int) -> int:
    """The child of a home by an action, or NOBODY."""
    child = int(search.first[home])
    while child != NOBODY and search.tree.action[child] != action:
        child = int(search.sibling[child])
    return child


@inlined
def span(search: Search, state: int) -> float:
    """What a reward of 1 at each step to come is worth in a state."""
    at = search.at[0]
    gamma = at.discount
    left = at.over_at - search.tree.depth[state]
    if gamma == 1.0:
        return float(max(left, 1))
    if left > 1000000:
        return 1.0 / (1.0 - gamma)  # type: ignore[no-any-return]
    return (1.0 - gamma ** max(left, 1)) / (1.0 - gamma)  # type: ignore[no-any-return]


@inlined
def add_child(search: Search, home: int, action: int) -> int:
    """Make the child of a home by an action that was not tried there."""
    tree = search.tree
    child = int(tree.size[0])
    tree.size[0] += 1
    set_node(tree, child, home, action, tree.depth[home] + 1, 0)
    tree.reward[child] = 0.0
    tree.value[child] = search.at[0].rate * span(search, child)
    search.homes.home[child] = child
    search.first[child] = NOBODY
    search.tried[child] = 0
    search.choice[child] = NOBODY
    search.seen_in[child] = 0
    search.place[child] = 0
    search.share[child] = 0.0
    search.sibling[child] = search.first[home]
    search.first[home] = child
    search.tried[home] += 1
    if len(search.legal) > 0:
        search.legal[child, 0] = UNASKED
    return child


@inlined
def options(search: Search, home: int) -> int:
    """How many actions may be taken in a state."""
    return count_legal(search.legal, home, len(search.value))


@inlined
def may(search: Search, home: int, action: int) -> bool:
    """Whether an action may be taken in a state."""
    return is_legal(search.legal, home, action)


@inlined
def is_over(search: Search, node: int) -> bool:
    """Whether the episode is over after a node."""
    tree = search.tree
    return tree.flags[node] & TERMINAL != 0 or tree.depth[node] >= search.at[0].over_at  # type: ignore[no-any-return]


@inlined
def random_below(search: Search, end: int) -> int:
    """A random number from 0 to end − 1."""
    at = search.at[0]
    at.drawn += 1
    return draw_below(at.seed, at.drawn, end)


@inlined
def random_action(search: Search, home: int) -> int:
    """One of the actions that may be taken in a state."""
    return legal_action(search.legal, home, random_below(search, options(search, home)))


@inlined
def variance(search: Search) -> float:
    """Of a sample, by those that were taken again; 0 as long as none has differed."""
    at = search.at[0]
    return at.squares / at.degrees if at.degrees > 0 else 0.0


@inlined
def is_noisy(search: Search) -> bool:
    """Whether two samples of the same action have ever differed."""
    return search.at[0].squares > 0.0 or search.reset


@jit
def note(search: Search, count: int) -> None:
    """Remember the means of a request's nodes, to see how new samples differ."""
    search = borrowed(search)
    for i in range(count):
        node = search.nodes[i]
        search.mean[i] = search.tree.reward[node]
        search.pulls[i] = search.tree.pulls[node]


@jit
def learn(search: Search, count: int) -> int:
    """Compare the samples of a request with those before it. New nodes are moved to the front.

    Returns how many are new and go on.
    """
    search = borrowed(search)
    at, tree = search.at[0], search.tree
    new = 0
    for i in range(count):
        node = search.nodes[i]
        before, now = search.pulls[i], tree.pulls[node]
        if before == 0:
            if now > 0 and not is_over(search, node):
                search.nodes[new] = node
                new += 1
        elif now > before:
            moved = tree.reward[node] - search.mean[i]  # (n − m)/n of the difference of the means
            at.squares += moved * moved * now * before / (now - before)
            at.degrees += 1
    return new


@inlined
def believed(search: Search, node: int) -> float:
    """The mean reward of a node, drawn to the mean of all as far as noise makes it unsure."""
    at, tree = search.at[0], search.tree
    reward = tree.reward[node]
    if at.spread > 0.0:
        doubt = variance(search) / max(1, tree.pulls[node])
        reward = at.average + (reward - at.average) * at.spread / (at.spread + doubt)
    return reward  # type: ignore[no-any-return]


@jit
def take_moments(search: Search) -> None:
    """The mean of all rewards that are known, and how far they are spread, noise taken out."""
    at, tree = search.at[0], search.tree
    noise = variance(search)
    count, mean, squares, less = 0, 0.0, 0.0, 0.0
    for node in range(1, tree.size[0]):
        if tree.pulls[node] > 0:
            count += 1
            step = tree.reward[node] - mean
            mean += step / count
            squares += step * (tree.reward[node] - mean)
            less += noise / tree.pulls[node]
    if count == 0:  # nothing was kept
        return
    at.average = mean
    at.spread = max(squares - less, 0.01 * squares) / count if noise > 0.0 else 0.0


@jit
def solve(search: Search, accuracy: float) -> None:
    """Find the best policy in all that is known: ``tree.value`` and ``choice`` of every home.

    What is unknown is worth, for each step to come, what the known states that have untried
    actions are worth on average. Rewards are drawn to the mean of all, as far as noise makes them
    unsure. ``accuracy`` is a share of the range of all values.
    """
    search = borrowed(search)
    at, tree, home = search.at[0], search.tree, search.homes.home
    size = tree.size[0]
    gamma = at.discount
    take_moments(search)
    valued = len(search.worth) > 0
    if at.solved == 0 and size > 1:
        at.solved = 1  # from the mean of all rewards: where one starts must not depend on zero
        at.rate = at.average
        for state in range(size):
            tree.value[state] = at.rate * span(search, state)
    rate = at.rate
    visits = MOST_VISITS if accuracy >= ROUGHLY else 10 * MOST_VISITS
    sweeps = LEAST_SWEEPS + visits // size
    for sweep in range(sweeps):
        change, least, most = 0.0, np.inf, -np.inf
        total, fronts, all_total, states, leaves = 0.0, 0, 0.0, 0, 0
        for state in range(size - 1, -1, -1):
            if home[state] != state or (state != at.root and is_over(search, state)):
                continue
            steps = span(search, state)
            child = int(search.first[state])
            best, chosen = -np.inf, NOBODY
            while child != NOBODY:
                if tree.pulls[child] > 0:
                    reward = believed(search, child)
                    if not is_over(search, child):
                        reward += gamma * tree.value[home[child]]
                    if reward > best:
                        best, chosen = reward, child
                child = int(search.sibling[child])
            if chosen == NOBODY:
                leaves += 1
                best = rate * steps
                if valued:
                    best = search.worth[state]
            else:
                least, most = min(least, best), max(most, best)
                states += 1
                all_total += best / steps
                if search.tried[state] < options(search, state):
                    fronts += 1
                    total += best / steps
            change = max(change, abs(best - tree.value[state]))
            tree.value[state] = best
            search.choice[state] = chosen
        before = rate
        if fronts > 0:
            rate = total / fronts
        elif states > 0:
            rate = all_total / states
        change = max(change, abs(rate - before))
        at.rate = rate
        at.closed = fronts == 0 and leaves == 0
        if sweep > 0 and change <= accuracy * (most - least):
            break


@jit
def outlook(search: Search, sequence: Ints, steps: int) -> float:
    """What the state after a sequence is worth by all that is known; 0 after an end."""
    state, child = int(search.at[0].root), NOBODY
    for t in range(steps):
        child = child_by(search, state, sequence[t])
        state = int(search.homes.home[child])
    return 0.0 if is_over(search, child) else search.tree.value[state]


@inlined
def rest_after(search: Search, node: int, steps: int) -> float:
    """What is counted after a sequence of ``steps`` that ends in a node.

    What the model says, or what is known of the state if nothing is unknown anywhere; else
    nothing: of one sequence the rest may be known and of another not.
    """
    state = int(search.homes.home[node])
    if is_over(search, node):
        return 0.0
    if len(search.worth) > 0:
        return search.power[steps] * search.worth[state]  # type: ignore[no-any-return]
    return search.power[steps] * search.tree.value[state] if search.at[0].closed == 1 else 0.0


@jit
def value_of(search: Search, sequence: Ints, steps: int) -> float:
    """The discounted sum of rewards along a sequence whose first steps are known, and the rest."""
    search = borrowed(search)
    state, child, total = int(search.at[0].root), NOBODY, 0.0
    for t in range(steps):
        child = child_by(search, state, sequence[t])
        total += search.power[t] * believed(search, child)
        state = int(search.homes.home[child])
    return total + rest_after(search, child, steps)


@jit
def gather(search: Search, root: int, most: int) -> tuple[Ints, Ints, Ints]:
    """What can be reached from a state, the nearest first, at most ``most`` nodes.

    Returns the nodes (the root first), their parents and their homes in the new numbering.
    """
    search = borrowed(search)
    tree, home = search.tree, search.homes.home
    size = tree.size[0]
    number = np.full(size, -1, np.int64)  # of a home: its new number
    nodes = np.empty(size + 1, np.int64)
    parents = np.empty(size + 1, np.int64)
    homes = np.empty(size + 1, np.int64)
    nodes[0], parents[0], homes[0] = root, -1, 0
    number[root] = 0
    count, at = 1, 0
    while at < count:
        if homes[at] == at and not (at > 0 and is_over(search, nodes[at])):
            start = count
            child = int(search.first[home[nodes[at]]])
            while child != NOBODY and count <= most:
                if tree.pulls[child] > 0:
                    nodes[count] = child
                    count += 1
                child = int(search.sibling[child])
            if count > most:
                count = most = start  # all of its actions or none
            for i in range((count - start) // 2):  # in the order they were made
                other = count - 1 - i
                nodes[start + i], nodes[other] = nodes[other], nodes[start + i]
            for i in range(start, count):
                state = home[nodes[i]]
                parents[i] = at
                if number[state] < 0:
                    number[state] = i
                homes[i] = number[state]
        at += 1
    return nodes[:count], parents[:count], homes[:count]


@jit
def link_children(search: Search) -> None:
    """Find the children of every home by the parents of all nodes."""
    search = borrowed(search)
    for node in range(search.tree.size[0]):
        search.first[node] = search.tried[node] = search.choice[node] = search.seen_in[node] = 0
        search.place[node] = 0
    for node in range(1, search.tree.size[0]):
        state = search.tree.parent[node]
        search.sibling[node] = search.first[state]
        search.first[state] = node
        search.tried[state] += 1


@jit
def nearest_unknown(search: Search) -> int:
    """Steps to the nearest state that has untried actions; −1 if there is none."""
    search = borrowed(search)
    tree, home = search.tree, search.homes.home
    size = tree.size[0]
    steps = np.full(size, -1, np.int64)
    queue = np.empty(size, np.int64)
    queue[0] = search.at[0].root
    steps[queue[0]] = 0
    count, at = 1, 0
    while at < count:
        state = queue[at]
        at += 1
        if search.tried[state] < options(search, state):
            return steps[state]  # type: ignore[no-any-return]
        child = int(search.first[state])
        while child != NOBODY:
            after = home[child]
            if tree.pulls[child] == 0:
                return steps[state]  # type: ignore[no-any-return]
            if steps[after] < 0 and not is_over(search, child):
                steps[after] = steps[state] + 1
                queue[count] = after
                count += 1
            child = int(search.sibling[child])
    return -1
