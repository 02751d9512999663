"""Small models with a known answer: the paper's problem, random ones, a grid, a battery."""

from platypoos.problems.base import Problem, simple_regret
from platypoos.problems.finite import Battery, Garnet, Grid
from platypoos.problems.switch_chain import SwitchChain
from platypoos.problems.tabular import Tabular

__all__ = ["Battery", "Garnet", "Grid", "Problem", "SwitchChain", "Tabular", "simple_regret"]
