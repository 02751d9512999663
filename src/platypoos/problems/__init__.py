"""Small models with a known answer: the paper's, random ones, some made to order, a grid, …."""

from platypoos.problems.base import Problem, simple_regret
from platypoos.problems.finite import Battery, Garnet, Grid
from platypoos.problems.job_shop import JobShop
from platypoos.problems.made_to_order import MadeToOrder
from platypoos.problems.switch_chain import SwitchChain
from platypoos.problems.tabular import Tabular
from platypoos.problems.tour import TravellingSalesman

__all__ = [
    "Battery",
    "Garnet",
    "Grid",
    "JobShop",
    "MadeToOrder",
    "Problem",
    "SwitchChain",
    "Tabular",
    "TravellingSalesman",
    "simple_regret",
]
