"""What ``advise`` returns: what was found of a model, and how to plan with it."""

from __future__ import annotations

import html
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from platypoos.models.base import Access

VERSION = 1
"""Of the dictionaries that ``as_dict`` makes; another one if a field changes its meaning."""


class Statement(NamedTuple):
    """One line of the table."""

    about: str
    said: str
    why: str


@dataclass(frozen=True)
class Recommendation:
    """How to plan with a model, and why. Print it for a table and the lines of code to copy."""

    name: str
    num_actions: int | None
    """None if they cannot be listed."""
    calls: int
    """Calls of the model that were made to find out."""
    interrupted: bool
    """Ctrl-C: the advice is from fewer calls than it could be."""
    call_us: float
    """Microseconds that a call takes (median)."""
    walk_steps: int
    """Steps of random walks."""
    told_apart: bool
    """Whether states can be told apart."""
    met: int
    """Steps of the walks that led to a state seen before."""
    tried_again: int
    """Steps that were taken again from the same state."""
    other_rewards: int
    """In how many of them the reward was another one."""
    other_states: int
    """In how many of them the next state was another one."""
    walks: int
    walks_ended: int
    earliest_end: int
    """Steps to the earliest end; 0 if there was none."""
    typical_end: int
    """Steps to the median end; 0 if there was none."""
    silent: bool
    """Rewards say nothing of where to go: each action had the same one wherever it was taken."""
    access: Access
    """RESET if the model says so, or if plans cannot react to its random dynamics."""
    repeat: int
    """Steps of the model that one chosen action should last; those of a ``GymnasiumModel`` are
    counted with the repeat that it has already."""
    discount: float
    """For each decision."""
    budget: int
    """Calls for one decision."""
    seconds: float
    """The time for one decision that the budget is for."""
    planner: str
    statements: tuple[Statement, ...]
    """What was found and what is advised, each with a reason."""
    code: tuple[str, ...]
    """Lines of Python to copy."""
    command: str
    """The same for the command line; empty if there is no such command."""

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, with the ``version`` of this format."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        said = [statement._asdict() for statement in self.statements]
        return {
            "version": VERSION,
            **data,
            "access": self.access.value,
            "statements": said,
            "code": list(self.code),
        }

    @property
    def _title(self) -> str:
        actions = f"{self.num_actions} action{'s' if self.num_actions != 1 else ''}"
        actions = "actions are not a list" if self.num_actions is None else actions
        stopped = ", interrupted" if self.interrupted else ""
        return f"{self.name}: {actions}; {self.calls} calls made{stopped}"

    def __str__(self) -> str:
        about = max(len(row.about) for row in self.statements)
        said = max(len(row.said) for row in self.statements)
        lines = [self._title]
        lines += [f"  {r.about:<{about}}  {r.said:<{said}}  {r.why}" for r in self.statements]
        return "\n".join([*lines, "", *self.code])

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(x)}</td>" for x in row)
            + "</tr>"
            for row in self.statements
        )  # fmt: skip
        code = html.escape("\n".join(self.code))
        return f"<p>{html.escape(self._title)}</p><table>{rows}</table><pre>{code}</pre>"
