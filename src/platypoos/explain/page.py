"""The explanation of a plan as one page that needs nothing else: no network, no packages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platypoos.checks import same
from platypoos.errors import InvalidArgument
from platypoos.explain.arrays import MOST_COORDINATES, contents
from platypoos.explain.explanation import Explanation, describe_state
from platypoos.explain.outcomes import fan_note, fan_svg
from platypoos.explain.pictures import Painter, landmarks_of, places_of
from platypoos.explain.sequences import Line, Step
from platypoos.explain.summary import Summary
from platypoos.explain.verdict import MEANING, is_open, kind_of
from platypoos.explain.verdict import shown as shown_lead
from platypoos.markup import escape, fields_of, number, rounded, show_state, signed
from platypoos.version import __version__

if TYPE_CHECKING:
    from platypoos.plan import Plan

MOST_CHOICES, MOST_COLUMNS, MOST_CASES = 12, 10, 8
SINGLE = 6
"""Steps ahead that have a row of their own in the table of calls."""
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
    painter = Painter(model)
    with painter.at_work():
        cases, sequences = _cases(why, painter), _sequences(why, painter)
    facts = [why.model, why.planner, f"{why.calls:,} calls of the model"]
    facts += [f"discount {why.discount:g}", f"depth {why.depth}"]
    if why.coordinates:
        facts.append(contents([name for name, _, _ in why.coordinates]))
    chip = meaning = ""
    if why.verdict:
        word = why.verdict[0].upper() + why.verdict[1:]
        kind = kind_of(why.verdict)
        meaning = f'<p class="note">{word}: {MEANING[kind]}</p>'
        chip = f' <span class="chip {kind}">{why.verdict}</span>'
    named = getattr(model, "name", "")
    topic = f"{escape(named)}: why" if isinstance(named, str) and named else "Why"
    title = f"<h1>{topic} <b>{escape(_bare(why))}</b>?{chip}</h1>"
    lead = f'<p class="lead">{escape(why.summary)}</p>'
    body = [
        f"<header>{title}{lead}{meaning}{fact_list(facts)}</header>",
        _values(why),
        cases,
        _fan(why),
        sequences,
        _map(why, model),
        _waterfall(why),
        _flips(why),
        "" if why.searched is None else _heat(why, why.searched),
        "" if why.searched is None else _tree(why, why.searched),
        code_section(why.code),
    ]
    return whole_page(f"Why {_bare(why)}?", "".join(body), "tree.js")


def _bare(why: Explanation) -> str:
    return why.best.label if why.name.isdigit() else why.name


def whole_page(title: str, body: str, script: str) -> str:
    """A page with its style and script."""
    room = files("platypoos.explain")
    style = (room / "page.css").read_text(encoding="utf-8")
    code = (room / script).read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body><main>{body}"
        f"<footer>made by platypoos {__version__}</footer></main>"
        f"<script>{code}</script></body></html>\n"
    )


def data_island(name: str, data: object) -> str:
    """Data for a script; nothing in it can end the element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def fact_list(facts: Sequence[str]) -> str:
    """Short facts in a row."""
    return f'<ul class="facts">{"".join(f"<li>{escape(f)}</li>" for f in facts if f)}</ul>'


def section(title: str, note: str, content: str, name: str) -> str:
    """A part of the page."""
    return (
        f'<section id="{name}"><h2>{escape(title)}</h2><p class="note">{escape(note)}</p>'
        f"{content}</section>"
    )


def code_section(code: str) -> str:
    """How to make it again."""
    return section("Make it again", "", f"<pre>{escape(code)}</pre>", "code").replace(
        '<p class="note"></p>', ""
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


def _values(why: Explanation) -> str:
    known = sorted(
        (c for c in why.choices if c.value is not None),
        key=lambda c: (-(c.value or 0.0), c.action != why.action),
    )
    if not known:
        return ""
    unknown = [c.name for c in why.choices if c.value is None]
    ends = [x for c in known for x in (c.value or 0.0, *(c.interval or ()))]
    scale = Scale(ends)
    rival = None if why.rival is None else why.rival.action
    rows = []
    for choice in known:
        kind = {why.action: "is-best", rival: "is-rival"}.get(choice.action, "")
        value = choice.value or 0.0
        low, high = choice.interval or (value, value)
        band = f'<i style="left:{scale(low)}%;width:{scale(high) - scale(low):.3f}%"></i>'
        margin = (high - low) / 2
        text = rounded(value, margin)
        text += f" ± {rounded(margin, margin)}" if margin > 0.0 else ""
        rows.append(
            f'<div class="name {kind}">{escape(choice.name)}{_small(choice.bars)}</div>'
            f'<div class="lane {kind}">{band}'
            f'<b style="left:{scale(value)}%"></b></div>'
            f'<div class="num">{text}</div>'
        )
    shown, hidden = rows[:MOST_CHOICES], rows[MOST_CHOICES:]
    content = f'<div class="chart">{"".join(shown)}</div>'
    if hidden:
        content += (
            f"<details><summary>{len(hidden)} other actions</summary>"
            f'<div class="chart">{"".join(hidden)}</div></details>'
        )
    if unknown:
        content += f'<p class="note">Not evaluated, or not legal: {escape(", ".join(unknown))}</p>'
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
        note += f" The lead over {why.rival.label} is {shown_lead(why.lead)}."
        if is_open(why.lead):
            note += " Noise may be all of it."
    return section("What each first action is worth", note, content, "values")


def _sequences(why: Explanation, painter: Painter) -> str:
    best, rival = why.best, why.rival
    length = min(MOST_STEPS, max(len(best.steps), 0 if rival is None else len(rival.steps)))
    head = f'<div class="head t"></div><div class="head b">{escape(_bare(why))} (recommended)</div>'
    head += f'<div class="head r">{escape(rival.label.strip(QUOTES)) if rival else ""}'
    head += " (runner-up)</div>" if rival else "</div>"
    start = painter(best.start)
    first = f'<div class="t">now</div><div>{_state(best.start, start, None)}</div><div></div>'
    rows = [
        f'<div class="t">{t + 1}</div>{_cell(best, t, "b", painter)}{_cell(rival, t, "r", painter)}'
        for t in range(length)
    ]
    content = f'<div class="pair">{head}{first}{"".join(rows[:SHOWN_STEPS])}</div>'
    if len(rows) > SHOWN_STEPS:
        content += (
            f"<details><summary>{len(rows) - SHOWN_STEPS} more steps</summary>"
            f'<div class="pair">{"".join(rows[SHOWN_STEPS:])}</div></details>'
        )
    note = "Rewards are means of the samples; in brackets, how many."
    if why.parts_at is not None:
        note += f" The two part at step {why.parts_at + 1}"
        note += (
            f" and are in the same state again after step {why.meets_at + 1}."
            if why.meets_at is not None
            else "."
        )
    content += (
        '<p class="note">Steps with few samples (in brackets) are guesses; only the first action '
        "is taken.</p>"
    )
    content += _courses(why)
    if painter.failure:
        note += f" There are no pictures: {painter.failure}"
    title = "The best sequence and its rival" if rival else "The best sequence"
    if why.cases:
        title = "The likeliest line and its rival" if rival else "The likeliest line"
        note = f"Only the likeliest outcome of each step is shown. {note}"
    return section(title, note, content, "sequences")


def _cases(why: Explanation, painter: Painter) -> str:
    """Under random dynamics: what may happen next, and what to do then."""
    if not why.cases:
        return ""
    rows = []
    for case in why.cases[:MOST_CASES]:
        share = 100.0 * case.probability
        then = "" if case.ends else escape(case.then) or "not known yet"
        lane = f'<div class="lane"><u class="sum" style="left:0;width:{share:.2f}%"></u></div>'
        after = "the episode ends"
        if not case.ends:
            after = _state(case.state, painter(case.state), why.best.start)
        rows.append(
            f'<div class="num">{share:.0f} %</div>{lane}<div class="after">{after}</div>'
            f'<div class="then">{then}</div>'
        )
    head = (
        '<div class="head">chance</div><div class="head"></div><div class="head">leads to</div>'
        '<div class="head">then take</div>'
    )
    content = f'<div class="cases">{head}{"".join(rows)}</div>'
    left = 1.0 - sum(case.probability for case in why.cases[:MOST_CASES])
    if left > 0.005:
        content += f'<p class="note">… {100.0 * left:.0f} % something else</p>'
    note = (
        f"Chance decides where {why.best.label} leads, so a plan is a policy, not a sequence. The "
        "shares are those of the samples."
    )
    return section("What may happen next, and what to do then", note, content, "cases")


def _fan(why: Explanation) -> str:
    """Under random dynamics: what the rewards may add up to."""
    if not why.fans:
        return ""
    return section("What it may bring", fan_note(why.fans), fan_svg(why.fans), "returns")


def _small(text: str) -> str:
    return f" <small>{escape(text)}</small>" if text else ""


def _courses(why: Explanation) -> str:
    """Where actions are arrays: what each coordinate does along the recommended sequence."""
    if not why.coordinates:
        return ""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(signs)}</td><td>{escape(bounds)}</td></tr>"
        for name, signs, bounds in why.coordinates[:MOST_COORDINATES]
    )
    hidden = len(why.coordinates) - MOST_COORDINATES
    rows += f"<tr><td>… {hidden} more</td><td></td><td></td></tr>" if hidden > 0 else ""
    return (
        '<p class="note">The recommended sequence, coordinate by coordinate: a bar for each '
        f'step, from the lower bound to the upper one.</p><div class="scroll"><table class="rows" '
        f'id="courses">{rows}</table></div>'
    )


def _cell(line: Line | None, t: int, kind: str, painter: Painter) -> str:
    if line is None or t >= len(line.steps):
        return f'<div class="{kind}"></div>'
    step: Step = line.steps[t]
    before = line.steps[t - 1].state if t else line.start
    drawn = painter(step.state) if t < PICTURES or t == len(line.steps) - 1 else None
    end = " <b>the episode ends</b>" if step.ends else ""
    return (
        f'<div class="{kind}"><div class="line"><span>{escape(step.name)}</span>'
        f'<span class="num">{number(step.reward, 4)} <small>({step.samples:,})</small></span></div>'
        f"{_state(step.state, drawn, before)}{end}</div>"
    )


def _state(state: Any, drawn: str | None, before: Any) -> str:
    """A state: its picture, and its fields if they have names, those that have changed marked."""
    image = "" if drawn is None else f'<img alt="picture of the state" src="{drawn}">'
    text = "" if state is None else f"<code>{escape(describe_state(state))}</code>"
    old = fields_of(before)
    shown = {name: escape(show_state(value)) for name, value in fields_of(state).items()}
    named = [
        f"<span{_changed(old, name, value)}>{escape(name)} <b>{shown[name]}</b></span>"
        for name, value in fields_of(state).items()
    ]
    if named:
        text = f'<div class="fields">{"".join(named)}</div>'
    return image + text


def _changed(old: dict[str, Any], name: str, value: Any) -> str:
    same_as_before = not old or (name in old and same(old[name], value))
    return "" if same_as_before else ' class="changed"'


def _map(why: Explanation, model: Any) -> str:
    """Both sequences in the plane, if the model says where its states are."""
    paths = []
    for line, color in ((why.rival, "var(--rival)"), (why.best, "var(--best)")):
        if line is not None:
            places = places_of(model, [line.start, *(step.state for step in line.steps)])
            if places:
                paths.append((places, color))
    if not paths:
        return ""
    marks = landmarks_of(model)
    note = "Where the two sequences lead."
    return section("On the map", note, svg_map(paths, marks), "map")


def svg_map(
    paths: Sequence[tuple[list[tuple[float, float]], str]],
    marks: Sequence[tuple[float, float, float, str]],
) -> str:
    """Paths and circles; y points up."""
    xs = [x for path, _ in paths for x, _ in path]
    ys = [y for path, _ in paths for _, y in path]
    xs += [x + s * r for x, _, r, _ in marks for s in (-1, 1)]
    ys += [y + s * r for _, y, r, _ in marks for s in (-1, 1)]
    size = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    left, top = min(xs) - 0.05 * size, -max(ys) - 0.05 * size
    across, high = max(xs) - min(xs) + 0.1 * size, max(ys) - min(ys) + 0.1 * size
    parts = [
        f'<circle cx="{x:.4g}" cy="{-y:.4g}" r="{r:.4g}" fill="#c3ccd4"><title>{escape(name)}'
        "</title></circle>"
        for x, y, r, name in marks
    ]
    for path, color in paths:
        points = " ".join(f"{x:.5g},{-y:.5g}" for x, y in path)
        parts.append(
            f'<polyline points="{points}" fill="none" style="stroke:{color}" '
            f'stroke-width="{0.008 * size:.3g}" stroke-linejoin="round"/>'
        )
        x, y = path[-1]
        radius = 0.014 * size
        parts.append(f'<circle cx="{x:.5g}" cy="{-y:.5g}" r="{radius:.3g}" style="fill:{color}"/>')
    x, y = paths[-1][0][0]
    parts.append(f'<circle cx="{x:.5g}" cy="{-y:.5g}" r="{0.016 * size:.3g}" fill="#1c2733"/>')
    view = f"{left:.5g} {top:.5g} {across:.5g} {high:.5g}"
    return f'<svg class="map" viewBox="{view}" role="img">{"".join(parts)}</svg>'


def _waterfall(why: Explanation) -> str:
    if why.rival is None or not why.bars:
        return ""
    edges = [0.0]
    for bar in why.bars:
        edges.append(edges[-1] + bar.amount)
    scale = Scale(edges)
    rows = []
    for bar, low, high in zip(why.bars, edges, edges[1:], strict=False):
        left, right = sorted((scale(low), scale(high)))
        kind = "up" if bar.amount >= 0 else "down"
        rows.append(_bar(bar.label, left, right, kind, scale(0.0), signed(bar.amount)))
    left, right = sorted((scale(0.0), scale(edges[-1])))
    total = "the difference of the values"
    rows.append(_bar(total, left, right, "sum", scale(0.0), number(edges[-1], 4)))
    note = (
        f"What each step adds to the difference of {why.best.label} and {why.rival.label}: the "
        "difference of the two rewards, discounted."
    )
    content = f'<div class="chart">{"".join(rows)}</div>'
    title = why.bars_title
    return section(title[0].upper() + title[1:], note, content, "waterfall")


def _bar(label: str, left: float, right: float, kind: str, zero: float, text: str) -> str:
    return (
        f'<div class="name">{escape(label)}</div><div class="lane"><s style="left:{zero}%"></s>'
        f'<u class="{kind}" style="left:{left}%;width:{right - left:.3f}%"></u></div>'
        f'<div class="num">{text}</div>'
    )


def _flips(why: Explanation) -> str:
    items = "".join(
        f"<li><b>{escape(flip.kind)}</b><span>{escape(flip.text)}</span></li>" for flip in why.flips
    )
    note = "By what was seen; nothing was simulated again for it."
    title = "What would change the decision"
    return section(title, note, f'<ul class="flips">{items}</ul>', "flips")


def _heat(why: Explanation, searched: Summary) -> str:
    totals = [sum(row[a] for row in searched.counts) for a in range(len(why.action_names))]
    order = sorted(range(len(totals)), key=lambda a: -totals[a])
    order = [a for a in order if totals[a] > 0]
    columns = sorted(order[:MOST_COLUMNS])
    others = order[MOST_COLUMNS:]
    groups: list[tuple[int, int]] = []
    depth = 0
    while depth < len(searched.counts):  # ranges grow with the depth: 1 … 6, 7–8, 9–10, 11–14, …
        width = 1 if len(groups) < SINGLE else 2 ** (1 + (len(groups) - SINGLE) // 2)
        groups.append((depth, min(depth + width, len(searched.counts))))
        depth += width
    head = "".join(f"<th>{escape(why.action_names[a])}</th>" for a in columns)
    head += "<th>others</th>" if others else ""
    table = [f"<tr><th>step</th>{head}</tr>"]
    cells = {(g, a): sum(searched.counts[d][a] for d in range(*g)) for g in groups for a in columns}
    most = max(cells.values(), default=1) or 1
    for g in groups:
        label = f"{g[0] + 1}" if g[1] == g[0] + 1 else f"{g[0] + 1}–{g[1]}"
        row = [_heat_cell(cells[g, a], most) for a in columns]
        if others:
            row.append(
                f"<td>{sum(searched.counts[d][a] for d in range(*g) for a in others):,}</td>"
            )
        table.append(f"<tr><td>{label}</td>{''.join(row)}</tr>")
    note = (
        f"Samples at each step ahead (rows) of sequences with each first action (columns): "
        f"{searched.samples:,} in all, in {searched.nodes - 1:,} nodes."
    )
    content = f'<div class="scroll"><table class="heat">{"".join(table)}</table></div>'
    return section("Where the calls went", note, content, "heat")


def _heat_cell(count: int, most: int) -> str:
    share = (count / most) ** 0.5
    ink = ";color:#fff" if share > 0.65 else ""
    return f'<td style="background:hsl(205 55% {96 - 52 * share:.0f}%){ink}">{count:,}</td>'


def _tree(why: Explanation, searched: Summary) -> str:
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
    content = (
        '<div class="crumbs" id="crumbs"></div><div class="icicle" id="tree"></div>'
        f'<p class="info" id="tree-info"></p>{data_island("tree-data", data)}'
    )
    return section("The tree", note, content, "tree-section")
