"""Finite problems: random ones, a grid, and a battery on the market."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.problems.tabular import Tabular


class Garnet(Tabular):
    """A random problem: successors uniform over the states, mean rewards uniform in [0, 1].

    Args:
        num_states: how many states.
        num_actions: how many actions.
        seed: the same seed, the same problem.
        noise: half-width of the noise on every reward.
        num_terminal: how many states end the episode (never the initial one).

    >>> Garnet(num_states=5, num_actions=2, seed=0).num_states
    5
    """

    def __init__(
        self,
        num_states: int = 20,
        num_actions: int = 2,
        seed: int = 0,
        noise: float = 0.0,
        num_terminal: int = 0,
    ) -> None:
        if num_states < 1 or num_actions < 1:
            raise InvalidArgument(
                f"num_states and num_actions must be at least 1, got {num_states}, {num_actions}"
            )
        if not 0 <= num_terminal < num_states:
            raise InvalidArgument(
                f"num_terminal must be from 0 to num_states - 1 = {num_states - 1}, got "
                f"{num_terminal}"
            )
        rng = np.random.default_rng([num_states, num_actions, seed])
        super().__init__(
            successor=rng.integers(num_states, size=(num_states, num_actions)),
            reward=rng.random((num_states, num_actions)),
            noise=noise,
            terminal=num_states - 1 - np.arange(num_terminal),
        )


GRID = (
    "S...#....",
    ".##.#.##.",
    ".#....#..",
    ".#.####.#",
    "...#...$.",
    "##...#..G",
)
"""The default grid."""


class Grid(Tabular):
    """A grid with walls and goals; the actions are up, right, down and left.

    Args:
        rows: the map: ``S`` start, ``.`` free, ``#`` wall, ``$`` a prize that ends the episode
            with a reward of 1, ``G`` the goal, which ends it with ``goal_reward``.
        goal_reward: reward for reaching ``G``.
        step_reward: reward of every other step; negative to make haste.
        noise: half-width of the noise on every reward.

    >>> grid = Grid(rows=["S.G"])
    >>> int(grid.action_values(grid.initial_state, 0.9).argmax())
    1
    """

    action_names = ("up", "right", "down", "left")

    def __init__(
        self,
        rows: Sequence[str] = GRID,
        goal_reward: float = 10.0,
        step_reward: float = -0.1,
        noise: float = 0.0,
    ) -> None:
        if not rows or len({len(row) for row in rows}) != 1:
            raise InvalidArgument("rows must be strings of one and the same length, at least one")
        cells = "".join(rows)
        unknown = set(cells) - set("S.#$G")
        if unknown or cells.count("S") != 1:
            raise InvalidArgument(
                "rows must have exactly one S, and otherwise only . # $ G; "
                f"got {cells.count('S')} S" + (f" and {sorted(unknown)}" if unknown else "")
            )
        self.rows = tuple(rows)
        height, width = len(rows), len(rows[0])
        grid = np.array(list(cells)).reshape(height, width)
        number = np.arange(height * width).reshape(height, width)
        successor = np.repeat(number.reshape(-1, 1), 4, axis=1)
        for action, (down, right) in enumerate([(-1, 0), (0, 1), (1, 0), (0, -1)]):
            for y in range(height):
                for x in range(width):
                    to_y, to_x = y + down, x + right
                    inside = 0 <= to_y < height and 0 <= to_x < width
                    if inside and grid[to_y, to_x] != "#":
                        successor[number[y, x], action] = number[to_y, to_x]
        kinds = grid.ravel()
        reward = np.full(successor.shape, step_reward, np.float64)
        reward[kinds[successor] == "$"] = 1.0
        reward[kinds[successor] == "G"] = goal_reward
        super().__init__(
            successor=successor,
            reward=reward,
            noise=noise,
            terminal=np.flatnonzero((kinds == "$") | (kinds == "G")),
            initial_state=int(np.flatnonzero(kinds == "S")[0]),
        )


PRICES = (
    30,
    28,
    26,
    25,
    27,
    35,
    48,
    60,
    55,
    45,
    38,
    34,
    32,
    33,
    36,
    42,
    55,
    70,
    75,
    66,
    54,
    45,
    38,
    33,
)
"""A day of prices, hour by hour."""


class Battery(Tabular):
    """Buy electricity, keep it, sell it: charge is deterministic, prices are noisy.

    The actions are 0 wait, 1 buy, 2 sell: one unit an hour, with a share lost on the way in. A
    full battery cannot buy, an empty one cannot sell: they wait instead.

    Args:
        capacity: units that the battery holds.
        prices: the mean price of a unit in each hour of the day, which repeats.
        efficiency: share of a bought unit's price that is not lost.
        noise: half-width of the noise of the price.

    >>> battery = Battery(noise=5.0)
    >>> battery.num_states, battery.actions.n
    (120, 3)
    """

    action_names = ("wait", "buy", "sell")

    def __init__(
        self,
        capacity: int = 4,
        prices: Sequence[float] = PRICES,
        efficiency: float = 0.9,
        noise: float = 5.0,
    ) -> None:
        if capacity < 1 or not len(prices):
            raise InvalidArgument(
                f"capacity must be at least 1 and prices not empty, got {capacity}, {prices!r}"
            )
        if not 0 < efficiency <= 1:
            raise InvalidArgument(f"efficiency must be in (0, 1], got {efficiency!r}")
        self.capacity, self.hours = capacity, len(prices)
        charge, hour = np.divmod(np.arange((capacity + 1) * self.hours), self.hours)
        price = np.asarray(prices, np.float64)[hour]
        bought = np.column_stack((0 * charge, charge < capacity, -1 * (charge > 0)))
        after = (charge[:, None] + bought) * self.hours + ((hour + 1) % self.hours)[:, None]
        paid = np.where(bought > 0, bought / efficiency, bought)
        super().__init__(
            successor=after,
            reward=-paid * price[:, None],
            noise=noise * np.abs(paid),
        )
