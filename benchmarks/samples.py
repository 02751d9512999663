"""What wasting no sample is worth: Platypus beside the published planner and its contenders.

    python benchmarks/samples.py       writes docs/results/samples.md and .png (half an hour)

What was measured is kept in out/samples.jsonl; it goes on where it was stopped.

Regret of a plan: max Q* − Q*(action). Regret of an episode of 20 steps: Σ γ^t of these. A budget
is enough when from there on the mean regret stays below a tenth of that of random actions
(interpolated in log N). 100 paired seeds from 20,000 on; the planner's constants were chosen with
others. Contenders are told the true ranges.
"""

from __future__ import annotations

import json
import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import platypoos as pp

STEPS, FIRST, SEEDS = 20, 20_000, 100
BUDGETS = [round(10 * 10 ** (i / 3)) for i in range(10)]  # 10 … 10,000
Floats = NDArray[np.float64]


def make(name: str) -> tuple[list[Any], float, tuple[float, float], float]:
    """Problems (one, or one for each seed), discount, range of mean rewards, noise."""
    kind, noise = name.split("±")
    b = float(noise)
    made = pp.problems
    if kind == "SwitchChain":
        return [made.SwitchChain(noise=b)], 0.95, (100.0, 130.0), b
    if kind == "Grid":
        return [made.Grid(noise=b)], 0.95, (-0.1, 10.0), b
    if kind == "Battery":
        return [made.Battery(noise=b)], 0.95, (-75 / 0.9, 75.0), b
    if kind == "tree":  # 2^15 states in a tree of depth 14: nothing ever meets
        return [tree(FIRST + s, b) for s in range(SEEDS)], 0.9, (0.0, 1.0), b
    actions = int(kind[-1])
    garnets = [made.Garnet(20, actions, seed=FIRST + s, noise=b) for s in range(SEEDS)]
    return garnets, 0.9, (0.0, 1.0), b


def tree(seed: int, noise: float, depth: int = 14) -> Any:
    """Every sequence of actions has its own state, and mean rewards are random."""
    rng = np.random.default_rng([7, seed])
    states = 2 ** (depth + 1) - 1
    inner = np.arange(2**depth - 1)
    successor = np.column_stack((2 * inner + 1, 2 * inner + 2))
    successor = np.vstack((successor, np.zeros((2**depth, 2), np.int64)))
    return pp.problems.Tabular(
        successor, rng.random((states, 2)), noise, terminal=np.arange(2**depth - 1, states)
    )


PROBLEMS = (
    [f"SwitchChain±{b}" for b in (0, 1, 10, 20, 50)]
    + [f"Garnet{k}±{b}" for k in (2, 3, 4, 5) for b in (0, 1)]
    + [f"Grid±{b}" for b in (0, 1, 10)]
    + [f"Battery±{b}" for b in (0, 5, 50)]
)
TREES = ["tree±0", "tree±1"]
OURS = ("published", "platypus", "platypus+memory")
CONTENDERS = ("olop", "kl-olop", "opd", "uct", "uct-10")
NOISES = ((0.0, 0.0), (0.03, 0.04), (0.1, 0.7), (0.9, 1.7))
"""From least to most, as ``relative_noise``."""
BY_NOISE = "| noise (problems) | published | platypus | platypus+memory | best contender |"


def relative_noise(name: str) -> float:
    """As a part of the range of the mean rewards, so that problems can be compared."""
    _, _, (low, high), noise = make(name)
    return round(noise / (high - low), 2)


def planner(
    name: str, discount: float, low: float, high: float, b: float
) -> pp.planners.Planner | None:
    """A planner that knows the truth, if it must know something."""
    far = math.ceil(math.log(0.1) / math.log(discount))

    def uct(horizon: int) -> pp.planners.Planner:
        scale = (high - low + 2 * b) * (1 - discount**horizon) / (1 - discount) / 2
        return pp.planners.UCT(discount, scale=scale, horizon=horizon)

    if name == "olop":
        return pp.planners.OLOP(discount, reward_max=high, noise=b) if low >= 0 else None
    if name == "kl-olop":
        return pp.planners.KLOLOP(discount, reward_min=low - b, reward_max=high + b)
    if name.startswith("uct"):
        return uct(10 if name == "uct-10" else far)
    if name == "opd":
        return pp.planners.OPD(discount, reward_min=low, reward_max=high)
    if name.startswith("platypus"):
        return pp.Platypus(discount, memory=10**9 if name == "platypus+memory" else 0)
    return pp.planners.Random(discount) if name == "random" else pp.PlaTyPOOS(discount)


def regrets(cell: tuple[str, str, int]) -> Floats | None:
    """[seeds, 2]: the regret of the first plan, and of the episode."""
    name, who, budget = cell
    problems, discount, (low, high), b = make(name)
    chosen = planner(who, discount, low, high, b)
    if chosen is None or budget < problems[0].actions.n:
        return None
    rows = []
    models = [problem.compiled() for problem in problems]
    for seed in range(SEEDS):
        problem, model = problems[seed % len(problems)], models[seed % len(problems)]
        episode = pp.control(model, planner=chosen, budget=budget, steps=STEPS, seed=FIRST + seed)
        lost = []
        for state, action in zip(episode.states, episode.actions, strict=False):
            values = problem.action_values(state, discount)
            lost.append(float(values.max() - values[action]))
        rows.append((lost[0], float(np.dot(lost, discount ** np.arange(len(lost))))))
    return np.array(rows)


def enough(means: list[float], target: float, budgets: list[int]) -> float:
    """The budget from which on the mean stays below the target; inf if none does."""
    i = len(means)
    while i > 0 and means[i - 1] <= target:
        i -= 1
    if i == len(means):
        return math.inf
    if i == 0:
        return float(budgets[0])
    share = (means[i - 1] - target) / (means[i - 1] - means[i])
    return float(budgets[i - 1] ** (1 - share) * budgets[i] ** share)


def shown(number: float) -> str:
    """A budget in a table."""
    return f"> {BUDGETS[-1]:,}" if math.isinf(number) else f"{number:,.0f}"


def geometric(numbers: list[float]) -> float:
    """Geometric mean; a budget beyond the table counts as twice the largest."""
    capped = [min(number, 2 * BUDGETS[-1]) for number in numbers]
    return math.exp(float(np.mean(np.log(capped))))


def report(results: dict[tuple[str, str, int], Floats]) -> list[str]:
    """The tables."""
    about = str(__doc__).split("\n\n")[3].replace("\n", " ").strip()
    lines = ["# Waste no sample", "", f"`python benchmarks/samples.py`. {about}", ""]
    lines += ["![Regret of episodes against calls a step](samples.png)", ""]
    needs: dict[tuple[str, str, int], float] = {}
    for name in PROBLEMS + TREES:
        random = results[name, "random", 10].mean(axis=0)
        for who in (*OURS, *CONTENDERS):
            budgets = [n for n in BUDGETS if (name, who, n) in results]
            if not budgets:
                continue
            means = np.array([results[name, who, n].mean(axis=0) for n in budgets])
            for which in (0, 1):
                needs[name, who, which] = enough(
                    means[:, which].tolist(), 0.1 * random[which], budgets
                )
    by_noise: list[str] = []
    for which, title in ((0, "single plans"), (1, "episodes")):
        lines += [f"## Calls per plan that are enough: {title}", ""]
        ours = OURS[:2] if which == 0 else OURS
        head = [*ours, "best contender"]
        lines += ["| problem | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
        totals: dict[str, list[float]] = {who: [] for who in head}
        for name in PROBLEMS:
            row = [needs[name, who, which] for who in ours]
            rivals = {w: needs[name, w, which] for w in CONTENDERS if (name, w, which) in needs}
            best = min(rivals, key=lambda who: rivals[who])
            for who, number in zip(head, [*row, rivals[best]], strict=True):
                totals[who].append(number)
            cells = [shown(number) for number in row]
            cells.append(shown(rivals[best]) + ("" if math.isinf(rivals[best]) else f" ({best})"))
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        centres = [geometric(totals[who]) for who in head]
        lines.append("| geometric mean | " + " | ".join(shown(mean) for mean in centres) + " |")
        ratios = [f"{mean / centres[0]:.2f}" for mean in centres]
        lines += ["| of the published | " + " | ".join(ratios) + " |", ""]
        for least, most in NOISES:
            of = [i for i, name in enumerate(PROBLEMS) if least <= relative_noise(name) <= most]
            centre = [geometric([totals[who][i] for i in of]) for who in head]
            label = f"{least:g}" if least == most else f"{least:g} to {most:g}"
            cells = [f"{title}, {label} ({len(of)})", *(shown(x) for x in centre)]
            if which == 0:
                cells.insert(3, "–")
            by_noise.append("| " + " | ".join(cells) + " |")
    lines += ["## Geometric means at each noise", ""]
    lines += ["The noise's half-width as a part of the range of the mean rewards.", ""]
    lines += [BY_NOISE, "|---" * 5 + "|", *by_noise, ""]
    lines += significance(results)
    return lines


def significance(results: dict[tuple[str, str, int], Floats]) -> list[str]:
    """Where the published planner is better at equal N, by paired differences."""
    lines = ["## Equal budgets, paired seeds", ""]
    for who, which, title in (
        ("platypus", 0, "single plans"),
        ("platypus", 1, "episodes without memory"),
        ("platypus+memory", 1, "episodes with memory"),
    ):
        worse, better, cells = [], 0, 0
        for name in PROBLEMS + TREES:
            for n in BUDGETS:
                if (name, who, n) not in results:
                    continue
                cells += 1
                a, b = results[name, who, n][:, which], results[name, "published", n][:, which]
                difference = a - b
                error = difference.std(ddof=1) / math.sqrt(len(difference))
                if error == 0 and difference.mean() == 0:
                    continue
                if difference.mean() > 3 * error:
                    worse.append(f"{name} at {n} ({a.mean():.3g} against {b.mean():.3g})")
                elif difference.mean() < -3 * error:
                    better += 1
        lines.append(
            f"- {title}: of {cells} cells, {better} better by more than 3 standard errors, "
            f"{len(worse)} worse" + (": " + "; ".join(worse) if worse else "") + "."
        )
    return lines


SHOWN = [
    *("SwitchChain±1", "SwitchChain±10", "SwitchChain±50", "Garnet2±1", "Garnet5±1"),
    *("Grid±0", "Grid±1", "Battery±5", "Battery±50", "tree±1"),
]


def draw(results: dict[tuple[str, str, int], Floats], target: Path) -> None:
    """Regret of episodes against calls a step, for some of the problems."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(15, 6), sharex=True, sharey=True)
    for axis, name in zip(axes.ravel(), SHOWN, strict=True):
        random = results[name, "random", 10][:, 1].mean()
        for who in OURS:
            means = [results[name, who, n][:, 1].mean() / random for n in BUDGETS]
            axis.plot(BUDGETS, means, marker=".", label=who)
        rivals = [
            [results[name, who, n][:, 1].mean() for who in CONTENDERS if (name, who, n) in results]
            for n in BUDGETS
        ]
        if all(rivals):
            best = [min(means) / random for means in rivals]
            axis.plot(BUDGETS, best, ":", color="grey", label="best contender")
        axis.axhline(0.1, color="black", linewidth=0.5)
        axis.set(title=name, xscale="log", ylim=(0, 1.2))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("regret / random's")
    axes[1, 0].set_ylabel("regret / random's")
    for axis in axes[1]:
        axis.set_xlabel("calls a step")
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(target, dpi=80)


def kept(store: Path) -> dict[tuple[str, str, int], Floats | None]:
    """What was measured before."""
    if not store.exists():
        return {}
    lines = store.read_text(encoding="utf-8").splitlines()
    return {tuple(cell): rows and np.array(rows) for cell, rows in map(json.loads, lines)}


def main() -> None:
    start = time.time()
    cells = [(name, "random", 10) for name in PROBLEMS + TREES]
    cells += [(name, who, n) for name in PROBLEMS + TREES for who in OURS for n in BUDGETS]
    cells += [(name, who, n) for name in PROBLEMS for who in CONTENDERS for n in BUDGETS]
    root = Path(__file__).parents[1]
    store = root / "out" / "samples.jsonl"
    store.parent.mkdir(exist_ok=True)
    measured = kept(store)
    missing = [cell for cell in cells if cell not in measured]
    with ProcessPoolExecutor(2) as pool, store.open("a", encoding="utf-8") as file:
        for i, (cell, rows) in enumerate(zip(missing, pool.map(regrets, missing), strict=True)):
            measured[cell] = rows
            print(
                json.dumps([cell, None if rows is None else rows.tolist()]), file=file, flush=True
            )
            if sys.stderr.isatty() or i % 50 == 0:
                print(f"{i + 1} of {len(missing)} {cell} {time.time() - start:.0f} s", flush=True)
    results = {cell: rows for cell in cells if (rows := measured[cell]) is not None}
    target = root / "docs" / "results" / "samples.md"
    draw(results, target.with_suffix(".png"))
    target.write_text("\n".join(report(results)) + "\n", encoding="utf-8")
    print(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
