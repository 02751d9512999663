"""What the best policy in all that is known would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platypoos.graph import Edge, Path

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
            search.proposed.append([step.action for step in path])
