"""The default planner."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.base import actions_of
from platypoos.models.failures import located
from platypoos.models.points import has_points, pointed
from platypoos.planners.chance.planner import plan_with_chance
from platypoos.planners.chance.session import ChanceMemory
from platypoos.planners.platypus.memory import Memory, begin_session
from platypoos.planners.platypus.rules import Rules
from platypoos.results import Plan
from platypoos.search.base import PAPER, Planner, Task
from platypoos.spaces import Space


@dataclass(frozen=True)
class Platypus(Planner):
    """The planner for a problem nobody has seen yet.

    Use it by default. It needs to know the discount only: not how large rewards are, nor how
    noisy, nor how small the simulator's time steps.

    What it knows is a graph of states; sequences that meet in a state share what is known of it.
    Candidates are whole sequences of actions. They come from what is left of the last decision,
    from the user's rule after each first action (``model.policy``), from the paper's tree (rounds
    of Figure 3, which get a quarter of the calls or more), from changed stretches of the best
    sequence, from the best policy in the known graph, and from challengers: other first actions
    followed by the best known tails. With noise, a jury compares the best sequence of each
    first action on fresh samples. With ``control``, what is known is kept from step to step. It is
    anytime: it also plans for a deadline instead of a budget.

    With a rule, the plan is never worse than the rule as far as was seen: if nothing better was
    found, the rule's action is taken. ``Plan.improvement`` is the estimated gain.

    Where a model says ``dynamics="random"`` and its states can be stored, plans react to chance:
    walks choose in each state they come to, and values are expectations. ``Plan.outcomes`` says
    what to do after each outcome. With RESET access plans are open loop.

    Actions may be a list of anything, or points of a ``Box``; a ``MultiDiscrete`` of more than 32
    actions is searched like a box. There, plans for random dynamics are open loop: sequences are
    averaged over a few common scenarios of what chance may do, and each decision plans again.

    States are told apart by ``model.key(state)`` if the model has it, else by themselves if they
    can be hashed, or by the contents of arrays; if none of these works, nothing is shared. With
    RESET access, states are action sequences. With a horizon, states are the same if as many
    steps are left.

    Reference: ``docs/default-planner.md``; the tree explorer is as PlaTyPOOS, Figure 3.

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
        rules: the constants, for ablations.

    >>> import platypoos as pp
    >>> planner = pp.Platypus(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(noise=1.0), budget=500, seed=0).action
    0
    """

    name: ClassVar[str] = "platypus"
    workers: ClassVar[str] = "many"
    boxes: ClassVar[bool] = True
    guarantee: ClassVar[str] = "regret bound without noise"
    uses: ClassVar[tuple[str, ...]] = ("value", "policy")
    citation: ClassVar[str] = PAPER
    anytime: ClassVar[bool] = True
    reacts: ClassVar[bool] = True

    memory: int = 256_000_000
    stop_when_sure: bool = False
    rules: Rules = field(default=Rules(), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.memory, bool) or not isinstance(self.memory, int) or self.memory < 0:
            raise InvalidArgument(
                f"memory must be a number of bytes, 0 for none, got {self.memory!r}"
            )

    def view_of(self, model: Any) -> Any:
        """The model with numbers for actions, or points of a box."""
        return pointed(model) if has_points(actions_of(model)) else super().view_of(model)

    def count(self, actions: Space) -> int:
        """How many actions there are to begin with."""
        return 1 if has_points(actions) else super().count(actions)

    def remember(self) -> Any:
        """What ``control`` hands on from step to step."""
        return Remembered(self) if self.memory else None

    def _plan(self, task: Task) -> Plan:
        memory = task.memory
        if task.has_chance and not has_points(actions_of(task.model)):
            kept = None if memory is None else memory.chance
            return plan_with_chance(self, task, kept, stop_when_sure=self.stop_when_sure)
        if memory is None:
            session, asked = begin_session(task, self.discount, self.rules), 0
        else:
            memory = memory.plain
            asked = self._asked_again(memory, task)
            part = task._replace(budget=task.budget - asked)
            session = memory.recall(part, self.discount, self.rules)
        try:
            session.spend(stop_when_sure=self.stop_when_sure)
        except KeyboardInterrupt as error:
            if not session.has_tried:
                raise
            if not task.open_ended:
                error.plan = self._made(session, task, asked)  # type: ignore[attr-defined]
                raise
        except ModelError as error:
            if error.action is not None:
                located(error)
            error.calls = session.simulator.calls + asked
            error.tree = session.tree()
            raise
        _warn_if_slow(session, task)
        return self._made(session, task, asked)

    @staticmethod
    def _asked_again(memory: Memory, task: Task) -> int:
        """The calls that were made after a surprise; see ``Memory.ask_again``."""
        known = memory.session
        try:
            return memory.ask_again(task)
        except ModelError as error:
            if error.action is not None:
                located(error)
            if known is not None:
                error.tree = known.tree()
            raise

    def _made(self, session: Any, task: Task, asked: int) -> Plan:
        found = session.describe()
        calls = session.simulator.calls + asked
        return self.recommend(task, found.pop("tree"), found.pop("node"), calls=calls, **found)


class Remembered:
    """The memory of an episode: where dynamics are deterministic, or random."""

    def __init__(self, planner: Platypus) -> None:
        self._planner = planner
        self.plain = Memory(planner.memory)

    @cached_property
    def chance(self) -> ChanceMemory:
        """That of plans under random dynamics; made when there is such a model."""
        return ChanceMemory(self._planner.memory)

    def observe(self, action: int, reward: float) -> None:
        """Take note of what was done, and whether its reward was a surprise."""
        self.plain.observe(action, reward)


def _warn_if_slow(session: Any, task: Task) -> None:
    """Say so once in an episode if the model is slower than the deadline.

    In an episode two plans in a row must be so slow: one may have been interrupted.
    """
    pace, deadline = session.simulator.pace.seconds, task.deadline
    if deadline is None:
        return
    memory = None if task.memory is None else task.memory.plain
    if memory is not None:
        memory.slow_plans = memory.slow_plans + 1 if pace > deadline else 0
        if memory.slow_plans != 2 or memory.has_warned:
            return
        memory.has_warned = True
    elif pace <= deadline:
        return
    warnings.warn(
        f"a call of the model takes {1e3 * pace:.3g} ms, and the deadline is "
        f"{1e3 * deadline:.3g} ms: plans make one call, and are late",
        stacklevel=2,
    )
