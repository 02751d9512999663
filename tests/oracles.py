"""Slow textbook versions, written from the paper with plain lists and dictionaries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adding import added

Node = tuple[int, ...]
Sample = Callable[[Node], tuple[float, bool]]


@dataclass
class Counts:
    """A planner of the layered family, by its formulas."""

    evaluations: Callable[[int, int], int]  # c(h, p)
    quota: Callable[[int, int, int], int]  # k(h, p) for an h_max
    root: Callable[[int], int]
    indices: Callable[[int], int]  # p_max for an h_max
    validation: Callable[[int, int, int], int] | None  # evaluations of step t, depth, h_max
    weight: Callable[[int], float] = lambda t: 1.0
    most_validation: Callable[[int, int], int] | None = None


def platypoos_counts(gamma: float, reset: bool) -> Counts:
    def c(h: int, p: int) -> int:
        return max(1, math.ceil(h * 2**p * gamma ** (2 * h)))

    return Counts(
        evaluations=c,
        quota=lambda h, p, h_max: h_max // ((h * h if reset else h) * c(h, p)),
        root=lambda h_max: h_max,
        indices=lambda h_max: math.floor(math.log2(h_max)),
        validation=lambda t, _, h_max: math.ceil(
            (t + 1) * gamma ** (2 * t) * h_max * (1 - gamma**2) ** 2
        ),
        weight=lambda t: (t + 1) * gamma ** (2 * t),
    )


def stroquool_counts(reset: bool) -> Counts:
    return Counts(
        evaluations=lambda h, p: 2**p,
        quota=lambda h, p, h_max: h_max // ((h * h if reset else h) * 2**p),
        root=lambda h_max: h_max,
        indices=lambda h_max: math.floor(math.log2(h_max)),
        validation=lambda t, depth, h_max: math.ceil(h_max / depth),
        most_validation=lambda depth, h_max: h_max + depth,
    )


def sequool_counts(reset: bool) -> Counts:
    return Counts(
        evaluations=lambda h, p: 1,
        quota=lambda h, p, h_max: h_max // (h * h if reset else h),
        root=lambda h_max: 1,
        indices=lambda h_max: 0,
        validation=None,
    )


def opened_counts(counts: Counts, h_max: int, num_actions: int) -> dict[tuple[int, int], int]:
    """o(h, p) by the recursion, without any reward."""
    p_max = counts.indices(h_max)
    opened = {(0, p): int(p == p_max) for p in range(p_max + 1)}
    for h in range(1, h_max + 1):
        for p in range(p_max, -1, -1):
            available = num_actions * sum(opened[h - 1, q] for q in range(p, p_max + 1))
            available -= sum(opened[h, q] for q in range(p + 1, p_max + 1))
            opened[h, p] = min(counts.quota(h, p, h_max), available)
        if not any(opened[h, p] for p in range(p_max + 1)):
            break
    return {key: o for key, o in opened.items() if o and key[0] > 0}


def walks(validation: list[int]) -> list[int]:
    """With RESET access: how many walks must reach each step."""
    return [max(validation[t:]) for t in range(len(validation))]


def cost(counts: Counts, h_max: int, num_actions: int, reset: bool) -> int:
    opened = opened_counts(counts, h_max, num_actions)
    total = num_actions * counts.root(h_max)
    for (h, p), o in opened.items():
        total += num_actions * o * counts.evaluations(h, p) * (h + 1 if reset else 1)
    depth = 1 + max((h for h, _ in opened), default=0)
    if counts.most_validation:
        total += (counts.indices(h_max) + 1) * counts.most_validation(depth, h_max)
    elif counts.validation:
        steps = [counts.validation(t, depth, h_max) for t in range(depth)]
        total += (counts.indices(h_max) + 1) * sum(walks(steps) if reset else steps)
    return total


def largest_h_max(counts: Counts, budget: int, num_actions: int, reset: bool) -> int:
    h_max = 0
    while cost(counts, h_max + 1, num_actions, reset) <= budget:
        h_max += 1
    return h_max


@dataclass
class Textbook:
    """What the textbook version opened, evaluated and recommends."""

    opened: dict[Node, int] = field(default_factory=dict)  # node: the p it was opened at
    samples: dict[Node, list[float]] = field(default_factory=dict)
    index: dict[Node, int] = field(default_factory=dict)
    terminal: set[Node] = field(default_factory=set)
    calls: int = 0
    output: Node = ()
    value: float = math.nan


def run(
    counts: Counts,
    sample: Sample,
    budget: int,
    num_actions: int,
    gamma: float,
    reset: bool,
    floor: float | None = None,
) -> Textbook:
    """Figure 3, one sample at a time. ``sample(node)`` draws a reward of its last action."""
    book = Textbook()
    h_max = largest_h_max(counts, budget, num_actions, reset)

    def evaluate(node: Node, times: int) -> None:
        for _ in range(times):
            for prefix in [node[: t + 1] for t in range(len(node))] if reset else [node]:
                reward, terminated = sample(prefix)
                book.calls += 1
                book.samples.setdefault(prefix, []).append(reward)
                if terminated:
                    book.terminal.add(prefix)

    def mean(node: Node) -> float:
        return added(book.samples[node]) / len(book.samples[node])

    def u_hat(node: Node, floor: float = 0.0) -> float:
        total = added(gamma**t * (mean(node[: t + 1]) - floor) for t in range(len(node)))
        if floor and node in book.terminal:
            total += gamma ** len(node) * (0.0 - floor) / (1 - gamma)
        return total

    def open_node(node: Node, p: int, times: int) -> None:
        book.opened[node] = p
        for action in range(num_actions):
            child = (*node, action)
            book.index[child] = p
            evaluate(child, times)

    p_max = counts.indices(h_max) if h_max else 0
    if h_max == 0:
        open_node((), 0, budget // num_actions if counts.validation else 1)
    else:
        open_node((), p_max, counts.root(h_max))
        for h in range(1, h_max + 1):
            choices: list[tuple[Node, int]] = []
            for p in range(p_max, -1, -1):
                taken = {node for node, _ in choices}
                eligible = [
                    node
                    for node, q in book.index.items()
                    if len(node) == h and q >= p and node not in taken | book.terminal
                ]
                eligible.sort(key=u_hat, reverse=True)
                choices += [(node, p) for node in eligible[: counts.quota(h, p, h_max)]]
            for node, p in choices:
                open_node(node, p, counts.evaluations(h, p))
            if not choices:
                break

    if floor is None:
        floor = min(mean(node) for node in book.samples)
        if book.terminal:
            rates = [u_hat(n) / added(gamma**t for t in range(len(n))) for n in book.samples]
            floor = min(*rates, 0.0)
    candidates = [
        max((n for n in book.index if book.index[n] >= p), key=lambda n: u_hat(n, floor))
        for p in range(p_max, -1, -1)
    ]
    if counts.validation and h_max:
        _cross_validate(
            counts, list(dict.fromkeys(candidates)), evaluate, book, budget, h_max, reset
        )
    book.output = max(candidates, key=lambda n: u_hat(n, floor))
    book.value = u_hat(book.output, floor) + floor / (1 - gamma)
    return book


def _cross_validate(
    counts: Counts,
    finalists: list[Node],
    evaluate: Callable[[Node, int], None],
    book: Textbook,
    budget: int,
    h_max: int,
    reset: bool,
) -> None:
    """Figure 3's evaluations, and what is left in the same proportions, to the last call."""
    assert counts.validation

    def ends(steps: list[Any]) -> list[Any]:
        """Walks that end at each step."""
        reach = walks(steps)
        return [a - b for a, b in zip(reach, [*reach[1:], 0], strict=True)]

    plans = []
    for node in finalists:
        depth = len(node)
        needed = [counts.validation(t, depth, h_max) for t in range(depth)]
        weight = [counts.weight(t) for t in range(depth)]
        if reset:
            needed, weight = ends(needed), [(t + 1) * w for t, w in enumerate(ends(weight))]
        plans.append((node, needed, weight))
    price = [t + 1 if reset else 1 for t in range(max(len(n) for n in finalists))]
    left = budget - book.calls
    left -= sum(price[t] * n for _, needed, _ in plans for t, n in enumerate(needed))
    sums = [added(reversed(weight)) for _, _, weight in plans]
    running, given = 0.0, 0
    for (node, needed, weight), own in zip(plans, sums, strict=True):
        running += own
        upto = math.floor(left * (running / added(sums)))
        share, given = upto - given, upto
        done, spent = 0.0, 0
        extra = [0] * len(node)
        for t in range(len(node) - 1, -1, -1):
            done += weight[t]
            target = share if t == 0 else math.floor(share * (done / own))
            extra[t] = (target - spent) // price[t]
            spent += extra[t] * price[t]
        for t in range(len(node)):
            evaluate(node[: t + 1], needed[t] + extra[t])
