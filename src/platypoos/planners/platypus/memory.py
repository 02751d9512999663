"""What is kept from one step of an episode to the next."""

from __future__ import annotations

import math

import numpy as np

from platypoos.ledger.watch import Watch
from platypoos.planners.platypus.ongoing import OngoingPlan
from platypoos.planners.platypus.state import NOBODY
from platypoos.search.base import Task

SURPRISE = 6.0
"""Standard errors by which one reward may miss its estimate…"""
DRIFT = 4.5
"""…and all of them together."""
HANDOVER = 0.1
"""Of a deadline: what is kept must not take longer to be handed on."""
ROUNDING = 1e-6
"""Of the range of all rewards: without noise, a reward may miss its estimate by this."""


class Memory:
    """Keeps what is known, goes on from the state that was reached, and tests it by what is seen.

    Args:
        cap: bytes to use at most. What can no longer be reached is forgotten first, then what is
            reached last.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.ongoing: OngoingPlan | None = None
        self.dropped: list[str] = []
        """Why the memory was dropped, each time it was."""
        self.has_warned = False
        self._residuals: list[float] = []
        self._taken = -1
        self._predicted: list[tuple[float, float]] = []  # of the first actions: mean, variance

    def recall(self, task: Task, discount: float) -> OngoingPlan:
        """The ongoing for a task: the one that is remembered, if it fits."""
        ongoing = self.ongoing
        if ongoing is not None and (
            ongoing.task.model is not task.model
            or ongoing.task.executor is not task.executor
            or ongoing.task.access is not task.access
            or ongoing.discount != discount
        ):
            ongoing = None
        root = NOBODY if ongoing is None else self._find(ongoing, task)
        if ongoing is None or root < 0:
            self.ongoing = ongoing = OngoingPlan(task, discount)
            self._residuals.clear()
            self._predicted = []
        else:
            followed = ongoing.can_decide and ongoing.leader[0] == self._taken
            kept = ongoing.leader[1:] if followed else np.empty(0, np.int64)
            ongoing.go_on(task, root, kept, self._room(ongoing, task))
            self._predicted = self._predict(ongoing)
        self._taken = -1
        return ongoing

    def _room(self, ongoing: OngoingPlan, task: Task) -> int:
        """How many nodes may be kept, to stay under the cap with a plan."""
        per_node = ongoing.nbytes / len(ongoing.search.first)
        room = int(self.cap / (1.1 * per_node)) - task.budget - 1024
        if task.deadline is not None and ongoing.seconds_per_node > 0.0:
            room = min(room, int(HANDOVER * task.deadline / ongoing.seconds_per_node))
        return max(1, room)

    def _find(self, ongoing: OngoingPlan, task: Task) -> int:
        """The home of the state to plan for; −1 if it is not known."""
        search = ongoing.search
        if search.reset:
            return -1
        expected = NOBODY if self._taken < 0 else ongoing.child_by(self._taken)
        root = int(search.homes.home[expected]) if expected != NOBODY else -1
        if root >= 0:
            told = ongoing.sim.states_of(np.array([expected]))[0]
            if Watch(task.model, task.state).differ(told, task.state):
                # States that share a cell may lead to different ones: that contradicts nothing.
                if getattr(task.model, "resolution", None) is None:
                    self.drop("an action led to another state than it did before")
                    return -1
                root = -1
        if root < 0:
            root = ongoing.sim.home_of(search.homes, task.state)
        if root >= 0 and task.horizon is not None:
            left = int(search.at[0].over_at) - int(search.tree.depth[root])
            return root if left == task.horizon else -1
        return root if (task.horizon is None) == (len(search.homes.depth) == 0) else -1

    def _predict(self, ongoing: OngoingPlan) -> list[tuple[float, float]]:
        """What is remembered of the first actions, before new samples are mixed with it."""
        search = ongoing.search
        at, tree = search.at[0], search.tree
        variance = float(at.squares / at.degrees) if at.degrees else math.inf
        predicted = []
        for action in range(len(search.value)):
            child = ongoing.child_by(action)
            pulls = int(tree.pulls[child]) if child != NOBODY else 0
            doubt = variance * (1.0 + 1.0 / pulls) if pulls else math.inf
            predicted.append((float(tree.reward[child]), doubt))
        return predicted

    def observe(self, action: int, reward: float) -> None:
        """Compare what acting brought with what is remembered; drop the memory if it is wrong."""
        self._taken = action
        if self.ongoing is None or not self._predicted:
            return
        mean, variance = self._predicted[action]
        missed = reward - mean
        if variance == 0.0:  # no noise was ever seen
            tree = self.ongoing.search.tree
            rewards = tree.reward[1 : tree.num_nodes][tree.pulls[1 : tree.num_nodes] > 0]
            if abs(missed) > ROUNDING * float(np.ptp(rewards)):
                self.drop(f"a reward was {reward:g}, {mean:g} was expected")
        elif variance < math.inf:
            self._residuals.append(missed / math.sqrt(variance))
            total = sum(self._residuals) / math.sqrt(len(self._residuals))
            if abs(self._residuals[-1]) > SURPRISE or abs(total) > DRIFT:
                self.drop(f"a reward was {reward:g}, {mean:.6g} was expected")

    def drop(self, why: str) -> None:
        """Forget everything."""
        self.dropped.append(why)
        self.ongoing = None
        self._residuals.clear()
        self._predicted = []
