"""Uniform planning: all sequences of one length, played equally often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from platypoos import schedules
from platypoos._jit import jit
from platypoos.checks import check_flag, check_floor
from platypoos.models.base import Access
from platypoos.plan import Plan
from platypoos.planners.base import Planner, Task
from platypoos.planners.growth import find_floor
from platypoos.planners.layered import run_schedule
from platypoos.simulator import evaluate
from platypoos.simulator_compiled import Driver
from platypoos.tree import ROOT, TERMINAL, Tree, set_node, set_root, ticket

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Uniform(Planner):
    """Plays every sequence of H actions equally often; H is the largest that the budget allows.

    Use it as a yardstick: a planner that adapts must beat it. It needs to know nothing.

    Reference: S. Bubeck, R. Munos. Open-loop optimistic planning. COLT 2010, Section 2.2, as
    discussed in Bartlett et al., ICML 2019, Section 3.

    Symbols: H is ``Plan.depth``. ``share=True`` is the good strategy: a reward counts for all
    sequences that begin with the actions it was collected by. ``share=False`` is the naive one:
    each sequence uses its own samples only.

    Deviations: budget that is left repeats sequences: evenly over each depth (good), or some
    sequences, picked at random, once more (naive). Values are counted from ``reward_floor``.

    Args:
        discount: γ, in [0, 1).
        share: good (True) or naive (False).
        reward_floor: the reward that unseen steps are counted at; None for the smallest seen.

    >>> import platypoos as pp
    >>> pp.Uniform(discount=0.95).plan(pp.problems.SwitchChain(), budget=1_000, seed=0).action
    0
    """

    share: bool = True
    reward_floor: float | None = None

    name: ClassVar[str] = "uniform"
    citation: ClassVar[str] = "Bubeck, Munos. Open-loop optimistic planning. COLT 2010."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_floor(self.reward_floor)
        check_flag("share", self.share)

    def schedule(
        self, budget: int, num_actions: int, access: Access | str = Access.RESTORE
    ) -> schedules.Schedule:
        """What would be opened, known before the first call (with ``share=True``)."""
        return schedules.uniform(budget, num_actions, self.discount, access)

    def _plan(self, task: Task) -> Plan:
        if self.share:
            schedule = self.schedule(task.budget, task.num_actions, task.access)
            return run_schedule(task, schedule, self.reward_floor)
        return self._plan_naive(task)

    def _plan_naive(self, task: Task) -> Plan:
        num_actions = task.num_actions
        depth = schedules.uniform_depth(task.budget, num_actions)
        sequences = num_actions**depth
        sim, tree = task.begin(1 + depth * sequences)
        seed = task.tie_seed()
        rounds, left = divmod(task.budget // depth, sequences)
        repeats = np.full(sequences, rounds, np.int64)
        repeats[task.rng.permutation(sequences)[:left]] += 1
        reset = task.access is Access.RESET
        given_floor = check_floor(self.reward_floor)
        node, action, value, floor = run_chains(
            sim, tree, repeats, depth, num_actions, self.discount, reset, given_floor, seed
        )
        return Plan(
            action=int(action),
            value=float(value),
            calls=sim.calls,
            budget=task.budget,
            discount=self.discount,
            state=task.state,
            num_actions=num_actions,
            node=int(node),
            p_index=0,
            reward_floor=float(floor),
            tree=tree,
        )


@Driver
def run_chains(
    sim: Any,
    tree: Tree,
    repeats: Ints,
    depth: int,
    num_actions: int,
    gamma: float,
    reset: bool,
    given_floor: float,
    tie_seed: int,
) -> tuple[int, int, float, float]:
    """Give every sequence a chain of nodes of its own, so that it shares no sample."""
    sequences = len(repeats)
    nodes = np.empty(sequences, np.int64)
    counts = np.empty(sequences, np.int64)
    make_chains(tree, sequences, depth, num_actions)
    fine = True
    for h in range(depth):
        if fine and (not reset or h == depth - 1):
            asked = chain_request(tree, repeats, nodes, counts, h, reset)
            fine = evaluate(sim, tree, nodes[:asked], counts[:asked])
    return best_chain(tree, depth, sequences, gamma, given_floor, tie_seed)


@jit
def make_chains(tree: Tree, sequences: int, depth: int, num_actions: int) -> None:
    """Node 1 + h·sequences + i is the prefix of length h + 1 of sequence i."""
    set_root(tree)
    for h in range(depth):
        digit = num_actions ** (depth - 1 - h)
        for i in range(sequences):
            node = 1 + h * sequences + i
            parent = ROOT if h == 0 else node - sequences
            set_node(tree, node, parent, i // digit % num_actions, h + 1, 0)
    tree.size[0] = 1 + depth * sequences


@jit
def chain_request(tree: Tree, repeats: Ints, nodes: Ints, counts: Ints, h: int, reset: bool) -> int:
    """Step h of every chain that has not ended; with RESET access, walks to the chains' ends."""
    asked = 0
    for i in range(len(repeats)):
        node = 1 + h * len(repeats) + i
        parent = tree.parent[node]
        if not reset and h > 0 and (tree.pulls[parent] == 0 or tree.flags[parent] & TERMINAL):
            continue
        nodes[asked] = node
        counts[asked] = repeats[i]
        asked += 1
    return asked


@jit
def best_chain(
    tree: Tree, depth: int, sequences: int, gamma: float, floor: float, tie_seed: int
) -> tuple[int, int, float, float]:
    """The chain with the largest value; returns its last node, first action, value, floor."""
    if np.isnan(floor):
        floor = find_floor(tree)
    best, best_value = 1, -np.inf
    for i in range(sequences):
        value = 0.0
        end = ROOT
        for h in range(depth - 1, -1, -1):
            node = 1 + h * sequences + i
            if tree.pulls[node] == 0:
                continue
            if end == ROOT:
                end = node
                if tree.flags[node] & TERMINAL:
                    value = -floor / (1.0 - gamma)
            value = tree.reward[node] - floor + gamma * value
        if value > best_value or (
            value == best_value and ticket(tie_seed, end) > ticket(tie_seed, best)
        ):
            best, best_value = end, value
    first = 1 + (best - 1) % sequences
    return best, tree.action[first], best_value + floor / (1.0 - gamma), floor
