"""What is kept from one step of an episode to the next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from platypoos._jit import borrowed, jit
from platypoos.planners.platypus.mind import NOBODY, Ints, Mind


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
        if homes[at] == at:
            start = count
            child = int(mind.first[home[nodes[at]]])
            while child != NOBODY and count < most:
                if tree.pulls[child] > 0:
                    nodes[count] = child
                    count += 1
                child = int(mind.sibling[child])
            if count == most and child != NOBODY:
                count = start  # all of its actions or none
                most = start
            nodes[start:count] = nodes[start:count][::-1]  # in the order they were made
            for i in range(start, count):
                state = home[nodes[i]]
                parents[i] = at
                if number[state] < 0:
                    number[state] = i
                homes[i] = number[state]
        at += 1
    return nodes[:count], parents[:count], homes[:count]
