"""Planners that are a schedule: one plan for a budget, or rounds until a deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platypoos.checks import check_floor
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.rounds import plan_in_rounds
from platypoos.search.running import run_schedule
from platypoos.search.schedules import BudgetUse, Schedule, check_schedule, layered


@dataclass(frozen=True)
class LayeredPlanner(Planner):
    """A planner that is a schedule."""

    kind: ClassVar[int]
    anytime: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("value",)
    reward_floor: float | None = None
    budget_use: BudgetUse = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget_use not in {"full", "paper"}:
            raise InvalidArgument(f'budget_use must be "full" or "paper", got {self.budget_use!r}')
        check_floor(self.reward_floor)

    def schedule(
        self,
        budget: int,
        num_actions: int,
        access: Access | str = Access.RESTORE,
        horizon: int | None = None,
    ) -> Schedule:
        """What would be opened at most, known before the first call."""
        checked = check_schedule(
            budget, num_actions, self.discount, access, self.budget_use, horizon
        )
        return layered(self._kind, *checked, self._use, horizon)

    @property
    def _kind(self) -> int:
        return self.kind

    @property
    def _use(self) -> BudgetUse:
        return self.budget_use

    @property
    def _floor(self) -> float | None:
        return self.reward_floor

    def schedule_for(self, task: Task) -> Schedule:
        """The schedule of a task, which has been checked."""
        return layered(
            self._kind,
            task.budget,
            task.num_actions,
            self.discount,
            task.access,
            self._use,
            task.horizon,
        )

    def _plan(self, task: Task) -> Plan:
        if task.deadline is not None or task.stop is not None:
            return plan_in_rounds(self, task, self.schedule_for, self._floor)
        return run_schedule(self, task, self.schedule_for(task), self._floor)
