"""Problems to measure planners on; those of the tutorials are in ``platypoos.problems``."""

from typing import TYPE_CHECKING

__all__ = [
    "Acrobot",
    "CartPole",
    "Cliff",
    "CombinationLock",
    "DeceptiveChain",
    "Inventory",
    "Knapsack",
    "Lander",
    "Loops",
    "MadeToOrder",
    "Maze",
    "MountainCar",
    "NoisyTable",
    "OneOff",
    "Pendulum",
    "Pillars",
    "PushingBoxes",
    "RandomTable",
    "RandomTree",
    "SlidingTiles",
    "TravellingSalesman",
]

if TYPE_CHECKING:
    from platypoos.lab.problems.inventory import Inventory
    from platypoos.lab.problems.made_to_order import MadeToOrder
    from platypoos.lab.problems.maze import Maze
    from platypoos.lab.problems.noisy_table import NoisyTable
    from platypoos.lab.problems.physics import (
        Acrobot,
        CartPole,
        Lander,
        MountainCar,
        Pendulum,
        Pillars,
    )
    from platypoos.lab.problems.puzzles import Knapsack, PushingBoxes, SlidingTiles
    from platypoos.lab.problems.random_tables import RandomTable, RandomTree
    from platypoos.lab.problems.tour import TravellingSalesman
    from platypoos.lab.problems.traps import Cliff, CombinationLock, DeceptiveChain, Loops, OneOff
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.lab.problems.inventory": "Inventory",
            "platypoos.lab.problems.made_to_order": "MadeToOrder",
            "platypoos.lab.problems.maze": "Maze",
            "platypoos.lab.problems.noisy_table": "NoisyTable",
            "platypoos.lab.problems.physics": (
                "Acrobot CartPole Lander MountainCar Pendulum Pillars"
            ),
            "platypoos.lab.problems.puzzles": "Knapsack PushingBoxes SlidingTiles",
            "platypoos.lab.problems.random_tables": "RandomTable RandomTree",
            "platypoos.lab.problems.tour": "TravellingSalesman",
            "platypoos.lab.problems.traps": "Cliff CombinationLock DeceptiveChain Loops OneOff",
        },
    )
