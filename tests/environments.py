"""Environments with one fault each, and the families' named ones with what is true of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete


class Truth(NamedTuple):
    """How an environment is restored, and how it may be planned with."""

    method: str
    access: str
    options: dict[str, Any]


NAMED = {
    "CartPole-v1": Truth("native", "restore", {}),
    "Acrobot-v1": Truth("native", "restore", {}),
    "MountainCar-v0": Truth("native", "restore", {}),
    "MountainCarContinuous-v0": Truth("native", "restore", {"actions": 3}),
    "Pendulum-v1": Truth("native", "restore", {"actions": 5}),
    "FrozenLake-v1": Truth("native", "restore", {"is_slippery": False}),
    "FrozenLake8x8-v1": Truth("native", "reset", {}),
    "CliffWalking-v1": Truth("native", "restore", {}),
    "Taxi-v4": Truth("native", "restore", {}),
    "Blackjack-v1": Truth("native", "reset", {}),
    "InvertedPendulum-v5": Truth("native", "restore", {"actions": 3}),
    "InvertedDoublePendulum-v5": Truth("native", "restore", {"actions": 3}),
    "Reacher-v5": Truth("native", "restore", {"actions": 3}),
    "Swimmer-v5": Truth("native", "restore", {"actions": 3}),
    "Hopper-v5": Truth("native", "restore", {"actions": 3}),
    "HalfCheetah-v5": Truth("native", "restore", {"actions": 2}),
    "Walker2d-v5": Truth("native", "restore", {"actions": 2}),
    "Ant-v5": Truth("native", "restore", {"actions": 2}),
    "Humanoid-v5": Truth("native", "restore", {"actions": [np.zeros(17), np.full(17, 0.3)]}),
    "ALE/Pong-v5": Truth("native", "restore", {"repeat_action_probability": 0.0}),
    "ALE/Tetris-v5": Truth("native", "restore", {"repeat_action_probability": 0.0}),
    "ALE/Breakout-v5": Truth("native", "reset", {}),  # sticky actions
    "MiniGrid-Empty-8x8-v0": Truth("native", "restore", {}),
    "MiniGrid-DoorKey-5x5-v0": Truth("native", "restore", {}),
    "MiniGrid-Dynamic-Obstacles-6x6-v0": Truth("native", "reset", {}),
    "BabyAI-GoToRedBall-v0": Truth("deepcopy", "restore", {}),
    "parking-v0": Truth("native", "restore", {"actions": 3}),
    "highway-fast-v0": Truth("native", "restore", {}),
    "LunarLander-v3": Truth("replay", "reset", {}),
    "BipedalWalker-v3": Truth("replay", "reset", {"actions": 2}),
}


class Walk(gymnasium.Env):
    """Left or right on a line; the state is a list, so copies can share it."""

    action_space = Discrete(2)
    observation_space = Box(-1e6, 1e6, (1,))

    def __init__(self, end: int = 1000) -> None:
        self.end = end
        self.place = [0]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = [int(self.np_random.integers(5))]
        return self._seen(), {}

    def step(self, action):
        self.place[0] += 2 * int(action) - 1
        return self._seen(), self._reward(), abs(self.place[0]) >= self.end, False, {}

    def _seen(self):
        return np.array(self.place, np.float32)

    def _reward(self) -> float:
        return float(self.place[0])


class NoisyWalk(Walk):
    """Noise on the rewards, as it should be."""

    def _reward(self) -> float:
        return self.place[0] + self.np_random.normal()


class GustyWalk(Walk):
    """Random dynamics, as they should be."""

    def step(self, action):
        self.place[0] += int(self.np_random.integers(-1, 2))
        return super().step(action)


class LeakyWalk(Walk):
    """Noise from a generator of its own, which a deep copy copies."""

    def __init__(self) -> None:
        super().__init__()
        self.weather = {"wind": np.random.default_rng(0)}

    def _reward(self) -> float:
        return self.place[0] + self.weather["wind"].normal()


class ClairvoyantWalk(LeakyWalk):
    """The same, started anew by each reset: all repeats are alike, and each copy knows them."""

    def reset(self, *, seed=None, options=None):
        self.weather = {"wind": np.random.default_rng(seed)}
        return super().reset(seed=seed)


class GlobalWalk(Walk):
    """Noise from the global generator."""

    def _reward(self) -> float:
        np.random.normal()
        return self.place[0]


class SharedWalk(Walk):
    """Copies share the state."""

    def __deepcopy__(self, memo):
        copied = type(self)()
        copied.__dict__.update(self.__dict__)
        return copied


class UncopiedWalk(Walk):
    """Cannot be copied."""

    def __deepcopy__(self, memo):
        raise TypeError("cannot copy a socket")


class RememberingWalk(Walk):
    """A reset does not forget."""

    steps = 0

    def __deepcopy__(self, memo):
        raise TypeError("cannot copy a socket")

    def _reward(self) -> float:
        self.steps += 1
        return float(self.steps)


class Levers(Walk):
    """Several levers at once."""

    action_space = MultiDiscrete([2, 3])

    def step(self, action):
        return super().step(action[0])


class Keys(Levers):
    """Too many combinations."""

    action_space = MultiDiscrete([10] * 5)
