"""Models to measure planners on; most are small and have a known answer."""

from typing import TYPE_CHECKING

__all__ = [
    "Acrobot",
    "Battery",
    "CartPole",
    "Cliff",
    "CombinationLock",
    "DeceptiveChain",
    "Garnet",
    "Grid",
    "Inventory",
    "JobShop",
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
    "Problem",
    "PushingBoxes",
    "RandomTable",
    "RandomTree",
    "SlidingTiles",
    "SwitchChain",
    "Tabular",
    "TravellingSalesman",
    "simple_regret",
]

if TYPE_CHECKING:
    from platypoos.problems.base import Problem, simple_regret
    from platypoos.problems.finite import Battery, Garnet, Grid
    from platypoos.problems.inventory import Inventory
    from platypoos.problems.job_shop import JobShop
    from platypoos.problems.made_to_order import MadeToOrder
    from platypoos.problems.maze import Maze
    from platypoos.problems.noisy_table import NoisyTable
    from platypoos.problems.physics import (
        Acrobot,
        CartPole,
        Lander,
        MountainCar,
        Pendulum,
        Pillars,
    )
    from platypoos.problems.puzzles import Knapsack, PushingBoxes, SlidingTiles
    from platypoos.problems.random_tables import RandomTable, RandomTree
    from platypoos.problems.switch_chain import SwitchChain
    from platypoos.problems.tabular import Tabular
    from platypoos.problems.tour import TravellingSalesman
    from platypoos.problems.traps import Cliff, CombinationLock, DeceptiveChain, Loops, OneOff
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.problems.base": "Problem simple_regret",
            "platypoos.problems.finite": "Battery Garnet Grid",
            "platypoos.problems.inventory": "Inventory",
            "platypoos.problems.job_shop": "JobShop",
            "platypoos.problems.made_to_order": "MadeToOrder",
            "platypoos.problems.maze": "Maze",
            "platypoos.problems.noisy_table": "NoisyTable",
            "platypoos.problems.physics": "Acrobot CartPole Lander MountainCar Pendulum Pillars",
            "platypoos.problems.puzzles": "Knapsack PushingBoxes SlidingTiles",
            "platypoos.problems.random_tables": "RandomTable RandomTree",
            "platypoos.problems.switch_chain": "SwitchChain",
            "platypoos.problems.tabular": "Tabular",
            "platypoos.problems.tour": "TravellingSalesman",
            "platypoos.problems.traps": "Cliff CombinationLock DeceptiveChain Loops OneOff",
        },
    )
