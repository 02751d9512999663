"""Random tables and random trees, with any noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number, check_seed
from platypoos.errors import InvalidArgument
from platypoos.lab.problems.noisy_table import NoisyTable

LARGEST_TREE = 2_000_000
"""States of a tree, at most: its tables are kept in memory."""


class RandomTable(NoisyTable):
    """Successors are uniform over the states, mean rewards uniform in a range.

    Args:
        num_states: how many states.
        num_actions: how many actions.
        seed: the same seed, the same problem.
        low: smallest mean reward.
        high: largest mean reward.
        noise: size of the noise of every reward.
        uneven: whether the size is different for every state and action: uniform in
            [0, 2·noise].
        num_terminal: how many states end the episode (never the initial one).
        end_low: smallest mean reward of a step that ends the episode; ``low`` if left out.
        end_high: largest such reward; ``high`` if left out.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> RandomTable(num_states=5, num_actions=2, seed=0, noise=1.0, law="normal").num_states
    5
    """

    def __init__(
        self,
        num_states: int = 20,
        num_actions: int = 3,
        seed: int = 0,
        *,
        low: float = 0.0,
        high: float = 1.0,
        noise: float = 0.0,
        uneven: bool = False,
        num_terminal: int = 0,
        end_low: float | None = None,
        end_high: float | None = None,
        **options: Any,
    ) -> None:
        shape = (check_count("num_states", num_states), check_count("num_actions", num_actions))
        check_seed(seed)
        if not 0 <= num_terminal < num_states:
            raise InvalidArgument(
                f"num_terminal must be from 0 to num_states - 1 = {num_states - 1}, got "
                f"{num_terminal}"
            )
        rng = np.random.default_rng([*shape, seed])
        successor = rng.integers(num_states, size=shape)
        reward = rng.uniform(low, high, shape)
        sizes = rng.uniform(0.0, 2 * noise, shape) if uneven else noise
        terminal = num_states - 1 - np.arange(num_terminal)
        least = low if end_low is None else end_low
        most = high if end_high is None else end_high
        at_end = rng.uniform(least, most, shape)
        super().__init__(
            successor=successor,
            reward=np.where(np.isin(successor, terminal), at_end, reward),
            noise=sizes,
            terminal=terminal,
            **options,
        )


class RandomTree(NoisyTable):
    """A tree in which every sequence of actions has a mean reward of its own; it ends at a depth.

    The reward of step t is decay^t·u, with u in [0, 1] random. The smoothness ρ of the paper is
    γ·decay: a decay of 1 makes the tree as hard as the discount allows.

    Args:
        depth: steps to the end of the episode.
        num_actions: how many actions.
        seed: the same seed, the same tree.
        decay: by how much rewards shrink with every step.
        similar: how much the u of a step is like that of the step before: 0 for not at all, near 1
            for a smooth tree, in which good steps are followed by good steps.
        noise: size of the noise of every reward.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> RandomTree(depth=3, num_actions=2).num_states
    15
    """

    def __init__(
        self,
        depth: int = 12,
        num_actions: int = 2,
        seed: int = 0,
        decay: float = 1.0,
        similar: float = 0.0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_seed(seed)
        check_number("decay", decay, above=0.0)
        if not 0.0 <= similar < 1.0:
            raise InvalidArgument(f"similar must be in [0, 1), got {similar!r}")
        successor, depths = tree_shape(depth, num_actions)
        rng = np.random.default_rng([depth, num_actions, seed])
        quality = rng.random(successor.shape)
        leaves = depths == depth
        if similar:  # parents have smaller numbers than children
            for level in range(1, depth):
                (nodes,) = np.nonzero(depths == level)
                before = quality.ravel()[nodes - 1]  # of the step that leads to the node
                quality[nodes] = similar * before[:, None] + (1 - similar) * quality[nodes]
        reward = np.where(leaves, 0.0, decay**depths)[:, None] * quality
        super().__init__(
            successor=successor,
            reward=reward,
            noise=noise,
            terminal=np.flatnonzero(leaves),
            **options,
        )


def tree_shape(depth: int, num_actions: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Successors in a full tree, and the depth of each state; leaves are their own successors.

    States are numbered level by level, so action a of state s leads to s·K + a + 1.

    >>> successor, depths = tree_shape(1, 2)
    >>> successor.tolist(), depths.tolist()
    ([[1, 2], [1, 1], [2, 2]], [0, 1, 1])
    """
    check_count("depth", depth)
    check_count("num_actions", num_actions)
    widths = [num_actions**level for level in range(depth + 1)]
    if sum(widths) > LARGEST_TREE:
        raise InvalidArgument(
            f"a tree of depth {depth} with {num_actions} actions has {sum(widths):,} states; at "
            f"most {LARGEST_TREE:,}"
        )
    depths = np.repeat(np.arange(depth + 1), widths)
    states = np.arange(len(depths))[:, None]
    successor = np.where(
        depths[:, None] < depth, states * num_actions + np.arange(num_actions) + 1, states
    )
    return successor, depths
