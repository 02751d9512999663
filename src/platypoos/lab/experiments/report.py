"""A self-contained page with figures to hover over and zoom, tables and settings; and pictures."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from platypoos.errors import InvalidArgument
from platypoos.lab.experiments.cells import Row
from platypoos.lab.experiments.lines import (
    PAIRED,
    Line,
    across_problems,
    differences,
    lines,
    verdicts,
)
from platypoos.lab.experiments.quoting import in_figure, in_picture, in_script
from platypoos.lab.experiments.spec import Block, Experiment
from platypoos.lab.experiments.standings import Standings, standings
from platypoos.lab.experiments.standings_page import draw, explained, grid, page_parts
from platypoos.lab.experiments.store import Store
from platypoos.version import install

COLOURS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf",
    "#7f7f7f", "#bcbd22",
)  # fmt: skip
NAMES = {
    "expected": "expected return",
    "received": "return received",
    "total": "sum of rewards",
    "regret": "simple regret of the first action",
    "calls": "calls",
    "seconds": "seconds",
}
HOW_TO = (
    "Means over seeds with 95 % bootstrap intervals. Click a legend entry to hide a line, twice to "
    "see it alone; drag to zoom, double-click to zoom out."
)
SCORES = (
    "Scores are scaled so that 0 is what random actions get (or the worst planner, if random "
    "actions take no part) and 1 the best mean."
)
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 0.5rem 0 1.5rem; }
th, td { border: 1px solid #ccc; padding: 0.2rem 0.5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.figure { height: 30rem; } details { margin: 0.5rem 0; } .scroll { overflow-x: auto; }
"""


def write_report(folder: Path | str) -> list[Path]:
    """Write report.html, figure.png and figure.svg for the results in a directory."""
    folder = Path(folder)
    try:
        import matplotlib as mpl
        import plotly
    except ImportError as error:
        raise InvalidArgument(f"a report needs {error.name}: {install('experiments')}") from error
    del mpl, plotly
    store = Store(folder)
    try:
        experiment, rows, facts = store.experiment, store.rows(), store.facts()
    finally:
        store.close()
    page = folder / "report.html"
    compared = _standings(experiment, rows)
    page.write_text(_page(experiment, rows, facts, compared), encoding="utf-8")
    if compared is not None and _has_families(experiment):
        return [page, *draw(compared, folder)]
    return [page, *_pictures(experiment, rows, folder)]


def _has_families(experiment: Experiment) -> bool:
    """Whether problems are compared by family, and not figure by figure."""
    return all(block.family for block in experiment.blocks)


def _standings(experiment: Experiment, rows: dict[str, Row]) -> Standings | None:
    """The scores of all planners, where there are several and something was run."""
    if all(len(block.planners) == 1 for block in experiment.blocks) or not rows:
        return None
    try:
        return standings(experiment, rows)
    except InvalidArgument:
        return None


def _panels(experiment: Experiment, rows: dict[str, Row]) -> list[tuple[str, Block, list[Line]]]:
    """A title, the block and the lines of every figure: one for each problem of each block."""
    found = []
    for block in experiment.blocks:
        for problem in block.problems:
            title = block.title
            if len(block.problems) > 1:
                title += f": {problem.title}"
            found.append((title, block, lines(block, problem, rows)))
    return found


def _page(
    experiment: Experiment,
    rows: dict[str, Row],
    facts: dict[str, str],
    compared: Standings | None,
) -> str:
    from plotly.offline import get_plotlyjs

    wanted = experiment.cells()
    status = [rows[cell.key]["status"] for cell in wanted if cell.key in rows]
    failed = status.count("failed")
    parts = [
        f"<h1>{html.escape(experiment.name)}</h1>",
        f"<p>{status.count('done')} of {len(wanted)} cells done, {failed} failed. {HOW_TO}</p>",
    ]
    if compared is not None and _has_families(experiment):
        parts += page_parts(experiment, compared, COLOURS)
    else:
        parts += _figures(experiment, rows)
        parts += [] if compared is None else _worse(compared)
    settings = "".join(
        f"<tr><td>{html.escape(k)}</td><td>{html.escape(v)}</td></tr>"
        for k, v in sorted(facts.items())
    )
    specification = html.escape(json.dumps(json.loads(experiment.as_json()), indent=1))
    parts += [
        "<h2>Settings</h2>",
        f"<table>{settings}</table>",
        f"<details><summary>Specification</summary><pre>{specification}</pre></details>",
    ]
    errors = {r["error"] for r in rows.values() if r["status"] == "failed"}
    if errors:
        traces = "".join(f"<pre>{html.escape(e)}</pre>" for e in sorted(errors))
        parts.append(f"<h2>Failures</h2>{traces}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(experiment.name)}</title><style>{STYLE}</style>"
        f"<link rel='icon' href='data:,'><script>{get_plotlyjs()}</script></head>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _figures(experiment: Experiment, rows: dict[str, Row]) -> list[str]:
    """A figure and tables for each problem."""
    parts = []
    for number, (title, block, found) in enumerate(_panels(experiment, rows)):
        parts += [
            f"<h2>{html.escape(title)}</h2>",
            f'<div class="figure" id="figure-{number}"></div>',
            f"<script>Plotly.newPlot('figure-{number}', {_figure(block, found)});</script>",
            f"<details><summary>Table</summary>{_table(found)}{_paired(block, found)}</details>",
        ]
    return parts + [_across(block, rows) for block in experiment.blocks if len(block.problems) > 1]


def _worse(compared: Standings) -> list[str]:
    """Where planners are significantly worse than others."""
    entries = [entry for found in compared.all_worse().values() for entry in found]
    body = [
        [entry.planner, entry.rival, str(entry.place), f"{entry.difference:+.3f}", f"{entry.p:.1g}"]
        for entry in entries
    ]
    head = ["planner", "is worse than", "on", "difference of scores", "p"]
    found = grid(head, body) if body else "<p>Nowhere.</p>"
    title = "<h2>Where planners are significantly worse than others</h2>"
    return [title, f"<p>{SCORES} {html.escape(explained(compared))}</p>", found]


def _figure(block: Block, found: list[Line]) -> str:
    """Arguments for Plotly: traces and layout."""
    traces: list[dict[str, Any]] = []
    for i, line in enumerate(found):
        colour = COLOURS[i % len(COLOURS)]
        intervals = line.intervals()
        x = list(intervals)
        band = [v.high for v in intervals.values()] + [v.low for v in intervals.values()][::-1]
        shared = {"legendgroup": str(i), "line": {"color": colour, "width": 0}}
        traces.append(
            {
                **shared,
                "x": x + x[::-1],
                "y": band,
                "fill": "toself",
                "fillcolor": colour,
                "opacity": 0.15,
                "showlegend": False,
                "hoverinfo": "skip",
                "mode": "lines",
            }
        )
        traces.append(
            {
                "legendgroup": str(i),
                "name": in_figure(line.planner.title),
                "x": x,
                "y": [v.mean for v in intervals.values()],
                "customdata": [[v.low, v.high, len(line.runs[n])] for n, v in intervals.items()],
                "hovertemplate": "N = %{x}: %{y:.4g} [%{customdata[0]:.4g}, "
                "%{customdata[1]:.4g}], %{customdata[2]} runs",
                "mode": "lines+markers",
                "line": {"color": colour, "width": 2},
            }
        )
    layout = {
        "xaxis": {"type": "log", "title": {"text": "calls per step, N"}},
        "yaxis": {"title": {"text": NAMES[block.measure]}},
        "hovermode": "closest",
        "margin": {"t": 20},
        "template": "none",
    }
    options = {"displaylogo": False, "responsive": True}
    return ", ".join(in_script(data) for data in (traces, layout, options))


def _table(found: list[Line]) -> str:
    budgets = list(found[0].runs)
    body = []
    for line in found:
        intervals = line.intervals()
        shown = []
        for n in budgets:
            runs = len(line.runs[n])
            text = str(intervals[n]) if runs > 1 else f"{intervals[n].mean:.4g}" if runs else "–"
            shown.append(f"{text}, {runs} run{'s' * (runs != 1)}")
        body.append([line.planner.title, *shown])
    return grid(["mean [95 % interval]", *(f"N = {n:,}" for n in budgets)], body)


def _paired(block: Block, found: list[Line]) -> str:
    """The first planner against each other one."""
    if len(found) < 2:
        return ""
    reference, budgets = found[0], list(found[0].runs)
    body = []
    for line in found[1:]:
        compared = differences(reference, line, block.sign)
        shown = [
            f"{compared[n][0]}, P = {compared[n][1]:.2f}" if n in compared else "–" for n in budgets
        ]
        body.append([line.planner.title, *shown])
    title = (
        f"{reference.planner.title} minus …, paired by seed; P that one of its runs is better than "
        "a run of the other"
    )
    said = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in verdicts(block, found))
    table = grid([title, *(f"N = {n:,}" for n in budgets)], body)
    return f"{table}<p>{PAIRED}</p><ul>{said}</ul>"


def _across(block: Block, rows: dict[str, Row]) -> str:
    means = across_problems(block, rows)
    body = [
        [name, *(f"{by[n]:.3f}" if n in by else "–" for n in block.budgets)]
        for name, by in means.items()
    ]
    table = grid(["interquartile mean", *(f"N = {n:,}" for n in block.budgets)], body)
    return (
        f"<h2>{html.escape(block.title)}: all problems</h2><p>On each problem and budget runs are "
        f"scaled so that the worst is 0 and the best 1.</p>{table}"
    )


def _pictures(experiment: Experiment, rows: dict[str, Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    panels = _panels(experiment, rows)
    columns = min(3, len(panels))
    height = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.9 * height), layout="constrained")
    for i, (title, block, found) in enumerate(panels):
        axes = figure.add_subplot(height, columns, i + 1)
        for j, line in enumerate(found):
            intervals = line.intervals()
            colour = COLOURS[j % len(COLOURS)]
            x = list(intervals)
            axes.plot(
                x,
                [v.mean for v in intervals.values()],
                color=colour,
                marker=".",
                label=in_picture(line.planner.title),
            )
            axes.fill_between(
                x,
                [v.low for v in intervals.values()],
                [v.high for v in intervals.values()],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        if any(line.intervals() for line in found):
            axes.set_xscale("log")
        else:
            axes.text(0.5, 0.5, "no results", ha="center", transform=axes.transAxes)
        axes.set_title(in_picture(title), fontsize=10)
        axes.set_xlabel("calls per step, N")
        axes.set_ylabel(NAMES[block.measure])
        axes.legend(fontsize=7, framealpha=0.5, loc="best")
        axes.grid(alpha=0.3)
    found_paths = [folder / "figure.png", folder / "figure.svg"]
    for path in found_paths:
        figure.savefig(path, dpi=110)
    return found_paths
