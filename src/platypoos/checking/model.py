"""Does a model keep the contract? A check for any model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checking.hidden import LONGEST, check_goes_on, may_hide_its_state
from platypoos.checking.report import ModelReport
from platypoos.checks import missing_from, same
from platypoos.errors import DynamicsError, InvalidArgument, ModelError, PlatypoosError
from platypoos.models.advice import Advisor
from platypoos.models.array import ArrayModel
from platypoos.models.base import (
    RANDOM,
    Access,
    Transition,
    access_of,
    actions_of,
    dynamics_of,
    is_compiled,
    said_of_one,
)
from platypoos.models.failures import act, brief, say_action
from platypoos.models.features import ask_features, entries, not_hashable
from platypoos.models.keys import key_of


def check_model(model: Any, *, steps: int = 200, seed: int = 0) -> ModelReport:
    """Walk through a model at random and report whatever would mislead a planner.

    Checks that ``step`` returns a state, a finite reward and a flag; that it leaves the state it
    is given alone; that all randomness comes from the generator it is given; that the same state
    and action lead to the same state (unless its dynamics are random, or it only has RESET access);
    that an array
    model treats the rows of a batch independently; and that a compiled kernel writes the whole
    next state, and nothing else. If the model says which actions are legal, that this depends on
    the state only, that none of them raises, and that there is one. If it says what a state is
    worth, what a sensible actor does or what there is to see in a state, that these are numbers,
    weights and features. Notes whether states can be told apart, so that sequences that meet can
    share their samples, and whether a model that can only be reset can go on from its states.

    Args:
        model: the model to check. Its initial state is copied, if it can be.
        steps: how many random steps to take; each is tried three times.
        seed: for the random walk.

    >>> import platypoos as pp
    >>> print(pp.check_model(pp.problems.SwitchChain(noise=1.0)))
    SwitchChain: safe to plan with
      ok       2 actions, access restore
      ok       200 steps: states, finite rewards, flags
      ok       states are left as they were
      ok       all randomness comes from rng
      ok       dynamics are deterministic
      ok       states can be told apart: 179 steps led to one that was known
    """
    if steps < 1:
        raise InvalidArgument(f"steps must be at least 1, got {steps!r}")
    checker = _Checker(model, steps, np.random.default_rng(seed))
    try:
        checker.run()
    except ModelError as error:
        checker.problems.append(_without_traceback(error))
    found = (checker.passed, checker.problems, checker.notes)
    return ModelReport(type(model).__name__, steps, *(tuple(lines) for lines in found))


def _without_traceback(error: Exception) -> str:
    return str(error).replace("; the original traceback is above", "")


class _Checker:
    def __init__(self, model: Any, steps: int, rng: np.random.Generator) -> None:
        self.model, self.steps, self.rng = model, steps, rng
        self.passed: list[str] = []
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.features = said_of_one(model, "features")
        self.shown: int | None = None
        """How many features states show."""
        self.barred = 0
        """Actions that were not legal, in all states that were asked about."""

    def run(self) -> None:
        model = self.model
        missing = missing_from(model)
        if missing:
            self.problems.append(missing)
            return
        try:
            self.space = actions_of(model)
            access, self.dynamics = access_of(model), dynamics_of(model)
        except PlatypoosError as error:
            self.problems.append(_without_traceback(error))
            return
        actions = f"actions {self.space}"
        if self.space.is_finite:
            actions = f"{self.space.n} action{'s' if self.space.n > 1 else ''}"
        self.passed.append(f"{actions}, access {access.value}")
        self.copy: Callable[[Any], Any] = copy.deepcopy
        self.alike: Callable[[Any, Any], bool] = same
        self.start = model.initial_state
        try:
            if getattr(model, "saves_states", False):
                self._take_snapshots()
            self.start = self.copy(self.start)
        except Exception as error:  # noqa: BLE001  whatever copying the user's state raises
            self.copy = lambda state: state
            self.notes.append(f"states cannot be copied ({error}): not checked for changes")
        self.advisor = Advisor(model)
        if is_compiled(model):
            self._kernel()
        if not self.problems:
            self._walk(access)
        if isinstance(model, ArrayModel) and not self.problems:
            self._batch()

    def _take_snapshots(self) -> None:
        """Compare the snapshots of an environment by their keys; they may share what lives on."""
        model = self.model
        self.copy = lambda state: state
        self.alike = lambda one, other: bool(model.key(one) == model.key(other))
        self.notes.append(
            "states are snapshots of an environment: check_simulator tells whether they are "
            "restored as they were"
        )

    def _legal_action(self, state: Any) -> Any:
        """A random action that is legal; a problem if what is legal changes by itself."""
        if not self.advisor.masked:
            return self.space.draw(self.rng)
        before = self.copy(state)
        mask, again = self.advisor.mask(state), self.advisor.mask(self.copy(state))
        self._left_alone("legal", before, state)
        self.barred += int(self.space.n - mask.sum())
        if not same(mask, again):
            self.problems.append(
                f"the legal actions of a state were {self._listed(mask)} and then "
                f"{self._listed(again)}; they must depend on the state only (at state "
                f"{brief(state)})"
            )
        return self.space.payloads[int(self.rng.choice(np.flatnonzero(mask)))]

    def _listed(self, mask: Any) -> list[Any]:
        return [self.space.payloads[number] for number in np.flatnonzero(mask)]

    def _knowledge(self, state: Any) -> None:
        """Look at the model's value and policy in a state: an error if they are not numbers."""
        before = self.copy(state)
        if self.advisor.valued:
            self.advisor.value(state)
            self._left_alone("value", before, state)
        if self.advisor.guided:
            self.advisor.check_policy(state)
            self._left_alone("policy", before, state)
        if self.features is not None:
            self._look(state)
            self._left_alone("features", before, state)

    def _look(self, state: Any) -> None:
        """Look at the features of a state; a problem if they are none, or change by themselves."""
        function: Any = self.features
        try:
            said, again = ask_features(function, state), ask_features(function, self.copy(state))
            hash(tuple(entries(said)))
        except TypeError:
            self.problems.append(str(not_hashable(said, state)))
            return
        except InvalidArgument as error:  # an environment that has nothing to show
            self.features = None
            self.notes.append(str(error))
            return
        number = len(entries(said))
        if not same(said, again):
            self.problems.append(
                f"the features of a state were {brief(said)} and then {brief(again)}; they must "
                f"depend on the state only (at state {brief(state)})"
            )
        elif self.shown not in (None, number):
            self.problems.append(
                f"states show {self.shown} features, but this one {number}, {brief(said)}; return "
                f"as many of every state (at state {brief(state)})"
            )
        self.shown = number

    def _left_alone(self, name: str, before: Any, state: Any) -> None:
        if not self.alike(before, state):
            self.problems.append(
                f"{name} changed the state it was given from {brief(before)} to {brief(state)}"
            )

    def _walk(self, access: Access) -> None:
        model, rng = self.model, self.rng
        restore = access is Access.RESTORE
        state, at_start = self.copy(self.start), True
        key = key_of(model, state)
        known: set[Any] = set()
        met = nameless = self.barred = 0
        for _ in range(self.steps):
            action, seed = self._legal_action(state), int(rng.integers(2**32))
            if self.problems:
                return
            before = self.copy(state)
            first = act(model, state, action, np.random.default_rng(seed))
            after, terminated = first.state, first.terminated
            where = f"(at state {brief(before)}, action {say_action(action)})"
            if (restore or at_start) and not self.alike(state, before):
                self.problems.append(
                    f"step changed the state it was given to {brief(state)}; copy it first {where}"
                )
                return
            if restore:
                self._take_again(state, action, seed, first, where)
                if self.problems:
                    return
                try:
                    name = None if key is None else key(after)
                    met += name is not None and name in known
                    nameless += name is None
                    known.add(name)
                except TypeError as error:
                    self.problems.append(f"the key of a state cannot be hashed: {error} {where}")
                    return
            if not terminated:
                self._knowledge(after)
            if self.problems:
                return
            state, at_start = (self.copy(self.start), True) if terminated else (after, False)
        self._sum_up()
        if not restore:
            self._goes_on(action)
            return
        self.passed += [
            "states are left as they were",
            "all randomness comes from rng",
            f"dynamics are {self.dynamics}",
        ]
        if key is None or nameless == self.steps:
            self.notes.append(
                "states cannot be told apart, so sequences that meet share nothing: give the model "
                "key(state)"
            )
        else:
            self.passed.append(f"states can be told apart: {met} steps led to one that was known")
            if nameless:
                self.notes.append(
                    f"the key of {nameless} of {self.steps} states was None: they meet no other"
                )

    def _take_again(
        self, state: Any, action: Any, seed: int, first: Transition, where: str
    ) -> None:
        """Take a step twice more, with the same random numbers and with others."""
        kept = self.copy(first.state)
        again = act(self.model, state, action, np.random.default_rng(seed))
        other = act(self.model, state, action, np.random.default_rng(seed + 1))
        leads_to = f"the same step led to {brief(first.state)} and to"
        if not self.alike(first.state, kept):
            self.problems.append(
                "a second step changed the state that the first returned; return a new state each "
                f"time {where}"
            )
        elif again.reward != first.reward:
            self.problems.append(
                f"the reward was {first.reward!r} and {again.reward!r} with the same random "
                f"generator; draw all randomness from rng {where}"
            )
        elif not self._ends_alike(first, again):
            self.problems.append(
                f"{leads_to} {brief(again.state)} with the same random generator: the step keeps "
                "something outside of the state, such as a counter or a clock, or draws random "
                f"numbers elsewhere; put it into the state, and draw from rng {where}"
            )
        elif self.dynamics != RANDOM and not self._ends_alike(first, other):
            remedy = 'give the model dynamics="random"'
            if hasattr(self.model, "successors"):
                remedy += ", or plan with OPMDP, which takes the successors it lists"
            self.problems.append(
                f"{leads_to} {brief(other.state)}; the dynamics are random: {remedy} {where}"
            )

    def _ends_alike(self, one: Transition, other: Transition) -> bool:
        return self.alike(one.state, other.state) and one.terminated == other.terminated

    def _sum_up(self) -> None:
        """What is true of every model that was walked in without a problem."""
        self.passed.append(f"{self.steps} steps: states, finite rewards, flags")
        if self.advisor.masked:
            self.passed.append(
                "legal actions depend on the state only, and can be taken; "
                f"{self.barred / self.steps:.3g} of {self.space.n} were not legal on average"
            )
        if self.shown is not None:
            self.passed.append(f"features depend on the state only; there are {self.shown}")

    def _goes_on(self, action: Any) -> None:
        """Note a model that can only be planned with from its first state."""
        if not may_hide_its_state(self.model):
            return
        after = act(self.model, self.copy(self.start), action, np.random.default_rng(0))
        if not after.terminated:
            try:
                check_goes_on(self.model, after.state, 2 * LONGEST)
            except DynamicsError as error:
                self.notes.append(str(error))

    def _some_states(self) -> tuple[list[Any], list[Any]]:
        model, rng = self.model, self.rng
        states = [np.asarray(model.initial_state)]
        for _ in range(15):
            after = model.step(states[-1], self._legal_action(states[-1]), rng)
            states.append(np.asarray(model.initial_state if after.terminated else after.state))
        return states, [self._legal_action(state) for state in states]

    def _batch(self) -> None:
        model, rng = self.model, self.rng
        states, actions = self._some_states()
        together, _, ended = model.step_batch(np.stack(states), model.batch_of(actions), rng)
        for i, state in enumerate(states):
            alone = model.step(state, actions[i], rng)
            if not same(alone.state, together[i]) or alone.terminated != bool(ended[i]):
                self.problems.append(
                    f"row {i} of a batch led to {together[i]!r}, but alone to {alone.state!r} "
                    f"(at state {state!r}, action {say_action(actions[i])})"
                )
                return
        self.passed.append("rows of a batch are independent")

    def _kernel(self) -> None:
        model = self.model
        for state, action in zip(*self._some_states(), strict=True):
            results = []
            for filling in (0, 1):  # what is not written shows as a difference
                given = np.array(state)
                after = np.full_like(given, filling)
                model.step_into(given, int(action), np.random.default_rng(0), after)
                results.append(after)
                if not same(given, state):
                    self.problems.append(
                        f"the kernel changed its state from {state!r} to {given!r}; it may only "
                        f"write next_state (action {action})"
                    )
                    return
            unwritten = np.flatnonzero(results[0] != results[1])
            if len(unwritten):
                self.problems.append(
                    f"the kernel did not write next_state[{unwritten[0]}] (at state {state!r}, "
                    f"action {action})"
                )
                return
            if state.dtype.kind in "iu" and not self._exact(state, int(action), results[0]):
                return
        self.passed.append("the kernel writes the next state, all of it and nothing else")

    def _exact(self, state: NDArray[Any], action: int, after: NDArray[Any]) -> bool:
        """Whether nothing is lost by storing what the kernel writes as integers."""
        wide = np.zeros(len(state))
        try:
            rng = np.random.default_rng(0)
            self.model.step_into(state.astype(np.float64), action, rng, wide)
        except Exception:  # noqa: BLE001  it needs integers, say as indices: then it is exact
            return True
        if same(wide, after.astype(np.float64)):
            return True
        self.problems.append(
            f"states of type {state.dtype} cut off what the kernel writes, {wide!r}; use an "
            "initial_state of floats"
        )
        return False
