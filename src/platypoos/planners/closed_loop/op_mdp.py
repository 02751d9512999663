"""OP-MDP: a tree of histories, with probabilities that are known, or estimated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from platypoos.checks import LARGEST_REWARD
from platypoos.errors import ModelError, TransitionError
from platypoos.models.failures import bad_reward, list_successors, located
from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node

if TYPE_CHECKING:
    from platypoos.planners.op_mdp import OPMDP


class Search:
    """Leaves are expanded in the order of what they may change.

    Args:
        planner: its parameters.
        tree: what is known; nodes have bounds of their values.
        look: finds out where the edges of a node lead, and how likely that is.
        cost: calls that this takes at most.
    """

    def __init__(
        self, planner: OPMDP, tree: ChanceTree, look: Callable[[list[Edge]], object], cost: int
    ) -> None:
        self.planner, self.tree, self.look, self.cost = planner, tree, look, cost
        self.promise: dict[Node | None, float] = {None: -1.0}
        """The largest P·γ^d of a leaf in the optimistic subtree of a node; −1 if there is none."""

    def spend(self) -> None:
        """Expand the leaf of the optimistic subtree with the largest P·γ^d, again and again."""
        tree = self.tree
        self.set_leaf(tree.root, 1.0)
        while self.promise[tree.root] >= 0.0 and tree.simulator.left >= self.cost:
            path = [tree.root]
            while path[-1].edges:
                path.append(self.next_node(path[-1]))
            self.expand(path[-1])
            for node in reversed(path):
                self.back_up(node)

    def set_leaf(self, node: Node, weight: float) -> None:
        """The bounds of a leaf; ``weight`` is P·γ^d."""
        worth = self.tree.span_from(node.depth, self.planner.discount)
        node.low, node.high = self.planner.reward_min * worth, self.planner.reward_max * worth
        self.promise[node] = weight

    def next_node(self, node: Node) -> Node:
        """The node to which the optimistic action leads, above the most promising leaf."""
        edge = max(node.edges, key=lambda edge: edge.high)
        after = max(edge.outcomes, key=self.promise.__getitem__)
        assert after is not None  # noqa: S101  an end promises nothing
        return after

    def expand(self, node: Node) -> None:
        """Find out where all actions lead from a leaf."""
        weight = self.promise[node] * self.planner.discount
        edges = self.tree.open(node)
        self.look(edges)
        for edge in edges:
            for after, count in edge.outcomes.items():
                if after is not None:
                    self.set_leaf(after, weight * count / edge.samples)

    def back_up(self, node: Node) -> None:
        """The bounds of a node, from those of the nodes below it."""
        gamma = self.planner.discount
        for edge in node.edges:
            edge.low = edge.mean + gamma * edge.average(lambda after: after.low)
            edge.high = edge.mean + gamma * edge.average(lambda after: after.high)
            edge.visits, edge.value = 1, edge.low
        node.low = max(edge.low for edge in node.edges)
        node.high = max(edge.high for edge in node.edges)
        optimistic = max(node.edges, key=lambda edge: edge.high)
        self.promise[node] = max(self.promise[after] for after in optimistic.outcomes)


def listed(tree: ChanceTree, most: int, edges: list[Edge]) -> None:
    """Let edges have the successors that the model lists; each counts as a call."""
    simulator = tree.simulator
    for edge in edges:
        state = edge.start.stored
        try:
            entries = list_successors(tree.task.model, state, edge.action)
            simulator.calls += len(entries)
            if len(entries) > most:
                raise TransitionError(
                    f"successors listed {len(entries)} entries, but max_successors is {most}"
                )
            chances = [entry[0] for entry in entries]
            if not entries or min(chances) < 0 or not abs(sum(chances) - 1) <= 1e-6:
                raise TransitionError(
                    "successors must list probabilities of at least 0 that add up to 1, got "
                    f"{chances}"
                )
            for chance, after, reward, ended in entries:
                if not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
                    raise bad_reward(reward, state, edge.action)
                node = tree.node_after(edge, after, ended=ended)
                edge.outcomes[node] = edge.outcomes.get(node, 0.0) + chance
                edge.mean += chance * reward
        except ModelError as error:
            raise located(error, state, edge.action) from error.__cause__
        edge.samples = 1
        tree.known += 1
