"""Figures: predicted and measured regret against the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.lab.theory.bounds import Bound
from platypoos.lab.theory.measure import Point
from platypoos.version import install

CALLS = "calls of the simulator, N"
COLOURS = ("#5b3a1e", "#d1642b", "#2b7bba", "#3a8f4d", "#8a5aa8", "#777777")


def new_figure(panels: int) -> Any:
    """A figure with some panels side by side, in rows of five at most."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidArgument(f"figures need Matplotlib: {install('experiments')}") from error
    rows = math.ceil(panels / 5)
    columns = math.ceil(panels / rows)
    figure = Figure(figsize=(5.0 * columns, 3.8 * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(panels)]


def save(figure: Any, path: Path) -> Path:
    """Write the figure, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        figure.savefig(path, dpi=90)
    except ValueError as error:
        raise InvalidArgument(f"cannot write {path}: {error}") from error
    return path


def draw_points(
    axes: Any,
    points: Sequence[Point],
    colour: str,
    label: str,
    places: Sequence[float] | None = None,
) -> None:
    """Measured regrets by their budgets or other places; triangles at the bottom are zeros."""
    along = places or [point.budget for point in points]
    seen = [point for point in points if point.regret > 0]
    axes.errorbar(
        [place for place, point in zip(along, points, strict=True) if point.regret > 0],
        [point.regret for point in seen],
        yerr=[min(1.96 * point.error, 0.9 * point.regret) for point in seen],
        color=colour,
        marker="o",
        markersize=4,
        linewidth=1.2,
        label=label,
    )
    zero = [place for place, point in zip(along, points, strict=True) if point.regret == 0]
    if zero:
        axes.plot(zero, [0.03] * len(zero), "v", color=colour, transform=axes.get_xaxis_transform())


def decorate(axes: Any, title: str, along: str = CALLS) -> None:
    """Scales, names and a legend."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(along)
    axes.set_ylabel("simple regret")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, framealpha=0.5)


def predicted_and_measured(
    path: Path, title: str, points: Sequence[Point], promises: Sequence[Bound]
) -> Path:
    """The figure of ``platypoos theory PROBLEM --figure``."""
    figure, (axes,) = new_figure(1)
    budgets = [promise.budget for promise in promises]
    if promises[0].bound is not None:
        axes.plot(budgets, [promise.bound for promise in promises], color=COLOURS[5], label="bound")
    seen = [point for point in points if point.regret > 0]
    exponent = promises[-1].exponent
    if seen and exponent is not None:
        fall = [seen[0].regret * (n / seen[0].budget) ** -exponent for n in budgets]
        axes.plot(budgets, fall, "--", color=COLOURS[1], label=f"rate {promises[-1].rate}")
    draw_points(axes, points, COLOURS[0], f"measured, {promises[0].planner}")
    decorate(axes, title)
    return save(figure, path)
