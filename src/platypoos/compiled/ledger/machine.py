"""Machine code: how a model with a compiled step is queried, and the books are kept."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.extending import typeof_impl
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD
from platypoos.compiled.code import borrowed, jit, part
from platypoos.compiled.code.notice import compiling
from platypoos.compiled.code.records import Stored, reader
from platypoos.compiled.ledger.first_class import functions_at
from platypoos.compiled.ledger.machine_advice import (
    BAD_REWARD,
    FINE,
    OVER_BUDGET,
    RANDOM_END,
    RANDOM_STATE,
    draw,
    make_account,
    value_of,
    write_mask,
)
from platypoos.models.advice import UNASKED, pick
from platypoos.trees.meeting import Homes, make_homes, settle_rows
from platypoos.trees.protocol import Floats, Nodes
from platypoos.trees.tree import ILLEGAL, ROOT, TERMINAL, Tree, make_tree

BARRED = -1
"""In place of an action that is not legal."""
WATCHED = 128
"""First calls of a plan of which repeated ones are compared with the state they led to."""


class Machine(NamedTuple):
    """What compiled code needs to query a model and keep its books; the same for all models."""

    loops: int  # address of ``Loops``
    functions: int  # address of ``Functions``
    given: int  # address of what these are given
    rng: np.random.Generator
    states: NDArray[np.uint8]  # [nodes + 2, bytes] the memory of a state per node, and of two more
    ledger: Any  # [1] ACCOUNT
    last_reward: NDArray[np.float64]  # [1] the reward that was refused
    path: NDArray[np.int64]  # [depth] the nodes of a walk; empty if states can be restored
    legal: NDArray[np.uint8]  # [nodes + 2, actions] see ``Advice``; no rows: the model says nothing
    worth: NDArray[np.float64]  # [nodes + 2]; empty: the model says nothing
    weights: NDArray[np.float64]  # [actions] of the policy; empty: it has none


MACHINE = typeof(
    Machine(
        0, 0, 0, np.random.default_rng(0), np.empty((0, 0), np.uint8), make_account(0, 0),
        np.empty(0), np.empty(0, np.int64), np.empty((0, 0), np.uint8), np.empty(0), np.empty(0),
    )
)  # fmt: skip
machine_at = reader(MACHINE)


@part
def starts_over(sim: Machine) -> bool:
    """Whether every walk begins at the root: there is no state to restore."""
    return len(sim.path) > 0


@part
def has_masks(sim: Machine) -> bool:
    """Whether the model tells which actions are legal."""
    return len(sim.legal) > 0


@jit
def query(address: int, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate nodes from their parents' stored states."""
    sim, tree = machine_at(address), borrowed(tree)
    ledger, kernel = sim.ledger, functions_at(sim.functions).kernel
    calls = ledger[0].calls
    watched = WATCHED if calls < WATCHED else 0  # compare where repeated steps lead
    spare = len(sim.states) - 1
    for i in range(len(nodes)):
        count = repeats[i]
        if count == 0:
            continue
        if calls + count > ledger[0].budget:
            ledger[0].status = OVER_BUDGET
            return False
        node = np.uint64(nodes[i])  # unsigned: no need to look whether it counts from the end
        ledger[0].node = nodes[i]
        state = np.int64(tree.parent[node])
        action = np.int64(tree.action[node])
        pulls = tree.pulls[node]
        if pulls == 0:
            calls += 1
            ledger[0].calls = calls  # before each step: it may raise
            mean, ended = kernel(sim.given, state, action, np.int64(node))
            taken = 1
            if ended:
                tree.flags[node] |= TERMINAL
            if len(sim.worth) > 0:
                over = ended or tree.depth[node] >= ledger[0].horizon
                sim.worth[node] = 0.0 if over else value_of(sim, node)
                if ledger[0].status != FINE:
                    return False
        else:
            mean, ended = tree.reward[node], tree.flags[node] & TERMINAL != 0
            taken = 0
        drift = 0.0  # Σ (reward − mean): exact when rewards have no noise
        for _ in range(taken, count):
            calls += 1
            ledger[0].calls = calls
            reward, terminated = kernel(sim.given, state, action, spare)
            drift += reward - mean
            if terminated != ended:
                ledger[0].status = RANDOM_END
                return False
            if calls <= watched and not same_row(sim.states, node, len(sim.states) - 1):
                ledger[0].status = RANDOM_STATE
                return False
        # One look for all samples: their sum is in bounds if each of them is.
        if not abs(mean + drift) <= (2 * count + 1) * LARGEST_REWARD:
            ledger[0].status = BAD_REWARD
            sim.last_reward[0] = mean + drift
            return False
        pulls += count
        tree.pulls[node] = pulls
        tree.reward[node] = mean + drift / pulls if pulls > 1 else mean
    return True


@jit
def ask_all(address: int, nodes: Nodes) -> bool:
    """Ask for the legal actions after nodes, unless they are known."""
    sim = machine_at(address)
    if not has_masks(sim):
        return True
    for i in range(len(nodes)):
        node = nodes[i]
        stored = node == ROOT or not starts_over(sim)
        unasked = sim.legal[node, 0] == UNASKED
        if unasked and stored and not write_mask(sim, node, sim.legal[node]):
            return False
    return True


@part
def same_row(states: NDArray[Any], one: Any, other: int) -> bool:
    """Whether two states are the same to the last bit."""
    for i in range(states.shape[1]):  # noqa: SIM110  a generator is no code to compile
        if states[one, i] != states[other, i]:
            return False
    return True


@jit
def walk(address: int, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate nodes by trajectories from the root; every prefix gets its sample."""
    sim, tree = machine_at(address), borrowed(tree)
    ledger, kernel = sim.ledger, functions_at(sim.functions).kernel
    for i in range(len(nodes)):
        node = nodes[i]
        depth = tree.depth[node]
        at = node
        for t in range(depth - 1, -1, -1):
            sim.path[t] = at
            at = tree.parent[at]
        first_time = tree.pulls[node] == 0
        known = 0  # steps that were taken before
        for t in range(depth):
            known += tree.pulls[sim.path[t]] > 0
        endings = 0
        worth = 0.0
        for _ in range(repeats[i]):
            terminated = False
            barred = False
            for t in range(depth):
                prefix = sim.path[t]
                reward = 0.0  # once ended: absorbing with reward 0, and no call
                if not terminated:
                    source = ROOT if t == 0 else 1 + (t & 1)
                    action = np.int64(tree.action[prefix])
                    if has_masks(sim):
                        action = choose_again(sim, source, action, t < known)
                        if ledger[0].status != FINE:
                            return False
                        if action == BARRED:
                            tree.flags[prefix] |= ILLEGAL
                            barred = True
                            break
                    if ledger[0].calls + 1 > ledger[0].budget:
                        ledger[0].status = OVER_BUDGET
                        return False
                    ledger[0].calls += 1
                    ledger[0].step = t
                    ledger[0].node = prefix
                    after = 2 - (t & 1)
                    reward, terminated = kernel(sim.given, source, np.int64(action), after)
                    if not abs(reward) <= LARGEST_REWARD:
                        ledger[0].status = BAD_REWARD
                        sim.last_reward[0] = reward
                        return False
                pulls = tree.pulls[prefix] + 1
                tree.pulls[prefix] = pulls
                mean = tree.reward[prefix] if pulls > 1 else reward
                tree.reward[prefix] = mean + (reward - mean) / pulls
            endings += terminated and not barred
            if first_time and not terminated and not barred and depth < ledger[0].horizon:
                reached = 1 + (depth & 1)
                if has_masks(sim) and sim.legal[node, 0] == UNASKED:
                    write_mask(sim, reached, sim.legal[node])
                worth += value_of(sim, reached)
                if ledger[0].status != FINE:
                    return False
        if first_time and endings == repeats[i] and endings > 0:
            tree.flags[node] |= TERMINAL
        if first_time and len(sim.worth) > 0 and repeats[i] > 0:
            sim.worth[node] = worth / repeats[i]
    return True


@part
def choose_again(sim: Machine, row: int, planned: Any, known: bool) -> Any:
    """The action of a walk by RESET; see ``base.choose_again``."""
    mask = sim.legal[len(sim.legal) - 1]
    if not write_mask(sim, row, mask) or mask[planned] == 1:
        return planned
    return pick(mask, sim.rng.random()) if known else BARRED


@part
def record(sim: Machine, tree: Tree, node: int, reward: float, ended: bool, watched: bool) -> bool:
    """Write a sample of a walk into the tree; False if it is no number, or contradicts others."""
    ledger, pulls = sim.ledger, tree.pulls[node]
    if not abs(reward) <= LARGEST_REWARD:
        ledger[0].status = BAD_REWARD
        sim.last_reward[0] = reward
    elif pulls == 0:
        if ended:
            tree.flags[node] |= TERMINAL
        tree.reward[node] = reward
    else:
        if ended != (tree.flags[node] & TERMINAL != 0):
            if starts_over(sim):
                tree.flags[node] &= ~np.uint8(TERMINAL)  # it ended by chance when it was new
            else:
                ledger[0].status = RANDOM_END
        elif watched and not same_row(sim.states, node, len(sim.states) - 1):
            ledger[0].status = RANDOM_STATE
        if ledger[0].status == FINE:
            tree.reward[node] += (reward - tree.reward[node]) / (pulls + 1)
    if ledger[0].status != FINE:
        return False
    tree.pulls[node] = pulls + 1
    return True


@part
def absorb(tree: Tree, path: Nodes, rewards: Floats, t: int) -> int:
    """The episode has ended: absorbing with reward 0, and no call.

    That is a sample for the nodes behind which are known already. Returns how many nodes have one.
    """
    got = t + 1
    for later in range(t + 1, len(path)):
        rewards[later] = 0.0
        node = path[later]
        pulls = tree.pulls[node]
        if pulls > 0:
            tree.reward[node] -= tree.reward[node] / (pulls + 1)
            tree.pulls[node] = pulls + 1
            got = later + 1
    return got


@jit
def play_path(
    address: int, tree: Tree, path: Nodes, rewards: Floats, start: int, roll_out: bool
) -> int:
    """Walk along the nodes of a path, a call each; see ``requests.play``."""
    sim, tree = machine_at(address), borrowed(tree)
    ledger, kernel = sim.ledger, functions_at(sim.functions).kernel
    length = len(path)
    if ledger[0].calls + length - start > ledger[0].budget:
        ledger[0].status = OVER_BUDGET
        return -1
    reset = starts_over(sim)
    spare = len(sim.states) - 1
    watched = not reset and ledger[0].calls < WATCHED
    got = length  # nodes with a sample
    rolling_out = False
    last_row = len(sim.legal) - 1
    for t in range(start):
        rewards[t] = tree.reward[path[t]]
    reached = int(path[start - 1]) if start > 0 else ROOT
    over = tree.flags[reached] & TERMINAL != 0
    if has_masks(sim) and start < length and sim.legal[reached, 0] == UNASKED:
        write_mask(sim, reached, sim.legal[reached])
        if ledger[0].status != FINE:
            return -1
    row = reached if has_masks(sim) else 0
    mask = sim.legal[row : row + 1 if has_masks(sim) else 0].reshape(-1)
    for t in range(start, length):
        node = path[t]
        pulls = tree.pulls[node]
        here = (ROOT if t == 0 else 1 + (t & 1)) if reset else int(tree.parent[node])
        action = draw(sim, here, np.int64(tree.action[node]), mask, rolling_out)
        if ledger[0].status != FINE:
            return -1
        if pulls == 0:
            tree.action[node] = action
        ledger[0].calls += 1
        ledger[0].node = node
        ledger[0].step = t
        if reset:
            source, target = (ROOT if t == 0 else 1 + (t & 1)), 2 - (t & 1)
        else:
            source, target = int(tree.parent[node]), (spare if pulls else int(node))
        reward, ended = kernel(sim.given, source, np.int64(action), target)
        if not record(sim, tree, int(node), reward, ended, watched):
            return -1
        rewards[t] = reward
        if pulls == 0:
            rolling_out = roll_out
        if ended:
            got = absorb(tree, path, rewards, t)
            over = True
            break
        reached = target if reset else int(node)
        if has_masks(sim) and tree.depth[node] < ledger[0].horizon:
            if pulls == 0 or sim.legal[node, 0] == UNASKED:
                write_mask(sim, reached, sim.legal[node])
            row = int(node)
            if reset and pulls > 0:
                row = last_row
                write_mask(sim, reached, sim.legal[row])
            mask = sim.legal[row : row + 1].reshape(-1)
            if ledger[0].status != FINE:
                return -1
    rewards[length] = 0.0
    if not over and length > 0 and tree.depth[path[length - 1]] < ledger[0].horizon:
        rewards[length] = value_of(sim, reached)
        if ledger[0].status != FINE:
            return -1
    return got


@jit
def evaluate_all(address: int, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate nodes, by walks or from stored states."""
    if starts_over(machine_at(address)):
        return walk(address, tree, nodes, repeats)
    return query(address, tree, nodes, repeats)


@jit
def settle_all(address: int, homes: Homes, nodes: Nodes) -> bool:
    """Find homes by the bits of the states; by RESET there are none, and nothing is shared."""
    sim = machine_at(address)
    if starts_over(sim):
        for i in range(len(nodes)):
            homes.home[nodes[i]] = nodes[i]
    else:
        settle_rows(homes, sim.states, nodes)
    return True


class Loops(NamedTuple):
    """The loops that call a model, as first-class functions: drivers need not contain them."""

    evaluate: Any
    play: Any
    ask_legal: Any
    settle: Any


INTS, FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
TREE, HOMES = typeof(make_tree(1)), typeof(make_homes(1, slots=1))
LOOPS = types.NamedTuple(
    [
        types.FunctionType(types.boolean(types.int64, TREE, INTS, INTS)),
        types.FunctionType(
            types.int64(types.int64, TREE, INTS, FLOATS, types.int64, types.boolean)
        ),
        types.FunctionType(types.boolean(types.int64, INTS)),
        types.FunctionType(types.boolean(types.int64, HOMES, INTS)),
    ],
    Loops,
)
loops_at = reader(LOOPS)


@typeof_impl.register(Loops)  # type: ignore[untyped-decorator]
def _type_of_loops(_value: Loops, _context: Any) -> Any:
    return LOOPS


@cache
def stored_loops() -> Stored:
    """The loops, compiled once per machine."""
    loops = Loops(evaluate_all, play_path, ask_all, settle_all)
    for loop, kind in zip(loops, LOOPS.types, strict=True):
        with compiling(loop):
            loop.compile(kind.signature.args)
    return Stored(loops)
