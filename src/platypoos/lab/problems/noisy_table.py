"""Finite problems with any of several kinds of noise, any scale, and perhaps random dynamics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from platypoos.checks import check_number
from platypoos.compiled.code.marks import jitable
from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import DETERMINISTIC, RANDOM, Access, Transition, check_access
from platypoos.problems.tabular import Tabular

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel

UNIFORM, NORMAL, STUDENT, BERNOULLI = range(4)
LAWS = {"uniform": UNIFORM, "normal": NORMAL, "student": STUDENT, "bernoulli": BERNOULLI}
"""The laws of the noise: half-width of the uniform one, standard deviation of the next two."""
DEGREES = 2.5
"""Degrees of freedom of Student's noise: it has a variance, but no third moment."""
SPREAD = math.sqrt(DEGREES / (DEGREES - 2))
"""The standard deviation of Student's t with this number of degrees of freedom."""


class NoisyTable(Tabular):
    """A problem by its tables, with more kinds of noise than :class:`~platypoos.problems.Tabular`.

    Use it where the noise is unbounded, different from place to place, or all there is of a
    reward; where rewards are tiny beside a large offset; or where actions slip.

    Args:
        successor: [states, actions] the next state.
        reward: [states, actions] the mean reward, before scale and offset.
        noise: size of the noise: one number, or a table like ``reward``.
        terminal: states in which the episode ends.
        initial_state: where it starts.
        law: "uniform" (``noise`` is the half-width), "normal", "student" with 2.5 degrees of
            freedom (``noise`` is the standard deviation of both), or "bernoulli": the reward is
            ``noise`` with the probability that makes its mean right, else 0.
        slip: the probability that an action drawn at random from all of them is taken instead of
            the chosen one. The dynamics are then random.
        access: RESTORE or RESET. If left out, RESET where actions slip, so that planners choose one
            sequence for all outcomes; with RESTORE they react to what has happened.
        scale: every reward is multiplied by it.
        offset: added to every reward after that.

    >>> rare = NoisyTable([[0, 0]], [[0.01, 0.02]], noise=1.0, law="bernoulli", offset=5.0)
    >>> rare.action_values(0, discount=0.5).round(9).tolist()
    [10.03, 10.04]
    >>> slippery = NoisyTable([[0, 0]], [[0.0, 1.0]], slip=0.5)
    >>> slippery.mean_reward(0, 1), slippery.access.value
    (0.75, 'reset')
    >>> NoisyTable([[0, 0]], [[0.0, 1.0]], slip=0.5, access="restore").access.value
    'restore'
    """

    def __init__(
        self,
        successor: ArrayLike,
        reward: ArrayLike,
        noise: ArrayLike = 0.0,
        terminal: ArrayLike = (),
        initial_state: int = 0,
        *,
        law: str = "uniform",
        slip: float = 0.0,
        access: Access | str | None = None,
        scale: float = 1.0,
        offset: float = 0.0,
    ) -> None:
        super().__init__(successor, reward, noise, terminal, initial_state)
        if law not in LAWS:
            raise InvalidArgument(f"law must be one of {', '.join(LAWS)}, got {law!r}")
        self.law = law
        self.slip = check_number("slip", slip, least=0.0)
        self.scale = check_number("scale", scale, above=0.0)
        self.offset = check_number("offset", offset)
        if self.slip >= 1.0:
            raise InvalidArgument(f"slip must be below 1, got {slip!r}")
        outside = (self.reward < 0) | (self.reward > self.noise)
        if law == "bernoulli" and (outside & (self.noise > 0)).any():
            raise InvalidArgument(
                "with law='bernoulli' every mean reward must be from 0 to the size of the reward, "
                "which is noise"
            )
        self.base_reward, self.base_noise = self.reward, self.noise
        # What is inherited reads these two: in the units of the rewards that are received.
        self.reward = self.scale * self.base_reward + self.offset
        self.noise = self.scale * self.base_noise
        usual = Access.RESET if self.slip else Access.RESTORE
        self.access = usual if access is None else check_access(access)
        self.dynamics = RANDOM if self.slip else DETERMINISTIC

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Perhaps slip, then look it up."""
        if self.slip and rng.random() < self.slip:
            action = int(rng.random() * self.actions.n)
        after = int(self.successor[state, action])
        mean, size = float(self.base_reward[state, action]), float(self.base_noise[state, action])
        reward = draw(mean, size, LAWS[self.law], rng)
        return Transition(after, self.scale * reward + self.offset, bool(self.terminal[after]))

    def mean_reward(self, state: Any, action: int) -> float:
        """The mean of the rewards, over the actions that may be taken."""
        return float(self._blend(self.reward[int(np.asarray(state).ravel()[0])])[action])

    def _blend(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the actions are worth if they slip, from what they are worth if they do not."""
        if not self.slip:
            return values
        usual: NDArray[np.float64] = values.mean(axis=-1, keepdims=True)
        return (1 - self.slip) * values + self.slip * usual

    def solve(self, discount: float, tolerance: float = 1e-12) -> NDArray[np.float64]:
        """Q* of every state, [states, actions], by value iteration.

        It stops when no value changes by more than the largest reward times the tolerance.
        """
        if discount not in self._solved:
            limit = tolerance * float(np.abs(self.reward).max())
            future = np.zeros(self.num_states)
            while True:
                values = self._blend(self.reward + discount * future[self.successor])
                after = np.where(self.terminal, 0.0, values.max(axis=1))
                if np.abs(after - future).max() <= limit:
                    break
                future = after
            self._solved[discount] = values
        return self._solved[discount]

    def finite_values(self, state: Any, discount: float, horizon: int) -> NDArray[np.float64]:
        """Q*(state, ·) with ``horizon`` steps to go, by backward induction over all states."""
        future = np.zeros(self.num_states)
        for _ in range(horizon):
            values = self._blend(self.reward + discount * future[self.successor])
            future = np.where(self.terminal, 0.0, values.max(axis=1))
        row: NDArray[np.float64] = values[int(np.asarray(state).ravel()[0])]
        return row

    def expected_return(self, actions: tuple[int, ...], discount: float) -> float:
        """Expected discounted sum of rewards of these actions, from the initial state."""
        if not self.slip:
            return super().expected_return(actions, discount)
        chances = np.zeros(self.num_states)
        chances[self.initial_state] = 1.0
        total, weight = 0.0, 1.0
        for action in actions:
            total += weight * float(chances @ self._blend(self.reward)[:, action])
            weight *= discount
            taken = self._blend(np.eye(self.actions.n))[:, action]  # how likely is each
            after = np.zeros(self.num_states)
            np.add.at(after, self.successor, chances[:, None] * taken)
            chances = np.where(self.terminal, 0.0, after)
        return total

    def array(self) -> ArrayModel:
        """States are integers."""
        return ArrayModel(
            self._step_batch,
            actions=self.actions,
            initial_state=np.int64(self.initial_state),
            access=self.access,
            dynamics=self.dynamics,
            problem=self,
        )

    def _step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        if self.slip:
            slips = rng.random(len(states)) < self.slip
            drawn = (rng.random(int(slips.sum())) * self.actions.n).astype(np.int64)
            actions = actions.copy()
            actions[slips] = drawn
        after = self.successor[states, actions]
        rewards = self.base_reward[states, actions]
        size = self.base_noise[states, actions]
        noisy = size > 0
        count, sizes = int(noisy.sum()), size[noisy]
        if self.law == "uniform":
            rewards[noisy] += rng.uniform(-sizes, sizes)
        elif self.law == "normal":
            rewards[noisy] += sizes * rng.standard_normal(count)
        elif self.law == "student":
            rewards[noisy] += sizes * rng.standard_t(DEGREES, count) / SPREAD
        else:
            rewards[noisy] = np.where(rng.random(count) * sizes < rewards[noisy], sizes, 0.0)
        return after, self.scale * rewards + self.offset, self.terminal[after]

    def compiled(self) -> CompiledModel:
        """States are arrays of one integer."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        settings = np.array([LAWS[self.law], self.slip, self.scale, self.offset])
        return CompiledModel(
            kernel(noisy_table_kernel),
            actions=self.actions,
            initial_state=np.array([self.initial_state]),
            params=(self.successor, self.base_reward, self.base_noise, self.terminal, settings),
            access=self.access,
            dynamics=self.dynamics,
            problem=self,
        )


@jitable
def draw(mean: Any, size: Any, law: Any, rng: Any) -> Any:
    """A reward with this mean, and noise of this size and law."""
    if size == 0.0:
        return mean
    if law == UNIFORM:
        return mean + rng.uniform(-size, size)
    if law == NORMAL:
        return mean + size * rng.standard_normal()
    if law == STUDENT:
        return mean + size * rng.standard_t(DEGREES) / SPREAD
    return size if rng.random() * size < mean else 0.0


def noisy_table_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:
    """Perhaps slip, then look it up."""
    successor, rewards, sizes, terminal, settings = params
    taken = np.int64(action)
    if settings[1] > 0.0 and rng.random() < settings[1]:
        taken = np.int64(rng.random() * successor.shape[1])
    after = successor[state[0], taken]
    next_state[0] = after
    reward = draw(rewards[state[0], taken], sizes[state[0], taken], settings[0], rng)
    return settings[2] * reward + settings[3], terminal[after]
