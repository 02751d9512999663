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

BUDGET, SEEDS, DISCOUNT = 300, 6, 0.95
Make = Callable[[int], Any]
Row = tuple[str, int, Make]
P = pp.problems


def gym(env: str, **options: Any) -> Make:
    return lambda seed: pp.GymnasiumModel(env, seed=seed, **options)


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


def follow(make: Make, steps: int, seed: int, advice: pp.Recommendation | None) -> float:
    """The total of the rewards, with advice or by default."""
    model, discount, repeat = make(seed), DISCOUNT, 1
    access = None
    if advice is not None:
        repeat, access = advice.repeat, advice.access
        if isinstance(model, pp.GymnasiumModel):
            code = next(line for line in advice.code if line.startswith("model = "))
            model = eval(code.removeprefix("model = "), {"pp": pp})  # noqa: S307  what it prints
        elif repeat > 1:
            model = pp.RepeatedAction(model, repeat, advice.discount ** (1 / repeat))
        discount = advice.discount
    decisions = -(-steps // repeat)
    if isinstance(model, pp.RepeatedAction):
        # Its rewards are discounted within a decision: act in the model itself.
        return act_in_steps(model, decisions, discount, seed)
    episode = pp.control(
        model, budget=BUDGET, steps=decisions, discount=discount, seed=seed, access=access
    )
    return float(sum(episode.rewards))


def act_in_steps(model: Any, decisions: int, discount: float, seed: int) -> float:
    """Plan with the repeated action, and add up the plain rewards of its steps."""
    acting, planning = np.random.default_rng(seed).spawn(2)
    agent = pp.Agent(model, budget=BUDGET, discount=model.discount, seed=planning)
    state, total, ended = model.initial_state, 0.0, False
    assert np.isclose(model.discount, discount)
    for _ in range(decisions):
        action = agent.act(state).action
        for _ in range(model.repeat):
            state, reward, ended = model.model.step(state, action, acting)
            total += float(reward)
            if ended:
                return total
    return total


def measure(name: str, steps: int, make: Make) -> str:
    start = time.time()
    plain, advised, repeats = [], [], []
    for seed in range(SEEDS):
        advice = pp.advise(make(seed), seed=seed, quiet=True)
        repeats.append(advice.repeat)
        plain.append(follow(make, steps, seed, None))
        declared = getattr(make(seed), "access", pp.Access.RESTORE)
        same = (advice.repeat, advice.discount, advice.access) == (1, DISCOUNT, declared)
        advised.append(plain[-1] if same else follow(make, steps, seed, advice))
    ahead = np.array(advised) - plain
    error = ahead.std(ddof=1) / np.sqrt(SEEDS)
    verdict = "the same"
    if ahead.any():
        verdict = "±0" if error == 0 else f"{ahead.mean() / error:+.1f}"
        if error == 0:
            verdict = "better in all" if ahead.mean() > 0 else "worse in all"
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


def main() -> None:
    warnings.simplefilter("ignore")
    about = " ".join(str(__doc__).split("\n\n")[2].split())
    lines = ["# Following the advice", "", f"`python benchmarks/advice.py`. {about}", ""]
    lines.append(
        "Repeats are those advised with the six seeds. The last column is the mean difference in "
        "its standard errors. Where the advice is what is done by default, both are the same runs."
    )
    lines.append("")
    columns = (
        "problem", "simulator steps", "repeats advised", "by default", "advised", "difference",
        "in standard errors",
    )  # fmt: skip
    target = Path(__file__).parents[1] / "docs" / "results" / "advice.md"
    for title, rows in (
        ("Problems that the constants were chosen on", CHOSEN),
        ("Problems that were looked at once, with these constants", JUDGED),
    ):
        lines += [f"## {title}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for row in rows:
            lines.append(measure(*row))
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        lines.append("")
    target.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
