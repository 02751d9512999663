"""What is kept from one step of an episode to the next."""

from __future__ import annotations

import math

import numpy as np

from platypoos.ledger.watch import Watch
from platypoos.models.failures import act
from platypoos.planners.platypus.ongoing import NOTHING, OngoingPlan
from platypoos.planners.platypus.state import NOBODY, Ints
from platypoos.search.base import Task

SURPRISE = 6.0
"""Standard errors by which a reward may miss what was expected, before the model is asked again…"""
ASKED = 8
"""…so many times; once if no noise was ever seen."""
HANDOVER = 0.1
"""Of a deadline: what is kept must not take longer to be handed on."""
ROUNDING = 1e-6
"""Of the range of all rewards: they may miss it by this."""


class Memory:
    """Keeps what is known of the model, and goes on from the state that was reached.

    What is known of the model stays right where the system is not the model: if it is in another
    state than the model says, the memory is looked up there. After a surprising reward the model
    is asked again: only if it has changed, everything is forgotten.

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
        self._doubt: tuple[int, float, float] | None = None  # action, mean, and how far off is far
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
        kept = NOTHING if ongoing is None else self._left_of(ongoing)
        if ongoing is None or root < 0:
            self.ongoing = ongoing = OngoingPlan(task, discount, kept)
            self._predicted = []
        else:
            ongoing.go_on(task, root, kept, self._room(ongoing, task))
            self._predicted = self._predict(ongoing)
        self._taken = -1
        return ongoing

    def _left_of(self, ongoing: OngoingPlan) -> Ints:
        """What is left of the last sequence, if its first action was taken."""
        if ongoing.search.reset or not ongoing.can_decide or ongoing.leader[0] != self._taken:
            return NOTHING
        return ongoing.leader[1:]

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
                root = -1  # the system is not the model
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
        """Take note of what was done, and whether its reward was a surprise."""
        self._taken = action
        if self.ongoing is None or not self._predicted:
            return
        mean, variance = self._predicted[action]
        tree = self.ongoing.search.tree
        rewards = tree.reward[1 : tree.num_nodes][tree.pulls[1 : tree.num_nodes] > 0]
        far = SURPRISE * math.sqrt(variance) + ROUNDING * float(np.ptp(rewards))
        if abs(reward - mean) > far:
            self._doubt = action, mean, far

    def ask_again(self, task: Task) -> int:
        """After a surprise, ask the model; forget everything if it has changed.

        Returns the calls that were made. None are if too few would be left.
        """
        doubt, self._doubt = self._doubt, None
        if doubt is None or self.ongoing is None or self.ongoing.task.model is not task.model:
            return 0
        action, mean, far = doubt
        count = ASKED if self.ongoing.search.at[0].squares > 0.0 else 1
        if task.budget - count < 2 * task.num_actions:
            return 0
        state = self.ongoing.task.state
        missed = [act(task.model, state, action, task.rng).reward - mean for _ in range(count)]
        if min(missed) > far or max(missed) < -far:
            self.drop(f"the model now pays {mean + missed[0]:g}, {mean:g} was expected")
        return count

    def drop(self, why: str) -> None:
        """Forget everything."""
        self.dropped.append(why)
        self.ongoing = None
        self._predicted = []
