"""The command bench: what workers bring for a simulator."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from platypoos.api import plan
from platypoos.checks import check_count
from platypoos.cli.options import (
    DEFAULT_BUDGET,
    PLANNER,
    add_environment,
    add_options,
    make_environment,
    make_planner,
    whole,
)
from platypoos.errors import InvalidArgument
from platypoos.progress import progress_bar
from platypoos.results import Plan

WORTH_IT = 1.2
"""Workers are advised if they are so many times as fast."""
POOLS = {"threads": "ThreadPoolExecutor", "processes": "ProcessPoolExecutor"}
EXAMPLES = """\
examples:
  platypoos bench my_module:make_model --workers 1 2 4 8 --budget 300
  platypoos bench my_module:make_model --pool threads        calls that wait for something else
  platypoos bench CarRacing-v3 --budget 100 --planner platypoos
"""


def add_bench_command(commands: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "bench",
        help="what do workers bring for this simulator?",
        description="Make the same plan with several numbers of workers, and tell how long it "
        "took and how busy they were. The plans are the same; only the time differs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_environment(one, own=True)
    add_options(one, "actions", *PLANNER, "json", "quiet")
    one.add_argument("--workers", type=whole, nargs="+", default=[1, 2, 4], help="how many (1 2 4)")
    one.add_argument("--pool", choices=list(POOLS), default="processes", help="(%(default)s)")
    one.set_defaults(run=_bench)


@contextmanager
def pool_of(workers: int, kind: str) -> Iterator[Executor | None]:
    """A pool of so many workers; None for one."""
    if workers == 1:
        yield None
    elif kind == "threads":
        with ThreadPoolExecutor(workers) as threads:
            yield threads
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as processes:
            yield processes


def _bench(args: argparse.Namespace) -> int:
    for workers in args.workers:
        check_count("workers", workers)
    model = make_environment(args.env, args)
    planner = make_planner(args.planner, args.discount, args.set)
    args.budget = DEFAULT_BUDGET if args.budget is None else args.budget
    asked = {"budget": args.budget, "horizon": args.horizon, "seed": args.seed}

    def once(workers: int) -> tuple[Plan, float]:
        with pool_of(workers, args.pool) as executor:
            plan(model, planner=planner, executor=executor, **asked)  # so that all is ready
            start = time.perf_counter()
            found = plan(model, planner=planner, executor=executor, **asked)
            return found, time.perf_counter() - start

    rows: list[dict[str, Any]] = []
    first: Plan | None = None
    with progress_bar(len(args.workers), " plans", already=0, quiet=args.quiet) as bar:
        for workers in args.workers:
            found, seconds = once(workers)
            first = found if first is None else first
            if [*map(str, found.actions)] != [*map(str, first.actions)]:
                raise InvalidArgument(
                    "the plans differ, and should not: the model draws numbers that are not from "
                    "rng, or keeps something between calls"
                )
            busy = found.workers
            rows.append(
                {
                    "workers": workers,
                    "seconds": seconds,
                    "milliseconds_per_call": 1e3 * seconds / max(1, found.calls),
                    "times_as_fast": rows[0]["seconds"] / seconds if rows else 1.0,
                    "busy": None if busy is None else busy.share,
                }
            )
            bar.update(1)
    if args.json:
        print(json.dumps(rows))
    else:
        _print(rows, args)
    return 0


def _print(rows: list[dict[str, Any]], args: argparse.Namespace) -> None:
    print("workers  seconds  ms a call  times as fast  busy")
    for row in rows:
        busy = "" if row["busy"] is None else f"{row['busy']:.0%}"
        print(
            f"{row['workers']:>7}  {row['seconds']:>7.3f}  {row['milliseconds_per_call']:>9.3f}"
            f"  {row['times_as_fast']:>13.2f}  {busy:>4}"
        )
    best = max(rows, key=lambda row: float(row["times_as_fast"]))
    if best["workers"] == 1 or best["times_as_fast"] < WORTH_IT:
        print("\nDo without workers: they bring little here.")
        return
    kind = POOLS[args.pool]
    print(f"\nfrom concurrent.futures import {kind}\n")
    print(f"with {kind}({best['workers']}) as pool:")
    print(f"    plan = pp.plan(model, budget={args.budget}, executor=pool)")
