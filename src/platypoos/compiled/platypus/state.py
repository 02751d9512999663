"""What a plan knows and where it stands: arrays with a name each, and one record."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.trees.meeting import Homes
from platypoos.trees.tree import Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NOBODY = 0
"""No node: the first root is nobody's child."""
BEFORE = -1
"""No entry, no layer, no leader."""

START, TREE, SEQUENCES, POLICIES, LOOK, JURY, FINISHED = range(7)
"""What a plan is doing: ``phase``."""

STANDING = np.dtype(
    [
        ("phase", "i8"),
        ("root", "i8"),  # the home of the state that is planned for
        ("over_at", "i8"),  # the depth at which the episode is over
        ("discount", "f8"),
        ("seed", "i8"),
        ("drawn", "i8"),  # random numbers so far
        ("began", "i8"),  # calls made before this plan
        ("limit", "i8"),  # calls that may have been made when it ends
        ("stage", "i8"),  # calls of a stage
        ("stage_began", "i8"),  # calls made before the present stage
        ("piece_end", "i8"),  # calls that may have been made when the present piece ends
        ("stops", "i8"),  # whether to stop when it is sure
        ("sure", "i8"),  # whether it has stopped for that
        ("stuck", "i8"),  # whether the tree explorer finds nothing to ask for
        ("seen", "i8"),  # nodes there were when it last saw nothing new
        # noise
        ("squares", "f8"),  # Σ of squared differences between samples, each worth one variance
        ("degrees", "i8"),  # how many there were
        ("looked", "i8"),  # nodes that were sampled again to look for noise
        # when all was last solved
        ("average", "f8"),  # of all rewards
        ("spread", "f8"),  # their variance, noise taken out; 0 if there is no noise
        ("solved", "i8"),  # whether it ever was
        ("closed", "i8"),  # whether nothing was unknown
        ("rate", "f8"),  # what is unknown is worth, for each step to come
        # the tree explorer
        ("h_max", "i8"),  # of rounds that sample well…
        ("h_wide", "i8"),  # …and of those that see each action once
        ("wide", "i8"),  # whether the present round is one of those
        ("credit", "f8"),  # calls that it has earned and not spent; negative if it spent more
        ("tree_end", "i8"),  # calls that may have been made when the tree explorer is through
        ("round_number", "i8"),
        ("depth", "i8"),  # of the present layer; BEFORE a round
        ("layer", "i8"),  # its first entry
        ("entries", "i8"),  # entries so far
        ("picked", "i8"),  # entries of the layer that are opened
        ("best_end", "i8"),  # the best entry where the episode ends, or BEFORE
        ("cut", "i8"),  # whether calls or entries ran out
        ("opened", "i8"),  # whether the present round has learned anything
        # sequences
        ("tried", "i8"),  # sequences of one action so far
        ("idle", "i8"),  # changes in a row that were known already
        ("kept", "i8"),  # whether there is a sequence from the last decision
        ("leader", "i8"),  # the first action of the best candidate, or BEFORE
        ("steps", "i8"),  # steps of the present walk
        ("whole", "i8"),  # whether it was walked to its end
        ("ended", "i8"),  # whether that is the end of the episode
        ("here", "i8"),  # the home where it goes on
        ("known", "i8"),  # nodes there were before it
        # success: how often an explorer found a new best sequence, and calls that it has cost
        ("tree_wins", "i8"),
        ("sequence_wins", "i8"),
        ("tree_spent", "i8"),
        ("sequence_spent", "i8"),
        ("turn_began", "i8"),  # calls made before the present explorer's turn
        ("offered", "i8"),  # policies that were proposed in this stage
        # the jury
        ("alive", "i8"),  # candidates that are left, by ``order``
        ("hearings", "i8"),  # halvings to go
        ("last", "i8"),  # whether these are the last hearings
        ("last_leader", "i8"),  # after the stage before, or BEFORE
        ("agreed", "i8"),  # stages in a row with the same leader
        ("has_gap", "i8"),  # whether the two last candidates were heard:
        ("ahead", "i8"),  # the first of them
        ("gap", "f8"),  # the lead of the leader in fresh samples…
        ("gap_variance", "f8"),  # …and its variance
    ]
)


class Search(NamedTuple):
    """All of it. A node of the tree is a state and an action that was tried there.

    A state is named after its home, the first node that led to it; its children are the actions
    that were tried there.
    """

    tree: Tree
    homes: Homes
    first: NDArray[np.int32]  # [nodes] of a home: the child made last, or NOBODY…
    sibling: NDArray[np.int32]  # [nodes] …and the one made before it
    tried: NDArray[np.int32]  # [nodes] of a home: how many children it has
    choice: NDArray[np.int32]  # [nodes] of a home: its best child when all was last solved
    place: NDArray[np.int32]  # [nodes] of a home: its entry in the present layer
    seen_in: NDArray[np.int32]  # [nodes] of a home: the round that opened it last
    share: Floats  # [nodes] weight in the present hearing; 0 otherwise
    legal: NDArray[np.uint8]  # see ``Advice``
    worth: Floats
    at: Any  # [1] STANDING
    power: Floats  # [length + 1] γ^t
    sequences: Ints  # [actions, length] the best sequence known for each first action
    value: Floats  # [actions] its value; −∞ if there is none
    outlook: Floats  # [actions] what its last state is worth: this decides between equal ones
    steps: Ints  # [actions] its steps; fewer than the length if the episode ends
    order: Ints  # [actions] the order of the seeds; later the jury's ranks
    trial: Ints  # [length] a sequence to try
    path: Ints  # [length] its nodes
    samples: Floats  # [length + 1]
    entry_node: NDArray[np.int32]  # [entries] the tree explorer's: a node…
    entry_before: NDArray[np.int32]  # …the entry before it…
    entry_value: Floats  # …and the discounted sum of rewards to it
    picked: NDArray[np.int32]  # [entries] those that are opened in the present layer
    ranks: NDArray[np.int32]  # [entries] of the present layer, the best first
    nodes: Ints  # [request] nodes to be sampled…
    repeats: Ints  # …how often…
    mean: Floats  # …their mean reward before…
    pulls: Ints  # …and its samples
    reset: bool  # whether the model can only be played from the root
