"""Experiments: a specification, expanded into cells, run into a database, shown as a report."""

from platypoos.lab.experiments.own import Comparison, compare
from platypoos.lab.experiments.paper import paper
from platypoos.lab.experiments.report import write_report
from platypoos.lab.experiments.runner import run
from platypoos.lab.experiments.spec import Block, Cell, Choice, Experiment, load

__all__ = [
    "Block",
    "Cell",
    "Choice",
    "Comparison",
    "Experiment",
    "compare",
    "load",
    "paper",
    "run",
    "write_report",
]
