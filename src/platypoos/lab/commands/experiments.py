"""The experiments' commands: paper, compare, report, export."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from platypoos.choosing import DEFAULT_DISCOUNT
from platypoos.cli.options import whole
from platypoos.errors import InvalidArgument
from platypoos.lab.commands.arena import add_command
from platypoos.lab.experiments.own import choice_of, own_block, results_as_text
from platypoos.lab.experiments.paper import paper
from platypoos.lab.experiments.report import write_report
from platypoos.lab.experiments.runner import run
from platypoos.lab.experiments.spec import (
    MEASURES,
    NO_MAKERS,
    Block,
    Choice,
    Experiment,
    Makers,
    load,
)
from platypoos.lab.experiments.store import Store
from platypoos.named import is_own, load_own

COMPARE_EXAMPLES = """\
examples:
  platypoos compare --problem switch-chain:noise=10 --planner platypoos \\
      --planner olop:reward_max=130,noise=10 --budget 300 1000 3000 --seeds 20
  platypoos compare --problem my_module:make_model --planner platypus sequence-search \\
      --measure total
  platypoos compare --file grid.toml --out out/grid

a file:
  name = "two problems"
  [[blocks]]
  title = "garnets"
  problems = [{name = "garnet", seed = 1}, {name = "garnet", seed = 2}]
  planners = ["platypoos", {name = "uct", scale = 1.0, horizon = 20, label = "UCT"}]
  budgets = [100, 1000]
  seeds = 20
  measure = "regret"
"""


def add_commands(commands: Any) -> None:
    """Add the commands to the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    one = commands.add_parser(
        "paper",
        help="reproduce the paper's Figure 4",
        description="Reproduce the paper's Figure 4 and draw further planners beside it. Stops "
        "and goes on where it was: run the same command again.",
        epilog="examples:\n  platypoos paper\n  platypoos paper --full --out out/full\n",
        formatter_class=raw,
    )
    size = one.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="5 budgets, 15 seeds (the default)")
    size.add_argument("--full", action="store_true", help="11 budgets to 32,000, 100 seeds")
    _add_running(one, Path("out/paper"))
    one.set_defaults(run=_paper)

    two = commands.add_parser(
        "compare",
        help="compare planners on problems",
        description="Compare planners on problems, over budgets and seeds.",
        epilog=COMPARE_EXAMPLES,
        formatter_class=raw,
    )
    two.add_argument("--file", type=Path, help="the grid as a TOML file, instead of the options")
    two.add_argument(
        "--problem",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME[:K=V,…]",
        help="a problem and its parameters, or MODULE:FUNCTION, a function that makes your own",
    )
    two.add_argument("--planner", nargs="+", action="extend", default=[], metavar="NAME[:K=V,…]")
    two.add_argument("--budget", nargs="+", action="extend", default=[], type=whole, metavar="N")
    two.add_argument("--seeds", type=int, help="runs of each (20)")
    two.add_argument("--steps", type=int, help="steps of a run (20)")
    two.add_argument("--discount", type=float, help="in [0, 1) (0.95)")
    two.add_argument("--access", choices=["restore", "reset"], help="(restore)")
    two.add_argument(
        "--measure",
        choices=MEASURES,
        help="what figures show (expected); the database has all",
    )
    _add_running(two, Path("out/compare"))
    two.set_defaults(run=_compare)

    add_command(commands, _add_running)

    three = commands.add_parser(
        "report",
        help="write a page and pictures of results",
        description="Write report.html (figures to hover over and zoom, tables, settings), "
        "figure.png and figure.svg for a directory of results.",
    )
    three.add_argument("folder", type=Path, metavar="DIR")
    three.set_defaults(run=_report)

    four = commands.add_parser(
        "export",
        help="write results to a CSV or Parquet file",
        description="Write all rows of a directory of results to a .csv or .parquet file.",
        epilog="example:\n  platypoos export out/paper results.parquet\n",
        formatter_class=raw,
    )
    four.add_argument("folder", type=Path, metavar="DIR")
    four.add_argument("file", type=Path, metavar="FILE")
    four.set_defaults(run=_export)


def _add_running(parser: argparse.ArgumentParser, out: Path) -> None:
    parser.add_argument("--out", type=Path, default=out, help="directory (%(default)s)")
    parser.add_argument("--workers", type=int, help="processes (one for each core)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler to use instead")
    parser.add_argument("--retry-failed", action="store_true", help="run failed cells again")
    parser.add_argument(
        "--extend", action="store_true", help="go on though DIR holds another experiment"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _execute(
    experiment: Experiment,
    args: argparse.Namespace,
    problems: Makers = NO_MAKERS,
    *,
    show: Callable[..., str] | None = None,
) -> int:
    if args.out.exists() and not args.out.is_dir():
        raise InvalidArgument(f"--out must be a directory, but {args.out} is a file")
    try:
        summary = run(
            experiment,
            args.out,
            workers=args.workers,
            cluster=args.cluster,
            retry_failed=args.retry_failed,
            extend=args.extend,
            progress=not args.quiet,
            problems=problems,
        )
    except KeyboardInterrupt:
        print(
            "platypoos: interrupted; what is done is kept, run the same command to go on",
            file=sys.stderr,
        )
        return 130
    print(summary)
    if show is not None:
        store = Store(args.out)
        try:
            print(show(experiment, store.rows()))
        finally:
            store.close()
    for path in write_report(args.out):
        print(path)
    if summary.failed + summary.failed_before:
        print(
            f"platypoos: {summary.failed + summary.failed_before} cells failed; the report has "
            "their tracebacks, --retry-failed runs them again",
            file=sys.stderr,
        )
        return 1
    return 0


def _paper(args: argparse.Namespace) -> int:
    return _execute(paper(full=args.full), args)


def _compare(args: argparse.Namespace) -> int:
    names = ("seeds", "steps", "discount", "access", "measure")
    settings = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.file is not None:
        if args.problem or args.planner or args.budget or settings:
            raise InvalidArgument("the grid is in the --file: pass that or its options, not both")
        return _execute(load(args.file), args, show=results_as_text)
    own = {text: load_own(text) for text in args.problem if is_own(text)}
    named = [choice_of(text) for text in args.problem if text not in own]
    planners = tuple(choice_of(text) for text in args.planner or ["platypoos"])
    budgets = tuple(args.budget or (100, 1_000))
    blocks = []
    if named or not own:
        problems = tuple(named) or (Choice("switch-chain"),)
        blocks.append(Block("comparison", problems, planners, budgets, **settings))
    settings.pop("access", None)  # one's own model says so itself
    usual = {"seeds": 20, "steps": 20, "discount": DEFAULT_DISCOUNT}
    for name, maker in own.items():
        blocks.append(own_block(name, maker, planners, budgets, **{**usual, **settings}))
    return _execute(Experiment("comparison", tuple(blocks)), args, own, show=results_as_text)


def _report(args: argparse.Namespace) -> int:
    for path in write_report(args.folder):
        print(path)
    return 0


def _export(args: argparse.Namespace) -> int:
    store = Store(args.folder)
    try:
        print(f"{store.export(args.file)} rows written to {args.file}")
    finally:
        store.close()
    return 0
