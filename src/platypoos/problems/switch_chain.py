"""The paper's problem (Section 6): stay and be rewarded ever more, or switch for a little now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition
from platypoos.problems.base import Problem
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel


@dataclass(frozen=True)
class SwitchChain(Problem):
    """States are (bin, d), actions 0 and 1, and the start is (0, 0).

    Action ``bin`` stays: reward d, and d grows by one. The other action switches: reward 2, to
    (action, 0). All rewards are shifted, and have noise uniform in [−noise, noise].

    Args:
        noise: half-width b of the noise.
        shift: added to every reward; the paper adds 100.

    >>> problem = SwitchChain(noise=10.0)
    >>> problem.action_values((0, 0), discount=0.95).round(6).tolist()
    [2380.0, 2363.0]
    """

    noise: float = 0.0
    shift: float = 100.0

    actions = Discrete(2)
    action_names = ("bin 0", "bin 1")
    initial_state = (0, 0)

    def __post_init__(self) -> None:
        for name in ("noise", "shift"):
            if not math.isfinite(getattr(self, name)):
                raise InvalidArgument(f"{name} must be finite, got {getattr(self, name)!r}")
        if self.noise < 0:
            raise InvalidArgument(f"noise must be at least 0, got {self.noise!r}")

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Stay or switch."""
        side, visits = state
        noise = rng.uniform(-self.noise, self.noise) if self.noise else 0.0
        if action == side:
            return Transition((side, visits + 1), visits + self.shift + noise, False)
        return Transition((action, 0), 2.0 + self.shift + noise, False)

    def mean_reward(self, state: Any, action: int) -> float:
        """D for staying, 2 for switching, plus the shift."""
        return float(state[1] if action == state[0] else 2.0) + self.shift

    def action_values(self, state: Any, discount: float) -> NDArray[np.float64]:
        """Q* in closed form.

        Once it is best to stay it is best to stay for ever, as the reward for it only grows:
        staying from d on is worth S(d) = d/(1−γ) + γ/(1−γ)². After a switch (d = 0) one stays,
        or switches at every step, which is worth 2/(1−γ).
        """
        side, visits = int(state[0]), float(state[1])
        stay_for_ever = discount / (1 - discount) ** 2
        fresh = max(stay_for_ever, 2 / (1 - discount))  # V*(·, 0) without the shift
        switch = 2 + discount * fresh
        stay = visits / (1 - discount) + stay_for_ever
        # Staying for a few steps only, and switching then, can be better than for ever.
        ahead, best = 0.0, stay
        for k in range(1, 4 + math.ceil(max(0.0, 2 - visits) + 2)):
            ahead += discount ** (k - 1) * (visits + k - 1)
            best = max(best, ahead + discount**k * switch)
        values = np.empty(2)
        values[side], values[1 - side] = best, switch
        return values + self.shift / (1 - discount)

    def array(self) -> ArrayModel:
        """Rows are [bin, d]."""
        return ArrayModel(
            self._step_batch,
            actions=2,
            initial_state=np.array(self.initial_state),
            problem=self,
        )

    def _step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.float64], bool]:
        stay = states[:, 0] == actions
        rewards = np.where(stay, states[:, 1], 2.0) + self.shift
        if self.noise:
            rewards += rng.uniform(-self.noise, self.noise, len(rewards))
        return np.column_stack((actions, np.where(stay, states[:, 1] + 1, 0))), rewards, False

    def compiled(self) -> CompiledModel:
        """States are [bin, d], params [noise, shift]."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        return CompiledModel(
            kernel(switch_chain_kernel),
            actions=2,
            initial_state=np.zeros(2),
            params=np.array([self.noise, self.shift], np.float64),
            problem=self,
        )


def switch_chain_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:
    """Stay or switch."""
    stay = np.float64(state[0] == action)  # multiplied by: no branch for the processor to guess
    reward = stay * state[1] + (1.0 - stay) * 2.0
    next_state[1] = stay * (state[1] + 1.0)
    next_state[0] = action
    return reward + params[1] + rng.uniform(-params[0], params[0]), False
