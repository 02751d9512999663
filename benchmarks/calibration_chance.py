"""Is the confidence true under random dynamics? On eleven problems with exact values.

They are the finite ones of ``chance.py``; each seed plans from another state. ``--fit`` prints the
coefficients for planners/chance/confidence.py, found on six of them. Else the other five judge, and
their part of docs/results/calibration.md is written.

python benchmarks/calibration_chance.py
python benchmarks/calibration_chance.py --fit
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from calibration import HEAD, RIGHT, Row, fit, line_of, predicted, summary, table, write_part
from calibration import figures as figures_of
from chance import FINITE, garnet
from numpy.typing import NDArray

import platypoos as pp
from platypoos.progress import progress_bar

FITS = ("coins", "gambler", "lake", "large-lake", "queue", "sailing")
JUDGES = ("dice", "garnet", "inventory", "machine", "race")
BUDGETS = (100, 300, 1_000, 3_000)
HEADING = "## Random dynamics"


@functools.cache
def problem(name: str, seed: int) -> Any:
    """A problem; garnets are others for each seed."""
    return garnet(seed=100 + seed) if name == "garnet" else FINITE[name]()


def measure(name: str, budget: int, seed: int) -> Row:
    """One plan, and what is true."""
    process = problem(name, seed if name == "garnet" else 0)
    start = process.starts[seed % len(process.starts)]
    model = pp.FunctionModel(process.step, process.actions, start, dynamics="random")
    plan = pp.plan(model, budget=budget, discount=process.discount, seed=seed)
    values = np.array(process.action_values(start))
    loss = values.max() - values[plan.action_index]
    return {
        "family": name, "budget": budget, "seed": seed, "confidence": plan.confidence,
        "signs": list(plan.signs), "right": bool(loss <= RIGHT * np.ptp(values) + 1e-9),
    }  # fmt: skip


def run(
    names: tuple[str, ...], seeds: int, out: Path, measure: Callable[[str, int, int], Row]
) -> list[Row]:
    """All plans; those in the file are not made again."""
    kept: dict[tuple[str, int, int], Row] = {}
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kept[row["family"], row["budget"], row["seed"]] = row
    wanted = [(name, n, seed) for name in names for seed in range(seeds) for n in BUDGETS]
    with (
        progress_bar(len(wanted), "plan", already=0, quiet=False) as bar,
        out.open("a", encoding="utf-8") as file,
    ):
        for key in wanted:
            if key not in kept:
                kept[key] = measure(*key)
                file.write(json.dumps(kept[key]) + "\n")
                file.flush()
            bar.update(1)
    return [kept[key] for key in wanted]


def lines_by(rows: list[Row], p: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """A line for each family, and one for each budget."""
    lines = []
    for key in ("family", "budget"):
        for value in sorted({row[key] for row in rows}):
            mine = np.array([row[key] == value for row in rows])
            title = f"{value:,} calls" if key == "budget" else value
            chosen = [row for row in rows if row[key] == value]
            lines.append(line_of(title, figures_of(chosen, p[mine])))
    return lines


def page(rows: list[Row], seeds: int) -> str:
    """The part of the page."""
    p = np.array([row["confidence"] for row in rows])
    lines = [line_of("**all**", figures_of(rows, p)), *lines_by(rows, p)]
    return "\n".join([
        HEADING,
        "",
        ("`python benchmarks/calibration_chance.py`, on five problems of "
         "[random dynamics](chance.md) that did not fit the coefficients, from "
         f"{seeds} states each; six others fitted them (`--fit`). These five were looked at once. "
         "Nothing is ever called proved there."),
        "",
        *table(HEAD, lines),
    ])  # fmt: skip


def main() -> None:
    """Fit or judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="the half that coefficients come from")
    parser.add_argument("--seeds", type=int, default=12, help="(%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/calibration-chance.jsonl"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = run(FITS if args.fit else JUDGES, args.seeds, args.out, measure)
    if args.fit:
        beta = fit(rows)
        print("coefficients:", beta.round(2).tolist())
        print("all:", summary(figures_of(rows, predicted(rows, beta))))
        return
    write_part(HEADING, page(rows, args.seeds))
    print("all:", summary(figures_of(rows, np.array([row["confidence"] for row in rows]))))


if __name__ == "__main__":
    main()
