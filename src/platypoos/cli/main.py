"""The commands; each is a thin call of the API."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.api import Agent, plan
from platypoos.cli.advise import add_advise_command
from platypoos.cli.bench import add_bench_command
from platypoos.cli.explain import add_explain_command
from platypoos.cli.options import (
    DEFAULT_BUDGET,
    add_planner_options,
    make_planner,
    not_own,
)
from platypoos.cli.planners import add_planners_command
from platypoos.cli.play import add_simulator_commands
from platypoos.errors import InvalidArgument, PlatypoosError
from platypoos.named import make
from platypoos.problems import Problem, SwitchChain
from platypoos.problems import available as problems
from platypoos.problems.base import optimal_values
from platypoos.results import Plan
from platypoos.version import __version__

COMPILE_FROM = 2_000_000
"""Budgets from here on are planned in machine code; below, compiling takes longer than it saves."""

EXAMPLES = """\
examples:
  platypoos plan                                     the paper's problem, 1,000 calls
  platypoos plan --noise 10 --budget 10000 --seed 1
  platypoos plan --problem grid --planner sequool --budget 5000
  platypoos plan --problem grid --deadline 0.05
  platypoos plan --planner platypoos --schedule      the published algorithm
  platypoos plan --planner olop --set reward_max=130 --set noise=10 --noise 10
  platypoos plan --problem battery --access reset --json
  platypoos warm-up                                  compile for compiled models
  platypoos planners                                 all planners and what they need
  platypoos explain --out why.html                   a page that says why
  platypoos check Hopper-v5                          is this simulator safe to plan with?
  platypoos advise MountainCar-v0                    how to plan with this simulator
  platypoos play CartPole-v1 --repeat 4 --budget 3000 --discount 0.9 --save cartpole.gif
  platypoos theory garnet --discount 0.9 --noise 0.5  how hard it is, and what is promised
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        return int(args.run(args) or 0)
    except PlatypoosError as error:
        print(f"platypoos: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has gone, as in "platypoos planners | head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"platypoos: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("platypoos: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    from platypoos.lab.commands import add_commands

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="platypoos",
        description="Plan with a simulator and a limited number of calls to it.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"platypoos {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    one = commands.add_parser(
        "plan",
        help="plan the next action on a problem, and say why",
        description="Plan the next action on a problem, and say why.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    one.add_argument(
        "--problem",
        type=not_own,
        choices=sorted(problems()),
        default="switch-chain",
        metavar="PROBLEM",
        help="one of %(choices)s (%(default)s); for your own model, see 'platypoos explain'",
    )
    add_planner_options(one)
    one.add_argument("--noise", type=float, help="half-width of the rewards' noise")
    one.add_argument(
        "--deadline",
        type=float,
        metavar="SECONDS",
        help="plan for so long, with as many calls as that allows, or as --budget does",
    )
    one.add_argument("--access", choices=["restore", "reset"], default="restore")
    one.add_argument("--schedule", action="store_true", help="also show what the planner opens")
    one.add_argument("--json", action="store_true", help="print JSON instead of a table")
    one.set_defaults(run=_plan)

    add_planners_command(commands)

    warm = commands.add_parser(
        "warm-up",
        help="compile what compiled models need, once per machine",
        description="Compile the default planner for compiled models. Later programs find its "
        "machine code on disk, and plan fast from the start. Python models need none.",
    )
    warm.set_defaults(run=_warm_up)

    add_explain_command(commands)
    add_simulator_commands(commands)
    add_advise_command(commands)
    add_bench_command(commands)
    add_commands(commands)
    demo = commands.add_parser(
        "demo",
        help="plan on the paper's problem, CartPole and Pendulum; save films",
        description="Plan on the paper's problem and on Gymnasium's CartPole and Pendulum; save "
        "a picture and films.",
    )
    demo.add_argument("--out", type=Path, default=Path("out"), help="folder (%(default)s)")
    demo.set_defaults(run=_demo)
    return parser


def _warm_up(_args: argparse.Namespace) -> None:
    model = SwitchChain(noise=1.0).compiled()
    seconds = Agent(model, deadline=0.02, discount=0.95).warm_up()
    print(f"ready for compiled models after {seconds:.1f} s")


def _plan(args: argparse.Namespace) -> None:
    settings = {} if args.noise is None else {"noise": args.noise}
    problem = make(problems(), "problem", args.problem, settings)
    planner = make_planner(args.planner, args.discount, args.set)
    budget = args.budget
    if args.deadline is None and budget is None:
        budget = DEFAULT_BUDGET
    model = problem.compiled() if budget is not None and budget >= COMPILE_FROM else problem
    if args.deadline is not None and planner.anytime:
        agent = Agent(model, planner=planner, deadline=args.deadline, access=args.access)
        agent.warm_up()  # before the clock starts
    found = plan(
        model,
        planner=planner,
        budget=budget,
        deadline=args.deadline,
        horizon=args.horizon,
        seed=args.seed,
        access=args.access,
    )
    optimal = _optimal(problem, found)
    schedule = None
    if args.schedule:
        if not hasattr(planner, "schedule"):
            raise InvalidArgument(
                f"{args.planner} has no schedule: what it opens depends on the rewards; pass "
                "--planner platypoos, or leave out --schedule"
            )
        schedule = planner.schedule(budget, found.space.n, args.access, args.horizon)
    if args.json:
        result = _as_json(args, found, optimal)
        if schedule is not None:
            columns = ("depth", "p", "evaluations", "quota", "nodes")
            result["schedule"] = [
                dict(zip(columns, r, strict=True)) for r in schedule.rows.tolist()
            ]
        print(json.dumps(result))
        return
    access = ", access reset" if args.access == "reset" else ""
    print(f"{args.problem}, {args.planner}{access}, seed {args.seed}")
    print(found)
    if optimal is not None:
        regret = optimal.max() - optimal[found.action_index]
        best = found.action_names[int(optimal.argmax())]
        print(f"known answer: {best}; simple regret {regret:.6g}")
    if schedule is not None:
        print()
        print(schedule)


def _optimal(problem: Any, found: Plan) -> NDArray[np.float64] | None:
    """Q* of the state, where it is known and can be computed."""
    if not isinstance(problem, Problem):
        return None
    try:
        return optimal_values(problem, found)
    except InvalidArgument:  # it would take too long
        return None


def _as_json(
    args: argparse.Namespace,
    found: Plan,
    optimal: NDArray[np.float64] | None,
) -> dict[str, Any]:
    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "problem": args.problem,
        "planner": args.planner,
        "discount": found.discount,
        "access": args.access,
        "seed": args.seed,
        "action": found.action_index,
        "action_name": found.action_names[found.action_index],
        "actions": list(found.action_indices),
        "value": number(found.value),
        "action_values": [number(value) for value in found.action_values.tolist()],
        "lead": None if found.lead is None else found.lead._asdict(),
        "confidence": found.confidence,
        "enough": found.enough,
        "depth": found.depth,
        "calls": found.calls,
        "budget": found.budget,
        "reached": found.reached,
        "optimal_values": None if optimal is None else optimal.tolist(),
        "simple_regret": None if optimal is None else optimal.max() - optimal[found.action_index],
    }


def _demo(args: argparse.Namespace) -> None:
    from platypoos.cli.demo import run

    run(args.out)


if __name__ == "__main__":
    sys.exit(main())
