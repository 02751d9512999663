"""How sure a decision is, and by how much the plan beats the best one found beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from platypoos.explain.sequences import Line, lines_of
from platypoos.markup import number, rounded

if TYPE_CHECKING:
    from platypoos.results import Plan

PROVED, CLEAR = 0.999, 0.95
"""Of ``Plan.confidence``: at least this much is called "proved", or "clear"."""
MEANING = {
    "proved": "all that can be reached from here is known, and no noise was seen.",
    "clear": "of decisions like this one, fewer than 5 in 100 were wrong on problems with known "
    "answers.",
    "open": "so many of 100 decisions like this one were right on problems with known answers. "
    "That is as far as was seen: a plan that was not tried may be better.",
    "": "how sure this decision is cannot be told. That was measured for the default planner only, "
    "with a list of actions and states that can be stored.",
}
"""Of each kind of verdict; the last one where there is none."""


class Lead(NamedTuple):
    """By how much the recommended plan beats the best plan found with another first action.

    It compares these two plans as they are. It does not say that no better plan exists: see
    ``Plan.confidence``.
    """

    estimate: float
    """With noise, from samples that nothing was chosen by, if there are some."""
    low: float | None
    """The interval (95 %) is for noise; without noise it is the estimate. None if the planner
    cannot tell."""
    high: float | None


def verdict_of(plan: Plan) -> str:
    """How sure the decision is: "proved", "clear", or "… % sure"; empty if it is not known."""
    sure = plan.confidence
    if sure is None:
        return ""
    if sure >= PROVED:
        return "proved"
    return "clear" if sure >= CLEAR else f"{100.0 * sure:.0f} % sure"


def meaning_of(verdict: str) -> str:
    """What a verdict means, in a sentence.

    >>> meaning_of("")[:40]
    'How sure this decision is cannot be told'
    """
    text = MEANING[kind_of(verdict)]
    said = f"{verdict}: {text}" if verdict else text
    return said[0].upper() + said[1:]


def kind_of(verdict: str) -> str:
    """The kind of a verdict, as ``MEANING`` has it.

    >>> kind_of("clear"), kind_of("62 % sure")
    ('clear', 'open')
    """
    return "open" if verdict.endswith("sure") else verdict


def how_sure(plan: Plan) -> str:
    """The same as a part of a sentence."""
    verdict = verdict_of(plan)
    if verdict.endswith("sure"):
        return f"{verdict}, as far as was seen"
    if verdict:
        what = "all within reach is known" if verdict == "proved" else "more calls hardly change it"
        return f"{verdict}: {what}"
    if plan.enough is None:
        return "how sure it is cannot be told"
    return f"more calls {'are unlikely to' if plan.enough else 'may'} change the decision"


def shown(lead: Lead) -> str:
    """The lead with its interval, if it has one.

    >>> shown(Lead(2.5, None, None)), shown(Lead(2.0, -1.56, 5.59))
    ('2.5', '2.0 (-1.6 to 5.6 with 95 %)')
    """
    if lead.low is None or lead.high is None or lead.low == lead.high:
        return number(lead.estimate, 4)
    width = (lead.high - lead.low) / 20
    low, high = rounded(lead.low, width), rounded(lead.high, width)
    return f"{rounded(lead.estimate, width)} ({low} to {high} with 95 %)"


def is_open(lead: Lead) -> bool:
    """Whether noise may be all of the lead."""
    return lead.low is not None and lead.low <= 0.0 < lead.estimate


def lead_of(plan: Plan) -> str:
    """By how much the plan beats the best one found beside it, as a part of a sentence."""
    lead = plan.lead
    if lead is None:
        return ""
    if lead.estimate == 0.0:
        return "worth the same as the runner-up"
    if lead.estimate < 0.0:
        return f"the runner-up {why_not(plan)}"
    return f"ahead of the runner-up by {shown(lead)}{on_fresh(plan)}"


def on_fresh(plan: Plan) -> str:
    """Where a lead comes from that is not the difference of the values that are shown."""
    return "" if plan.heard is None else " on fresh samples"


def beside_the_rule(plan: Plan) -> str:
    """What the plan gains over the user's rule, as a part of a sentence; empty if nobody knows."""
    gain = plan.improvement
    if gain is None:
        return ""
    if gain.estimate == 0.0:
        return "your rule does the same: nothing better was found"
    lead = Lead(*gain)
    return f"better than your rule by {shown(lead)}" + ("; noise may be all of it" * is_open(lead))


def why_not(plan: Plan) -> str:
    """What speaks for the runner-up, if it is more, and why it is not taken."""
    lead = plan.lead
    if plan.heard is not None and lead is not None and plan.value >= plan.action_values[plan.rival]:
        low, high = (None if end is None else -end for end in (lead.high, lead.low))
        behind = shown(Lead(-lead.estimate, low, high))
        return f"was ahead by {behind} on fresh samples; by all samples it is not"
    text = "shows a higher value: "
    lines: dict[int, Line] = lines_of(plan)
    best, rival = lines.get(plan.action_index), lines.get(plan.rival or 0)
    if best is not None and rival is not None and rival.samples < best.samples:
        return f"{text}it has fewer samples ({rival.samples:,} against {best.samples:,})"
    return f"{text}the values are too noisy to tell"
