"""What it brings to follow the advice of ``pp.advise``, beside repeat 1 and discount 0.95.

    python benchmarks/advice.py            writes docs/results/advice.md

Platypus, 300 calls a decision for both, the same simulated time, 6 seeds (start, advice and
planner). With a repeat of r a call is r simulator steps, and there is one decision for r of them:
so both take the same number of simulator steps for the same simulated time. The total of the
rewards is measured, without a discount.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp
from platypoos import lab

BUDGET, SEEDS, DISCOUNT = 300, 6, 0.95
REPEATS = (1, 2, 4, 8, 16)
SAME = "the same"
Make = Callable[..., Any]
Row = tuple[str, int, Make]
P = lab.problems


def gym(env: str, **options: Any) -> Make:
    return lambda seed, **more: pp.GymnasiumModel(env, seed=seed, **options, **more)


def ours(kind: Any, **options: Any) -> Make:
    return lambda seed: kind(seed=seed, **options)


CHOSEN: list[Row] = [
    ("Pendulum-v1, 5 torques", 200, gym("Pendulum-v1", actions=5)),
    ("MountainCar-v0", 200, gym("MountainCar-v0")),
    ("Acrobot-v1", 200, gym("Acrobot-v1")),
    ("pillars", 60, ours(P.Pillars)),
    ("pillars, 4 times finer", 240, ours(P.Pillars, dt=0.025)),
    ("pendulum, 4 times finer", 400, ours(P.Pendulum, dt=0.0125)),
    ("lander, 2 times finer", 100, ours(P.Lander, dt=0.1)),
    ("cart-pole", 200, ours(P.CartPole)),
    ("inventory", 60, ours(P.Inventory)),
    ("maze-6", 40, ours(P.Maze, size=6)),
]
"""Name, simulator steps and model of the problems that constants were chosen on."""
JUDGED: list[Row] = [
    ("CartPole-v1", 200, gym("CartPole-v1")),
    ("MountainCarContinuous-v0, 3 forces", 200, gym("MountainCarContinuous-v0", actions=3)),
    ("mountain-car", 200, ours(P.MountainCar)),
    ("mountain-car, 4 times finer", 800, ours(P.MountainCar, dt=0.25)),
    ("acrobot, 2 times finer", 400, ours(P.Acrobot, dt=0.1)),
    ("acrobot, arena's repeat 5", 40, ours(P.Acrobot, repeat=5)),
    ("mountain-car, arena's repeat 10", 20, ours(P.MountainCar, repeat=10)),
    ("pendulum", 200, ours(P.Pendulum)),
    ("pillars, 2 times finer", 120, ours(P.Pillars, dt=0.05)),
    ("cart-pole, 2 times finer", 400, ours(P.CartPole, dt=0.01)),
    ("lander", 50, ours(P.Lander)),
    ("lander, 2 times coarser", 25, ours(P.Lander, dt=0.4)),
    ("InvertedPendulum-v5, 3 forces", 100, gym("InvertedPendulum-v5", actions=3)),
    ("FrozenLake-v1, 8x8", 30, gym("FrozenLake-v1", is_slippery=False, map_name="8x8")),
    ("tiles", 60, ours(P.SlidingTiles)),
]
"""The same for those that were looked at once, after that."""


def play(make: Make, steps: int, seed: int, repeat: int = 1, access: Any = None) -> float:
    """The total of the rewards; models are made as the advice says."""
    model = make(seed)
    discounted = repeat > 1 and not isinstance(model, pp.GymnasiumModel)
    if discounted:
        model = pp.models.RepeatedAction(model, repeat, DISCOUNT ** (1 / repeat))
    elif repeat > 1:
        model = make(seed, repeat=repeat)
    episode = pp.control(
        model,
        budget=BUDGET,
        steps=-(-steps // repeat),
        discount=None if discounted else DISCOUNT,
        seed=seed,
        access=access,
    )
    return single_steps(model, episode) if discounted else float(sum(episode.rewards))


def single_steps(model: Any, episode: pp.Episode) -> float:
    """The rewards of all steps without a discount; the dynamics are deterministic."""
    state, total, rng = model.initial_state, 0.0, np.random.default_rng(0)
    for action in episode.actions:
        for _ in range(model.repeat):
            state, reward, ended = model.model.step(state, action, rng)
            total += float(reward)
            if ended:
                return total
    return total


def measure(name: str, steps: int, make: Make) -> str:
    start = time.time()
    plain, advised, repeats = [], [], []
    for seed in range(SEEDS):
        model = make(seed)
        advice = pp.advise(model, seed=seed, quiet=True)
        assert advice.discount == DISCOUNT
        repeats.append(advice.repeat)
        plain.append(play(make, steps, seed))
        declared = getattr(model, "access", pp.Access.RESTORE)
        same = (advice.repeat, advice.access) == (1, declared)
        advised.append(plain[-1] if same else play(make, steps, seed, advice.repeat, advice.access))
    ahead = np.array(advised) - plain
    error = ahead.std(ddof=1) / np.sqrt(SEEDS)
    verdict = f"{ahead.mean() / error:+.1f}" if error else SAME
    cells = (
        name,
        str(steps),
        " ".join(str(repeat) for repeat in repeats),
        f"{np.mean(plain):.5g}",
        f"{np.mean(advised):.5g}",
        f"{ahead.mean():+.4g} ± {error:.2g}",
        verdict,
    )
    print(*cells, f"{time.time() - start:.0f} s", sep=" | ", flush=True)
    return f"| {' | '.join(cells)} |"


def summary(rows: list[str]) -> str:
    """How often the advice was another one than the default, and how often it was better."""
    verdicts = [row.split(" | ")[-1].removesuffix(" |") for row in rows]
    ahead = [float(verdict) for verdict in verdicts if verdict != SAME]
    return (
        f"Following the advice changes the runs of {len(ahead)} of {len(rows)} problems. It is "
        f"better by three standard errors or more on {sum(z >= 3 for z in ahead)}, worse by as "
        f"much on {sum(z <= -3 for z in ahead)}."
    )


def others(name: str, steps: int, make: Make) -> str:
    """A row with the totals of fixed repeats."""
    cells = [name]
    for repeat in REPEATS:
        totals = [play(make, steps, seed, repeat) for seed in range(SEEDS)]
        error = np.std(totals, ddof=1) / np.sqrt(SEEDS)
        cells.append(f"{np.mean(totals):.5g} ± {error:.2g}")
    print(*cells, sep=" | ", flush=True)
    return f"| {' | '.join(cells)} |"


def compare_repeats() -> list[str]:
    """What fixed repeats bring, where constants were chosen: why most of the advice is 1."""
    lines = ["## Fixed repeats", "", "Mean total and its standard error, with all repeats.", ""]
    lines.append(f"| problem | {' | '.join(str(repeat) for repeat in REPEATS)} |")
    lines.append("|---" * (1 + len(REPEATS)) + "|")
    return lines + [others(*row) for row in CHOSEN[:8]]


def main() -> None:
    warnings.simplefilter("ignore")
    about = " ".join(str(__doc__).split("\n\n")[2].split())
    lines = ["# Following the advice", "", f"`python benchmarks/advice.py`. {about}", ""]
    lines.append(
        "Repeats are those advised with the six seeds. The last column is the mean difference in "
        "its standard errors. Where the advice is what is done by default, both are the same runs. "
        "Some systems of the second table are in the first one too, with another time step."
    )
    lines.append("")
    columns = (
        "problem", "simulator steps", "repeats advised", "by default", "advised", "difference",
        "in standard errors",
    )  # fmt: skip
    target = Path(__file__).parents[1] / "docs" / "results" / "advice.md"
    for title, rows in (
        ("Problems that the constants were chosen on", CHOSEN),
        ("Other problems, measured with these constants", JUDGED),
    ):
        lines += [f"## {title}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        measured = []
        for row in rows:
            measured.append(measure(*row))
            lines.append(measured[-1])
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        lines += ["", summary(measured), ""]
    lines += compare_repeats()
    target.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
