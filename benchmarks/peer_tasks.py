"""What planners are compared on in peers.py: problems with a budget, as Python models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import platypoos as pp


@dataclass(frozen=True)
class Task:
    """A problem, and the calls for each decision."""

    problem: str
    """"chain", "reversed chain" or "cart-pole"."""
    budget: int
    noise: float = 0.0
    discount: float = 0.95

    @property
    def chain(self) -> bool:
        """Whether it is the paper's chain, or its reverse."""
        return self.problem != "cart-pole"

    @property
    def growth(self) -> float:
        """What each step of staying adds to the reward for staying."""
        return -1.0 if self.problem == "reversed chain" else 1.0

    @property
    def steps(self) -> int:
        """Decisions of an episode."""
        return 20 if self.chain else 200

    @property
    def reward_range(self) -> tuple[float, float]:
        """Smallest and largest mean reward, for the planners that are told it."""
        if not self.chain:
            return 0.0, 1.0
        return (100.0, 130.0) if self.growth > 0 else (70.0, 102.0)

    @property
    def usual_value(self) -> float:
        """What a state is worth if every reward is the usual one, for those that are told it."""
        return (100.0 if self.chain else 1.0) / (1 - self.discount)

    @property
    def scale(self) -> float:
        """Size of the differences between returns, for the planners that are told it."""
        return 100.0 if self.chain else 10.0

    def make_model(self, seed: int) -> Any:
        """A Python model; cart-pole starts from a state that depends on the seed."""
        if not self.chain:
            return pp.GymnasiumModel("CartPole-v1", seed=seed)
        if self.growth > 0:
            return pp.problems.SwitchChain(noise=self.noise)
        return pp.FunctionModel(partial(reversed_step, self.noise), 2, (0, 0))


def reversed_step(
    noise: float, state: Any, action: int, rng: np.random.Generator
) -> tuple[Any, float, bool]:
    """The chain with rewards for staying that fall: it is best to switch at every step."""
    side, visits = state
    extra = rng.uniform(-noise, noise) if noise else 0.0
    if action == side:
        return (side, visits + 1), 100.0 - visits + extra, False
    return (action, 0), 102.0 + extra, False


@dataclass
class Counted:
    """A Python model that counts its calls itself."""

    model: Any
    calls: int = 0

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Any:
        self.calls += 1
        return self.model.step(state, action, rng)

    def __deepcopy__(self, memo: Any) -> Counted:
        """Itself: OpenSpiel copies states deeply, and all copies must count together."""
        return self
