"""A plan under random dynamics, from a task to a ``Plan``."""

from __future__ import annotations

from typing import Any

from platypoos.errors import ModelError
from platypoos.models.base import actions_of
from platypoos.models.failures import located
from platypoos.models.numbered import original
from platypoos.plan import Plan
from platypoos.planners.chance.decision import describe, spanning_tree
from platypoos.planners.chance.session import ChanceMemory, Session
from platypoos.search.base import Planner, Task


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

    def made() -> Plan:
        found: dict[str, Any] = describe(session.search, actions_of(original(task.model)).payloads)
        calls = session.simulator.calls
        return planner.recommend(task, found.pop("tree"), found.pop("node"), calls=calls, **found)

    try:
        session.spend(stop_when_sure=stop_when_sure)
    except KeyboardInterrupt as error:
        if session.search.recommend() is None:
            raise
        if not task.open_ended:
            error.plan = made()  # type: ignore[attr-defined]
            raise
    except ModelError as error:
        if error.action is not None:
            located(error)
        error.calls = session.simulator.calls
        error.tree = spanning_tree(knowledge, knowledge.root)
        raise
    return made()
