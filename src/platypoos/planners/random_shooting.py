"""Random shooting: the best of some random sequences of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, jit
from platypoos.compiled.ledger.drivers import Driver
from platypoos.models.base import actions_of
from platypoos.models.points import is_pointed, pointed
from platypoos.planners.sampling.frame import Batch, Sampler, plan_in_box
from platypoos.results import Plan
from platypoos.search.base import Task
from platypoos.search.growth import Growth, random_below
from platypoos.search.sequences import (
    IDLE,
    Ahead,
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

AT_ONCE, SHARE = 32, 4
"""In a list: so many sequences are walked at once, or this part of those that fit in the budget."""


@dataclass(frozen=True, kw_only=True)
class RandomShooting(SequencePlanner):
    """Draw sequences of actions at random and take the first action of the best one.

    Use it as a baseline for searches over sequences. It needs to know nothing and keeps nothing
    from step to step. In a list, actions are drawn by the model's policy if it has one; in a box
    (``pp.Box``) they are uniform.

    Reference: A. V. Rao. A survey of numerical methods for optimal control. Advances in the
    Astronautical Sciences, 2009 (shooting methods); random shooting as in A. Nagabandi et al.
    Neural network dynamics for model-based deep reinforcement learning. ICRA 2018.

    Deviations: in a list, sequences that begin alike share their first states, which costs fewer
    calls.

    Args:
        discount: γ, in [0, 1).
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, and at most a quarter of the budget; in a box at most 4·N^¼ for N
            calls.

    >>> import platypoos as pp
    >>> planner = pp.planners.RandomShooting(discount=0.5)
    >>> planner.plan(pp.problems.Garnet(5, 2, seed=1), budget=1_000, seed=0).action
    0
    >>> model = pp.FunctionModel(lambda x, a, rng: (x + a, -abs(x + a), False), pp.Box(-1, 1), 3.0)
    >>> planner.plan(model, budget=1_000, seed=0).action < -0.5
    True
    """

    name: ClassVar[str] = "random-shooting"
    workers: ClassVar[str] = "many"
    boxes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Nagabandi, Kahn, Fearing, Levine. Neural network dynamics for model-based deep "
        "reinforcement learning with model-free fine-tuning. ICRA 2018."
    )
    uses: ClassVar[tuple[str, ...]] = ("value", "policy")

    def view_of(self, model: Any) -> Any:
        """The model with numbers for actions, or points of a box."""
        return pointed(model) if isinstance(actions_of(model), Box) else super().view_of(model)

    def count(self, actions: Space) -> int:
        """How many actions there are to begin with."""
        return 1 if isinstance(actions, Box) else super().count(actions)

    def _plan(self, task: Task) -> Plan:
        if is_pointed(task.model):
            return plan_in_box(self, task, Uniformly)
        search = begin_search(task, self.discount, self.length)
        fit = task.budget // search.length
        ahead = make_ahead(max(AT_ONCE, fit // SHARE), search.length)
        run(*search.parts, ahead, task.budget, self.discount, search.restores)
        return end_search(self, task, search)


class Uniformly(Sampler):
    """Draws uniform sequences in a box, and learns nothing."""

    def draw(self, number: int) -> NDArray[np.float64]:
        """Each action uniform in the box."""
        return self.rng.uniform(-1.0, 1.0, (number, self.length, self.coordinates))

    def learn(self, batch: Batch) -> None:
        """Nothing: the best walk is recommended."""

    def shift(self, length: int) -> None:
        """Nothing: it has no memory."""


@Driver
def run(
    sim: Any,
    tree: Tree,
    growth: Growth,
    lines: Sequences,
    ahead: Ahead,
    budget: int,
    gamma: float,
    restores: bool,
) -> int:
    """Try random sequences until the budget is spent."""
    tried = idle = 0
    while calls_made(sim) < budget and (idle < IDLE or not restores):
        asked, idle = draw(tree, growth, ahead, budget - calls_made(sim), idle, restores)
        play_ahead(sim, tree, ahead, asked, True)
        for place in range(asked):
            steps, known = lay_ahead(tree, growth, lines, ahead, place, restores)
            got = play(sim, tree, growth.path[:steps], growth.rewards, known, True)
            if got < 0:
                return tried
            if steps == 0:
                continue
            judge(tree, growth, lines, steps, got, gamma)
            tried += 1
    return tried


@jit
def draw(
    tree: Tree, growth: Growth, ahead: Ahead, calls: int, idle: int, restores: bool
) -> tuple[int, int]:
    """Write random sequences, as many as fit; returns how many, and the idle ones in a row."""
    growth, ahead = borrowed(growth), borrowed(ahead)
    for place in range(len(ahead.calls)):
        if calls == 0:
            return place, idle
        for t in range(ahead.trials.shape[1]):
            ahead.trials[place, t] = random_below(growth, growth.num_actions)
        needed = look_ahead(tree, growth, ahead, place, calls, restores)
        calls -= needed
        idle = 0 if needed > 0 else idle + 1
    return len(ahead.calls), idle
