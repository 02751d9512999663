"""What a plan costs for each call, with a simulator in Python, in NumPy and in JAX.

    python benchmarks/arrays.py --out

A pendulum is planned for in three forms: ``FunctionModel`` takes one step in plain Python,
``ArrayModel`` a step of all walks of a batch in NumPy, ``JaxModel`` whole walks in compiled code.
All make the same plans, but for what single precision rounds. The torque is one of three numbers
(list), or any number (box).

*All* is the processor time of a plan, divided by its calls: the mean of some seeds, and for each
seed the least of two plans, after plans that are not timed. *Model* is the part of it that was
spent in the model, with what it takes to call compiled code. *First* is the first plan of a model,
with all that JAX compiles for it. *Batch* is how many calls a planner asks for at once, on average.

If mctx is installed, its Gumbel MuZero plans on the same pendulum, the list, in one compiled search
with as many simulations, a uniform prior and the value 0.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

import platypoos as pp
from platypoos.models.lanes import Lanes
from platypoos.simulator import Simulator

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "arrays.md"
DISCOUNT, START, TRIES = 0.95, (math.pi, 0.0), 2
ACTIONS: dict[str, Any] = {"list": [-2.0, 0.0, 2.0], "box": pp.Box(-2.0, 2.0)}
PLANNERS: dict[str, dict[str, Any]] = {
    "list": {
        "default": pp.Platypus(DISCOUNT),
        "PlaTγPOOS": pp.PlaTyPOOS(DISCOUNT),
        "CEM": pp.planners.CEM(discount=DISCOUNT),
        "RandomShooting": pp.planners.RandomShooting(discount=DISCOUNT),
    },
    "box": {
        "default": pp.Platypus(DISCOUNT),
        "MPPI": pp.planners.MPPI(DISCOUNT),
        "CEM": pp.planners.CEM(discount=DISCOUNT),
        "RandomShooting": pp.planners.RandomShooting(discount=DISCOUNT),
    },
}


def one(state: tuple[float, float], torque: float, _: Any) -> Any:
    """A step in plain Python."""
    angle, speed = state
    off = (angle + math.pi) % (2 * math.pi) - math.pi
    cost = off * off + 0.1 * speed * speed + 0.001 * torque * torque
    speed = min(8.0, max(-8.0, speed + 0.05 * (15.0 * math.sin(angle) + 3.0 * torque)))
    return (angle + 0.05 * speed, speed), -cost, False


def many(states: np.ndarray, torques: np.ndarray, _: Any) -> Any:
    """Steps in NumPy."""
    angle, speed, torque = states[:, 0], states[:, 1], torques.reshape(-1)
    off = (angle + math.pi) % (2 * math.pi) - math.pi
    cost = off * off + 0.1 * speed * speed + 0.001 * torque * torque
    speed = np.clip(speed + 0.05 * (15.0 * np.sin(angle) + 3.0 * torque), -8.0, 8.0)
    return np.stack([angle + 0.05 * speed, speed], axis=1), -cost, False


def traced(state: Any, torque: Any, _: Any) -> Any:
    """A step in JAX."""
    import jax.numpy as jnp

    angle, speed = state
    off = (angle + math.pi) % (2 * math.pi) - math.pi
    cost = off * off + 0.1 * speed * speed + 0.001 * torque * torque
    speed = jnp.clip(speed + 0.05 * (15.0 * jnp.sin(angle) + 3.0 * torque), -8.0, 8.0)
    return (angle + 0.05 * speed, speed), -cost, False


FORMS: dict[str, Callable[[Any], Any]] = {
    "Python": lambda actions: pp.FunctionModel(one, actions, START),
    "NumPy": lambda actions: pp.ArrayModel(many, actions, np.array(START)),
    "JAX": lambda actions: pp.JaxModel(traced, actions, tuple(map(np.float32, START))),
}


class Watched:
    """Adds up what the calls of a function take."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name, self.function = owner, name, getattr(owner, name)
        self.seconds, self.count = 0.0, 0

    def __enter__(self) -> Self:
        watch, function = self, self.function

        def watched(*args: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return function(*args, **options)
            finally:
                watch.seconds += time.process_time() - began
                watch.count += 1

        setattr(self.owner, self.name, watched)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self.owner, self.name, self.function)


def seconds(function: Callable[[], Any]) -> float:
    """Processor time of a call."""
    began = time.process_time()
    function()
    return time.process_time() - began


def share_of_model(form: str, plan: Callable[[], Any]) -> float:
    """Seconds in the model, in one plan."""
    if form == "NumPy":
        with Watched(pp.ArrayModel, "step_batch") as watch:
            plan()
        return watch.seconds
    if form == "JAX":
        with Watched(Lanes, "play") as watch:
            plan()
        return watch.seconds
    calls = plan().calls

    def bare() -> None:
        state = START
        for _ in range(calls):
            state, _reward, _ended = one(state, 2.0, None)

    return seconds(bare)


def measure(form: str, kind: str, planner: Any, budget: int, seeds: int) -> list[str]:
    """The cells of a row."""
    model = FORMS[form](ACTIONS[kind])
    first, calls, batches = 0.0, 0, 0
    each: list[list[float]] = [[], []]
    for seed in range(seeds):

        def plan(seed: int = seed) -> Any:
            return planner.plan(model, budget=budget, seed=seed)

        began = seconds(plan)
        first = first or began
        with Watched(Simulator, "run") as runs, Watched(Simulator, "run_rows") as rows:
            made = plan().calls
        calls, batches = calls + made, batches + runs.count + rows.count
        each[0].append(min(seconds(plan) for _ in range(TRIES)) / made)
        each[1].append(min(share_of_model(form, plan) for _ in range(TRIES)) / made)
    means = [f"{1e6 * np.mean(times):.2f}" for times in each]
    return [*means, f"{first:.2f} s", f"{calls / batches:.0f}"]


def mctx_search(budget: int) -> Callable[[], Any]:
    """One search of mctx, compiled."""
    import jax
    import jax.numpy as jnp
    import mctx

    torques = jnp.array(ACTIONS["list"], jnp.float32)

    def recurrent(_: Any, _key: Any, action: Any, states: Any) -> Any:
        move = jax.vmap(lambda state, number: traced((state[0], state[1]), torques[number], None))
        after, reward, _ended = move(states, action)
        output = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.full(len(states), DISCOUNT),
            prior_logits=jnp.zeros((len(states), len(torques))),
            value=jnp.zeros(len(states)),
        )
        return output, jnp.stack(after, axis=1)

    def search(key: Any, states: Any) -> Any:
        root = mctx.RootFnOutput(
            prior_logits=jnp.zeros((len(states), len(torques))),
            value=jnp.zeros(len(states)),
            embedding=states,
        )
        return mctx.gumbel_muzero_policy(None, key, root, recurrent, budget).action

    compiled = jax.jit(search)
    state = np.array([START], np.float32)
    return lambda: compiled(jax.random.PRNGKey(0), state).block_until_ready()


def table(budgets: list[int], seeds: int) -> list[str]:
    """The rows of the page, printed as they are measured."""
    lines: list[str] = []

    def add(*cells: str) -> None:
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    add("actions", "planner", "model", "N", "all, µs/call", "model, µs/call", "first", "batch")
    add(*["---"] * 8)
    for kind, planners in PLANNERS.items():
        for name, planner in planners.items():
            for form in FORMS:
                for budget in budgets:
                    cells = measure(form, kind, planner, budget, seeds)
                    add(kind, name, form, f"{budget:,}", *cells)
    if find_spec("mctx") is not None:
        for budget in budgets:
            search = mctx_search(budget)
            first = seconds(search)
            best = min(seconds(search) for _ in range(TRIES))
            cells = [f"{1e6 * best / budget:.2f}", "", f"{first:.2f} s", "1"]
            add("list", "mctx Gumbel MuZero", "JAX", f"{budget:,}", *cells)
    return lines


def main() -> None:
    """Read the options, measure, and write the table."""
    about = str(__doc__).split("\n\n")
    parser = argparse.ArgumentParser(description=about[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[1_000, 10_000], metavar="N",
                        help="calls of a plan (1000 10000)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=2, help="from 0 on (%(default)s)")
    parser.add_argument("--out", type=Path, nargs="?", const=RESULTS, metavar="FILE",
                        help="write a page with the table (docs/results/arrays.md)")  # fmt: skip
    args = parser.parse_args()
    lines = table(args.budgets, args.seeds)
    if args.out is not None:
        page = ["# Simulators that come in batches", ""]
        page += [f"`{shlex.join(['python', 'benchmarks/arrays.py', *sys.argv[1:]])}`"]
        for part in about[2:]:
            page += ["", " ".join(part.split())]
        load = f"{os.getloadavg()[2]:.0f} on {os.cpu_count()} processors"
        page += [
            "",
            f"The load of the machine was {load}: other work makes processor times longer.",
        ]
        args.out.write_text("\n".join([*page, "", *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
