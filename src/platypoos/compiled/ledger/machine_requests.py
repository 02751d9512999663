"""What ``evaluate``, ``play`` and so on mean inside compiled code.

For a planner, which knows an ``Engine``: a call by address. For a model's own loops, which know a
``Machine``: the loop itself. Both are handles.
"""

from __future__ import annotations

from typing import Any

from numba import types

from platypoos.compiled.code import handle_of, opened, overload
from platypoos.compiled.code.engine import (
    ASK_LEGAL,
    EVALUATE,
    PLAY,
    PLAY_WHOLE,
    SETTLE,
    is_engine,
    request,
)
from platypoos.compiled.ledger.machine import ask_all, play_path, query, walk
from platypoos.compiled.ledger.machine_advice import says, starts_over
from platypoos.trees.meeting import Homes, make_homes, settle, settle_rows
from platypoos.trees.protocol import Floats, Nodes
from platypoos.trees.requests import (
    ask_legal,
    calls_made,
    evaluate,
    is_due,
    is_late,
    play,
    play_ahead,
    play_whole,
)
from platypoos.trees.tree import Tree, make_tree

NODES = types.Array(types.int64, 1, "C")
FLOATS = types.Array(types.float64, 1, "C")
TREE = handle_of(make_tree(1))
HOMES = handle_of(make_homes(1, slots=1))


def evaluate_all(sim: Any, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate nodes, by walks or from stored states."""
    return walk(sim, tree, nodes, repeats) if starts_over(sim) else query(sim, tree, nodes, repeats)


@overload(evaluate_all)
def _evaluate_all(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:  # noqa: ARG001
    loop = walk if says(sim, "path") else query

    def implementation(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:
        return loop(sim, tree, nodes, repeats)

    return implementation


@request(evaluate, EVALUATE, types.boolean, lambda: (TREE, NODES, NODES))
def _evaluate(machine: Any, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    return evaluate_all(opened(machine), opened(tree), nodes, repeats)


@request(play, PLAY, types.int64, lambda: (TREE, NODES, FLOATS, types.int64, types.boolean))
def _play(
    machine: Any, tree: Tree, path: Nodes, rewards: Floats, start: int, roll_out: bool
) -> int:
    return play_path(opened(machine), opened(tree), path, rewards, start, roll_out)


@request(play_whole, PLAY_WHOLE, types.int64, lambda: (TREE, NODES, FLOATS), needs="path")
def _play_whole(machine: Any, tree: Tree, path: Nodes, rewards: Floats) -> int:
    return play_path(opened(machine), opened(tree), path, rewards, 0, False)


@request(ask_legal, ASK_LEGAL, types.boolean, lambda: (NODES,), needs="legal_kernel")
def _ask_legal(machine: Any, nodes: Nodes) -> bool:
    return ask_all(opened(machine), nodes)


@request(settle, SETTLE, types.boolean, lambda: (HOMES, NODES))
def _settle(machine: Any, homes: Homes, nodes: Nodes) -> bool:
    settle_all(opened(machine), opened(homes), nodes)
    return True


def settle_all(sim: Any, homes: Homes, nodes: Nodes) -> None:
    """Find homes in compiled code: what ``CompiledSimulator.settle`` does in Python."""


@overload(settle_all)
def _settle_all(sim: Any, homes: Any, nodes: Any) -> Any:  # noqa: ARG001
    if says(sim, "path"):

        def apart(sim: Any, homes: Any, nodes: Any) -> Any:  # noqa: ARG001
            for i in range(len(nodes)):
                homes.home[nodes[i]] = nodes[i]

        return apart

    def by_bits(sim: Any, homes: Any, nodes: Any) -> Any:
        settle_rows(homes, sim.states, nodes)

    return by_bits


_evaluate_loop, _call_evaluate = _evaluate.loop, _evaluate.call
_legal_loop, _call_legal = _ask_legal.loop, _ask_legal.call
_settle_loop, _call_settle = _settle.loop, _settle.call
_call_play, _call_whole = _play.call, _play_whole.call


@overload(evaluate)
def _evaluate_compiled(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:  # noqa: ARG001
    def by_address(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:
        return _call_evaluate(sim.requests[EVALUATE], sim.machine, tree, nodes, repeats)

    def itself(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:
        return _evaluate_loop(sim, tree, nodes, repeats)

    return by_address if is_engine(sim) else itself


@overload(play)
def _play_compiled(
    sim: Any,  # noqa: ARG001
    tree: Any,  # noqa: ARG001
    path: Any,  # noqa: ARG001
    rewards: Any,  # noqa: ARG001
    start: Any = 0,  # noqa: ARG001
    roll_out: Any = True,  # noqa: ARG001, FBT002
) -> Any:
    def by_address(
        sim: Any,
        tree: Any,
        path: Any,
        rewards: Any,
        start: Any = 0,
        roll_out: Any = True,  # noqa: FBT002
    ) -> Any:
        at = sim.requests[PLAY]
        return _call_play(at, sim.machine, tree, path, rewards, start, roll_out)

    return by_address


@overload(play_ahead)
def _play_ahead_compiled(
    sim: Any,  # noqa: ARG001
    tree: Any,  # noqa: ARG001
    ahead: Any,  # noqa: ARG001
    asked: Any,  # noqa: ARG001
    roll_out: Any,  # noqa: ARG001
) -> Any:
    def implementation(sim: Any, tree: Any, ahead: Any, asked: Any, roll_out: Any) -> Any:
        pass

    return implementation


@overload(play_whole)
def _play_whole_compiled(sim: Any, tree: Any, path: Any, rewards: Any) -> Any:  # noqa: ARG001
    def by_address(sim: Any, tree: Any, path: Any, rewards: Any) -> Any:
        return _call_whole(sim.requests[PLAY_WHOLE], sim.machine, tree, path, rewards)

    return by_address


@overload(ask_legal)
def _ask_legal_compiled(sim: Any, nodes: Any) -> Any:  # noqa: ARG001
    def by_address(sim: Any, nodes: Any) -> Any:
        if len(sim.legal) == 0:
            return True
        return _call_legal(sim.requests[ASK_LEGAL], sim.machine, nodes)

    def itself(sim: Any, nodes: Any) -> Any:
        return _legal_loop(sim, nodes)

    def all_legal(sim: Any, nodes: Any) -> Any:  # noqa: ARG001
        return True

    if is_engine(sim):
        return by_address
    return itself if says(sim.record, "legal_kernel") else all_legal


@overload(settle)
def _settle_compiled(sim: Any, homes: Any, nodes: Any) -> Any:  # noqa: ARG001
    def by_address(sim: Any, homes: Any, nodes: Any) -> Any:
        _call_settle(sim.requests[SETTLE], sim.machine, homes, nodes)

    def itself(sim: Any, homes: Any, nodes: Any) -> Any:
        _settle_loop(sim, homes, nodes)

    return by_address if is_engine(sim) else itself


@overload(is_due)
def _is_due_compiled(sim: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any) -> Any:
        return sim.ledger[0].calls >= sim.ledger[0].pause

    return implementation


@overload(is_late)
def _is_late_compiled(sim: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any) -> Any:  # noqa: ARG001
        return False

    return implementation


@overload(calls_made)
def _calls_made_compiled(sim: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any) -> Any:
        return sim.ledger[0].calls

    return implementation
