"""Random shooting: the best of some random sequences of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from platypoos.compile import borrowed, jit
from platypoos.ledger.drivers import Driver
from platypoos.ledger.requests import calls_made, play
from platypoos.ledger.tree import Tree
from platypoos.plan import Plan
from platypoos.search.base import Task
from platypoos.search.growth import Growth, random_below
from platypoos.search.sequences import (
    IDLE,
    SequencePlanner,
    Sequences,
    begin_search,
    end_search,
    judge,
    lay,
)


@dataclass(frozen=True, kw_only=True)
class RandomShooting(SequencePlanner):
    """Draw sequences of actions at random and take the first action of the best one.

    Use it as a baseline for searches over sequences. It needs to know nothing and keeps nothing
    from step to step. Actions are drawn by the model's policy if it has one.

    Reference: A. V. Rao. A survey of numerical methods for optimal control. Advances in the
    Astronautical Sciences, 2009 (shooting methods); random shooting as in A. Nagabandi et al.
    Neural network dynamics for model-based deep reinforcement learning. ICRA 2018.

    Deviations: sequences that begin alike share their first states, which costs fewer calls.

    Args:
        discount: γ, in [0, 1).
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, and at most a quarter of the budget.

    >>> import platypoos as pp
    >>> planner = pp.RandomShooting(discount=0.5)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=1_000, seed=0).action
    0
    """

    name: ClassVar[str] = "random-shooting"
    citation: ClassVar[str] = (
        "Nagabandi, Kahn, Fearing, Levine. Neural network dynamics for model-based deep "
        "reinforcement learning with model-free fine-tuning. ICRA 2018."
    )
    uses: ClassVar[tuple[str, ...]] = ("value", "policy")

    def _plan(self, task: Task) -> Plan:
        search = begin_search(task, self.discount, self.length)
        run(*search.parts, task.budget, self.discount, search.restores)
        return end_search(self, task, search)


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    lines: Sequences,
    budget: int,
    gamma: float,
    restores: bool,
) -> int:
    """Try random sequences until the budget is spent."""
    tried = idle = 0
    while calls_made(sim) < budget and (idle < IDLE or not restores):
        size = tree.size[0]
        draw_sequence(growth, lines)
        steps, known = lay(tree, growth, lines.trial, budget - calls_made(sim), restores)
        got = play(sim, tree, growth.path[:steps], growth.rewards, known, True)
        if got < 0:
            break
        judge(tree, growth, lines, steps, got, gamma)
        idle = idle + 1 if tree.size[0] == size else 0
        tried += 1
    return tried


@jit
def draw_sequence(growth: Growth, lines: Sequences) -> None:
    """Write a random sequence to try."""
    growth, lines = borrowed(growth), borrowed(lines)
    for t in range(len(lines.trial)):
        lines.trial[t] = random_below(growth, growth.num_actions)
