"""What the doctor says of a simulator."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from platypoos.markup import check_version, html_report, stored_fields
from platypoos.models.base import Access


@dataclass(frozen=True)
class SimulatorReport:
    """What the doctor found. ``ok`` is False if a planner would be misled; print it."""

    name: str
    family: str
    method: str
    """How states are restored: native, deepcopy or replay."""
    access: Access
    verdict: str
    """"safe", "safe with RESET access" or "not safe"."""
    passed: tuple[str, ...]
    problems: tuple[str, ...]
    advice: tuple[str, ...]
    """What to do."""
    save_us: float = field(default=float("nan"))
    """Microseconds that a save takes (median), and so on."""
    restore_us: float = field(default=float("nan"))
    step_us: float = field(default=float("nan"))
    repeat: int = 1
    """Steps of the simulator that a call of the model takes at most."""
    pictures: str = ""
    """Whether restored states look as the original did; empty if that was not asked."""

    @property
    def ok(self) -> bool:
        """Whether a planner can trust the simulator, with the access stated."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        costs = {k: None if np.isnan(v) else v for k, v in data.items() if k.endswith("_us")}
        return {"version": 1, **data, **costs, "access": self.access.value, "ok": self.ok}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SimulatorReport:
        """A report from what ``as_dict`` returned, also as JSON."""
        check_version(data, 1)
        made = stored_fields(cls, data)
        costs = {k: float("nan") if made[k] is None else made[k] for k in made if k.endswith("_us")}
        return cls(**{**made, **costs, "access": Access(made["access"])})

    def _repr_html_(self) -> str:
        how = f"{self.family}; restored by {self.method}; access {self.access.name}"
        rows = [("family", how), *(("ok", line) for line in self.passed)]
        rows += [("pictures", self.pictures)] if self.pictures else []
        rows += [("problem", line) for line in self.problems]
        rows += [("do", line) for line in self.advice]
        return html_report(f"{self.name}: {self.verdict}", rows)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.verdict}",
            f"  family: {self.family}; restored by: {self.method}; access: {self.access.name}",
        ]
        if self.step_us > 0:
            lines.append(
                f"  cost: save {self.save_us:.1f} µs, restore {self.restore_us:.1f} µs, "
                f"step {self.step_us:.0f} µs"
            )
        if self.repeat > 1:
            lines.append(f"  a call of the model: up to {self.repeat} steps of the simulator")
        lines += [f"  ok: {line}" for line in self.passed]
        lines += [f"  pictures: {self.pictures}"] if self.pictures else []
        lines += [f"  problem: {line}" for line in self.problems]
        lines += [f"  do: {line}" for line in self.advice]
        return "\n".join(lines)
