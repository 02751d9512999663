"""What the twin knows and where it stands: arrays of records, all preallocated.

A plan of n calls learns at most n states and n edges, so there is room for all of them before
it begins, and machine code never has to ask for memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NONE = -1
"""No state, no edge, no action, no entry."""

STATE = np.dtype(
    [
        ("value", "f8"),  # under the best known policy
        ("ticket", "f8"),  # decides between equals
        ("choice", "i4"),  # the edge that the best known policy takes
        ("first", "i4"),  # its edges, in the order they were tried…
        ("last", "i4"),
        ("degree", "i4"),  # …and how many there are
        ("parent", "i4"),  # the edges that lead here, in the order they were found
        ("last_parent", "i4"),
        ("time", "i4"),  # steps from the beginning of the episode, when it was first met
        ("queued", "i4"),  # whether its value must be looked at again
        ("mark", "i4"),  # the last pass over the graph that saw it
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("mean", "f8"),  # of the rewards
        ("rest", "f8"),  # what an end is worth
        ("average", "f8"),  # of the returns of random walks
        ("going_on", "f8"),
        ("samples", "i8"),
        ("start", "i4"),
        ("action", "i4"),
        ("after", "i4"),  # the state it leads to; NONE if the episode ends
        ("next", "i4"),  # the next edge of its start…
        ("next_parent", "i4"),  # …and the next one that leads to the same state
        ("walks", "i4"),  # random walks that took it
    ],
    align=True,
)
ENTRY = np.dtype([("value", "f8"), ("edge", "i4"), ("before", "i4")], align=True)
OPENING = np.dtype([("times", "i8"), ("state", "i4"), ("depth", "i4")], align=True)
REQUEST = np.dtype(
    [
        ("times", "i8"),
        ("place", "i8"),  # of its actions, on the tape
        ("state", "i4"),
        ("steps", "i4"),
        ("payer", "i4"),  # whose idea it was
        ("walker", "i4"),  # whose path goes on with it, or NONE
    ],
    align=True,
)
WALKER = np.dtype(
    [
        ("level", "i8"),  # that it belongs to
        ("count", "i4"),  # actions
        ("steps", "i4"),  # that are taken
        ("payer", "i4"),  # who had the idea
        ("by_chance", "i4"),  # whether it was drawn at random
        ("found", "i4"),  # whether it has found anything new
        ("awaited", "i4"),  # whether nothing else goes on before it has come to its end
        ("state", "i4"),  # where something is unknown, or NONE…
        ("action", "i4"),  # …and the action there
        ("asks", "i4"),  # whether this step is asked for
    ],
    align=True,
)
HEARD = np.dtype(
    [
        ("value", "f8"),
        ("steady", "f8"),
        ("outlook", "f8"),
        ("version", "i8"),
        ("first", "i4"),
        ("steps", "i4"),
    ],
    align=True,
)
CANDIDATE = np.dtype(
    [
        ("value", "f8"),
        ("steady", "f8"),
        ("outlook", "f8"),
        ("version", "i8"),  # how often there was another one
        ("count", "i4"),  # actions
        ("steps", "i4"),  # of its path; 0 if there is no candidate
    ],
    align=True,
)
EXPLORER = np.dtype(
    [
        ("h_max", "i8"),
        ("spent_before", "i8"),  # calls before the present round
        ("known_before", "i8"),  # edges that were known then
        ("exhausted", "i8"),  # edges that were known when it found nothing more to ask for
        ("inside", "i8"),  # whether a round has begun
        ("round", "i8"),  # its number
        ("h", "i8"),  # the present layer…
        ("layers", "i8"),  # …how many there are at most…
        ("layer", "i8"),  # …and its first entry
        ("entries", "i8"),
        ("openings", "i8"),
        ("opened", "i8"),  # openings that were asked for and paid
        ("best_end", "i8"),  # the best entry where the episode ends, or NONE
        ("power", "f8"),
    ]
)
WIDE, CAREFUL = 0, 1
"""The two explorers."""

GRAPH = np.dtype(
    [
        ("discount", "f8"),
        ("span", "f8"),
        ("origin", "f8"),
        ("rate", "f8"),
        ("sum", "f8"),
        ("squares_sum", "f8"),
        ("inverse_sum", "f8"),
        ("squares", "f8"),
        ("middle", "f8"),
        ("spread", "f8"),
        ("doubt", "f8"),
        ("tolerance", "f8"),
        ("total_variance", "f8"),
        ("num_actions", "i8"),
        ("horizon", "i8"),  # or NONE
        ("root", "i8"),
        ("count", "i8"),  # states
        ("edges", "i8"),  # rows of edges that are used
        ("known", "i8"),  # edges
        ("closed", "i8"),
        ("missing", "i8"),
        ("survey_at", "i8"),
        ("surveyed", "i8"),
        ("tail", "i8"),
        ("degrees", "i8"),
        ("head", "i8"),  # of the queue
        ("waiting", "i8"),  # in the queue
        ("marks", "i8"),  # passes over the graph
        ("valued", "i8"),
        ("masked", "i8"),
        ("shrinks", "i8"),
    ]
)
FINE, BAD_REWARD, RANDOM_END, RANDOM_STATE, NO_LEGAL, BAD_VALUE = range(6)
"""What went wrong."""
SEARCH = np.dtype(
    [
        # the model
        ("functions", "i8"),  # the address of its functions…
        ("given", "i8"),  # …and of what they are given
        # calls
        ("calls", "i8"),  # of all plans
        ("first_call", "i8"),  # calls before this decision
        ("end", "i8"),  # calls that may have been made when this part of the plan is over
        ("over", "i8"),  # whether something was asked for when no call was left
        ("late", "i8"),  # whether time was up
        ("requests", "i8"),  # of the batch
        ("status", "i8"),
        ("at_state", "i8"),  # where the last step was made
        ("at_action", "i8"),
        ("reward", "f8"),
        ("compares", "i8"),  # repeated steps to be compared, and when there are more
        ("next_glance", "i8"),
        ("pooled", "i8"),  # words of random streams that were drawn, and used
        ("used", "i8"),
        # the plan
        ("began", "i8"),
        ("known_before", "i8"),
        ("width", "i8"),
        ("stage", "i8"),
        ("stops", "i8"),  # whether to stop when it is sure
        ("paid_at", "i8"),
        ("changes_paid", "f8"),  # what changes were paid before this stage
        ("usual_return", "f8"),
        ("greed", "f8"),
        # the level
        ("level", "i8"),  # its number
        ("length", "i8"),
        ("leader", "i8"),  # its first action
        ("ranked", "i8"),  # candidates
        # sequences
        ("rest", "i8"),  # actions that are left of the last decision's sequence
        ("decided", "i8"),  # row of the recommendation among the candidates, or NONE
        ("walk_pass", "i8"),  # of walks, to see who asks for the same step
        ("walks", "i8"),  # under way
        ("line", "i8"),  # the first one that was proposed…
        ("proposed", "i8"),  # …and how many are
        ("free", "i8"),  # walkers that do nothing
        ("idle", "i8"),  # walks in a row that have found nothing new
        ("walks_until", "f8"),  # calls at which all walks must have come to their ends
        ("has_fresh", "i8"),
        # the decision
        ("rival", "i8"),
        ("has_lead", "i8"),
        ("lead", "f8"),
        ("lead_error", "f8"),
        ("confidence", "f8"),
        ("ahead", "f8"),
        ("solid", "f8"),
        ("looked", "f8"),
    ]
)
OTHERS, CHANGES, TREE, CHALLENGES, OF_WIDE, OF_CAREFUL = range(6)
"""Who has ideas, and pays for them; the last two are the tree explorers."""
RULES = np.dtype(
    [
        ("stages", "i8"),
        ("tree_share", "f8"),
        ("growth", "f8"),
        ("seed_share", "f8"),
        ("greedy_share", "f8"),
        ("batch_share", "f8"),
        ("most_walks", "i8"),
        ("stretch", "i8"),
        ("idle", "i8"),
        ("challengers", "i8"),
        ("challenge_share", "f8"),
        ("policies", "i8"),
        ("sequences", "i8"),
        ("steady_share", "f8"),
        ("look_share", "f8"),
        ("hearing_share", "f8"),
        ("finish_share", "f8"),
        ("jury_share", "f8"),
        ("near", "f8"),
        ("shortest", "i8"),
        ("shortest_kept", "i8"),
        ("length_share", "f8"),
        ("early", "f8"),
    ]
)
MOST_PROPOSED = 512
"""Sequences of the tree that wait to be walked. With rounds that grow by a tenth there are
fewer."""


Bits = int
Ints = NDArray[np.int32]
Places = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint32]


class Search(NamedTuple):
    """All of it. A sequence is a row of actions; a path is a row of edges."""

    graph: Any  # [1] GRAPH
    at: Any  # [1] SEARCH
    rules: Any  # [1] RULES
    explorers: Any  # [2] EXPLORER
    states: Any  # [states] STATE
    edges: Any  # [edges] EDGE
    bits: NDArray[np.uint8]  # [states + 1, bytes] the stored states; the next one is written last
    table: NDArray[np.int32]  # a hash table of states
    queue: NDArray[np.int32]  # [a power of 2] of states, as a ring
    worth: NDArray[np.float64]  # [states] what the model says that it is worth
    legal: NDArray[np.uint8]  # [states, actions] 1 if allowed; the first one UNASKED at first
    found: NDArray[np.int32]  # [states] of a pass over the graph
    noted: NDArray[np.int32]  # [edges] where an edge is in a list
    entries: Any  # [2, edges + 2] ENTRY
    ends: Any  # [2] ENTRY of the best way to an end of the episode
    openings: Any  # [2, states + 1] OPENING
    opened: NDArray[np.int32]  # [2, states] the last round that opened it
    places: NDArray[np.int32]  # [2, states] its entry in the present layer
    order: NDArray[np.int32]  # [2, edges + 2] to sort a layer
    twister: NDArray[np.uint32]  # [2, 625] random numbers of the graph, and of the search
    seeder: np.random.Generator  # draws the starts of random streams…
    pool: NDArray[np.uint32]  # …many at once
    rng: np.random.Generator  # what the model draws from…
    stream: NDArray[np.uint32]  # [4] …and its state
    half: NDArray[np.uint32]  # [1] whether half of a draw is left over
    stop: NDArray[np.int64]  # [1] set from outside when time is up
    batch: Any  # [requests] REQUEST
    tape: NDArray[np.int32]  # actions: 0, 1, …, then a row for each walker, and one to work with
    walkers: Any  # [walkers] WALKER
    paths: NDArray[np.int32]  # [walkers + 1, length] …and edges; the last row is to work with
    under_way: NDArray[np.int32]  # [walkers] in order
    line: NDArray[np.int32]  # [walkers] those that were proposed, as a ring
    spare: NDArray[np.int32]  # [walkers] those that do nothing
    asked: NDArray[np.int64]  # [a power of 2, 4] the next steps: pass, state, action, walker
    spent: NDArray[np.int64]  # [payers] calls…
    limit: NDArray[np.float64]  # [payers] …and how many they may be
    wins: NDArray[np.int64]  # [payers] new best sequences
    jury: Any  # [actions] HEARD
    heard: NDArray[np.int32]  # [actions, length] their paths
    candidates: Any  # [actions + 1] CANDIDATE, by their first action; the last one is the decision
    actions: NDArray[np.int32]  # [actions + 1, most]
    ways: NDArray[np.int32]  # [actions + 1, length] their paths
    best: NDArray[np.int32]  # [actions] the first actions that have a candidate, in order
    tried: NDArray[np.int32]  # [actions] how often it was a challenger in turn
    lists: NDArray[np.int32]  # [4, actions] to work with
    rest: NDArray[np.int32]  # [most] what is left of the last decision's sequence
    kept: NDArray[np.int32]  # [most] the leader, as long as challengers have its tail
    fresh: NDArray[np.int32]  # [2, length] the paths of the last hearing…
    steps: NDArray[np.int64]  # [2] …their lengths…
    numbers: NDArray[np.float64]  # [actions] to work with
    means: NDArray[np.float64]  # [2, length] …and what was known before it
    samples: NDArray[np.int64]  # [2, length]
    listed: NDArray[np.int32]  # [2 length] edges of two paths…
    weights: NDArray[np.float64]  # [2 length] …and what each counts
    power: NDArray[np.float64]  # [length + 1] γ^t
