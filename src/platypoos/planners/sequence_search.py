"""Local search over whole sequences of actions, at all time scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.results import Plan
from platypoos.search.base import Task
from platypoos.search.growth import Growth, random_below
from platypoos.search.sequences import (
    IDLE,
    Limits,
    SequenceMemory,
    SequencePlanner,
    Sequences,
    begin_search,
    end_search,
    judge,
    lay,
)
from platypoos.trees.requests import calls_made, play
from platypoos.trees.tree import Tree

SEED_SHARE = 0.4
"""Share of the budget for sequences of one action, where there is nothing better to start from."""


@dataclass(frozen=True, kw_only=True)
class SequenceSearch(SequencePlanner):
    """Change a stretch of the best sequence of actions, and keep the change if it is not worse.

    Use it where rewards have little noise and steps are small: vehicles, robots, games. It needs
    to know nothing. All sequences have the same length, so nothing unknown is compared with
    anything known. Stretches of 1, 2, 4, … steps make it insensitive to the simulator's time step.
    From step to step of an episode it goes on with the best sequence of the last decision.

    It starts with sequences of one action, as many as fit in 40 % of the budget, or with the
    last decision's best sequence, unless that ends the episode. Then a random stretch of
    the best sequence is set to one random action. If the best sequence ends the episode, half of
    the stretches begin shortly before that end. After a change that leads to nothing new, a random
    sequence is tried, so that the search goes on where all changes are known. By RESTORE a change
    is played from the state before it, and no step that is known is played again; so with noise a
    lucky sample is believed.

    Reference: none; a local search with dyadic changes.

    Deviations: none.

    Args:
        discount: γ, in [0, 1).
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, and at most a quarter of the budget.

    >>> import platypoos as pp
    >>> planner = pp.planners.SequenceSearch(discount=0.95)
    >>> planner.plan(pp.problems.SwitchChain(), budget=1_000, seed=0).action
    0
    """

    name: ClassVar[str] = "sequence-search"
    citation: ClassVar[str] = "platypoos: local search over sequences with dyadic stretches."
    uses: ClassVar[tuple[str, ...]] = ("value",)

    def remember(self) -> SequenceMemory:
        """The best sequence of the last decision."""
        return SequenceMemory()

    def _plan(self, task: Task) -> Plan:
        search = begin_search(task, self.discount, self.length)
        actions = np.argsort(task.rng.random(task.num_actions))
        seeds = np.repeat(actions[:, None], search.length, axis=1)
        if len(search.kept):
            seeds = np.vstack((search.kept, seeds))
        limits = search.limits(task.budget, self.discount)
        run(*search.parts, seeds, len(search.kept) > 0, limits)
        return end_search(self, task, search)


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    lines: Sequences,
    seeds: NDArray[np.int64],
    has_kept: bool,
    limits: Limits,
) -> int:
    """Try sequences until the limits.budget is spent."""
    tried = idle = 0
    while calls_made(sim) < limits.budget and (idle < IDLE or not limits.restores):
        size = tree.size[0]
        left = limits.budget - calls_made(sim)
        early = left > (1 - SEED_SHARE) * limits.budget
        propose(growth, lines, seeds, tried, has_kept, early, idle % 2 == 1)
        steps, known = lay(tree, growth, lines.trial, left, limits.restores)
        got = play(sim, tree, growth.path[:steps], growth.rewards, known, False)
        if got < 0:
            break
        judge(tree, growth, lines, steps, got, limits.gamma)
        idle = idle + 1 if tree.size[0] == size else 0
        tried += 1
    return tried


@jit
def propose(
    growth: Growth,
    lines: Sequences,
    seeds: NDArray[np.int64],
    tried: int,
    has_kept: bool,
    early: bool,
    at_random: bool,
) -> None:
    """Write the next sequence to try: one of the seeds, a change of the best, or a random one."""
    growth, lines = borrowed(growth), borrowed(lines)
    needs_seeds = early and (not has_kept or lines.facts[0].ended == 1)
    if tried == 0 or (tried < len(seeds) and needs_seeds):
        for t in range(len(lines.trial)):
            lines.trial[t] = seeds[tried, t]
        return
    length, known = len(lines.actions), int(lines.facts[0].known)
    if at_random:
        for t in range(length):
            lines.trial[t] = random_below(growth, growth.num_actions)
        return
    start = random_below(growth, known)
    if lines.facts[0].ended == 1 and random_below(growth, 2) == 0:
        start = max(0, known - 1 - random_below(growth, 1 + (1 << random_below(growth, 4))))
    stretch = 1 << random_below(growth, scales(length))
    action = lines.actions[start]
    if growth.num_actions > 1:
        action += 1 + random_below(growth, growth.num_actions - 1)
    for t in range(length):
        changed = start <= t < start + stretch
        lines.trial[t] = action % growth.num_actions if changed else lines.actions[t]


@inlined
def scales(length: int) -> int:
    """How many powers of two there are up to a length."""
    count = 1
    while (2 << (count - 1)) <= length:
        count += 1
    return count
