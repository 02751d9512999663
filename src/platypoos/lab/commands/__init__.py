"""The laboratory's commands: paper, compare, arena, report, export, theory."""

from typing import Any

from platypoos.lab.commands.experiments import add_commands as add_experiments
from platypoos.lab.commands.theory import add_theory_command


def add_commands(commands: Any) -> None:
    """Add them to the command line."""
    add_experiments(commands)
    add_theory_command(commands)
