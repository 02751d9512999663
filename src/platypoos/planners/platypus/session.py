"""One decision of the default planner: the search, the simulator and the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from typing import Any

from platypoos.checking.watch import Watch
from platypoos.checks import same
from platypoos.errors import ModelError
from platypoos.graph import Edge, Graph, State
from platypoos.models.advice import Advisor
from platypoos.models.base import Access, actions_of, said_of_one
from platypoos.models.keys import key_of
from platypoos.models.points import has_points
from platypoos.planners.platypus.confidence import can_tell, confidence
from platypoos.planners.platypus.decision import describe, spanning_tree
from platypoos.planners.platypus.plan import Search
from platypoos.planners.platypus.reaching import numbers_of
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.scenarios import Scenarios, scenarios_for
from platypoos.results import CLEAR
from platypoos.search.base import Task
from platypoos.simulator import Simulator, fitting
from platypoos.simulator.pace import never
from platypoos.trees.tree import Tree

FIRST_PART = 16
"""With a clock: calls for each action in the first part of a plan. A later part has the calls that
fit in half of the time that is left; without a deadline, half as many as all parts before."""


class Session:
    """What is known of a model, and the plans that are made with it.

    Args:
        task: what is asked for.
        discount: γ.
        rules: constants of the planner.
    """

    def __init__(self, task: Task, discount: float, rules: Rules) -> None:
        self.task, self.discount = task, discount
        restores = task.access is Access.RESTORE and not task.has_chance
        key = key_of(task.model, task.state) if restores else None
        seed = task.tie_seed()
        endless = has_points(actions_of(task.model))
        graph = Graph(discount, None if endless else task.num_actions, key, seed)
        graph.open_loop = task.access is Access.RESET
        graph.ends_by_chance = not restores
        if restores and callable(getattr(task.model, "key", None)):
            graph.is_same = _is_same
        graph.horizon = task.horizon
        graph.shrinks = rules.shrinkage
        advisor = Advisor(task.model)
        if advisor.valued:
            graph.value_of_state = advisor.value
        self.graph = graph
        self.simulator = self._simulator(task)
        self.scenarios: Scenarios | None = None
        """What chance does, where dynamics are random and actions cannot be listed."""
        start = task.state
        space = actions_of(task.model) if endless else None
        if task.has_chance:
            number = scenarios_for(task.budget, open_ended=task.open_ended)
            self.scenarios = Scenarios(self.simulator, number, space, task.rng)
            start = self.scenarios.start(task.state)
            if advisor.valued:
                graph.value_of_state = self.scenarios.value(advisor.value)
        rule: Callable[[Any], Any] | None = None
        if self.simulator.rule is not None:
            rule = self._advise if self.scenarios is None else self.scenarios.advise
        if self.simulator.legal is not None:
            graph.legal_actions = self.simulator.legal
        graph.root = graph.state_of(start, 0)
        look = numbers_of(said_of_one(task.model, "features")) if endless and restores else None
        self.search = Search(graph, rule, rules, space, look)

    def _simulator(self, task: Task) -> Simulator:
        simulator = Simulator(
            task.model,
            task.rng,
            budget=task.budget,
            access=task.access,
            executor=task.executor,
            timeout=task.timeout,
        )
        compares = task.access is Access.RESTORE and not task.has_chance
        self.graph.check_again = self._compare if compares else None
        return simulator

    def _advise(self, stored: Any) -> Any:
        simulator = self.simulator
        assert simulator.rule is not None  # noqa: S101  it is asked only if there is one
        allowed = None if simulator.legal is None else simulator.legal(stored)
        return simulator.rule(stored, allowed)

    def _compare(self, edge: Edge, stored: Any) -> None:
        """See now and then whether an action leads where it led before."""
        watch = self.simulator.watch
        if edge.after is not None and watch.compares(self.simulator.calls):
            watch.compare(edge.start.stored, edge.action, edge.after.stored, stored)

    def go_on(self, task: Task, root: State, *, followed: bool) -> None:
        """Make the next decision, from a state that is known."""
        self.task = task
        self.simulator = self._simulator(task)
        self.search.move(root, root.time, followed=followed)

    # ------------------------------------------------------------------ what is known

    @property
    def has_tried(self) -> bool:
        """Whether there is a sample of a first action."""
        return bool(self.graph.root.edges)

    @property
    def decided(self) -> Any:
        """The first action of the last decision; None if there was none."""
        decided = self.search.decided
        return None if decided is None else decided.first

    @property
    def keeps_sequences(self) -> bool:
        """Whether what is left of a sequence is of use where nothing else is."""
        return self.graph.endless or not self.graph.open_loop

    def tree(self) -> Tree:
        """All that was searched."""
        return spanning_tree(self.graph, self.graph.root)

    def describe(self) -> dict[str, Any]:
        """The fields of ``Plan`` that depend on the search."""
        found = describe(self.search)
        return found if self.scenarios is None else found | self.scenarios.told()

    def root_state(self) -> Any:
        """The state that is planned for."""
        return self.graph.root.stored

    def first_samples(self) -> dict[Any, tuple[float, int]]:
        """The mean reward and the number of samples of each first action."""
        graph = self.graph
        return {
            action: (edge.mean + graph.origin, edge.samples)
            for action, edge in graph.root.edges.items()
        }

    def noise(self) -> tuple[float, float]:
        """The variance of a sample, and that of all rewards."""
        self.graph.take_moments()
        return self.graph.variance, self.graph.total_variance

    def find(self, task: Task, taken: Any) -> State | None:
        """The state to plan for, if it is known; ``taken`` is the last action."""
        graph = self.graph
        if self.scenarios is not None or graph.open_loop:
            return None
        if (graph.horizon is None) != (task.horizon is None):
            return None
        time = 0
        if graph.horizon is not None and task.horizon is not None:
            time = graph.horizon - task.horizon
        found = graph.find(task.state, time)  # a key that fails says so here
        edge = None if taken is None else graph.root.edges.get(taken)
        expected = None if edge is None else edge.after
        if expected is not None:
            elsewhere = Watch(task.model, task.state).is_elsewhere(expected.stored, task.state)
            if elsewhere or (graph.horizon is not None and expected.time != time):
                expected = None  # the system is not the model
        return found if expected is None else expected

    def keep_most(self, most: int) -> None:
        """Forget states that are out of reach, and then the furthest, until ``most`` are left."""
        self.graph.keep_most(most)

    def take_over(self, other: Session) -> None:
        """Begin with what is left of the sequence of another session."""
        self.search.take_over(other.search)

    # ------------------------------------------------------------------ calls

    def spend(self, *, stop_when_sure: bool = False) -> None:
        """Plan with the budget of the task, or until its clock runs out."""
        is_sure = self._is_sure if stop_when_sure else None
        self.search.is_sure = is_sure
        if self.scenarios is None:
            spend_in_parts(self.simulator, self.task, self._drive, is_sure)
        else:
            task = self.task._replace(budget=self.scenarios.budget)
            spend_in_parts(self.scenarios, task, self._drive, is_sure)

    def _is_sure(self) -> bool:
        """Whether more calls are unlikely to change the decision."""
        chosen = self.search.recommend()
        if chosen is None or not can_tell(self.search.graph):
            return False
        return confidence(self.search, chosen)[0] >= CLEAR

    def _drive(self, budget: int, due: Callable[[], bool]) -> bool:
        """Let the search ask, and the simulator answer; False if time was up."""
        search = self.search
        plan = search.plan_on(budget) if search.level.leader else search.plan(budget)
        if self.scenarios is None:
            return drive(plan, self.simulator, budget, due, search.learn)
        # Where episodes end early in some scenarios, there are more steps than it looked.
        search.goes_on = due is never
        most = math.inf if search.goes_on else budget
        return drive(plan, self.scenarios, most, due, search.learn)


def spend_in_parts(
    simulator: Simulator | Scenarios,
    task: Task,
    plan: Callable[[int, Callable[[], bool]], bool],
    is_sure: Callable[[], bool] | None,
) -> None:
    """Plan with the budget of a task, or in parts until its clock runs out.

    Args:
        simulator: whose calls are counted.
        task: what is asked for.
        plan: plans with so many calls, or until a clock says stop; returns whether it did not.
        is_sure: asked between parts: whether to end the plan.
    """
    clock = Clock(simulator, task)
    if not clock.runs:
        plan(task.budget, never)
        return
    simulator.due = clock.due
    if clock.end < math.inf:
        simulator.until = time.time() + clock.end - time.perf_counter()
    limit = math.inf if task.open_ended else task.budget
    part = FIRST_PART * task.num_actions
    while simulator.calls < limit:
        part = int(min(part, limit - simulator.calls))
        if task.open_ended:
            simulator.budget = simulator.calls + part
        if not plan(part, clock.due) or clock.due():
            return
        if is_sure is not None and is_sure():
            return
        part = max(FIRST_PART * task.num_actions, clock.next_part())


def drive(
    plan: Generator[list[Any], Any, None],
    simulator: Simulator | Scenarios,
    budget: float,
    due: Callable[[], bool],
    learn: Callable[[Any, Any], object],
) -> bool:
    """Let a search ask, and the simulator answer; False if time was up.

    Args:
        plan: yields lists of things that have a ``request``, and is sent the walks of each.
        simulator: makes the calls.
        budget: how many of them.
        due: whether time is up.
        learn: told what was asked and played, if the model fails in the middle of a batch.
    """
    end = simulator.calls + budget
    replies: Any = None
    try:
        while True:
            batch = plan.send(replies)
            left = int(min(end, simulator.budget)) - simulator.calls
            if left <= 0:
                return True
            if simulator.calls and due():
                return False
            requests = fitting([asked.request for asked in batch], left)
            try:
                replies = simulator.run(requests)
            except BaseException as error:
                _keep(batch, error, learn)
                raise
    except StopIteration:
        return True
    finally:
        plan.close()


def _keep(batch: list[Any], error: BaseException, learn: Callable[[Any, Any], object]) -> None:
    """Learn from what was played before a failure."""
    for asked, walks in zip(batch, getattr(error, "replies", ()), strict=False):
        try:
            learn(asked, walks)
        except ModelError:
            return  # it is about the same model


def _is_same(one: Any, other: Any) -> bool:
    """Whether two states are the same, if they can be compared; else they are not."""
    try:
        return same(one, other)
    except Exception:  # noqa: BLE001  whatever it is, they cannot be compared
        return False


class Clock:
    """Tells when time is up, and how many calls fit into what is left."""

    def __init__(self, simulator: Simulator | Scenarios, task: Task) -> None:
        self._simulator, self._stop = simulator, task.stop
        self._looked, self._counted = time.perf_counter(), 0
        self.end = math.inf if task.deadline is None else task.started + task.deadline
        self.runs = task.deadline is not None or task.stop is not None

    def due(self) -> bool:
        """Whether the deadline has passed, or the caller wants to stop. Not before a call."""
        calls = self._simulator.calls
        if calls == 0:
            return False
        if time.perf_counter() >= self.end:
            return True
        return self._stop is not None and bool(self._stop(calls))

    def next_part(self) -> int:
        """The calls of the next part of a plan."""
        now, calls = time.perf_counter(), self._simulator.calls
        pace = (now - self._looked) / max(1, calls - self._counted)
        self._looked, self._counted = now, calls
        if self.end == math.inf:
            return calls // 2
        return int(0.5 * max(0.0, self.end - now) / pace)
