"""What the best policy in all that is known would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platypoos.graph import Edge, Path
from platypoos.planners.platypus.sequences import consider
from platypoos.planners.platypus.walking import OTHERS, Walk

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search


def policy_path(edge: Edge, length: int) -> Path:
    """The steps that the best known policy takes, beginning with an edge, as far as is known."""
    path: Path = []
    step: Edge | None = edge
    while step is not None and len(path) < length:
        path.append(step)
        step = None if step.after is None else step.after.choice
    return path


def propose_policies(search: Search) -> None:
    """Propose what the best known policy does after the best first actions.

    Not where less than half of a sequence is known: the rest would be arbitrary.
    """
    graph, length = search.graph, search.level.length
    if not search.rules.policies:
        return
    graph.settle(2 * search.stage)
    firsts = sorted(graph.root.edges.values(), key=graph.edge_value, reverse=True)
    for edge in firsts[: search.rules.policies]:
        path = policy_path(edge, length)
        if path[-1].after is None or 2 * len(path) >= length:
            search.queue.append(Walk(search, [step.action for step in path], OTHERS))


def adopt_policies(search: Search) -> None:
    """Compare with what the best known policy does after each first action, for no calls.

    Only where that is known to the end of a sequence. So first actions are worth what the best
    known continuation brings, not what happened to be tried after them.
    """
    graph, length = search.graph, search.level.length
    graph.settle(2 * search.stage)
    for edge in list(graph.root.edges.values()):
        path = policy_path(edge, length)
        if len(path) == length or path[-1].after is None:
            consider(search, search.level, [step.action for step in path], path)
