"""What is known: states, the actions tried there, their samples; and the best policy in it."""

from __future__ import annotations

import numpy as np

from platypoos.compile import borrowed, inlined, jit
from platypoos.ledger.tree import TERMINAL, draw_below, set_node
from platypoos.models.advice import UNASKED, count_legal, is_legal, legal_action
from platypoos.planners.platypus.mind import NOBODY, Ints, Mind

LEAST_SWEEPS, MOST_VISITS = 8, 20_000
"""Solving takes so many sweeps over all states at most, and more if that is this many visits (ten
times as many, if it is to be exact)."""
ROUGHLY, EXACTLY = 1e-3, 1e-14


@inlined
def child_by(mind: Mind, home: int, action: int) -> int:
    """The child of a home by an action, or NOBODY."""
    child = int(mind.first[home])
    while child != NOBODY and mind.tree.action[child] != action:
        child = int(mind.sibling[child])
    return child


@inlined
def span(mind: Mind, state: int) -> float:
    """What a reward of 1 at each step to come is worth in a state."""
    at = mind.at[0]
    gamma = at.discount
    left = at.over_at - mind.tree.depth[state]
    if gamma == 1.0:
        return float(max(left, 1))
    if left > 1000000:
        return 1.0 / (1.0 - gamma)  # type: ignore[no-any-return]
    return (1.0 - gamma ** max(left, 1)) / (1.0 - gamma)  # type: ignore[no-any-return]


@inlined
def add_child(mind: Mind, home: int, action: int) -> int:
    """Make the child of a home by an action that was not tried there."""
    tree = mind.tree
    child = int(tree.size[0])
    tree.size[0] += 1
    set_node(tree, child, home, action, tree.depth[home] + 1, 0)
    tree.reward[child] = 0.0
    tree.value[child] = mind.at[0].rate * span(mind, child)
    mind.homes.home[child] = child
    mind.first[child] = NOBODY
    mind.tried[child] = 0
    mind.choice[child] = NOBODY
    mind.seen_in[child] = 0
    mind.place[child] = 0
    mind.share[child] = 0.0
    mind.sibling[child] = mind.first[home]
    mind.first[home] = child
    mind.tried[home] += 1
    if len(mind.legal) > 0:
        mind.legal[child, 0] = UNASKED
    return child


@inlined
def options(mind: Mind, home: int) -> int:
    """How many actions may be taken in a state."""
    return count_legal(mind.legal, home, len(mind.value))


@inlined
def may(mind: Mind, home: int, action: int) -> bool:
    """Whether an action may be taken in a state."""
    return is_legal(mind.legal, home, action)


@inlined
def is_over(mind: Mind, node: int) -> bool:
    """Whether the episode is over after a node."""
    tree = mind.tree
    return tree.flags[node] & TERMINAL != 0 or tree.depth[node] >= mind.at[0].over_at  # type: ignore[no-any-return]


@inlined
def random_below(mind: Mind, end: int) -> int:
    """A random number from 0 to end − 1."""
    at = mind.at[0]
    at.drawn += 1
    return draw_below(at.seed, at.drawn, end)


@inlined
def random_action(mind: Mind, home: int) -> int:
    """One of the actions that may be taken in a state."""
    return legal_action(mind.legal, home, random_below(mind, options(mind, home)))


@inlined
def variance(mind: Mind) -> float:
    """Of a sample, by those that were taken again; 0 as long as none has differed."""
    at = mind.at[0]
    return at.squares / at.degrees if at.degrees > 0 else 0.0


@inlined
def is_noisy(mind: Mind) -> bool:
    """Whether two samples of the same action have ever differed."""
    return mind.at[0].squares > 0.0 or mind.reset


@jit
def note(mind: Mind, count: int) -> None:
    """Remember the means of a request's nodes, to see how new samples differ."""
    mind = borrowed(mind)
    for i in range(count):
        node = mind.nodes[i]
        mind.mean[i] = mind.tree.reward[node]
        mind.pulls[i] = mind.tree.pulls[node]


@jit
def learn(mind: Mind, count: int) -> int:
    """Compare the samples of a request with those before it. New nodes are moved to the front.

    Returns how many are new and go on.
    """
    mind = borrowed(mind)
    at, tree = mind.at[0], mind.tree
    new = 0
    for i in range(count):
        node = mind.nodes[i]
        before, now = mind.pulls[i], tree.pulls[node]
        if before == 0:
            if now > 0 and not is_over(mind, node):
                mind.nodes[new] = node
                new += 1
        elif now > before:
            moved = tree.reward[node] - mind.mean[i]  # (n − m)/n of the difference of the means
            at.squares += moved * moved * now * before / (now - before)
            at.degrees += 1
    return new


@inlined
def believed(mind: Mind, node: int) -> float:
    """The mean reward of a node, drawn to the mean of all as far as noise makes it unsure."""
    at, tree = mind.at[0], mind.tree
    reward = tree.reward[node]
    if at.spread > 0.0:
        doubt = variance(mind) / max(1, tree.pulls[node])
        reward = at.average + (reward - at.average) * at.spread / (at.spread + doubt)
    return reward  # type: ignore[no-any-return]


@jit
def take_moments(mind: Mind) -> None:
    """The mean of all rewards that are known, and how far they are spread, noise taken out."""
    at, tree = mind.at[0], mind.tree
    noise = variance(mind)
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
def solve(mind: Mind, accuracy: float) -> None:
    """Find the best policy in all that is known: ``tree.value`` and ``choice`` of every home.

    What is unknown is worth, for each step to come, what the known states that have untried
    actions are worth on average. Rewards are drawn to the mean of all, as far as noise makes them
    unsure. ``accuracy`` is a share of the range of all values.
    """
    mind = borrowed(mind)
    at, tree, home = mind.at[0], mind.tree, mind.homes.home
    size = tree.size[0]
    gamma = at.discount
    take_moments(mind)
    valued = len(mind.worth) > 0
    if at.solved == 0 and size > 1:
        at.solved = 1  # from the mean of all rewards: where one starts must not depend on zero
        at.rate = at.average
        for state in range(size):
            tree.value[state] = at.rate * span(mind, state)
    rate = at.rate
    visits = MOST_VISITS if accuracy >= ROUGHLY else 10 * MOST_VISITS
    sweeps = 1 if at.hasty == 1 else LEAST_SWEEPS + visits // size
    for sweep in range(sweeps):
        change, least, most = 0.0, np.inf, -np.inf
        total, fronts, all_total, states, leaves = 0.0, 0, 0.0, 0, 0
        for state in range(size - 1, -1, -1):
            if home[state] != state or (state != at.root and is_over(mind, state)):
                continue
            steps = span(mind, state)
            child = int(mind.first[state])
            best, chosen = -np.inf, NOBODY
            while child != NOBODY:
                if tree.pulls[child] > 0:
                    reward = believed(mind, child)
                    if not is_over(mind, child):
                        reward += gamma * tree.value[home[child]]
                    if reward > best:
                        best, chosen = reward, child
                child = int(mind.sibling[child])
            if chosen == NOBODY:
                leaves += 1
                best = rate * steps
                if valued:
                    best = mind.worth[state]
            else:
                least, most = min(least, best), max(most, best)
                states += 1
                all_total += best / steps
                if mind.tried[state] < options(mind, state):
                    fronts += 1
                    total += best / steps
            change = max(change, abs(best - tree.value[state]))
            tree.value[state] = best
            mind.choice[state] = chosen
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
def outlook(mind: Mind, sequence: Ints, steps: int) -> float:
    """What the state after a sequence is worth by all that is known; 0 after an end."""
    state, child = int(mind.at[0].root), NOBODY
    for t in range(steps):
        child = child_by(mind, state, sequence[t])
        state = int(mind.homes.home[child])
    return 0.0 if is_over(mind, child) else mind.tree.value[state]


@inlined
def rest_after(mind: Mind, node: int, steps: int) -> float:
    """What is counted after a sequence of so many steps that ends in a node.

    What the model says, or what is known of the state if nothing is unknown anywhere; else
    nothing: of one sequence the rest may be known and of another not.
    """
    state = int(mind.homes.home[node])
    if is_over(mind, node):
        return 0.0
    if len(mind.worth) > 0:
        return mind.power[steps] * mind.worth[state]  # type: ignore[no-any-return]
    return mind.power[steps] * mind.tree.value[state] if mind.at[0].closed == 1 else 0.0


@jit
def value_of(mind: Mind, sequence: Ints, steps: int) -> float:
    """The discounted sum of rewards along a sequence whose first steps are known, and the rest."""
    mind = borrowed(mind)
    state, child, total = int(mind.at[0].root), NOBODY, 0.0
    for t in range(steps):
        child = child_by(mind, state, sequence[t])
        total += mind.power[t] * believed(mind, child)
        state = int(mind.homes.home[child])
    return total + rest_after(mind, child, steps)


@jit
def gather(mind: Mind, root: int, most: int) -> tuple[Ints, Ints, Ints]:
    """What can be reached from a state, the nearest first, at most so many nodes.

    Returns the nodes (the root first), their parents and their homes in the new numbering.
    """
    mind = borrowed(mind)
    tree, home = mind.tree, mind.homes.home
    size = tree.size[0]
    number = np.full(size, -1, np.int64)  # of a home: its new number
    nodes = np.empty(size + 1, np.int64)
    parents = np.empty(size + 1, np.int64)
    homes = np.empty(size + 1, np.int64)
    nodes[0], parents[0], homes[0] = root, -1, 0
    number[root] = 0
    count, at = 1, 0
    while at < count:
        if homes[at] == at and not (at > 0 and is_over(mind, nodes[at])):
            start = count
            child = int(mind.first[home[nodes[at]]])
            while child != NOBODY and count <= most:
                if tree.pulls[child] > 0:
                    nodes[count] = child
                    count += 1
                child = int(mind.sibling[child])
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
def link_children(mind: Mind) -> None:
    """Find the children of every home by the parents of all nodes."""
    mind = borrowed(mind)
    for node in range(mind.tree.size[0]):
        mind.first[node] = mind.tried[node] = mind.choice[node] = mind.seen_in[node] = 0
        mind.place[node] = 0
    for node in range(1, mind.tree.size[0]):
        state = mind.tree.parent[node]
        mind.sibling[node] = mind.first[state]
        mind.first[state] = node
        mind.tried[state] += 1


@jit
def nearest_unknown(mind: Mind) -> int:
    """Steps to the nearest state that has untried actions; −1 if there is none."""
    mind = borrowed(mind)
    tree, home = mind.tree, mind.homes.home
    size = tree.size[0]
    steps = np.full(size, -1, np.int64)
    queue = np.empty(size, np.int64)
    queue[0] = mind.at[0].root
    steps[queue[0]] = 0
    count, at = 1, 0
    while at < count:
        state = queue[at]
        at += 1
        if mind.tried[state] < options(mind, state):
            return steps[state]  # type: ignore[no-any-return]
        child = int(mind.first[state])
        while child != NOBODY:
            after = home[child]
            if tree.pulls[child] == 0:
                return steps[state]  # type: ignore[no-any-return]
            if steps[after] < 0 and not is_over(mind, child):
                steps[after] = steps[state] + 1
                queue[count] = after
                count += 1
            child = int(mind.sibling[child])
    return -1
