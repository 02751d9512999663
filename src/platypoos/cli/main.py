"""The commands; each is a thin call of the API."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from platypoos.api import Agent
from platypoos.cli.advise import add_advise_command
from platypoos.cli.bench import add_bench_command
from platypoos.cli.check import add_check_command
from platypoos.cli.explain import add_explain_command
from platypoos.cli.plan import add_plan_command
from platypoos.cli.planners import add_planners_command
from platypoos.cli.play import add_play_command
from platypoos.errors import PlatypoosError
from platypoos.problems import SwitchChain
from platypoos.version import __version__

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

    add_plan_command(commands, EXAMPLES)
    add_planners_command(commands)

    warm = commands.add_parser(
        "warm-up",
        help="compile what compiled models need, once per machine",
        description="Compile the default planner for compiled models. Later programs find its "
        "machine code on disk, and plan fast from the start. Python models need none.",
    )
    warm.set_defaults(run=_warm_up)

    add_explain_command(commands)
    add_check_command(commands)
    add_play_command(commands)
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


def _demo(args: argparse.Namespace) -> None:
    from platypoos.cli.demo import run

    run(args.out)


if __name__ == "__main__":
    sys.exit(main())
