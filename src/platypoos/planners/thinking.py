"""The search of a graph planner from outside: rounds, budgets, clocks, and where it starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from platypoos.graph import NONE, Graph, find_home, grown, key_of, make_graph
from platypoos.planners.base import Ledger, Task
from platypoos.planners.graph_decision import (
    FLOOR,
    GAP,
    GAP_VARIANCE,
    HAS_GAP,
    VALUE,
    Ballot,
    decide,
    make_ballot,
)
from platypoos.planners.graph_entries import (
    DEGREES,
    DONE,
    ENTRIES_FULL,
    PAUSED,
    SIZE,
    SPENT,
    SQUARES,
    TREE_FULL,
    Search,
    grown_entries,
    horizon,
    make_entries,
)
from platypoos.planners.graph_search import begin_round, pin, run_round
from platypoos.simulator_compiled import CompiledSimulator
from platypoos.tree import OPENED, ROOT, TERMINAL, Tree, copy_nodes, make_tree, set_node, set_root
from platypoos.tree import grown as grown_tree

RESERVE = 0.08
"""Share of the calls that is kept for the cross-validation, if there is noise."""
FIRST_ROOM = 512
ENTRIES_PER_CALL = 10
"""So many entries may be made for each call: what bounds the work when calls are not needed."""
PATIENCE = 20_000
"""Compiled planners look at the clock after so many calls."""
FIRST_STAGE = 16


class Decision(NamedTuple):
    """What the search recommends."""

    tree: Tree
    """The sequences of the last complete round."""
    node: int
    p_index: int
    value: float
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
        capacity = max(FIRST_ROOM, 1 + 2 * task.num_actions)
        self.sim: Ledger
        self.sim, self.tree = task.begin(capacity)
        set_root(self.tree)
        self.root = ROOT
        if not isinstance(self.sim, CompiledSimulator):
            self.sim.key = key_of(task.model, task.state)
        self.graph: Graph = make_graph(capacity, self.sim)
        self.tie_seed = task.tie_seed()
        self._allowed = task.budget
        self.h_max = 1.0
        depth = horizon(discount)
        self._power = discount ** np.arange(depth + 1, dtype=np.float64)
        self._pinned = np.full(depth + 2, NONE, np.int32)
        self.entries, self._last = make_entries(capacity), make_entries(capacity)
        self.search = self._make_search(capacity, capacity)
        self._ballots: dict[int, Ballot] = {}
        self.decision: Decision | None = None
        self.exhausted = False
        self.agreed = 0
        self._answer = NONE
        self._size = 0

    def _make_search(self, room: int, capacity: int) -> Search:
        """Scratch memory; what is known of the noise is kept."""
        before = getattr(self, "search", None)
        ints = [np.empty(room, np.int64) for _ in range(5)]
        return Search(
            place=np.zeros(10, np.int64) if before is None else before.place,
            noise=np.zeros(4) if before is None else before.noise,
            group_end=np.empty(2, np.int64) if before is None else before.group_end,
            opened=ints[0],
            opened_p=ints[1],
            nodes=ints[2],
            repeats=ints[3],
            before=np.empty(room),
            fresh=ints[4],
            keys=np.empty(room),
            pool=np.empty(room, np.uint64),
            stamp=np.zeros(capacity, np.int64),
            best=np.empty(capacity, np.int32),
            pinned=self._pinned,
            power=self._power,
            num_actions=self.task.num_actions,
            gamma=self.discount,
        )

    @property
    def noiseless(self) -> bool:
        """Whether no two samples of an action have ever differed, among some that might have."""
        noise = self.search.noise
        return bool(noise[DEGREES] > 0 and noise[SQUARES] == 0)

    def think(self, calls: int, due: Callable[[], bool]) -> bool:
        """Search with at most so many further calls; False if the clock ran out before."""
        start = self.sim.calls
        limit = start + calls
        self.sim.allow(limit - self._allowed)
        self._allowed = limit
        self.agreed, self._size = 0, 0
        while True:
            finished = self._explore(limit, calls, due)
            if not finished and not self._size and self.decision is not None:
                return False  # an unfinished round does not replace what finished ones found
            if not self._size:  # better an unfinished round than none
                self._complete()
            quiet = self.noiseless
            self.decision = self._decide(limit if finished else self.sim.calls)
            if not finished or not quiet or self.noiseless:  # or else there is noise after all
                return finished

    def _explore(self, limit: int, calls: int, due: Callable[[], bool]) -> bool:
        """Rounds of growing h_max, until calls or time run short, or a round finds nothing new."""
        start = limit - calls
        work, size = 0, 0
        h, before, made = self.h_max, 0.0, 0
        while True:
            reserve = 0 if self.noiseless else int(RESERVE * calls)
            explore = max(limit - reserve, min(limit, start + self.task.num_actions))
            called = self.sim.calls
            if not self._round(int(h), explore, due):
                return False
            if self._status != DONE:
                return True
            self._complete()
            made = self.sim.calls - called
            entries = int(self.search.place[SIZE])
            work += entries
            idle = made == 0 and entries == size
            self.exhausted = idle and self.noiseless
            if idle or self.search.place[SPENT] or work > ENTRIES_PER_CALL * calls + FIRST_ROOM:
                return True
            size = entries
            self.h_max = h
            h, before = self._next(h, before, made, explore, calls), h

    def _next(self, h: float, before: float, made: int, explore: int, calls: int) -> float:
        """The h_max of the next round: twice this, or what seems to fit in what is left."""
        after = 2.0 * h
        if h < 3.0 and self.search.noise[DEGREES]:  # the first rounds only look for noise
            after = max(after, calls // (32 * self.task.num_actions))
        if made:
            slope = made / (h - before)
            after = min(after, h + (explore - self.sim.calls) / slope)
        return float(max(int(after), int(h) + max(1, int(h) // 16)))

    def _round(self, h_max: int, limit: int, due: Callable[[], bool]) -> bool:
        """One round, as far as it gets; False if the clock runs out. Makes room as needed."""
        sim = self.sim
        self.search = begin_round(self.search, self.root, h_max)
        if not isinstance(sim, CompiledSimulator):
            sim.due = due
        while True:
            if isinstance(sim, CompiledSimulator):
                sim.pause_after(PATIENCE)
            self._status = run_round(
                sim, self.tree, self.graph, self.entries, self.search, limit, self.tie_seed
            )
            spent = bool(self.search.place[SPENT])
            crowded = 2 * self.nbytes > self.cap
            if self._status == TREE_FULL and crowded and not spent:
                self.search.place[SPENT] = 1  # go on with the states there are
            elif self._status == ENTRIES_FULL and crowded and self.search.place[SIZE] > 1:
                self._status, self.search.place[SPENT] = DONE, 1
                return True
            elif self._status == TREE_FULL:
                self.make_room(2 * len(self.tree.parent))
            elif self._status == ENTRIES_FULL:
                self._more_entries()
            elif self._status != PAUSED:
                return True
            if due():
                return False

    def start_from(self, state: Any) -> None:
        """Let the search begin in another state, known or not."""
        self.task = self.task._replace(state=state)
        if self.tree.num_nodes == len(self.tree.parent):
            self.make_room(2 * len(self.tree.parent))
        node = self.tree.num_nodes
        self.sim.put(node, state)
        find_home(self.sim, self.graph, node)
        self.root = int(self.graph.home[node])
        if self.root == node:
            set_node(self.tree, node, NONE, -1, 0, 0)
            self.tree.reward[node] = 0.0
            self.tree.size[0] = node + 1
        self._began()

    def _began(self) -> None:
        """The search begins in another state: what follows of the best sequence is kept."""
        pinned = self.search.pinned
        follows = pinned[1] == self.root
        pinned[:-1] = pinned[1:] if follows else NONE
        pinned[-1] = NONE
        self.h_max = max(1.0, self.h_max / 2)
        self.decision = None

    @property
    def shares_nothing(self) -> bool:
        """Whether states cannot be told apart."""
        return not isinstance(self.sim, CompiledSimulator) and self.sim.key is None

    def start_from_node(self, node: int, state: Any) -> None:
        """Let the search begin in the state that a node leads to."""
        self.task = self.task._replace(state=state)
        self.root = node
        self._began()

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
        self.tree = make_tree(capacity)
        copy_nodes(tree, self.tree, old_nodes)
        self.tree.parent[:size] = parents
        self.sim.keep(old_nodes, self.tree)
        blank = np.full(capacity, NONE, np.int32)
        new_home, child = blank.copy(), blank
        new_home[:size] = homes
        for (_, new), first in zip(queue, children, strict=True):
            child[new] = first
        self.graph = grown(graph._replace(home=new_home, child=child), capacity, self.sim, size)
        if not isinstance(self.sim, CompiledSimulator):
            homes_before = self.sim.homes.items()
            self.sim.homes = {key: known[home] for key, home in homes_before if home in known}
        pinned = self.search.pinned
        pinned[:] = [known.get(int(home), NONE) for home in pinned]
        self.root = 0
        self.entries, self._last = make_entries(capacity), make_entries(capacity)
        self.search = self._make_search(capacity, capacity)
        self._ballots.clear()

    @property
    def nbytes(self) -> int:
        """Memory in use, states included."""
        arrays: list[Any] = [*self.tree, *self.graph[:3], *self.entries, *self._last]
        arrays += [part for part in self.search if isinstance(part, np.ndarray)]
        size = self.tree.num_nodes
        return int(sum(array.nbytes for array in arrays) + self.sim.state_bytes * size)

    def make_room(self, capacity: int) -> None:
        """More nodes."""
        self.tree = grown_tree(self.tree, capacity)
        self.sim.keep(np.arange(self.tree.num_nodes), self.tree)
        self.graph = grown(self.graph, capacity, self.sim, self.tree.num_nodes)
        self.search = self._make_search(len(self.search.nodes), capacity)

    def _more_entries(self) -> None:
        room = 2 * len(self.entries.node)
        size = int(self.search.place[SIZE])
        self.entries = grown_entries(self.entries, room, size)
        self.search = self._make_search(room, len(self.search.stamp))
        self._ballots.clear()

    def _complete(self) -> None:
        """The round is done: its entries are the ones to decide by."""
        self.entries, self._last = self._last, self.entries
        self._size = int(self.search.place[SIZE])
        if len(self.entries.node) < len(self._last.node):
            self.entries = make_entries(len(self._last.node))
        answer = self._choose(self.sim.calls)
        self.agreed = self.agreed + 1 if answer == self._answer else 1
        self._answer = answer

    def _choose(self, limit: int) -> int:
        """The first action by the last complete round, cross-validated up to this many calls."""
        entries = self._last
        levels = int(entries.p_index[0]) + 1
        room = len(self.search.nodes)
        ballot = self._ballots.get(levels)
        if ballot is None:
            ballot = self._ballots[levels] = make_ballot(levels, room, self.task.num_actions)
        self._ballot = ballot
        self._chosen = int(
            decide(
                self.sim, self.tree, entries, self._size, self.search, ballot, limit,
                self.reward_floor, self.tie_seed,
            )
        )  # fmt: skip
        pin(self.graph, entries, self.search, self._chosen)
        return int(ballot.first[self._chosen])

    def conclude(self) -> None:
        """Decide by what is known, after an interruption."""
        if self.decision is None and self._size:
            self.decision = self._decide(self.sim.calls)

    def _decide(self, limit: int) -> Decision:
        answer = self._choose(limit)
        agreed = self.agreed if answer == self._answer else 0
        ballot, entries, size = self._ballot, self._last, self._size
        result = ballot.result
        interval = None
        if result[HAS_GAP]:
            half = 1.96 * math.sqrt(result[GAP_VARIANCE])
            interval = (float(result[GAP] - half), float(result[GAP] + half))
        lead = -math.inf if interval is None else interval[0]
        if self.noiseless:
            rival = float(ballot.best[-1])
            lead = float(entries.value[self._chosen]) - rival
        node = entries.node[:size]
        tree = Tree(
            parent=entries.parent[:size].copy(),
            action=self.tree.action[node],
            depth=entries.depth[:size].copy(),
            pulls=self.tree.pulls[node],
            reward=self.tree.reward[node],
            value=entries.value[:size].copy(),
            p_index=entries.p_index[:size].copy(),
            flags=self.tree.flags[node] & np.uint8(TERMINAL),
            size=np.array([size]),
        )
        tree.action[ROOT], tree.pulls[ROOT], tree.flags[ROOT] = -1, 0, OPENED
        tree.flags[tree.parent[1:]] |= OPENED
        # What the best reward seen, for ever, could add to a rival of the same length.
        most = float(tree.reward[1:].max()) - float(result[FLOOR])
        unseen = self.discount ** int(entries.depth[self._chosen]) * most / (1.0 - self.discount)
        return Decision(
            tree=tree,
            node=self._chosen,
            p_index=int(entries.p_index[self._chosen]),
            value=float(result[VALUE]),
            floor=float(result[FLOOR]),
            gap=interval,
            enough=bool(agreed >= 3 and lead > unseen),
        )
