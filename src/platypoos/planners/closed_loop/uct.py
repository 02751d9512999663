"""UCT, and PolynomialUCT, where dynamics are random."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node
from platypoos.results import Plan
from platypoos.search.base import Task

if TYPE_CHECKING:
    from platypoos.planners.uct import UCT


def plan_by_uct(planner: UCT, task: Task) -> Plan:
    """Plan with a node for each state and depth."""
    tree = ChanceTree(task, by_state=True)
    steps = task.within_horizon(min(planner.horizon, task.budget // task.num_actions))
    return tree.run(lambda: search(planner, tree, steps), lambda: tree.build(planner))


def search(planner: UCT, tree: ChanceTree, steps: int) -> None:
    """Walk after walk, as long as the budget allows a whole one; every step becomes a node."""
    scale, gamma = 1.0 if planner.scale == "auto" else planner.scale, planner.discount
    unit = 0.0 if planner.scale == "auto" else 1.0
    low, high = math.inf, -math.inf

    def choose(node: Node) -> Edge:
        if not node.edges:
            return tree.draw(node)
        if tree.untried(node):
            return tree.try_new(node)
        visits = node.visits
        bonus = scale * unit * (visits**0.25 if planner.polynomial else math.sqrt(math.log(visits)))
        return max(node.edges, key=lambda edge: edge.value + bonus / math.sqrt(edge.visits))

    while tree.simulator.left >= steps:
        path, rewards, end = tree.walk(steps, choose)
        total = tree.worth(end)
        for edge, reward in zip(reversed(path), reversed(rewards), strict=True):
            total = reward + gamma * total
            edge.start.visits += 1
            edge.note(total)
        low, high = min(low, total), max(high, total)
        if planner.scale == "auto":
            unit = high - low
