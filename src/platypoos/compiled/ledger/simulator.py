"""The ledger inside machine code: the same rules, for models with a compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import int64, typeof
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from platypoos.checks import check_state
from platypoos.compiled.code.records import Stored
from platypoos.compiled.code.unsafe import entry_point
from platypoos.compiled.ledger.drivers import Driver
from platypoos.compiled.ledger.first_class import Functions, Given, first_class
from platypoos.compiled.ledger.machine import (
    Machine,
    ask_all,
    evaluate_all,
    play_path,
    settle_all,
    stored_loops,
)
from platypoos.compiled.ledger.machine_advice import (
    BAD_ADVICE,
    BAD_REWARD,
    FINE,
    NO_LEGAL,
    OVER_BUDGET,
    RANDOM_STATE,
    SPARE,
    make_account,
)
from platypoos.compiled.model import CompiledModel
from platypoos.errors import BudgetExceeded, InvalidArgument, ModelError, PlatypoosError
from platypoos.models.advice import (
    NO_HORIZON,
    Advice,
    adopt_advice,
    draw_seed,
    kept,
    make_advice,
    no_legal_action,
)
from platypoos.models.base import Access
from platypoos.models.failures import (
    bad_reward,
    explained,
    located,
    not_deterministic,
    unlike_before,
)
from platypoos.simulator.pace import Pace, never
from platypoos.trees.meeting import Homes, make_homes
from platypoos.trees.protocol import Nodes, Sampler
from platypoos.trees.tree import ROOT, Tree


class CompiledSimulator(Sampler):
    """The ledger of one plan with a compiled model."""

    steps_in_python = False

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
        self.due: Callable[[], bool] = never
        self.workers = 1
        self.pace = Pace()
        root = model.initial_state
        if state is not root:
            root = check_state(state, root)
        reset, n = access is Access.RESET, model.actions.n
        capacity = len(tree.parent)
        # One state per node, and two rows to work with.
        self.states = np.empty(((1 if reset else capacity) + SPARE, len(root)), root.dtype)
        self.states[ROOT] = root
        advice = make_advice(capacity + SPARE, n, model.legal is not None, model.value is not None)
        given = Stored(Given(self.states, model.params, rng))
        self.machine = Machine(
            loops=stored_loops().address,
            functions=self._functions(given.record).address,
            given=given.address,
            rng=rng,
            states=self.states.view(np.uint8),
            ledger=make_account(budget, horizon),
            last_reward=np.empty(1),
            path=np.empty(capacity if reset else 0, np.int64),
            legal=advice.legal,
            worth=advice.worth,
            weights=np.zeros(0 if model.policy is None else n),
        )
        self._kept_in_memory = given, Stored(self.machine)
        if model.legal is not None or model.value is not None or model.policy is not None:
            self.machine.ledger[0].seed = draw_seed(rng)

    @property
    def advice(self) -> Advice:  # type: ignore[override]
        """What the model said of the states that nodes lead to."""
        return Advice(self.machine.legal, self.machine.worth)

    def ask_legal(self, nodes: Nodes) -> None:
        """Ask; see ``requests.ask_legal``."""
        if len(self.machine.legal):
            self._run(ask_all, nodes)

    @property
    def calls(self) -> int:  # type: ignore[override]
        """Calls made so far."""
        return int(self.machine.ledger[0].calls)

    def allow(self, calls: int) -> None:
        """Extend the budget by ``calls``."""
        self.machine.ledger[0].budget += calls

    def pause_after(self, calls: int) -> None:
        """Let planners that can stop at any time return after ``calls``."""
        self.machine.ledger[0].pause = self.calls + calls

    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""
        self.states[node] = check_state(state, self.model.initial_state)

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        before, path = self.states, self.machine.path
        if self.access is Access.RESET:
            path = np.empty(len(tree.parent), np.int64)
        else:
            self.states = np.empty((len(tree.parent) + SPARE, before.shape[1]), before.dtype)
            self.states[: len(nodes)] = before[nodes]
        self.tree = tree
        given = Stored(Given(self.states, self.model.params, self.machine.rng))
        self.machine = self.machine._replace(
            given=given.address,
            states=self.states.view(np.uint8),
            path=path,
            **kept(self.advice, nodes, len(tree.parent) + SPARE)._asdict(),
        )
        self._kept_in_memory = given, Stored(self.machine)

    def adopt(self, other: CompiledSimulator, nodes: Nodes) -> None:
        """Let the first nodes have the states of these nodes of another ledger, in this order."""
        self.states[: len(nodes)] = other.states_of(nodes)
        adopt_advice(self.advice, other.advice, nodes)

    def states_of(self, nodes: Nodes) -> Any:
        """The states that are stored for some nodes."""
        return self.states[nodes]

    @property
    def state_bytes(self) -> int:
        """The size of a state."""
        return int(self.states[ROOT].nbytes)

    def _functions(self, given: Given) -> Stored:
        """The model's functions as loops call them, compiled once for the model."""
        model, known = self.model, self.model.functions
        if not known:
            try:
                made = first_class(
                    {
                        "kernel": model.kernel,
                        "legal_kernel": model.legal,
                        "value_kernel": model.value,
                        "policy_kernel": model.policy,
                    },
                    given,
                )
            except NumbaError as error:
                self._blame_kernel(given, error)
                raise
            known.append(Stored(Functions(**made)))
        stored: Stored = known[0]
        return stored

    def is_ready(self, driver: Driver) -> bool:
        """Whether a driver has been compiled in this process; the model's functions are."""
        return bool(driver.compiled.overloads)

    def drive(self, driver: Driver, args: tuple[Any, ...]) -> Any:
        """Run a planner's main function in machine code."""
        return self._run(driver.compiled, *args)

    def _run(self, function: Any, *args: Any) -> Any:
        """Run compiled code; the model's failures become our errors."""
        address = self._kept_in_memory[1].address
        if not function.overloads:
            entry_point(function, (address, *args))  # to time the compiler, and not the plan
        return self._guarded(function, address, *args)

    def evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Evaluate nodes, for planners that are plain Python."""
        self._run(evaluate_all, tree, nodes, repeats)

    def play(self, tree: Tree, path: Nodes, rewards: Any, start: int, roll_out: bool) -> int:
        """Walk along a path, for planners that are plain Python."""
        return int(self._run(play_path, tree, path, rewards, start, roll_out))

    def settle(self, homes: Homes, nodes: Nodes) -> None:
        """Find homes by the bits of the states; by RESET there are none, and nothing is shared."""
        self._run(settle_all, homes, nodes)

    def tell_apart(self, state: Any) -> None:
        """By the bits of the states, always."""

    def make_homes(self, capacity: int, depth: NDArray[np.int32] | None) -> Homes:
        """With a table of hashes."""
        return make_homes(capacity, 1 << (2 * capacity - 1).bit_length(), depth)

    def settle_again(self, homes: Homes, _before: Nodes, own: Nodes) -> None:
        """Write the table anew."""
        self.settle(homes, own)

    def home_of(self, homes: Homes, state: Any) -> int:
        """By looking at all of them: this is seldom asked for."""
        rows = self.states_of(np.arange(self.tree.num_nodes))
        found = np.flatnonzero((rows == np.asarray(state)).all(axis=1))
        known = found[(self.tree.pulls[found] > 0) | (found == ROOT)]
        return int(homes.home[known[0]]) if len(known) else -1

    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                result = function(*args)
        except PlatypoosError:
            raise
        except Exception as error:
            raise self._kept(explained(error, *self._place())) from error
        if self.machine.ledger[0].status != FINE:
            raise self._failure()
        return result

    def _blame_kernel(self, given: Given, error: Exception) -> None:
        """The planner did not compile: say so in one line if the kernel is why."""
        kernel = self.model.kernel
        row = typeof(given.states[ROOT])
        types = (row, int64, typeof(given.params), typeof(given.rng), row)
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
        node = int(machine.ledger[0].node)
        if self.access is Access.RESET:
            t = int(machine.ledger[0].step)
            state = self.states[ROOT if t == 0 else 1 + (t & 1)]
        else:
            state = self.states[tree.parent[node]]
        return state.copy(), int(tree.action[node])

    def _failure(self) -> PlatypoosError:
        ledger = self.machine.ledger
        if ledger[0].status == OVER_BUDGET:
            return BudgetExceeded(
                f"a request was refused: {ledger[0].calls} of the budget of {ledger[0].budget} "
                "are spent"
            )
        if ledger[0].status == BAD_REWARD:
            error: ModelError = bad_reward(float(self.machine.last_reward[0]), *self._place())
        elif ledger[0].status == RANDOM_STATE:
            states, node = self.states, int(ledger[0].node)
            error = unlike_before(*self._place(), states[node].copy(), states[-1].copy())
        elif ledger[0].status == NO_LEGAL:
            error = no_legal_action(self._reached())
        elif ledger[0].status == BAD_ADVICE:
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
        row = int(machine.ledger[0].node)
        if self.access is Access.RESET:
            row = int(machine.ledger[0].step)
        return self.states[row].copy()

    def _kept(self, error: ModelError) -> ModelError:
        error.calls = self.calls
        error.tree = self.tree.trimmed()
        return error
