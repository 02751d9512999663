"""The standings as a page to open in a browser, as Markdown, and as a picture."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.lab.experiments.quoting import in_figure, in_markdown, in_picture, in_script
from platypoos.lab.experiments.spec import Experiment
from platypoos.lab.experiments.standings import (
    LEVELS,
    LOWEST,
    SIGNIFICANT,
    Standings,
    Worse,
    mean_of_known,
)

Floats = NDArray[np.float64]

THRESHOLDS = np.linspace(-0.5, 1.1, 81)
MOST_LISTED = 40
"""Entries of a list in Markdown; the page has all."""
SCORE = (
    "The score of a run is (result − random) / (reference − random): 0 for random actions, 1 for "
    "the best actions known (an exact optimum, or a reference whose origin is given below). A "
    f"family is the mean of its problems, each counted as at least {LOWEST:g}."
)
WORSE = (
    "Runs with the same seed are paired; a one-sided t-test for each problem and budget, whose p "
    "is never taken to be below 1/2^n with n pairs, corrected for their number (Holm), at "
    f"{SIGNIFICANT:.0%}."
)


def scored(standings: Standings) -> str:
    """What a score is, and which families are not counted in the mean of all."""
    apart = [family for family in standings.families if family in standings.apart]
    if not apart or len(apart) == len(standings.families):
        return SCORE
    return f"{SCORE} Shown, but not counted in the mean of all: {', '.join(apart)}."


def explained(standings: Standings) -> str:
    """How the lists are made, and whether there are seeds enough for them."""
    needed = math.ceil(math.log2(len(standings.places) / SIGNIFICANT))
    if standings.scores.shape[2] >= needed:
        return WORSE
    return f"{WORSE} Nothing can be listed with fewer than {needed} seeds."


def ranked(standings: Standings) -> list[int]:
    """The planners, best first, by the mean over families at all levels of the budgets."""
    means = mean_of_known(np.array([standings.overall(level) for level in standings.levels]).T)
    return [int(i) for i in np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable")]


def family_table(standings: Standings, level: int) -> tuple[list[str], list[list[str]]]:
    """The mean scores, a row for each planner: the head of the table, and its rows."""
    by_family = standings.by_family(level)
    overall = standings.overall(level)
    head = ["planner", "all", *by_family]
    rows = []
    for i in ranked(standings):
        values = [overall[i], *(scores[i] for scores in by_family.values())]
        rows.append([standings.planners[i], *(_number(value) for value in values)])
    return head, rows


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"


def improvement_table(standings: Standings) -> tuple[list[str], list[list[str]]]:
    """Probability that a run of the row's planner is better than one of the column's."""
    order = ranked(standings)
    rows = []
    for i in order:
        cells = []
        for j in order:
            mean, low, high = standings.improvement(i, j)
            cells.append("·" if i == j else f"{mean:.2f} [{low:.2f}, {high:.2f}]")
        rows.append([standings.planners[i], *cells])
    return ["P(row better than column)", *(standings.planners[j] for j in order)], rows


def summary_of_worse(standings: Standings, worse: dict[str, list[Worse]]) -> list[list[str]]:
    """For each planner: places where it is worse than someone, and who beats it most often."""
    rows = []
    for i in ranked(standings):
        name = standings.planners[i]
        entries = worse[name]
        taken = int(np.isfinite(standings.scores[i]).any(axis=1).sum())
        places = len({entry.place for entry in entries})
        rivals = [entry.rival for entry in entries]
        most = max(set(rivals), key=lambda rival: (rivals.count(rival), rival), default="nobody")
        text = f"{most} ({rivals.count(most)})" if rivals else "nobody"
        share = f"{places / max(taken, 1):.0%}"
        rows.append([name, f"{places} of {taken}", share, text])
    return rows


IMPROVEMENT = (
    "A run against a run with the same seed on a random problem; ties count half; 95 % intervals "
    "over problems."
)
SUMMARY_HEAD = ["planner", "significantly worse than someone", "share", "most often than"]


def worst_by_place(entries: list[Worse]) -> list[tuple[Worse, int]]:
    """For each place the rival that is best by most, and how many rivals are better."""
    found: dict[Any, list[Worse]] = {}
    for entry in entries:
        found.setdefault(entry.place, []).append(entry)
    return [(some[0], len(some)) for some in found.values()]


def listed(entries: list[Worse]) -> list[list[str]]:
    """The list of one planner, the largest differences first."""
    return [
        [
            str(entry.place),
            entry.rival,
            f"{entry.difference:+.2f}",
            f"{entry.p:.1g}",
            str(rivals),
        ]
        for entry, rivals in worst_by_place(entries)
    ]


LIST_HEAD = ["problem and budget", "best rival", "difference of scores", "p", "better rivals"]


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table in HTML."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'


def page_parts(experiment: Experiment, standings: Standings, colours: tuple[str, ...]) -> list[str]:
    """The standings as parts of a page."""
    worse = standings.all_worse()
    parts = [f"<p>{html.escape(scored(standings))}</p>"]
    for level in standings.levels:
        parts += [f"<h2>Scores, {title_of(standings, level)}</h2>"]
        parts.append(grid(*family_table(standings, level)))
    parts += [
        "<h2>Where planners are significantly worse than others</h2>",
        f"<p>{html.escape(explained(standings))}</p>",
        grid(SUMMARY_HEAD, summary_of_worse(standings, worse)),
    ]
    for i in ranked(standings):
        name = standings.planners[i]
        if worse[name]:
            table = grid(LIST_HEAD, listed(worse[name]))
            parts.append(
                f"<details class='worse'><summary>{html.escape(name)}</summary>{table}</details>"
            )
    parts += [
        "<h2>Profile of scores</h2>",
        "<p>The share of problems and budgets with at least a score.</p>",
        '<div class="figure" id="profile"></div>',
        f"<script>Plotly.newPlot('profile', {_profile_figure(standings, colours)});</script>",
        "<h2>Probability of improvement</h2>",
        f"<p>{IMPROVEMENT}</p>",
        grid(*improvement_table(standings)),
        "<h2>Problems</h2>",
        grid(*problem_table(experiment)),
    ]
    if standings.left_out:
        names = html.escape("; ".join(standings.left_out))
        parts.append(f"<p>Without a score, as nothing is better than random actions: {names}.</p>")
    return parts


def title_of(standings: Standings, level: int) -> str:
    """What a level of the budgets is called."""
    return "all problems" if len(standings.levels) == 1 else LEVELS[min(level, 2)]


def problem_table(experiment: Experiment) -> tuple[list[str], list[list[str]]]:
    """The problems, and where their references are from."""
    head = ["problem", "budgets", "discount", "steps", "access", "measure", "random",
            "reference", "origin of the reference"]  # fmt: skip
    rows = []
    for block in experiment.blocks:
        numbers = ["–" if n is None else f"{n:.4g}" for n in (block.random, block.reference)]
        budgets = ", ".join(f"{budget:,}" for budget in block.budgets)
        rows.append(
            [block.title, budgets, f"{block.discount:g}", str(block.steps), block.access,
             block.measure, *numbers, block.provenance or "the best mean of all planners"]
        )  # fmt: skip
    return head, rows


def _profile_figure(standings: Standings, colours: tuple[str, ...]) -> str:
    shares = standings.profile(THRESHOLDS)
    traces = [
        {
            "name": in_figure(standings.planners[i]),
            "x": THRESHOLDS.round(3).tolist(),
            "y": shares[i].round(4).tolist(),
            "mode": "lines",
            "line": {"color": colours[place % len(colours)],
                     "dash": ["solid", "dot", "dash"][place // len(colours) % 3]},
        }
        for place, i in enumerate(ranked(standings))
    ]  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": "score"}},
        "yaxis": {"title": {"text": "share of problems and budgets"}},
        "margin": {"t": 20},
        "template": "none",
    }
    options = {"displaylogo": False, "responsive": True}
    return ", ".join(in_script(data) for data in (traces, layout, options))


def markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [
        "| " + " | ".join(in_markdown(cell) for cell in head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(in_markdown(cell) for cell in row) + " |" for row in rows),
        "",
    ]


def markdown(experiment: Experiment, standings: Standings, listed_in_full: str) -> list[str]:
    """The standings as lines of Markdown; one planner's list of worse places is given in full."""
    worse = standings.all_worse()
    text = [scored(standings), ""]
    for level in standings.levels:
        text += [f"## Scores, {title_of(standings, level)}", ""]
        text += markdown_table(*family_table(standings, level))
    text += ["## Where planners are significantly worse than others", "", explained(standings), ""]
    text += markdown_table(SUMMARY_HEAD, summary_of_worse(standings, worse))
    rows = listed(worse.get(listed_in_full, []))
    if rows:
        text += [f"### {listed_in_full}", ""]
        text += markdown_table(LIST_HEAD, rows[:MOST_LISTED])
        if len(rows) > MOST_LISTED:
            text += [f"… and {len(rows) - MOST_LISTED} more.", ""]
    text += ["## Problems", "", *markdown_table(*problem_table(experiment))]
    return text


def draw(standings: Standings, folder: Path) -> list[Path]:
    """A picture of the scores of families, and of the profile."""
    from matplotlib.figure import Figure

    order = ranked(standings)
    level = standings.levels[len(standings.levels) // 2]
    by_family = standings.by_family(level)
    names = [in_picture(standings.planners[i]) for i in order]
    table = np.array([scores[order] for scores in by_family.values()]).T
    figure = Figure(figsize=(7 + 0.5 * len(by_family), 2 + 0.3 * len(order)), layout="constrained")
    left, right = figure.subplots(1, 2)
    picture = left.imshow(np.clip(table, 0, 1), cmap="RdYlGn", vmin=0, vmax=1, aspect="auto")
    left.set_xticks(
        range(len(by_family)),
        [in_picture(name) for name in by_family],
        rotation=60,
        ha="right",
        fontsize=7,
    )
    left.set_yticks(range(len(order)), names, fontsize=7)
    left.set_title(f"scores, {title_of(standings, level)}", fontsize=9)
    figure.colorbar(picture, ax=left, shrink=0.6)
    shares = standings.profile(THRESHOLDS)
    for place, i in enumerate(order[:10]):
        style = "-" if place < 5 else "--"
        right.plot(THRESHOLDS, shares[i], style, label=names[place], linewidth=1)
    right.set_xlabel("score")
    right.set_ylabel("share of problems and budgets with at least that")
    right.set_title("the ten best planners", fontsize=9)
    right.legend(fontsize=7)
    right.grid(alpha=0.3)
    paths = [folder / "figure.png", folder / "figure.svg"]
    for path in paths:
        figure.savefig(path, dpi=110)
    return paths
