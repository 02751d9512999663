"""Orders for a shop: demand follows the days of the week, deliveries take two days."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.checks import check_count, check_number, check_seed
from platypoos.lab.problems.noisy_table import NoisyTable

PRICE, COST, HOLDING, MISSING = 20.0, 8.0, 0.5, 4.0
"""For one unit: what it is sold for, what it is bought for, what it costs to keep it for a day,
and what it costs to have none for a customer."""


class Inventory(NoisyTable):
    """How many units to order today? The action is the number, from 0 on.

    In a day, customers buy what they want, as far as there is stock; what was ordered the day
    before arrives in the evening; and what is ordered today is paid for, and arrives tomorrow
    evening. What does not fit into the store is lost. Demand is different for each day of the
    week, and known.

    Args:
        largest_order: units that can be ordered at once; one action more than that.
        capacity: units that the store holds.
        fixed_cost: what an order costs beside its units.
        seed: the same seed, the same demand: 2 to 16 units a day.
        noise: size of the noise of every reward, say of the prices.
        **options: passed on to :class:`~platypoos.lab.problems.NoisyTable`: law, slip, access,
            scale, offset.

    States are (day of the week, stock, units on their way) as one number.

    >>> inventory = Inventory()
    >>> inventory.actions.n, inventory.num_states
    (21, 6027)
    """

    def __init__(
        self,
        largest_order: int = 20,
        capacity: int = 40,
        fixed_cost: float = 10.0,
        seed: int = 0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        check_count("largest_order", largest_order)
        check_count("capacity", capacity)
        check_number("fixed_cost", fixed_cost, least=0.0)
        check_seed(seed)
        self.demand = np.random.default_rng([largest_order, seed]).integers(2, 17, 7)
        shape = (7, capacity + 1, largest_order + 1)
        day, stock, coming = (grid.ravel() for grid in np.indices(shape))
        sold = np.minimum(stock, self.demand[day])
        kept = np.minimum(stock - sold + coming, capacity)
        orders = np.arange(largest_order + 1)
        successor = np.ravel_multi_index(
            np.broadcast_arrays(((day + 1) % 7)[:, None], kept[:, None], orders),
            shape,
        )
        day_of_sales = PRICE * sold - MISSING * (self.demand[day] - sold) - HOLDING * kept
        paid = COST * orders + fixed_cost * (orders > 0)
        start = int(np.ravel_multi_index((0, min(10, capacity), 0), shape))
        super().__init__(
            successor, day_of_sales[:, None] - paid, noise, initial_state=start, **options
        )
