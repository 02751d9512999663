"""The cross-entropy method over sequences of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count
from platypoos.compile import borrowed, inlined, jit
from platypoos.errors import InvalidArgument
from platypoos.ledger.drivers import Driver
from platypoos.ledger.requests import calls_made, play
from platypoos.ledger.tree import Tree
from platypoos.models.advice import pick
from platypoos.plan import Plan
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

MOMENTUM = 0.1
"""Weight of the old distribution when a new one is fitted."""
TRUST = 0.5
"""Weight of the last decision's best sequence in the first distribution."""


class Population(NamedTuple):
    """The sequences of one iteration, and what they are drawn from."""

    weights: NDArray[np.float64]  # [length, actions] probabilities
    actions: NDArray[np.int64]  # [population, length]
    values: NDArray[np.float64]  # [population]


@dataclass(frozen=True, kw_only=True)
class CEM(SequencePlanner):
    """The cross-entropy method: draw sequences, fit a distribution to the best ones, repeat.

    Use it where rewards have little noise and good sequences are alike. It needs to know
    nothing. Each step of a sequence has its own distribution over the actions, independent of
    the others. From step to step of an episode the best sequence is kept and shifted: it is the
    first one to be evaluated, and half of the first distribution.

    Reference: C. Pinneri et al. Sample-efficient cross-entropy method for real-time planning
    (iCEM). CoRL 2020; after R. Rubinstein. The cross-entropy method for combinatorial and
    continuous optimization. 1999.

    Symbols: N is ``population``, K ``elites``, α the momentum, 0.1.

    Deviations: categorical distributions in place of Gaussian ones, so there is no coloured
    noise; the best sequence so far is one of the elites of every iteration; N does not decay.
    After a sequence that was known already, one is drawn from the uniform distribution.

    Args:
        discount: γ, in [0, 1).
        population: sequences of an iteration.
        elites: the best ones, which the next distribution is fitted to.
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, and at most a quarter of the budget.

    >>> import platypoos as pp
    >>> planner = pp.CEM(discount=0.8)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=1_000, seed=0).action
    0
    """

    population: int = 12
    elites: int = 4

    name: ClassVar[str] = "cem"
    citation: ClassVar[str] = (
        "Pinneri et al. Sample-efficient cross-entropy method for real-time planning. CoRL 2020."
    )
    uses: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_count("elites", self.elites) > check_count("population", self.population):
            raise InvalidArgument(
                f"elites must be at most the population, {self.population}, got {self.elites}"
            )

    def remember(self) -> SequenceMemory:
        """The best sequence of the last decision."""
        return SequenceMemory()

    def _plan(self, task: Task) -> Plan:
        search = begin_search(task, self.discount, self.length)
        length, kept = search.length, search.kept
        weights = np.full((length, task.num_actions), 1.0 / task.num_actions)
        if len(kept):
            weights *= 1.0 - TRUST
            weights[np.arange(length), kept] += TRUST
        population = Population(
            weights=weights,
            actions=np.empty((self.population, length), np.int64),
            values=np.full(self.population, -np.inf),
        )
        run(*search.parts, population, kept, self.elites, search.limits(task.budget, self.discount))
        return end_search(self, task, search)


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    lines: Sequences,
    population: Population,
    kept: NDArray[np.int64],
    elites: int,
    limits: Limits,
) -> int:
    """Draw and fit until the limits.budget is spent."""
    tried = idle = 0
    if len(kept) > 0:
        lines.trial[:] = kept
        tried = -1  # not one of the population
    while calls_made(sim) < limits.budget and (idle < IDLE or not limits.restores):
        size = tree.size[0]
        if tried >= 0:
            draw_sequence(growth, lines, population, idle % 2 == 1)
        steps, known = lay(
            tree, growth, lines.trial, limits.budget - calls_made(sim), limits.restores
        )
        got = play(sim, tree, growth.path[:steps], growth.rewards, known, False)
        if got < 0:
            break
        value = judge(tree, growth, lines, steps, got, limits.gamma)
        idle = idle + 1 if tree.size[0] == size else 0
        if tried >= 0:
            enter(tree, growth, lines, population, tried, got, value)
        tried += 1
        if tried == len(population.values):
            fit(lines, population, elites)
            tried = 0
    return tried


@jit
def draw_sequence(growth: Growth, lines: Sequences, population: Population, uniform: bool) -> None:
    """Write a sequence drawn from the distribution, or from the uniform one."""
    growth, lines, population = borrowed(growth), borrowed(lines), borrowed(population)
    for t in range(len(lines.trial)):
        if uniform:
            lines.trial[t] = random_below(growth, growth.num_actions)
        else:
            unit = random_below(growth, 1 << 30) / float(1 << 30)
            lines.trial[t] = pick(population.weights[t], unit)


@jit
def enter(
    tree: Tree,
    growth: Growth,
    lines: Sequences,
    population: Population,
    place: int,
    got: int,
    value: float,
) -> None:
    """Take note of a sequence as it was played."""
    tree, growth, lines = borrowed(tree), borrowed(growth), borrowed(lines)
    population = borrowed(population)
    population.values[place] = value
    for t in range(len(lines.trial)):
        played = tree.action[growth.path[t]] if t < got else lines.trial[t]
        population.actions[place, t] = played


@jit
def fit(lines: Sequences, population: Population, elites: int) -> None:
    """Fit the distribution to the elites and the best sequence so far."""
    lines, population = borrowed(lines), borrowed(population)
    weights, values = population.weights, population.values
    share = (1.0 - MOMENTUM) / (elites + 1)
    for t in range(len(weights)):
        for action in range(weights.shape[1]):
            weights[t, action] *= MOMENTUM
        weights[t, lines.actions[t]] += share
    for _ in range(elites):
        best = best_of(values)
        for t in range(len(weights)):
            weights[t, population.actions[best, t]] += share
        values[best] = -np.inf


@inlined
def best_of(values: NDArray[np.float64]) -> int:
    """The place of the largest value; the first one of equals."""
    best = 0
    for place in range(1, len(values)):
        if values[place] > values[best]:
            best = place
    return best
