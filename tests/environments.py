"""Environments with one fault each, and the families' named ones with what is true of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Tuple


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
    "FrozenLake8x8-v1": Truth("native", "restore", {}),
    "CliffWalking-v1": Truth("native", "restore", {}),
    "Taxi-v4": Truth("native", "restore", {}),
    "Blackjack-v1": Truth("native", "restore", {}),
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


class Mixed(Walk):
    """A number and a choice."""

    action_space = Tuple((Box(-1.0, 1.0, (1,)), Discrete(2)))


class Keys(Levers):
    """More combinations than a list should have."""

    action_space = MultiDiscrete([10] * 5)


class Gates(Walk):
    """Left, right or two to the right; what is not legal raises. Masks are in the info."""

    action_space = Discrete(3)

    def reset(self, *, seed=None, options=None):
        seen, _ = super().reset(seed=seed)
        return seen, {"action_mask": self.mask()}

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError(f"{action} is not legal at {self.place[0]}")
        move = (-1, 1, 2)[int(action)]
        self.place[0] += move
        over = abs(self.place[0]) >= self.end
        return self._seen(), self._reward(), over, False, self.told(over)

    def told(self, over):
        return {"action_mask": self.mask()}

    def mask(self):
        place = self.place[0]
        return np.array([place > 0, True, place % 2 == 0], np.int8)


class AskedGates(Gates):
    """The same, with the mask by a method."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], {}

    def told(self, over):
        return {}

    def action_masks(self):
        return self.mask()


class Masker(gymnasium.Wrapper):
    """Adds a mask to any environment, as sb3-contrib's ActionMasker does."""

    def __init__(self, env, mask):
        super().__init__(env)
        self._mask = mask

    def action_masks(self):
        return self._mask(self.env)


class SilentGates(Gates):
    """Steps tell no mask."""

    def told(self, over):
        return {}


class QuietEnd(Gates):
    """The last step tells no mask, as nothing can be done."""

    def told(self, over):
        return {} if over else super().told(over)


class ForgetfulGates(AskedGates):
    """The mask depends on the last action, which may be forgotten when a state is saved."""

    last = 0

    def reset(self, *, seed=None, options=None):
        self.last = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.last = int(action)
        return super().step(action)

    def mask(self):
        return np.ones(3, np.int8)

    def action_masks(self):
        return [1, 1, self.last == 1]


class DeadEnd(Gates):
    """Nothing is legal at 6, and the episode goes on."""

    def mask(self):
        return np.zeros(3, np.int8) if self.place[0] == 6 else super().mask()


class LyingGates(Gates):
    """The mask allows what raises."""

    def told(self, over):
        return {"action_mask": np.ones(3, np.int8)}


class FickleGates(Gates):
    """The mask does not depend on the state alone."""

    asked = 0

    def told(self, over):
        FickleGates.asked += 1
        mask = self.mask()
        mask[2] &= FickleGates.asked % 7 > 0
        return {"action_mask": mask}


class AskedFickleGates(AskedGates):
    """The same, with the mask by a method."""

    asked = 0

    def action_masks(self):
        AskedFickleGates.asked += 1
        return np.array([0, 1, AskedFickleGates.asked % 2])

    def mask(self):
        return np.ones(3, np.int8)


class Pits(Walk):
    """A life is lost at every fifth place to the right, and the walk goes on."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.lives = [0], 3
        return self._seen(), {"lives": 3}

    def step(self, action):
        seen, reward, over, cut, _ = super().step(action)
        self.lives -= self.place[0] % 5 == 0 and self.place[0] > 0
        return (
            seen,
            reward,
            over or self.lives == 0,
            cut,
            {"lives": self.lives, "at": self.place[0]},
        )
