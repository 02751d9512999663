"""Are the numbers true that plans show? Confidence and leads, on problems with exact values.

``--fit`` prints the coefficients for planners/platypus/confidence.py, found on one half of the
families by logistic regression. Else the other half judges: a reliability diagram, how often
"clear" was wrong, how often the interval of the lead holds, and what ``stop_when_sure`` saves and
costs at the budget of --stops.

python benchmarks/calibration.py                     # writes docs/results/calibration.md
python benchmarks/calibration.py --fit
python benchmarks/calibration.py --once              # families that were looked at only once
python benchmarks/calibration.py --seeds 4 --budgets 100 1000
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from calibration_once import ONCE
from calibration_problems import FITS, JUDGES, Task
from numpy.typing import NDArray

import platypoos as pp
from platypoos.explain.sequences import lines_of
from platypoos.planners.platypus.confidence import Signs
from platypoos.problems.base import optimal_values
from platypoos.progress import progress_bar
from platypoos.results import CLEAR, PROVED

RESULTS = Path(__file__).parents[1] / "docs" / "results"
BUDGETS = (100, 300, 1_000, 3_000, 10_000, 30_000)
RIGHT = 0.05
"""Of the spread of the action values: an action that loses less is right."""
RIDGE = 1.0
"""Of the squared coefficients, so that the fit is tame where families are alike."""
TASKS = {task.name: task for task in [*FITS, *JUDGES, *ONCE]}
SINGLE_LOOK = "## Families that were looked at once"
Row = dict[str, Any]


def measure(name: str, budget: int, seed: int, *, stops: bool) -> Row:
    """One plan, and what is true."""
    task = TASKS[name]
    model = task.make(seed)
    planner = pp.Platypus(task.discount, stop_when_sure=stops)
    plan = planner.plan(model, budget=budget, seed=seed)
    values = optimal_values(model, plan)
    low, high = float(values.min()), float(values.max())
    mine = float(values[plan.action_index])
    row: Row = {
        "family": task.family, "name": name, "budget": budget, "seed": seed, "stops": stops,
        "confidence": plan.confidence, "signs": list(plan.signs), "calls": plan.calls,
        "right": mine >= high - RIGHT * (high - low) - 1e-9 * (high - low + abs(high)),
        "loss": (high - mine) / (high - low) if high > low else 0.0,
        "noisy": plan.noise is not None and plan.noise.deviation > 0.0,
    }  # fmt: skip
    if plan.heard is not None and row["noisy"]:
        row["lead"] = [*plan.heard, true_lead(model, plan, task)]
    return row


def true_lead(model: Any, plan: pp.Plan, task: Task) -> float:
    """What the two plans that ``plan.lead`` compares really differ by."""
    lines = lines_of(plan)
    closed = plan.searched._graph.closed  # noqa: SLF001  no user needs to know
    totals = []
    rival = plan.rival
    assert rival is not None
    for first in (plan.action_index, rival):
        steps = lines[first].steps
        total = model.expected_return(tuple(step.action for step in steps), task.discount)
        if not steps[-1].ends:
            after = plan.reward_floor / (1.0 - task.discount)
            if closed:
                after = float(model.action_values(steps[-1].state, task.discount).max())
            total += task.discount ** len(steps) * after
        totals.append(total)
    return float(totals[0] - totals[1])


# ------------------------------------------------------------------ fit


def features(rows: list[Row]) -> NDArray[np.float64]:
    """What the coefficients belong to: 1, how far ahead, and that times how solid."""
    signs = [Signs(*row["signs"]) for row in rows]
    return np.array([[1.0, sign.ahead, sign.ahead * sign.solid] for sign in signs])


def fit(rows: list[Row]) -> NDArray[np.float64]:
    """Coefficients of a logistic regression; each family counts the same."""
    rows = [row for row in rows if row["confidence"] < PROVED]
    x = features(rows)
    y = np.array([float(row["right"]) for row in rows])
    count: dict[str, int] = defaultdict(int)
    for row in rows:
        count[row["family"]] += 1
    weight = np.array([len(rows) / len(count) / count[row["family"]] for row in rows])
    beta = np.zeros(x.shape[1])
    ridge = RIDGE * np.eye(len(beta))
    ridge[0, 0] = 0.0
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30.0, 30.0)))
        slope = x.T @ (weight * (y - p)) - ridge @ beta
        curve = (x * (weight * p * (1 - p))[:, None]).T @ x + ridge
        step = np.linalg.solve(curve, slope)
        beta += step
        if np.abs(step).max() < 1e-9:
            break
    return beta


def predicted(rows: list[Row], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Confidences by coefficients."""
    x = features(rows)
    p = 1.0 / (1.0 + np.exp(-np.clip(x @ beta, -30.0, 30.0)))
    p *= np.array([Signs(*row["signs"]).looked for row in rows])
    proved = np.array([row["confidence"] >= PROVED for row in rows])
    return np.where(proved, PROVED, np.minimum(p, np.nextafter(PROVED, 0.0)))


# ------------------------------------------------------------------ judge


def calibration_error(p: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Expected calibration error, in ten bins of equal width."""
    bins = np.minimum((p * 10).astype(int), 9)
    return float(
        sum(
            (bins == b).mean() * abs(p[bins == b].mean() - right[bins == b].mean())
            for b in range(10)
            if (bins == b).any()
        )
    )


def area(p: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Area under the ROC curve: how often a right plan is surer than a wrong one."""
    good, bad = p[right > 0.5], p[right < 0.5]
    if not len(good) or not len(bad):
        return math.nan
    order = np.sort(bad)
    below = np.searchsorted(order, good, "left")
    upto = np.searchsorted(order, good, "right")
    return float((below + upto).mean() / 2.0 / len(bad))


def figures(rows: list[Row], p: NDArray[np.float64]) -> dict[str, float]:
    """The figures of some plans."""
    right = np.array([float(row["right"]) for row in rows])
    clear = p >= CLEAR
    unproved = clear & (p < PROVED)
    return {
        "plans": len(rows),
        "right": float(right.mean()),
        "error": calibration_error(p, right),
        "area": area(p, right),
        "clear": float(clear.mean()),
        "clear_wrong": float(1.0 - right[clear].mean()) if clear.any() else math.nan,
        "unproved": float(unproved.mean()),
        "unproved_wrong": float(1.0 - right[unproved].mean()) if unproved.any() else math.nan,
    }


def run(
    args: argparse.Namespace, tasks: list[Task], budgets: list[int], *, stops: bool
) -> list[Row]:
    """All plans; those in the file are not made again."""
    kept: dict[tuple[Any, ...], Row] = {}
    if args.out.exists():
        for line in args.out.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kept[row["name"], row["budget"], row["seed"], row["stops"]] = row
    wanted = [
        (task.name, budget, seed, stops)
        for task in tasks for budget in budgets for seed in range(args.seeds)
    ]  # fmt: skip
    missing = [key for key in wanted if key not in kept]
    with (
        progress_bar(len(wanted), "plan", already=len(wanted) - len(missing), quiet=False) as bar,
        ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool,
        args.out.open("a", encoding="utf-8") as file,
    ):
        for key, row in zip(missing, pool.map(_measure, missing, chunksize=8), strict=True):
            kept[key] = row
            file.write(json.dumps(row) + "\n")
            bar.update(1)
    return [kept[key] for key in wanted]


def _measure(key: tuple[str, int, int, bool]) -> Row:
    name, budget, seed, stops = key
    return measure(name, budget, seed, stops=stops)


def show_fit(rows: list[Row]) -> None:
    """Coefficients, and how well they do on families that are left out."""
    beta = fit(rows)
    names = ("constant", "ahead", "both")
    named = [f"{name} {value:.2f}" for name, value in zip(names, beta, strict=True)]
    print("coefficients:", ", ".join(named))
    print("all:", summary(figures(rows, predicted(rows, beta))))
    for family in sorted({row["family"] for row in rows}):
        others = [row for row in rows if row["family"] != family]
        these = [row for row in rows if row["family"] == family]
        print(f"{family:12}", summary(figures(these, predicted(these, fit(others)))))


def summary(found: dict[str, float]) -> str:
    """One line."""
    return (
        f"{found['plans']:.0f} plans, right {found['right']:.2f}, error {found['error']:.3f}, "
        f"AUC {found['area']:.2f}, clear {found['clear']:.2f} (wrong {found['clear_wrong']:.3f}), "
        f"of these not proved {found['unproved']:.2f} (wrong {found['unproved_wrong']:.3f})"
    )


def coverage(rows: list[Row]) -> tuple[float, int]:
    """The share of leads whose interval holds the truth, and how many there are."""
    leads = [row["lead"] for row in rows if "lead" in row]
    inside = [low <= truth <= high for _, low, high, truth in leads]
    return (float(np.mean(inside)) if inside else math.nan), len(inside)


def table(head: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a Markdown table."""
    rule = "|---" * len(head) + "|"
    return [f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines), ""]


def share(value: float) -> str:
    """A share in percent, or a dash."""
    return "–" if math.isnan(value) else f"{100.0 * value:.1f} %"


HEAD = (
    "", "plans", "right", "calibration error", "area under ROC", "called clear or proved",
    "of these wrong", "clear, not proved", "of these wrong",
)  # fmt: skip


def line_of(title: str, found: dict[str, float]) -> tuple[str, ...]:
    """A line of a table."""
    return (
        title, f"{found['plans']:.0f}", share(found["right"]), f"{found['error']:.3f}",
        "–" if math.isnan(found["area"]) else f"{found['area']:.2f}", share(found["clear"]),
        share(found["clear_wrong"]), share(found["unproved"]), share(found["unproved_wrong"]),
    )  # fmt: skip


def page(rows: list[Row], stopped: list[Row], args: argparse.Namespace) -> str:
    """The results as Markdown."""
    p = np.array([row["confidence"] for row in rows])

    def part(key: str, value: Any) -> tuple[str, ...]:
        mine = np.array([row[key] == value for row in rows])
        chosen = [row for row in rows if row[key] == value]
        return line_of(f"{value:,}" if isinstance(value, int) else value, figures(chosen, p[mine]))

    lines = [line_of("**all**", figures(rows, p))]
    lines += [part("family", family) for family in sorted({row["family"] for row in rows})]
    by_budget = [part("budget", budget) for budget in args.budgets]
    bins = []
    for low in range(10):
        inside = (p >= low / 10) & (p < (low + 1) / 10)
        right = [row["right"] for row, is_in in zip(rows, inside, strict=True) if is_in]
        if right:
            title = f"{10 * low} to {10 * low + 10} %"
            bins.append((title, f"{len(right)}", share(p[inside].mean()), share(np.mean(right))))
    held = [(f"{b:,}", *coverage([r for r in rows if r["budget"] == b])) for b in args.budgets]
    leads = [(title, f"{count}", share(inside)) for title, inside, count in held]
    noisy = coverage([row for row in rows if row["budget"] >= 300])
    full = {(row["name"], row["seed"]): row for row in rows if row["budget"] == args.stops}
    pairs = [(full[row["name"], row["seed"]], row) for row in stopped]
    saved = 1.0 - np.mean([row["calls"] / args.stops for _, row in pairs])
    cost = np.mean([row["loss"] - before["loss"] for before, row in pairs])
    early = [row for _, row in pairs if row["calls"] < args.stops]
    wrong = np.mean([not row["right"] for row in early]) if early else math.nan
    return "\n".join([
        "# Results: are the numbers true?",
        "",
        ("`python benchmarks/calibration.py`, on problems with exact action values that did not "
        f"fit the formula of `plan.confidence`: {len({row['name'] for row in rows})} problems of "
        f"{len({row['family'] for row in rows})} families, {args.seeds} seeds, budgets "
        f"{', '.join(f'{b:,}' for b in args.budgets)}. A decision is right if its action loses at "
        "most a twentieth of the spread of the action values. The formula was fitted on other "
        "families (`--fit`)."),
        "",
        "## Confidence",
        "",
        ("The calibration error is the mean distance of what is said from how often it is right, "
        "in ten bins. The area says how well right and wrong decisions are told apart (0.5: not at "
        "all, 1: always)."),
        "",
        *table(HEAD, lines),
        *table(("calls", *HEAD[1:]), by_budget),
        "What was said, and how often it was right:",
        "",
        *table(("confidence", "plans", "mean", "right"), bins),
        "![Reliability](calibration.png)",
        "",
        "## The lead of a plan over the best one found beside it",
        "",
        ("How often the 95 % interval of `plan.lead` holds the true difference of these two plans "
        f"(rewards with noise; {share(noisy[0])} of {noisy[1]} with 300 calls and more):"),
        "",
        *table(("calls", "plans with an interval", "it holds"), leads),
        "## Stopping when sure",
        "",
        (f"With `stop_when_sure=True` and {args.stops:,} calls at most, {len(pairs)} plans saved "
        f"{share(float(saved))} of the calls. Their actions lost {cost:+.4f} of the spread of the "
        f"action values more. {share(len(early) / len(pairs))} of them stopped early, of which "
        f"{share(float(wrong))} were wrong."),
        "",
    ])  # fmt: skip


def page_of_one_look(rows: list[Row], args: argparse.Namespace) -> str:
    """The part of the page about families that tuned nothing."""
    p = np.array([row["confidence"] for row in rows])
    lines = [line_of("**all**", figures(rows, p))]
    for key in ("family", "budget"):
        for value in sorted({row[key] for row in rows}):
            mine = np.array([row[key] == value for row in rows])
            title = f"{value:,} calls" if key == "budget" else value
            lines.append(line_of(title, figures([r for r in rows if r[key] == value], p[mine])))
    inside, count = coverage([row for row in rows if row["budget"] >= 300])
    return "\n".join([
        SINGLE_LOOK,
        "",
        ("The families above were looked at several times while the formula and the planner grew. "
         "`python benchmarks/calibration.py --once` judges the finished formula on six others, "
         "written for this purpose: jobs on a machine, routes on random roads, houses to be sold, "
         "a press that wears, a stock of fish, rooms that gather dust "
         f"({len({row['name'] for row in rows})} problems, {args.seeds} seeds). They were run "
         "once, and nothing was changed afterwards."),
        "",
        *table(HEAD, lines),
        (f"The interval of the lead holds in {share(inside)} of {count} plans with 300 calls and "
        "more."),
        "",
    ])  # fmt: skip


def write_part(heading: str, text: str) -> None:
    """Put a part into the page, in place of the one with this heading if there is one."""
    target = RESULTS / "calibration.md"
    parts = target.read_text(encoding="utf-8").split("\n## ")
    title = heading.removeprefix("## ")
    kept = [part.rstrip() for part in parts if not part.startswith(title)]
    written = "\n\n## ".join([*kept, text.removeprefix("## ").rstrip()])
    target.write_text(written + "\n", encoding="utf-8")


def draw(rows: list[Row], path: Path) -> None:
    """The reliability diagram."""
    from matplotlib.figure import Figure

    p = np.array([row["confidence"] for row in rows])
    right = np.array([float(row["right"]) for row in rows])
    order = np.argsort(p, kind="stable")
    groups = [group for group in np.array_split(order, 15) if len(group)]
    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#c3ccd4", label="as said")
    means = [right[group].mean() for group in groups]
    errors = [math.sqrt(m * (1 - m) / len(g)) for m, g in zip(means, groups, strict=True)]
    axes.errorbar(
        [p[group].mean() for group in groups], means, errors, fmt="o", color="#0b6e5f",
        capsize=3, label="families that fitted nothing",
    )  # fmt: skip
    axes.set(xlabel="confidence", ylabel="share of right decisions", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, fit or judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="the half that coefficients come from")
    parser.add_argument("--once", action="store_true", help="families that nothing was tuned by")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--stops", type=int, default=3_000, help="one of the budgets (%(default)s)")
    parser.add_argument("--seeds", type=int, default=12, help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/calibration.jsonl"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if args.fit:
        show_fit(run(args, FITS, args.budgets, stops=False))
        return
    if args.once:
        rows = run(args, ONCE, args.budgets, stops=False)
        write_part(SINGLE_LOOK, page_of_one_look(rows, args))
        print("all:", summary(figures(rows, np.array([row["confidence"] for row in rows]))))
        return
    rows = run(args, JUDGES, args.budgets, stops=False)
    stopped = run(args, JUDGES, [args.stops], stops=True)
    target = RESULTS / "calibration.md"
    _, mark, others = target.read_text(encoding="utf-8").partition(SINGLE_LOOK)
    target.write_text(f"{page(rows, stopped, args)}\n{mark}{others}", encoding="utf-8")
    draw(rows, RESULTS / "calibration.png")
    print("all:", summary(figures(rows, np.array([row["confidence"] for row in rows]))))
    print(target)


if __name__ == "__main__":
    main()
