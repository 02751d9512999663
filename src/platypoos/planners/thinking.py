"""The search of a graph planner from outside: budgets, clocks, room, and where it starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from platypoos._jit import fast, handle
from platypoos.discounting import span
from platypoos.graph import NONE, find_home, grown
from platypoos.models.compiled import CompiledModel
from platypoos.models.keys import key_of
from platypoos.planners.base import Task
from platypoos.planners.graph_decision import (
    GAP,
    GAP_VARIANCE,
    HAS_GAP,
    LARGEST,
    LEAD_VARIANCE,
    decide,
    trace,
)
from platypoos.planners.graph_entries import (
    AGREED,
    ANSWER,
    BEGAN,
    CLEARED,
    CUT,
    DEEPEST,
    DEGREES,
    DONE,
    ENTRIES_FULL,
    EXPLORING,
    FINISHED,
    FRONTIER,
    H_BEFORE,
    H_MAX,
    H_TREE,
    HOME,
    LAYER,
    LIMIT,
    MADE,
    PATH_END,
    PAUSED,
    PENDING,
    PHASE,
    SIZE,
    SQUARES,
    START,
    TREE_FULL,
    UNSIZED,
    Desk,
    grown_entries,
    make_desk,
    make_entries,
    scratch,
    with_room,
)
from platypoos.planners.graph_search import PATIENCE, search_on
from platypoos.planners.graph_solve import FLOOR
from platypoos.schedules import (
    PLATYPOOS,
    WORTH_COMPILING,
    largest_h_max,
    largest_h_max_compiled,
    validation_norm,
)
from platypoos.simulator import never
from platypoos.simulator_compiled import CompiledSimulator
from platypoos.tree import ILLEGAL, ROOT, Tree, copy_nodes, make_tree, set_node
from platypoos.tree import grown as grown_tree

FIRST_ROOM, MOST_FIRST_ROOM = 512, 4096
FIRST_STAY, LONG_STAY = 64, 20_000
"""Compiled code is left after so many calls at first, to look at the clock or for Ctrl-C; the
second if there is no clock."""
GLANCE, LONG_GLANCE = 0.001, 0.1
"""It is left about every so many seconds then."""
FIRST_STAGE = 16
QUICKLY = 4096
"""To find the size of a round of more calls takes too long for a plan with a deadline."""
BEYOND_DOUBT = 3.0
"""Standard errors by which a lead by samples that chose it is taken for one."""


fast_decide, fast_trace = fast(decide, PATIENCE), fast(trace, PATIENCE)


@lru_cache(8)
def drawer(capacity: int, num_actions: int, discount: float, compiled: bool) -> list[Desk]:  # noqa: ARG001
    """Desks that earlier plans have left: to make one takes as long as a small plan."""
    return []


@lru_cache(64)
def tree_round(
    calls: int, num_actions: int, discount: float, hurry: bool, horizon: int | None = None
) -> int:
    """The published planner's h_max for so many calls, at least 1. In a hurry about that."""
    if hurry and calls > QUICKLY:
        few = tree_round(QUICKLY, num_actions, discount, hurry, horizon)
        return int(few * (calls / QUICKLY) ** 0.75)
    search = largest_h_max_compiled if calls > WORTH_COMPILING else largest_h_max
    norm = validation_norm(discount, horizon)
    deepest = calls if horizon is None else horizon - 1
    return max(1, int(search(PLATYPOOS, num_actions, discount, norm, deepest, False, calls)))


class Decision(NamedTuple):
    """What the search recommends."""

    tree: Tree
    """The best sequence for each first action."""
    node: int
    """The end of the recommended one."""
    action_values: Any
    floor: float
    gap: tuple[float, float] | None
    """Interval (95 %) of the lead over the best sequence with another first action."""
    enough: bool


class Thinker:
    """A search that can be continued: with more calls, or from a state that it has reached."""

    def __init__(
        self, task: Task, discount: float, reward_floor: float, cap: float = math.inf
    ) -> None:
        self.task, self.discount, self.reward_floor, self.cap = task, discount, reward_floor, cap
        capacity = max(FIRST_ROOM, min(task.budget // 4, MOST_FIRST_ROOM), 1 + 2 * task.num_actions)
        compiled = isinstance(task.model, CompiledModel)
        self._capacity = capacity
        self.horizon = self.steps_left = task.horizon
        """Steps to the horizon from the first root, and from the present one."""
        self._drawer = drawer(capacity, task.num_actions, discount, compiled)
        if self._drawer and task.horizon is None:
            self._sit_at(self._drawer.pop())
        else:
            desk = make_desk(capacity, task.num_actions, discount, compiled, task.horizon)
            self._sit_at(handle(desk))
        place = self.search.place
        place[CLEARED] = place[H_MAX] = 0  # compiled code will clear it
        place[HOME] = ROOT
        self.graph.child[ROOT] = NONE
        self.sim = task.ledger(self.tree)
        self._advised = any(len(part) for part in self.sim.advice)
        if self._advised:
            self._take_advice()
        if not isinstance(self.sim, CompiledSimulator):
            self.sim.key = key_of(task.model, task.state)
        self.tie_seed = task.tie_seed()
        self._allowed = task.budget
        self.exhausted = False
        self._concluded = False

    def _take_advice(self) -> None:
        """Let compiled code see what the model says of states."""
        graph = self.graph._replace(**self.sim.advice._asdict())
        self._sit_at(handle(Desk(self.tree, graph, self.desk.entries, self.search)))

    def _sit_at(self, desk: Desk) -> None:
        self.desk = desk
        self.tree, self.graph, self.search = desk.tree, desk.graph, desk.search

    @property
    def root(self) -> int:
        """The node of the state where the search begins."""
        return int(self.search.place[HOME])

    @root.setter
    def root(self, node: int) -> None:
        self.search.place[HOME] = node

    @property
    def noiseless(self) -> bool:
        """Whether no two samples of an action have ever differed, among some that might have."""
        noise = self.search.noise
        return bool(noise[DEGREES] > 0 and noise[SQUARES] == 0)

    def think(self, calls: int, due: Callable[[], bool]) -> bool:
        """Search with at most so many further calls; False if the clock ran out before."""
        sim, place = self.sim, self.search.place
        start = sim.calls
        limit = start + calls
        sim.allow(limit - self._allowed)
        self._allowed = limit
        place[LIMIT], place[BEGAN], place[MADE] = limit, start, start
        place[H_MAX] = max(1, place[H_MAX] // 2)  # what is known from before is soon gone through
        place[H_BEFORE], place[LAYER], place[SIZE] = 0, 0, 0
        place[PHASE], place[CUT], place[AGREED], place[DEEPEST] = EXPLORING, 0, 0, 0
        place[PENDING] = place[H_TREE] = 0
        if not isinstance(sim, CompiledSimulator):
            sim.due = due
        self._concluded = False
        clocked = due is not never
        stay, glance = (FIRST_STAY, GLANCE) if clocked else (LONG_STAY, LONG_GLANCE)
        while True:
            if isinstance(sim, CompiledSimulator):
                sim.pause_after(stay)
            entered = time.perf_counter()
            status = search_on(sim, self.desk, self.reward_floor, self.tie_seed)
            if status == DONE:
                break
            if status == UNSIZED:
                left = limit - sim.calls
                size = tree_round(
                    left, self.task.num_actions, self.discount, clocked, self.steps_left
                )
                place[H_TREE], place[H_MAX] = size, min(place[H_MAX], size - 1)
                place[START] = place[SIZE]  # this round has nothing more to open
            if status == PAUSED:
                quick = time.perf_counter() - entered < glance
                stay = 2 * stay if quick else max(1, stay // 2)
            crowded = 2 * self.nbytes > self.cap and place[LAYER] > 0
            if status in {TREE_FULL, ENTRIES_FULL} and crowded:
                place[CUT] = 1  # go on with the states there are
            elif status == TREE_FULL:
                self.make_room(2 * len(self.tree.parent))
            elif status == ENTRIES_FULL:
                self._more_entries()
            if due() and self.can_decide:
                break
        self._concluded = status == DONE
        finished = place[PHASE] == FINISHED and not place[CUT]
        self.exhausted = bool(finished and self.noiseless and sim.calls < limit)
        return bool(place[PHASE] == FINISHED)

    def leave(self) -> None:
        """Leave the desk to another plan. There is no way back."""
        special = self._advised or self.horizon is not None
        if len(self.tree.parent) == self._capacity and not special:
            self._drawer.append(self.desk)

    def start_from(self, state: Any) -> None:
        """Let the search begin in another state, known or not."""
        self.task = self.task._replace(state=state)
        if self.tree.num_nodes == len(self.tree.parent):
            self.make_room(2 * len(self.tree.parent))
        node = self.tree.num_nodes
        self.sim.put(node, state)
        self.tree.depth[node] = self.root_depth
        find_home(self.sim, self.graph, node)
        self.root = int(self.graph.home[node])
        if self.root == node:
            set_node(self.tree, node, NONE, -1, self.root_depth, 0)
            self.tree.reward[node] = 0.0
            self.tree.size[0] = node + 1
        self.sim.ask_legal(np.array([self.root]))

    @property
    def root_depth(self) -> int:
        """How many steps were taken since the first root; counted with a horizon only."""
        if self.horizon is None or self.steps_left is None:
            return 0
        return self.horizon - self.steps_left

    @property
    def shares_nothing(self) -> bool:
        """Whether states cannot be told apart."""
        return not isinstance(self.sim, CompiledSimulator) and self.sim.key is None

    def start_from_node(self, node: int, state: Any) -> None:
        """Let the search begin in the state that a node leads to."""
        self.task = self.task._replace(state=state)
        self.root = node
        self.sim.ask_legal(np.array([node]))

    def forget(self, states: int) -> None:
        """Keep so many states at most: those that are reached first from where it begins."""
        tree, graph, actions = self.tree, self.graph, self.task.num_actions
        kept = [self.root]  # the old nodes, in their new order
        homes, parents, children = [0], [NONE], []
        known = {self.root: 0}
        queue = [(self.root, 0)]
        for at, (old, new) in enumerate(queue):
            first = int(graph.child[old])
            if first == NONE or at >= states:
                children.append(NONE)
                continue
            children.append(len(kept))
            for node in range(first, first + actions):
                home = int(graph.home[node])
                if tree.pulls[node] and home not in known:
                    known[home] = len(kept)
                    queue.append((home, len(kept)))
                homes.append(known[home] if tree.pulls[node] else len(kept))
                kept.append(node)
                parents.append(new)
        old_nodes, size = np.array(kept), len(kept)
        capacity = max(FIRST_ROOM, 2 * size)
        fewer = make_tree(capacity)
        copy_nodes(tree, fewer, old_nodes)
        fewer.parent[:size] = parents
        self.sim.keep(old_nodes, fewer)
        blank = np.full(capacity, NONE, np.int32)
        new_home, child = blank.copy(), blank
        new_home[:size] = homes
        for (_, new), first in zip(queue, children, strict=True):
            child[new] = first
        graph = grown(graph._replace(home=new_home, child=child), capacity, self.sim, size)
        if not isinstance(self.sim, CompiledSimulator):
            homes_before = self.sim.homes.items()
            self.sim.homes = {key: known[home] for key, home in homes_before if home in known}
        search = self.search._replace(**scratch(capacity, capacity))
        self._sit_at(handle(Desk(fewer, graph, make_entries(capacity), search)))
        self.root = 0

    @property
    def nbytes(self) -> int:
        """Memory in use, states included."""
        arrays: list[Any] = [*self.tree, *self.graph, *self.desk.entries, *self.search.path]
        arrays += [part for part in self.search if isinstance(part, np.ndarray)]
        size = self.tree.num_nodes
        return int(sum(array.nbytes for array in arrays) + self.sim.state_bytes * size)

    def make_room(self, capacity: int) -> None:
        """More nodes."""
        tree = grown_tree(self.tree, capacity)
        self.sim.keep(np.arange(tree.num_nodes), tree)
        graph = grown(self.graph, capacity, self.sim, tree.num_nodes)
        search = with_room(self.search, len(self.search.nodes), capacity)
        self._sit_at(handle(Desk(tree, graph, self.desk.entries, search)))

    def _more_entries(self) -> None:
        tree, graph, entries, search = self.tree, self.graph, self.desk.entries, self.search
        room = 2 * len(entries.node)
        entries = grown_entries(entries, room, int(search.place[SIZE]))
        search = with_room(search, room, len(search.stamp))
        self._sit_at(handle(Desk(tree, graph, entries, search)))

    @property
    def can_decide(self) -> bool:
        """Whether there is a sample of each first action."""
        first = int(self.graph.child[self.root])
        actions = slice(first, first + self.task.num_actions)
        tried = (self.tree.pulls[actions] > 0) | (self.tree.flags[actions] & ILLEGAL != 0)
        return first != NONE and bool(tried.all())

    def decide(self) -> Decision:
        """What is best by all that is known."""
        search = self.search
        place, result = search.place, search.result
        if not self._concluded:
            fast_decide(self.desk, self.reward_floor, self.tie_seed, True)
            fast_trace(self.desk)
        path = search.path.copy()
        interval, doubt = None, 0.0 if self.noiseless else math.inf
        if result[HAS_GAP]:
            half = 1.96 * math.sqrt(result[GAP_VARIANCE])
            interval = (float(result[GAP] - half), float(result[GAP] + half))
            doubt = BEYOND_DOUBT * math.sqrt(result[LEAD_VARIANCE])
        values = search.action_values.copy()
        others = values.tolist()
        value = others.pop(place[ANSWER])
        lead = value - max((v for v in others if not math.isnan(v)), default=-math.inf)
        floor, unseen = float(result[FLOOR]), 0.0
        if place[FRONTIER]:  # what the best reward, for ever, could add below what was looked at
            most = float(result[LARGEST]) - floor
            deepest = int(place[DEEPEST])
            left = None if self.steps_left is None else max(0, self.steps_left - deepest)
            unseen = self.discount**deepest * most * span(self.discount, left)
        return Decision(
            tree=path,
            node=int(place[PATH_END]),
            action_values=values,
            floor=floor,
            gap=interval,
            enough=bool(self.exhausted or (place[AGREED] >= 3 and lead - doubt > unseen)),
        )
