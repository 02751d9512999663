"""Slow versions of the contenders: every bound from scratch, from lists of what was played.

An episode is (actions, rewards). Each ``…_allows`` function says whether the rule of a planner
allows an episode after the earlier ones: its choices must be among the best, which are more than
one only when there is a tie (or actions that were never tried). They return whether the choice
was the only one.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

from adding import added

TOLERANCE = 1e-9


class Record:
    """Everything that was played, and where episodes ended."""

    def __init__(self, num_actions, gamma):
        self.num_actions, self.gamma = num_actions, gamma
        self.episodes = []
        self.samples = defaultdict(list)  # of each prefix, the rewards of its last action
        self.ends = set()

    def add(self, actions, rewards, ended):
        self.episodes.append((actions, rewards))
        for t, reward in enumerate(rewards):
            self.samples[actions[: t + 1]].append(reward)
        if ended:
            self.ends.add(actions)

    def mean(self, prefix):
        return math.fsum(self.samples[prefix]) / len(self.samples[prefix])

    def returns(self, prefix):
        """The returns from the last action of a prefix on, of all episodes through it."""
        h = len(prefix)
        return [
            added(self.gamma**t * r for t, r in enumerate(rewards[h - 1 :]))
            for actions, rewards in self.episodes
            if actions[:h] == prefix
        ]


def among_the_best(values, chosen):
    """Whether a key of ``values`` has (about) the largest value; and whether it is alone."""
    most = max(values.values())
    margin = 0.0 if math.isinf(most) else TOLERANCE * max(1.0, abs(most))
    best = [key for key, value in values.items() if value >= most - margin]
    assert chosen in best, (chosen, values)
    return len(best) == 1


def sequences(record, length):
    """All sequences of a length, cut off where an episode is known to end."""
    found = set()
    for actions in itertools.product(range(record.num_actions), repeat=length):
        end = next((h for h in range(1, length + 1) if actions[:h] in record.ends), length)
        found.add(actions[:end])
    return found


def extensions(actions, options):
    """The option that an episode is, or begins with, or is the beginning of."""
    return next(o for o in options if o[: len(actions)] == actions or actions[: len(o)] == o)


def olop_allows(record, actions, length, episodes, width, reward_max):
    gamma = record.gamma
    bounds = {}
    for sequence in sequences(record, length):
        b = math.inf
        total = 0.0
        for h in range(1, len(sequence) + 1):
            prefix = sequence[:h]
            pulls = len(record.samples[prefix])
            if pulls == 0:
                break
            upper = record.mean(prefix) + width * math.sqrt(2 * math.log(episodes) / pulls)
            total += gamma ** (h - 1) * upper
            tail = 0.0 if prefix in record.ends else gamma**h * reward_max / (1 - gamma)
            b = min(b, total + tail)
        bounds[sequence] = b
    return among_the_best(bounds, extensions(actions, bounds))


def kl(p, q):
    def term(a, b):
        return 0.0 if a == 0 else math.inf if b == 0 else a * math.log(a / b)

    return term(p, q) + term(1 - p, 1 - q)


def kl_bound(mean, radius):
    low, high = mean, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(mean, middle) <= radius else (low, middle)
    return low


def kl_olop_allows(record, actions, length, threshold, low, high):
    gamma = record.gamma
    bounds = {}
    for sequence in sequences(record, length):
        total = 0.0
        for h in range(1, len(sequence) + 1):
            pulls = len(record.samples[sequence[:h]])
            q = 1.0
            if pulls > 0:
                mean = (record.mean(sequence[:h]) - low) / (high - low)
                q = kl_bound(min(1.0, max(0.0, mean)), threshold / pulls)
            total += gamma ** (h - 1) * (low + (high - low) * q)
        if sequence not in record.ends:
            total += gamma ** len(sequence) * high / (1 - gamma)
        bounds[sequence] = total
    return among_the_best(bounds, extensions(actions, bounds))


class HOOBook:
    """HOO's tree: which node was chosen in each episode, and the episode's return."""

    def __init__(self, record, length, episodes, width):
        self.record, self.length = record, length
        self.log, self.width = 2 * math.log(episodes), width
        self.chosen = []  # (node, return)

    def through(self, node):
        return [total for chosen, total in self.chosen if chosen[: len(node)] == node]

    def b_value(self, node):
        returns = self.through(node)
        if not returns:
            return math.inf
        u = added(returns) / len(returns) + self.width * math.sqrt(self.log / len(returns))
        if node in self.record.ends:
            return u
        u += self.width * self.record.gamma ** len(node)
        if len(node) == self.length:
            return u
        return min(u, max(self.b_value((*node, a)) for a in range(self.record.num_actions)))

    def allows(self, actions, total):
        node = ()
        alone = True
        while len(node) < self.length and node not in self.record.ends:
            options = {a: self.b_value((*node, a)) for a in range(self.record.num_actions)}
            if math.isinf(max(options.values())):
                assert math.isinf(options[actions[len(node)]])
                node = actions[: len(node) + 1]
                alone = False
                break
            alone &= among_the_best(options, actions[len(node)])
            node = actions[: len(node) + 1]
        self.chosen.append((node, total))
        return alone


def uct_allows(record, actions, horizon, bonus):
    """``bonus(visits of the node, visits of the child)`` is added to the mean return."""
    alone = True
    for t, action in enumerate(actions):
        node = actions[:t]
        assert node not in record.ends
        visits = len(record.samples[node]) if node else len(record.episodes)
        options = {}
        for a in range(record.num_actions):
            returns = record.returns((*node, a))
            options[a] = (
                added(returns) / len(returns) + bonus(visits, len(returns)) if returns else math.inf
            )
        if math.isinf(max(options.values())):
            assert math.isinf(options[action])
            alone = False
        else:
            alone &= among_the_best(options, action)
    assert len(actions) == horizon or actions in record.ends or not record.samples[actions]
    return alone


class BRUEBook:
    """The Q̂ of BRUE, a list of returns for each node."""

    def __init__(self, record, horizon):
        self.record, self.horizon = record, horizon
        self.q = defaultdict(list)

    def allows(self, number, actions, rewards):
        """Episode ``number`` (from 1 on)."""
        switch = self.horizon - (number - 1) % self.horizon  # σ, a step from 1 to H
        k = self.record.num_actions
        if len(actions) >= switch:
            node = actions[: switch - 1]
            fewest = min(len(self.q[(*node, a)]) for a in range(k))
            assert len(self.q[actions[:switch]]) == fewest
        for t in range(switch, len(actions)):  # greedy after the switch
            known = {
                a: added(self.q[(*actions[:t], a)]) / len(self.q[(*actions[:t], a)])
                for a in range(k)
                if self.q[(*actions[:t], a)]
            }
            if known:
                among_the_best(known, actions[t])
        if len(actions) >= switch:
            gamma = self.record.gamma
            total = added(gamma**t * r for t, r in enumerate(rewards[switch - 1 :]))
            self.q[actions[:switch]].append(total)
