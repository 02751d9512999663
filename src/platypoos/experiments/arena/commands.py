"""The command ``arena``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.experiments.arena import gate
from platypoos.experiments.arena.challenge import load_references
from platypoos.experiments.arena.entrants import ENTRANTS, FULL_SEEDS, QUICK_SEEDS, arena, titles_of
from platypoos.experiments.arena.families import CHALLENGES
from platypoos.experiments.cells import Row
from platypoos.experiments.own import load_own, own_block
from platypoos.experiments.report import write_report
from platypoos.experiments.runner import run
from platypoos.experiments.spec import Choice, Experiment, Makers
from platypoos.experiments.standings import standings
from platypoos.experiments.standings_page import family_table, markdown
from platypoos.experiments.store import Store
from platypoos.options import whole

EXAMPLES = """\
examples:
  platypoos arena                                  # quick: under ten minutes on two cores
  platypoos arena --full --out out/arena-full      # all problems and budgets: hours; resumable
  platypoos arena --family traps tables --planner graph uct sequence-search
  platypoos arena --problem my_module:make_model --budget 300 1000 --steps 50
  platypoos arena --against docs/results/arena-baseline.csv     # fails if a planner got worse
"""
DEFAULT = next(iter(ENTRANTS))
"""The entrant whose weak places are listed in full."""
GATE_TITLE = "## The gate"
UNTOLD = (
    "GraphPlaTγPOOS", "PlaTγPOOS", "SequOOL", "StroquOOL", "SOO", "GumbelMCTS", "SequenceSearch",
    "CEM", "RandomShooting", "IW", "RolloutIW", "Uniform", "OneStep", "Random",
)  # fmt: skip
"""Entrants that are told nothing; they can be tried on a problem of which nothing is known."""


def add_command(commands: Any, add_running: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "arena",
        help="compare all planners on many kinds of problems",
        description="Compare all planners on problems that none of them was tuned for: a table "
        "by family, a profile of scores, and where a planner is significantly worse than another. "
        "Stops and goes on where it was: run the same command again.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = one.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        action="store_true",
        help=f"a few problems of each family, one budget, {QUICK_SEEDS} seeds (the default)",
    )
    size.add_argument(
        "--full", action="store_true", help=f"all problems, three budgets, {FULL_SEEDS} seeds"
    )
    one.add_argument("--planner", nargs="+", action="extend", default=[], metavar="NAME")
    one.add_argument("--family", nargs="+", action="extend", default=[], metavar="NAME")
    one.add_argument("--seeds", type=whole, help="runs of each planner on each problem and budget")
    one.add_argument(
        "--problem",
        nargs="+",
        action="extend",
        default=[],
        metavar="MODULE:FUNCTION",
        help="your own problems instead: functions that make a model, of a seed if each run shall "
        "have another instance",
    )
    one.add_argument("--budget", nargs="+", type=whole, metavar="N", help="for your own problems")
    one.add_argument("--steps", type=whole, default=20, help="for your own problems (%(default)s)")
    one.add_argument(
        "--discount", type=float, default=0.95, help="for your own problems (%(default)s)"
    )
    one.add_argument("--list", action="store_true", help="list the problems and stop")
    one.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with a baseline; exit 1 on a loss"
    )
    one.add_argument("--write-baseline", type=Path, metavar="FILE", help="write a baseline")
    one.add_argument("--page", type=Path, metavar="FILE", help="write the standings as Markdown")
    add_running(one, Path("out/arena"))
    one.set_defaults(run=_arena)


def _arena(args: argparse.Namespace) -> int:
    if args.list:
        for challenge in CHALLENGES:
            budgets = ", ".join(f"{budget:,}" for budget in challenge.budgets)
            mark = "quick" if challenge.quick else ""
            print(f"{challenge.name:40} {mark:6} N = {budgets}")
        return 0
    experiment, makers = _experiment(args)
    try:
        if args.against is not None:
            return _gate(experiment, makers, args)
        rows = _run(experiment, makers, args)
    except KeyboardInterrupt:
        print(
            "platypoos: interrupted; what is done is kept, run the same command to go on",
            file=sys.stderr,
        )
        return 130
    found = standings(experiment, rows)
    head, table = family_table(found, found.levels[len(found.levels) // 2])
    wide = max(len(row[0]) for row in table)
    print(f"{head[0]:{wide}}  {head[1]:>5}  (mean score: 0 is random, 1 the best known)")
    for row in table:
        print(f"{row[0]:{wide}}  {row[1]:>5}")
    if args.page is not None:
        text = [f"# The arena ({experiment.name})", "", *markdown(experiment, found, DEFAULT)]
        args.page.write_text("\n".join(text), encoding="utf-8")
        print(args.page)
    if args.write_baseline is not None:
        gate.write_baseline(args.write_baseline, gate.results_of(experiment, rows))
        print(args.write_baseline)
    for path in write_report(args.out):
        print(path)
    failed = sum(row["status"] == "failed" for row in rows.values())
    if failed:
        print(f"platypoos: {failed} cells failed; the report has tracebacks", file=sys.stderr)
    return 1 if failed else 0


def _experiment(args: argparse.Namespace) -> tuple[Experiment, Makers]:
    if not args.problem:
        experiment = arena(
            CHALLENGES,
            load_references(),
            full=args.full,
            planners=args.planner,
            families=args.family,
            seeds=args.seeds,
        )
        return experiment, {}
    if args.family:
        raise InvalidArgument("--family chooses problems of the arena; leave it out with --problem")
    makers = {text: load_own(text) for text in args.problem}
    titles = titles_of(args.planner) if args.planner else list(UNTOLD)
    told = [title for title in titles if title not in UNTOLD]
    if told:
        raise InvalidArgument(
            f"{told[0]} must be told the range of the rewards, which is not known of your own "
            f"problem; try: {', '.join(UNTOLD)}; or 'platypoos compare' with its parameters"
        )
    blocks = []
    for name, maker in makers.items():
        planners = [Choice.of(ENTRANTS[title][0], title) for title in titles]
        block = own_block(
            name,
            maker,
            planners,
            args.budget or (100, 300, 1_000),
            seeds=args.seeds or (FULL_SEEDS if args.full else QUICK_SEEDS),
            steps=args.steps,
            discount=args.discount,
            family="own",
        )
        if block.access == "reset":
            kept = tuple(c for c in block.planners if c.name not in {"iw", "rollout-iw"})
            block = replace(block, planners=kept)
        blocks.append(block)
    return Experiment("arena, own problems", tuple(blocks)), makers


def _run(experiment: Experiment, makers: Makers, args: argparse.Namespace) -> dict[str, Row]:
    summary = run(
        experiment,
        args.out,
        workers=args.workers,
        cluster=args.cluster,
        retry_failed=args.retry_failed,
        extend=args.extend or args.against is not None,
        progress=not args.quiet,
        problems=makers,
    )
    print(summary)
    store = Store(args.out)
    try:
        return store.rows()
    finally:
        store.close()


def _gate(experiment: Experiment, makers: Makers, args: argparse.Namespace) -> int:
    baseline = gate.read_baseline(args.against)
    verdict = gate.compare(experiment, baseline, lambda part: _run(part, makers, args))
    text = verdict.lines()
    print("\n".join(text))
    if args.page is not None:
        page = args.page.read_text(encoding="utf-8") if args.page.is_file() else "# The arena\n"
        before = page.partition(GATE_TITLE)[0].rstrip()
        body = "\n".join(["```", *text, "```"])
        args.page.write_text(f"{before}\n\n{GATE_TITLE}\n\n{body}\n", encoding="utf-8")
    return 1 if verdict.losses else 0
