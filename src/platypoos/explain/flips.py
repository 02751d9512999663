"""What would have to be different for the decision to be another one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.explain.sequences import (
    CONFIDENT,
    Line,
    Step,
    depths_of,
    difference_of_parts,
    firsts_of,
    layers_of,
    spread_of,
)
from platypoos.explain.verdict import PROVED
from platypoos.markup import number
from platypoos.spaces import Tried
from platypoos.trees.tree import OPENED, ROOT, TERMINAL

if TYPE_CHECKING:
    from platypoos.results import Plan

ONE_IN_TWENTY = 1.645
"""A normal variable is larger than this with a probability of 5 %."""
SAMPLED = 0.25
"""Of all calls: samples of each of the last two candidates of the default planner, at least."""
MOST_REWARDS = 2
FAR_OFF = 2.0
"""Changes of a reward by more than this share of the range of those that were seen are not told."""
NEGLIGIBLE = 1e-9
"""Of a weight: rounding."""


@dataclass(frozen=True)
class Flip:
    """One change that would flip the decision, or would not."""

    kind: str
    """"reward", "noise" or "calls"."""
    text: str
    amount: float | None = None
    """How much: of a reward, of noise (standard deviation), or calls; or what share of a part."""
    step: int | None = None
    """Which step of the sequence, from 0."""
    action: int | None = None
    """The first action of the sequence that it belongs to."""
    exact: bool = False
    """Whether the change is enough. If not, it is the least that is needed."""
    part: str = ""
    """Of the rewards, if it is about one."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "text": self.text,
            "amount": self.amount,
            "step": self.step,
            "action": self.action,
            "exact": self.exact,
            "part": self.part,
        }


def flips_of(plan: Plan, best: Line, rival: Line | None) -> tuple[Flip, ...]:
    """All that can be told from the plan, without another call of the model."""
    if rival is None or math.isnan(best.value) or math.isnan(rival.value):
        return (Flip("calls", "Only one first action was evaluated: nothing competes with it."),)
    gap = best.value - rival.value if plan.heard is None else plan.heard.estimate
    if gap == 0.0:
        text = (
            f"{best.label} and {rival.label} are worth the same by all that was seen, so any "
            "difference in a reward decides between them."
        )
        return (Flip("reward", text, 0.0), *_calls(plan, best, rival, gap))
    if plan.outcomes:  # what noise and more calls may change cannot be told from one line
        return tuple(_rewards(plan, best, rival, gap))
    found = [*_rewards(plan, best, rival, gap), *_noise(plan, best, rival, gap)]
    return (*found, *_calls(plan, best, rival, gap))


def _rewards(plan: Plan, best: Line, rival: Line, gap: float) -> list[Flip]:
    if gap <= 0.0:
        return []
    size = number(gap, 4)
    exact = plan.noise is not None and plan.noise.deviation == 0.0
    by = "" if exact else " by these estimates"
    found = [] if plan.outcomes else _parts(best, rival, gap)
    has_parts = bool(found)
    for line, word, sign in ((best, "less", -1.0), (rival, "more", 1.0)):
        if line.steps:
            text = (
                f"If {line.label} brings over {size} {word} in the next step than the "
                f"{number(line.steps[0].reward, 4)} that was seen, and only there, "
                f"{rival.label} is better{by}."
            )
            found.append(Flip("reward", text, sign * gap, 0, line.action, exact=exact))
    if plan.outcomes or has_parts:  # a line of many: its later rewards are not those of the others
        return found
    return found + _later_rewards(best, rival, gap)


def _parts(best: Line, rival: Line, gap: float) -> list[Flip]:
    """How much more or less a part of the rewards must count, those first that need least."""
    amounts = difference_of_parts(best, rival)
    changes = {name: -gap / amount for name, amount in amounts.items() if amount != 0.0}
    found = []
    for name in sorted(changes, key=lambda name: abs(changes[name])):
        change = changes[name]
        if not -1.0 <= change <= FAR_OFF:
            continue  # nothing counts less than nothing, and that far off nobody asks
        text = (
            f"If {name} counts {100.0 * abs(change):.0f} % {'more' if change > 0.0 else 'less'}, "
            f"{rival.label} becomes better, if the two sequences stay as they are."
        )
        found.append(Flip("reward", text, change, action=best.action, part=name))
    return found


def _later_rewards(best: Line, rival: Line, gap: float) -> list[Flip]:
    """Rewards of the best sequence that decide, those first that need the least change.

    A reward that both sequences get at the same time decides nothing; at different times, only
    the difference of its weights counts.
    """
    weights: dict[int, float] = {}
    times: dict[int, int] = {}
    first: dict[int, int] = {}
    for t, step in enumerate(best.steps):
        weights[step.source] = weights.get(step.source, 0.0) + step.weight
        times[step.source] = times.get(step.source, 0) + 1
        first.setdefault(step.source, t)
    shared = {step.source for step in rival.steps}
    for step in rival.steps:
        if step.source in weights:
            weights[step.source] -= step.weight
    needed = {
        source: gap / weight
        for source, weight in weights.items()
        if first[source] > 0 and weight > NEGLIGIBLE * best.steps[first[source]].weight
    }

    def ease(source: int) -> float:
        return needed[source] / max(abs(best.steps[first[source]].reward), 1e-300)

    rewards = [step.reward for step in (*best.steps, *rival.steps)]
    most = FAR_OFF * (max(rewards) - min(rewards))
    found = []
    for source in sorted(needed, key=ease)[:MOST_REWARDS]:
        if needed[source] > most:
            continue  # that far off nothing was seen
        t = first[source]
        step = best.steps[t]
        often = "" if times[source] == 1 else f" It comes {times[source]} times."
        often += " The other sequence gets it too, later or less often." if source in shared else ""
        text = (
            f"The reward of {step.name} at step {t + 1} must be "
            f"{number(step.reward - needed[source], 4)} at most, {_percent(step, needed[source])}"
            f"instead of {number(step.reward, 4)}.{often} Even then, another sequence that begins "
            f"with {best.label} may keep the lead."
        )
        found.append(Flip("reward", text, -needed[source], t, best.action))
    return found


def _percent(step: Step, change: float) -> str:
    """A change of a reward for the worse, in percent; nothing if that says little."""
    if not abs(step.reward) > change / 10.0:
        return ""
    word = "less" if step.reward > 0.0 else "more in costs"
    return f"{100.0 * change / abs(step.reward):.0f} % {word}, "


def _noise(plan: Plan, best: Line, rival: Line, gap: float) -> list[Flip]:
    spread = spread_of(best.steps, rival.steps)
    if gap <= 0.0 or spread == 0.0:
        return []
    bearable = gap / (ONE_IN_TWENTY * spread)
    if plan.noise is None:
        seen = "The planner does not measure noise."
    elif plan.noise.deviation == 0.0:
        seen = "None was seen."
    else:
        seen = f"It is {number(plan.noise.deviation, 3)} here."
    text = (
        f"Noise in the rewards with a standard deviation of up to {number(bearable, 3)} leaves the "
        f"order of these two sequences as it is in 95 of 100 cases, with as many samples. {seen}"
    )
    return [Flip("noise", text, bearable)]


def _calls(plan: Plan, best: Line, rival: Line, gap: float) -> list[Flip]:
    deviation = 0.0 if plan.noise is None else plan.noise.deviation
    if deviation == 0.0:
        return [_beyond(plan, best, rival)]
    margin, where = CONFIDENT * deviation * spread_of(best.steps, rival.steps), "by all samples"
    if plan.heard is not None and plan.heard.high is not None:
        margin, where = plan.heard.high - gap, "by fresh samples"
    if gap <= 0.0:
        return [
            Flip(
                "calls",
                "The values are too uncertain to tell: more calls may well flip the decision.",
            )
        ]
    if margin <= gap:
        text = (
            f"The lead of {number(gap, 4)} is {number(gap / margin, 3)} times its 95 % margin "
            f"{where}: noise alone is unlikely to flip it."
        )
        return [Flip("calls", text, 0.0)]
    needed = math.ceil(plan.calls * (margin / gap) ** 2)
    if plan.heard is None:
        needed = max(plan.calls + 1, calls_for(plan, best, gap))
    text = (
        f"The lead of {number(gap, 4)} is smaller than its 95 % margin {where}, "
        f"{number(margin, 4)}: noise alone may flip it. About {_two_digits(needed):,} calls, "
        f"{number(needed / plan.calls, 2)} times as many, make the margin as small as that."
    )
    return [Flip("calls", text, float(needed))]


def _two_digits(count: int) -> int:
    """A number of calls that is an estimate anyway.

    >>> _two_digits(698_123), _two_digits(7)
    (700000, 7)
    """
    return round(count, -max(0, len(str(count)) - 2))


def calls_for(plan: Plan, best: Line, lead: float) -> int:
    """Calls after which the margin of a lead is as small as the lead.

    If each of two finalists has n = SAMPLED · calls samples, step t of it γ^t n / Σγ^t of them, and
    they share none, then the variance of the lead is 2 σ² (Σγ^t)² / n.
    """
    total = sum(step.weight for step in best.steps)
    deviation = 0.0 if plan.noise is None else plan.noise.deviation
    return math.ceil(2.0 * (CONFIDENT * deviation * total / lead) ** 2 / SAMPLED)


def _beyond(plan: Plan, best: Line, rival: Line) -> Flip:
    """Without noise: whether what was not seen yet can make another first action better."""
    proved = plan.confidence is not None and plan.confidence >= PROVED
    if proved:
        text = "Everything within reach was seen. More calls do not flip the decision."
        return Flip("calls", text, 0.0)
    if isinstance(plan.space, Tried):
        text = (
            f"There are more actions than can be tried. More calls can flip the decision if they "
            f"find a sequence that is worth more than {number(best.value, 4)} and begins with "
            "another action."
        )
        return Flip("calls", text)
    if not plan.is_whole:
        text = "What was searched was not kept, so it cannot be told what more calls may change."
        return Flip("calls", text)
    worst, hopes, high, low = bounds(plan)
    last = best.steps[-1]
    after = 0.0 if last.ends else min(low, 0.0) * float(_left(plan, np.array(len(best.steps))))
    worst = max(worst, best.seen + after)
    others = [hope for action, hope in hopes.items() if action != best.action]
    if others and worst > max(others):
        text = (
            f"No number of calls flips the decision as long as rewards stay between "
            f"{number(low, 4)} and {number(high, 4)}, as all seen so far: {best.label} is worth "
            f"{number(worst, 4)} at least, and every other first action {number(max(others), 4)} "
            "at most."
        )
        return Flip("calls", text, 0.0, exact=plan.noise is not None)
    hope = hopes.get(rival.action, math.inf)
    text = (
        f"More calls can flip the decision if {rival.label} has a sequence that was not seen and "
        f"is worth more than {number(best.value, 4)}. With rewards as seen so far it may be worth "
        f"{number(hope, 4)} at most{'' if plan.noise is not None else ', if there is no noise'}."
    )
    return Flip("calls", text)


def bounds(plan: Plan) -> tuple[float, dict[int, float], float, float]:
    """Without noise: the least that the decision is worth, the most that first actions may be.

    Rewards that were not seen are taken to lie between the smallest and the largest one seen, and
    0 after the end of an episode. Returns both, and the largest and the smallest reward.
    """
    tree = plan.searched_tree()
    size = tree.num_nodes
    depth = depths_of(tree)
    first = firsts_of(tree, depth)
    seen = tree.pulls[:size] > 0
    seen[ROOT] = True
    rewards = np.where(seen, tree.reward[:size], 0.0)
    sampled = rewards[1:][seen[1:]]
    high, low = (float(sampled.max()), float(sampled.min())) if len(sampled) else (0.0, 0.0)
    sums = np.zeros(size)
    for h, nodes in enumerate(layers_of(depth)):
        known = np.where(seen[nodes], rewards[nodes], 0.0)
        sums[nodes] = sums[tree.parent[nodes]] + plan.discount**h * known
    left = _left(plan, np.arange(int(depth.max()) + 1))
    ends = tree.flags[:size] & TERMINAL != 0
    children = np.bincount(tree.parent[1:size], minlength=size)
    full = (children >= plan.num_actions) | (tree.flags[:size] & OPENED != 0)
    full &= children > 0
    # A node that was not sampled is covered by its parent: what follows may bring anything.
    hope = np.where(ends, sums, sums + max(high, 0.0) * left[depth])
    hope[full | ~seen] = -np.inf
    unseen_child = np.unique(tree.parent[1:size][~seen[1:]])
    hope[unseen_child] = (sums + max(high, 0.0) * left[depth])[unseen_child]
    hope[ROOT] = -np.inf
    hopes = {
        action: float(hope[first == action].max()) if (first == action).any() else math.inf
        for action in range(plan.num_actions)
    }
    ended = ends & (first == plan.action_index)
    worst = np.where(ended, sums, sums + min(low, 0.0) * left[depth])
    worst[(first != plan.action_index) | ~seen] = -np.inf
    return float(worst.max()), hopes, high, low


def _left(plan: Plan, depth: Any) -> Any:
    """γ^d and what a reward of 1 at each later step is worth, at each depth."""
    gamma = plan.discount
    if plan.horizon is None:
        return gamma**depth / (1.0 - gamma)
    steps = np.maximum(plan.horizon - depth, 0)
    if gamma == 1.0:
        return steps.astype(np.float64)
    return gamma**depth * (1.0 - gamma**steps) / (1.0 - gamma)
