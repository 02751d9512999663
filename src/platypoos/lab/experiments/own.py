"""Compare planners on your own problems, with the same store, statistics and report."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platypoos.checks import parsed
from platypoos.choosing import DEFAULT_DISCOUNT
from platypoos.errors import InvalidArgument
from platypoos.lab.experiments.lines import PAIRED, lines, verdicts
from platypoos.lab.experiments.report import write_report
from platypoos.lab.experiments.runner import Summary, run
from platypoos.lab.experiments.spec import Block, Choice, Experiment
from platypoos.lab.experiments.standings import Standings, standings
from platypoos.lab.experiments.store import Store
from platypoos.models.base import RANDOM, Access, access_of, dynamics_of
from platypoos.named import Maker, made_by
from platypoos.planners import Planner

USUAL = ("platypus", "platypoos", "uct:scale=auto,horizon=20", "sequence-search", "cem", "random")
"""Planners that are told nothing of the problem."""


@dataclass(frozen=True)
class Comparison:
    """What a comparison found; printing it shows a table for each problem, and who is better."""

    experiment: Experiment
    rows: dict[str, dict[str, Any]]
    summary: Summary
    report: Path
    """The page to open in a browser."""

    @property
    def standings(self) -> Standings:
        """Scores, probabilities of improvement, and where a planner is significantly worse."""
        return standings(self.experiment, self.rows)

    def __str__(self) -> str:
        """A table for each problem, and who is better."""
        return results_as_text(self.experiment, self.rows)


def results_as_text(experiment: Experiment, rows: dict[str, dict[str, Any]]) -> str:
    """For each problem a table of means with their 95 % intervals, and who is better."""
    text = []
    for block in experiment.blocks:
        for problem in block.problems:
            found = lines(block, problem, rows)
            wide = max(len(line.planner.title) for line in found)
            head = "".join(f"{f'N = {n:,}':>26}" for n in block.budgets)
            title = block.title if len(block.problems) == 1 else f"{block.title}: {problem.title}"
            text += [f"{title} ({block.measure}, {block.seeds} runs)", " " * wide + " " + head]
            for line in found:
                means = line.intervals()
                cells = [f"{means[n]!s:>26}" if n in means else f"{'–':>26}" for n in block.budgets]
                text.append(f"{line.planner.title:{wide}} {''.join(cells)}")
            if len(found) > 1:
                text += [PAIRED, *(f"  {sentence}" for sentence in verdicts(block, found))]
    return "\n".join(text)


def compare(
    problems: Mapping[str, Maker],
    planners: Iterable[str | Choice | Planner] = USUAL,
    budgets: Iterable[int] = (100, 1_000),
    *,
    seeds: int = 20,
    steps: int = 20,
    discount: float = DEFAULT_DISCOUNT,
    horizon: int | None = None,
    measure: str = "total",
    out: Path | str = "out/compare",
    workers: int | None = None,
    cluster: str | None = None,
    progress: bool = True,
) -> Comparison:
    """Run planners on your own problems; what is done is kept, and a second call goes on.

    Args:
        problems: names, and functions that make a model. A function that takes a ``seed`` makes
            another instance for each run; all planners get the same instances.
        planners: planners, or names as on the command line, such as "uct:scale=auto,horizon=20".
            On a model with random dynamics all plan in open loop, unless all can react to chance.
        budgets: calls of the model for each decision.
        seeds: runs of each planner on each problem with each budget.
        steps: decisions of a run.
        discount: γ, in [0, 1), or 1 with a horizon.
        horizon: steps to the end of the episode, if there is one.
        measure: what is compared: "total" (sum of rewards) or "received" (discounted).
        out: the directory of the results.
        workers: processes; as many as there are cores if left out.
        cluster: the address of a Dask scheduler to use instead.
        progress: show a progress bar.

    In a script, call it under ``if __name__ == "__main__":``, as worker processes import it.

    >>> import tempfile
    >>> import platypoos as pp
    >>> def make(seed):
    ...     return pp.problems.Garnet(5, 2, seed=seed)
    >>> found = compare(
    ...     {"mine": make}, ["one-step", "random"], [10], seeds=3, steps=5,
    ...     out=tempfile.mkdtemp(), workers=1, progress=False,
    ... )
    >>> found.standings.planners, found.report.name
    (('one-step', 'random'), 'report.html')
    """
    if not isinstance(problems, Mapping):
        raise InvalidArgument(
            f"problems must be a dictionary of names and functions, got {problems!r}"
        )
    blocks = [
        own_block(name, maker, planners, budgets, seeds=seeds, steps=steps, discount=discount,
                  horizon=horizon, measure=measure)
        for name, maker in problems.items()
    ]  # fmt: skip
    experiment = Experiment("comparison", tuple(blocks))
    summary = run(
        experiment,
        out,
        workers=workers,
        cluster=cluster,
        extend=True,
        progress=progress,
        problems=problems,
    )
    store = Store(Path(out))
    try:
        rows = store.rows()
    finally:
        store.close()
    return Comparison(experiment, rows, summary, write_report(out)[0])


def own_block(
    name: str,
    maker: Maker,
    planners: Iterable[str | Choice | Planner],
    budgets: Iterable[int],
    *,
    discount: float,
    measure: str = "total",
    **settings: Any,
) -> Block:
    """A block of an experiment for somebody's own problem; ``settings`` are fields of Block."""
    if not callable(maker):
        raise InvalidArgument(
            f"problem {name!r} must be a function that makes a model, such as lambda: model, got "
            f"{maker!r}"
        )
    if isinstance(planners, str) or isinstance(budgets, int):
        raise InvalidArgument(f"planners and budgets must be lists, got {planners!r}, {budgets!r}")
    model, varies = made_by(name, maker, seed=0)
    block = Block(
        title=name,
        problems=(Choice(name),),
        planners=tuple(choice_from(planner, discount) for planner in planners),
        budgets=tuple(budgets),
        discount=discount,
        access=access_of(model).name.lower(),
        measure=measure,
        varies=varies,
        code=digest_of(maker),
        **settings,
    )
    return block if _all_react(block, model) else dataclasses.replace(block, access="reset")


def _all_react(block: Block, model: Any) -> bool:
    """Whether all planners can plan with the access that the model declares."""
    if access_of(model) is Access.RESET or dynamics_of(model) != RANDOM:
        return True
    try:
        for planner in block.planners:
            made = block.cell(block.problems[0], planner, 1, 0).make_planner()
            made.check_access(model, Access.RESTORE)
    except InvalidArgument:
        return False
    return True


def digest_of(maker: Maker) -> str:
    """A name for the code of a function: what it calls in its module is a part of it."""
    module = sys.modules.get(getattr(maker, "__module__", "") or "")
    try:
        import cloudpickle
    except ImportError:
        source = inspect.getsource(module) if module is not None else repr(maker)
        return hashlib.sha256(source.encode()).hexdigest()[:16]
    by_value = module is not None and getattr(module, "__file__", None) is not None
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return hashlib.sha256(cloudpickle.dumps(maker)).hexdigest()[:16]
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)


def choice_from(planner: str | Choice | Planner, discount: float) -> Choice:
    """A planner as an experiment names it."""
    if isinstance(planner, Choice):
        return planner
    if isinstance(planner, str):
        return choice_of(planner)
    if not isinstance(planner, Planner):
        raise InvalidArgument(f"a planner, or the name of one, is needed, got {planner!r}")
    if planner.discount != discount:
        raise InvalidArgument(
            f"{planner!r} has the discount {planner.discount:g}, but {discount:g} is compared; "
            "pass discount="
        )
    changed = {
        field.name: getattr(planner, field.name)
        for field in dataclasses.fields(planner)
        if field.name != "discount" and getattr(planner, field.name) != field.default
    }
    return Choice.of(planner.name, **changed)


def choice_of(text: str) -> Choice:
    """A choice from ``name:key=value,key=value``."""
    name, _, settings = text.partition(":")
    parameters = {}
    for setting in filter(None, settings.split(",")):
        key, equals, value = setting.partition("=")
        if not equals:
            raise InvalidArgument(f"parameters are written NAME=VALUE, got {setting!r} in {text!r}")
        parameters[key] = parsed(value)
    return Choice.of(name, **parameters)
