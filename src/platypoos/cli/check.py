"""The command check: is this simulator safe to plan with."""

from __future__ import annotations

import argparse
import json
from typing import Any

from platypoos.checking.model import check_model
from platypoos.checking.simulator import check_simulator
from platypoos.cli.options import (
    add_environment,
    add_options,
    as_settings,
    make_environment,
    own_environment,
    whole,
)
from platypoos.named import is_own

EXAMPLES = """\
examples:
  platypoos check Hopper-v5
  platypoos check Hopper-v5 --method deepcopy         what a plain copy would do
  platypoos check FrozenLake-v1 --option is_slippery=false
  platypoos check my_module:make_model                your own: my_module.py is found here
  platypoos check my_module:MyEnv                     a Gymnasium environment of your own
  platypoos check MountainCar-v0 --repeat 8 --resolution 0.05,0.005    are cells good enough?
the exit status is 0 if a planner can trust the simulator, else 1
"""


def add_check_command(commands: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "check",
        help="is this simulator safe to plan with?",
        description="Restore and replay random trajectories of a Gymnasium environment, and say "
        "whether a planner can trust it, how, and what it costs. In your own model, take random "
        "steps and look for mistakes.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_environment(one, own=True)
    one.add_argument("--trajectories", type=whole, default=5, help="(%(default)s)")
    one.add_argument("--steps", type=whole, default=20, help="of each (%(default)s)")
    add_options(one, "seed", "json")
    one.add_argument("--no-pictures", action="store_true", help="do not compare pictures")
    one.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> int:
    report: Any
    own = own_environment(args.env)
    if own is None and is_own(args.env):
        report = check_model(make_environment(args.env, args), seed=args.seed)
        print(json.dumps(report.as_dict()) if args.json else report)
        return 0 if report.ok else 1
    report = check_simulator(
        args.env if own is None else own,
        method=args.method,
        trajectories=args.trajectories,
        steps=args.steps,
        seed=args.seed,
        pictures=not args.no_pictures,
        repeat=args.repeat,
        lives=args.lives,
        resolution=args.resolution,
        **as_settings(args.option, "--option"),
    )
    print(json.dumps(report.as_dict()) if args.json else report)
    return 0 if report.ok else 1
