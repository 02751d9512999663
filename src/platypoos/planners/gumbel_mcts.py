"""Gumbel MCTS: sequential halving at the root, a deterministic rule below it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.discounting import spans
from platypoos.models.advice import is_legal, legal_action, random_unit
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.growth import NOBODY, Growth, begin, find_child, finish, options, prune
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, TERMINAL, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

C_VISIT = 50.0
C_SCALE = 0.1
NEGLIGIBLE = 0.01
"""Walks end where the discount has become this small."""

SEEN = np.dtype(
    [
        ("total", "f8"),  # of the rewards sampled, each less the origin
        ("number", "f8"),  # how many there were
        ("lowest", "f8"),  # q
        ("highest", "f8"),  # q
        ("origin", "f8"),  # the first reward
        ("left", "i8"),  # first actions that are left
        ("phase", "i8"),  # of the halving
    ]
)


@dataclass(frozen=True, kw_only=True)
class GumbelMCTS(Planner):
    """Halves the first actions by their values; below, visits follow an improved policy.

    Use it to compare with the search of Gumbel MuZero, without its networks. With deterministic
    dynamics a reward is sampled once by RESTORE, so rewards must have no noise. By RESET noise is
    averaged, since every walk begins at the root: with noise of up to 1, the regret below is 6 %
    after 10,000 calls.

    Where dynamics are random and states can be stored, it reacts to chance: every walk begins at
    the root, and chance plays anew at each step. A node is a history. Noise is averaged there too.

    Reference: I. Danihelka, A. Guez, J. Schrittwieser, D. Silver. Policy improvement by planning
    with Gumbel. ICLR 2022.

    Symbols: n, the simulations, is the budget; m ``max_considered``; N(a) ``Growth.plays``;
    σ(q) = (c_visit + max N)·c_scale·q with c_visit = 50 and c_scale = 0.1, which is the default
    of mctx; g ``Search.gumbel``; the completed q, scaled by σ, ``Search.scaled``.

    Deviations:
        The prior is uniform. The value of a new node is the model's ``value``. Without one, every
        unseen step counts as the mean reward of all calls so far, and a step after an end as 0.
        On 40 Garnets with 20 states, 3 actions, γ = 0.9 and 100 calls, the mean regret was 2 % of
        the gap between the best and the worst action; with the value 0 it was 16 %, and 52 % if
        all rewards were lower by 100.
        The score of a first action is ``gumbel_scale``·g + σ(q). With the default scale of 0, as
        mctx advises for evaluation, g chooses the actions to consider and breaks ties.
        q is scaled by the smallest and largest q seen in the whole tree, as in MuZero. mctx takes
        the smallest and largest of the node, which had 5 times the regret above.
        The phases of the halving have equal shares of the calls, not of the simulations. The two
        actions left in the last phase are compared even if one has a visit more.
        v_mix of the root is the mean of the actions tried: the root's own value is not asked for.
        A walk has at most D steps, with γ^D ≤ 0.01. A walk to an end, to the horizon or to depth
        D samples the last reward again, so by RESTORE every simulation costs one call. By RESET
        planning ends when a walk does not fit into the budget.
        In the paper dynamics are deterministic. With chance nodes, as Stochastic MuZero has them,
        a simulation costs a call for each step, and the last one does not count if the budget
        cuts it short.

    Args:
        discount: γ, in [0, 1), or 1 with a horizon.
        max_considered: m, the most first actions to try.
        gumbel_scale: the weight of the noise g in the scores of the first actions.

    >>> import platypoos as pp
    >>> planner = pp.planners.GumbelMCTS(discount=0.8)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=500, seed=0).action
    0
    """

    max_considered: int = 16
    gumbel_scale: float = 0.0

    name: ClassVar[str] = "gumbel-mcts"
    citation: ClassVar[str] = (
        "Danihelka, Guez, Schrittwieser, Silver. Policy improvement by planning with Gumbel. "
        "ICLR 2022."
    )
    needs: ClassVar[str] = "rewards without noise, unless by RESET or with random dynamics"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    reacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        considered = check_count("max_considered", self.max_considered)
        scale = check_number("gumbel_scale", self.gumbel_scale, least=0)
        object.__setattr__(self, "max_considered", considered)
        object.__setattr__(self, "gumbel_scale", scale)

    def _plan(self, task: Task) -> Plan:
        if task.has_chance:
            from platypoos.planners.closed_loop.gumbel_mcts import plan_by_gumbel

            return plan_by_gumbel(self, task)
        longest = longest_walk(task, self.discount)
        sim, tree, growth = begin(task, longest)
        search = begin_search(self, task, growth, longest, valued=len(sim.advice.worth) > 0)
        restore = task.access is Access.RESTORE
        run(sim, tree, growth, search, task.budget, self.discount, restore)
        return finish(self, task, sim, tree, recommend(tree, growth, search), tree.value)


class Search(NamedTuple):
    """What is kept beside the tree.

    The mean return of a node is kept in two parts: ``Tree.value`` is the part of the rewards that
    were sampled (and of the model's values), ``Growth.score`` the discounted number of steps that
    were not seen. So all values always use the latest mean reward. Until the end, rewards are
    counted from the first one sampled: what they have in common is no rounding error then.
    """

    said: Floats  # [capacity] the model's value of the state after a node
    span: Floats  # [longest + 1] discounted number of steps left at each depth
    gumbel: Floats  # [actions] g
    visits: Ints  # [actions] N(a) at the node looked at last…
    scaled: Floats  # [actions] …and σ(q), up to a constant
    considered: Ints  # [m] the first actions tried; those that are left come first
    seen: Any  # [1] SEEN
    phases: int
    longest: int
    gumbel_scale: float
    valued: bool


def longest_walk(task: Task, gamma: float) -> int:
    """D, the most steps of a walk."""
    steps = task.budget
    if gamma == 0.0:
        steps = 1
    elif gamma < 1.0:
        steps = min(steps, math.ceil(math.log(NEGLIGIBLE) / math.log(gamma)))
    return task.within_horizon(steps)


def begin_search(
    planner: GumbelMCTS, task: Task, growth: Growth, longest: int, *, valued: bool
) -> Search:
    """Draw the Gumbel numbers and the actions to consider."""
    actions = range(task.num_actions)
    units = np.array([random_unit(growth.seed & 0xFFFFFFFF, action + 1) for action in actions])
    gumbel = -np.log(-np.log(units + 2.0**-33))  # a unit can be 0
    legal = np.array([action for action in actions if is_legal(growth.legal, ROOT, action)])
    considered = legal[np.argsort(-gumbel[legal])][: planner.max_considered]
    return Search(
        said=np.empty(len(growth.first)),
        span=spans(planner.discount, task.horizon, longest + 1),
        gumbel=gumbel,
        visits=np.zeros(task.num_actions, np.int64),
        scaled=np.zeros(task.num_actions),
        considered=considered,
        seen=np.array([(0, 0, np.inf, -np.inf, 0, len(considered), 0)], SEEN).view(np.recarray),
        phases=max(1, math.ceil(math.log2(len(considered)))),
        longest=longest,
        gumbel_scale=planner.gumbel_scale,
        valued=valued,
    )


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    search: Search,
    budget: int,
    gamma: float,
    restore: bool,
) -> int:
    """Simulation after simulation; returns how many."""
    simulations = 0
    while calls_made(sim) < budget:
        calls = calls_made(sim)
        steps = choose_walk(tree, growth, search, calls, budget)
        start = steps - 1 if restore else 0
        if calls + steps - start > budget:
            take_back(tree, growth, steps)
            break
        got = play(sim, tree, growth.path[:steps], growth.rewards, start, False)
        if got < 0:
            break
        made = calls_made(sim) - calls
        back_up(tree, growth, search, start, steps, got, made, gamma)
        simulations += 1
    return simulations


@jit
def choose_walk(tree: Tree, growth: Growth, search: Search, calls: int, budget: int) -> int:
    """A path to a new node, to an end or to the largest depth; returns its length."""
    tree, growth, search = borrowed(tree), borrowed(growth), borrowed(search)
    action = first_action(tree, growth, search, calls, budget)
    node = find_child(tree, growth, ROOT, action)
    growth.path[0] = node
    steps = 1
    while growth.plays[node] > 0 and steps < search.longest and tree.flags[node] & TERMINAL == 0:
        node = find_child(tree, growth, node, inner_action(tree, growth, search, node))
        growth.path[steps] = node
        steps += 1
    return steps


@inlined
def first_action(tree: Tree, growth: Growth, search: Search, calls: int, budget: int) -> int:
    """Of the actions that are left the one with the fewest visits, then the best score.

    Half of them are dropped when the phase's share of the calls is spent and all that are left
    have been visited equally often.
    """
    look_at(tree, growth, search, ROOT)
    moves, visits, seen = search.considered, search.visits, search.seen[0]
    size = int(seen.left)
    fewest = most = visits[moves[0]]
    for i in range(1, size):
        fewest = min(fewest, visits[moves[i]])
        most = max(most, visits[moves[i]])
    phase_is_over = calls * search.phases >= budget * (seen.phase + 1)
    if size > 2 and fewest == most and phase_is_over:
        keep = max(2, size // 2)
        for i in range(keep):  # the best ones to the front
            for j in range(i + 1, size):
                if is_better(search, moves[j], moves[i]):
                    moves[i], moves[j] = moves[j], moves[i]
        size = keep
        seen.left = keep
        seen.phase += 1
    best = -1
    for i in range(size):
        action = moves[i]
        if visits[action] == fewest and (best < 0 or is_better(search, action, best)):
            best = action
    return int(best)


@inlined
def is_better(search: Search, one: int, other: int) -> bool:
    """Whether a first action has the better score."""
    weight = search.gumbel_scale
    lead = search.scaled[one] - search.scaled[other]
    lead += weight * (search.gumbel[one] - search.gumbel[other])
    return bool(lead > 0 or (lead == 0 and search.gumbel[one] > search.gumbel[other]))


@inlined
def inner_action(tree: Tree, growth: Growth, search: Search, node: int) -> int:
    """The action that is furthest behind the improved policy: π'(a) − N(a) / (1 + Σ N)."""
    if options(growth, node) == 1:
        return legal_action(growth.legal, node, 0)
    total = look_at(tree, growth, search, node)
    weights = 0.0
    for action in range(growth.num_actions):
        if is_legal(growth.legal, node, action):
            weights += np.exp(search.scaled[action])
    best, most = -1, -np.inf
    first = node * growth.num_actions
    for action in range(growth.num_actions):
        if is_legal(growth.legal, node, action):
            behind = np.exp(search.scaled[action]) / weights - search.visits[action] / (1 + total)
            if behind > most or (
                behind == most
                and ticket(growth.seed, first + action) > ticket(growth.seed, first + best)
            ):
                best, most = action, behind
    return best


@inlined
def mean_reward(search: Search) -> float:
    """What a step that was not seen counts as, from the first reward on."""
    return float(search.seen[0].total / max(1.0, search.seen[0].number))


@jit
def look_at(tree: Tree, growth: Growth, search: Search, node: int) -> int:
    """Write N(a) and σ(completed q) of a node's actions to ``search``; returns Σ N."""
    tree, growth, search = borrowed(tree), borrowed(growth), borrowed(search)
    reward = mean_reward(search)
    visits, scaled = search.visits, search.scaled
    visits[:] = 0
    total, most, tried, sum_q = 0, 0, 0, 0.0
    child = int(growth.first[node])
    while child != NOBODY:
        plays = growth.plays[child]
        if plays > 0:
            action = tree.action[child]
            visits[action] = plays
            scaled[action] = tree.value[child] + reward * growth.score[child]
            sum_q += scaled[action]
            total += plays
            tried += 1
            most = max(most, plays)
        child = int(growth.sibling[child])
    mixed = sum_q / max(1, tried)
    if node != ROOT:  # (Appendix D): v_mix, of a uniform prior
        own = search.said[node] if search.valued else reward * search.span[tree.depth[node]]
        mixed = (own + total * mixed) / (1 + total)
    largest = -np.inf
    for action in range(growth.num_actions):
        if visits[action] == 0:
            scaled[action] = mixed
        if is_legal(growth.legal, node, action):
            largest = max(largest, scaled[action])
    low, high = search.seen[0].lowest, search.seen[0].highest
    factor = 0.0
    if high > low:
        factor = (C_VISIT + most) * C_SCALE / (high - low)
    for action in range(growth.num_actions):
        scaled[action] = factor * (scaled[action] - largest)
    return total


@jit
def take_back(tree: Tree, growth: Growth, steps: int) -> None:
    """Take back the last node of a path that is not walked, if it is new."""
    tree, growth = borrowed(tree), borrowed(growth)
    if growth.plays[growth.path[steps - 1]] == 0:
        prune(tree, growth, steps - 1, steps)


@jit
def back_up(
    tree: Tree,
    growth: Growth,
    search: Search,
    start: int,
    steps: int,
    got: int,
    made: int,
    gamma: float,
) -> None:
    """Add a walk to the mean returns of its nodes; ``made`` is the number of its calls."""
    tree, growth, search = borrowed(tree), borrowed(growth), borrowed(search)
    prune(tree, growth, got, steps)
    seen = search.seen[0]
    if seen.number == 0.0:
        seen.origin = growth.rewards[start]
    for t in range(start, start + made):
        seen.total += growth.rewards[t] - seen.origin
        seen.number += 1.0
    last = growth.path[got - 1]
    ended = start + made < steps or tree.flags[last] & TERMINAL != 0
    total = growth.rewards[steps]
    unseen = 0.0 if ended or search.valued else search.span[steps]
    if ended or search.valued:
        total -= seen.origin * search.span[got]
    if growth.plays[last] == 0:
        search.said[last] = total
    reward = mean_reward(search)
    for t in range(got - 1, -1, -1):
        node = growth.path[t]
        growth.plays[node] += 1
        total = growth.rewards[t] - seen.origin + gamma * total
        unseen *= gamma
        tree.value[node] += (total - tree.value[node]) / growth.plays[node]
        growth.score[node] += (unseen - growth.score[node]) / growth.plays[node]
        q = tree.value[node] + reward * growth.score[node]
        q += seen.origin * (search.span[t] - search.span[0])  # nodes of one depth have it in common
        seen.lowest = min(seen.lowest, q)
        seen.highest = max(seen.highest, q)


@jit
def recommend(tree: Tree, growth: Growth, search: Search) -> int:
    """The best first action that is left, and behind it the most visited ones.

    ``tree.value`` becomes the mean return of every node.
    """
    tree, growth, search = borrowed(tree), borrowed(growth), borrowed(search)
    look_at(tree, growth, search, ROOT)
    moves = search.considered
    action = moves[0]
    for i in range(1, search.seen[0].left):
        if is_better(search, moves[i], action):
            action = moves[i]
    for node in range(1, tree.size[0]):
        tree.value[node] += mean_reward(search) * growth.score[node]
        tree.value[node] += search.seen[0].origin * search.span[tree.depth[node] - 1]
    node = find_child(tree, growth, ROOT, action)
    while growth.first[node] != NOBODY:
        best = int(growth.first[node])
        child = int(growth.sibling[best])
        while child != NOBODY:
            lead = growth.plays[child] - growth.plays[best]
            if lead > 0 or (lead == 0 and tree.value[child] > tree.value[best]):
                best = child
            child = int(growth.sibling[child])
        node = best
    return node
