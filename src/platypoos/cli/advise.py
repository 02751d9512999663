"""The command advise."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from platypoos.advising.advise import CALLS, SECONDS, advise
from platypoos.advising.recommendation import Recommendation
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
  platypoos advise MountainCar-v0
  platypoos advise Pendulum-v1 --actions 5 --seconds 0.05
  platypoos advise FrozenLake-v1 --option is_slippery=false --json
  platypoos advise my_module:make_model                       your own: my_module.py is found here
  platypoos advise highway-fast-v0 --seconds 1 --calls 100     a slow one: fewer calls
"""


def add_advise_command(commands: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "advise",
        help="how to plan with a simulator: repeat, discount, budget",
        description="Find out with a few hundred calls of a simulator what a call "
        "costs, whether states meet, noise and ends; and advise how many steps an action should "
        "last, a discount, a budget and a planner. Ctrl-C gives advice from the calls made.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_environment(one, own=True)
    one.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="time for one decision, for the budget (%(default)s)",
    )
    one.add_argument(
        "--calls", type=whole, default=CALLS, help="the most calls to make (%(default)s)"
    )
    add_options(one, "actions", "seed", "json", "quiet")
    one.set_defaults(run=_advise)


def _advise(args: argparse.Namespace) -> int:
    model = make_environment(args.env, args)
    found = advise(model, seconds=args.seconds, calls=args.calls, seed=args.seed, quiet=args.quiet)
    if is_own(args.env):
        found = _from_module(found, args)
    if args.json:
        print(json.dumps(found.as_dict()))
    else:
        print(found)
        if found.command:
            print(f"\n{found.command}")
    return 130 if found.interrupted else 0


def _from_module(found: Recommendation, args: argparse.Namespace) -> Recommendation:
    """The same with lines that make the model of somebody's own module."""
    module, _, function = args.env.partition(":")
    settings = as_settings(args.option, "--option")
    made = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    first, *rest = found.code
    name = "model" if own_environment(args.env) is None else "env"
    lines = (first, f"from {module} import {function}", "", f"{name} = {function}({made})")
    words = ["platypoos explain", args.env, *(f"--option {given}" for given in args.option)]
    words += [f"--budget {found.budget} --discount {found.discount:g}"]
    command = "" if found.repeat > 1 else " ".join(words)
    return replace(found, code=(*lines, *filter(None, rest)), command=command)
