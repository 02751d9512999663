"""A random maze: no reward before the goal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.lab.problems.noisy_table import NoisyTable

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down and left, as (rows, columns)."""


class Maze(NoisyTable):
    """Rooms in a square, with doors at random; the goal pays 1 and ends the episode.

    The actions are up, right, down and left; a step against a wall changes nothing. The start is
    the first room, the goal the last. There is a way from every room to every other.

    Args:
        size: rooms in a row and in a column.
        seed: the same seed, the same maze.
        doors: the probability of a door between neighbours, beside those that are needed.
        noise: size of the noise of every reward.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    >>> maze = Maze(size=2, doors=1.0)
    >>> maze.action_values(0, 0.5).tolist()
    [0.25, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        size: int = 8,
        seed: int = 0,
        doors: float = 0.2,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_seed(seed)
        if check_count("size", size) < 2:
            raise InvalidArgument(f"size must be at least 2, got {size!r}")
        if not 0.0 <= doors <= 1.0:
            raise InvalidArgument(f"doors must be a probability, got {doors!r}")
        rng = np.random.default_rng([size, seed])
        successor = _dug(size, rng)
        for room in range(size * size):
            for action, after in _neighbours(room, size):
                if action in (1, 2) and rng.random() < doors:
                    successor[room, action] = after
                    successor[after, (action + 2) % 4] = room
        goal = size * size - 1
        reward = (successor == goal).astype(np.float64)
        super().__init__(successor, reward, noise, [goal], **options)


def _neighbours(room: int, size: int) -> list[tuple[int, int]]:
    """The rooms beside one, each with the action that leads there."""
    row, column = divmod(room, size)
    return [
        (action, (row + down) * size + column + right)
        for action, (down, right) in enumerate(MOVES)
        if 0 <= row + down < size and 0 <= column + right < size
    ]


def _dug(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Successors in a maze without loops: a depth-first walk that opens doors as it goes."""
    successor = np.repeat(np.arange(size * size)[:, None], 4, axis=1)
    seen, way = {0}, [0]
    while way:
        fresh = [pair for pair in _neighbours(way[-1], size) if pair[1] not in seen]
        if not fresh:
            way.pop()
            continue
        action, after = fresh[int(rng.integers(len(fresh)))]
        successor[way[-1], action] = after
        successor[after, (action + 2) % 4] = way[-1]
        seen.add(after)
        way.append(after)
    return successor
