"""What the checks found, and the verdict: is this model safe to plan with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from platypoos.markup import check_version, html_report, plain, stored_fields
from platypoos.models.base import Access

SAFE, RESET_ONLY, UNSAFE = "safe", "safe with RESET access", "not safe"
"""The verdicts."""
VERSION = 1
"""Of the dictionaries that ``as_dict`` makes."""


class Report(ABC):
    """What both kinds of reports have in common. Print it."""

    name: str
    verdict: str
    passed: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """No problem was found: a planner would not be misled."""
        return not self.problems

    @abstractmethod
    def rows(self) -> list[tuple[str, str]]:
        """What was found, line by line: "ok", "note", "problem" or "do" (what to do), and text."""

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data; see ``from_dict``."""
        return {"version": VERSION, **plain(vars(self)), "verdict": self.verdict, "ok": self.ok}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A report from what ``as_dict`` returned, also as JSON."""
        check_version(data, VERSION)
        return cls(**stored_fields(cls, data))

    @property
    def _title(self) -> str:
        said = {SAFE: f"{SAFE} to plan with", UNSAFE: f"{UNSAFE} to plan with"}
        return f"{self.name}: {said.get(self.verdict, self.verdict)}"

    def _repr_html_(self) -> str:
        return html_report(self._title, self.rows())

    def __str__(self) -> str:
        return "\n".join([self._title, *(f"  {kind:<8} {line}" for kind, line in self.rows())])


@dataclass(frozen=True)
class ModelReport(Report):
    """What ``check_model`` found."""

    name: str
    steps: int
    """Random steps that were taken."""
    passed: tuple[str, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What planners can do without, but should be known."""

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """One of "safe" and "not safe"."""
        return SAFE if self.ok else UNSAFE

    def rows(self) -> list[tuple[str, str]]:
        """What was found, line by line."""
        found = (("ok", self.passed), ("note", self.notes), ("problem", self.problems))
        return [(kind, line) for kind, lines in found for line in lines]


@dataclass(frozen=True)
class SimulatorReport(Report):
    """What ``check_simulator`` found."""

    name: str
    family: str
    method: str
    """How states are restored: native, deepcopy or replay."""
    access: Access
    verdict: str
    """"safe", "safe with RESET access" or "not safe"."""
    passed: tuple[str, ...]
    problems: tuple[str, ...]
    remedies: tuple[str, ...]
    """What to do."""
    save_us: float = field(default=float("nan"))
    """Microseconds that a save takes (median), and so on."""
    restore_us: float = field(default=float("nan"))
    step_us: float = field(default=float("nan"))
    repeat: int = 1
    """Steps of the simulator that a call of the model takes at most."""
    pictures: str = ""
    """Whether restored states look as the original did; empty if that was not asked."""

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        costs = {name: None if np.isnan(value) else value for name, value in self._costs().items()}
        return {**super().as_dict(), **costs, "access": self.access.value}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A report from what ``as_dict`` returned, also as JSON."""
        unknown = {name for name, value in data.items() if name.endswith("_us") and value is None}
        given = {name: value for name, value in data.items() if name not in unknown}
        return super().from_dict({**given, "access": Access(data["access"])})

    def _costs(self) -> dict[str, float]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name.endswith("_us")}

    def rows(self) -> list[tuple[str, str]]:
        """What was found, line by line."""
        how = f"{self.family}; restored by {self.method}; access {self.access.name}"
        rows = [("family", how)]
        if self.step_us > 0:
            cost = f"save {self.save_us:.1f} µs, restore {self.restore_us:.1f} µs"
            rows.append(("cost", f"{cost}, step {self.step_us:.0f} µs"))
        if self.repeat > 1:
            rows.append(("cost", f"a call is up to {self.repeat} steps of the simulator"))
        rows += [("ok", line) for line in self.passed]
        rows += [("pictures", self.pictures)] if self.pictures else []
        rows += [("problem", line) for line in self.problems]
        return rows + [("do", line) for line in self.remedies]
