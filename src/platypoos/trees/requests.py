"""What planners ask a sampler for: the same words around Python models and in compiled code."""

from __future__ import annotations

from typing import Any

from platypoos.trees.protocol import Floats, Nodes
from platypoos.trees.tree import Tree


def evaluate(sim: Any, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate the last action of each node ``repeats`` times; all samples go into the tree.

    Inside compiled planners the same name means the compiled sampler
    (``machine_requests.py``). Returns False only there, when the model failed.
    """
    sim.evaluate(tree, nodes, repeats)
    return True


def play(
    sim: Any,
    tree: Tree,
    path: Nodes,
    rewards: Floats,
    start: int = 0,
    roll_out: bool = True,  # noqa: FBT002  compiled planners pass it by position
) -> int:
    """Walk from the root along the nodes of ``path``, a call each; every sample goes into the tree.

    ``rewards`` receives the samples of this walk, and behind them what the model says that the
    last state is worth (0 if it says nothing). The first ``start`` nodes must be known: the walk
    begins at the stored state behind them, and their mean rewards take the place of samples. By
    RESET there are no stored states, and ``start`` must be 0.

    Nodes that are new get the actions that are legal in the states that come about, and below the
    first new one those of the model's policy (not without ``roll_out``).
    Returns how many nodes of the path have got a sample: all of them, unless the episode ends on
    the way (then the nodes behind are new ones). Inside compiled planners it returns -1 when the
    model failed.
    """
    return int(sim.play(tree, path, rewards, start, roll_out))


def play_ahead(sim: Any, tree: Tree, ahead: Any, asked: int, roll_out: bool) -> None:
    """Make the walks of the first ``asked`` sequences at once, before they are judged.

    ``play`` then takes them one after the other, in this order, in place of calls. In compiled
    code it is ``play`` that makes the walks.
    """
    sim.play_ahead(tree, ahead, asked, roll_out)


def play_whole(sim: Any, tree: Tree, path: Nodes, rewards: Floats) -> int:
    """Walk all of ``path`` by RESET, as it is planned; see :func:`play`."""
    return int(sim.play(tree, path, rewards, 0, False))


def ask_legal(sim: Any, nodes: Nodes) -> bool:
    """Ask the model for the legal actions after nodes that were evaluated, unless they are known.

    Returns False only inside compiled planners, when the model failed.
    """
    sim.ask_legal(nodes)
    return True


def calls_made(sim: Any) -> int:
    """Calls made so far; compiled planners may ask too."""
    return int(sim.calls)


def is_late(sim: Any) -> bool:
    """Whether the clock has run out, so that a request or a walk may have been cut short.

    Compiled code is fast enough to finish them.
    """
    return bool(sim.due())


def is_due(sim: Any) -> bool:
    """Whether a planner that can stop at any time should look at the clock."""
    return bool(sim.due())
