"""The best sequence for each first action, step by step, with states and rewards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.discounting import spans
from platypoos.markup import rounded
from platypoos.trees.tree import OPENED, ROOT, TERMINAL, Tree, path_to

if TYPE_CHECKING:
    from platypoos.results import Plan

CONFIDENT = 1.96
"""Standard errors of an interval of 95 %."""


@dataclass(frozen=True)
class Step:
    """One step of a sequence."""

    action: int
    name: str
    reward: float
    """Mean of the samples."""
    samples: int
    weight: float
    """γ^t, what the reward counts."""
    total: float
    """Discounted sum of the rewards so far."""
    ends: bool
    """Whether the episode ends here."""
    source: int
    """Steps with the same number share their samples."""
    state: Any
    """Where the step leads; None if that was not kept."""
    parts: dict[str, float] = field(default_factory=dict)
    """What the reward consists of, if the model says so."""


@dataclass(frozen=True)
class Line:
    """A sequence of actions and what it brings."""

    action: int
    name: str
    """Of the first action…"""
    label: str
    """…and as sentences use it."""
    value: float
    """As the planner counts it."""
    error: float | None
    """Standard error of the value, by the noise that the planner saw; None if it cannot tell."""
    steps: tuple[Step, ...]
    start: Any = None
    """The state that was planned for."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the value lies with 95 % confidence, as far as noise is concerned."""
        if self.error is None:
            return None
        return self.value - CONFIDENT * self.error, self.value + CONFIDENT * self.error

    @property
    def shown(self) -> str:
        """The value as texts show it: with its margin, and not with more digits than that."""
        margin = 0.0 if self.error is None else CONFIDENT * self.error
        text = rounded(self.value, margin)
        return f"{text} ± {rounded(margin, margin)}" if margin > 0.0 else text

    @property
    def seen(self) -> float:
        """Discounted sum of the mean rewards."""
        return self.steps[-1].total if self.steps else 0.0

    @property
    def samples(self) -> int:
        """Samples of all steps; those that steps share are counted once."""
        return sum({step.source: step.samples for step in self.steps}.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain data; states are objects still."""
        return asdict(self) | {"interval": self.interval, "seen": self.seen}


def depths_of(tree: Tree) -> NDArray[np.int64]:
    """Steps from the root to each node; parents come before their children."""
    size = tree.num_nodes
    depth = np.zeros(size, np.int64)
    if size > 1 and tree.depth[ROOT] == 0 and _fits(tree):
        depth[:] = tree.depth[:size]
        return depth
    for node, parent in enumerate(tree.parent[1:size].tolist(), 1):
        depth[node] = depth[parent] + 1
    return depth


def _fits(tree: Tree) -> bool:
    """Whether every node is one step below its parent; with a memory some are not."""
    size = tree.num_nodes
    parents = tree.parent[1:size]
    return bool((tree.depth[1:size] == tree.depth[parents] + 1).all())


def layers_of(depth: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The nodes of each depth from 1 on."""
    order = np.argsort(depth[1:], kind="stable") + 1
    return np.split(order, np.cumsum(np.bincount(depth[1:])[1:])[:-1]) if len(order) else []


def firsts_of(tree: Tree, depth: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first action on the way to each node; −1 for the root."""
    first = np.full(tree.num_nodes, -1, np.int64)
    for h, nodes in enumerate(layers_of(depth)):
        first[nodes] = tree.action[nodes] if h == 0 else first[tree.parent[nodes]]
    return first


def ends_by_action(plan: Plan) -> dict[int, int]:
    """The last node of the best sequence for each first action that has one.

    Of equally good ones the recommended one, or else the longest. The default planner's tree has
    one sequence for each first action. In other trees it is the node with the largest sum of
    discounted rewards, what is unknown counted as in ``Plan.action_values``.
    """
    tree = plan.tree
    size = tree.num_nodes
    depth = depths_of(tree)
    first = firsts_of(tree, depth)
    sums = sums_of(plan, depth)
    leaf = np.ones(size, bool)
    leaf[tree.parent[1:size]] = False
    leaf[ROOT] = False
    eligible = np.isfinite(sums) & (leaf | (tree.flags[:size] & OPENED == 0))
    if plan.rule_node is not None:  # it is a sequence of its own, beside the best ones
        eligible[path_to(tree, plan.rule_node)] = leaf[plan.rule_node] = False
    if np.bincount(first[leaf], minlength=1).max() <= 1:  # one sequence for each first action
        eligible = leaf
    eligible[ROOT] = False
    found: dict[int, int] = {}
    for action in range(plan.num_actions):
        nodes = np.flatnonzero(eligible & (first == action))
        if len(nodes):
            scores = np.nan_to_num(sums[nodes], nan=-np.inf)
            best = nodes[scores >= scores.max()]
            found[action] = int(best[np.argmax(depth[best])])
    if plan.node != ROOT:
        found[plan.action_index] = plan.node
    return found


def sums_of(plan: Plan, depth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Discounted sums of the rewards to each node, less the floor; NaN if a step was not seen."""
    tree, floor = plan.tree, plan.reward_floor
    sums = np.zeros(tree.num_nodes)
    for h, nodes in enumerate(layers_of(depth)):
        rewards = np.where(tree.pulls[nodes] > 0, tree.reward[nodes], np.nan)
        sums[nodes] = sums[tree.parent[nodes]] + plan.discount**h * (rewards - floor)
    deepest = int(depth.max()) if len(depth) else 0
    rest = floor * spans(plan.discount, plan.horizon, deepest + 1)
    ends = tree.flags[: tree.num_nodes] & TERMINAL != 0
    sums[ends] -= plan.discount ** depth[ends] * rest[depth[ends]]
    if plan.worth is not None:
        sums += plan.discount ** depth.astype(np.float64) * plan.worth
    return sums


def line_to(plan: Plan, node: int, value: float) -> Line:
    """The sequence to a node of the plan's tree."""
    tree, names = plan.tree, plan.action_names
    path = []
    while node != ROOT:
        path.append(node)
        node = int(tree.parent[node])
    steps, total = [], 0.0
    for t, at in enumerate(reversed(path)):
        weight = plan.discount**t
        pulls = int(tree.pulls[at])
        reward = float(tree.reward[at]) if pulls else float("nan")
        total += weight * reward
        source = at if plan.sources is None else int(plan.sources[at])
        action = int(tree.action[at])
        ends = bool(tree.flags[at] & TERMINAL)
        state = plan.states.get(at)
        name = names[action]
        steps.append(
            Step(
                action,
                name,
                reward,
                pulls,
                weight,
                total,
                ends,
                source,
                state,
                plan.parts.get(at, {}),
            )
        )
    first = steps[0].action if steps else plan.action_index
    error = None if plan.noise is None else plan.noise.deviation * spread_of(steps)
    name, label = names[first], plan.labels[first]
    return Line(first, name, label, value, error, tuple(steps), plan.state)


def spread_of(steps: Sequence[Step], others: Sequence[Step] = ()) -> float:
    """Standard error of the sum of rewards, less that of other steps, for noise of deviation 1."""
    weights: dict[int, float] = {}
    samples: dict[int, int] = {}
    for some, sign in ((steps, 1.0), (others, -1.0)):
        for step in some:
            weights[step.source] = weights.get(step.source, 0.0) + sign * step.weight
            samples[step.source] = max(1, step.samples)
    return math.sqrt(sum(weight**2 / samples[i] for i, weight in weights.items()))


def difference_of_parts(one: Line, other: Line) -> dict[str, float]:
    """What each part of the rewards brings more along a sequence than along another one."""
    amounts: dict[str, float] = {}
    for line, sign in ((one, 1.0), (other, -1.0)):
        for step in line.steps:
            for name, part in step.parts.items():
                amounts[name] = amounts.get(name, 0.0) + sign * step.weight * part
    return amounts


def rule_line(plan: Plan) -> Line | None:
    """What the user's rule does; None if there is no rule, or if the planner does not say."""
    if plan.rule_node is None:
        return None
    gain = plan.improvement
    return line_to(plan, plan.rule_node, math.nan if gain is None else plan.value - gain.estimate)


def lines_of(plan: Plan) -> dict[int, Line]:
    """The best sequence for each first action that has one."""
    values = plan.action_values
    return {
        action: line_to(plan, node, float(values[action]))
        for action, node in sorted(ends_by_action(plan).items())
    }
