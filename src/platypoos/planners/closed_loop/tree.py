"""A tree of decision nodes and chance nodes, and the calls that make it grow.

Published planners plan with it where dynamics are random and states can be stored. In a decision
node (``Node``) the planner chooses. In a chance node (``Edge``: an action in a decision node) the
simulator does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from platypoos.discounting import span
from platypoos.models.advice import Advisor
from platypoos.models.base import RANDOM, actions_of, dynamics_of
from platypoos.models.keys import key_failure, key_of
from platypoos.models.numbered import original
from platypoos.planners.chance.decision import show, spanning_tree
from platypoos.planners.chance.planner import run_and_build
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.simulator import Request, Simulator
from platypoos.trees.tree import Tree


class Node:
    """A decision node: a state that was reached after so many steps."""

    __slots__ = ("depth", "edges", "high", "low", "stored", "untried", "visits")

    def __init__(self, stored: Any, depth: int) -> None:
        self.stored, self.depth = stored, depth
        self.edges: list[Edge] = []
        self.untried: list[int] | None = None
        """The legal actions without an edge, in random order; None if nobody asked."""
        self.visits = 0
        """How often a planner has passed; what counts as a pass is its own affair."""
        self.low = self.high = 0.0
        """Bounds of the value, for planners that have some."""

    @property
    def choice(self) -> Edge | None:
        """The most valuable edge; None if none has a value. Ties are broken by their order."""
        known = [edge for edge in self.edges if edge.visits]
        return max(known, key=lambda edge: edge.value, default=None)


class Edge:
    """A chance node: an action that was taken in a decision node, and where it led."""

    __slots__ = (
        "action",
        "high",
        "low",
        "mean",
        "outcomes",
        "samples",
        "start",
        "value",
        "visits",
    )

    def __init__(self, start: Node, action: int) -> None:
        self.start, self.action = start, action
        self.samples = 0
        """Calls of the simulator."""
        self.mean = 0.0
        """Of their rewards."""
        self.outcomes: dict[Node | None, float] = {}
        """Where they led (None: the episode ended), and how often."""
        self.visits = 0
        """How often ``value`` was brought up to date; 0 if there is none yet."""
        self.value = 0.0
        """What the action and all that follows is worth."""
        self.low = self.high = 0.0
        """Bounds of the value, for planners that have some."""

    def average(self, of: Callable[[Node], float], end: float = 0.0) -> float:
        """The mean over what was seen to follow; an end is worth ``end``."""
        total = 0.0
        for node, count in self.outcomes.items():
            total += count * (end if node is None else of(node))
        return total / self.samples

    def note(self, value: float) -> None:
        """Let ``value`` be the mean of one more."""
        self.visits += 1
        self.value += (value - self.value) / self.visits


class ChanceTree:
    """What a planner has seen, below the state to plan for.

    Args:
        task: what is asked for.
        by_state: equal states after equally many steps are one node, however they were reached.
            Else they are one node only if the same action led there from the same node.
    """

    def __init__(self, task: Task, *, by_state: bool) -> None:
        self.task, self._by_state = task, by_state
        self.random = random.Random(task.tie_seed())  # noqa: S311  for search, not for secrets
        self.simulator = Simulator(
            task.model,
            task.rng,
            budget=task.budget,
            state=task.state,
            access=task.access,
            executor=task.executor,
            timeout=task.timeout,
        )
        self._key = key_of(task.model, task.state)
        self._advisor = Advisor(task.model)
        self.is_valued = self._advisor.valued
        """Whether the model says what states are worth."""
        self._met: dict[Hashable, Node] = {}
        self.root = Node(task.state, 0)
        self.depth = 0
        """Of the deepest edge."""
        self.known = 0
        """Edges with a sample."""
        self.total = 0.0
        """Of all rewards."""
        self.lowest = np.inf
        """The smallest reward; at most 0 once an episode has ended."""
        self.has_ends = False
        """Whether an episode has ended."""

    # ------------------------------------------------------------------ actions

    def untried(self, node: Node) -> list[int]:
        """The legal actions that have no edge yet, in random order."""
        if node.untried is None:
            legal = self.simulator.legal
            node.untried = list(
                range(self.task.num_actions) if legal is None else legal(node.stored)
            )
            self.random.shuffle(node.untried)
        return node.untried

    def try_new(self, node: Node) -> Edge:
        """An edge for an action that has none yet, at random."""
        edge = Edge(node, self.untried(node).pop())
        node.edges.append(edge)
        return edge

    def open(self, node: Node) -> list[Edge]:
        """Edges for all legal actions, in random order."""
        while self.untried(node):
            self.try_new(node)
        return node.edges

    def draw(self, node: Node) -> Edge:
        """An action for a roll-out: any legal one, or in a new state one by the model's policy."""
        untried = self.untried(node)
        number = int(self.random.random() * (len(untried) + len(node.edges)))
        action = -1
        if self._advisor.guided and not node.edges and node is not self.root:
            action = self._by_policy(node)
        elif number < len(node.edges):
            return node.edges[number]
        else:
            action = untried[number - len(node.edges)]
        untried.remove(action)
        edge = Edge(node, action)
        node.edges.append(edge)
        return edge

    def _by_policy(self, node: Node) -> int:
        mask = np.zeros(self.task.num_actions, np.uint8)
        mask[self.untried(node)] = 1
        weights = self._advisor.weights(node.stored, mask).tolist()
        return self.random.choices(range(len(weights)), weights)[0]

    # ------------------------------------------------------------------ calls

    def step(self, edge: Edge) -> tuple[Node | None, float]:
        """Call the simulator once: the node that it leads to (None after an end), the reward."""
        request = Request(edge.start.stored, (edge.action,), 1)
        _, stored, reward, ended = self.simulator.run([request], check_legal=False)[0][0][0]
        return self.learn(edge, stored, reward, ended=ended), reward

    def sample(self, edges: Sequence[Edge], times: int) -> list[list[tuple[Node | None, float]]]:
        """Call the simulator so many times for each edge, in one batch; see ``step``."""
        batch = [Request(edge.start.stored, (edge.action,), 1, times) for edge in edges]
        failure: BaseException | None = None
        try:
            replies = self.simulator.run(batch, check_legal=False)
        except BaseException as error:  # noqa: BLE001  it is raised when all is learned
            replies, failure = getattr(error, "replies", []), error
        found = [
            [
                (self.learn(edge, stored, reward, ended=ended), reward)
                for ((_, stored, reward, ended),) in walks
            ]
            for edge, walks in zip(edges, replies, strict=False)
        ]
        if failure is not None:
            raise failure from failure.__cause__
        return found

    def walk(
        self, steps: int, choose: Callable[[Node], Edge]
    ) -> tuple[list[Edge], list[float], Node | None]:
        """Walk from the root: the edges, the rewards, and where the walk stopped."""
        node: Node | None = self.root
        path: list[Edge] = []
        rewards: list[float] = []
        while node is not None and len(path) < steps:
            edge = choose(node)
            node, reward = self.step(edge)
            path.append(edge)
            rewards.append(reward)
        return path, rewards, node

    def learn(self, edge: Edge, stored: Any, reward: float, *, ended: bool) -> Node | None:
        """Add a sample of an edge; returns the node it led to, None after an end."""
        self.known += not edge.samples
        self.total += reward
        self.lowest = min(self.lowest, reward, 0.0 if ended else reward)
        self.has_ends |= ended
        edge.samples += 1
        edge.mean += (reward - edge.mean) / edge.samples
        node = self.node_after(edge, stored, ended=ended)
        edge.outcomes[node] = edge.outcomes.get(node, 0) + 1
        return node

    def node_after(self, edge: Edge, stored: Any, *, ended: bool) -> Node | None:
        """The node that an edge has led to, a new one if it was never met; None after an end."""
        depth = edge.start.depth + 1
        self.depth = max(self.depth, depth)
        if ended or depth == self.task.horizon:
            return None
        if self._key is None:
            return Node(stored, depth)
        try:
            key = self._key(stored)
            name: Hashable = (depth if self._by_state else edge, key)
            found = None if key is None else self._met.get(name)
        except Exception as error:
            raise key_failure(error, stored) from error
        if found is None:
            found = Node(stored, depth)
            if key is not None:
                self._met[name] = found
        return found

    # ------------------------------------------------------------------ values

    def worth(self, node: Node | None) -> float:
        """What the model says that a state is worth; 0 after an end, or if it says nothing."""
        return self._advisor.value(node.stored) if node is not None and self.is_valued else 0.0

    def nodes(self) -> list[Node]:
        """All decision nodes, the root first, and each one after those that lead to it."""
        found: dict[Node, None] = {self.root: None}
        waiting = [self.root]
        for node in waiting:
            for edge in node.edges:
                for after in edge.outcomes:
                    if after is not None and after not in found:
                        found[after] = None
                        waiting.append(after)
        return waiting

    def back_up(self, discount: float, leaf: Callable[[Node], float]) -> None:
        """Let all values be those of the best known policy; ``leaf`` is what leaves are worth."""

        def value_of(node: Node) -> float:
            choice = node.choice
            return leaf(node) if choice is None else choice.value

        for node in reversed(self.nodes()):
            for edge in node.edges:
                if edge.samples:
                    edge.visits = 1
                    edge.value = edge.mean + discount * edge.average(value_of)

    def span_from(self, depth: int, discount: float) -> float:
        """What a reward of 1 is worth at each step from a depth to the horizon."""
        horizon = self.task.horizon
        return span(discount, None if horizon is None else horizon - depth)

    def build(self, planner: Planner, chosen: Edge | None = None, **more: Any) -> Plan | None:
        """The plan that recommends an edge of the root; None if no edge has a value yet.

        Args:
            planner: whose plan it is.
            chosen: what it recommends; the most valuable edge if left out.
            more: further fields of ``Plan``.
        """
        root = self.root
        edge = chosen or root.choice
        if edge is None:
            return None
        payloads = actions_of(original(self.task.model)).payloads
        values = np.full(self.task.num_actions, np.nan)
        for other in root.edges:
            if other.visits:
                values[other.action] = other.value
        fields = show(root, edge, self.depth, self.known, payloads) | {"estimates": values, **more}
        if dynamics_of(self.task.model) != RANDOM:
            fields["outcomes"] = ()
        tree, node = fields.pop("tree"), fields.pop("node")
        calls = self.simulator.calls
        return planner.recommend(self.task, tree, node, value=edge.value, calls=calls, **fields)

    def run(self, spend: Callable[[], object], build: Callable[[], Plan | None]) -> Plan:
        """Spend the budget and build the plan. If the model fails, what was learned is kept."""

        def kept() -> Tree:
            return spanning_tree(self.root, self.known)

        return run_and_build(self.task, self.simulator, spend, build, kept)
