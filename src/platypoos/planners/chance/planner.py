"""A plan under random dynamics, from a task to a ``Plan``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from platypoos.errors import ModelError
from platypoos.models.base import actions_of
from platypoos.models.failures import located
from platypoos.models.numbered import original
from platypoos.planners.chance.decision import describe, spanning_tree
from platypoos.planners.chance.session import ChanceMemory, Session
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.simulator import Simulator
from platypoos.trees.tree import Tree


def plan_with_chance(
    planner: Planner, task: Task, memory: ChanceMemory | None, *, stop_when_sure: bool
) -> Plan:
    """Plan for a model whose dynamics are random and whose states can be stored.

    Args:
        planner: whose plan it is.
        task: what is asked for.
        memory: what was learned at earlier steps of an episode.
        stop_when_sure: end before the budget is spent when ``plan.enough``.
    """
    if memory is None:
        session = Session(task, planner.discount)
    else:
        session = memory.recall(task, planner.discount)
    knowledge = session.knowledge

    def build() -> Plan | None:
        if knowledge.root.choice is None:
            return None
        found: dict[str, Any] = describe(session.search, actions_of(original(task.model)).payloads)
        found["improvement"] = session.improvement
        calls = session.simulator.calls
        return planner.recommend(task, found.pop("tree"), found.pop("node"), calls=calls, **found)

    return run_and_build(
        task,
        session.simulator,
        lambda: session.spend(stop_when_sure=stop_when_sure),
        build,
        lambda: spanning_tree(knowledge.root, knowledge.known, knowledge.origin),
    )


def run_and_build(
    task: Task,
    simulator: Simulator,
    spend: Callable[[], object],
    build: Callable[[], Plan | None],
    tree: Callable[[], Tree],
) -> Plan:
    """Spend a budget and build the plan. Errors and interrupts keep what was learned.

    Args:
        task: what is asked for.
        simulator: makes the calls.
        spend: spends them.
        build: makes a plan of what is known; None if too little is.
        tree: makes a tree of it.
    """
    plan: Plan | None
    try:
        spend()
    except KeyboardInterrupt as error:
        plan = build()
        if plan is None:
            raise
        if not task.open_ended:
            error.plan = plan  # type: ignore[attr-defined]
            raise
        return plan
    except ModelError as error:
        if error.action is not None:
            located(error)
        error.calls = simulator.calls
        error.tree = tree()
        raise
    plan = build()
    assert plan is not None  # noqa: S101  the first call is always made
    return plan
