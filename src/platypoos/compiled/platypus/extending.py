"""The unknown part of a walk: calls from one new state to the next."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import types

from platypoos.compiled.code import borrowed, fast, handle_kind, jit, overload
from platypoos.compiled.code.engine import EXTEND, request
from platypoos.compiled.platypus.knowledge import add_child, is_over
from platypoos.compiled.platypus.state import Search
from platypoos.errors import ModelError
from platypoos.simulator.pace import never
from platypoos.trees.meeting import find_home, settle
from platypoos.trees.requests import ask_legal, calls_made, evaluate, is_late
from platypoos.trees.tree import TERMINAL


def extend(sim: Any, search: Search, t: int) -> int:
    """Take the steps of ``trial`` from ``t`` on, as long as they lead to new states.

    Returns the first step that was not taken; −1 only if the model failed, in compiled code.
    """
    here, depth, first, left, steps_left = _spot(search, sim.calls)
    most = min(left, steps_left)
    masked, timed, key = len(search.legal) > 0, len(search.homes.depth) > 0, sim.key
    clocked = sim.due is not never
    actions = search.trial[t : t + (1 if masked else most)].tolist()
    rewards: list[float] = []
    home = node = first
    ended = False
    failure: ModelError | None = None
    began = time.perf_counter()
    try:
        for state, reward, ended in sim.steps_from(here, actions):
            sim.put(node, state)
            rewards.append(reward)
            if key is not None and not ended and len(rewards) < steps_left:
                home = find_home(sim, node, state, depth + len(rewards) if timed else None)
                if home != node:
                    break
            node += 1
            home = node
            if clocked and sim.due():
                break
    except ModelError as error:
        failure = error
        raise
    finally:
        got = len(rewards)
        sim.pace.note(got, time.perf_counter() - began)
        if got:
            search.samples[:got] = rewards
            _grow(search, t, got, home if home < node else -1, ended)
        if failure is not None:
            failure.tree = sim.tree.trimmed()  # with the steps that went well
    if len(search.worth):
        sim.appraise(search.tree, search.path[t : t + got])
    if masked and got and not ended and got < steps_left:
        ask_legal(sim, search.path[t : t + got])
    return t + got


@jit
def spot(search: Search, calls: int) -> tuple[int, int, int, int, int]:
    """Where a walk goes on: its state, the depth of that, the next node; calls and steps left."""
    at, tree = search.at[0], search.tree
    depth = int(tree.depth[at.here])
    return at.here, depth, tree.size[0], at.limit - calls, at.over_at - depth


@jit
def grow(search: Search, t: int, got: int, meets: int, ended: bool) -> None:
    """Make the nodes of steps that were taken; the last leads to the home ``meets``, or −1."""
    search = borrowed(search)
    tree = search.tree
    state = int(search.at[0].here)
    for i in range(got):
        child = add_child(search, state, int(search.trial[t + i]))
        tree.pulls[child] = 1
        tree.reward[child] = search.samples[i]
        search.path[t + i] = state = child
    if meets >= 0:
        search.homes.home[state] = meets
    if ended:
        tree.flags[state] |= TERMINAL


_spot, _grow = fast(spot), fast(grow)


@request(extend, EXTEND, types.int64, lambda: (handle_kind(Search), types.int64))
def _extend(machine: Any, search: Search, t: int) -> int:
    at = search.at[0]
    most = min(at.limit - calls_made(machine), at.over_at - search.tree.depth[at.here])
    end = min(len(search.trial), t + (1 if len(search.legal) > 0 else most))
    state = np.int64(at.here)
    one = search.nodes[:1]
    once = search.repeats[:1]
    once[0] = 1
    while t < end:
        child = add_child(search, state, search.trial[t])  # type: ignore[arg-type]
        one[0] = child
        if not evaluate(machine, search.tree, one, once):
            return -1
        search.path[t] = child
        t += 1
        if is_over(search, child):
            break
        settle(machine, search.homes, one)
        state = np.int64(search.homes.home[child])
        if state != child:
            break
        if not ask_legal(machine, one):
            return -1
        if is_late(machine):
            break
    return t


_call_extend = _extend.call


@overload(extend)
def _extend_compiled(sim: Any, search: Any, t: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any, search: Any, t: Any) -> Any:
        return _call_extend(sim.requests[EXTEND], sim.machine, search, t)

    return implementation
