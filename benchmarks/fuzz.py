"""Plan with random odd models, planners and arguments, and see that promises are kept.

python benchmarks/fuzz.py --cases 10000          # seeds 0 to 9,999
python benchmarks/fuzz.py --seed 4711            # one case again, with its traceback
python benchmarks/fuzz.py --cases 1000000 --state out/fuzz.json    # can be stopped, and goes on
python benchmarks/fuzz.py --bounds               # all planners in machine code that checks bounds

What is promised: never a call beyond the budget, as the model itself counts; no error that is not
ours; a model's own exception comes back as a ModelError with its state and action; the recommended
action is legal; the same seed gives the same plan; and no case takes for ever.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
from fuzz_executors import FINE, OddExecutor
from fuzz_models import KINDS, Running, World, make_world
from fuzz_planners import make_planner, of_lists

import platypoos as pp

PATIENCE = 600.0
"""Seconds after which a hundred cases count as one that hangs; the first ones compile."""
AGAIN = 0.125
"""Share of the cases that are planned twice, to see that the same seed gives the same plan."""
HOSTILE = {"HashRaises", "EqualRaises", "EqualIsArray", "NoPickle", "BadPickle", "Evasive", "deep"}
"""States that break promises of Python: an error of ours that says so is an answer."""
BAD: dict[str, tuple[Any, ...]] = {
    "budget": (0, -1, 1.5, "many", float("nan"), True, 2**31, [5]),
    "discount": (-0.1, 1.5, 2, float("nan"), "x", 1j),
    "horizon": (0, -3, 1.5, "x", True, float("inf")),
    "deadline": (0, 0.0, -1, float("nan"), float("inf"), "x"),
    "stop": (3, "x"),
    "seed": (-1, "x", 1.5),
    "access": ("sideways", 3),
    "timeout": (0, -1, "x", float("nan")),
    "executor": (3, "x"),
    "planner": (3, "platypus", pp.planners.UCT),
}


@dataclass(frozen=True)
class Case:
    """One use of the public interface; ``bad`` names an argument that must be refused."""

    world: World
    planner: Any
    arguments: dict[str, Any]
    how: str
    steps: int
    executor: tuple[str, int, int] | None
    bad: str

    def __str__(self) -> str:
        arguments = {k: v for k, v in self.arguments.items() if v is not None}
        return (
            f"{self.how} × {self.steps}: {self.planner}\n  {self.world}\n  {arguments}, "
            f"executor {self.executor}" + (f", bad {self.bad}" if self.bad else "")
        )


def make_case(
    draw: random.Random, kinds: tuple[str, ...] = KINDS, names: tuple[str, ...] = ()
) -> Case:
    """A random case; all that is random comes from ``draw``.

    Args:
        draw: makes the choices.
        kinds: of models to choose from.
        names: of planners to choose from; all if there are none.
    """
    world = make_world(draw, kinds)
    actions = world.after.shape[1]
    usual = (*of_lists(), *(["platypus"] * 8), *(["platypoos"] * 2))
    name = draw.choice(names or usual)
    kind = pp.planners.available()[name]
    most = draw.choice((30,) * 18 + (300, 3_000 if world.kind != "array" else 300))
    discount = draw.choice((0.0, 0.5, 0.9, 0.95, 0.999, 1.0, draw.random()))
    horizon = draw.choice((None, None, 1, 2, 5, 10**9)) if kind.finite else None
    if discount == 1.0 and horizon is None:
        discount = 0.95
    access = draw.choice((None, None, "restore", "reset"))
    if world.access == "reset":
        access = None
    if pp.Access.RESET not in kind.access:
        world = _with_access(world)
        access = None
    arguments: dict[str, Any] = {
        "budget": actions + int(draw.random() ** 2 * most),
        "horizon": horizon,
        "access": access,
        "seed": draw.randrange(2**40),
    }
    if kind.anytime and draw.random() < 0.1:
        arguments["deadline"] = draw.choice((1e-9, 1e-5, 1e-3, 10.0))
        if draw.random() < 0.5 and arguments["deadline"] < 1:
            arguments["budget"] = None
    how = draw.choice(("plan",) * 8 + ("control", "agent"))
    executor = None
    if world.kind in {"python", "class"} and draw.random() < 0.1:
        mode = draw.choice((*FINE, *FINE, "dies", "hangs", "refuses", "cancels"))
        executor = (mode, draw.choice((1, 2, draw.randint(1, 30))), draw.randint(1, 3))
    planner: Any = make_planner(draw, name, discount)
    bad = ""
    if draw.random() < 0.04:
        bad = draw.choice(sorted(BAD))
        arguments[bad] = draw.choice(BAD[bad])
        if bad in {"deadline", "stop"}:
            planner = pp.Platypus(0.9)
        if bad == "timeout":
            executor = executor or ("now", 1, 1)
        if bad == "executor":
            executor = None
        how = "plan"
    return Case(world, planner, arguments, how, draw.randint(1, 3), executor, bad)


def _with_access(world: World) -> World:
    return replace(world, access="restore")


@dataclass
class Outcome:
    """What came back: plans, or an error."""

    plans: list[pp.Plan]
    error: BaseException | None
    running: Running

    def summary(self) -> Any:
        """What must be the same for the same seed."""
        told = [(p.action, p.actions, repr(p.value), p.calls) for p in self.plans]
        return told, type(self.error), self.running.calls


def run(case: Case) -> Outcome:
    """Carry a case out."""
    running = Running(case.world)
    arguments = dict(case.arguments)
    arguments.setdefault("planner", case.planner)
    if case.executor is not None:
        Running.known[running.number] = running
        arguments["executor"] = OddExecutor(*case.executor)
        arguments.setdefault("timeout", 5.0)
    plans: list[pp.Plan] = []
    error: BaseException | None = None
    try:
        if case.how == "plan":
            plans.append(pp.plan(running.model, **arguments))
        elif case.how == "control":
            pp.control(
                running.model, steps=case.steps, on_step=lambda _, p, __: plans.append(p),
                **arguments,
            )  # fmt: skip
        else:
            agent = pp.Agent(running.model, **arguments)
            odd = case.world.fault.number
            for step in range(case.steps):
                agent.act(running.model.initial_state)
                plans.append(agent.plan)
                agent.observe((0.0, None, 1e300, -1.0)[(odd + step) % 4])
    except BaseException as raised:  # noqa: BLE001  whatever it is, it is judged
        error = raised
    finally:
        Running.known.pop(running.number, None)
    return Outcome(plans, error, running)


def complaint(case: Case, outcome: Outcome) -> str:
    """Which promise was broken; empty if none was."""
    running, fault = outcome.running, case.world.fault
    budget = case.arguments["budget"]
    if not case.bad and budget is not None:
        most = budget * (1 if case.how == "plan" else case.steps)
        most += case.steps if case.how == "control" else 0
        if running.calls > most:
            return f"{running.calls} calls, but {most} are allowed"
    trusted = fault.kind not in {"mutate", "random", "legal", "key"}
    if running.illegal_calls and trusted:
        return f"{running.illegal_calls} illegal calls"
    if outcome.error is not None:
        return _complaint_of_error(case, outcome, outcome.error)
    if case.bad:
        return f"{case.bad}={case.arguments[case.bad]!r} was accepted"
    if running.failed and fault.must_be_told:
        return f"the model's fault was not told: {fault}"
    for plan in outcome.plans:
        text = f"{plan!r} {plan.lead} {plan.depth} {plan.action_values}"
        if not 0 <= plan.action < plan.space.n or plan.actions[0] != plan.action:
            return f"action {plan.action} of {plan.actions}: {text}"
    if case.how != "control" and outcome.plans[0].state is running.model.initial_state:
        action = outcome.plans[0].action
        if trusted and not running.is_legal(action):
            return f"the recommended action {action} is illegal"
        calls = sum(plan.calls for plan in outcome.plans)
        if calls != running.calls:
            return f"{calls} calls in plans, {running.calls} counted"
    return ""


def _complaint_of_error(case: Case, outcome: Outcome, error: BaseException) -> str:
    fault, running = case.world.fault, outcome.running
    if not isinstance(error, pp.PlatypoosError):
        ours = fault.kind == "abrupt" and running.failed
        return "" if ours else f"an error that is not ours: {type(error).__name__}"
    if case.bad:
        return "" if isinstance(error, pp.InvalidArgument) else f"for {case.bad}: {error!r}"
    str(error)
    if isinstance(error, pp.ModelError):
        about_model = running.failed or case.world.form.name in HOSTILE or case.world.is_too_large
        about_worker = case.executor is not None and case.executor[0] not in FINE
        if not (about_model or about_worker):
            return f"a fine model is blamed: {error!r}"
        if case.world.kind == "compiled" and isinstance(error.__cause__, IndexError):
            return f"machine code is out of bounds: {error!r}"  # no kernel here raises it
        in_step = fault.kind in {"raise", "reward", "result", "flag"} and running.failed
        if in_step and not about_worker and case.world.form.name not in HOSTILE:
            if error.action is None or (error.state is None and case.world.form.name != "none"):
                return f"no state and action: {error!r}"
            if error.calls != running.calls and case.how == "plan":
                return f"{error.calls} calls in the error, {running.calls} counted"
        return ""
    if isinstance(error, pp.InvalidArgument):
        unsendable = case.executor is not None or case.world.form.name in HOSTILE
        unnamed = "features" in str(error) or (fault.kind == "key" and running.failed)
        return "" if unsendable or unnamed else f"fine arguments are refused: {error!r}"
    return f"should not get out: {error!r}"


def check(draw: random.Random, kinds: tuple[str, ...] = KINDS, names: tuple[str, ...] = ()) -> str:
    """Make a case, carry it out, and say which promise was broken, with the case; or nothing."""
    case = make_case(draw, kinds, names)
    again = draw.random() < AGAIN and "deadline" not in case.arguments
    if case.executor is not None and case.world.fault.kind:
        again = False  # what is made before it fails is up to the workers, and their pace
    outcome = run(case)
    said = complaint(case, outcome)
    if not said and again and not case.bad:
        second = run(case)
        if second.summary() != outcome.summary():
            said = f"the same seed, another plan: {outcome.summary()}, {second.summary()}"
    if not said:
        return ""
    trace = "".join(traceback.format_exception(outcome.error, limit=-4)) if outcome.error else ""
    return f"{said}\n  {case}\n{trace[-3_000:]}"


class Progress:
    """How far it is, in a file: a run that was stopped goes on there."""

    def __init__(self, path: Path | None, first: int) -> None:
        self.path = path
        self.data: dict[str, Any] = {"next": first, "seconds": 0.0, "failed": []}
        if path is not None and path.exists():
            self.data = json.loads(path.read_text())

    def save(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(".new")
            fresh.write_text(json.dumps(self.data))
            fresh.replace(self.path)


def fuzz(first: int, cases: int, state: Path | None, kinds: tuple[str, ...] = KINDS) -> Progress:
    """Check the cases of seeds ``first`` to ``first + cases − 1``."""
    progress = Progress(state, first)
    data = progress.data
    shown: Counter[str] = Counter()
    last = time.perf_counter()
    while data["next"] < first + cases:
        start = time.perf_counter()
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        for seed in range(data["next"], min(data["next"] + 100, first + cases)):
            said = check(random.Random(seed), kinds)  # noqa: S311  nobody's secret
            if said:
                kind = said.splitlines()[0][:60]
                shown[kind] += 1
                data["failed"].append(seed)
                if shown[kind] <= 3:
                    print(f"seed {seed}: {said}", flush=True)
        faulthandler.cancel_dump_traceback_later()
        data["next"] = seed + 1
        data["seconds"] += time.perf_counter() - start
        progress.save()
        if time.perf_counter() - last > 30:
            last = time.perf_counter()
            done = data["next"] - first
            print(f"{done:,} cases, {len(data['failed'])} failed, {data['seconds']:.0f} s",
                  file=sys.stderr, flush=True)  # fmt: skip
    return progress


def bounds(cases: int, names: Sequence[str]) -> int:
    """Let all planners plan with compiled models in machine code that checks bounds.

    Numba reads the setting when it is imported, and does not look for it in its cache: another
    process with a new cache does it.
    """
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        with tempfile.TemporaryDirectory() as cache:
            settings = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
            command = [sys.executable, __file__, "--bounds", str(cases), "--planner", *names]
            return subprocess.run(command, env={**os.environ, **settings}, check=False).returncode
    try:
        _beyond(np.zeros(1), 1)
    except IndexError:
        pass
    else:
        print("bounds are not checked")
        return 1
    failed = 0
    for name in names:
        start = time.perf_counter()
        said = [check(random.Random(f"{name} {i}"), ("compiled",), (name,)) for i in range(cases)]  # noqa: S311
        broken = [text for text in said if text]
        failed += len(broken)
        print(f"{name:20} {cases} cases, {len(broken)} failed, {time.perf_counter() - start:.0f} s")
        print(*broken[:3], sep="\n", end="", flush=True)
    print(f"{failed} failed")
    return int(failed > 0)


@numba.njit
def _beyond(array, place):  # type: ignore[no-untyped-def]
    return array[place]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seed", type=int, help="one case only")
    parser.add_argument("--planner", nargs="+", default=(), help="with --bounds: only these")
    parser.add_argument("--bounds", type=int, nargs="?", const=60, metavar="CASES",
                        help="check bounds in machine code, with so many cases of each planner "
                        "(default: 60); compiles everything anew, some minutes")  # fmt: skip
    parser.add_argument("--python", action="store_true", help="no compiled models: starts faster")
    parser.add_argument("--state", type=Path, help="a file to go on from")
    options = parser.parse_args()
    if options.bounds:
        sys.exit(bounds(options.bounds, options.planner or of_lists()))
    kinds = KINDS[:-1] if options.python else KINDS
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    faulthandler.enable()
    if options.seed is not None:
        print(check(random.Random(options.seed), kinds) or "fine")  # noqa: S311
        return
    progress = fuzz(options.first, options.cases, options.state, kinds)
    failed = progress.data["failed"]
    print(
        f"{progress.data['next'] - options.first:,} cases, {len(failed)} failed: {failed[:20]}, "
        f"{progress.data['seconds']:.0f} s"
    )
    sys.stdout.flush()
    os._exit(bool(failed))


if __name__ == "__main__":
    main()
