"""Plan for random processes with every planner that reacts to chance; see that promises are kept.

python benchmarks/fuzz_chance.py --cases 5000     # seeds 0 to 4,999
python benchmarks/fuzz_chance.py --seed 4711      # one case again, with its traceback

What is promised: calls are counted exactly and never exceed the budget, as the model itself
counts; no call after an end, after the horizon or of an illegal action; the recommended action, and
the next one after each outcome, are legal, and the outcomes are possible; the same seed gives the
same plan, on an executor too; a failing model is named with its state and action.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from fuzz_planners import make_planner, of_lists

import platypoos as pp

MOST_CALLS = 200
OVER = "over"


@cache
def reacting() -> tuple[str, ...]:
    """The planners that react to chance."""
    return tuple(name for name in of_lists() if pp.planners.available()[name].reacts)


class Process:
    """A random process; a state is a number and, if there is a horizon, the steps so far.

    Args:
        draw: makes all choices.
        timed: whether states tell the steps so far; then calls after the horizon are noticed.
    """

    def __init__(self, draw: random.Random, *, timed: bool) -> None:
        self.timed = timed
        self.states, self.actions = draw.randint(1, 9), draw.randint(1, 6)
        scale = draw.choice((1.0, 1.0, 1.0, 1e-9, 1e9))
        shift = draw.choice((0.0, 0.0, -1.0, 5.0))
        ends = draw.choice((0.0, 0.0, 0.1, 0.5))
        self.noise = draw.choice((0.0, 0.3)) * scale
        self.outcomes: dict[tuple[int, int], list[tuple[float, int, float, bool]]] = {}
        for state in range(self.states):
            for action in range(self.actions):
                weights = [draw.random() ** 3 + 0.02 for _ in range(draw.randint(1, 4))]
                self.outcomes[state, action] = [
                    (
                        weight / sum(weights),
                        draw.randrange(self.states),
                        scale * (draw.random() + shift),
                        draw.random() < ends,
                    )
                    for weight in weights
                ]
        masked = draw.random() < 0.4
        self.legal_in = [
            [a for a in range(self.actions) if not masked or draw.random() < 0.6]
            or [draw.randrange(self.actions)]
            for _ in range(self.states)
        ]
        self.said = [scale * (draw.random() + shift) for _ in range(self.states)]
        self.weights = [[draw.random() for _ in range(self.actions)] for _ in range(self.states)]
        self.form: Callable[[Any], Any] = draw.choice((_same, _same, _same, list, np.array))
        self.root = self.named(0, 0)
        self.names = [n for n in ("legal", "value", "policy") if draw.random() < 0.3]
        if masked and "legal" not in self.names:
            self.names.append("legal")
        self.lists = draw.random() < 0.3
        self.fails_at = draw.randint(1, 40) if draw.random() < 0.15 else 0
        self.horizon: int | None = None
        self.begin()

    def begin(self) -> None:
        """Count from 0."""
        self.calls = self.told = 0
        self.complaints: list[str] = []
        self.failed_with: tuple[Any, int] | None = None

    def named(self, number: int, steps: int) -> Any:
        """A state as the model knows it."""
        return self.form((number, steps if self.timed else 0))

    def look(self, state: Any, action: int) -> tuple[int, int]:
        """What a call is about; complain if it must not be made."""
        if isinstance(state, str):
            self.complaints.append("a call after an end")
            return 0, 0
        number, steps = (int(part) for part in state)
        if self.timed and self.horizon is not None and steps >= self.horizon:
            self.complaints.append(f"a call after {steps} steps, the horizon is {self.horizon}")
        if action not in self.legal_in[number]:
            self.complaints.append(f"action {action} is illegal in state {number}")
        return number, steps

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Any:
        """One call."""
        self.calls += 1
        number, steps = self.look(state, action)
        if self.calls == self.fails_at:
            self.failed_with = state, action
            raise ValueError("broken")
        left = rng.random()
        found = self.outcomes[number, action]
        for outcome in found:
            left -= outcome[0]
            if left < 0.0:
                break
        _, after, reward, ended = outcome
        reward += self.noise * float(rng.random())
        return OVER if ended else self.named(after, steps + 1), reward, ended

    def successors(self, state: Any, action: int) -> list[tuple[float, Any, float, bool]]:
        """All that may happen; each counts as a call."""
        number, steps = self.look(state, action)
        found = self.outcomes[number, action]
        self.told += len(found)
        return [
            (chance, OVER if ended else self.named(after, steps + 1), reward, ended)
            for chance, after, reward, ended in found
        ]

    def model(self) -> Any:
        """The process as planners see it."""
        said: dict[str, Callable[[Any], Any]] = {
            "legal": lambda state: self.legal_in[int(state[0])],
            "value": lambda state: self.said[int(state[0])],
            "policy": lambda state: self.weights[int(state[0])],
        }
        model = pp.FunctionModel(
            self.step,
            self.actions,
            self.root,
            dynamics="random",
            **{name: said[name] for name in self.names},  # type: ignore[arg-type]
        )
        if self.lists:
            return Listing(model, self)
        return model

    def can_lead_to(self, state: Any, action: int, after: Any, *, ends: bool, steps: int) -> bool:
        """Whether an outcome is possible."""
        if self.horizon is not None and steps + 1 == self.horizon and ends:
            return True
        found = self.outcomes[int(state[0]), action]
        if ends:
            return any(ended for _, _, _, ended in found)
        return any(not ended and int(after[0]) == to for _, to, _, ended in found)


class Listing:
    """A model that lists its successors."""

    max_successors = 4

    def __init__(self, model: Any, process: Process) -> None:
        self.model, self.successors = model, process.successors

    def __getattr__(self, name: str) -> Any:
        if name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)


def _same(state: tuple[int, int]) -> tuple[int, int]:
    return state


@dataclass(frozen=True)
class Case:
    """One plan."""

    process: Process
    planner: Any
    arguments: dict[str, Any]

    def __str__(self) -> str:
        process = self.process
        return (
            f"{self.planner} {self.arguments} {process.states} states, {process.actions} actions, "
            f"{process.names}, lists {process.lists}, fails at {process.fails_at}"
        )


def make_case(seed: int) -> Case:
    """The case of a seed; planners take turns."""
    draw = random.Random(seed)  # noqa: S311  nobody's secret
    name = reacting()[seed % len(reacting())]
    kind = pp.planners.available()[name]
    process = Process(draw, timed=draw.random() < 0.5)
    discount = draw.choice((0.0, 0.5, 0.9, 0.95, 0.999, draw.random()))
    if kind.finite and draw.random() < 0.4:
        process.horizon = draw.choice((1, 2, 5, 30))
        discount = draw.choice((discount, 1.0))
    least = process.actions
    if name == "op-mdp" and process.lists:
        least *= Listing.max_successors
    budget = least + draw.choice((0, 1, 1, 1)) * int(draw.random() ** 2 * MOST_CALLS)
    arguments = {"budget": budget, "seed": seed, "horizon": process.horizon}
    return Case(process, make_planner(draw, name, discount), arguments)


def facts(plan: pp.Plan) -> Any:
    """What must be the same for the same seed."""
    chances = [(o.probability, o.ends, o.action_index) for o in plan.outcomes]
    return plan.actions, plan.calls, repr(plan.value), repr(plan.action_values), chances


def check(seed: int, executor: Any = None) -> str:
    """Carry out the case of a seed; returns the promise that was broken, or nothing."""
    case = make_case(seed)
    said = _complaint(case, executor)
    return f"seed {seed}: {said}\n  {case}" if said else ""


def _complaint(case: Case, executor: Any) -> str:
    process, planner, arguments = case.process, case.planner, case.arguments
    try:
        plan = planner.plan(process.model(), **arguments)
    except pp.ModelError as error:
        return _complaint_of_error(process, error)
    calls = process.calls + process.told
    if process.complaints:
        return process.complaints[0]
    if process.failed_with is not None:
        return "the failure was not told"
    if not plan.calls == calls <= arguments["budget"]:
        return f"{plan.calls} calls in the plan, {calls} counted"
    if calls < process.actions and "legal" not in process.names and not process.lists:
        return f"{calls} calls: some action was not tried"
    root = process.legal_in[0]
    if plan.action not in root or plan.actions[0] != plan.action:
        return f"action {plan.action} of {plan.actions}"
    if not np.isfinite(plan.value) or plan.value != plan.action_values[plan.action]:
        return f"value {plan.value} of {plan.action_values}"
    if any(not np.isnan(v) for a, v in enumerate(plan.action_values) if a not in root):
        return f"illegal actions have values: {plan.action_values}"
    if process.horizon is not None and len(plan.actions) > process.horizon:
        return f"{len(plan.actions)} actions to a horizon of {process.horizon}"
    if not plan.outcomes or sum(o.probability for o in plan.outcomes) > 1.0 + 1e-9:
        return f"outcomes {plan.outcomes}"
    for outcome in plan.outcomes:
        possible = process.can_lead_to(
            process.root, plan.action, outcome.state, ends=outcome.ends, steps=0
        )
        if not possible:
            return f"{outcome} is not possible"
        if (
            outcome.action is not None
            and outcome.action not in process.legal_in[int(outcome.state[0])]
        ):
            return f"{outcome} is illegal"
    str(plan)
    process.begin()
    again = planner.plan(process.model(), **arguments, executor=executor)
    if facts(again) != facts(plan):
        return f"the same seed, another plan: {facts(plan)}, {facts(again)}"
    return ""


def _complaint_of_error(process: Process, error: pp.ModelError) -> str:
    if process.failed_with is None:
        return f"a fine model is blamed: {error!r}"
    state, action = process.failed_with
    if error.action != action or not np.array_equal(error.state, state):
        return f"failed at {state}, {action}, but the error is {error!r}"
    if error.calls != process.calls:
        return f"{error.calls} calls in the error, {process.calls} counted"
    if error.tree is None or error.tree.pulls[1 : error.tree.num_nodes].sum() > process.calls - 1:
        return "what was learned was not kept"
    return process.complaints[0] if process.complaints else ""


def main() -> None:
    """Run all cases, and print those that fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    seeds = range(asked.cases) if asked.seed is None else [asked.seed]
    failed, began = [], time.perf_counter()
    with ThreadPoolExecutor(3) as pool, np.errstate(all="ignore"):
        for seed in seeds:
            try:
                said = check(seed, pool if seed % 3 else None)
            except Exception as error:
                if asked.seed is not None:
                    raise
                said = f"seed {seed}: an error that is not ours: {error!r}"
            if said:
                failed.append(seed)
                print(said, flush=True)
    seconds = time.perf_counter() - began
    print(
        f"{len(seeds):,} cases of {len(reacting())} planners, {len(failed)} failed, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
