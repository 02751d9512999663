"""The simulators' commands: check, play."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from platypoos.api import control
from platypoos.checking.model import check_model
from platypoos.checking.simulator import check_simulator
from platypoos.checks import check_count
from platypoos.cli.options import (
    DEFAULT_BUDGET,
    add_planner_options,
    as_settings,
    make_environment,
    make_planner,
    own_environment,
    whole,
)
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, access_of
from platypoos.models.gymnasium.actions import SPARSE
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.wrappers import NoisyReward
from platypoos.named import is_own
from platypoos.progress import StatusLine
from platypoos.results import Episode, Plan
from platypoos.spaces import Tried

CHECK_EXAMPLES = """\
examples:
  platypoos check Hopper-v5
  platypoos check Hopper-v5 --method deepcopy         what a plain copy would do
  platypoos check FrozenLake-v1 --option is_slippery=false
  platypoos check my_module:make_model                your own: my_module.py is found here
  platypoos check my_module:MyEnv                     a Gymnasium environment of your own
  platypoos check MountainCar-v0 --repeat 8 --resolution 0.05,0.005    are cells good enough?
the exit status is 0 if a planner can trust the simulator, else 1
"""
PLAY_EXAMPLES = """\
examples:
  platypoos play CartPole-v1 --repeat 4 --budget 3000 --discount 0.9 --steps 125 --save out.gif
  platypoos play Pendulum-v1 --budget 300 --steps 200
  platypoos play Pendulum-v1 --actions 5 --repeat 4 --budget 3000 --steps 50     five torques
  platypoos play HalfCheetah-v5 --repeat 4 --budget 1000 --steps 50 --save hc.gif
  platypoos play ALE/MsPacman-v5 --option repeat_action_probability=0.0 --budget 100 --steps 200
  platypoos play highway-fast-v0 --discount 0.9 --budget 50 --steps 30 --workers 2
"""


def add_simulator_commands(commands: Any) -> None:
    """Add the commands to the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    one = commands.add_parser(
        "check",
        help="is this simulator safe to plan with?",
        description="Restore and replay random trajectories of a Gymnasium environment, and say "
        "whether a planner can trust it, how, and what it costs. In your own model, take random "
        "steps and look for mistakes.",
        epilog=CHECK_EXAMPLES,
        formatter_class=raw,
    )
    add_environment(one, own=True)
    one.add_argument("--trajectories", type=whole, default=5, help="(%(default)s)")
    one.add_argument("--steps", type=whole, default=20, help="of each (%(default)s)")
    one.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    one.add_argument("--no-pictures", action="store_true", help="do not compare pictures")
    one.add_argument("--json", action="store_true", help="print JSON instead of text")
    one.set_defaults(run=_check)

    two = commands.add_parser(
        "play",
        help="plan and act in a Gymnasium environment",
        description="Plan, act, repeat in a Gymnasium environment. Ctrl-C keeps what was played.",
        epilog=PLAY_EXAMPLES,
        formatter_class=raw,
    )
    add_environment(two)
    add_planner_options(two)
    two.add_argument("--steps", type=whole, default=200, help="decisions to take (%(default)s)")
    add_actions(two)
    two.add_argument(
        "--noise", type=float, default=0.0, help="half-width of noise added to the rewards"
    )
    two.add_argument("--access", choices=["restore", "reset"], help="(what the model declares)")
    two.add_argument("--workers", type=whole, default=1, help="processes, if it is slow (1)")
    two.add_argument("--save", type=Path, help="a .gif or .mp4 file to film the episode in")
    two.add_argument("--json", type=Path, metavar="FILE", help="write the episode's table there")
    two.add_argument("--quiet", action="store_true", help="no progress")
    two.set_defaults(run=_play)


def add_environment(command: argparse.ArgumentParser, *, own: bool = False) -> None:
    """Which environment, and how it is made a model; or a function of one's own that makes one."""
    name, text = "ENV", "its id, such as CartPole-v1"
    if own:
        name, text = (
            "ENV|MODULE:NAME",
            f"{text}; or your own: a function that makes a model, or an environment's class",
        )
    command.add_argument("env", metavar=name, help=text)
    add_environment_options(command)


def add_environment_options(command: argparse.ArgumentParser) -> None:
    """How to make an environment."""
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the environment, such as is_slippery=false; can be repeated",
    )
    command.add_argument(
        "--method",
        choices=["native", "deepcopy", "replay"],
        help="how to restore states (the best that works)",
    )
    command.add_argument(
        "--repeat",
        type=whole,
        default=1,
        help="simulator steps that a decision lasts; a call is as many of them (1)",
    )
    command.add_argument(
        "--lives",
        choices=["end", "ignore"],
        help="whether the loss of a life ends an episode for planning (end in Atari games)",
    )
    command.add_argument(
        "--resolution",
        type=widths,
        metavar="WIDTH[,WIDTH…]",
        help="states in the same cell of this width count as the same; one for all or for each "
        "entry",
    )


def add_actions(command: argparse.ArgumentParser) -> None:
    """Which actions of a continuous box to choose from, if not from all."""
    command.add_argument(
        "--actions",
        type=box_actions,
        metavar="NUMBER|sparse",
        help="of a continuous box, choose from a list only: so many values of each coordinate, in "
        "all combinations; or sparse, which is one coordinate at a time and some corners",
    )


def box_actions(text: str) -> int | str:
    """A number, or the word sparse."""
    return text if text == SPARSE else whole(text)


def widths(text: str) -> float | list[float]:
    """One number, or several with commas between them."""
    numbers = [float(part) for part in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


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


class _Progress:
    """Step, action, reward so far, calls per second: a live line, or ten lines in a file."""

    def __init__(self, steps: int, quiet: bool, model: GymnasiumModel) -> None:
        self.steps, self.quiet = steps, quiet
        self.each = model.steps_per_call
        self.live = sys.stderr.isatty()
        self.line = StatusLine()
        self.total, self.calls = 0.0, 0
        self.start = time.perf_counter()

    def __call__(self, step: int, found: Plan, reward: float) -> None:
        self.total += reward
        self.calls += found.calls
        if self.quiet or not (self.live or (step + 1) % max(1, self.steps // 10) == 0):
            return
        rate = self.calls / (time.perf_counter() - self.start)
        name = found.action_names[found.action_index]
        if not isinstance(found.space, Tried):
            number = str(found.action_index)
            name = number if name == number else f"{number}, {name}"
        each = f" of {self.each} simulator steps" if self.each > 1 else ""
        line = (
            f"step {step + 1} of {self.steps}  action {name}  reward so far "
            f"{self.total:.6g}  {rate:,.0f} calls/s{each}"
        )
        if self.live:
            self.line(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.live and not self.quiet:
            self.line.leave()


@contextmanager
def _pool(workers: int) -> Iterator[Any]:
    if workers == 1:
        yield None
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool


def _play(args: argparse.Namespace) -> int:
    check_count("workers", args.workers)
    planner = make_planner(args.planner, args.discount, args.set)
    for path in (args.save, args.json):
        if path is not None and not path.parent.is_dir():
            raise InvalidArgument(f"there is no folder {str(path.parent)!r} for {path.name}")
    if is_own(args.env) and own_environment(args.env) is None:
        raise InvalidArgument(
            f"play is for Gymnasium environments; for your own model: platypoos explain {args.env} "
            f"--steps {args.steps}"
        )
    model: Any = make_environment(args.env, args)
    played = model
    if args.noise:
        model = NoisyReward(model, args.noise)
    steps = args.steps if args.horizon is None else min(args.steps, args.horizon)
    progress = _Progress(steps, args.quiet, played)
    interrupted = False
    try:
        with _pool(args.workers) as executor:
            episode = control(
                model,
                planner=planner,
                budget=DEFAULT_BUDGET if args.budget is None else args.budget,
                steps=args.steps,
                horizon=args.horizon,
                seed=args.seed,
                access=args.access,
                executor=executor,
                render=args.save,
                on_step=progress,
            )
    except BaseException as error:
        kept = getattr(error, "episode", None)
        progress.end()
        if kept is None or (not kept.actions and not isinstance(error, KeyboardInterrupt)):
            raise
        _finish(args, played, kept)
        if not isinstance(error, KeyboardInterrupt):
            raise
        interrupted = True
        print("interrupted: what was played is kept", file=sys.stderr)
    else:
        progress.end()
        _finish(args, played, episode)
    return 130 if interrupted else 0


def _finish(args: argparse.Namespace, model: GymnasiumModel, episode: Episode) -> None:
    """Say what happened, and save what was asked for."""
    access = access_of(model, args.access)
    open_loop = ", access reset (open loop)" if access is Access.RESET else ""
    ended = ", then the episode ended" if episode.terminated else ""
    each = episode.steps_per_call
    print(
        f"{model.name}, {args.planner}{open_loop}: {len(episode.actions)} steps{ended}; total "
        f"reward {sum(episode.rewards):.6g}, {episode.calls} calls"
        + (f" of up to {each} simulator steps ({each * episode.calls})" if each > 1 else "")
    )
    if model.replayed:
        print(f"replayed {model.replayed} steps to restore states")
    if args.json is not None:
        about = {
            "environment": model.name,
            "planner": args.planner,
            "access": access.value,
            "seed": args.seed,
            "action_names": model.action_names,
        }
        table = json.dumps({**about, **episode.as_dict()}, indent=1)
        args.json.write_text(table + "\n", encoding="utf-8")
        print(f"table: {args.json}")
    if args.save is not None:
        print(f"film: {args.save}")
