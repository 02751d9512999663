"""What is known: states, the actions tried there, their samples; and the best policy in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos._jit import borrowed, inlined, jit
from platypoos.advice import UNASKED, count_legal, is_legal, legal_action
from platypoos.planners.platypus.mind import NOBODY, Ints, Mind
from platypoos.tree import TERMINAL, set_node, ticket

OVER = TERMINAL
ENOUGH_SWEEPS = 60
CONVERGED = 1e-4


@inlined
def child_by(mind: Mind, home: int, action: int) -> int:
    """The child of a home by an action, or NOBODY."""
    child = int(mind.first[home])
    while child != NOBODY and mind.tree.action[child] != action:
        child = int(mind.sibling[child])
    return child


@inlined
def add_child(mind: Mind, home: int, action: int) -> int:
    """Make the child of a home by an action that was not tried there."""
    tree = mind.tree
    child = int(tree.size[0])
    tree.size[0] += 1
    set_node(tree, child, home, action, tree.depth[home] + 1, 0)
    tree.reward[child] = 0.0
    tree.value[child] = 0.0
    mind.homes.home[child] = child
    mind.first[child] = NOBODY
    mind.tried[child] = 0
    mind.choice[child] = NOBODY
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
    return tree.flags[node] & TERMINAL != 0 or tree.depth[node] >= mind.at[0].over_at


@inlined
def random_below(mind: Mind, end: int) -> int:
    """A random number from 0 to end − 1: a hash, the same for every form of a model."""
    at = mind.at[0]
    at.drawn += 1
    bits = ticket(at.seed + 1, at.drawn) >> np.uint64(32)
    return np.int64((bits * np.uint64(end)) >> np.uint64(32))  # type: ignore[return-value]


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
    return mind.at[0].squares > 0.0 or mind.at[0].reset == 1


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


@jit
def solve(mind: Mind) -> None:
    """Find the best policy in all that is known: ``tree.value`` and ``choice`` of every home.

    What is unknown is worth, for each step to come, what the known states that have untried
    actions are worth on average. Rewards are drawn to the mean of all, as far as noise makes them
    unsure.
    """
    mind = borrowed(mind)
    at, tree, home = mind.at[0], mind.tree, mind.homes.home
    size = tree.size[0]
    gamma = at.discount
    noise = variance(mind)
    mean, spread = 0.0, 0.0
    if noise > 0.0:
        mean, spread = moments(mind, noise)
        at.mean, at.spread = mean, spread
    valued = len(mind.worth) > 0
    rate = 0.0
    for sweep in range(ENOUGH_SWEEPS):
        change, least, most = 0.0, np.inf, -np.inf
        total, fronts, all_total, states = 0.0, 0, 0.0, 0
        for state in range(size - 1, -1, -1):
            if home[state] != state:
                continue
            steps = span(mind, state)
            child = int(mind.first[state])
            best, chosen = -np.inf, NOBODY
            while child != NOBODY:
                pulls = tree.pulls[child]
                if pulls > 0:
                    reward = tree.reward[child]
                    if noise > 0.0:
                        reward = mean + (reward - mean) * spread / (spread + noise / pulls)
                    if not is_over(mind, child):
                        reward += gamma * tree.value[home[child]]
                    if reward > best:
                        best, chosen = reward, child
                child = int(mind.sibling[child])
            if chosen == NOBODY:
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
        if sweep > 0 and change <= CONVERGED * (most - least):
            break


@inlined
def span(mind: Mind, state: int) -> float:
    """What a reward of 1 at each step to come is worth in a state."""
    at = mind.at[0]
    gamma = at.discount
    left = at.over_at - mind.tree.depth[state]
    if gamma == 1.0:
        return float(max(left, 1))
    if left > 1000000:
        return 1.0 / (1.0 - gamma)
    return (1.0 - gamma ** max(left, 1)) / (1.0 - gamma)


@jit
def moments(mind: Mind, noise: float) -> tuple[float, float]:
    """The mean of all rewards that are known, and how far they are spread, noise taken out."""
    tree = mind.tree
    count, mean, squares, less = 0, 0.0, 0.0, 0.0
    for node in range(1, tree.size[0]):
        if tree.pulls[node] > 0:
            count += 1
            step = tree.reward[node] - mean
            mean += step / count
            squares += step * (tree.reward[node] - mean)
            less += noise / tree.pulls[node]
    spread = squares / count
    return mean, max(spread - less / count, 0.01 * spread)


@inlined
def believed(mind: Mind, node: int) -> float:
    """The mean reward of a node, drawn to the mean of all as far as noise makes it unsure."""
    at, tree = mind.at[0], mind.tree
    reward = tree.reward[node]
    if mind.knob[2] > 0.0 and at.spread > 0.0:
        reward = at.mean + (reward - at.mean) * at.spread / (at.spread + variance(mind) / tree.pulls[node])
    return reward


@jit
def value_of(mind: Mind, sequence: Ints, steps: int) -> float:
    """The discounted sum of mean rewards along a sequence whose first steps are known."""
    mind = borrowed(mind)
    state, total = int(mind.at[0].root), 0.0
    for t in range(steps):
        child = child_by(mind, state, sequence[t])
        total += mind.power[t] * believed(mind, child)
        state = int(mind.homes.home[child])
    if mind.knob[5] > 0.0 and not is_over(mind, child):
        total += mind.power[steps] * mind.tree.value[state]
    if len(mind.worth) > 0 and steps > 0 and not is_over(mind, child):
        total += mind.power[steps] * mind.worth[state]
    return total
