"""One decision under random dynamics: the search, the simulator and the clock; and the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from platypoos.models.advice import Advisor
from platypoos.models.keys import key_of
from platypoos.planners.chance.beside_rule import gain_over_rule, pairs_for
from platypoos.planners.chance.confidence import confidence
from platypoos.planners.chance.knowledge import BYTES_PER_STATE, Knowledge
from platypoos.planners.chance.plan import Search
from platypoos.planners.platypus.memory import size_of
from platypoos.planners.platypus.session import drive, spend_in_parts
from platypoos.results import CLEAR, Improvement
from platypoos.search.base import Task
from platypoos.simulator import Simulator


class Session:
    """What is known of a model with random dynamics, and the plans that are made with it.

    Args:
        task: what is asked for.
        discount: γ.
    """

    def __init__(self, task: Task, discount: float) -> None:
        self.discount = discount
        key = key_of(task.model, task.state)
        self.knowledge = Knowledge(discount, task.num_actions, key, task.tie_seed())
        self.knowledge.horizon = task.horizon
        advisor = Advisor(task.model)
        if advisor.valued:
            self.knowledge.value_of_state = advisor.value
            self.knowledge.pays = True
        self.search = Search(self.knowledge)
        self.begin(task)

    def begin(self, task: Task) -> None:
        """Plan for the state of a task."""
        self.task = task
        knowledge = self.knowledge
        self.simulator = simulator = Simulator(
            task.model,
            task.rng,
            budget=task.budget,
            access=task.access,
            executor=task.executor,
            timeout=task.timeout,
        )
        self.improvement: Improvement | None = None
        """What the plan gains over the user's rule."""
        knowledge.legal_actions = simulator.legal
        if simulator.rule is not None:
            knowledge.rule = self._advise
        time = 0
        if knowledge.horizon is not None and task.horizon is not None:
            time = knowledge.horizon - task.horizon
        self.search.begin(knowledge.state_of(task.state, time))

    def _advise(self, stored: Any) -> int:
        simulator = self.simulator
        assert simulator.rule is not None  # noqa: S101  it is asked only if there is one
        allowed = None if simulator.legal is None else simulator.legal(stored)
        return int(simulator.rule(stored, allowed))

    def spend(self, *, stop_when_sure: bool = False) -> None:
        """Plan with the budget of the task, or until its clock runs out."""
        is_sure = self._is_sure if stop_when_sure else None
        self.search.is_sure = is_sure
        task, search, simulator = self.task, self.search, self.simulator
        pairs = self._pairs()
        kept = 2 * pairs * search.length_for(task.budget)
        spend_in_parts(simulator, task._replace(budget=task.budget - kept), self._drive, is_sure)
        search.decided = search.recommend() if pairs else None
        if search.decided is None:
            return
        length = kept // (2 * pairs)
        found = gain_over_rule(self.knowledge, simulator, pairs, length, task.rng)
        advised = self.knowledge.edge_of(self.knowledge.root, self._advise(task.state))
        if found.high < 0.0 and advised.samples:  # the rule is better
            search.decided, found = advised, Improvement(0.0, 0.0, 0.0)
        self.improvement = found

    def _pairs(self) -> int:
        """Pairs of roll-outs to compare with the rule: none if there is no rule, or a clock."""
        task = self.task
        if self.knowledge.rule is None or task.deadline is not None or task.stop is not None:
            return 0
        return pairs_for(task.budget, self.search.length_for(task.budget))

    def _is_sure(self) -> bool:
        """Whether more calls are unlikely to change the decision."""
        chosen = self.search.recommend()
        return chosen is not None and confidence(self.search, chosen)[0] >= CLEAR

    def _drive(self, budget: int, due: Callable[[], bool]) -> bool:
        """Let the search ask, and the simulator answer; False if time was up."""
        search = self.search
        return drive(search.plan(budget), self.simulator, budget, due, search.learn)


class ChanceMemory:
    """Keeps what is known from one step of an episode to the next.

    It is kept however surprising an outcome was: chance explains it.

    Args:
        cap: bytes to use at most. What can no longer be reached is forgotten first, then what is
            furthest away.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.session: Session | None = None
        self._state_bytes = 0

    def recall(self, task: Task, discount: float) -> Session:
        """The session for a task: the one that is remembered, if it fits."""
        session = self.session
        if (
            session is None
            or session.task.model is not task.model
            or session.task.executor is not task.executor
            or session.discount != discount
            or session.knowledge.key is None
            or (session.knowledge.horizon is None) != (task.horizon is None)
        ):
            self.session = session = Session(task, discount)
            return session
        session.begin(task)
        if not self._state_bytes:
            self._state_bytes = BYTES_PER_STATE + size_of(task.state)
        session.knowledge.keep_most(max(1, self.cap // self._state_bytes - task.budget))
        return session
