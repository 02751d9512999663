"""What chance may do to a plan: roll-outs through what is known, for no calls of the model.

Each follows the best known action in each state, and goes where the samples went, as often. Where
nothing is known, what going on brings on average is added. The page shows how the sum of the
rewards grows (a fan) and where it ends (its distribution), for the recommended action and its
rival.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.discounting import span

if TYPE_CHECKING:
    from platypoos.results import Plan

ROLL_OUTS = 400
LONGEST = 100
"""Steps of a roll-out, at most."""
NEGLIGIBLE = 0.05
"""Roll-outs end when rewards are discounted to this."""
SHARES = (5, 25, 50, 75, 95)
"""Percentiles that the fan shows."""
BINS = 24
WIDTH, HEIGHT, MARGIN = 620, 220, 34
"""Of the picture, in its own units; the distribution has a third of the width."""


@dataclass(frozen=True)
class Fan:
    """What may come of an action."""

    label: str
    percentiles: tuple[tuple[float, ...], ...]
    """Of the discounted sum of the rewards, with what is expected of the rest; a row for each
    step, from the first one on."""
    returns: tuple[float, ...]
    """At the end, in increasing order."""
    seen: float
    """The share of the roll-outs that never came to where nothing is known."""


def fans_of(plan: Plan) -> tuple[Fan, ...]:
    """Those of the recommended action and its rival; none if there is none."""
    best = fan_of(plan, plan.action_index)
    if best is None:
        return ()
    rival = None if plan.rival is None else fan_of(plan, plan.rival)
    return (best,) if rival is None else (best, rival)


def fan_of(plan: Plan, first: int) -> Fan | None:
    """What may come of a first action, by its place in the list.

    None if the plan does not react to chance, if what was searched was not kept, if the action was
    never tried, or if the planner keeps mean rewards only.
    """
    root = getattr(plan.searched, "root", None)
    if not plan.outcomes or root is None:
        return None
    edges = [edge for edge in root.edges if edge.action == first and edge.samples]
    if not edges or not hasattr(edges[0], "drawn"):
        return None
    rng = random.Random(0)  # noqa: S311  for a picture
    steps = steps_of(plan)
    rows, seen = [], 0
    for _ in range(ROLL_OUTS):
        row, ended = roll_out(plan, edges[0], steps, rng)
        rows.append(row)
        seen += ended
    paths = np.array(rows)
    found = np.percentile(paths, SHARES, axis=0).T
    return Fan(
        label=plan.labels[first],
        percentiles=tuple(tuple(row) for row in found.tolist()),
        returns=tuple(sorted(paths[:, -1].tolist())),
        seen=seen / ROLL_OUTS,
    )


def steps_of(plan: Plan) -> int:
    """How long roll-outs are."""
    steps, power = 1, plan.discount
    while power > NEGLIGIBLE and steps < LONGEST:
        steps, power = steps + 1, power * plan.discount
    return steps if plan.horizon is None else min(steps, plan.horizon)


def roll_out(plan: Plan, edge: Any, steps: int, rng: random.Random) -> tuple[list[float], bool]:
    """The discounted sum after each step, the rest as expected; and whether all was known."""
    origin, total, power = plan.searched.origin, 0.0, 1.0
    row: list[float] = []
    while len(row) < steps:
        after = draw(edge.outcomes, rng)
        paid = [reward for where, reward in edge.drawn if where is after] or [edge.mean]
        total += power * (paid[int(len(paid) * rng.random())] + origin)
        power *= plan.discount
        if after is None:
            return row + [total] * (steps - len(row)), True
        left = None if plan.horizon is None else plan.horizon - len(row) - 1
        row.append(total + power * plan.reward_floor * span(plan.discount, left))
        edge = after.choice
        if edge is None:
            return row + row[-1:] * (steps - len(row)), False
    return row, True


def draw(outcomes: Any, rng: random.Random) -> Any:
    """One of the outcomes, as often as it was seen."""
    left = rng.random() * sum(outcomes.values())
    found = None
    for found, count in outcomes.items():  # noqa: B007  the last one, if rounding leaves some
        left -= count
        if left < 0.0:
            break
    return found


# ------------------------------------------------------------------ the picture


def fan_svg(fans: Sequence[Fan]) -> str:
    """The fan of the first one, and the distributions of all (two at most)."""
    ends = [value for fan in fans for value in fan.returns]
    ends += [value for row in fans[0].percentiles for value in row]
    low, high = min(ends), max(ends)
    if not high > low:
        low, high = low - 0.5, high + 0.5

    def y(value: float) -> float:
        return round(MARGIN / 2 + (HEIGHT - 1.5 * MARGIN) * (high - value) / (high - low), 1)

    split = 0.64 * WIDTH
    rows = fans[0].percentiles

    def x(step: int) -> float:
        return round(MARGIN + (split - 1.5 * MARGIN) * step / max(1, len(rows) - 1), 1)

    def line(place: int) -> list[str]:
        return [f"{x(step)},{y(row[place])}" for step, row in enumerate(rows)]

    parts = []
    for outer, opacity in ((0, 0.18), (1, 0.32)):
        around = line(outer) + line(len(SHARES) - 1 - outer)[::-1]
        parts.append(
            f'<polygon points="{" ".join(around)}" fill="var(--best)" fill-opacity="{opacity}"/>'
        )
    parts.append(
        f'<polyline points="{" ".join(line(2))}" fill="none" stroke="var(--best)" '
        'stroke-width="2.5"/>'
    )
    size = (high - low) / BINS
    counts = [
        np.histogram(fan.returns, bins=BINS, range=(low, high))[0] / len(fan.returns)
        for fan in fans[:2]
    ]
    most = max(float(found.max()) for found in counts)
    for found, kind in zip(counts, ("best", "rival"), strict=False):
        for place, share in enumerate(found.tolist()):
            if not share:
                continue
            top, bottom = y(low + (place + 1) * size), y(low + place * size)
            wide = round((WIDTH - split - MARGIN) * share / most, 1)
            look = 'fill-opacity="0.55"' if kind == "best" else 'fill="none" stroke-width="1.5"'
            colour = f'{"fill" if kind == "best" else "stroke"}="var(--{kind})"'
            parts.append(
                f'<rect x="{split:.1f}" y="{top}" width="{wide}" '
                f'height="{max(0.5, bottom - top - 0.5):.1f}" {colour} {look}/>'
            )
    ink = 'fill="var(--soft)" font-size="11"'
    parts += [
        f'<text x="2" y="{y(value) + 4:.1f}" {ink}>{value:.3g}</text>' for value in (low, high)
    ]
    bottom = HEIGHT - 4
    parts.append(f'<text x="{MARGIN}" y="{bottom}" {ink}>step 1</text>')
    if len(rows) > 1:
        parts.append(
            f'<text x="{x(len(rows) - 1)}" y="{bottom}" {ink} text-anchor="end">'
            f"step {len(rows)}</text>"
        )
    parts.append(f'<text x="{split:.1f}" y="{bottom}" {ink}>where it ends</text>')
    return (
        f'<svg id="fan" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" style="width:100%;height:auto" '
        f'aria-label="What may come of {escape(fans[0].label)}">{"".join(parts)}</svg>'
    )


def fan_note(fans: Sequence[Fan]) -> str:
    """What the picture shows, in words."""
    best = fans[0]
    low, high = best.percentiles[-1][0], best.percentiles[-1][-1]
    text = (
        f"{ROLL_OUTS} roll-outs through what is known, from {best.label} on, without a call. On "
        "the left the discounted sum of the rewards so far, with what is expected of the rest: the "
        "median, and bands for half and nine tenths of the roll-outs. On the right where they end: "
        f"nine of ten between {low:.4g} and {high:.4g}"
    )
    if len(fans) > 1:
        text += f"; the outline is {fans[1].label}"
    text += "."
    if best.seen < 0.995:
        text += (
            f" {100.0 * (1.0 - best.seen):.0f} % come to where nothing is known, and are worth "
            "there what is usual."
        )
    return text
