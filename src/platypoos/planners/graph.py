"""PlaTγPOOS on the graph of states: it wastes no sample."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from platypoos.checks import check_floor
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access
from platypoos.plan import Plan
from platypoos.planners.base import Planner, Task
from platypoos.planners.graph_entries import ANSWER
from platypoos.planners.memory import Memory
from platypoos.planners.platypoos import PlaTyPOOS
from platypoos.planners.thinking import FIRST_STAGE, Thinker
from platypoos.simulator import never


@dataclass(frozen=True)
class GraphPlaTyPOOS(Planner):
    """PlaTγPOOS on the graph of states: it shares samples, and never throws one away.

    Use it by default. It needs to know the discount only.

    Where sequences of actions meet in the same state they share what is known of it, in a plan
    and, with ``control``, from one step of an episode to the next. As parameter-free as
    :class:`~platypoos.PlaTyPOOS`, and anytime: it also plans for a deadline instead of a budget.
    It stops before the budget is spent when nothing is left to learn.

    States are told apart by ``model.key(state)`` if the model has it, else by themselves if they
    can be hashed, or by the contents of arrays; if none of these works, nothing is shared. With
    RESET access, nodes are action sequences: then it is :class:`~platypoos.PlaTyPOOS`. With a
    horizon, states are the same if as many steps are left.

    Reference: as PlaTyPOOS, Figure 3. Symbols: r̂(x, a) and T(x, a) are per state and action.

    Deviations:
        - Rounds of growing h_max instead of one; where many sequences meet, small ones that look
          for noise, then one with h_max = N/(4K); where none do and there is noise, one of the
          published size. "Open with m evaluations" brings T(x, a) to m; samples that are there
          already are not bought again.
        - Of the sequences that meet in a state, only the first that is chosen is opened in a
          round, and of those of the same length the best.
        - Where sequences meet m = ⌈2^p·γ^(2h)/4⌉ instead of ⌈h·2^p·γ^(2h)⌉: shared samples are
          many, depth is worth more (measured). It is smaller still where the values in a layer
          differ by more than the noise, which repeated samples reveal; and the root has a quarter
          of the h_max samples of each action, but 8 if h_max allows. Everywhere m is 1, and 2 now
          and then, while no noise was seen.
        - With noise, sequences are followed until a step counts a hundredth of the first.
        - Where sequences meet mean rewards are drawn to the mean of all of them, as far as the
          noise makes them unsure: of many noisy sequences the best is else the luckiest.
        - The recommendation is not the best sequence of the round but the best policy in all that
          is known of the graph, loops included. A state whose actions are unknown is taken to be
          as good as the one where the plan begins. But it is counted at the reward floor where
          nothing meets and there is noise, and where episodes end; or if sequences meet there, at
          the mean of all rewards. With a horizon it is the average reward of the best sequence
          that is counted for each step left, instead of the root's value.
        - A fifth of the calls, if there is noise, tell the best first action from the best
          other one, in 3 parts, or up to 16 if nothing meets: after each, what is known is
          solved again.

    Args:
        discount: γ, in [0, 1).
        reward_floor: the reward that unseen steps are counted at; None to choose it by what is
            seen, as said above.
        memory: the most bytes to keep from step to step in ``control``; 0 to forget. What can no
            longer be reached is forgotten first. When a reward contradicts the memory, it is
            dropped.

    >>> import platypoos as pp
    >>> planner = pp.GraphPlaTyPOOS(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(noise=1.0), budget=500, seed=0).action
    0
    """

    name: ClassVar[str] = "graph"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    citation: ClassVar[str] = PlaTyPOOS.citation

    reward_floor: float | None = None
    memory: int = 256_000_000

    anytime: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_floor(self.reward_floor)
        if isinstance(self.memory, bool) or not isinstance(self.memory, int) or self.memory < 0:
            raise InvalidArgument(
                f"memory must be a number of bytes, 0 for none, got {self.memory!r}"
            )

    def remember(self) -> Memory | None:
        """What ``control`` hands on from step to step."""
        return Memory(self.memory) if self.memory else None

    def _plan(self, task: Task) -> Plan:
        if task.access is Access.RESET:
            if task.open_ended:
                raise InvalidArgument(
                    "with RESET access a plan needs a budget: action sequences are not shared"
                )
            return PlaTyPOOS(self.discount, self.reward_floor)._plan(task)  # noqa: SLF001
        floor = check_floor(self.reward_floor)
        if task.memory is None:
            thinker = Thinker(task, self.discount, floor)
        else:
            thinker = task.memory.recall(task, self.discount, floor)
        before = thinker.sim.calls
        try:
            think(thinker, task)
        except KeyboardInterrupt as error:
            if not thinker.can_decide:
                raise
            if not task.open_ended:
                error.plan = made(thinker, task, before)  # type: ignore[attr-defined]
                raise
        plan = made(thinker, task, before)
        if task.memory is None:
            thinker.leave()
        return plan


def think(thinker: Thinker, task: Task) -> None:
    """Spend the budget, or go on in ever longer stages until the clock runs out."""
    due = never
    if task.deadline is not None or task.stop is not None:
        due = Clock(thinker, task).due
    if not task.open_ended:
        thinker.think(task.budget, due)
        return
    stage = FIRST_STAGE * task.num_actions
    while thinker.think(stage, due) and not due() and not thinker.exhausted:
        stage += stage // 2


class Clock:
    """Tells when time is up."""

    def __init__(self, thinker: Thinker, task: Task) -> None:
        self._thinker, self._stop = thinker, task.stop
        self._before = thinker.sim.calls
        self._end = None if task.deadline is None else task.started + task.deadline

    def due(self) -> bool:
        """Whether the deadline has passed, or the caller wants to stop."""
        if self._end is not None and time.perf_counter() >= self._end:
            return True
        return self._stop is not None and bool(self._stop(self._thinker.sim.calls - self._before))


def made(thinker: Thinker, task: Task, calls_before: int) -> Plan:
    """What the search recommends, as a plan."""
    decision = thinker.decide()
    answer = int(thinker.search.place[ANSWER])
    return Plan(
        action=answer,
        value=float(decision.action_values[answer]),
        calls=thinker.sim.calls - calls_before,
        budget=None if task.open_ended else task.budget,
        discount=thinker.discount,
        state=task.state,
        num_actions=task.num_actions,
        node=decision.node,
        p_index=0,
        reward_floor=decision.floor,
        tree=decision.tree,
        estimates=decision.action_values,
        gap_interval=decision.gap,
        enough=decision.enough,
        horizon=task.horizon,
    )
