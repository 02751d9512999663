"""The command play: plan and act in an environment."""

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
from platypoos.checks import check_count
from platypoos.cli.options import (
    DEFAULT_BUDGET,
    PLANNER,
    add_environment,
    add_options,
    make_environment,
    make_planner,
    own_environment,
    whole,
)
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, access_of
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.wrappers import NoisyReward
from platypoos.named import is_own
from platypoos.progress import StatusLine
from platypoos.results import Episode, Plan
from platypoos.spaces import Tried

EXAMPLES = """\
examples:
  platypoos play CartPole-v1 --repeat 4 --budget 3000 --discount 0.9 --steps 125 --save out.gif
  platypoos play Pendulum-v1 --budget 300 --steps 200
  platypoos play Pendulum-v1 --actions 5 --repeat 4 --budget 3000 --steps 50     five torques
  platypoos play HalfCheetah-v5 --repeat 4 --budget 1000 --steps 50 --save hc.gif
  platypoos play ALE/MsPacman-v5 --option repeat_action_probability=0.0 --budget 100 --steps 200
  platypoos play highway-fast-v0 --discount 0.9 --budget 50 --steps 30 --workers 2
"""


def add_play_command(commands: Any) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "play",
        help="plan and act in a Gymnasium environment",
        description="Plan, act, repeat in a Gymnasium environment. Ctrl-C keeps what was played.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_environment(one)
    add_options(one, *PLANNER, "steps", "actions", "noise", "access", "quiet", steps=200, noise=0.0)
    one.add_argument("--workers", type=whole, default=1, help="processes, if it is slow (1)")
    one.add_argument("--save", type=Path, help="a .gif or .mp4 file to film the episode in")
    one.add_argument("--json", type=Path, metavar="FILE", help="write the episode's table there")
    one.set_defaults(run=_play)


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
