"""Does a model keep the contract? A check that users can run on their own."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from platypoos.checks import access_of, check_num_actions
from platypoos.errors import PlatypoosError
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access


@dataclass(frozen=True)
class ModelReport:
    """What was checked, and what was found."""

    model: str
    steps: int
    passed: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """No problem was found."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.model}: " + ("ready to plan with" if self.ok else "not ready")]
        lines += [f"  ok       {line}" for line in self.passed]
        lines += [f"  problem  {line}" for line in self.problems]
        return "\n".join(lines)


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal, whatever they are made of."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        floats = a.dtype.kind in "fc" and b.dtype.kind in "fc"
        return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=floats))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    compares_by_identity = "__eq__" not in {name for c in type(a).__mro__[:-1] for name in vars(c)}
    if compares_by_identity and hasattr(a, "__dict__") and type(a) is type(b):
        return same(vars(a), vars(b))
    return bool(a == b)


def check_model(model: Any, *, steps: int = 200, seed: int = 0) -> ModelReport:
    """Walk through a model at random and report whatever would mislead a planner.

    Checks that ``step`` returns a state, a finite reward and a flag; that it leaves the state it
    is given alone; that the same state and action lead to the same state (unless the model only
    has RESET access); and that an array model treats the rows of a batch independently.

    Args:
        model: the model to check.
        steps: how many random steps to take; each is tried twice.
        seed: for the random walk.

    >>> import platypoos as pp
    >>> print(pp.check_model(pp.problems.SwitchChain(noise=1.0)))
    SwitchChain: ready to plan with
      ok       2 actions, access restore
      ok       200 steps: states, finite rewards, flags
      ok       states are left as they were
      ok       dynamics are deterministic
    """
    checker = _Checker(model, steps, np.random.default_rng(seed))
    checker.run()
    return ModelReport(type(model).__name__, steps, tuple(checker.passed), tuple(checker.problems))


class _Checker:
    def __init__(self, model: Any, steps: int, rng: np.random.Generator) -> None:
        self.model, self.steps, self.rng = model, steps, rng
        self.passed: list[str] = []
        self.problems: list[str] = []

    def run(self) -> None:
        model = self.model
        missing = [n for n in ("num_actions", "initial_state", "step") if not hasattr(model, n)]
        if missing:
            self.problems.append(f"the model has no {', '.join(missing)}")
            return
        try:
            num_actions = check_num_actions(model.num_actions)
            access = access_of(model)
        except (PlatypoosError, ValueError) as error:
            self.problems.append(str(error))
            return
        actions = f"{num_actions} action{'s' if num_actions > 1 else ''}"
        self.passed.append(f"{actions}, access {access.value}")
        self._walk(num_actions, access)
        if isinstance(model, ArrayModel) and not self.problems:
            self._batch(num_actions)

    def _walk(self, num_actions: int, access: Access) -> None:
        model, rng = self.model, self.rng
        restore = access is Access.RESTORE
        state = model.initial_state
        for _ in range(self.steps):
            action = int(rng.integers(num_actions))
            where = f"at state {state!r}, action {action}"
            before = copy.deepcopy(state)
            try:
                after, reward, terminated = model.step(state, action, rng)
                if not math.isfinite(reward):
                    self.problems.append(f"reward {reward!r} is not finite ({where})")
                    return
                if restore and not same(state, before):
                    self.problems.append(
                        f"step changed the state it was given ({where}, before: {before!r}); "
                        "copy the state first"
                    )
                    return
                kept = copy.deepcopy(after)
                if restore:
                    again, _, ended_again = model.step(state, action, rng)
                    if not same(after, kept):
                        self.problems.append(
                            f"a second step changed the state that the first returned ({where}); "
                            "return a new state each time"
                        )
                        return
                    if not same(again, after) or bool(ended_again) != bool(terminated):
                        self.problems.append(
                            f"the same step led to {after!r} and to {again!r} ({where}); the "
                            "dynamics are random: declare access = Access.RESET"
                        )
                        return
            except Exception as error:  # noqa: BLE001  whatever the user's step raises
                self.problems.append(f"step failed: {type(error).__name__}: {error} ({where})")
                return
            state = model.initial_state if terminated else after
        self.passed.append(f"{self.steps} steps: states, finite rewards, flags")
        if restore:
            self.passed += ["states are left as they were", "dynamics are deterministic"]

    def _batch(self, num_actions: int) -> None:
        model, rng = self.model, self.rng
        states = [np.asarray(model.initial_state)]
        for _ in range(15):
            after = model.step(states[-1], int(rng.integers(num_actions)), rng)
            states.append(np.asarray(model.initial_state if after.terminated else after.state))
        actions = rng.integers(num_actions, size=16)
        together, _, ended = model.step_batch(np.stack(states), actions, rng)
        for i, state in enumerate(states):
            alone = model.step(state, int(actions[i]), rng)
            if not same(alone.state, together[i]) or alone.terminated != bool(ended[i]):
                self.problems.append(
                    f"row {i} of a batch led to {together[i]!r}, but alone to {alone.state!r} "
                    f"(state {state!r}, action {actions[i]})"
                )
                return
        self.passed.append("rows of a batch are independent")
