"""Figure 3 of the paper, line by line, with dictionaries and lists. It shares no code with ours."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2

from adding import added


@dataclass
class Result:
    """What the figure opened and evaluated, and its output."""

    opened: dict  # sequence: how often it was opened
    pulls: dict  # sequence: T, the evaluations of its last action
    candidates: list  # a^p for p = 0, 1, …, p_max
    output: tuple
    h_max: int


def figure_3(sample, n, num_actions, gamma):
    """``sample(sequence)`` draws a reward of its last action; n is a number of openings."""
    rewards = {}
    opened = {}

    def evaluate(a, times):
        for _ in range(times):
            rewards.setdefault(a, []).append(sample(a))

    def pulls(a):
        return len(rewards[a])

    def u_hat(a):
        prefixes = [a[: t + 1] for t in range(len(a))]
        return added(gamma**t * added(rewards[x]) / pulls(x) for t, x in enumerate(prefixes))

    def open_node(a, times):
        opened[a] = times
        for action in range(num_actions):
            evaluate((*a, action), times)

    # Initialization
    h_max = floor(n / (2 * (log2(n) + 1) ** 2))
    p_max = floor(log2(h_max))
    open_node((), h_max)

    # Exploration
    for h in range(1, h_max + 1):
        layer = [a for a in rewards if len(a) == h]
        for p in range(floor(log2(h_max / ceil(h**2 * gamma ** (2 * h)))), -1, -1):
            times = ceil(h * 2**p * gamma ** (2 * h))
            at_most = floor(h_max / (h * times))
            needed = ceil((h - 1) * 2**p * gamma ** (2 * (h - 1)))
            given = [a for a in layer if a not in opened and pulls(a) >= needed]
            for a in sorted(given, key=u_hat, reverse=True)[:at_most]:
                open_node(a, times)

    # Cross-validation
    def is_candidate(a, p):
        return all(
            pulls(a[:t]) >= ceil((t - 1) * 2**p * gamma ** (2 * (t - 1)))
            for t in range(2, len(a) + 1)
        )

    candidates = [
        max((a for a in rewards if is_candidate(a, p)), key=u_hat) for p in range(p_max + 1)
    ]
    for a in candidates:
        for t in range(len(a)):
            evaluate(a[: t + 1], ceil((t + 1) * gamma ** (2 * t) * h_max * (1 - gamma**2) ** 2))

    # Output
    output = max(candidates, key=u_hat)
    return Result(opened, {a: pulls(a) for a in rewards}, candidates, output, h_max)
