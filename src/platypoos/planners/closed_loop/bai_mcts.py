"""BAI-MCTS where dynamics are random: chance nodes have confidence intervals too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platypoos.discounting import span
from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node
from platypoos.results import Plan
from platypoos.search.base import Task

if TYPE_CHECKING:
    from platypoos.planners.bai_mcts import BAIMCTS


def plan_by_bai(planner: BAIMCTS, task: Task) -> Plan:
    """Plan with a node for each state and depth."""
    tree = ChanceTree(task, by_state=True)
    depth = task.within_horizon(min(planner.depth, task.budget // task.num_actions))
    search = Search(planner, tree, depth)
    return tree.run(search.spend, search.build)


@dataclass
class Search:
    """The intervals of a tree of fixed depth, and the walks that make them narrower."""

    planner: BAIMCTS
    tree: ChanceTree
    depth: int
    branches: int = 1
    """The most outcomes that were seen of an action."""

    def __post_init__(self) -> None:
        gamma, depth = self.planner.discount, self.depth
        self.spans = [span(gamma, depth - t) for t in range(depth)] + [0.0]
        """What a reward of 1 at each step to the leaves is worth, from each depth on."""

    def spend(self) -> None:
        """Walk from the leader or the challenger, until they are told apart or calls run out."""
        tree, planner = self.tree, self.planner
        for edge in tree.open(tree.root):
            self.walk_from(edge)
        while tree.simulator.left >= self.depth:
            leader, challenger, gap = self.rivals()
            if gap < planner.epsilon:
                return
            first = challenger if challenger and is_wider(challenger, leader) else leader
            self.walk_from(first)
            if planner.rule == "lucb" and challenger and tree.simulator.left >= self.depth:
                self.walk_from(leader if first is challenger else challenger)

    def walk_from(self, first: Edge) -> None:
        """Walk by the largest upper ends after a first action, and make intervals narrower."""

        def choose(node: Node) -> Edge:
            if node is self.tree.root:
                return first
            if self.tree.untried(node):
                return self.tree.try_new(node)
            return max(node.edges, key=lambda edge: (edge.high, -edge.samples))

        for edge in reversed(self.tree.walk(self.depth, choose)[0]):
            self.branches = max(self.branches, len(edge.outcomes))
            self.update(edge)

    def update(self, edge: Edge) -> None:
        """The interval of a chance node: what is known of its outcomes, and a radius for the rest.

        The radius is Hoeffding's, for the mean of r + γV over the samples.
        """
        gamma, depth = self.planner.discount, edge.start.depth
        least, most = self.ends_of(depth)
        radius = (most - least) * math.sqrt(self.beta(edge.samples) / (2 * edge.samples))
        edge.low = max(least, edge.mean + gamma * edge.average(self.low_of) - radius)
        edge.high = min(most, edge.mean + gamma * edge.average(self.high_of) + radius)
        edge.high = max(edge.low, edge.high)
        edge.visits = 1
        edge.value = edge.mean + gamma * edge.average(value_of)

    def beta(self, samples: int) -> float:
        """β(N) for (BK)^D leaves, B being the most outcomes of an action so far."""
        ways = math.log(self.branches * self.tree.task.num_actions)
        leaves = max(1.0, self.depth * ways - math.log(self.planner.delta))  # ln(…/δ)
        return leaves + 3 * math.log(leaves) + 1.5 * math.log(math.log(samples) + 1)

    def ends_of(self, depth: int) -> tuple[float, float]:
        """The range of the returns from a depth on; after an end, rewards are 0."""
        least, most = self.planner.reward_min, self.planner.reward_max
        if self.tree.has_ends:
            least, most = min(least, 0.0), max(most, 0.0)
        return least * self.spans[depth], most * self.spans[depth]

    def low_of(self, node: Node) -> float:
        """The lower end of a decision node: the largest of its edges'."""
        least = self.ends_of(node.depth)[0]
        return max((edge.low for edge in node.edges if edge.visits), default=least)

    def high_of(self, node: Node) -> float:
        """The upper end of a decision node: the largest of its edges'."""
        most = self.ends_of(node.depth)[1]
        if node.depth == self.depth or self.tree.untried(node):
            return most
        return max(edge.high if edge.visits else most for edge in node.edges)

    def rivals(self) -> tuple[Edge, Edge | None, float]:
        """The leader b, its challenger c, and U_c − L_b."""
        edges = self.tree.root.edges
        if len(edges) == 1:
            return edges[0], None, 0.0

        def challenger_of(leader: Edge) -> Edge:
            return max((edge for edge in edges if edge is not leader), key=lambda edge: edge.high)

        if self.planner.rule == "lucb":
            leader = max(edges, key=lambda edge: edge.value)
        else:  # UGapE: the smallest gap to the best of the others
            leader = min(edges, key=lambda e: (challenger_of(e).high - e.low, -e.value))
        challenger = challenger_of(leader)
        return leader, challenger, challenger.high - leader.low

    def build(self) -> Plan | None:
        """Recommend the leader if it was told apart, else the better of the estimates."""
        epsilon, chosen, reached = self.planner.epsilon, None, None
        if all(edge.visits for edge in self.tree.root.edges):
            leader, _, gap = self.rivals()
            reached = True if gap < epsilon else False if epsilon > 0 else None
            chosen = leader if reached else None
        return self.tree.build(self.planner, chosen, reached=reached)


def is_wider(one: Edge, other: Edge) -> bool:
    """Whether one interval is wider; if they are alike, whether it has fewer samples."""
    lead = one.high - one.low - (other.high - other.low)
    return lead > 0.0 or (lead == 0.0 and one.samples < other.samples)


def value_of(node: Node) -> float:
    """The estimate of a decision node; 0 where the tree ends."""
    choice = node.choice
    return 0.0 if choice is None else choice.value
