"""A plan seen from outside: its arrays, budgets and clocks, where it starts, what it decides."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from platypoos.compiled.code import fast, handle
from platypoos.compiled.platypus.algorithm import plan_on
from platypoos.compiled.platypus.jury import assess
from platypoos.compiled.platypus.knowledge import gather, link_children
from platypoos.compiled.platypus.state import (
    BEFORE,
    NOBODY,
    STANDING,
    START,
    Ints,
    Search,
)
from platypoos.compiled.platypus.tuning import STAGES
from platypoos.models.advice import NO_HORIZON
from platypoos.models.base import Access
from platypoos.planners.sequence_search import SEED_SHARE
from platypoos.results import Lead, Noise
from platypoos.search.base import Task
from platypoos.search.sequences import whole_length
from platypoos.simulator.pace import never
from platypoos.trees.protocol import Sampler
from platypoos.trees.tree import ROOT, TERMINAL, Tree, copy_nodes, make_tree, set_node, set_root

FIRST_STAY, LONG_STAY = 64, 20_000
"""Calls after which compiled code returns at first, to look at the clock or for Ctrl-C; the second
is for plans without a clock."""
GLANCE, LONG_GLANCE = 0.001, 0.1
"""Later it returns about once in this time, in seconds."""
CARRIED = (
    "squares",
    "degrees",
    "looked",
    "tree_wins",
    "sequence_wins",
    "tree_spent",
    "credit",
    "sequence_spent",
    "over_at",
    "solved",
    "rate",
    "average",
    "spread",
)
"""What is carried over from one step of an episode to the next, beside the nodes."""
NOTHING: Ints = np.empty(0, np.int64)


_assess, _gather, _link_children = fast(assess), fast(gather), fast(link_children)


class Decision(NamedTuple):
    """What a plan recommends."""

    action: int
    values: Any
    """Of the best sequence for each first action; NaN if there is none."""
    tree: Tree
    """These sequences."""
    node: int
    """The end of the recommended one."""
    gap: Lead | None
    """Interval (95 %) of the lead over the best sequence with another first action."""
    enough: bool
    rate: float
    """What an unseen step is taken to bring."""
    states: dict[int, Any]
    """The states of the nodes of ``tree``; none by RESET."""
    sources: Any
    """The nodes of ``tree`` in the tree of the search: the same one can be there several times."""
    noise: Noise


def length_of(task: Task, discount: float, *, fresh: bool) -> int:
    """How long sequences are.

    In the first plan, those of one action must be tried for all; by RESET, where every step of a
    sequence is paid again each time, as often as they are long.
    """
    length = whole_length(discount, task.budget)
    if fresh:
        length = min(length, max(1, int(SEED_SHARE * task.budget) // task.num_actions))
    if task.access is Access.RESET:
        length = min(length, max(1, math.isqrt(task.budget // task.num_actions)))
    return task.within_horizon(length)


class OngoingPlan:
    """A plan that can be continued: with more calls, or from a state that it has reached.

    ``kept`` is a sequence to try first, or empty.
    """

    def __init__(self, task: Task, discount: float, kept: Ints = NOTHING) -> None:
        self.task, self.discount = task, discount
        self.seconds_per_node = 0.0
        """That it took to hand on what was known."""
        tree = make_tree(task.budget + 1)
        set_root(tree)
        self.sim: Sampler = task.sampler(tree)
        self.sim.insist_on_machine_code(plan_on, task.deadline)
        if task.access is Access.RESTORE:
            self.sim.tell_apart(task.state)
        self.search = self._arrays(tree, fresh=len(kept) == 0)
        at = self.search.at[0]
        at.over_at = NO_HORIZON if task.horizon is None else task.horizon
        at.tree_wins = at.sequence_wins = at.h_max = at.h_wide = 1
        self.search.homes.home[ROOT] = ROOT
        _link_children(self.search)
        if task.access is Access.RESTORE:
            root = np.array([ROOT])
            self.sim.settle(self.search.homes, root)
        self.sim.ask_legal(np.array([ROOT]))
        self._begin(task, kept)

    def go_on(self, task: Task, root: int, kept: Ints, most: int) -> None:
        """Plan again, from a state that is known, and keep at most ``most`` nodes."""
        started = time.perf_counter()
        old, sim = self.search, self.sim
        nodes, parents, homes = _gather(old, root, most)
        size = len(nodes)
        old_home = old.homes.home[nodes].astype(np.int64)
        tree = make_tree(size + task.budget + 1)
        copy_nodes(old.tree, tree, nodes)
        tree.parent[:size] = parents
        tree.flags[ROOT] = 0
        tree.value[:size] = old.tree.value[old_home]
        sim.keep(old_home, tree)
        self.task = task
        self.search = self._arrays(tree, fresh=False)
        self.search.homes.home[:size] = homes
        _link_children(self.search)
        if not self.search.reset:
            own = np.flatnonzero(homes == np.arange(size))
            over = (tree.flags[own] & TERMINAL != 0) | (tree.depth[own] >= old.at[0].over_at)
            goes_on = own[~over | (own == ROOT)]  # an end is a state of its own
            sim.settle_again(self.search.homes, old_home, goes_on)
        now, before = self.search.at[0], old.at[0]
        for name in CARRIED:
            now[name] = before[name]
        now.h_max, now.h_wide = max(1, before.h_max // 2), max(1, before.h_wide // 2)
        sim.allow(task.budget)
        sim.ask_legal(np.array([ROOT]))  # it was not asked about a state where episodes end
        self._begin(task, kept)
        self.seconds_per_node = (time.perf_counter() - started) / max(size, 1000)

    def _arrays(self, tree: Tree, *, fresh: bool) -> Search:
        """Room for as many nodes as the tree has, and for a plan."""
        task, nodes = self.task, len(tree.parent)
        actions = task.num_actions
        length = length_of(task, self.discount, fresh=fresh)
        entries = max(1024, nodes // 2) + actions
        # A request may ask for all calls that are left. Of zeros: what is not used costs nothing.
        request = max(task.budget, actions * length) + 2 * actions
        links = np.empty((6, nodes), np.int32)
        timed = tree.depth if task.horizon is not None else None
        search = Search(
            tree=tree,
            homes=self.sim.make_homes(nodes, timed),
            first=links[0],
            sibling=links[1],
            tried=links[2],
            choice=links[3],
            place=links[4],
            seen_in=links[5],
            share=np.zeros(nodes),
            legal=self.sim.advice.legal,
            worth=self.sim.advice.worth,
            at=np.zeros(1, STANDING).view(np.recarray),
            power=self.discount ** np.arange(length + 1.0),
            sequences=np.zeros((actions, length), np.int64),
            value=np.full(actions, -np.inf),
            outlook=np.zeros(actions),
            steps=np.zeros(actions, np.int64),
            order=np.zeros(actions, np.int64),
            trial=np.zeros(length, np.int64),
            path=np.zeros(length, np.int64),
            samples=np.zeros(length + 1),
            entry_node=np.empty(entries, np.int32),
            entry_before=np.empty(entries, np.int32),
            entry_value=np.empty(entries),
            picked=np.empty(entries, np.int32),
            ranks=np.empty(entries, np.int32),
            nodes=np.zeros(request, np.int64),
            repeats=np.zeros(request, np.int64),
            mean=np.zeros(request),
            pulls=np.zeros(request, np.int64),
            reset=task.access is Access.RESET,
        )
        return handle(search)

    def _stage(self, budget: int) -> int:
        return max(2 * self.task.num_actions, budget // STAGES)

    def _begin(self, task: Task, kept: Ints) -> None:
        """Stand at the start; ``kept`` is a sequence to try first, or empty."""
        search, sim = self.search, self.sim
        length = len(search.trial)
        at = search.at[0]
        at.phase = START
        at.discount = self.discount
        at.seed = task.tie_seed()
        at.began = at.stage_began = at.piece_end = sim.calls
        at.limit = sim.calls + task.budget
        at.stage = self._stage(task.budget)
        at.depth = at.leader = at.last_leader = BEFORE
        if len(kept):
            search.trial[:] = kept[np.minimum(np.arange(length), len(kept) - 1)]
            at.kept = 1
        search.order[:] = np.argsort(task.rng.random(task.num_actions))

    def plan_on(self, due: Callable[[], bool], stop_when_sure: bool) -> bool:
        """Spend the budget; False if the clock ran out before."""
        sim = self.sim
        self.search.at[0].stops = stop_when_sure
        sim.due = due
        if sim.steps_in_python:
            return bool(plan_on(sim, self.search))
        clocked = due is not never
        stay, glance = (FIRST_STAY, GLANCE) if clocked else (LONG_STAY, LONG_GLANCE)
        while True:
            sim.pause_after(stay)
            entered = time.perf_counter()
            if plan_on(sim, self.search):
                return True
            if due():
                return False
            spent = time.perf_counter() - entered
            stay = max(1, min(2 * stay, int(stay * glance / max(spent, 1e-9))))

    def child_by(self, action: int) -> int:
        """The node of a first action, or NOBODY."""
        search = self.search
        child = int(search.first[search.at[0].root])
        while child != NOBODY and search.tree.action[child] != action:
            child = int(search.sibling[child])
        return child

    def time_to_go_on(self) -> float:
        """Seconds that it takes to begin another plan with all that is known."""
        return self.seconds_per_node * self.search.tree.num_nodes

    def settle_for_less(self) -> None:
        """Time was up before a whole sequence was known: take the best first step."""
        search, tree = self.search, self.search.tree
        child, best = int(search.first[search.at[0].root]), NOBODY
        while child != NOBODY:
            if tree.pulls[child] and (best == NOBODY or tree.reward[child] > tree.reward[best]):
                best = child
            child = int(search.sibling[child])
        first = int(tree.action[best])
        search.sequences[first] = first
        search.steps[first], search.value[first] = 1, tree.reward[best]
        search.at[0].leader = first

    @property
    def has_tried(self) -> bool:
        """Whether there is a sample of a first action."""
        return any(
            self.search.tree.pulls[self.child_by(a)] > 0 for a in range(len(self.search.value))
        )

    @property
    def can_decide(self) -> bool:
        """Whether there is a candidate."""
        return int(self.search.at[0].leader) != BEFORE

    @property
    def leader(self) -> Ints:
        """The best sequence."""
        search = self.search
        return search.sequences[search.at[0].leader].copy()  # type: ignore[no-any-return]

    def decide(self) -> Decision:
        """What is known by now."""
        search = self.search
        enough, has_gap, gap, error = _assess(search)
        leader = int(search.at[0].leader)
        found = make_tree(1 + int(search.steps.sum()))
        set_root(found)
        end = ROOT
        sources = [int(search.at[0].root)]
        for first in range(len(search.value)):
            last = self._copy(first, found, sources)
            end = last if first == leader else end
        values = np.where(np.isfinite(search.value), search.value, np.nan)
        interval = Lead(gap, gap - 1.96 * error, gap + 1.96 * error) if has_gap else None
        at = search.at[0]
        copied = np.array(sources)
        states = {} if search.reset else dict(enumerate(self.sim.states_of(copied)))
        doubt = float(at.squares / at.degrees) if at.degrees else 0.0
        noise = Noise(math.sqrt(doubt), float(at.average), float(at.spread))
        rate = float(at.rate)
        return Decision(
            leader, values, found, end, interval, bool(enough), rate, states, copied, noise
        )

    def _copy(self, first: int, found: Tree, sources: list[int]) -> int:
        """Copy the best sequence of a first action to another tree; returns its last node.

        The nodes that were copied are added to ``sources``.
        """
        search, tree = self.search, self.search.tree
        state, last = int(search.at[0].root), ROOT
        for t in range(int(search.steps[first])):
            action = int(search.sequences[first, t])
            child = int(search.first[state])
            while tree.action[child] != action:
                child = int(search.sibling[child])
            new = found.num_nodes
            found.size[0] += 1
            set_node(found, new, last, action, t + 1, 0)
            found.pulls[new], found.reward[new] = tree.pulls[child], tree.reward[child]
            found.flags[new], found.value[new] = tree.flags[child], 0.0
            sources.append(child)
            state, last = int(search.homes.home[child]), new
        return last

    @property
    def nbytes(self) -> int:
        """Memory that the nodes take, states included."""
        search = self.search
        used = sum(array.nbytes for array in (*search.tree[:-1], *search.homes[:2], search.share))
        links = 6 * search.first.nbytes + search.legal.nbytes + search.worth.nbytes
        entries = search.entry_value.nbytes * 3
        return int(used + links + entries + len(search.first) * self.sim.state_bytes)
