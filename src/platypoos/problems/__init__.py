"""Models to measure planners on; most are small and have a known answer."""

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
