"""The command ``arena``."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from platypoos.checks import nearest
from platypoos.choosing import DEFAULT_DISCOUNT
from platypoos.cli.options import whole
from platypoos.errors import InvalidArgument
from platypoos.lab.arena import gate
from platypoos.lab.arena.challenge import load_references
from platypoos.lab.arena.entrants import (
    ENTRANTS,
    FULL_SEEDS,
    QUICK_SEEDS,
    UNTOLD,
    arena,
    titles_of,
    untold,
)
from platypoos.lab.arena.families import CHALLENGES
from platypoos.lab.experiments.cells import Row
from platypoos.lab.experiments.own import own_block
from platypoos.lab.experiments.report import write_report
from platypoos.lab.experiments.runner import run
from platypoos.lab.experiments.spec import Experiment, Makers
from platypoos.lab.experiments.standings import Standings, standings
from platypoos.lab.experiments.standings_page import family_table, markdown, summary_of_worse
from platypoos.lab.experiments.store import Store
from platypoos.named import load_own

EXAMPLES = """\
examples:
  platypoos arena                                  # quick: under ten minutes on two cores
  platypoos arena --full --out out/arena-full      # all problems and budgets: hours; resumable
  platypoos arena --family traps tables --planner platypus uct sequence-search
  platypoos arena --problem my_module:make_model --budget 300 1000 --steps 50
  platypoos arena --problem my_module:make_model --write-baseline mine.csv
  platypoos arena --against docs/results/arena-baseline.csv     # fails if a planner got worse
"""
DEFAULT = next(iter(ENTRANTS))
"""The entrant whose weak places are listed in full."""
GATE_TITLE = "## The gate"


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
    one.add_argument(
        "--planner",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="planners, as 'platypoos planners' or the tables call them (all)",
    )
    one.add_argument(
        "--family", nargs="+", action="extend", default=[], metavar="NAME", help="families (all)"
    )
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
    own = one.add_argument_group("your own problems")
    own.add_argument("--budget", nargs="+", type=whole, metavar="N", help="(100 300 1000)")
    own.add_argument("--steps", type=whole, help="decisions of a run (20)")
    own.add_argument("--discount", type=float, help="in [0, 1), or 1 with --horizon (0.95)")
    own.add_argument("--horizon", type=whole, help="steps to the end of the episode (no end)")
    one.add_argument("--list", action="store_true", help="list the problems and stop")
    base = one.add_mutually_exclusive_group()
    base.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with a baseline; exit 1 on a loss"
    )
    base.add_argument("--write-baseline", type=Path, metavar="FILE", help="write a baseline")
    one.add_argument("--page", type=Path, metavar="FILE", help="write the standings as Markdown")
    add_running(one, Path("out/arena"))
    one.set_defaults(run=_arena)


def _arena(args: argparse.Namespace) -> int:
    if args.list:
        known = dict.fromkeys(challenge.family for challenge in CHALLENGES)
        wanted = [nearest(family, known, "family") for family in args.family] or known
        for challenge in CHALLENGES:
            if challenge.family not in wanted:
                continue
            budgets = ", ".join(f"{budget:,}" for budget in challenge.budgets)
            mark = "quick" if challenge.quick else ""
            print(f"{challenge.name:40} {mark:6} N = {budgets}")
        return 0
    for file in (args.page, args.write_baseline):
        if file is not None and not file.absolute().parent.is_dir():
            raise InvalidArgument(f"there is no directory {file.absolute().parent} for {file.name}")
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
    failed = _show_failures(rows)
    if all(row["status"] == "failed" for row in rows.values()):
        print(write_report(args.out)[0])
        return 1
    found = standings(experiment, rows)
    head, table = family_table(found, found.levels[len(found.levels) // 2])
    worse = {row[0]: row[1] for row in summary_of_worse(found, found.all_worse())}
    wide = max(len(row[0]) for row in table)
    print("mean score: 0 is random, 1 the best known; where it is significantly worse than another")
    print(f"{head[0]:{wide}}  {head[1]:>5}   {'worse':>9}")
    for row in table:
        print(f"{row[0]:{wide}}  {row[1]:>5}   {worse[row[0]]:>9}")
    if args.write_baseline is not None:
        gate.write_baseline(args.write_baseline, gate.results_of(experiment, rows))
        print(args.write_baseline)
    written = write_report(args.out)
    if args.page is not None:
        _write_page(args.page, experiment, found, written[1])
        written.append(args.page)
    for path in written:
        print(path)
    return 1 if failed else 0


def _write_page(page: Path, experiment: Experiment, found: Standings, picture: Path) -> None:
    """The standings as Markdown, with the picture beside it."""
    beside = page.with_suffix(".png")
    shutil.copyfile(picture, beside)
    planners, seeds = len(found.planners), found.scores.shape[2]
    text = [
        f"# Results: {experiment.name}",
        "",
        f"{planners} planners, {len(experiment.blocks)} problems, {seeds} seeds.",
        "",
        f"![Scores by family, and their profile]({beside.name})",
        "",
        *markdown(experiment, found, DEFAULT),
    ]
    page.write_text("\n".join(text), encoding="utf-8")


def _show_failures(rows: dict[str, Row]) -> int:
    """Say how many cells failed, and why the first one did."""
    errors = [row["error"] for row in rows.values() if row["status"] == "failed"]
    if errors:
        reason = errors[0].strip().splitlines()[-1]
        print(
            f"platypoos: {len(errors)} cells failed; the report has all errors. One is: {reason}",
            file=sys.stderr,
        )
    return len(errors)


def _experiment(args: argparse.Namespace) -> tuple[Experiment, Makers]:
    if not args.problem:
        for name in ("budget", "steps", "discount", "horizon"):
            if getattr(args, name) is not None:
                raise InvalidArgument(f"--{name} is for your own problems: pass --problem too")
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
    titles = [*titles_of(args.planner), "Random"] if args.planner else list(UNTOLD)
    discount = DEFAULT_DISCOUNT if args.discount is None else args.discount
    usual = FULL_SEEDS if args.full else QUICK_SEEDS
    blocks = []
    for name, maker in makers.items():
        block = own_block(
            name,
            maker,
            untold(dict.fromkeys(titles), discount, args.horizon),
            args.budget or (100, 300, 1_000),
            seeds=usual if args.seeds is None else args.seeds,
            steps=20 if args.steps is None else args.steps,
            discount=discount,
            horizon=args.horizon,
            family="own",
        )
        if block.access == "reset" and not args.planner:
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

    def run_part(part: Experiment) -> dict[str, Row]:
        seeds = max(block.seeds for block in part.blocks)
        print(f"seeds 0 to {seeds - 1}: ", end="")
        return _run(part, makers, args)

    verdict = gate.compare(experiment, baseline, run_part)
    text = verdict.lines()
    print("\n".join(text))
    if args.page is not None:
        page = args.page.read_text(encoding="utf-8") if args.page.is_file() else "# The arena\n"
        before = page.partition(GATE_TITLE)[0].rstrip()
        body = "\n".join(["```", *text, "```"])
        args.page.write_text(f"{before}\n\n{GATE_TITLE}\n\n{body}\n", encoding="utf-8")
    return 2 if not verdict.pairs else 1 if verdict.losses else 0
