"""Finite problems that mislead: baits, silence before the reward, needles, cliffs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.lab.problems.noisy_table import NoisyTable
from platypoos.lab.problems.random_tables import tree_shape

Table = NDArray[Any]


def shuffled(rng: np.random.Generator, *tables: Table) -> list[Table]:
    """The tables with the actions of each state in a random order, the same one in all tables.

    Else a planner that prefers the first action in a tie would look clever, or stupid.
    """
    order = rng.permuted(np.tile(np.arange(tables[0].shape[1]), (len(tables[0]), 1)), axis=1)
    return [np.take_along_axis(table, order, axis=1) for table in tables]


class OneOff(NoisyTable):
    """Both actions pay 1 at first; after one of them every step pays a little, after the other 0.

    A planner that takes a good first reward for a promise of more cannot tell them apart.

    Args:
        pay: mean reward of every step after the better action.
        depth: steps after which the state no longer changes; what it pays goes on for ever.
        branches: whether states are the sequences of actions, so that none is met again; else all
            actions lead to the same next state.
        seed: which action is better.
        noise: size of the noise of every reward.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> sorted(OneOff(depth=4).action_values(0, 0.5).round(9).tolist())
    [1.0, 1.05]
    """

    def __init__(
        self,
        *,
        pay: float = 0.05,
        depth: int = 12,
        branches: bool = True,
        seed: int = 0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_seed(seed)
        if branches:
            successor, depths = tree_shape(depth, 2)
            first_of_level = 2**depths - 1
            better = np.arange(len(depths)) - first_of_level < 2**depths / 2
        else:
            length = check_count("depth", depth)
            ahead = np.minimum(np.arange(length) + 1, length - 1)
            chains = np.concatenate([1 + ahead, 1 + length + ahead])
            successor = np.repeat(np.append(1, chains)[:, None], 2, axis=1)
            successor[0, 1] = 1 + length
            better = np.arange(len(successor)) <= length
        reward = np.repeat(np.where(better, pay, 0.0)[:, None], 2, axis=1)
        reward[0] = 1.0
        if seed % 2:
            successor[0] = successor[0, ::-1].copy()
        super().__init__(successor, reward, noise, **options)


class DeceptiveChain(NoisyTable):
    """Every step but those along a chain pays a bait at once; the end of the chain pays for ever.

    In each state one action goes on without a reward; all others pay the bait and go back to the
    start. In the last state every action stays and pays ``prize``.

    Args:
        length: steps to the last state.
        num_actions: how many actions.
        bait: mean reward of going back.
        prize: mean reward of every step in the last state.
        seed: which actions go on.
        noise: size of the noise of every reward.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> chain = DeceptiveChain(length=2, bait=0.1, prize=1.0)
    >>> sorted(chain.action_values(0, 0.5).round(9).tolist())
    [0.35, 0.5]
    """

    def __init__(
        self,
        length: int = 10,
        num_actions: int = 2,
        bait: float = 0.1,
        prize: float = 1.0,
        seed: int = 0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_seed(seed)
        shape = (check_count("length", length) + 1, check_count("num_actions", num_actions))
        successor, reward = np.zeros(shape, np.int64), np.full(shape, bait, np.float64)
        successor[:, 0] = np.arange(length + 1) + 1
        reward[:, 0] = 0.0
        successor[length], reward[length] = length, prize
        successor, reward = shuffled(np.random.default_rng([length, seed]), successor, reward)
        super().__init__(successor, reward, noise, **options)


class CombinationLock(NoisyTable):
    """Only one sequence of actions opens it, with a reward of 1 and the end; all else is silent.

    Args:
        length: actions of the sequence.
        num_actions: how many actions.
        forgets: whether a wrong action leads back to the start, where all can be tried again;
            else the states are the sequences of actions, and none but the right one pays.
        seed: which sequence it is.
        noise: size of the noise of every reward.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> sorted(CombinationLock(length=3, num_actions=2).action_values(0, 0.5).tolist())
    [0.125, 0.25]
    """

    def __init__(
        self,
        length: int = 6,
        num_actions: int = 4,
        *,
        forgets: bool = True,
        seed: int = 0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_seed(seed)
        rng = np.random.default_rng([length, num_actions, seed])
        if forgets:
            states = check_count("length", length)
            successor = np.zeros((states + 1, check_count("num_actions", num_actions)), np.int64)
            successor[:states, 0] = np.arange(states) + 1
            terminal = np.array([length])
            reward = (successor == length).astype(np.float64)
            successor, reward = shuffled(rng, successor, reward)
        else:
            successor, depths = tree_shape(length, num_actions)
            terminal = np.flatnonzero(depths == length)
            reward = np.zeros(successor.shape)
            reward[successor == rng.choice(terminal)] = 1.0
            reward[terminal] = 0.0
        super().__init__(successor, reward, noise, terminal, **options)


class Cliff(NoisyTable):
    """A walk along the edge of a cliff: the actions are up, right, down and left.

    Every step costs 1. Beyond the lowest row is the cliff, a fall from which costs ``fall`` and
    ends the episode; so does, at no cost, the goal at the right end of the lowest row.

    Args:
        width: columns.
        height: rows.
        fall: what a fall costs.
        seed: where in the lowest row the walk starts.
        noise: size of the noise of every reward.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> Cliff(width=4, height=2).num_states
    9
    """

    def __init__(
        self,
        width: int = 12,
        height: int = 4,
        fall: float = 100.0,
        seed: int = 0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_seed(seed)
        if check_count("width", width) < 2:
            raise InvalidArgument(f"width must be at least 2, got {width!r}")
        rows, columns = np.divmod(np.arange(check_count("height", height) * width), width)
        below = height * width  # the state of those who fell
        successor = np.column_stack(
            (
                np.maximum(rows - 1, 0) * width + columns,
                rows * width + np.minimum(columns + 1, width - 1),
                np.where(rows == height - 1, below, (rows + 1) * width + columns),
                rows * width + np.maximum(columns - 1, 0),
            )
        )
        successor = np.vstack((successor, np.full(4, below)))
        reward = np.where(successor == below, -fall, -1.0)
        goal = below - 1
        start = goal - 1 - int(np.random.default_rng([width, seed]).integers(width - 1))
        super().__init__(successor, reward, noise, [goal, below], start, **options)


class Loops(NoisyTable):
    """A bandit: each first action leads, after a silent delay, to a loop with a mean of its own.

    Args:
        num_actions: how many actions, and loops.
        delay: silent steps between the first action, which is silent too, and the loop.
        low: smallest mean reward of a loop.
        high: largest mean reward of a loop.
        seed: the same seed, the same means, which are uniform in [low, high].
        noise: size of the noise of the rewards in the loops.
        uneven: whether the size is different for every loop: uniform in [0, 2·noise].
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> loops = Loops(num_actions=2, delay=1, seed=3)
    >>> means = loops.reward[[2, 4], 0]
    >>> bool(np.allclose(loops.action_values(0, 0.5), 0.5**2 * means / 0.5))
    True
    """

    def __init__(
        self,
        num_actions: int = 10,
        delay: int = 0,
        *,
        low: float = 0.0,
        high: float = 1.0,
        seed: int = 0,
        noise: float = 0.0,
        uneven: bool = False,
        **options: Any,
    ) -> None:
        check_seed(seed)
        check_count("num_actions", num_actions)
        if not isinstance(delay, int) or delay < 0:
            raise InvalidArgument(f"delay must be a whole number of at least 0, got {delay!r}")
        rng = np.random.default_rng([num_actions, delay, seed])
        each = delay + 1  # states of a corridor and its loop
        after = np.append(0, np.arange(num_actions * each) + 2)
        loops = np.arange(1, num_actions + 1) * each
        after[loops] = loops
        successor = np.repeat(after[:, None], num_actions, axis=1)
        successor[0] = np.arange(num_actions) * each + 1
        reward, sizes = np.zeros(successor.shape), np.zeros(successor.shape)
        reward[loops] = rng.uniform(low, high, num_actions)[:, None]
        sizes[loops] = noise
        if uneven:
            sizes[loops] = rng.uniform(0.0, 2 * noise, num_actions)[:, None]
        super().__init__(successor, reward, sizes, **options)
