"""What a planner knows from one step of an episode to the next."""

from __future__ import annotations

import math
from typing import Any

from platypoos.graph import NONE
from platypoos.planners.base import Task
from platypoos.planners.graph_entries import DEGREES, SQUARES
from platypoos.planners.thinking import Thinker

SURPRISE = 6.0
"""Standard errors by which one reward may miss its estimate…"""
DRIFT = 4.5
"""…and all of them together."""


class Memory:
    """Keeps a search, lets it go on from the state that was reached, and tests it by what is seen.

    Args:
        cap: bytes to use at most. What can no longer be reached is forgotten first, then what is
            reached last.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.thinker: Thinker | None = None
        self.dropped: list[str] = []
        """Why the memory was dropped, each time it was."""
        self._residuals: list[float] = []
        self._expected: int | None = None
        self._predicted: list[tuple[float, float]] = []  # of the first actions: mean, variance

    def recall(self, task: Task, discount: float, floor: float) -> Thinker:
        """The search for a task: the one that is remembered, if it fits."""
        thinker = self.thinker
        if thinker is not None and (
            thinker.task.model is not task.model
            or thinker.task.executor is not task.executor
            or thinker.discount != discount
            or not self._fits_horizon(thinker, task.horizon)
        ):
            thinker = None
        if thinker is not None and not self._go_on(thinker, task.state):
            thinker = None
        if thinker is None:
            thinker = Thinker(task, discount, floor, self.cap)
            self._residuals.clear()
            self._predicted = []
        else:
            self._fit(thinker)
            self._predicted = self._predict(thinker)
        self.thinker, self._expected = thinker, None
        return thinker

    def _predict(self, thinker: Thinker) -> list[tuple[float, float]]:
        """What is remembered of the first actions, before new samples are mixed with it."""
        first = int(thinker.graph.child[thinker.root])
        if first == NONE:
            return []
        noise = thinker.search.noise
        variance = float(noise[SQUARES] / noise[DEGREES]) if noise[DEGREES] else math.inf
        actions = slice(first, first + thinker.task.num_actions)
        tree = thinker.tree
        return [
            (mean, variance * (1.0 + 1.0 / pulls) if pulls else math.inf)
            for mean, pulls in zip(
                tree.reward[actions].tolist(), tree.pulls[actions].tolist(), strict=True
            )
        ]

    def _go_on(self, thinker: Thinker, state: Any) -> bool:
        """Start from the state reached; False if it is not the one that was expected."""
        expected = self._expected
        if expected is not None and thinker.shares_nothing:
            timed = thinker.horizon is not None
            if timed and thinker.tree.depth[expected] != thinker.root_depth:
                return False
            thinker.start_from_node(expected, state)
            return True
        thinker.start_from(state)
        # States that share a cell may lead to different ones: that contradicts nothing.
        exact = getattr(thinker.task.model, "resolution", None) is None
        if expected is not None and exact and thinker.root != thinker.graph.home[expected]:
            self.drop("an action led to another state than it did before")
            return False
        return True

    def _fits_horizon(self, thinker: Thinker, horizon: int | None) -> bool:
        """Whether a search has looked as far as the new horizon; then it is set to it."""
        if horizon is None or thinker.horizon is None:
            return horizon is thinker.horizon
        if horizon > thinker.horizon:
            return False
        thinker.steps_left = horizon
        return True

    def _fit(self, thinker: Thinker) -> None:
        states = thinker.tree.num_nodes
        while 2 * thinker.nbytes > self.cap and states > 1:  # leave room for a plan
            states //= 2
            thinker.forget(states)

    def observe(self, action: int, reward: float) -> None:
        """Compare what acting brought with what is remembered; drop the memory if it is wrong."""
        thinker = self.thinker
        if thinker is None:
            return
        first = int(thinker.graph.child[thinker.root])
        if first != NONE and thinker.tree.pulls[first + action]:
            self._expected = first + action
        if not self._predicted:
            return
        mean, variance = self._predicted[action]
        missed = reward - mean
        if variance == 0.0:  # no noise was ever seen
            if abs(missed) > 1e-9 * (1.0 + abs(reward)):
                self.drop(f"a reward was {reward:g}, {mean:g} was expected")
            return
        self._residuals.append(missed / math.sqrt(variance))
        total = sum(self._residuals) / math.sqrt(len(self._residuals))
        if abs(self._residuals[-1]) > SURPRISE or abs(total) > DRIFT:
            self.drop(f"a reward was {reward:g}, {mean:.6g} was expected")

    def drop(self, why: str) -> None:
        """Forget everything."""
        self.dropped.append(why)
        self.thinker = self._expected = None
        self._residuals.clear()
