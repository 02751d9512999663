"""What the benchmarks that judge a new version of a planner share.

A problem is a dictionary (see ``Problem``), so it does not depend on how models are built: only
``as_model`` does. The dynamics of all problems are deterministic. Noise is added to the rewards
that the planner sees; the score is always computed without it, by taking the same actions again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

import platypoos as pp

RULES_RETURN_ACTIONS = True
"""Whether a model's ``policy`` returns an action. If False, it returns one weight per action."""

State = Any
Step = Callable[[State, int, Any], tuple[State, float, bool]]
Rule = Callable[[State], int]
Row = dict[str, Any]


class Problem(TypedDict):
    """One instance of a problem with deterministic dynamics."""

    step: Step
    actions: int
    initial_state: State
    rule: Rule | None
    """What a practitioner would do in a state; None if there is no such rule."""
    steps: int
    """Decisions of an episode. The planner is not told."""
    discount: float


Maker = Callable[[int], Problem]

PLANNERS: dict[str, Callable[[float], Any]] = {
    "Platypus": pp.Platypus,
    "PlaTyPOOS": pp.PlaTyPOOS,
    "UCT": lambda discount: pp.planners.UCT(discount, horizon=rollout_length(discount)),
    "CEM": pp.planners.CEM,
    "OneStep": pp.planners.OneStep,
    "SequenceSearch": pp.planners.SequenceSearch,
    "RolloutIW": pp.planners.RolloutIW,
    "GumbelMCTS": pp.planners.GumbelMCTS,
}
"""Planners by name. They are told the discount only; UCT also the length of its walks."""
POLICIES = ("Rule", "Greedy", "Random")
"""Need no budget: the problem's rule, the best next reward (exact), and random actions."""


def rollout_length(discount: float) -> int:
    """Steps until γ^t is a fifth, at least 12.

    >>> rollout_length(0.95), rollout_length(0.5)
    (32, 12)
    """
    return max(12, math.ceil(math.log(0.2) / math.log(discount)))


def as_model(problem: Problem, with_rule: bool, noise: float = 0.0) -> Any:
    """A model of the problem; the only place that knows how models are built.

    Args:
        problem: what to model.
        with_rule: let the model have the problem's rule as its ``policy``.
        noise: uniform noise between −noise and +noise is added to each reward.
    """
    step, rule, count = problem["step"], problem["rule"], problem["actions"]

    def noisy(state: State, action: int, rng: Any) -> tuple[State, float, bool]:
        after, reward, ended = step(state, action, rng)
        return after, reward + noise * (2 * rng.random() - 1), ended

    def weights(state: State) -> list[float]:
        assert rule is not None
        chosen = rule(state)
        return [float(action == chosen) for action in range(count)]

    policy = None
    if with_rule:
        assert rule is not None, "the problem has no rule"
        policy = rule if RULES_RETURN_ACTIONS else weights
    return pp.FunctionModel(
        noisy if noise else step,
        actions=count,
        initial_state=problem["initial_state"],
        policy=policy,
    )


@dataclass(frozen=True)
class Run:
    """What happened when actions were taken, without noise."""

    states: list[State]
    """One more than actions: the last one is where the last action led."""
    actions: list[int]
    rewards: list[float]
    ended: bool

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return float(sum(self.rewards))


def follow(problem: Problem, choose: Callable[[State], int | None]) -> Run:
    """Take the actions that ``choose`` returns; stop at None, at an end or after the last step."""
    run = Run([problem["initial_state"]], [], [], ended=False)
    rng = np.random.default_rng(0)
    for _ in range(problem["steps"]):
        action = choose(run.states[-1])
        if action is None:
            break
        after, reward, ended = problem["step"](run.states[-1], action, rng)
        run.states.append(after)
        run.actions.append(action)
        run.rewards.append(float(reward))
        if ended:
            return Run(run.states, run.actions, run.rewards, ended=True)
    return run


def choose_by(problem: Problem, policy: str, seed: int) -> Rule:
    """One of ``POLICIES`` as a function of the state."""
    rng = np.random.default_rng(seed)
    count, step = problem["actions"], problem["step"]
    if policy == "Rule":
        assert problem["rule"] is not None, "the problem has no rule"
        return problem["rule"]
    if policy == "Greedy":
        return lambda state: max(range(count), key=lambda a: step(state, a, rng)[1])
    return lambda _: int(rng.integers(count))


def play(
    problem: Problem,
    planner: str,
    budget: int,
    seed: int,
    *,
    with_rule: bool = False,
    noise: float = 0.0,
    model: Any = None,
) -> Run:
    """One episode of a planner, or of one of ``POLICIES``; the result is without noise.

    Args:
        problem: what to act in.
        planner: a name from ``PLANNERS`` or ``POLICIES``.
        budget: calls for each decision.
        seed: of the planner and of the noise.
        with_rule: tell the planner the rule.
        noise: of the rewards that the planner sees.
        model: to plan with, if not ``as_model(problem, with_rule, noise)``.
    """
    warnings.simplefilter("ignore")
    if planner in POLICIES:
        return follow(problem, choose_by(problem, planner, seed))
    episode = pp.control(
        as_model(problem, with_rule, noise) if model is None else model,
        planner=PLANNERS[planner](problem["discount"]),
        budget=budget,
        steps=problem["steps"],
        seed=seed,
        keep="nothing",
    )
    assert episode.calls <= budget * problem["steps"]
    taken = iter(episode.actions)
    return follow(problem, lambda _: next(taken, None))


def parse(
    about: str,
    *,
    budgets: Sequence[int],
    planners: Sequence[str],
    seeds: int,
    quick_budgets: Sequence[int],
    quick_seeds: int,
    more: Callable[[argparse.ArgumentParser], None] | None = None,
) -> argparse.Namespace:
    """The command line that all these benchmarks have."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    known = [*PLANNERS, *POLICIES]
    parser.add_argument("--planner", nargs="+", choices=known, default=list(planners))
    parser.add_argument("--budgets", nargs="+", type=int, help=f"default: {list(budgets)}")
    parser.add_argument("--seeds", type=int, help=f"episodes of each kind; default: {seeds}")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer seeds and smaller budgets")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="append a JSON line for each episode")
    parser.add_argument("--label", default="", help="kept in each line: which version this is")
    parser.add_argument(
        "--against", type=Path, help="rows of another version: print paired differences to them"
    )
    if more is not None:
        more(parser)
    args = parser.parse_args()
    args.budgets = args.budgets or list(quick_budgets if args.quick else budgets)
    args.seeds = args.seeds or (quick_seeds if args.quick else seeds)
    args.seeds = range(args.first_seed, args.first_seed + args.seeds)
    return args


def timed(function: Callable[..., Row], task: tuple[Any, ...]) -> Row:
    """A row, with the seconds that it took."""
    start = time.perf_counter()
    row = function(*task)
    return {**row, "seconds": round(time.perf_counter() - start, 2)}


def measure(
    function: Callable[..., Row], tasks: Sequence[tuple[Any, ...]], args: argparse.Namespace
) -> list[Row]:
    """Call the function for each task, show progress, keep the rows, and return them in order."""
    rows: dict[int, Row] = {}
    start = time.perf_counter()
    for number, row in _rows(function, tasks, args.workers):
        rows[number] = {"label": args.label, **row}
        if args.out is not None:
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[number]) + "\n")
        done = f"{len(rows)} of {len(tasks)}, {time.perf_counter() - start:.0f} s: "
        _show(done + " ".join(str(value) for value in tasks[number]), last=len(rows) == len(tasks))
    return [rows[number] for number in range(len(tasks))]


def _rows(
    function: Callable[..., Row], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[tuple[int, Row]]:
    if workers == 1:
        for number, task in enumerate(tasks):
            yield number, timed(function, task)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(timed, function, task): n for n, task in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _show(text: str, *, last: bool) -> None:
    """Progress: written over in a terminal, and one line in ten seconds elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{text[:100]:<100}", end="\n" if last else "", file=sys.stderr, flush=True)
    elif last or time.monotonic() - _show_last[0] > 10:
        _show_last[0] = time.monotonic()
        print(text, file=sys.stderr, flush=True)


_show_last = [-math.inf]


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; NaN if there is only one value."""
    mean = float(np.mean(values)) if len(values) else math.nan
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return mean, float(error)


def cell(values: Sequence[float], digits: int = 2) -> str:
    """The mean and its standard error, as text."""
    if not len(values):
        return "–"
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def verdict(differences: Sequence[float]) -> str:
    """Whether a mean difference is two standard errors from 0.

    >>> verdict([1.0, 1.1, 0.9]), verdict([-1.0, -1.1, -0.9]), verdict([1.0, -1.0])
    ('above', 'below', '')
    """
    mean, error = mean_and_error(differences)
    if abs(mean) <= max(2 * error, 1e-9):  # without noise, differences may be rounding errors
        return ""
    return "above" if mean > 0 else "below" if mean < 0 else ""


def paired(rows: Iterable[Row], others: Iterable[Row], by: str = "seed") -> list[float]:
    """Differences of the scores of rows with the same seed."""
    theirs = {other[by]: other["score"] for other in others}
    return [row["score"] - theirs[row[by]] for row in rows if row[by] in theirs]


def print_table(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """A Markdown table with aligned columns."""
    text = [list(map(str, heads)), *(list(map(str, line)) for line in lines)]
    widths = [max(len(line[column]) for line in text) for column in range(len(heads))]
    text.insert(1, ["-" * width for width in widths])
    for line in text:
        padded = (f"{part:<{width}}" for part, width in zip(line, widths, strict=True))
        print("| " + " | ".join(padded) + " |")


def print_against(rows: Sequence[Row], path: Path | None, settings: Sequence[str]) -> None:
    """Paired differences of the scores to the rows of another version in a file.

    Args:
        rows: of this version.
        path: a file that ``--out`` wrote; nothing is printed if it is None.
        settings: the fields that name what was measured, without the seed.
    """
    if path is None:
        return
    kept = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    groups = dict.fromkeys(tuple(row[name] for name in settings) for row in rows)
    lines = []
    for group in groups:
        wanted = dict(zip(settings, group, strict=True))
        has_fields = [row for row in kept if all(name in row for name in settings)]
        differences = paired(select(rows, **wanted), select(has_fields, **wanted))
        if differences:
            said = (len(differences), cell(differences), verdict(differences))
            lines.append((*group, *said))
    print(f"\nPaired differences to {path}: this version minus that one")
    print_table((*settings, "pairs", "difference", ""), lines)
