"""The former default planner, in machine code: one knowledge, two explorers, one jury."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

from platypoos.compiled.platypus.memory import Memory
from platypoos.compiled.platypus.ongoing import OngoingPlan
from platypoos.errors import InvalidArgument
from platypoos.planners.platypoos import PlaTyPOOS
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.simulator.pace import never

FIRST_BUDGET = 16
"""Without a budget: calls for each action in the first part of a plan. A later part has the calls
that fit in half of the time that is left; without a deadline, half as many as all parts before."""


@dataclass(frozen=True)
class CompiledPlatypus(Planner):
    """The former version of the default planner, in machine code.

    Do not choose it by name: ``Platypus`` uses it for compiled models without a policy. It does
    not plan as ``Platypus`` does with Python models, and ignores policies. It needs to know the
    discount only: not how large rewards are, nor how noisy, nor how small the simulator's time
    steps.

    It explores in two ways. One is the paper's tree (rounds of Figure 3, growing), which gets a
    fixed share of the calls and has the paper's guarantee. The other changes stretches of
    1, 2, 4, … steps of the best whole sequence. Where sequences meet in the same state they share
    what is known of it. The best policy in all that is known proposes sequences too. With noise, a
    jury compares the best sequence of each first action with those of the others, all of the
    same length, on fresh samples. With ``control``, what is known is kept from step to step. It
    is anytime: it also plans for a deadline instead of a budget.

    States are told apart by ``model.key(state)`` if the model has it, else by themselves if they
    can be hashed, or by the contents of arrays; if none of these works, nothing is shared. With
    RESET access, states are action sequences. With a horizon, states are the same if as many
    steps are left.

    Reference: the tree explorer is as PlaTyPOOS, Figure 3.

    Deviations from Figure 3 in the tree explorer:
        - Rounds of growing h_max instead of one; samples that are there are not bought again.
        - Of sequences of the same length that meet in a state, only the best is opened.
        - While no noise was seen, and in half of its calls later, one sample of each action.

    Args:
        discount: γ, in [0, 1); 1 with a horizon.
        memory: the most bytes to keep from step to step in ``control``; 0 to forget. What can no
            longer be reached is forgotten first. When a reward is a surprise, the model is asked
            again, and if it has changed, all is forgotten.
        stop_when_sure: end a plan before its budget is spent when ``plan.enough``.

    >>> import platypoos as pp
    >>> planner = pp.planners.CompiledPlatypus(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(noise=1.0), budget=500, seed=0).action
    0
    """

    name: ClassVar[str] = "platypus-kernels"
    workers: ClassVar[str] = "few"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    citation: ClassVar[str] = PlaTyPOOS.citation
    anytime: ClassVar[bool] = True

    memory: int = 256_000_000
    stop_when_sure: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.memory, bool) or not isinstance(self.memory, int) or self.memory < 0:
            raise InvalidArgument(
                f"memory must be a number of bytes, 0 for none, got {self.memory!r}"
            )

    def remember(self) -> Memory | None:
        """What ``control`` hands on from step to step."""
        return Memory(self.memory) if self.memory else None

    def _plan(self, task: Task) -> Plan:
        if task.open_ended:
            task = task._replace(budget=FIRST_BUDGET * task.num_actions)
        if task.memory is None:
            ongoing = OngoingPlan(task, self.discount)
            before = 0
        else:
            asked = task.memory.ask_again(task)
            ongoing = task.memory.recall(task._replace(budget=task.budget - asked), self.discount)
            before = ongoing.sim.calls - asked
        try:
            self._plan_on(ongoing, task, before)
        except KeyboardInterrupt as error:
            if not ongoing.can_decide and not ongoing.has_tried:
                raise
            if not task.open_ended:
                error.plan = self._made(ongoing, task, before)  # type: ignore[attr-defined]
                raise
        return self._made(ongoing, task, before)

    def _plan_on(self, ongoing: OngoingPlan, task: Task, before: int) -> None:
        """Spend the budget, or go on in ever longer parts until the clock runs out."""
        clock = Clock(ongoing, task, before)
        due = never if task.deadline is None and task.stop is None else clock.due
        while ongoing.plan_on(due, self.stop_when_sure) and task.open_ended and not due():
            left = clock.left() - 2.0 * ongoing.time_to_go_on()
            if left <= 0.0:
                break
            made = ongoing.sim.calls - before
            more = clock.calls_in(0.5 * left) if left < math.inf else made // 2
            part = task._replace(budget=max(task.budget, more))
            root = int(ongoing.search.at[0].root)
            ongoing.go_on(part, root, ongoing.leader, 1 << 62)

    def _made(self, ongoing: OngoingPlan, task: Task, before: int) -> Plan:
        if not ongoing.can_decide:
            ongoing.settle_for_less()
        _warn_if_slow(ongoing, task)
        decision = ongoing.decide()
        return self.recommend(
            task,
            decision.tree,
            decision.node,
            value=float(decision.values[decision.action]),
            calls=ongoing.sim.calls - before,
            reward_floor=decision.rate,
            estimates=decision.values,
            heard=decision.gap,
            enough=decision.enough,
            states=decision.states,
            sources=decision.sources,
            noise=decision.noise,
            searched=ongoing.search.tree,
        )


def _warn_if_slow(ongoing: OngoingPlan, task: Task) -> None:
    """Say so once in an episode if the model is slower than the deadline."""
    pace, deadline = ongoing.sim.pace.seconds, task.deadline
    if deadline is None or pace <= deadline or getattr(task.memory, "has_warned", False):
        return
    if task.memory is not None:
        task.memory.has_warned = True
    warnings.warn(
        f"a call of the model takes {1e3 * pace:.3g} ms, and the deadline is "
        f"{1e3 * deadline:.3g} ms: plans make one call, and are late",
        stacklevel=2,
    )


class Clock:
    """Tells when time is up."""

    def __init__(self, ongoing: OngoingPlan, task: Task, before: int) -> None:
        self._ongoing, self._stop, self._before = ongoing, task.stop, before
        self._looked, self._counted = time.perf_counter(), before
        self._end = None if task.deadline is None else task.started + task.deadline

    def left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._end is None else self._end - time.perf_counter()

    def calls_in(self, seconds: float) -> int:
        """Calls that fit in ``seconds``, by what the last ones took."""
        now, calls = time.perf_counter(), self._ongoing.sim.calls
        pace = (now - self._looked) / max(1, calls - self._counted)
        self._looked, self._counted = now, calls
        return int(seconds / pace)

    def due(self) -> bool:
        """Whether the deadline has passed, or the caller wants to stop."""
        if self._ongoing.sim.calls == self._before:
            return False
        if self._end is not None and time.perf_counter() >= self._end:
            return True
        return self._stop is not None and bool(self._stop(self._ongoing.sim.calls - self._before))
