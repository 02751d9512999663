"""The explanation of a plan as one page that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platypoos.checks import same
from platypoos.errors import InvalidArgument
from platypoos.explain.arrays import MOST_COORDINATES, contents
from platypoos.explain.explanation import REST, Bar, Choice, Explanation, describe_state
from platypoos.explain.outcomes import fan_note, fan_svg
from platypoos.explain.pictures import Painter, landmarks_of, places_of
from platypoos.explain.sequences import Line
from platypoos.explain.summary import Summary
from platypoos.explain.verdict import is_open, kind_of, meaning_of
from platypoos.explain.verdict import shown as shown_lead
from platypoos.markup import fields_of, number, render, rounded, show_state

if TYPE_CHECKING:
    from platypoos.results import Plan

MOST_CHOICES, MOST_COLUMNS, MOST_CASES = 12, 10, 8
SINGLE = 6
"""Steps ahead that have a row of their own in the table of calls."""
TOTAL = "the difference of the values"
QUOTES = "'\""
SHOWN_STEPS, MOST_STEPS, PICTURES = 8, 400, 10
"""Steps that are shown at once, after a click, and with a picture."""


def write_plan(why: Explanation, plan: Plan, path: str | Path) -> Path:
    """Write an explanation as a page (.html), or as data (.json)."""
    target = checked_target(path, (".html", ".json"))
    if target.suffix.lower() == ".json":
        text = why.as_json() + "\n"
    else:
        text = plan_page(why, None if plan.origin is None else plan.origin.model)
    target.write_text(text, encoding="utf-8")
    return target


def checked_target(path: str | Path, kinds: Sequence[str]) -> Path:
    """A file that can be written, of one of these kinds."""
    target = Path(path)
    if target.suffix.lower() not in kinds:
        raise InvalidArgument(f"an explanation is {' or '.join(kinds)}, got {str(path)!r}")
    if not target.parent.is_dir():
        raise InvalidArgument(f"there is no folder {str(target.parent)!r} for {target.name}")
    return target


def plan_page(why: Explanation, model: Any = None) -> str:
    """The page; ``model`` is asked for pictures of the states only."""
    facts = [why.model, why.planner, f"{why.calls:,} calls of the model"]
    facts += [f"discount {why.discount:g}", f"depth {why.depth}"]
    if why.coordinates:
        facts.append(contents([name for name, _, _ in why.coordinates]))
    named = getattr(model, "name", "")
    return render(
        "plan.html",
        why=why,
        name=why.best.label if why.name.isdigit() else why.name,
        topic=named if isinstance(named, str) else "",
        verdict_kind=kind_of(why.verdict),
        meaning=meaning_of(why.verdict),
        facts_shown=facts,
        MOST_CHOICES=MOST_CHOICES,
        SHOWN_STEPS=SHOWN_STEPS,
        **_values(why),
        **_sequences(why, Painter(model)),
        fan=fan_svg(why.fans) if why.fans else "",
        fan_note=fan_note(why.fans) if why.fans else "",
        map=_map(why, model),
        waterfalls=_waterfalls(why),
        rule=_rule(why),
        heat=None if why.searched is None else _heat(why, why.searched),
        tree=None if why.searched is None else _tree(why, why.searched),
    )


class Scale:
    """Numbers to percent of a lane."""

    def __init__(self, numbers: Sequence[float], room: float = 0.06) -> None:
        low, high = min(numbers), max(numbers)
        pad = room * (high - low) or max(abs(high), 1.0) * room
        self.low, self.high = low - pad, high + pad

    def __call__(self, value: float) -> float:
        """Percent from the left."""
        return round(100.0 * (value - self.low) / (self.high - self.low), 3)

    def between(self, one: float, two: float) -> dict[str, float]:
        """Where a bar begins, and how wide it is."""
        left, right = sorted((self(one), self(two)))
        return {"left": left, "width": round(right - left, 3)}


def _values(why: Explanation) -> dict[str, Any]:
    """What each first action is worth."""
    known = [c for c in why.choices if c.value is not None]
    known.sort(key=lambda c: (-(c.value or 0.0), c.action != why.action))
    ends = [x for c in known for x in (c.value or 0.0, *(c.interval or ()))]
    scale = Scale(ends or [0.0])
    note = (
        "The mark is the value of the best sequence found for each first action: the discounted "
        "sum of its rewards."
    )
    if why.cases:
        note = (
            "The mark is what the best known policy brings on average after each first action: the "
            "discounted sum of its rewards."
        )
    if any(c.interval and c.interval[0] < c.interval[1] for c in known):
        note += (
            " The band is its 95 % interval from noise in the rewards. The same samples chose the "
            "sequences, so that values are a little too high."
        )
    if why.lead is not None and why.rival is not None:
        if why.lead.estimate == why.gap:
            note += f" The lead over {why.rival.label} is {shown_lead(why.lead)}."
        else:
            note += f" Fresh samples, which chose nothing, say that the lead over {why.rival.label}"
            note += f" is {shown_lead(why.lead)}."
        if is_open(why.lead):
            note += " Noise may be all of it."
    return {
        "values": [_value(why, choice, scale) for choice in known],
        "unknown": [c.name for c in why.choices if c.value is None],
        "values_note": note,
    }


def _value(why: Explanation, choice: Choice, scale: Scale) -> dict[str, Any]:
    kinds = {None if why.rival is None else why.rival.action: "is-rival", why.action: "is-best"}
    value = choice.value or 0.0
    low, high = choice.interval or (value, value)
    margin = (high - low) / 2
    return {
        "name": choice.name,
        "bars": choice.bars,
        "kind": kinds.get(choice.action, ""),
        "at": scale(value),
        "text": rounded(value, margin) + (f" ± {rounded(margin, margin)}" if margin > 0.0 else ""),
        **scale.between(low, high),
    }


def _sequences(why: Explanation, painter: Painter) -> dict[str, Any]:
    """The best sequence, its rival, and under chance what may happen next."""
    best, rival = why.best, why.rival
    length = min(MOST_STEPS, max(len(best.steps), 0 if rival is None else len(rival.steps)))
    with painter.at_work():
        cases = [
            {
                "share": f"{100.0 * case.probability:.0f}",
                "ends": case.ends,
                "state": _state(case.state, painter(case.state), best.start),
                "then": "" if case.ends else case.then or "not known yet",
            }
            for case in why.cases[:MOST_CASES]
        ]
        now = _state(best.start, painter(best.start), None)
        rows = [
            {"number": t + 1, "best": _step(best, t, painter), "rival": _step(rival, t, painter)}
            for t in range(length)
        ]
    left = 1.0 - sum(case.probability for case in why.cases[:MOST_CASES])
    note = "Rewards are means of the samples; in brackets, how many."
    if why.parts_at is not None:
        note += f" The two part at step {why.parts_at + 1}"
        again = f" and are in the same state again after step {(why.meets_at or 0) + 1}"
        note += f"{'' if why.meets_at is None else again}."
    if painter.failure:
        note += f" There are no pictures: {painter.failure}"
    title = "The likeliest line" if why.cases else "The best sequence"
    if why.cases:
        note = f"Only the likeliest outcome of each step is shown. {note}"
    courses = list(why.coordinates[:MOST_COORDINATES])
    hidden = len(why.coordinates) - MOST_COORDINATES
    courses += [(f"… {hidden} more", "", "")] if hidden > 0 else []
    return {
        "cases": cases,
        "cases_left": f"… {100.0 * left:.0f} % something else" if left > 0.005 else "",
        "cases_note": f"Chance decides where {best.label} leads, so a plan is a policy, not a "
        "sequence. The shares are those of the samples.",
        "now": now,
        "rows": rows,
        "rival_name": "" if rival is None else rival.label.strip(QUOTES),
        "sequences_title": f"{title} and its rival" if rival else title,
        "sequences_note": note,
        "courses": courses,
    }


def _step(line: Line | None, t: int, painter: Painter) -> dict[str, Any] | None:
    if line is None or t >= len(line.steps):
        return None
    step = line.steps[t]
    before = line.steps[t - 1].state if t else line.start
    drawn = painter(step.state) if t < PICTURES or t == len(line.steps) - 1 else None
    return {
        "name": step.name,
        "reward": number(step.reward, 4),
        "samples": f"{step.samples:,}",
        "ends": step.ends,
        "state": _state(step.state, drawn, before),
    }


def _state(state: Any, picture: str | None, before: Any) -> dict[str, Any]:
    """A state: its picture, and its fields if they have names, those that have changed marked."""
    old = fields_of(before)
    fields = [
        (name, show_state(value), bool(old) and not (name in old and same(old[name], value)))
        for name, value in fields_of(state).items()
    ]
    text = "" if state is None else describe_state(state)
    return {"picture": picture, "fields": fields, "text": text}


def _map(why: Explanation, model: Any) -> dict[str, Any] | None:
    """Both sequences in the plane, if the model says where its states are; y points up."""
    paths = []
    for line, color in ((why.rival, "var(--rival)"), (why.best, "var(--best)")):
        states = [] if line is None else [line.start, *(step.state for step in line.steps)]
        places = places_of(model, states)
        if places:
            paths.append(([(x, -y) for x, y in places], color))
    if not paths:
        return None
    marks = [(x, -y, r, text) for x, y, r, text in landmarks_of(model)]
    xs = [x for path, _ in paths for x, _ in path] + [
        x + s * r for x, _, r, _ in marks for s in (-1, 1)
    ]
    ys = [y for path, _ in paths for _, y in path] + [
        y + s * r for _, y, r, _ in marks for s in (-1, 1)
    ]
    size = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    view = (
        min(xs) - 0.05 * size, min(ys) - 0.05 * size,
        max(xs) - min(xs) + 0.1 * size, max(ys) - min(ys) + 0.1 * size,
    )  # fmt: skip
    ends = [(*path[-1], 0.014 * size, color) for path, color in paths]
    return {
        "view": " ".join(f"{x:.5g}" for x in view),
        "marks": marks,
        "paths": [(" ".join(f"{x:.5g},{y:.5g}" for x, y in path), color) for path, color in paths],
        "width": f"{0.008 * size:.3g}",
        "dots": [*ends, (*paths[-1][0][0], 0.016 * size, "#1c2733")],
    }


def _waterfalls(why: Explanation) -> list[dict[str, Any]]:
    """Bars of which each begins where the last one ended: by parts of the reward, and by steps."""
    if why.rival is None:
        return []
    difference = f"to the difference of {why.best.label} and {why.rival.label}: the difference of"
    parts = f"What each part of the rewards adds {difference} the two, discounted."
    steps = f"What each step adds {difference} the two rewards, discounted."
    if why.lead is not None and why.lead.estimate != why.gap:
        told = f" All samples are in it; the lead by fresh ones is {shown_lead(why.lead)}."
        parts, steps = parts + told, steps + told
    named = ((parts, why.parts), (steps, why.bars))
    return [{"note": note, "bars": _chart(bars, TOTAL)} for note, bars in named if bars]


def _chart(bars: Sequence[Bar], total: str) -> list[dict[str, Any]]:
    """Bars of which each begins where the last one ended, and their sum."""
    edges = [0.0]
    for bar in bars:
        edges.append(edges[-1] + bar.amount)
    scale, fine = Scale(edges), max(map(abs, edges)) / 200
    rows = [
        {
            "label": bar.label,
            "kind": "up" if bar.amount >= 0 else "down",
            "text": ("+" if bar.amount > 0 else "−") + rounded(abs(bar.amount), fine),
            "zero": scale(0.0),
            **scale.between(low, high),
        }
        for bar, low, high in zip(bars, edges, edges[1:], strict=False)
        if bar.label != REST or abs(bar.amount) > fine
    ]
    last = {"label": total, "kind": "sum", "text": rounded(edges[-1], fine), "zero": scale(0.0)}
    return [*rows, {**last, **scale.between(0.0, edges[-1])}]


def _rule(why: Explanation) -> dict[str, Any] | None:
    """The plan beside the user's rule."""
    if not why.beside_rule:
        return None
    painter = Painter(None)
    rows = [
        {
            "number": t + 1,
            "best": _step(why.best, t, painter),
            "rival": _step(why.rule, t, painter),
        }
        for t in range(len(why.rule.steps) if why.rule and why.rule_bars else 0)
    ]
    note = f"{why.beside_rule[0].upper()}{why.beside_rule[1:]}."
    if " with 95 %" in why.beside_rule and why.cases:
        note += " By pairs of fresh roll-outs that meet the same chance."
    elif " with 95 %" in why.beside_rule:
        note += (
            " The samples that chose the plan are among these, so the gain is a little too high."
        )
    return {
        "note": note,
        "bars": _chart(why.rule_bars, "the gain over your rule") if why.rule_bars else [],
        "rows": rows[:SHOWN_STEPS],
        "hidden": len(rows[SHOWN_STEPS:]),
    }


def _heat(why: Explanation, searched: Summary) -> dict[str, Any]:
    """How many samples each first action has at each step ahead."""
    totals = [sum(row[a] for row in searched.counts) for a in range(len(why.action_names))]
    order = sorted(range(len(totals)), key=lambda a: -totals[a])
    order = [a for a in order if totals[a] > 0]
    columns, others = sorted(order[:MOST_COLUMNS]), order[MOST_COLUMNS:]
    groups: list[tuple[int, int]] = []
    depth = 0
    while depth < len(searched.counts):  # ranges grow with the depth: 1 … 6, 7–8, 9–10, 11–14, …
        width = 1 if len(groups) < SINGLE else 2 ** (1 + (len(groups) - SINGLE) // 2)
        groups.append((depth, min(depth + width, len(searched.counts))))
        depth += width

    def count(group: tuple[int, int], actions: Sequence[int]) -> int:
        return sum(searched.counts[d][a] for d in range(*group) for a in actions)

    most = max((count(g, [a]) for g in groups for a in columns), default=1) or 1
    rows = [
        (
            f"{g[0] + 1}" if g[1] == g[0] + 1 else f"{g[0] + 1}–{g[1]}",
            [(f"{count(g, [a]):,}", _shade(count(g, [a]) / most)) for a in columns],
            f"{count(g, others):,}" if others else None,
        )
        for g in groups
    ]
    note = (
        f"Samples at each step ahead (rows) of sequences with each first action (columns): "
        f"{searched.samples:,} in all, in {searched.nodes - 1:,} nodes."
    )
    head = [why.action_names[a] for a in columns] + (["others"] if others else [])
    return {"head": head, "rows": rows, "note": note}


def _shade(share: float) -> str:
    """The style of a cell: the more, the darker."""
    ink = ";color:#fff" if share**0.5 > 0.65 else ""
    return f"background:hsl(205 55% {96 - 52 * share**0.5:.0f}%){ink}"


def _tree(why: Explanation, searched: Summary) -> dict[str, Any]:
    data = searched.as_dict()["tree"] | {"names": list(why.action_names)}
    data["reward"] = [float(f"{reward:.6g}") for reward in data["reward"]]
    note = (
        "Each box is a sequence of actions, one row for each step; its width is its share of the "
        "samples, darker means a larger mean reward, and the recommended sequence has a yellow "
        "frame. Click to zoom in; click the first row to zoom out."
    )
    kept = len(searched.parent)
    if kept < searched.nodes:
        note += f" Shown are the {kept:,} nodes of {searched.nodes:,} with the most samples."
    return {"data": data, "note": note}
