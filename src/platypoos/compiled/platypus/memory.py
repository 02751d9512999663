"""What is kept from one step of an episode to the next."""

from __future__ import annotations

import math

import numpy as np

from platypoos.checking.watch import Watch
from platypoos.compiled.platypus.ongoing import NOTHING, OngoingPlan
from platypoos.compiled.platypus.state import NOBODY, Ints
from platypoos.errors import ModelError
from platypoos.models.failures import act
from platypoos.search.base import Task

SURPRISE = 6.0
"""Standard errors by which a reward may miss what was expected, before the model is asked again…"""
ASKED = 8
"""…so many times at most."""
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
        self._doubt = -1  # the action whose reward was a surprise
        self._taken = -1
        self._predicted: list[tuple[float, int]] = []  # of the first actions: mean, samples
        self._variance = self._rounding = 0.0

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
            self._predict(ongoing)
        self._taken = -1
        return ongoing

    def _left_of(self, ongoing: OngoingPlan) -> Ints:
        """What is left of the last sequence, unless another action was taken."""
        if ongoing.search.reset or not ongoing.can_decide:
            return NOTHING
        followed = self._taken in (-1, ongoing.leader[0])
        return ongoing.leader[1:] if followed else NOTHING

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
        met = ongoing.sim.home_of(search.homes, task.state)
        expected = NOBODY if self._taken < 0 else ongoing.child_by(self._taken)
        root = int(search.homes.home[expected]) if expected != NOBODY else -1
        if root >= 0:
            told = ongoing.sim.states_of(np.array([expected]))[0]
            if Watch(task.model, task.state).is_elsewhere(told, task.state):
                root = -1  # the system is not the model
        if root < 0:
            root = met
        if root >= 0 and task.horizon is not None:
            left = int(search.at[0].over_at) - int(search.tree.depth[root])
            return root if left == task.horizon else -1
        return root if (task.horizon is None) == (len(search.homes.depth) == 0) else -1

    def _predict(self, ongoing: OngoingPlan) -> None:
        """Note what is remembered of the first actions, before new samples are mixed with it."""
        search, at, tree = ongoing.search, ongoing.search.at[0], ongoing.search.tree
        self._predicted = []
        for action in range(len(search.value)):
            child = ongoing.child_by(action)
            samples = int(tree.pulls[child]) if child != NOBODY else 0
            self._predicted.append((float(tree.reward[child]) if samples else 0.0, samples))
        self._variance = float(at.squares / at.degrees) if at.degrees else 0.0
        rewards = tree.reward[1 : tree.num_nodes][tree.pulls[1 : tree.num_nodes] > 0]
        self._rounding = ROUNDING * float(np.ptp(rewards)) if len(rewards) else 0.0

    def observe(self, action: int, reward: float) -> None:
        """Take note of what was done, and whether its reward was a surprise."""
        self._taken = action
        if self.ongoing is None or not self._predicted:
            return
        mean, samples = self._predicted[action]
        if samples and abs(reward - mean) > self._too_far(1.0 + 1.0 / samples):
            self._doubt = action

    def _too_far(self, variances: float, seen: float = 0.0) -> float:
        """How far from what was expected is a surprise; noise may have been ``seen`` since."""
        return SURPRISE * math.sqrt(variances * max(seen, self._variance)) + self._rounding

    def ask_again(self, task: Task) -> int:
        """After a surprise, ask the model; forget everything if it has changed.

        One call, and more if that was not what is remembered: it may be noise that was never seen.
        Returns the calls that were made. None are if too few would be left, or too little time.
        """
        action, self._doubt = self._doubt, -1
        if action < 0 or self.ongoing is None or self.ongoing.task.model is not task.model:
            return 0
        took = ASKED * self.ongoing.sim.pace.seconds
        if task.budget - ASKED < 2 * task.num_actions or (
            task.deadline is not None and took > HANDOVER * task.deadline
        ):
            return 0
        mean, samples = self._predicted[action]
        new = self._samples(self.ongoing, task, action, 1)
        if abs(new[0] - mean) <= self._too_far(1.0 + 1.0 / samples):
            return 1
        new += self._samples(self.ongoing, task, action, ASKED - 1)
        now, seen = float(np.mean(new)), float(np.var(new, ddof=1))
        explained = self._variance == 0.0 < seen  # it has noise, which was not known
        if not explained and abs(now - mean) > self._too_far(1.0 / ASKED + 1.0 / samples, seen):
            self.drop(f"the model now pays {now:g}, {mean:g} was expected")
        return ASKED

    def _samples(self, ongoing: OngoingPlan, task: Task, action: int, count: int) -> list[float]:
        """Rewards of the last step, as the model gives them now."""
        try:
            return [
                act(task.model, ongoing.task.state, action, task.rng).reward for _ in range(count)
            ]
        except ModelError as error:
            error.tree = ongoing.search.tree.trimmed()
            raise

    def drop(self, why: str) -> None:
        """Forget everything."""
        self.dropped.append(why)
        self.ongoing = None
        self._predicted = []
