"""BRUE where dynamics are random, which is what its paper is about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from platypoos.planners.closed_loop.tree import ChanceTree, Edge, Node
from platypoos.results import Plan
from platypoos.search.base import Task

if TYPE_CHECKING:
    from platypoos.planners.brue import BRUE


def plan_by_brue(planner: BRUE, task: Task) -> Plan:
    """Plan with a node for each state and depth; walks have at most (N/K)^¼ steps."""
    tree = ChanceTree(task, by_state=True)
    most = math.isqrt(math.isqrt(task.budget // task.num_actions))
    steps = task.within_horizon(min(planner.horizon, most))
    return tree.run(lambda: search(planner, tree, steps), lambda: tree.build(planner))


def search(planner: BRUE, tree: ChanceTree, steps: int) -> None:
    """Walk after walk, the switch one step earlier each time."""
    walks = 0
    while tree.simulator.left >= steps:
        switch = steps - 1 - walks % steps

        def choose(node: Node, switch: int = switch) -> Edge:
            if node.depth < switch:
                return tree.draw(node)
            if node.depth == switch:  # the least updated one
                if tree.untried(node):
                    return tree.try_new(node)
                return min(node.edges, key=lambda edge: edge.visits)
            return node.choice or tree.draw(node)

        path, rewards, end = tree.walk(steps, choose)
        walks += 1
        if len(path) > switch:
            total = tree.worth(end)
            for reward in reversed(rewards[switch:]):
                total = reward + planner.discount * total
            path[switch].note(total)
