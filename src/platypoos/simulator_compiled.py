"""The ledger inside machine code: the same rules, for models with a compiled step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import int64, typeof
from numba.core.errors import NumbaError

from platypoos._jit import (
    Handle,
    HandleType,
    address_of,
    code_for,
    entry_point,
    handle,
    interpreted,
    jit,
    store,
    with_fast_kernels,
)
from platypoos.advice import (
    NO_HORIZON,
    Advice,
    adopt_advice,
    draw_seed,
    kept,
    make_advice,
    no_legal_action,
)
from platypoos.blame import bad_reward, explained, located, not_deterministic, unlike_before
from platypoos.checks import check_state
from platypoos.compiling import are_loaded, waits
from platypoos.engine import Engine, Request, requests_of
from platypoos.errors import BudgetExceeded, InvalidArgument, ModelError, PlatypoosError
from platypoos.machine import Machine, ask_all, play_path
from platypoos.machine_advice import (
    BAD_ADVICE,
    BAD_REWARD,
    BUDGET,
    CALLS,
    FINE,
    NEVER,
    NO_LEGAL,
    NODE,
    OVER_BUDGET,
    PAUSE,
    RANDOM_STATE,
    SEED,
    SPARE,
    STATUS,
    STEP,
)
from platypoos.machine_requests import evaluate_all, settle_all
from platypoos.meeting import Homes
from platypoos.models.base import Access
from platypoos.models.compiled import CompiledModel
from platypoos.pace import Pace, never
from platypoos.simulator import Nodes, ask_legal
from platypoos.tree import ROOT, Tree


class Loops:
    """The machine code for a model, by one kind of access."""

    def __init__(self, machine: Machine, cacheable: bool) -> None:
        self._kind = HandleType(typeof(machine))
        self._cacheable = cacheable
        self._store: Callable[..., Any] | None = None
        self._needed: dict[Driver, list[tuple[Any, tuple[Any, ...]]]] = {}
        self.addresses = np.zeros(len(Request.all), np.int64)
        self.drivers: dict[Driver, Callable[..., Any]] = {}

    def store(self, machine: Machine, address: int) -> None:
        """Write a machine to where its loops will read it."""
        if self._store is None:
            self._store = entry_point(store, (machine, 0))
        self._store(machine, address)

    def is_loaded(self, driver: Driver, machine: Machine, args: tuple[Any, ...]) -> bool:
        """Whether all the code that a driver needs is there; if not, it is asked for."""
        if driver in self.drivers:
            return True
        if driver not in self._needed:
            types = (ENGINE, *(driver.compiled.typeof_pyval(argument) for argument in args))
            loops = [
                request.code(self._kind, self._cacheable) for request in driver.requests_to(machine)
            ]
            self._needed[driver] = [
                *code_for(driver.compiled, types),
                (store, (self._kind.record, int64)),
                *loops,
            ]
        return are_loaded(self._needed[driver])

    def compile(self, driver: Driver, machine: Machine) -> None:
        """Let there be the code of all loops that a driver can ask for."""
        for request in driver.requests_to(machine):
            if self.addresses[request.number] == 0:
                loop = request.code(self._kind, self._cacheable)
                self.addresses[request.number] = address_of(*loop)


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
        horizon: int = NO_HORIZON,
    ) -> None:
        self.model = model
        self.tree = tree
        self.access = access
        self._engine: tuple[Any, ...] | None = None
        self.due: Callable[[], bool] = never
        self.in_haste = False
        self.workers = 1
        self.pace = Pace()
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
            ledger=np.array((0, budget, FINE, 0, 0, NEVER, horizon, 0, 0)),
            last_reward=np.empty(1),
            path=np.empty(capacity, np.int64) if reset else None,
            legal_kernel=model.legal,
            value_kernel=model.value,
            policy_kernel=model.policy,
            legal=_NO_LEGAL,
            worth=_NO_WORTH,
            weights=_NO_WORTH,
        )
        if model.legal is not None or model.value is not None or model.policy is not None:
            masked, valued = model.legal is not None, model.value is not None
            advice = make_advice(capacity + SPARE, model.num_actions, masked, valued)
            self.machine = self.machine._replace(
                **advice._asdict(), weights=np.zeros(model.num_actions)
            )
            self.machine.ledger[SEED] = draw_seed(rng)

    @property
    def advice(self) -> Advice:
        """What the model said of the states that nodes lead to."""
        return Advice(self.machine.legal, self.machine.worth)

    def ask_legal(self, nodes: Nodes) -> None:
        """Ask; see :func:`platypoos.simulator.ask_legal`."""
        if len(self.machine.legal) and self.is_ready(ask, (nodes,)):
            ask(self, nodes)
        elif len(self.machine.legal):
            self._interpret(ask_all, nodes)

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
        before, path = self.machine.states, self.machine.path
        if self.access is Access.RESET:
            states, path = before, np.empty(len(tree.parent), np.int64)
        else:
            states = np.empty((len(tree.parent) + 2, before.shape[1]), before.dtype)
            states[: len(nodes)] = before[nodes]
        self.tree = tree
        advice = kept(self.advice, nodes, len(tree.parent) + SPARE)
        self.machine = self.machine._replace(states=states, path=path, **advice._asdict())

    def adopt(self, other: CompiledSimulator, nodes: Nodes) -> None:
        """Let the first nodes have the states of these nodes of another ledger, in this order."""
        self.machine.states[: len(nodes)] = other.states_of(nodes)
        adopt_advice(self.advice, other.advice, nodes)

    def states_of(self, nodes: Nodes) -> Any:
        """The states that are stored for some nodes."""
        return self.machine.states[nodes]

    @property
    def state_bytes(self) -> int:
        """The size of a state."""
        return int(self.machine.states[ROOT].nbytes)

    def engine(self) -> Any:
        """What a planner in machine code knows of this ledger; a handle."""
        machine = self.machine
        if self._engine is None or self._engine[0] is not machine:
            loops = self._loops()
            memory = np.empty(Handle.BYTES, np.uint8)
            loops.store(machine, memory.ctypes.data)
            engine = Engine(
                machine=memory.ctypes.data,
                requests=loops.addresses,
                ledger=machine.ledger,
                legal=machine.legal,
                worth=machine.worth,
            )
            self._engine = machine, memory, handle(engine)
        return self._engine[2]

    def _loops(self) -> Loops:
        known = self.model.loops
        if self.access not in known:
            known[self.access] = Loops(self.machine, self.model.cacheable)
        return known[self.access]  # type: ignore[no-any-return]

    def is_ready(self, driver: Driver, args: tuple[Any, ...]) -> bool:
        """Whether to run a driver in machine code; if not, it is interpreted: the plan is the same.

        Large plans are worth waiting for the compiler, unless there is a deadline.
        """
        if waits() or not (self.in_haste or self.machine.ledger[BUDGET] <= SMALL):
            return True
        return self._loops().is_loaded(driver, self.machine, args)

    def prepare(self, driver: Driver, args: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code of a driver; it is compiled, and so are the loops it asks for."""
        loops = self._loops()
        if driver not in loops.drivers:
            point = entry_point(driver.compiled, (self.engine(), *args))
            try:
                loops.compile(driver, self.machine)
            except NumbaError as error:
                self._blame_kernel(error)
                raise
            loops.drivers[driver] = point
        return loops.drivers[driver]

    def evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Evaluate nodes without machine code."""
        self.pace.spread(self, partial(self._interpret, evaluate_all), tree, nodes, repeats)

    def settle(self, homes: Homes, nodes: Nodes) -> None:
        """Find the homes of nodes without machine code."""
        self._interpret(settle_all, homes, nodes)

    def play(self, tree: Tree, path: Nodes, rewards: Any, start: int, roll_out: bool) -> Any:
        """Walk along a path without machine code."""
        return self._interpret(play_path, tree, path, rewards, start, roll_out)

    def _interpret(self, loop: Callable[..., Any], *args: Any) -> Any:
        machine = self.machine
        plain = machine._replace(
            kernel=_python(machine.kernel),
            legal_kernel=_python(machine.legal_kernel),
            value_kernel=_python(machine.value_kernel),
            policy_kernel=_python(machine.policy_kernel),
        )
        return self._guarded(interpreted(loop), plain, *args)

    def run(self, driver: Driver, args: tuple[Any, ...]) -> Any:
        """Run a planner's driver in machine code; the model's failures become our errors."""
        return self._guarded(self.prepare(driver, args), self.engine(), *args)

    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                result = function(*args)
        except PlatypoosError:
            raise
        except Exception as error:
            raise self._kept(explained(error, *self._place())) from error
        if self.machine.ledger[STATUS] != FINE:
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
        elif ledger[STATUS] == RANDOM_STATE:
            states, node = self.machine.states, int(ledger[NODE])
            error = unlike_before(*self._place(), states[node].copy(), states[-1].copy())
        elif ledger[STATUS] == NO_LEGAL:
            error = no_legal_action(self._reached())
        elif ledger[STATUS] == BAD_ADVICE:
            error = ModelError(
                "the model's value must be a finite number, and its policy's weights finite and "
                f"of at least 0 (at state {self._reached()})",
                state=self._reached(),
            )
        else:
            error = not_deterministic(*self._place())
        return self._kept(located(error))

    def _reached(self) -> Any:
        """The state that the model was asked about."""
        machine = self.machine
        row = int(machine.ledger[NODE])
        if self.access is Access.RESET:
            row = int(machine.ledger[STEP])
        return machine.states[row].copy()

    def _kept(self, error: ModelError) -> ModelError:
        error.calls = self.calls
        error.tree = self.tree.trimmed()
        return error


SMALL = 5_000
"""Calls of a plan that is made without machine code before it would be compiled."""

_NO_LEGAL = np.empty((0, 0), np.uint8)
_NO_WORTH = np.empty(0)
_NO_NODES = np.empty(0, np.int64)
ENGINE = typeof(handle(Engine(0, _NO_NODES, _NO_NODES, _NO_LEGAL, _NO_WORTH)))


def _python(kernel: Any) -> Any:
    return None if kernel is None else interpreted(kernel)


class Driver:
    """One source, two speeds: a planner's main function, ``f(sim, tree, ...)``.

    Around a Python model it runs as plain Python, and only the inner loops it calls are
    compiled; around a compiled model it is compiled as a whole, once for all models.
    """

    def __init__(self, function: Callable[..., Any], patience: float = 0.0) -> None:
        self._function, self._patience = function, patience
        self._python: Callable[..., Any] | None = None
        self._requests: list[Request] | None = None
        self.compiled: Any = jit(function)

    def requests_to(self, machine: Machine) -> list[Request]:
        """What it may ask such a model for."""
        if self._requests is None:
            self._requests = requests_of(self._function)
        return [
            request
            for request in self._requests
            if request.needs is None or getattr(machine, request.needs) is not None
        ]

    def __call__(self, sim: Any, *args: Any) -> Any:
        """Run with the ledger ``sim``."""
        if isinstance(sim, CompiledSimulator) and sim.is_ready(self, args):
            return sim.run(self, args)
        if isinstance(sim, CompiledSimulator):
            with np.errstate(all="ignore"):  # as compiled code does; hashes overflow on purpose
                return interpreted(self._function)(sim, *args)
        if self._python is None:
            self._python = with_fast_kernels(self._function, self._patience)
        return self._python(sim, *args)


def patient_driver(seconds: float) -> Callable[[Callable[..., Any]], Driver]:
    """A driver whose inner loops are interpreted until that has taken so long; then compiled."""
    return lambda function: Driver(function, seconds)


@Driver
def ask(sim: Any, nodes: Nodes) -> bool:
    """Ask for legal actions from outside of compiled code."""
    return ask_legal(sim, nodes)
