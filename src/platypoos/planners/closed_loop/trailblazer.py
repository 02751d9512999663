"""TrailBlazer where dynamics are random: an AVG node has as many successors as it has seen."""

from __future__ import annotations

from collections import Counter

from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node
from platypoos.planners.trailblazer import CapError, Elimination, TrailBlazer
from platypoos.results import Plan
from platypoos.search.base import Task


class Search(Elimination):
    """MAX nodes are decision nodes, and AVG nodes are chance nodes."""

    def __init__(self, planner: TrailBlazer, task: Task) -> None:
        super().__init__(planner, task)
        self.tree = ChanceTree(task, by_state=False)
        self.root = self.tree.root
        self.stored: dict[Edge, list[Node | None]] = {}
        """Where the calls of each chance node led, in their order."""

    def actions(self, node: Node) -> list[Edge]:
        """The chance nodes below a decision node."""
        return self.tree.open(node)

    def ask(self, edges: list[Edge], times: int) -> None:
        """Add so many samples to chance nodes."""
        if times * len(edges) > self.tree.simulator.left:
            raise CapError
        for edge, found in zip(edges, self.tree.sample(edges, times), strict=True):
            self.stored.setdefault(edge, []).extend(node for node, _ in found)

    def average(self, edge: Edge, samples: int, epsilon: float) -> float:
        """AVG: the mean reward, and what follows the first ``samples`` samples."""
        gamma = self.gamma
        if epsilon >= 1 / (1 - gamma):
            return 0.0
        stored = self.stored.get(edge, ())
        if samples > len(stored):
            self.ask([edge], samples - len(stored))
        follows = 0.0
        for node, count in Counter(self.stored[edge][:samples]).items():
            if node is None:  # rewards are 0 after an end
                value = -self.low / self.width / (1 - gamma)
            else:
                value = self.maximum(node, count, epsilon / gamma)[0]
            follows += count / samples * value
        return (edge.mean - self.low) / self.width + gamma * follows


def plan_by_trailblazer(planner: TrailBlazer, task: Task) -> Plan:
    """Plan with a tree of histories."""
    search = Search(planner, task)
    tree = search.tree
    found: list[Edge] = []

    def spend() -> None:
        search.ask(search.actions(tree.root), 1)
        if search.anything_will_do:
            return
        try:
            value, best = search.maximum(tree.root, search.samples, search.epsilon / 2)
        except CapError:
            return
        search.first[best] = value
        found.append(best)

    def build() -> Plan | None:
        floor = float(tree.lowest)
        tree.back_up(
            planner.discount, lambda node: floor * tree.span_from(node.depth, planner.discount)
        )
        if found:
            for edge in tree.root.edges:
                edge.visits = edge in search.first
                edge.value = search.unscaled(search.first.get(edge, 0.0))
        reached = bool(found) or search.anything_will_do
        return tree.build(planner, *found, reward_floor=floor, reached=reached)

    return tree.run(spend, build)
