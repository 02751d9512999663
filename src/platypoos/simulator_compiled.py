"""The ledger inside machine code: the same rules, for models with a compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import int64, typeof
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from platypoos._jit import (
    borrow_row,
    borrowed,
    entry_point,
    inlined,
    jit,
    jit_uncached,
    overload,
    with_fast_kernels,
)
from platypoos.blame import bad_reward, explained, located, not_deterministic
from platypoos.checks import check_state
from platypoos.errors import BudgetExceeded, InvalidArgument, ModelError, PlatypoosError
from platypoos.models.base import Access
from platypoos.models.compiled import CompiledModel
from platypoos.simulator import Floats, Nodes, calls_made, evaluate, is_due, play
from platypoos.tree import ROOT, TERMINAL, Tree

CALLS, BUDGET, STATUS, STEP, NODE, PAUSE = 0, 1, 2, 3, 4, 5
"""Entries of ``Machine.ledger``."""
FINE, OVER_BUDGET, BAD_REWARD, RANDOM_END = 0, 1, 2, 3
"""Values of ``Machine.ledger[STATUS]``."""
NEVER = 1 << 62


class Machine(NamedTuple):
    """What compiled code needs to query a model and keep its books."""

    kernel: Any
    params: Any
    rng: np.random.Generator
    states: NDArray[Any]  # [nodes + 2, state size] one state per node, and two to work with
    ledger: NDArray[np.int64]  # calls, budget, status, step of the walk, node, pause
    last_reward: NDArray[np.float64]  # [1] the reward that was refused
    path: NDArray[np.int64]  # [depth] the nodes of a walk; empty if states can be restored


class CompiledSimulator:
    """The ledger of one plan with a compiled model."""

    def __init__(
        self,
        model: CompiledModel,
        state: Any,
        budget: int,
        rng: np.random.Generator,
        access: Access,
        tree: Tree,
    ) -> None:
        self.model = model
        self.tree = tree
        self.access = access
        root = model.initial_state
        if state is not root:
            root = check_state(state, root)
        reset = access is Access.RESET
        capacity = len(tree.parent)
        # One state per node, and two rows to work with.
        states = np.empty(((1 if reset else capacity) + 2, len(root)), root.dtype)
        states[ROOT] = root
        self.machine = Machine(
            kernel=model.kernel,
            params=model.params,
            rng=rng,
            states=states,
            ledger=np.array((0, budget, FINE, 0, 0, NEVER)),
            last_reward=np.empty(1),
            path=np.empty(capacity if reset else 0, np.int64),
        )

    @property
    def calls(self) -> int:
        """Calls made so far."""
        return int(self.machine.ledger[CALLS])

    def allow(self, calls: int) -> None:
        """Extend the budget by so many calls."""
        self.machine.ledger[BUDGET] += calls

    def pause_after(self, calls: int) -> None:
        """Let planners that can stop at any time return after so many calls."""
        self.machine.ledger[PAUSE] = self.calls + calls

    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""
        self.machine.states[node] = check_state(state, self.model.initial_state)

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        before = self.machine.states
        states = np.empty((len(tree.parent) + 2, before.shape[1]), before.dtype)
        states[: len(nodes)] = before[nodes]
        self.tree = tree
        self.machine = self.machine._replace(states=states)

    @property
    def state_bytes(self) -> int:
        """The size of a state."""
        return int(self.machine.states[ROOT].nbytes)

    def run(self, driver: Driver, args: tuple[Any, ...]) -> Any:
        """Run a planner's driver in machine code; the model's failures become our errors."""
        machine = self.machine
        arguments = (machine, *args)
        points = self.model.entry_points
        if driver not in points:
            compiled = driver.cached if self.model.cacheable else driver.uncached
            try:
                points[driver] = entry_point(compiled, arguments)
            except NumbaError as error:
                self._blame_kernel(error)
                raise
        try:
            result = points[driver](*arguments)
        except PlatypoosError:
            raise
        except Exception as error:
            raise self._kept(explained(error, *self._place())) from error
        if machine.ledger[STATUS] != FINE:
            raise self._failure()
        return result

    def _blame_kernel(self, error: Exception) -> None:
        """The planner did not compile: say so in one line if the kernel is why."""
        machine, kernel = self.machine, self.model.kernel
        row = typeof(machine.states[ROOT])
        types = (row, int64, typeof(machine.params), typeof(machine.rng), row)
        signature = f"(state: {row}, action, params: {types[2]}, rng, next_state)"
        try:
            kernel.compile(types)
        except NumbaError as reason:
            raise InvalidArgument(
                f"the kernel {kernel.__name__} does not compile for {signature}: {reason}"
            ) from error
        returned = kernel.overloads[types].signature.return_type
        if getattr(returned, "count", 0) != 2:
            raise InvalidArgument(
                f"the kernel {kernel.__name__} must return (reward, terminated), not {returned}"
            ) from error

    def _place(self) -> tuple[Any, int]:
        """The state and action under evaluation."""
        tree, machine = self.tree, self.machine
        node = int(machine.ledger[NODE])
        if self.access is Access.RESET:
            t = int(machine.ledger[STEP])
            state = machine.states[ROOT if t == 0 else 1 + (t & 1)]
        else:
            state = machine.states[tree.parent[node]]
        return state.copy(), int(tree.action[node])

    def _failure(self) -> PlatypoosError:
        ledger = self.machine.ledger
        if ledger[STATUS] == OVER_BUDGET:
            return BudgetExceeded(
                f"a request was refused: {ledger[CALLS]} of the budget of {ledger[BUDGET]} "
                "are spent"
            )
        if ledger[STATUS] == BAD_REWARD:
            error: ModelError = bad_reward(float(self.machine.last_reward[0]), *self._place())
        else:
            error = not_deterministic(*self._place())
        return self._kept(located(error))

    def _kept(self, error: ModelError) -> ModelError:
        error.calls = self.calls
        error.tree = self.tree.trimmed()
        return error


class Driver:
    """One source, two speeds: a planner's main function, ``f(sim, tree, ...)``.

    Around a Python model it runs as plain Python, and only the inner loops it calls are
    compiled; around a compiled model it is compiled as a whole, together with the model's step.
    """

    def __init__(self, function: Callable[..., Any], patience: float = 0.0) -> None:
        self._function, self._patience = function, patience
        self._python: Callable[..., Any] | None = None
        self.cached = jit(function)
        self.uncached = jit_uncached(function)

    def __call__(self, sim: Any, *args: Any) -> Any:
        """Run with the ledger ``sim``."""
        if isinstance(sim, CompiledSimulator):
            return sim.run(self, args)
        if self._python is None:
            self._python = with_fast_kernels(self._function, self._patience)
        return self._python(sim, *args)


def patient_driver(seconds: float) -> Callable[[Callable[..., Any]], Driver]:
    """A driver whose inner loops are interpreted until that has taken so long; then compiled."""
    return lambda function: Driver(function, seconds)


@overload(evaluate)
def _evaluate_compiled(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any, tree: Any, nodes: Any, repeats: Any) -> Any:
        if len(sim.path) > 0:
            return walk(sim, tree, nodes, repeats)
        return query(sim, tree, nodes, repeats)

    return implementation


@overload(play)
def _play_compiled(sim: Any, tree: Any, path: Any, rewards: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any, tree: Any, path: Any, rewards: Any) -> Any:
        return play_path(sim, tree, path, rewards)

    return implementation


@overload(is_due)
def _is_due_compiled(sim: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any) -> Any:
        return sim.ledger[CALLS] >= sim.ledger[PAUSE]

    return implementation


@overload(calls_made)
def _calls_made_compiled(sim: Any) -> Any:  # noqa: ARG001
    def implementation(sim: Any) -> Any:
        return sim.ledger[CALLS]

    return implementation


@inlined
def query(sim: Machine, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate nodes from their parents' stored states."""
    sim, tree = borrowed(sim), borrowed(tree)
    ledger = sim.ledger
    calls = ledger[CALLS]
    spare = borrow_row(sim.states, len(sim.states) - 1)
    for i in range(len(nodes)):
        count = repeats[i]
        if count == 0:
            continue
        if calls + count > ledger[BUDGET]:
            ledger[STATUS] = OVER_BUDGET
            return False
        node = np.uint64(nodes[i])  # unsigned: no need to look whether it counts from the end
        calls += count
        ledger[CALLS] = calls  # kept up to date: the step may raise
        ledger[NODE] = nodes[i]
        state = borrow_row(sim.states, tree.parent[node])
        action = np.int64(tree.action[node])
        pulls = tree.pulls[node]
        if pulls == 0:
            after = borrow_row(sim.states, node)
            mean, ended = sim.kernel(state, action, sim.params, sim.rng, after)
            taken = 1
            if ended:
                tree.flags[node] |= TERMINAL
        else:
            mean, ended = tree.reward[node], tree.flags[node] & TERMINAL != 0
            taken = 0
        drift = 0.0  # Σ (reward − mean): exact when rewards have no noise
        for _ in range(taken, count):
            reward, terminated = sim.kernel(state, action, sim.params, sim.rng, spare)
            drift += reward - mean
            if terminated != ended:
                ledger[STATUS] = RANDOM_END
                return False
        if not np.isfinite(mean + drift):
            ledger[STATUS] = BAD_REWARD
            sim.last_reward[0] = mean + drift
            return False
        pulls += count
        tree.pulls[node] = pulls
        tree.reward[node] = mean + drift / pulls if pulls > 1 else mean
    return True


@jit
def walk(sim: Machine, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate nodes by trajectories from the root; every prefix gets its sample."""
    sim, tree = borrowed(sim), borrowed(tree)
    ledger = sim.ledger
    for i in range(len(nodes)):
        node = nodes[i]
        depth = tree.depth[node]
        at = node
        for t in range(depth - 1, -1, -1):
            sim.path[t] = at
            at = tree.parent[at]
        first_time = tree.pulls[node] == 0
        endings = 0
        for _ in range(repeats[i]):
            terminated = False
            for t in range(depth):
                prefix = sim.path[t]
                reward = 0.0  # once ended: absorbing with reward 0, and no call
                if not terminated:
                    if ledger[CALLS] + 1 > ledger[BUDGET]:
                        ledger[STATUS] = OVER_BUDGET
                        return False
                    ledger[CALLS] += 1
                    ledger[STEP] = t
                    ledger[NODE] = prefix
                    state = borrow_row(sim.states, ROOT if t == 0 else 1 + (t & 1))
                    after = borrow_row(sim.states, 2 - (t & 1))
                    action = np.int64(tree.action[prefix])
                    reward, terminated = sim.kernel(state, action, sim.params, sim.rng, after)
                    if not np.isfinite(reward):
                        ledger[STATUS] = BAD_REWARD
                        sim.last_reward[0] = reward
                        return False
                pulls = tree.pulls[prefix] + 1
                tree.pulls[prefix] = pulls
                mean = tree.reward[prefix] if pulls > 1 else reward
                tree.reward[prefix] = mean + (reward - mean) / pulls
            endings += terminated
        if first_time and endings == repeats[i] and endings > 0:
            tree.flags[node] |= TERMINAL
    return True


@inlined
def play_path(sim: Machine, tree: Tree, path: Nodes, rewards: Floats) -> int:
    """Walk along the nodes of a path, a call each; see ``simulator.play``."""
    sim, tree = borrowed(sim), borrowed(tree)
    ledger = sim.ledger
    length = len(path)
    if ledger[CALLS] + length > ledger[BUDGET]:
        ledger[STATUS] = OVER_BUDGET
        return -1
    reset = len(sim.path) > 0
    spare = len(sim.states) - 1
    got = length  # nodes with a sample
    for t in range(length):
        node = path[t]
        pulls = tree.pulls[node]
        ledger[CALLS] += 1
        ledger[NODE] = node
        ledger[STEP] = t
        if reset:
            source, target = (ROOT if t == 0 else 1 + (t & 1)), 2 - (t & 1)
        else:
            source, target = int(tree.parent[node]), (spare if pulls else int(node))
        reward, ended = sim.kernel(
            borrow_row(sim.states, source),
            np.int64(tree.action[node]),
            sim.params,
            sim.rng,
            borrow_row(sim.states, target),
        )
        if not np.isfinite(reward):
            ledger[STATUS] = BAD_REWARD
            sim.last_reward[0] = reward
            return -1
        known_end = tree.flags[node] & TERMINAL != 0
        if pulls == 0:
            if ended:
                tree.flags[node] |= TERMINAL
            tree.reward[node] = reward
        else:
            if ended != known_end:
                if not reset:
                    ledger[STATUS] = RANDOM_END
                    return -1
                tree.flags[node] &= ~np.uint8(TERMINAL)  # it ended by chance when it was new
            tree.reward[node] += (reward - tree.reward[node]) / (pulls + 1)
        tree.pulls[node] = pulls + 1
        rewards[t] = reward
        if ended:
            # Absorbing with reward 0, and no call: a sample for the nodes known already.
            got = t + 1
            for later in range(t + 1, length):
                rewards[later] = 0.0
                node = path[later]
                pulls = tree.pulls[node]
                if pulls > 0:
                    tree.reward[node] -= tree.reward[node] / (pulls + 1)
                    tree.pulls[node] = pulls + 1
                    got = later + 1
            break
    return got
