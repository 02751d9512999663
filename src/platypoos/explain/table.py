"""A plan as a small table: in a terminal, and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platypoos.explain.arrays import MOST_COORDINATES, bars, courses
from platypoos.explain.origin import barred_in
from platypoos.explain.sequences import Line, lines_of, rule_line
from platypoos.explain.verdict import beside_the_rule, how_sure, lead_of
from platypoos.markup import Table, number, rounded, show_state, text_table
from platypoos.markup import notebook as as_html
from platypoos.spaces import Tried

if TYPE_CHECKING:
    from platypoos.results import Plan

MOST_ACTIONS, MOST_STEPS, MOST_OUTCOMES = 10, 6, 5
SEQUENCE, LIKELIEST = (
    "the recommended sequence:",
    "the likeliest line (it is what plan.actions has):",
)
STATE_WIDTH = 60


def decision(plan: Plan) -> str:
    """The decision in one line."""
    number = plan.action_index
    name = plan.action_names[number]
    if not isinstance(plan.space, Tried):
        name = f"action {number}" if name == str(number) else f"{name} (action {number})"
    lead = lead_of(plan)
    return f"decision: {name}, {lead}" if lead else f"decision: {name}"


def values_table(plan: Plan, lines: dict[int, Line]) -> tuple[list[str], list[list[str]]]:
    """The value of each first action, the best first."""
    values = plan.action_values
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable").tolist()
    order.remove(plan.action_index)
    with_interval = plan.noise is not None and plan.noise.deviation > 0.0
    space = plan.space
    tried = isinstance(space, Tried)
    head = ["first action", *([""] if tried else []), "value"]
    head += [*(["95 % interval"] if with_interval else []), ""]
    rows = []
    barred = barred_in(plan)
    for action in [plan.action_index, *order][:MOST_ACTIONS]:
        value = values[action]
        unknown = "not allowed" if action in barred else "not evaluated"
        interval = lines[action].interval if with_interval and action in lines else None
        margin = 0.0 if interval is None else (interval[1] - interval[0]) / 2
        shown = unknown if np.isnan(value) else rounded(value, margin) if margin else number(value)
        row = [plan.action_names[action], shown]
        if isinstance(space, Tried):
            row.insert(1, bars(space, space.payloads[action]))
        if with_interval:
            row.append(f"± {rounded(margin, margin)}" if margin else "")
        role = {plan.action_index: "recommended", plan.rival: "runner-up"}.get(action, "")
        rows.append([*row, role])
    return head, rows


def steps_table(plan: Plan, line: Line) -> tuple[list[str], list[list[str]]]:
    """The first steps of a sequence, beside those of the user's rule."""
    shown = line.steps[:MOST_STEPS]
    rule = rule_line(plan)
    with_states = all(step.state is not None for step in shown)
    head = ["step", "action", "reward", "samples", *(["leads to"] if with_states else [])]
    head[4:4] = [] if rule is None else ["your rule", "its reward"]
    rows = []
    for t, step in enumerate(shown):
        row = [str(t + 1), step.name, number(step.reward, 5), str(step.samples)]
        if rule is not None:
            its = rule.steps[t] if t < len(rule.steps) else None
            row += ["", ""] if its is None else [its.name, number(its.reward, 5)]
        if with_states:
            end = " (the end)" if step.ends else ""
            row.append(show_state(step.state, STATE_WIDTH) + end)
        rows.append(row)
    return head, rows


def courses_table(plan: Plan) -> list[list[str]]:
    """Where the actions are arrays: a small bar for each step and coordinate."""
    rows = [list(row) for row in courses(plan.space, plan.actions, plan.coordinate_names)]
    hidden = len(rows) - MOST_COORDINATES
    return [*rows[:MOST_COORDINATES], [f"… {hidden} more", "", ""]] if hidden > 0 else rows


def outcomes_table(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Where the recommended action may lead, and what to do there."""
    rows = []
    for outcome in plan.outcomes[:MOST_OUTCOMES]:
        state = "the end" if outcome.ends else show_state(outcome.state, STATE_WIDTH)
        if outcome.ends:
            then = ""
        elif outcome.action_index is None:
            then = "not known yet"
        else:
            then = plan.action_names[outcome.action_index]
        rows.append([f"{100.0 * outcome.probability:.0f} %", state, then])
    return ["chance", "if it leads to", "then take"], rows


def outcomes_left(plan: Plan) -> str:
    """How likely the outcomes are that a table leaves out, in one line."""
    left = 1.0 - sum(outcome.probability for outcome in plan.outcomes[:MOST_OUTCOMES])
    return f"… {100.0 * left:.0f} % something else" if left > 0.005 else ""


def footer(plan: Plan) -> str:
    """Calls, depth, discount; and whether more calls would help."""
    of = "" if plan.budget is None else f" of {plan.budget:,}"
    text = f"{plan.calls:,}{of} calls, depth {plan.depth}, discount {plan.discount:g}"
    if plan.horizon is not None:
        text += f", horizon {plan.horizon}"
    if plan.workers is not None:
        number, share = plan.workers.number, 100.0 * plan.workers.share
        text += f"; {number} worker{'s' * (number != 1)}, busy {share:.0f} % of the time"
    if plan.is_open_loop:
        text += "; open loop: one sequence for all that chance may do"
    if plan.note:
        text += f"; {plan.note}"
    sure = how_sure(plan)
    text += f"; {sure}" if sure else ""
    if plan.reached is not None:
        text += f"; the accuracy asked for was {'' if plan.reached else 'not '}reached"
    return text


def table(plan: Plan) -> str:
    """The plan as text."""
    lines = lines_of(plan)
    best = lines[plan.action_index]
    head, rows = values_table(plan, lines)
    shown = ["  " + row for row in text_table(head, rows)]
    if plan.num_actions > MOST_ACTIONS:
        shown.append(f"  … {plan.num_actions - MOST_ACTIONS} other actions")
    head, rows = steps_table(plan, best)
    steps = ["  " + row for row in _flush(head, rows)]
    if len(best.steps) > MOST_STEPS:
        steps.append(f"  … {len(best.steps) - MOST_STEPS} more")
    drawn = courses_table(plan)
    if drawn:
        steps += ["", *("  " + row for row in text_table(drawn[0], drawn[1:], 3))]
    rule = beside_the_rule(plan)
    said = [decision(plan), rule] if rule else [decision(plan)]
    title, cases = SEQUENCE, []
    if plan.outcomes:
        title = LIKELIEST
        cases = [f"after {plan.action_names[plan.action_index]}:"]
        cases += ["  " + row for row in text_table(*outcomes_table(plan), 3)]
        cases += [f"  {rest}" for rest in [outcomes_left(plan)] if rest]
        cases.append("")
    parts = [*said, "", *shown, "", *cases, title, *steps, "", footer(plan)]
    return "\n".join(parts)


def _flush(head: list[str], rows: list[list[str]]) -> list[str]:
    """As ``text_table``, with the last column flush left if it holds states."""
    if head[-1] != "leads to":
        return text_table(head, rows, 2)
    width = max(len(row[-1]) for row in [head, *rows])
    padded = [[*row[:-1], row[-1].ljust(width)] for row in rows]
    return text_table([*head[:-1], head[-1].ljust(width)], padded, 2)


def notebook(plan: Plan) -> str:
    """The plan as HTML."""
    lines = lines_of(plan)
    best = lines[plan.action_index]
    rule = beside_the_rule(plan)
    parts: list[str | Table] = [decision(plan) + (f"; {rule}" if rule else "")]
    parts.append(Table(*values_table(plan, lines), 0))
    if plan.num_actions > MOST_ACTIONS:
        parts.append(f"… {plan.num_actions - MOST_ACTIONS} other actions")
    if plan.outcomes:
        parts.append(f"after {plan.action_names[plan.action_index]}:")
        parts.append(Table(*outcomes_table(plan)))
        parts += [rest for rest in [outcomes_left(plan)] if rest]
    parts.append(LIKELIEST if plan.outcomes else SEQUENCE)
    parts.append(Table(*steps_table(plan, best)))
    if len(best.steps) > MOST_STEPS:
        parts.append(f"… {len(best.steps) - MOST_STEPS} more")
    drawn = courses_table(plan)
    if drawn:
        parts.append(Table(["coordinate", "step by step", "bounds"], drawn))
    return as_html(*parts, footer(plan))
