"""Finite problems given by tables: deterministic dynamics, rewards with bounded noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition
from platypoos.problems.base import Problem
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel


class Tabular(Problem):
    """A problem by its tables; states are the integers from 0.

    Args:
        successor: [states, actions] the next state.
        reward: [states, actions] the mean reward.
        noise: half-width of the uniform noise: one number, or a table like ``reward``.
        terminal: states in which the episode ends.
        initial_state: where it starts.

    >>> problem = Tabular(successor=[[0, 1], [1, 1]], reward=[[1.0, 0.0], [3.0, 0.0]])
    >>> problem.action_values(0, discount=0.5).round(9).tolist()
    [2.5, 3.0]
    """

    def __init__(
        self,
        successor: ArrayLike,
        reward: ArrayLike,
        noise: ArrayLike = 0.0,
        terminal: ArrayLike = (),
        initial_state: int = 0,
    ) -> None:
        self.successor = np.ascontiguousarray(successor, np.int64)
        if self.successor.ndim != 2 or 0 in self.successor.shape:
            raise InvalidArgument(
                "successor must be a table [states, actions] with at least one of each, got shape "
                f"{self.successor.shape}"
            )
        states, count = self.successor.shape
        self.actions = Discrete(count)
        self.reward = self._table("reward", reward)
        self.noise = self._table("noise", noise)
        self.terminal = np.zeros(states, np.bool_)
        for name, numbers in (
            ("successor", self.successor.ravel()),
            ("terminal", np.asarray(terminal, np.int64).ravel()),
            ("initial_state", np.array([initial_state])),
        ):
            wrong = numbers[(numbers < 0) | (numbers >= states)]
            if len(wrong):
                raise InvalidArgument(
                    f"{name} names the state {wrong[0]}, but states are 0 to {states - 1}"
                )
        self.terminal[np.asarray(terminal, np.int64)] = True
        if self.terminal[initial_state]:
            raise InvalidArgument(f"initial_state {initial_state} is terminal; nothing to plan")
        if (self.noise < 0).any():
            raise InvalidArgument(f"noise must be at least 0, got {self.noise.min()}")
        self.initial_state = int(initial_state)
        for table in (self.successor, self.reward, self.noise, self.terminal):
            table.flags.writeable = False
        self._solved: dict[float, NDArray[np.float64]] = {}

    def _table(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        table = np.array(np.broadcast_to(np.asarray(values, np.float64), self.successor.shape))
        if not np.isfinite(table).all():
            raise InvalidArgument(f"{name} must be finite numbers")
        return table

    @property
    def num_states(self) -> int:
        """States are 0, 1, …, num_states − 1."""
        return len(self.successor)

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Look it up."""
        after = int(self.successor[state, action])
        reward = float(self.reward[state, action])
        noise = self.noise[state, action]
        if noise:
            reward += rng.uniform(-noise, noise)
        return Transition(after, reward, bool(self.terminal[after]))

    def mean_reward(self, state: Any, action: int) -> float:
        """Look it up."""
        return float(self.reward[int(np.asarray(state).ravel()[0]), action])

    def solve(self, discount: float, tolerance: float = 1e-12) -> NDArray[np.float64]:
        """Q* of every state, [states, actions], by value iteration to the given accuracy."""
        if discount not in self._solved:
            scale = np.abs(self.reward).max() + 1.0
            future = np.zeros(self.num_states)
            while True:
                values: NDArray[np.float64] = self.reward + discount * future[self.successor]
                after = np.where(self.terminal, 0.0, values.max(axis=1))
                if np.abs(after - future).max() <= tolerance * scale * (1 - discount):
                    break
                future = after
            self._solved[discount] = values
        return self._solved[discount]

    def action_values(self, state: Any, discount: float) -> NDArray[np.float64]:
        """Q* of one state."""
        values: NDArray[np.float64] = self.solve(discount)[int(np.asarray(state).ravel()[0])]
        return values

    def array(self) -> ArrayModel:
        """States are integers."""
        return ArrayModel(
            self._step_batch,
            actions=self.actions,
            initial_state=np.int64(self.initial_state),
            problem=self,
        )

    def _step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        after = self.successor[states, actions]
        rewards = self.reward[states, actions]
        noise = self.noise[states, actions]
        noisy = noise > 0
        rewards[noisy] += rng.uniform(-noise[noisy], noise[noisy])
        return after, rewards, self.terminal[after]

    def compiled(self) -> CompiledModel:
        """States are arrays of one integer."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        return CompiledModel(
            kernel(tabular_kernel),
            actions=self.actions,
            initial_state=np.array([self.initial_state]),
            params=(self.successor, self.reward, self.noise, self.terminal),
            problem=self,
        )


def tabular_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:
    """Look it up."""
    successor, rewards, noises, terminal = params
    after = successor[state[0], action]
    next_state[0] = after
    reward = rewards[state[0], action]
    noise = noises[state[0], action]
    if noise > 0.0:
        reward += rng.uniform(-noise, noise)
    return reward, terminal[after]
