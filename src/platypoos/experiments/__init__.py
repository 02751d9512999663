"""Experiments: a specification, expanded into cells, run into a database, shown as a report."""

from platypoos.experiments.own import Comparison, compare
from platypoos.experiments.paper import paper
from platypoos.experiments.report import write_report
from platypoos.experiments.runner import run
from platypoos.experiments.spec import Block, Cell, Choice, Experiment, load

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
