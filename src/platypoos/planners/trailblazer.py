"""TrailBlazer: Monte-Carlo planning for a given accuracy and confidence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import ConfidencePlanner, Task
from platypoos.search.growth import (
    Growth,
    begin,
    find_floor,
    finish,
    most_played,
    open_node,
)
from platypoos.trees.protocol import Sampler
from platypoos.trees.tree import ROOT, TERMINAL, Tree


@dataclass(frozen=True, kw_only=True)
class TrailBlazer(ConfidencePlanner):
    """Estimates the value of the state to within ε with probability 1 − δ, and acts on it.

    Use it to see what fixed confidence costs; the paper calls it impractical. It needs to know
    the range of the rewards, noise included, and is asked for ε and δ. The budget is a cap; when
    it is met first, the plan says ``reached=False``. A wrong range is accepted, but voids the
    confidence.

    Reference: J.-B. Grill, M. Valko, R. Munos. Blazing the trails before beating the path:
    sample-efficient Monte-Carlo planning. NIPS 2016.

    Where dynamics are random and states can be stored, it reacts to chance, as published: a node is
    a history, and an AVG node has as many successors as its samples have shown.

    Symbols, for rewards in [0, 1]: η = γ^(1/max(2, ln(1/ε))),
    λ = 2·ln²(ε(1−γ))·ln(ln K/(1−η))/ln(η/γ), m = (ln(1/δ)+λ)/((1−γ)²ε²); the root is a MAX node
    called with (m, ε/2). With deterministic dynamics an AVG node has one successor.

    Deviations: the constants are from memory of the literature, except those above. For one
    action ln K is replaced by 1, and λ is at least 0. ℓ grows by a tenth of itself instead of by
    one: the same confidence by fewer comparisons, for up to a tenth more calls, and in time
    proportional to the calls instead of their square. γ = 0 is taken as 10⁻⁶. It stops as soon as
    the samples it asks for next exceed the cap (after one call for each action, if the cap is too
    low to begin with), and recommends the action with the best estimate.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward, noise included.
        reward_min: the smallest one.
        epsilon: the accuracy, in units of value.
        delta: how likely a failure may be.

    >>> import platypoos as pp
    >>> planner = pp.planners.TrailBlazer(discount=0.2, reward_max=1.0, epsilon=0.5, delta=0.1)
    >>> planner.plan(pp.problems.Garnet(3, 2, seed=0), budget=1_000, seed=0).reached
    False
    """

    name: ClassVar[str] = "trailblazer"
    workers: ClassVar[str] = "few"
    guarantee: ClassVar[str] = "accuracy"
    finite: ClassVar[bool] = False
    reacts: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Grill, Valko, Munos. Blazing the trails before beating the path: sample-efficient "
        "Monte-Carlo planning. NIPS 2016."
    )

    def _plan(self, task: Task) -> Plan:
        if task.has_chance:
            from platypoos.planners.closed_loop.trailblazer import plan_by_trailblazer

            return plan_by_trailblazer(self, task)
        sim, tree, growth = begin(task, 1)
        search = Search(self, task, sim, tree, growth)
        first = search.children(ROOT)
        sim.evaluate(tree, first, np.ones(len(first), np.int64))
        anything = search.anything_will_do
        reached = True
        try:
            if not anything:
                value, best = search.maximum(ROOT, search.samples, search.epsilon / 2)
        except CapError:
            reached = False
        floor = float(find_floor(tree))
        if anything or not reached:
            first = search.children(ROOT)
            most_played(self, task, tree, growth, floor)
            values = tree.value
            node = max(search.chance.permutation(first).tolist(), key=lambda child: values[child])
        else:
            search.first[best] = value
            values = np.full(tree.num_nodes, np.nan)
            for child, scaled in search.first.items():
                values[child] = search.unscaled(scaled)
            node = best
        return finish(self, task, sim, tree, node, values, floor=floor, reached=reached)


class CapError(Exception):
    """The budget does not allow the samples asked for."""


class Elimination(ABC):
    """MAX nodes, for both forms of AVG nodes. Values are for rewards scaled to [0, 1]."""

    root: Any

    def __init__(self, planner: TrailBlazer, task: Task) -> None:
        self.first: dict[Any, float] = {}  # the latest values of the first actions
        self.num_actions, self.discount = task.num_actions, planner.discount
        self.low = planner.reward_min
        self.width = planner.reward_max - planner.reward_min
        self.gamma = gamma = max(planner.discount, 1e-6)
        self.delta = planner.delta
        self.epsilon = epsilon = min(planner.epsilon / self.width, 1 / (1 - gamma))
        self.eta = eta = gamma ** (1 / max(2.0, math.log(1 / epsilon)))
        arms = math.log(self.num_actions) if self.num_actions > 1 else 1.0
        self.lam = max(
            0.0,
            2
            * math.log(epsilon * (1 - gamma)) ** 2
            * math.log(arms / (1 - eta))
            / math.log(eta / gamma),
        )
        self.samples = math.ceil(
            (math.log(1 / planner.delta) + self.lam) / ((1 - gamma) ** 2 * epsilon**2)
        )

    @property
    def anything_will_do(self) -> bool:
        """Whether the accuracy that is asked for is as wide as the range of the values."""
        return self.epsilon >= 1 / (1 - self.gamma)

    @abstractmethod
    def actions(self, node: Any) -> list[Any]:
        """The AVG nodes below a MAX node; made if there are none."""

    @abstractmethod
    def average(self, action: Any, samples: int, epsilon: float) -> float:
        """AVG: the mean reward, and what follows."""

    def shuffled(self, actions: list[Any]) -> list[Any]:
        """Some AVG nodes, in random order."""
        return actions

    def maximum(self, node: Any, samples: int, epsilon: float) -> tuple[float, Any]:
        """MAX: the value of the best action, found by elimination; and the AVG node of it."""
        if epsilon >= 1 / (1 - self.gamma):
            return 0.0, None
        alive = self.actions(node)
        gamma, eta = self.gamma, self.eta
        plays, radius = 1, math.inf
        values: dict[Any, float] = {}
        while len(alive) > 1 and radius >= (1 - eta) * epsilon:
            logarithm = math.log(self.num_actions * plays / (self.delta * epsilon))
            radius = (2 / (1 - gamma)) * math.sqrt(
                max(0.0, logarithm + gamma / (eta - gamma) + self.lam + 1) / plays
            )
            accuracy = radius * eta / (1 - eta)
            values = {action: self.average(action, plays, accuracy) for action in alive}
            if node == self.root:
                self.first.update(values)
            margin = 2 * radius / (1 - eta)
            best = max(values.values())
            alive = [action for action in alive if values[action] + margin >= best - margin]
            plays = max(plays + 1, math.ceil(1.1 * plays))
        if len(alive) == 1:
            return self.average(alive[0], samples, eta * epsilon), alive[0]
        winner = max(self.shuffled(alive), key=values.__getitem__)
        return values[winner], winner

    def unscaled(self, value: float) -> float:
        """A value in units of the rewards."""
        return self.low / (1 - self.discount) + self.width * value


class Search(Elimination):
    """Deterministic dynamics: an AVG node is a node of the tree, and has one successor: itself."""

    root = ROOT

    def __init__(
        self, planner: TrailBlazer, task: Task, sim: Sampler, tree: Tree, growth: Growth
    ) -> None:
        super().__init__(planner, task)
        self.sim: Any = sim
        self.tree, self.growth, self.task = tree, growth, task
        self.chance = np.random.default_rng(growth.seed)  # for ties

    def children(self, node: int) -> Any:
        """The children of a node; made if there are none."""
        if self.growth.children[node] == 0:
            if self.tree.num_nodes + self.num_actions > len(self.tree.parent):
                raise CapError
            self.sim.ask_legal(np.array([node]))
            open_node(self.tree, self.growth, node)
        first = int(self.growth.first[node])  # made last
        return np.arange(first - self.growth.children[node] + 1, first + 1)

    def actions(self, node: int) -> list[int]:
        """The same as numbers."""
        return self.children(node).tolist()  # type: ignore[no-any-return]

    def shuffled(self, actions: list[int]) -> list[int]:
        """Some nodes, in random order."""
        return self.chance.permutation(actions).tolist()  # type: ignore[no-any-return]

    def average(self, node: int, samples: int, epsilon: float) -> float:
        """AVG: the mean reward, and what follows."""
        tree = self.tree
        if epsilon >= 1 / (1 - self.gamma):
            return 0.0
        missing = samples - int(tree.pulls[node])
        if missing > 0:
            price = int(tree.depth[node]) if self.task.access is Access.RESET else 1
            if self.sim.calls + missing * price > self.task.budget:
                raise CapError
            self.sim.evaluate(tree, np.array([node]), np.array([missing]))
        reward = (float(tree.reward[node]) - self.low) / self.width
        if tree.flags[node] & TERMINAL:
            return reward - self.gamma * self.low / self.width / (1 - self.gamma)
        return reward + self.gamma * self.maximum(node, samples, epsilon / self.gamma)[0]
