"""The cross-entropy method over sequences of actions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number
from platypoos.compiled.code import borrowed, inlined, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.errors import InvalidArgument
from platypoos.models.advice import pick
from platypoos.models.base import actions_of
from platypoos.models.points import is_pointed, pointed
from platypoos.planners.sampling.frame import SamplerMemory, plan_in_box
from platypoos.planners.sampling.gaussian import Gaussian
from platypoos.results import Plan
from platypoos.search.base import Task
from platypoos.search.growth import Growth, random_below
from platypoos.search.sequences import (
    IDLE,
    Ahead,
    Limits,
    SequenceMemory,
    SequencePlanner,
    Sequences,
    begin_search,
    end_search,
    judge,
    lay_ahead,
    look_ahead,
    make_ahead,
)
from platypoos.spaces import Box, Space
from platypoos.trees.requests import calls_made, play, play_ahead
from platypoos.trees.tree import Tree

MOMENTUM = 0.1
"""Weight of the old distribution when a new one is fitted."""
TRUST = 0.5
"""Weight of the last decision's best sequence in the first distribution."""
POPULATION, ELITES, BOX_ELITES = 12, 4, 10
"""If the planner has no other numbers."""


class Memory(SequenceMemory):
    """What is kept from step to step, of a list or of a box."""

    def __init__(self) -> None:
        super().__init__()
        self.of_box = SamplerMemory()


class Population(NamedTuple):
    """The sequences of one iteration, and what they are drawn from."""

    weights: NDArray[np.float64]  # [length, actions] probabilities
    actions: NDArray[np.int64]  # [population, length]
    values: NDArray[np.float64]  # [population]


@dataclass(frozen=True, kw_only=True)
class CEM(SequencePlanner):
    """The cross-entropy method: draw sequences, fit a distribution to the best ones, repeat.

    Use it where rewards have little noise and good sequences are alike. It needs to know
    nothing of a list of actions, and σ and β of a box (``pp.Box``). Each step of a sequence has its
    own distribution over the actions, independent of the others. From step to step of an episode
    the best sequence is kept and shifted: it is the first one to be evaluated, and half of the
    first distribution.

    In a box it is iCEM: Gaussian distributions, coloured noise, a share of the elites kept in the
    next iteration and shifted in the next decision, a population that decays, the mean among the
    last sequences. The best sequence is taken.

    Reference: C. Pinneri et al. Sample-efficient cross-entropy method for real-time planning
    (iCEM). CoRL 2020; after R. Rubinstein. The cross-entropy method for combinatorial and
    continuous optimization. 1999.

    Symbols: N is ``population``, K ``elites``, α the momentum, 0.1. In a box: σ_init is
    ``sigma``, β ``beta``, γ the decay, 1.25, and ξ the share of elites kept, 0.3.

    Deviations in a box: if there are fewer than 2·K sequences in an iteration, half of them are
    elites. If there are fewer than 15 in all, there are fewer iterations.

    Deviations in lists: categorical distributions in place of Gaussian ones, so there is no
    coloured noise; the best sequence so far is one of the elites of every iteration; N does not
    decay. After a sequence that was known already, one is drawn from the uniform distribution.

    Args:
        discount: γ, in [0, 1).
        population: sequences of an iteration, of the first one in a box. If left out, 12 in lists;
            in a box, what the budget has for ``iterations``.
        elites: the best ones, which the next distribution is fitted to; if left out, 4 in lists and
            10 in a box.
        sigma: in a box: the first standard deviation, in half-widths of the box.
        beta: in a box: the exponent of coloured noise; 0 for white noise.
        iterations: in a box; if left out, 3 with five sequences or more in each, or with a
            population as many as the budget has.
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, and at most a quarter of the budget; in a box at most 4·N^¼ for N
            calls.

    >>> import platypoos as pp
    >>> planner = pp.planners.CEM(discount=0.8)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=1_000, seed=0).action
    0
    >>> model = pp.FunctionModel(lambda x, a, rng: (x + a, -abs(x + a), False), pp.Box(-1, 1), 3.0)
    >>> planner.plan(model, budget=1_000, seed=0).action < -0.5
    True
    """

    population: int | None = None
    elites: int | None = None
    sigma: float = 0.5
    beta: float = 2.0
    iterations: int | None = None

    name: ClassVar[str] = "cem"
    workers: ClassVar[str] = "many"
    boxes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Pinneri et al. Sample-efficient cross-entropy method for real-time planning. CoRL 2020."
    )
    uses: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("population", "elites", "iterations"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_count(name, getattr(self, name)))
        if self.population is not None:
            self._check_elites(self.population)
        object.__setattr__(self, "sigma", check_number("sigma", self.sigma, above=0.0))
        object.__setattr__(self, "beta", check_number("beta", self.beta, least=0.0))

    def _check_elites(self, population: int) -> None:
        if self.elites is not None and self.elites > population:
            raise InvalidArgument(
                f"elites must be at most the population, {population}, got {self.elites}"
            )

    @property
    def elites_in_box(self) -> int:
        """Elites of an iteration in a box."""
        return BOX_ELITES if self.elites is None else self.elites

    def view_of(self, model: Any) -> Any:
        """The model with numbers for actions, or points of a box."""
        return pointed(model) if isinstance(actions_of(model), Box) else super().view_of(model)

    def count(self, actions: Space) -> int:
        """How many actions there are to begin with."""
        return 1 if isinstance(actions, Box) else super().count(actions)

    def remember(self) -> Memory:
        """The best sequence of the last decision, or the distribution and the elites."""
        return Memory()

    def _plan(self, task: Task) -> Plan:
        if is_pointed(task.model):
            memory = None if task.memory is None else task.memory.of_box
            return plan_in_box(self, task, partial(Gaussian, self), memory)
        size = POPULATION if self.population is None else self.population
        self._check_elites(size)
        elites = min(ELITES, size) if self.elites is None else self.elites
        search = begin_search(task, self.discount, self.length)
        length, kept = search.length, search.kept
        weights = np.full((length, task.num_actions), 1.0 / task.num_actions)
        if len(kept):
            weights *= 1.0 - TRUST
            weights[np.arange(length), kept] += TRUST
        population = Population(
            weights=weights,
            actions=np.empty((size, length), np.int64),
            values=np.full(size, -np.inf),
        )
        ahead = make_ahead(1 + size, length)
        limits = search.limits(task.budget, self.discount)
        run(*search.parts, population, ahead, kept, elites, limits)
        return end_search(self, task, search)


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    lines: Sequences,
    population: Population,
    ahead: Ahead,
    kept: NDArray[np.int64],
    elites: int,
    limits: Limits,
) -> int:
    """Draw a population, walk it at once, and fit, until the budget is spent."""
    size = len(population.values)
    tried = idle = 0
    if len(kept) > 0:
        ahead.trials[0] = kept
        tried = -1  # not one of the population
    while calls_made(sim) < limits.budget and (idle < IDLE or not limits.restores):
        left = limits.budget - calls_made(sim)
        asked, idle = draw(
            tree, growth, population, ahead, tried, size - tried, left, idle, limits.restores
        )
        play_ahead(sim, tree, ahead, asked, False)
        for place in range(asked):
            steps, known = lay_ahead(tree, growth, lines, ahead, place, limits.restores)
            got = play(sim, tree, growth.path[:steps], growth.rewards, known, False)
            if got < 0:
                return tried
            if steps == 0:
                continue
            value = judge(tree, growth, lines, steps, got, limits.gamma)
            if tried >= 0:
                enter(tree, growth, lines, population, tried, got, value)
            tried += 1
        if tried == size:
            fit(lines, population, elites)
            tried = 0
    return tried


@jit
def draw(
    tree: Tree,
    growth: Growth,
    population: Population,
    ahead: Ahead,
    tried: int,
    most: int,
    calls: int,
    idle: int,
    restores: bool,
) -> tuple[int, int]:
    """Write sequences, as many as fit; returns how many, and those in a row that are known.

    They are drawn from the distribution, and every other one after a known one from the uniform
    one. Where none was tried, not even the kept one, that is there already.
    """
    growth, population, ahead = borrowed(growth), borrowed(population), borrowed(ahead)
    for place in range(most):
        if calls == 0:
            return place, idle
        if tried + place >= 0:
            for t in range(ahead.trials.shape[1]):
                if idle % 2 == 1:
                    ahead.trials[place, t] = random_below(growth, growth.num_actions)
                else:
                    unit = random_below(growth, 1 << 30) / float(1 << 30)
                    ahead.trials[place, t] = pick(population.weights[t], unit)
        needed = look_ahead(tree, growth, ahead, place, calls, restores)
        calls -= needed
        idle = 0 if needed > 0 else idle + 1
    return most, idle


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
