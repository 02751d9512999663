"""The figures of docs/results/theory: counts, regimes, promised and measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from theory_rows import Row
from theory_studies import (
    NOISES,
    high_noise_by_b,
    large_with_noise,
    large_without_noise,
    one_problem_with_noise,
)

from platypoos.lab.problems import MadeToOrder
from platypoos.lab.theory.bounds import bound
from platypoos.lab.theory.expected import expected_regret
from platypoos.lab.theory.figures import CALLS, COLOURS, decorate, draw_points, new_figure, save
from platypoos.lab.theory.hardness import Hardness, hardness, known_hardness
from platypoos.search.layered import LayeredPlanner


def draw_row(axes: Any, row: Row, colour: str, label: str) -> None:
    """A study: points, the bound, and the promised fall through the first point."""
    budgets = [point.budget for point in row.points]
    places = [row.scale(promise) for promise in row.promises]
    draw_points(axes, row.points, colour, label, places)
    if row.promises[0].bound is not None:
        bounds = [promise.bound for promise in row.promises]
        axes.plot(places, bounds, ":", color=colour, label="its bound")
    planner = row.study.planner
    if row.study.in_one_run and isinstance(planner, LayeredPlanner):
        expected = [expected_regret(row.study.problem, planner, budget) for budget in budgets]
        axes.plot(budgets, expected, color=COLOURS[2], linewidth=0.8, label="by the schedule")
    if row.promises[-1].exponent is not None and row.seen:
        first, promise = row.seen[0]
        log_rho = math.log(row.study.problem.rho)
        fall = [
            first.regret * math.exp(((p.depth or 0) - (promise.depth or 0)) * log_rho)
            for p in row.promises
        ]
        axes.plot(places, fall, "--", color=colour, alpha=0.6, label="promised: νρ^h")
        ratios = [place / row.scale(promise) for place in places]
        power = [first.regret * ratio ** -row.promises[-1].exponent for ratio in ratios]
        axes.plot(places, power, "-.", color=COLOURS[1], label="without logarithms")
        if promise.noise:
            start = row.sharper_depth(promise)
            fall = [
                first.regret * math.exp((row.sharper_depth(p) - start) * log_rho)
                for p in row.promises
            ]
            axes.plot(places, fall, "--", color=COLOURS[2], label="promised, if g were 1")


def result_figures(out: Path, found: Sequence[Row]) -> list[Path]:
    """All figures of docs/results/theory."""
    by_name = {row.study.name: row for row in found}
    paths = [counts_figure(out / "counts.png"), regimes_figure(out / "regimes.png")]
    panels = {
        "noiseless.png": ["κ = K, SequOOL", "1 < κ < K, SequOOL", "κ = K, PlaTγPOOS"],
        "noiseless-large.png": [study.name for study in large_without_noise()],
        "high-noise.png": [
            *("γ²κ ≤ 1, high noise", "γ²κ > 1, high noise"),
            *(study.name for study in one_problem_with_noise()),
        ],
        "high-noise-large.png": [study.name for study in large_with_noise()],
        "high-noise-by-b.png": [study.name for study in high_noise_by_b()],
    }
    for name, wanted in panels.items():
        shown = [by_name[key] for key in wanted if key in by_name]
        if shown:
            figure, several = new_figure(len(shown))
            for axes, row in zip(several, shown, strict=True):
                draw_row(axes, row, COLOURS[0], "measured")
                along = "calls by noise squared, N/b²" if row.study.noises else CALLS
                decorate(axes, f"{row.study.name}: {row.promises[-1].rate}", along)
            paths.append(save(figure, out / name))
    chains = [row for name, row in by_name.items() if name.startswith("chain, ")]
    if chains:
        figure, (axes,) = new_figure(1)
        for row, colour in zip(chains, COLOURS, strict=False):
            label = row.study.name.removeprefix("chain, ")
            draw_points(axes, row.points, colour, f"{label}: {row.promises[-1].rate[:4]}")
        decorate(axes, "κ = 1 without noise: free and reset")
        paths.append(save(figure, out / "reset.png"))
    if f"b = {NOISES[0]:g}, OLOP" in by_name:
        figure, several = new_figure(2)
        for axes, name in zip(several, ("PlaTγPOOS", "OLOP"), strict=True):
            for noise, colour in zip(NOISES, COLOURS, strict=False):
                key = f"b = {noise:g}, {name}"
                if key in by_name:
                    draw_points(axes, by_name[key].points, colour, f"b = {noise:g}")
            decorate(axes, f"{name}, κ = 1")
            axes.set_ylim(1e-13, 1)
        paths.append(save(figure, out / "less-noise.png"))
    return paths


def counts_figure(path: Path) -> Path:
    """How many sequences are near-optimal, depth by depth."""
    figure, (axes,) = new_figure(1)
    for kappa, colour in zip((1.0, 1.5, 2.0, 3.0), COLOURS, strict=False):
        problem = MadeToOrder(kappa=kappa, rho=0.5, discount=0.9, num_actions=3, depth=100)
        h = hardness(problem, 0.9, depth=24, rho=0.5)
        depths = np.arange(len(h.counts_u))
        axes.plot(depths, h.counts_u, "o", color=colour, markersize=4)
        label = f"κ = {kappa:g}: fitted {h.kappa_u:.2f}, C = {h.constant_u:.2g}"
        axes.plot(depths, h.constant_u * h.kappa_u**depths, color=colour, label=label)
    axes.set_yscale("log")
    axes.set_xlabel("depth h")
    axes.set_ylabel("near-optimal sequences, N^u_h(3νρ^h)")
    axes.set_title("Points: counted. Lines: C·κ^h", fontsize=10)
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    return save(figure, path)


def regimes_figure(path: Path) -> Path:
    """Which regime a problem is in, over the budget and the noise."""
    from matplotlib.colors import ListedColormap

    figure, several = new_figure(2)
    names = ["low noise", "low noise (i) only", "low noise (ii) only", "low noise (iii) only",
             "high noise"]  # fmt: skip
    colours = ListedColormap(["#2b7bba", "#7fb2d9", "#a9d3a5", "#a9d3a5", "#d1642b"])
    noises = np.logspace(-7, 1, 41)
    budgets = np.logspace(3, 12, 37)
    for axes, (kappa, rho) in zip(several, [(1.0, 0.8), (3.0, 0.8)], strict=True):
        h = known_hardness(MadeToOrder(kappa=kappa, rho=rho, discount=0.8, num_actions=3))
        grid = [[_number(names, h, int(n), float(b)) for n in budgets] for b in noises]
        axes.pcolormesh(budgets, noises, grid, cmap=colours, vmin=-0.5, vmax=4.5, rasterized=True)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(CALLS)
        axes.set_ylabel("noise b")
        axes.set_title(f"κ = {kappa:g}, ρ = γ = 0.8: γ²κ = {0.64 * kappa:.2g}", fontsize=10)
        for number in sorted({number for line in grid for number in line}):
            axes.plot([], [], "s", color=colours(number), label=names[number])
        axes.legend(fontsize=7)
    return save(figure, path)


def _number(names: list[str], h: Hardness, budget: int, noise: float) -> int:
    return names.index(bound(h, budget=budget, noise=noise).regime)
