"""The command ``platypoos theory``."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import math
import sys
from pathlib import Path
from typing import Any

from platypoos.cli.options import whole
from platypoos.errors import InvalidArgument
from platypoos.lab.experiments.own import choice_of
from platypoos.lab.experiments.spec import PROBLEMS, Choice
from platypoos.lab.problems import MadeToOrder
from platypoos.lab.theory.bounds import Bound, bound
from platypoos.lab.theory.hardness import Hardness, hardness
from platypoos.lab.theory.measure import Point, mean_regret, worst_regret
from platypoos.models.base import Access
from platypoos.named import make
from platypoos.planners import available
from platypoos.progress import progress_bar

PLANNERS = ("platypoos", "sequool", "olop", "opd", "uniform")
EXAMPLES = """\
examples:
  platypoos theory garnet:num_states=8 --discount 0.9 --noise 0.5
  platypoos theory made-to-order:kappa=2,num_actions=3,rho=0.8 --discount 0.9 --budget 100000
  platypoos theory made-to-order:kappa=1,rho=0.9 --discount 0.9 --noise 0.5 --figure regret.png
  platypoos theory grid --discount 0.9 --rho 0.9 --access reset --json

PROBLEM is one of switch-chain, garnet, grid, battery, made-to-order, with its parameters. On
made-to-order without a depth, the regret is measured for all depths of the secret, and the worst
is drawn. The figure's budgets go from 100 to --budget.
"""


def add_theory_command(commands: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "theory",
        help="how hard is a problem, what is promised on it, and is the promise kept?",
        description="How hard is a problem, which regime is it in, what does the theory promise? "
        "With --figure: is the promise kept?",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument("problem", metavar="PROBLEM", help="NAME[:KEY=VALUE,…]")
    one.add_argument("--discount", type=float, default=0.95, help="in (0, 1) (%(default)s)")
    one.add_argument("--noise", type=float, default=0.0, help="half-width of the noise (0)")
    one.add_argument("--budget", type=whole, default=10_000, help="calls (%(default)s)")
    one.add_argument("--depth", type=int, default=12, help="count sequences to here (%(default)s)")
    one.add_argument("--rho", type=float, help="smoothness ρ (the problem's own, or the discount)")
    one.add_argument("--access", choices=["restore", "reset"], default="restore")
    one.add_argument("--json", action="store_true", help="print JSON instead of a table")
    one.add_argument("--figure", type=Path, metavar="FILE", help="predicted and measured regret")
    one.add_argument(
        "--planner", choices=["platypoos", "sequool"], default="platypoos",
        help="whose regret the figure shows (%(default)s)",
    )  # fmt: skip
    one.add_argument("--runs", type=int, default=40, help="runs for each point (%(default)s)")
    one.add_argument("--quiet", action="store_true", help="no progress bar")
    one.set_defaults(run=_theory)


def _theory(args: argparse.Namespace) -> int:
    choice = choice_of(args.problem)
    problem = _problem(choice, args)
    rho = args.rho
    if rho is None and isinstance(problem, MadeToOrder):
        rho = problem.rho
    found = hardness(problem, args.discount, depth=args.depth, rho=rho)
    promises, refused = _promises(found, args)
    if args.json:
        print(json.dumps(_as_json(found, promises)))
    else:
        print(_table(choice, found, promises, refused, args))
    if args.figure is not None:
        return _figure(choice, problem, found, args)
    return 0


def _problem(choice: Choice, args: argparse.Namespace) -> Any:
    """The problem, with the noise and, if it is made for one, the discount of the command."""
    known = {name: kind for name, kind in PROBLEMS.items() if name != "gymnasium"}
    kind = known.get(choice.name)
    takes = inspect.signature(kind).parameters if kind else {}
    given = dict(choice.parameters)
    if "noise" in given:
        raise InvalidArgument("pass the noise as --noise, not with the problem")
    if "noise" in takes:
        given["noise"] = args.noise
    if "discount" in takes:
        given.setdefault("discount", args.discount)
    return make(known, "problem", choice.name, given)


def _promises(h: Hardness, args: argparse.Namespace) -> tuple[list[Bound], dict[str, str]]:
    """What is promised of each planner, and why nothing is of some."""
    promises, refused = [], {}
    for planner in PLANNERS:
        try:
            promises.append(bound(h, planner, args.budget, args.noise, args.access))
        except InvalidArgument as error:
            if planner == "platypoos":  # nothing is refused to it but bad arguments
                raise
            refused[planner] = str(error)
    return promises, refused


def _table(
    choice: Choice,
    h: Hardness,
    promises: list[Bound],
    refused: dict[str, str],
    args: argparse.Namespace,
) -> str:
    lines = [
        f"{choice.title}, discount {h.discount:g}, noise {args.noise:g}, access {args.access}",
        "",
        f"how hard it is (all sequences of up to {args.depth} actions)",
        f"  smoothness   ν = {h.nu:.6g}, ρ = {h.rho:g}",
    ]
    for kind in ("u", "v"):
        low, high = getattr(h, f"interval_{kind}")
        lines.append(
            f"  branching    κ^{kind} = {getattr(h, f'kappa_{kind}'):.3f} [{low:.3f}, {high:.3f}], "
            f"C = {getattr(h, f'constant_{kind}'):.3g}, of {h.num_actions} actions"
        )
    for kind in ("u", "v"):
        counts = " ".join(f"{count:,}" for count in getattr(h, f"counts_{kind}"))
        lines.append(f"  near-optimal N^{kind}_h: {counts}")
    if h.counts_u[-1] == h.num_actions**args.depth:
        lines.append("  (all sequences are near-optimal at this depth: deeper, κ may be smaller)")
    sign = ">" if h.discount**2 * h.kappa_u > 1 else "≤"
    lines += [
        f"  γ²κ^u = {h.discount**2 * h.kappa_u:.3g} {sign} 1",
        "",
        f"what is promised with {args.budget:,} calls (n = {args.budget // h.num_actions:,})",
        f"  {'planner':<10} {'regime':<20} {'rate':<22} {'depth':>8} {'sure':>6} {'bound':>10}",
    ]
    for promise in promises:
        depth = "–" if promise.depth is None else f"{promise.depth:.2f}"
        sure = "–" if promise.guaranteed_depth is None else f"{promise.guaranteed_depth}"
        limit = "–" if promise.bound is None else f"{promise.bound:.4g}"
        lines.append(
            f"  {promise.planner:<10} {promise.regime:<20} {promise.rate:<22} {depth:>8} "
            f"{sure:>6} {limit:>10}"
        )
    lines += [f"  {planner}: {why}" for planner, why in refused.items()]
    return "\n".join(lines)


def _as_json(h: Hardness, promises: list[Bound]) -> dict[str, Any]:
    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: plain(value) for key, value in item.items()}
        if isinstance(item, float) and not math.isfinite(item):
            return None
        return item.value if isinstance(item, Access) else item

    return {
        "hardness": plain(dataclasses.asdict(h)),
        "bounds": [plain(dataclasses.asdict(promise)) for promise in promises],
    }


def _figure(choice: Choice, problem: Any, h: Hardness, args: argparse.Namespace) -> int:
    from platypoos.lab.theory.figures import predicted_and_measured

    first = max(100, h.num_actions)
    if args.budget <= first:
        raise InvalidArgument(f"a figure needs --budget above {first}, got {args.budget}")
    count = max(4, round(3 * math.log10(args.budget / first)) + 1)
    budgets = [round(first * (args.budget / first) ** (i / (count - 1))) for i in range(count)]
    planner: Any = available()[args.planner](discount=h.discount)
    promises = [bound(h, args.planner, budget, args.noise, args.access) for budget in budgets]
    search = isinstance(problem, MadeToOrder) and "depth" not in dict(choice.parameters)
    measure: Any = worst_regret if search else mean_regret
    points: list[Point] = []
    status = 0
    try:
        with progress_bar(count, "budget", quiet=args.quiet) as bar:
            for budget in budgets:
                points.append(measure(problem, planner, budget, args.runs, args.access))
                bar.update(1)
    except KeyboardInterrupt:
        print("platypoos: interrupted; the figure shows what is done", file=sys.stderr)
        status = 130
    title = f"{choice.title}, γ = {h.discount:g}, b = {args.noise:g}"
    print(predicted_and_measured(args.figure, title, points, promises), file=sys.stderr)
    return status
