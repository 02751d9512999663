"""Our planners beside those of other projects, at equal calls: writes docs/results/peers.md.

    pip install 'platypoos[peers,gym]'
    python benchmarks/peers.py [--quick] [--peer NAME] [--planner NAME:K=V] [--out FILE]

Episodes are kept beside the page, in peers.jsonl, so the script goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from peer_planners import CELLS, Mctx, OpenSpiel, ScikitDecide, check_mctx
from peer_tasks import Counted, Task

import platypoos as pp
from platypoos.lab.experiments.own import choice_of
from platypoos.lab.experiments.paper import SHIFT
from platypoos.planners import available

OUT = Path(__file__).parents[1] / "docs" / "results" / "peers.md"
CHAIN = tuple(Task("chain", 1_000, noise) for noise in (0.0, 10.0, 50.0))
REVERSED = tuple(Task("reversed chain", 1_000, noise) for noise in (0.0, 50.0))
CART_POLE = tuple(Task("cart-pole", budget) for budget in (100, 300))
HORIZONS = (10, 30)
PEERS = {  # the module, and the packages whose versions are told
    "mctx": ("mctx", ("mctx", "jax")),
    "open_spiel": ("pyspiel", ("open_spiel",)),
    "scikit-decide": ("skdecide", ("scikit-decide",)),
}
TOLD = "mctx Gumbel MuZero, told a value"
NOT_INSTALLED = "not installed: pip install 'platypoos[peers]'"

INTRODUCTION = """\
All planners have the same number N of calls for each decision, on the same machine. A call is one
step of the simulator. Cells are means ± one standard error. Calls and times are in the order of
the columns before them. Times are medians of processor time for a whole episode, divided by its
calls, after a first decision that is not timed. They depend on the form of the model: compare a
Python model with a Python model. Other work on the machine can change them by a factor of two."""

HOW = f"""\
## How each was used

**Ours.** The default is Platypus, as `pp.control` uses it, with its memory from step to
step; it and PlaTγPOOS are told the discount only. UCT is told the scale of the returns (100 on
the chain, 10 on cart-pole) and a horizon, which stands in brackets. Python models count their
calls themselves; those of compiled models are counted by the library.

**mctx.** `gumbel_muzero_policy` with its default settings and uniform prior logits. Its
`recurrent_fn` steps the real dynamics, written in jax and checked against the Python model; there
is no network. mctx expects a value for each new state. One line has the value 0: it searches few
sequences deeply, because with positive rewards what was visited looks better than what was not.
On the chain without noise it stays, which is best; on the reversed chain it stays too, so this
line's numbers on the chain say little about rewards either. The other line is told what a state
is worth if every reward is 100 (chain) or 1 (cart-pole). `num_simulations` is N and each
simulation is one call, counted inside the model in a search that is not timed. Below the end of an
episode simulations go on with reward 0, and count as calls. A reward is drawn once for each node
and never again, so more calls do not average its noise. States are 32-bit floats, in a batch of
one: mctx is made for large batches and for accelerators, so its time here says little about that.

**OpenSpiel.** The Python `MCTSBot` with `RandomRolloutEvaluator`, one rollout for each leaf, on a
game for one player. The game starts at the state that is planned for and ends after the horizon
in brackets. It draws its rewards from the Python model, which counts the calls. Returns are mapped
to [−1, 1] as in OpenSpiel's own games, because `MCTSBot` takes 0 for a draw. `uct_c` is the scale
that our UCT is told, in these units. `solve` is off, because sampled returns prove nothing. A
search ends when another simulation might not fit into N.

**scikit-decide.** `RIW` with `use_simulation_domain=True` and its default exploration, with the
horizon in brackets as `max_depth`. The Python model counts the calls. Novelty is measured on the
state of the chain, and on cart-pole on cells of width {", ".join(map(str, CELLS))}. States carry
the number of steps, because on the chain's loops a rollout did not come to an end. It stops when
all that is novel has been seen, so it makes fewer calls than N. It takes no seed, so its numbers
cannot be repeated exactly. Its numbers on the chain say little about rewards. Its code cuts off
what is not novel and counts it at the smallest reward seen. A switch soon leads to what is not
novel, so RIW stays, and here staying happens to be best. On the reversed chain it stays too often.
"""


@dataclass(frozen=True)
class Entrant:
    """A planner as it is listed, and how to play an episode with it."""

    name: str
    model: str
    play: Callable[[Task, int, int], tuple[tuple[int, ...], float, int]]
    """From task, seed and steps to the actions, the total reward and the calls."""
    versions: str
    only: str = ""
    """The problem that it is for; all if empty."""


def ours(
    make_planner: Callable[[Task], pp.planners.Planner | None], form: str
) -> Callable[[Task, int, int], tuple[tuple[int, ...], float, int]]:
    """Play with one of our planners, on the compiled or the Python form of the problem."""

    def play(task: Task, seed: int, steps: int) -> tuple[tuple[int, ...], float, int]:
        model = task.make_model(seed)
        counted = None
        if form == "compiled":
            model = model.compiled()
        elif task.chain:
            counted = Counted(model)
            model = pp.FunctionModel(counted.step, model.actions, model.initial_state)
        else:
            counted = Counted(SimpleNamespace(step=model.step))
            model.step = counted.step
        episode = pp.control(
            model, planner=make_planner(task), budget=task.budget, steps=steps, seed=seed,
            discount=task.discount,
        )  # fmt: skip
        if counted is not None:  # the steps that were taken are no calls for planning
            assert counted.calls - len(episode.actions) == episode.calls
        return episode.actions, sum(episode.rewards), episode.calls

    return play


def peer(
    make_peer: Callable[[Task, int], Any],
) -> Callable[[Task, int, int], tuple[tuple[int, ...], float, int]]:
    """Play with a planner of another project."""

    def play(task: Task, seed: int, steps: int) -> tuple[tuple[int, ...], float, int]:
        model, planner = task.make_model(seed), make_peer(task, seed)
        rng = np.random.default_rng(seed)
        state, total, actions = model.initial_state, 0.0, []
        for _ in range(steps):
            before = planner.calls
            actions.append(planner.plan(state))
            assert planner.calls - before <= task.budget
            state, reward, ended = model.step(state, actions[-1], rng)
            total += float(reward)
            if ended:
                break
        return tuple(actions), total, planner.calls

    return play


def told(*packages: str) -> str:
    return ", ".join(f"{name} {metadata.version(name)}" for name in packages)


def make_uct(horizon: int, task: Task) -> pp.planners.Planner:
    return pp.planners.UCT(task.discount, scale=task.scale, horizon=horizon)


def make_named(text: str, task: Task) -> pp.planners.Planner:
    planner: pp.planners.Planner = choice_of(text).make(
        available(), "planner", discount=task.discount
    )
    return planner


def list_entrants(peers: list[str], planners: list[str]) -> list[Entrant]:
    """Ours, then the peers that are installed; ours on both forms of the chain."""
    made: dict[str, Callable[[Task], pp.planners.Planner | None]] = {
        "default": lambda _: None,
        "PlaTγPOOS": lambda task: pp.PlaTyPOOS(task.discount),
        **{f"UCT ({horizon})": partial(make_uct, horizon) for horizon in HORIZONS},
        **{text: partial(make_named, text) for text in planners},
    }
    versions = told("platypoos", "numba", "numpy", "gymnasium")
    found = [
        Entrant(name, form, ours(maker, form), versions, only)
        for name, maker in made.items()
        for form, only in (("compiled", "chain"), ("Python", ""))
    ]
    for name in peers:
        module, packages = PEERS[name]
        if find_spec(module) is None:
            print(f"{name} is {NOT_INSTALLED}")
            continue
        versions = told(*packages)
        if name == "mctx":
            found += [
                Entrant(title, "jax", peer(partial(Mctx, told=title == TOLD)), versions)
                for title in ("mctx Gumbel MuZero", TOLD)
            ]
            continue
        kind: Any = OpenSpiel if name == "open_spiel" else ScikitDecide
        title = "OpenSpiel MCTS" if name == "open_spiel" else "scikit-decide RIW"
        found += [
            Entrant(
                f"{title} ({horizon})",
                "Python",
                peer(partial(kind, horizon=horizon)),
                versions,
            )
            for horizon in HORIZONS
        ]
    return found


def machine() -> str:
    """The processor and the Python version."""
    cpu = platform.processor() or platform.machine()
    lines = Path("/proc/cpuinfo")
    if lines.exists():
        names = [x for x in lines.read_text(encoding="utf-8").splitlines() if "model name" in x]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return f"{cpu}, Python {platform.python_version()}"


def key_of(row: dict[str, Any]) -> str:
    """What tells episodes apart."""
    names = ("problem", "budget", "noise", "discount", "entrant", "model", "seed")
    return json.dumps([row[name] for name in names])


def load(path: Path, entrants: list[Entrant]) -> dict[str, dict[str, Any]]:
    """The episodes of this machine, except those of another version of what is installed."""
    installed = {(one.name, one.model): one.versions for one in entrants}
    kept = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        version = installed.get((row["entrant"], row["model"]), row["versions"])
        if row["machine"] == machine() and row["versions"] == version:
            kept[key_of(row)] = row
    return kept


def measure(one: Entrant, task: Task, seed: int) -> dict[str, Any]:
    """One episode."""
    start = time.process_time()
    actions, total, calls = one.play(task, seed, task.steps)
    seconds = time.process_time() - start
    value = total
    if task.chain:
        value = without_noise(task, actions) - SHIFT
    return {
        **asdict(task), "entrant": one.name, "model": one.model, "seed": seed, "value": value,
        "decisions": len(actions), "calls": calls, "microseconds": round(1e6 * seconds / calls, 4),
        "versions": one.versions, "machine": machine(),
    }  # fmt: skip


def without_noise(task: Task, actions: tuple[int, ...]) -> float:
    """The discounted return of the mean rewards of some actions on a chain."""
    model, rng = Task(task.problem, task.budget).make_model(0), np.random.default_rng(0)
    state, total = model.initial_state, 0.0
    for step, action in enumerate(actions):
        state, reward, _ = model.step(state, action, rng)
        total += task.discount**step * reward
    return total


def summary(rows: list[dict[str, Any]], seeds: int) -> str:
    """Mean and standard error, and the number of seeds if some are missing."""
    values = np.array([row["value"] for row in rows])
    if not len(values):
        return "–"
    text = f"{values.mean():.1f}"
    if len(values) > 1:
        text += f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}"
    return text if len(values) == seeds else f"{text} ({len(values)} seeds)"


def table(tasks: tuple[Task, ...], titles: list[str], kept: list[dict[str, Any]]) -> list[str]:
    """A row for each entrant, with returns, calls made for a decision, and time per call."""
    seeds = len({row["seed"] for row in kept if row["problem"] == tasks[0].problem})
    lines = [
        "| planner | model | " + " | ".join(titles) + " | calls a decision | µs per call |",
        "|---" * (4 + len(titles)) + "|",
    ]
    names = dict.fromkeys((row["entrant"], row["model"]) for row in kept)
    for name, model in names:
        mine = [row for row in kept if (row["entrant"], row["model"]) == (name, model)]
        groups = [
            [row for row in mine if all(row[k] == v for k, v in asdict(task).items())]
            for task in tasks
        ]
        if not any(groups):
            continue
        calls = [
            f"{np.mean([row['calls'] / row['decisions'] for row in group]):.0f}" if group else "–"
            for group in groups
        ]
        times = [
            f"{np.median([row['microseconds'] for row in group]):.3g}" if group else "–"
            for group in groups
        ]
        cells = [summary(group, seeds) for group in groups]
        row = [name, model, *cells, " / ".join(calls), " / ".join(times)]
        lines.append("| " + " | ".join(row) + " |")
    return [*lines, ""]


def write(out: Path, kept: list[dict[str, Any]], command: str) -> None:
    """The page."""
    best = without_noise(CHAIN[0], (0,) * 20) - SHIFT
    reversed_best = without_noise(REVERSED[0], (1, 0) * 10) - SHIFT
    seeds = {name: len({row["seed"] for row in kept if row["problem"] == name})
             for name in ("chain", "reversed chain", "cart-pole")}  # fmt: skip
    missing = [f"- {name}: {NOT_INSTALLED}" for name, (module, _) in PEERS.items()
               if find_spec(module) is None
               and not any(row["versions"].startswith(name) for row in kept)]  # fmt: skip
    lines = [
        "# Beside planners of other projects",
        "",
        f"`{command}`",
        "",
        INTRODUCTION,
        "",
        "## The paper's chain",
        "",
        (
            f"20 decisions, γ = 0.95, N = 1,000, {seeds['chain']} seeds. The discounted return of "
            "the mean rewards of the actions taken, without the shift of 100. The best is "
            f"{best:.1f}."
        ),
        "",
        *table(CHAIN, [f"noise {task.noise:g}" for task in CHAIN], kept),
        "## The chain reversed",
        "",
        (
            f"A control, {seeds['reversed chain']} seeds: staying is rewarded ever less, so it is "
            f"best to switch at every step ({reversed_best:.1f}). A planner that stays for another "
            "reason than rewards shows it here."
        ),
        "",
        *table(REVERSED, [f"noise {task.noise:g}" for task in REVERSED], kept),
        "## CartPole-v1",
        "",
        (
            f"Total reward in at most 200 steps, planned with γ = 0.95, {seeds['cart-pole']} "
            "seeds; the best is 200. All act in Gymnasium's environment."
        ),
        "",
        *table(CART_POLE, [f"N = {task.budget}" for task in CART_POLE], kept),
        HOW,
        "## Versions",
        "",
        *(f"- {text}" for text in dict.fromkeys(row["versions"] for row in kept)),
        *missing,
        f"- {machine()}",
    ]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Play what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="3 seeds on the chain, else 1")
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="only this one")
    parser.add_argument("--planner", action="append", default=[], metavar="NAME:K=V,…")
    parser.add_argument("--out", type=Path, default=OUT, help="the page (%(default)s)")
    args = parser.parse_args()
    entrants = list_entrants(args.peer or list(PEERS), args.planner)
    rows = args.out.with_suffix(".jsonl")
    kept = load(rows, entrants)
    for one in entrants:
        for task in (*CHAIN, *REVERSED, *CART_POLE):
            if one.only not in {"", task.problem}:
                continue
            seeds = (3 if args.quick else 20) if task in CHAIN else (1 if args.quick else 5)
            like = {**asdict(task), "entrant": one.name, "model": one.model}
            todo = [seed for seed in range(seeds) if key_of({**like, "seed": seed}) not in kept]
            if todo and one.model == "jax":
                check_mctx(task, told=one.name == TOLD)
            if todo:
                one.play(task, 0, 1)  # compiles and imports
            for seed in todo:
                row = measure(one, task, seed)
                kept[key_of(row)] = row
                with rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            if todo:
                print(f"{one.name} ({one.model}), {task}: {len(todo)} episodes", flush=True)
    command = "python benchmarks/peers.py" + "".join(f" --planner {x}" for x in args.planner)
    order = {(one.name, one.model): number for number, one in enumerate(entrants)}
    listed = sorted(
        kept.values(), key=lambda row: order.get((row["entrant"], row["model"]), len(order))
    )
    write(args.out, listed, command)
    print(args.out)


if __name__ == "__main__":
    main()
