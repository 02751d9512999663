"""Gumbel MCTS where dynamics are random: every walk begins at the root, and chance plays anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node
from platypoos.planners.gumbel_mcts import C_SCALE, C_VISIT, longest_walk
from platypoos.results import Plan
from platypoos.search.base import Task

if TYPE_CHECKING:
    from platypoos.planners.gumbel_mcts import GumbelMCTS


def plan_by_gumbel(planner: GumbelMCTS, task: Task) -> Plan:
    """Plan with a tree of histories."""
    tree = ChanceTree(task, by_state=False)
    search = Search(planner, tree, longest_walk(task, planner.discount))
    return tree.run(search.spend, search.build)


@dataclass
class Search:
    """The simulations of one plan.

    The value of an edge is its mean return, in two parts: of what was sampled (``Edge.value``),
    and the discounted number of steps that nobody saw (``Edge.low``). So all values always use
    the latest mean reward.
    """

    planner: GumbelMCTS
    tree: ChanceTree
    longest: int
    gumbel: dict[Edge, float] = field(default_factory=dict)
    left: list[Edge] = field(default_factory=list)
    """The first actions that are left."""
    said: dict[Node, float] = field(default_factory=dict)
    """What the model said of states."""
    smallest: float = math.inf
    largest: float = -math.inf
    """Of all q."""

    def spend(self) -> None:
        """Simulation after simulation; half of the first actions are dropped after each phase."""
        tree, budget = self.tree, self.tree.simulator.budget
        draw = tree.random.random
        self.gumbel = {e: -math.log(-math.log(draw() or 0.5)) for e in tree.open(tree.root)}
        ranked = sorted(self.gumbel, key=self.gumbel.__getitem__, reverse=True)
        self.left = ranked[: self.planner.max_considered]
        phases, phase = max(1, math.ceil(math.log2(len(self.left)))), 0
        while tree.simulator.left:
            visits = [edge.visits for edge in self.left]
            is_over = tree.simulator.calls * phases >= budget * (phase + 1)
            if len(self.left) > 2 and min(visits) == max(visits) and is_over:
                self.left = self.ranked()[: max(2, len(self.left) // 2)]
                phase += 1
            self.simulate(min(self.ranked(), key=lambda edge: edge.visits))

    def simulate(self, first: Edge) -> None:
        """Walk to a new state, to an end or to the largest depth; cut short, it does not count."""
        tree, gamma = self.tree, self.planner.discount
        edge, path = first, []
        while tree.simulator.left:
            after, reward = tree.step(edge)
            path.append((edge, reward))
            if after is None or after not in self.said or len(path) == self.longest:
                break
            edge = self.inner_edge(after)
        else:
            return
        total = steps = 0.0
        if after is not None:
            self.said.setdefault(after, tree.worth(after))
            total = self.said[after]
            steps = 0.0 if tree.is_valued else tree.span_from(after.depth, gamma)
        for edge, reward in reversed(path):
            total, steps = reward + gamma * total, gamma * steps
            edge.note(total)
            edge.low += (steps - edge.low) / edge.visits
            q = self.value(edge)
            self.smallest, self.largest = min(self.smallest, q), max(self.largest, q)

    def value(self, edge: Edge) -> float:
        """q: each step that nobody saw counts as the mean of all rewards so far."""
        return edge.value + edge.low * self.mean_reward

    @property
    def mean_reward(self) -> float:
        """Of all calls."""
        return self.tree.total / self.tree.simulator.calls

    def scaled(self, node: Node) -> dict[Edge, float]:
        """σ(completed q) of all actions in a node, up to a constant."""
        tried = [edge for edge in node.edges if edge.visits]
        values = {edge: self.value(edge) for edge in tried}
        mixed = sum(values.values()) / max(1, len(tried))
        if node in self.said:  # (Appendix D): v_mix, of a uniform prior
            own, visits = self.said[node], sum(edge.visits for edge in tried)
            if not self.tree.is_valued:
                own = self.mean_reward * self.tree.span_from(node.depth, self.planner.discount)
            mixed = (own + visits * mixed) / (1 + visits)
        most = max((edge.visits for edge in tried), default=0)
        width = self.largest - self.smallest
        factor = (C_VISIT + most) * C_SCALE / width if width > 0.0 else 0.0
        completed = {edge: values.get(edge, mixed) for edge in node.edges}
        best = max(completed.values())
        return {edge: factor * (q - best) for edge, q in completed.items()}

    def ranked(self) -> list[Edge]:
        """The first actions that are left, the one with the best score first."""
        scaled, weight = self.scaled(self.tree.root), self.planner.gumbel_scale

        def score(edge: Edge) -> tuple[float, float]:
            g = self.gumbel[edge]
            return weight * g + scaled[edge], g

        return sorted(self.left, key=score, reverse=True)

    def inner_edge(self, node: Node) -> Edge:
        """The action that is furthest behind the improved policy: π'(a) − N(a) / (1 + Σ N)."""
        edges = self.tree.open(node)
        scaled = self.scaled(node)
        weights = sum(math.exp(q) for q in scaled.values())
        visits = 1 + sum(edge.visits for edge in edges)
        return max(edges, key=lambda e: math.exp(scaled[e]) / weights - e.visits / visits)

    def build(self) -> Plan | None:
        """Recommend the best first action that is left."""
        chosen = next((edge for edge in self.ranked() if edge.visits), None) if self.left else None
        for node in self.tree.nodes():
            for edge in node.edges:
                if edge.visits:
                    edge.value, edge.low = self.value(edge), 0.0
        return self.tree.build(self.planner, chosen)
