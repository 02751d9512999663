"""Why this action and not another one: the explanation of a plan, as data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from platypoos.checks import same
from platypoos.explain.arrays import bars as small_bars
from platypoos.explain.arrays import courses
from platypoos.explain.flips import Flip, flips_of
from platypoos.explain.origin import code_of
from platypoos.explain.outcomes import Fan, fans_of
from platypoos.explain.sequences import (
    CONFIDENT,
    Line,
    difference_of_parts,
    lines_of,
    rule_line,
    spread_of,
)
from platypoos.explain.summary import Summary
from platypoos.explain.verdict import (
    Lead,
    beside_the_rule,
    how_sure,
    is_open,
    on_fresh,
    shown,
    verdict_of,
    why_not,
)
from platypoos.markup import Table, notebook, plain, rounded, show_state, signed
from platypoos.simulator.pools import Busy
from platypoos.spaces import Tried

if TYPE_CHECKING:
    from platypoos.results import Plan

VERSION = 1
"""Of the data; it changes when a field changes its meaning or goes."""
MOST_BARS = 9
"""Bars of the waterfall; neighbouring steps that matter least are drawn as one."""
REST = "after the last step, and correction for noise"
"""The bar for what the others do not add up to."""


@dataclass(frozen=True)
class Choice:
    """A first action, and what it is worth."""

    action: int
    name: str
    value: float | None
    """None if it was not evaluated."""
    interval: tuple[float, float] | None
    """95 %, as far as noise is concerned; None if the planner cannot tell."""
    samples: int
    """Of sequences that begin with it; where actions are arrays, of the best one of these."""
    bars: str = ""
    """Where actions are arrays, a small bar for each coordinate."""


@dataclass(frozen=True)
class Case:
    """Where the recommended action may lead under random dynamics, and what to do there."""

    probability: float
    """The share of the samples that led there."""
    state: Any
    ends: bool
    then: str
    """The name of the next action; empty after an end, or if nothing is known there yet."""


@dataclass(frozen=True)
class Bar:
    """A part of the lead: what one step, or some steps in a row, add to it."""

    label: str
    amount: float
    first: int | None = None
    """The steps, from 0; None for what comes after them."""
    last: int | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a plan recommends what it does. Print it, or see ``as_dict``.

    >>> import platypoos as pp
    >>> why = pp.plan(pp.problems.SwitchChain(), budget=500, discount=0.95, seed=0).explain()
    >>> why.choices[why.action].name, why.rival.action, round(sum(bar.amount for bar in why.bars))
    ('bin 0', 1, 13)
    """

    action: int
    name: str
    summary: str
    """The reason in two or three sentences."""
    choices: tuple[Choice, ...]
    """All first actions, by their number."""
    best: Line
    rival: Line | None
    """The best sequence with another first action; None if there is none."""
    gap: float | None
    """The difference of the two values that are shown; negative if the rival shows a higher one."""
    lead: Lead | None
    """By how much the recommended plan beats the best one found with another first action."""
    confidence: float | None
    """The probability that no other first action is clearly better; see ``Plan.confidence``."""
    enough: bool | None
    verdict: str
    """"proved", "clear" or "… % sure"; empty if the planner cannot tell."""
    parts_at: int | None
    """The first step, from 0, at which the two sequences differ."""
    meets_at: int | None
    """The first step after which both are in the same state again; None if they never are."""
    bars: tuple[Bar, ...]
    """Where the lead comes from; they add up to ``gap``. None under random dynamics, where two
    lines of many do not tell."""
    parts: tuple[Bar, ...]
    """The same by what rewards consist of; none if the model does not say so (``pp.Reward``)."""
    rule: Line | None
    """What your rule does, if there is one; the plan is compared with it over these steps."""
    beside_rule: str
    """What the plan gains over your rule, in words; empty if nobody knows."""
    rule_bars: tuple[Bar, ...]
    """Where this gain comes from: the parts of the rewards, or else the steps."""
    flips: tuple[Flip, ...]
    searched: Summary | None
    calls: int
    budget: int | None
    depth: int
    discount: float
    planner: str
    model: str
    state: Any
    action_names: tuple[str, ...]
    code: str
    """How to make the plan again."""
    coordinates: tuple[tuple[str, str, str], ...] = ()
    """Where actions are arrays: the name of each coordinate, a small bar for each step of the
    recommended sequence, and its bounds."""
    cases: tuple[Case, ...] = ()
    """Under random dynamics: what may happen next, the likeliest first. Then ``best`` and ``rival``
    are only the likeliest lines."""
    fans: tuple[Fan, ...] = ()
    """Under random dynamics: what may come of the recommended action, and of its rival."""
    workers: Busy | None = None
    """With an executor: how well its workers were used."""
    version: int = field(default=VERSION)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        flat = ("version", "action", "name", "summary", "gap", "confidence", "enough", "verdict")
        more = ("calls", "budget", "depth", "discount", "planner", "model", "state", "code")
        data = {name: getattr(self, name) for name in (*flat, "parts_at", "meets_at", *more)}
        data["action_names"] = self.action_names
        data["coordinates"] = self.coordinates
        data["workers"] = None if self.workers is None else self.workers._asdict()
        data["lead"] = None if self.lead is None else self.lead._asdict()
        data["choices"] = [vars(choice) for choice in self.choices]
        data["best"] = self.best.as_dict()
        data["rival"] = None if self.rival is None else self.rival.as_dict()
        data["cases"] = [vars(case) for case in self.cases]
        data["fans"] = [vars(fan) for fan in self.fans]
        data["bars"] = [vars(bar) for bar in self.bars]
        data["parts"] = [vars(bar) for bar in self.parts]
        data["rule"] = None if self.rule is None else self.rule.as_dict()
        data["beside_rule"] = self.beside_rule
        data["rule_bars"] = [vars(bar) for bar in self.rule_bars]
        data["flips"] = [flip.as_dict() for flip in self.flips]
        data["searched"] = None if self.searched is None else self.searched.as_dict()
        return plain(data)  # type: ignore[no-any-return]

    def as_json(self) -> str:
        """The same as text."""
        return json.dumps(self.as_dict(), indent=1)

    @property
    def bars_title(self) -> str:
        """What the bars show."""
        if self.gap is not None and self.gap < 0.0:
            return "why the higher number is not trusted"
        return "where the lead comes from"

    @property
    def waterfalls(self) -> list[tuple[str, tuple[Bar, ...]]]:
        """The titles and bars there are: by parts of the reward, and by steps."""
        found = [(f"{self.bars_title}, by what rewards consist of", self.parts)]
        found.append((f"{self.bars_title}, step by step", self.bars))
        found.append(("where the gain over your rule comes from", self.rule_bars))
        return [(title, bars) for title, bars in found if bars]

    def __repr__(self) -> str:
        return f"Explanation({self.summary!r})"

    def _repr_html_(self) -> str:
        bars = [
            Table([title, "adds"], [(bar.label, signed(bar.amount)) for bar in rows])
            for title, rows in self.waterfalls
        ]
        flips = [flip.text for flip in self.flips]
        return notebook(self.summary, *bars, "What would change the decision:", flips)

    def __str__(self) -> str:
        lines = [self.summary, ""]
        for title, rows in self.waterfalls:
            lines.append(f"{title}:")
            lines += [f"  {bar.amount:>+12.4g}  {bar.label}" for bar in rows]
            lines.append("")
        lines.append("what would change the decision:")
        lines += [f"  - {flip.text}" for flip in self.flips]
        lines += ["", "to make it again:", *(f"  {line}" for line in self.code.splitlines())]
        return "\n".join(lines)


def explanation_of(plan: Plan, command: str | None = None) -> Explanation:
    """Explain a plan by what it knows; the model is not called.

    Args:
        plan: what to explain.
        command: the command that made it, if it was one.
    """
    lines = lines_of(plan)
    best = lines[plan.action_index]
    rival = None if plan.rival is None else lines.get(plan.rival)
    searched = plan.summary
    gap = None if rival is None else best.value - rival.value
    bars: tuple[Bar, ...] = ()
    parts: tuple[Bar, ...] = ()
    if rival is not None and gap is not None and not plan.outcomes:
        bars, parts = waterfall(best, rival, gap), by_parts(best, rival, gap)
    counts = [0] * plan.num_actions
    if searched is not None:
        counts = [sum(row[a] for row in searched.counts) for a in range(plan.num_actions)]
    elif isinstance(plan.space, Tried):
        counts = [lines[a].samples if a in lines else 0 for a in range(plan.num_actions)]
    payloads = plan.space.payloads
    values = plan.action_values
    choices = tuple(
        Choice(
            action,
            plan.action_names[action],
            None if math.isnan(values[action]) else float(values[action]),
            lines[action].interval if action in lines else None,
            counts[action],
            small_bars(plan.space, payloads[action]) if isinstance(plan.space, Tried) else "",
        )
        for action in range(plan.num_actions)
    )
    parts_at, meets_at = (None, None) if rival is None else meeting(best, rival)
    origin, rule, gain = plan.origin, rule_line(plan), plan.improvement
    rule_bars: tuple[Bar, ...] = ()
    if rule is not None and gain is not None and gain.estimate != 0.0:
        rule_bars = by_parts(best, rule, gain.estimate) or waterfall(best, rule, gain.estimate)
    return Explanation(
        action=plan.action_index,
        name=plan.action_names[plan.action_index],
        summary=_summary(plan, best, rival),
        choices=choices,
        best=best,
        rival=rival,
        gap=gap,
        lead=plan.lead,
        confidence=plan.confidence,
        enough=plan.enough,
        verdict=verdict_of(plan),
        parts_at=parts_at,
        meets_at=meets_at,
        bars=bars,
        parts=parts,
        rule=rule,
        beside_rule=beside_the_rule(plan),
        rule_bars=rule_bars,
        flips=flips_of(plan, best, rival),
        searched=searched,
        calls=plan.calls,
        workers=plan.workers,
        budget=plan.budget,
        depth=plan.depth,
        discount=plan.discount,
        planner="" if origin is None else origin.planner_name,
        model="" if origin is None else origin.model_name,
        state=plan.state,
        action_names=plan.action_names,
        code=command or code_of(plan),
        cases=tuple(
            Case(
                outcome.probability,
                outcome.state,
                outcome.ends,
                "" if outcome.action_index is None else plan.action_names[outcome.action_index],
            )
            for outcome in plan.outcomes
        ),
        fans=fans_of(plan),
        coordinates=tuple(courses(plan.space, plan.actions, plan.coordinate_names)),
    )


def meeting(best: Line, rival: Line) -> tuple[int | None, int | None]:
    """Where two sequences part, and after which step they are in the same state again."""
    both = list(zip(best.steps, rival.steps, strict=False))
    parts = next((t for t, (one, two) in enumerate(both) if one.action != two.action), None)
    if parts is None:
        return None, None
    for t in range(parts, len(both)):
        one, two = both[t]
        if one.ends or two.ends or one.state is None or two.state is None:
            break
        if same(one.state, two.state):
            return parts, t
    return parts, None


def waterfall(best: Line, rival: Line, gap: float) -> tuple[Bar, ...]:
    """Split the lead among the steps; what matters least is put together with its neighbours."""
    parts: list[tuple[int, int, float]] = []
    for t in range(max(len(best.steps), len(rival.steps))):
        amount = 0.0
        for line, sign in ((best, 1.0), (rival, -1.0)):
            if t < len(line.steps) and not math.isnan(line.steps[t].reward):
                amount += sign * line.steps[t].weight * line.steps[t].reward
        parts.append((t, t, amount))
    least = 1e-9 * max(abs(amount) for _, _, amount in parts)
    while len(parts) > 1 and abs(parts[-1][2]) <= least and abs(parts[-2][2]) <= least:
        first, last = parts[-2], parts.pop()  # the same from there on: one bar
        parts[-1] = (first[0], last[1], first[2] + last[2])
    while len(parts) > MOST_BARS:
        sizes = [abs(parts[i][2]) + abs(parts[i + 1][2]) for i in range(len(parts) - 1)]
        i = sizes.index(min(sizes))
        parts[i : i + 2] = [(parts[i][0], parts[i + 1][1], parts[i][2] + parts[i + 1][2])]
    if gap == 0.0 and all(amount == 0.0 for _, _, amount in parts):
        return ()
    bars = [
        Bar(f"step {a + 1}" if a == b else f"steps {a + 1} to {b + 1}", amount, a, b)
        for a, b, amount in parts
    ]
    return (*bars, *_rest(bars, gap))


def by_parts(best: Line, rival: Line, gap: float) -> tuple[Bar, ...]:
    """Split the lead among the parts of the rewards, the largest first."""
    amounts = difference_of_parts(best, rival)
    if not amounts:
        return ()
    bars = [Bar(name, amounts[name]) for name in sorted(amounts, key=lambda n: -abs(amounts[n]))]
    return (*bars, *_rest(bars, gap))


def _rest(bars: list[Bar], gap: float) -> list[Bar]:
    """What the bars do not add up to."""
    rest = gap - sum(bar.amount for bar in bars)
    if abs(rest) <= 1e-9 * max([abs(gap), *(abs(bar.amount) for bar in bars)]):
        return []
    return [Bar(REST, rest)]


def _summary(plan: Plan, best: Line, rival: Line | None) -> str:
    """The reason in a few sentences."""
    length, lead = len(best.steps), plan.lead
    steps = f"{length} step{'s' if length != 1 else ''}"
    if plan.outcomes:
        text = f"Take {best.label} now. Its likeliest line looks {steps} ahead; with all others "
        text += f"that chance may take, it is worth {best.shown} on average."
    else:
        text = f"Take {best.label} now. Its best sequence looks {steps} ahead and is worth "
        text += f"{best.shown}."
    if rival is None or lead is None:
        return f"{text} No other first action was evaluated."
    other = f"the best plan found that begins with {rival.label}"
    if lead.estimate == 0.0:
        text += f" By all that was seen, {other} is worth the same."
    elif lead.estimate < 0.0:
        text += f" It was preferred to {other}, though that {why_not(plan)}."
    else:
        text += f" It beats {other} by {shown(lead)}{on_fresh(plan)}."
        noise = 0.0 if plan.noise is None else plan.noise.deviation
        if is_open(lead):
            text += " Noise may be all of this lead."
        elif lead.low is None and noise > 0.0:
            margin = CONFIDENT * noise * spread_of(best.steps, rival.steps)
            text += f" Noise makes this uncertain by ± {rounded(margin, margin)} at least."
    if plan.noise is not None and plan.noise.deviation == 0.0:
        text += " No noise was seen in the rewards."
    rule = beside_the_rule(plan)
    if rule.startswith("better"):
        text += f" It is {rule}."
    elif rule:
        text += f" {rule[0].upper()}{rule[1:]}."
    sure = how_sure(plan)
    return f"{text} {sure[0].upper()}{sure[1:]}." if sure else text


def describe_state(state: Any) -> str:
    """A state as the pages show it."""
    return "not kept" if state is None else show_state(state)
