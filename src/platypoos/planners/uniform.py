"""Uniform planning: all sequences of one length, played equally often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_flag, check_floor
from platypoos.compiled.code import jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.discounting import spans
from platypoos.models.advice import Advice, is_legal
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search import schedules
from platypoos.search.base import Planner, Task
from platypoos.search.growth import find_floor
from platypoos.search.running import run_schedule
from platypoos.trees.requests import ask_legal, evaluate
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree, set_node, set_root

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
    >>> planner = pp.planners.Uniform(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).action
    0
    """

    share: bool = True
    reward_floor: float | None = None

    name: ClassVar[str] = "uniform"
    workers: ClassVar[str] = "many"
    guarantee: ClassVar[str] = "regret bound"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    citation: ClassVar[str] = "Bubeck, Munos. Open-loop optimistic planning. COLT 2010."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_floor(self.reward_floor)
        check_flag("share", self.share)

    def schedule(
        self,
        budget: int,
        num_actions: int,
        access: Access | str = Access.RESTORE,
        horizon: int | None = None,
    ) -> schedules.Schedule:
        """What would be opened at most, known before the first call (with ``share=True``)."""
        return schedules.uniform(budget, num_actions, self.discount, access, horizon)

    def _plan(self, task: Task) -> Plan:
        if self.share:
            schedule = self.schedule(task.budget, task.num_actions, task.access, task.horizon)
            return run_schedule(self, task, schedule, self.reward_floor)
        return self._plan_naive(task)

    def _plan_naive(self, task: Task) -> Plan:
        num_actions = task.num_actions
        depth = schedules.uniform_depth(task.budget, num_actions, task.horizon)
        sequences = num_actions**depth
        sim, tree = task.begin(1 + depth * sequences)
        seed = task.tie_seed()
        rounds, left = divmod(task.budget // depth, sequences)
        repeats = np.full(sequences, rounds, np.int64)
        repeats[task.rng.permutation(sequences)[:left]] += 1
        reset = task.access is Access.RESET
        given_floor = check_floor(self.reward_floor)
        span = spans(self.discount, task.horizon, depth + 1)
        chains = Chains(depth, num_actions, self.discount, span, reset, given_floor, seed)
        node, action, value, floor = run_chains(sim, tree, sim.advice, repeats, chains)
        return self.recommend(
            task,
            tree,
            node,
            action=int(action),
            value=float(value),
            calls=sim.calls,
            reward_floor=float(floor),
        )


class Chains(NamedTuple):
    """All sequences of a depth, each with nodes of its own."""

    depth: int
    num_actions: int
    gamma: float
    span: NDArray[np.float64]  # [depth + 1] worth of a reward of 1 at every later step
    reset: bool
    given_floor: float  # NaN if the smallest reward seen is to be taken
    tie_seed: int


@Driver
def run_chains(
    sim: Any, tree: Tree, advice: Advice, repeats: Ints, chains: Chains
) -> tuple[int, int, float, float]:
    """Give every sequence a chain of nodes of its own, so that it shares no sample."""
    sequences, depth, reset = len(repeats), chains.depth, chains.reset
    nodes = np.empty(sequences, np.int64)
    counts = np.empty(sequences, np.int64)
    make_chains(tree, sequences, depth, chains.num_actions)
    fine = True
    for h in range(depth):
        if fine and (not reset or h == depth - 1):
            asked = list_prefixes(tree, sequences, nodes, h)
            fine = ask_legal(sim, nodes[:asked])
            asked = chain_request(tree, advice.legal, repeats, nodes, counts, h, reset)
            fine = fine and evaluate(sim, tree, nodes[:asked], counts[:asked])
    return best_chain(tree, sequences, chains, advice.worth)


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
def list_prefixes(tree: Tree, sequences: int, nodes: Ints, h: int) -> int:
    """The nodes before step h of every chain that has come so far and not ended; how many."""
    if h == 0:
        nodes[0] = ROOT
        return 1
    count = 0
    for i in range(sequences):
        node = 1 + (h - 1) * sequences + i
        if tree.pulls[node] > 0 and tree.flags[node] & TERMINAL == 0:
            nodes[count] = node
            count += 1
    return count


@jit
def chain_request(
    tree: Tree,
    legal: NDArray[np.uint8],
    repeats: Ints,
    nodes: Ints,
    counts: Ints,
    h: int,
    reset: bool,
) -> int:
    """Step h of every chain that has not ended; with RESET access, walks to the chains' ends."""
    asked = 0
    for i in range(len(repeats)):
        node = 1 + h * len(repeats) + i
        parent = tree.parent[node]
        if not reset and h > 0 and (tree.pulls[parent] == 0 or tree.flags[parent] & TERMINAL):
            continue
        if not reset and not is_legal(legal, parent, tree.action[node]):
            continue
        nodes[asked] = node
        counts[asked] = repeats[i]
        asked += 1
    return asked


@jit
def best_chain(
    tree: Tree, sequences: int, chains: Chains, worth: NDArray[np.float64]
) -> tuple[int, int, float, float]:
    """The chain with the largest value; returns its last node, first action, value, floor."""
    floor, span, tie_seed = chains.given_floor, chains.span, chains.tie_seed
    if len(worth) > 0:
        floor = 0.0
    elif np.isnan(floor):
        floor = find_floor(tree)
    best, best_value = 1, -np.inf
    for i in range(sequences):
        value = 0.0
        end = ROOT
        for h in range(chains.depth - 1, -1, -1):
            node = 1 + h * sequences + i
            if tree.pulls[node] == 0:
                continue
            if end == ROOT:
                end = node
                if tree.flags[node] & TERMINAL:
                    value = -floor * span[h + 1]
                elif len(worth) > 0:
                    value = worth[node]
            value = tree.reward[node] - floor + chains.gamma * value
        if end != ROOT and (
            value > best_value
            or (value == best_value and ticket(tie_seed, end) > ticket(tie_seed, best))
        ):
            best, best_value = end, value
    first = 1 + (best - 1) % sequences
    return best, tree.action[first], best_value + floor * span[0], floor
