"""What is kept from one step of an episode to the next."""

from __future__ import annotations

import math
import pickle
import sys
from typing import Any

import numpy as np

from platypoos.graph import BYTES_PER_STATE
from platypoos.models.base import is_compiled
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.session import Session
from platypoos.search.base import Task
from platypoos.simulator import Request, Simulator

SURPRISE = 6.0
"""Standard errors by which a reward may miss what was expected, before the model is asked again…"""
ASKED = 8
"""…so many times at most."""
ASKING_SHARE = 0.1
"""Of a deadline: asking again must not take longer."""
ROUNDING = 1e-6
"""Of the spread of all rewards: they may miss what was expected by this."""


def begin_session(task: Task, discount: float, rules: Rules) -> Any:
    """A session for a task: in machine code if the model is compiled, and that can be done."""
    if is_compiled(task.model):
        from platypoos.compiled.platypus.session import CompiledSession, fits

        if fits(task, rules):
            return CompiledSession(task, discount, rules)
    return Session(task, discount, rules)


class Memory:
    """Keeps what is known of the model, and goes on from the state that was reached.

    What is known of the model stays right where the system is not the model: if it is in another
    state than the model says, the memory is looked up there. After a surprising reward the model
    is asked again: only if it has changed, everything is forgotten.

    Args:
        cap: bytes to use at most. What can no longer be reached is forgotten first, then what is
            furthest away.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.session: Any = None
        self.dropped: list[str] = []
        """Why the memory was dropped, each time it was."""
        self.has_warned, self.slow_plans = False, 0
        """Whether a slow model was warned of; and plans in a row in which it was too slow."""
        self._doubt: int | None = None  # the action whose reward was a surprise
        self._taken: int | None = None
        self._state_bytes = 0
        self._expected: dict[int, tuple[float, int]] = {}  # first action: mean reward, samples
        self._variance = self._rounding = 0.0

    def recall(self, task: Task, discount: float, rules: Rules) -> Any:
        """The session for a task: the one that is remembered, if it fits."""
        session = self.session
        if session is not None and (
            session.task.model is not task.model
            or session.task.access is not task.access
            or session.task.executor is not task.executor
            or session.discount != discount
        ):
            session = None
        followed = self._followed(session)
        root = None if session is None else session.find(task, self._taken)
        if session is None or root is None:
            fresh = begin_session(task, discount, rules)
            if session is not None and followed and session.keeps_sequences:
                fresh.take_over(session)
            self._expected = {}
            self.session = session = fresh
        else:
            session.go_on(task, root, followed=followed)
            session.keep_most(self._room(task))
            self._expect(session)
        self._taken = None
        return session

    def _followed(self, session: Any) -> bool:
        """Whether the recommended action was taken."""
        decided = None if session is None else session.decided
        return decided is not None and self._taken in (None, decided)

    def _room(self, task: Task) -> int:
        """How many states may be kept, to stay under the cap with another plan."""
        if not self._state_bytes:
            self._state_bytes = BYTES_PER_STATE + size_of(task.state)
        return max(1, self.cap // self._state_bytes - task.budget)

    def _expect(self, session: Any) -> None:
        """Note what is known of the first actions, before new samples are mixed with it."""
        self._expected = session.first_samples()
        self._variance, spread = session.noise()
        self._rounding = ROUNDING * math.sqrt(spread)

    def observe(self, action: int, reward: float) -> None:
        """Take note of what was done, and whether its reward was a surprise."""
        self._taken = action
        if self.session is not None and action in self._expected:
            mean, samples = self._expected[action]
            if abs(reward - mean) > self._too_far(1.0 + 1.0 / samples):
                self._doubt = action

    def _too_far(self, variances: float, seen: float = 0.0) -> float:
        """How far from what was expected is a surprise; noise may have been ``seen`` since."""
        return SURPRISE * math.sqrt(variances * max(seen, self._variance)) + self._rounding

    def ask_again(self, task: Task) -> int:
        """After a surprise, ask the model; forget everything if it has changed.

        One call, and more if that was not what is remembered: it may be noise that was never seen.
        Returns the calls that were made. None are if too few would be left, or too little time.
        """
        action, self._doubt = self._doubt, None
        session = self.session
        if action is None or session is None or session.task.model is not task.model:
            return 0
        took = ASKED * session.simulator.pace.seconds
        if task.budget - ASKED < 2 * task.num_actions or (
            task.deadline is not None and took > ASKING_SHARE * task.deadline
        ):
            return 0
        mean, samples = self._expected[action]
        new = self._rewards(session, task, action, 1)
        if abs(new[0] - mean) <= self._too_far(1.0 + 1.0 / samples):
            return 1
        new += self._rewards(session, task, action, ASKED - 1)
        now, seen = float(np.mean(new)), float(np.var(new, ddof=1))
        explained = self._variance == 0.0 < seen  # it has noise, which was not known
        if not explained and abs(now - mean) > self._too_far(1.0 / ASKED + 1.0 / samples, seen):
            self.drop(f"the model now pays {now:g}, {mean:g} was expected")
        return ASKED

    def _rewards(self, session: Any, task: Task, action: int, count: int) -> list[float]:
        """Rewards of the last step, as the model gives them now."""
        simulator = Simulator(task.model, task.rng, budget=count, access=task.access)
        (walks,) = simulator.run([Request(session.root_state(), [action], 1, count)])
        return [walk[0][2] for walk in walks]

    def drop(self, why: str) -> None:
        """Forget everything."""
        self.dropped.append(why)
        self.session = None
        self._expected = {}


def size_of(state: Any) -> int:
    """Bytes of a stored state, roughly."""
    try:
        return len(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))
    except Exception:  # noqa: BLE001  whatever it is, it cannot be pickled
        return sys.getsizeof(state)
