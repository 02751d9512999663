"""The command that explains: a plan or an episode, as a page."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from platypoos.api import Agent, control, plan
from platypoos.cli.options import (
    DEFAULT_BUDGET,
    ENVIRONMENT,
    PLANNER,
    add_options,
    as_settings,
    make_environment,
    make_planner,
    whole,
)
from platypoos.errors import InvalidArgument
from platypoos.models.wrappers import NoisyReward
from platypoos.named import is_own, make
from platypoos.problems import available as problems
from platypoos.results import Episode

EXAMPLES = """\
examples:
  platypoos explain                                    the paper's problem; writes why.html
  platypoos explain grid --budget 5000 --out grid.html
  platypoos explain FrozenLake-v1 --option is_slippery=false --budget 2000
  platypoos explain CartPole-v1 --repeat 4 --budget 3000 --discount 0.9 --steps 50 --out cart.html
  platypoos explain platypoos.lab.problems:Pillars --steps 40 --discount 0.97 --film pillars.gif
  platypoos explain my_module:make_model               your own: my_module.py is found here
  platypoos explain --out why.json                     the same as data
"""


def add_explain_command(commands: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "explain",
        help="plan, and write a page that says why",
        description="Plan the next action on a problem or in a Gymnasium environment, and write a "
        "page that says why: values, the best sequence and its rival, what would change the "
        "decision, where the calls went. With --steps, a whole episode with a slider.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument(
        "what",
        nargs="?",
        default="switch-chain",
        metavar="PROBLEM|ENV|MODULE:FUNCTION",
        help="a problem, as for 'platypoos plan', a Gymnasium id such as CartPole-v1, or a "
        "function of your own that makes a model (%(default)s)",
    )
    add_options(one, *ENVIRONMENT, *PLANNER, "noise", "access", "deadline", "quiet")
    one.add_argument("--actions", type=whole, help="values of each coordinate of a continuous box")
    one.add_argument("--steps", type=whole, help="explain an episode of so many steps")
    one.add_argument("--out", type=Path, default=Path("why.html"), help="the page (%(default)s)")
    one.add_argument(
        "--film", type=Path, help="also film the episode with each plan's look-ahead, .gif or .mp4"
    )
    one.set_defaults(run=run_explain)


def make_model(args: argparse.Namespace) -> Any:
    """The problem or the environment that was named."""
    if args.what in problems():
        settings = as_settings(args.option, "--option")
        if args.noise is not None:
            settings["noise"] = args.noise
        return make(problems(), "problem", args.what, settings)
    if not is_own(args.what) and "-v" not in args.what and "/" not in args.what:
        known = ", ".join(sorted(problems()))
        raise InvalidArgument(
            f"there is no problem {args.what!r}; problems are {known}; environments have ids such "
            "as CartPole-v1; your own model is written MODULE:FUNCTION"
        )
    model = make_environment(args.what, args)
    return NoisyReward(model, args.noise) if args.noise else model


def run_explain(args: argparse.Namespace) -> int:
    """Plan, print and write the page."""
    if not args.out.parent.is_dir():
        raise InvalidArgument(f"there is no folder {str(args.out.parent)!r} for {args.out.name}")
    if args.film is not None and args.steps is None:
        raise InvalidArgument("--film films an episode: say how long, by --steps")
    model = make_model(args)
    planner = make_planner(args.planner, args.discount, args.set)
    budget = DEFAULT_BUDGET if args.budget is None and args.deadline is None else args.budget
    command = shlex.join(["platypoos", *_given(args)])
    if args.deadline is not None and planner.anytime:
        agent = Agent(model, planner=planner, deadline=args.deadline, access=args.access)
        agent.warm_up()  # before the clock starts
    if args.steps is None:
        found = plan(
            model,
            planner=planner,
            budget=budget,
            deadline=args.deadline,
            horizon=args.horizon,
            seed=args.seed,
            access=args.access,
        )
        found.explain(args.out, command=command)
        print(found)
        print(f"\npage: {args.out}")
        return 0
    interrupted = False
    try:
        episode = control(
            model,
            planner=planner,
            budget=budget,
            deadline=args.deadline,
            steps=args.steps,
            horizon=args.horizon,
            seed=args.seed,
            access=args.access,
            progress=not args.quiet,
        )
    except KeyboardInterrupt as error:
        kept = getattr(error, "episode", None)
        if not isinstance(kept, Episode) or not kept.actions:
            raise
        episode = kept
        interrupted = True
        print("interrupted: what was played is explained", file=sys.stderr)
    print(episode)
    print(f"page: {episode.explain(args.out, command=command)}")
    if args.film is not None:
        print(f"film: {episode.film(args.film)}")
    return 130 if interrupted else 0


def _given(args: argparse.Namespace) -> list[str]:
    """What was given on the command line, to be typed again."""
    words = ["explain", args.what]
    for name in ("option", "set"):
        for setting in getattr(args, name):
            words += [f"--{name}", setting]
    usual = {"planner": "platypus", "discount": 0.95, "seed": 0, "repeat": 1}
    names = ("planner", "budget", "discount", "horizon", "seed", "method", "repeat", "lives")
    for name in (*names, "actions", "noise", "access", "deadline", "steps", "film"):
        value = getattr(args, name)
        if value is not None and value != usual.get(name):
            words += [f"--{name}", str(value)]
    if args.resolution is not None:
        given = args.resolution if isinstance(args.resolution, list) else [args.resolution]
        words += ["--resolution", ",".join(str(width) for width in given)]
    return [*words, "--out", str(args.out)]
