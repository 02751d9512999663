"""How sure a decision is, and what to say where another action shows a higher value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from platypoos.explain.sequences import CONFIDENT, Line, lines_of, spread_of
from platypoos.markup import number, rounded

if TYPE_CHECKING:
    from platypoos.plan import Plan

FAR = 3.0
"""A lead is far less than the noise if the noise is so many times as large."""


MEANING = {
    "clear": "it leads, and more calls are unlikely to change that.",
    "likely": "it leads by all that was seen, and noise is not the reason. A sequence that was not "
    "tried may still be better.",
    "undecided": "what was seen does not tell which one is better.",
    "a tie": "by all that was seen they are worth the same.",
}
"""Of each verdict."""


def margin_of(plan: Plan, best: Line, rival: Line | None) -> float | None:
    """Half of the 95 % interval of the lead; None if the planner does not look for noise."""
    if plan.gap_interval is not None:
        low, high = plan.gap_interval
        return (high - low) / 2
    if rival is None or plan.noise is None:
        return None
    return CONFIDENT * plan.noise.deviation * spread_of(best.steps, rival.steps)


def verdict_of(plan: Plan, gap: float | None, margin: float | None) -> str:
    """How sure the decision is: clear, likely, undecided, or a tie; nothing if it is not known."""
    if gap is None:
        return ""
    if gap == 0.0:
        return "a tie"
    if plan.gap_interval is not None:
        if plan.gap_interval[0] <= 0.0:
            return "undecided"
        return "clear" if plan.enough else "likely"
    if gap < 0.0 or (margin is not None and gap <= margin):
        return "undecided"
    if plan.enough:
        return "clear"
    return "" if margin is None else "likely"


def undecided(plan: Plan, best: Line, rival: Line, margin: float | None) -> str:
    """The first sentence where nothing is decided."""
    gap = best.value - rival.value
    text = f"Undecided between {best.label} and {rival.label}"
    if margin is not None and 0.0 < gap < margin:
        far = "far " if FAR * gap < margin else ""
        text += f": the lead of {number(gap, 2)} is {far}less than the noise (± {_size(margin)})"
    elif plan.gap_interval is not None:
        text += ": by fresh samples either may be better"
    return text + "."


def higher(
    best: Line | None, rival: Line | None, value: str, interval: tuple[float, float] | None
) -> str:
    """What to say where another action shows a higher value than the recommended one."""
    if best is not None and rival is not None and rival.samples < best.samples:
        reason = f"but from fewer samples ({rival.samples:,} against {best.samples:,})"
    elif interval is not None and sum(interval) > 0.0:
        reason = "but fresh samples do not confirm it"
    else:
        reason = "but the values are too noisy to tell"
    label = "another action" if rival is None else rival.label
    text = f"{label} shows a higher value, {value}, {reason}, so it is not trusted"
    return text[0].upper() + text[1:]


def lead(plan: Plan) -> str:
    """What the decision is ahead by, to be put behind it; with its comma or full stop."""
    if math.isnan(plan.gap):
        return ""
    between = ""
    if plan.gap_interval is not None:
        low, high = ends_of(plan.gap_interval)
        between = f"{low} to {high}, 95 %"
    if plan.gap < 0.0:
        others = np.nan_to_num(plan.action_values, nan=-np.inf)
        others[plan.action_index] = -np.inf
        other = int(np.argmax(others))
        lines = lines_of(plan)
        value = rounded(float(others[other]), -plan.gap)
        interval = plan.gap_interval
        text = ". " + higher(lines.get(plan.action_index), lines.get(other), value, interval)
        between = between.replace(" to ", " and ").replace(", 95 %", " (95 %)")
        return text + (f"; fresh samples put the lead between {between}" if between else "")
    text = f", ahead of the runner-up by {number(plan.gap, 4)}"
    text = ", worth the same as the runner-up" if plan.gap == 0.0 else text
    return text + (f" (fresh samples: {between})" if between else "")


def ends_of(interval: tuple[float, float]) -> tuple[str, str]:
    """The ends of an interval, with digits for a twentieth of its width.

    >>> ends_of((-1.56432, 5.59321))
    ('-1.6', '5.6')
    """
    low, high = interval
    return rounded(low, (high - low) / 20), rounded(high, (high - low) / 20)


def _size(margin: float) -> str:
    return rounded(margin, margin)
