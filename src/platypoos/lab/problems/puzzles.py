"""Puzzles with legal moves: a knapsack, sliding tiles, boxes to push. All are deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.lab.problems import moves
from platypoos.models.base import Transition
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel


class Puzzle:
    """What the puzzles share: states are tuples of whole numbers, some moves are illegal.

    Use one of its subclasses.
    """

    actions: Discrete
    initial_state: tuple[int, ...]
    params: NDArray[np.int64]

    def legal(self, state: Any) -> Sequence[int]:
        """The moves that are allowed."""
        params = self.params.tolist()
        return [i for i in range(self.actions.n) if moves.allowed(state, i, params)]

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Make a move."""
        params = self.params.tolist()
        if not moves.allowed(state, action, params):
            raise InvalidArgument(
                f"move {action} is not allowed; legal(state) lists those that are"
            )
        after = list(state)
        reward, ended = moves.moves_kernel(state, action, params, rng, after)
        return Transition(tuple(int(x) for x in after), float(reward), bool(ended))

    def compiled(self) -> CompiledModel:
        """States are the same numbers; the reward of an illegal move is not a number."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        return CompiledModel(
            kernel(moves.moves_kernel),
            actions=self.actions,
            initial_state=np.array(self.initial_state, np.int64),
            params=self.params,
            legal=kernel(moves.moves_legal),
        )


@dataclass(frozen=True)
class Knapsack(Puzzle):
    """Pack items of some weight and value; an action is an item, its reward the value.

    Items that are packed, or too heavy for the room that is left, are illegal. The episode ends
    when no item fits.

    Args:
        num_items: how many items, at most 62.
        seed: the same seed, the same weights and values, both from 10 to 99.

    >>> knapsack = Knapsack(num_items=3, seed=0)
    >>> knapsack.weights, knapsack.values, knapsack.room, knapsack.optimum()
    ((86, 67, 56), (34, 37, 13), 104, 37)
    """

    num_items: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if check_count("num_items", self.num_items) > 62:
            raise InvalidArgument(f"num_items must be at most 62, got {self.num_items!r}")
        check_seed(self.seed)

    @cached_property
    def actions(self) -> Discrete:  # type: ignore[override]
        """One for each item."""
        return Discrete(self.num_items)

    @cached_property
    def _items(self) -> NDArray[np.int64]:
        return np.random.default_rng(self.seed).integers(10, 100, (2, self.num_items))

    @property
    def weights(self) -> tuple[int, ...]:
        """What each item weighs."""
        return tuple(self._items[0].tolist())

    @property
    def values(self) -> tuple[int, ...]:
        """What each item is worth."""
        return tuple(self._items[1].tolist())

    @property
    def room(self) -> int:
        """Half of what all items weigh, or the lightest one if that is more."""
        return max(sum(self.weights) // 2, min(self.weights))

    @property
    def initial_state(self) -> tuple[int, ...]:  # type: ignore[override]
        """All the room, and nothing packed."""
        return (self.room, 0)

    @cached_property
    def params(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The kind, the number of items, their weights and their values."""
        return np.array([moves.KNAPSACK, self.num_items, *self.weights, *self.values], np.int64)

    def optimum(self) -> int:
        """The largest value that fits, by dynamic programming over the room."""
        best = np.zeros(self.room + 1, np.int64)
        for weight, value in zip(self.weights, self.values, strict=True):
            if weight <= self.room:
                packed = best[: self.room + 1 - weight] + value
                best[weight:] = np.maximum(best[weight:], packed)
        return int(best[-1])


@dataclass(frozen=True)
class SlidingTiles(Puzzle):
    """2048 without chance: slide the tiles of a 4x4 board, equal ones merge into their sum.

    The actions are up, right, down and left; slides that change nothing are illegal. The reward is
    the sum of the tiles that were made. A new tile appears after each slide; which and where is a
    function of the board, so the dynamics are deterministic.

    States are 16 exponents: 0 for a free place, 1 for a tile 2, 2 for a 4, ….

    Args:
        seed: for the first two tiles, and for where new ones appear.

    >>> tiles = SlidingTiles()
    >>> sum(place > 0 for place in tiles.initial_state)
    2
    """

    seed: int = 0

    actions = Discrete(4)

    def __post_init__(self) -> None:
        check_seed(self.seed)

    @cached_property
    def initial_state(self) -> tuple[int, ...]:  # type: ignore[override]
        """A board with two tiles."""
        board = [0] * 16
        for _ in range(2):
            moves.add_tile(board, int(self.params[1]))
        return tuple(board)

    @cached_property
    def params(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The kind, and a number that goes into the place of new tiles."""
        salt = np.random.default_rng(self.seed).integers(2**30)
        return np.array([moves.TILES, salt], np.int64)


LEVELS = (
    (
        "#######",
        "#.   .#",
        "# $ $ #",
        "#  @  #",
        "#     #",
        "#######",
    ),
    (
        "########",
        "#   #  #",
        "# $   .#",
        "# #$#  #",
        "#  @  .#",
        "########",
    ),
    (
        "#########",
        "#   #   #",
        "# $ . $ #",
        "#  .#.  #",
        "# # $ # #",
        "#   @   #",
        "#########",
    ),
)
"""``#`` wall, ``@`` player, ``$`` box, ``.`` target."""


@dataclass(frozen=True)
class PushingBoxes(Puzzle):
    """Push all boxes onto targets; a box in a corner cannot be moved any more.

    The actions are up, right, down and left; moves against a wall, or a box that does not give
    way, are illegal. A box that comes to a target pays 1, one that leaves it costs 1, the last one
    pays 10 and ends the episode.

    States are the places of the player and of the boxes.

    Args:
        level: which of the levels: 0, 1 or 2.

    >>> PushingBoxes(level=0).solution_length()
    11
    """

    level: int = 0

    actions: ClassVar[Discrete] = Discrete(4)  # type: ignore[misc]

    def __post_init__(self) -> None:
        if self.level not in range(len(LEVELS)):
            raise InvalidArgument(f"level must be from 0 to {len(LEVELS) - 1}, got {self.level!r}")

    @cached_property
    def _cells(self) -> str:
        return "".join(LEVELS[self.level])

    @cached_property
    def initial_state(self) -> tuple[int, ...]:  # type: ignore[override]
        """The player, then the boxes."""
        boxes = [place for place, cell in enumerate(self._cells) if cell == "$"]
        return (self._cells.index("@"), *boxes)

    @cached_property
    def params(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The kind, the width, and what is in each place."""
        width = len(LEVELS[self.level][0])
        places = [{"#": 1, ".": 2}.get(cell, 0) for cell in self._cells]
        return np.array([moves.PUSHING, width, *places], np.int64)

    def solution_length(self) -> int:
        """The fewest moves that solve it, by a search of all that can be reached."""
        rng = np.random.default_rng(0)  # nothing is random
        states, seen, count = [self.initial_state], {self.initial_state}, 0
        while states:
            count += 1
            fresh = []
            for state in states:
                for move in self.legal(state):
                    after, _, solved = self.step(state, move, rng)
                    if solved:
                        return count
                    if after not in seen:
                        seen.add(after)
                        fresh.append(after)
            states = fresh
        raise InvalidArgument(f"level {self.level} cannot be solved")
