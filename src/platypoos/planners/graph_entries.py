"""What the rounds of a graph planner work with: sequences of actions, requests, the noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos._jit import jit, jitable
from platypoos.graph import NONE, Graph, make_graph
from platypoos.tree import ROOT, Tree, make_tree, set_root

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DONE, TREE_FULL, ENTRIES_FULL, PAUSED, FAILED, UNSIZED = range(6)
"""How a visit to the search ends. UNSIZED: H_TREE is asked for."""
LAYER, START, SIZE, H_MAX, HOME, FRESH, OPENED, ASKED, STAMP, ROUND = range(10)
LIMIT, BEGAN, MADE, CUT, PHASE, PART, AGREED, ANSWER, DEEPEST, REACH = range(10, 20)
PATH_END, H_BEFORE, PENDING, FRONTIER, CLEARED, STATES, H_TREE, BEYOND, PARTS = range(20, 29)
"""Entries of ``Search.place``: where the search is. STAMP counts, so that ``Search.stamp`` never
has to be cleared. LIMIT and BEGAN are numbers of calls, MADE those made before the round; CUT
tells that calls did not suffice; ANSWER was found AGREED times in a row; steps from REACH on
count less than NEGLIGIBLE. The recommended sequence ends in the node PATH_END of ``Search.path``.
A request is PENDING when it was made and not yet taken in. The actions of STATES are known, those
of FRONTIER states not. Unless CLEARED, what is there is of an earlier plan. H_TREE is the h_max
that the published planner would have, 0 if it is not known yet. Unknown states are taken for the
state BEYOND, or NONE. It is made sure in PARTS, of which PART is under way."""
EXPLORING, VALIDATING, FINISHED = 0, 1, 2
"""Values of ``Search.place[PHASE]``."""
SQUARES, DEGREES, SAMPLES, REPEATS, KNOWN, SUM, SUM_SQUARES, SUM_INVERSE, ORIGIN, MET = range(10)
"""Entries of ``Search.noise``: squared moves of means, in units of one sample's variance, their
number, all samples, and those of actions that had been sampled before. Of all means known: their
number, their sum and that of their squares (less the first one's, the ORIGIN), and Σ 1/T; and how
many of them led to a state that was known before."""
LOOK_SHARE, LOOKS = 10, 64
"""While no noise was seen, a call in so many looks for it; and so many do before it is believed
that nothing is left to learn."""
NEGLIGIBLE = 0.01
"""With noise, sequences are followed until a step counts so little."""
SMALL = 8
"""The h_max of small rounds."""
MOST_LEVELS = 64
LONGEST = 10_000
"""Without a discount, sequences are followed for so many steps at most."""


class Entries(NamedTuple):
    """The sequences of a round; the first is the empty one. A parent comes before its children."""

    node: NDArray[np.int32]  # [room] the last action's node of the tree
    value: Floats  # [room] û
    doubt: Floats  # [room] Σ γ^2t / T: its variance, in units of the noise's


class Search(NamedTuple):
    """What a search works with, as compiled code reads it."""

    place: Ints  # where it is
    noise: Floats  # what is known of the noise
    group_end: Ints  # [levels + 1] as ``layered.Course.group_end``
    result: Floats  # [7] see ``graph_decision``
    action_values: Floats  # [K]
    path: Tree  # the best sequences of all first actions
    opened: Ints  # [room] entries opened in a layer…
    opened_p: Ints  # [room] …and their p
    nodes: Ints  # [room] a request…
    repeats: Ints  # [room]
    before: Floats  # [room] …and the means before it
    fresh: Ints  # [room] nodes that it evaluates for the first time
    keys: Floats  # [room] the pool of entries that wait to be opened
    pool: NDArray[np.uint64]  # [room]
    stamp: Ints  # [capacity] when a state was last seen…
    best: NDArray[np.int32]  # [capacity] …and the best entry that leads to it there
    opened_in: Ints  # [capacity] the round that opened a state
    choice: NDArray[np.int32]  # [capacity] the node of a state's best action, or NONE
    gain: Floats  # [capacity] a node's reward, as it is believed to be…
    after: NDArray[np.int32]  # [capacity] …and the state it leads to; see ``graph_solve``
    order: NDArray[np.int32]  # [capacity] known states, by their distance
    stack: NDArray[np.int32]  # [capacity]
    share: Floats  # [capacity] how much a node counts in the lead of one sequence over another
    power: Floats  # [depth] γ^t
    num_actions: int
    gamma: float
    horizon: int  # the depth at which episodes are over; 0 if they have no end


@jitable
def span_from(search: Search, depth: int) -> float:
    """Worth of a reward of 1 at every step from a depth to the horizon."""
    left = search.horizon - depth
    if left <= 0:
        return 0.0
    if search.gamma == 1.0:
        return float(left)
    return float((1.0 - search.gamma**left) / (1.0 - search.gamma))


class Desk(NamedTuple):
    """All that compiled functions work with; they hand on a handle of it."""

    tree: Tree
    graph: Graph
    entries: Entries
    search: Search


def make_desk(
    capacity: int, num_actions: int, gamma: float, compiled: bool, steps: int | None = None
) -> Desk:
    """Nothing is known yet. As much room for entries as for nodes. ``steps`` to the horizon."""
    tree = make_tree(capacity)
    tree.size[0] = 0
    return Desk(
        tree,
        make_graph(capacity, compiled, None if steps is None else tree.depth),
        make_entries(capacity),
        make_search(capacity, capacity, num_actions, gamma, steps),
    )


@jit
def clear(desk: Desk) -> None:
    """Forget all but the root. Counters go on, so that stamps need not be cleared."""
    tree, graph, search = desk.tree, desk.graph, desk.search
    size = tree.size[0]
    graph.child[:size] = NONE
    search.choice[:size] = NONE
    graph.table[:] = NONE
    search.noise[:] = 0.0
    search.result[:] = 0.0
    set_root(tree)
    search.fresh[0] = ROOT
    search.place[CLEARED] = 1


def make_entries(room: int) -> Entries:
    """Room for so many."""
    return Entries._make(np.empty(room, kind) for kind in ("i4", "f8", "f8"))


def grown_entries(entries: Entries, room: int, size: int) -> Entries:
    """A copy with more room."""
    larger: Any = make_entries(room)
    kept: Any = entries
    for array, copy in zip(kept, larger, strict=True):
        copy[:size] = array[:size]
    return larger  # type: ignore[no-any-return]


def make_search(
    room: int, capacity: int, num_actions: int, gamma: float, steps: int | None
) -> Search:
    """Nothing is known yet. Room for so many entries and nodes."""
    power = powers(gamma, steps)
    reach = len(power) if gamma == 1.0 else min(len(power), 1 + horizon(gamma, NEGLIGIBLE))
    search = Search(
        place=np.zeros(29, np.int64),
        noise=np.zeros(10),
        group_end=np.empty(MOST_LEVELS + 1, np.int64),
        result=np.zeros(7),
        action_values=np.empty(num_actions),
        path=make_tree(1 + reach * num_actions),
        power=power,
        num_actions=num_actions,
        gamma=gamma,
        horizon=0 if steps is None else steps,
        **scratch(room, capacity),
    )
    search.place[REACH] = reach
    return search


def scratch(room: int, capacity: int) -> dict[str, Any]:
    """The fields of ``Search`` that depend on its room."""
    ints = ("opened", "opened_p", "nodes", "repeats", "fresh")
    return {
        **{name: np.empty(room, np.int64) for name in ints},
        "before": np.empty(room),
        "keys": np.empty(room),
        "pool": np.empty(room, np.uint64),
        "stamp": np.zeros(capacity, np.int64),
        "best": np.empty(capacity, np.int32),
        "opened_in": np.zeros(capacity, np.int64),
        "choice": np.full(capacity, NONE, np.int32),
        "gain": np.empty(capacity),
        "after": np.empty(capacity, np.int32),
        "order": np.empty(capacity, np.int32),
        "stack": np.empty(capacity, np.int32),
        "share": np.empty(capacity),
    }


def with_room(search: Search, room: int, capacity: int) -> Search:
    """The same search with more room; its nodes keep their numbers."""
    larger = search._replace(**scratch(room, capacity))
    larger.opened_in[: len(search.opened_in)] = search.opened_in
    larger.choice[: len(search.choice)] = search.choice
    return larger


@lru_cache(8)
def powers(gamma: float, steps: int | None) -> Floats:
    """γ^t, until it is lost in the rounding of a double, or the horizon is reached."""
    last = LONGEST if gamma == 1.0 else horizon(gamma, 1e-16)
    last = last if steps is None else min(last, steps)
    return np.asarray(gamma ** np.arange(last + 1, dtype=np.float64))


def horizon(discount: float, least: float) -> int:
    """The depth at which γ^h has fallen to so little."""
    return 1 if discount == 0 else max(1, math.ceil(math.log(least) / math.log(discount)))
