"""Trees made to order: the smoothness ν, ρ and the branching factor κ are chosen, not measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number, check_seed
from platypoos.compiled.code.marks import jitable
from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition
from platypoos.problems.base import Problem
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel

DEAD, GOOD, SECRET = 0, 1, 2


@dataclass(frozen=True)
class MadeToOrder(Problem):
    """A tree with a secret, whose ν, ρ and κ (Section 2 of the paper) are those asked for.

    About κ actions of every state are good, and two or more of the first state; the others end
    the episode with reward 0. The good action of step t has the reward ½ν(1−ρ)(ρ/γ)^t, whichever
    it is, so all good sequences look alike; but one of them, the secret one, has ½ν(ρ/γ)^(d−1)
    more at step d−1, the last of its d steps. A planner that does not look d steps ahead along it
    can only guess the first action, and a wrong one costs ½νρ^(d−1), the ``gap``. No planner can
    do without looking at about κ^d sequences: over all ``depth`` d this is a hardest problem of
    its kind.

    Args:
        kappa: branching factor κ, from 1 to ``num_actions``; it need not be whole: the number of
            good actions then changes from step to step between the whole numbers around it.
        rho: the smoothness ρ, in (0, discount].
        nu: the smoothness ν, which is also the size of the values.
        depth: d, the length of the secret sequence.
        noise: half-width of the noise on every reward.
        num_actions: K.
        discount: γ, the discount for which ρ and ν are as asked for.
        seed: which sequence is the secret one.
        horizon: steps after which episodes end; None for never. All that would be left then is
            worth ½νρ^horizon, and a tree that ends is much smaller than one that does not.

    States are (t, kind): the step, and whether the sequence so far is the secret one (2), another
    good one (1), or has ended (0).

    >>> problem = MadeToOrder(kappa=2.0, rho=0.5, depth=3, discount=0.9)
    >>> problem.gap
    0.125
    >>> values = problem.action_values((0, SECRET), 0.9)
    >>> round(float(values.max() - values.min()), 9)
    0.125
    """

    kappa: float = 1.0
    rho: float = 0.9
    nu: float = 1.0
    depth: int = 4
    noise: float = 0.0
    num_actions: int = 2
    discount: float = 0.95
    seed: int = 0
    horizon: int | None = None

    initial_state = (0, SECRET)
    reward_floor = 0.0
    """No mean reward is smaller, at any depth."""

    def __post_init__(self) -> None:
        if check_count("num_actions", self.num_actions) < 2:
            raise InvalidArgument(f"num_actions must be at least 2, got {self.num_actions!r}")
        check_number("discount", self.discount, above=0.0, below=1.0)
        check_number("rho", self.rho, above=0.0)
        if self.rho > self.discount:
            raise InvalidArgument(
                f"rho must be at most the discount {self.discount:g}, got {self.rho!r}"
            )
        check_number("kappa", self.kappa, least=1.0)
        if self.kappa > self.num_actions:
            raise InvalidArgument(
                f"kappa must be at most num_actions = {self.num_actions}, got {self.kappa!r}"
            )
        check_number("nu", self.nu, above=0.0)
        check_number("noise", self.noise, least=0.0)
        check_count("depth", self.depth)
        check_seed(self.seed)
        if self.horizon is not None and check_count("horizon", self.horizon) < self.depth:
            raise InvalidArgument(
                f"horizon must be at least the depth {self.depth} of the secret, got "
                f"{self.horizon!r}"
            )

    @cached_property
    def actions(self) -> Discrete:  # type: ignore[override]
        """As many as ``num_actions``."""
        return Discrete(self.num_actions)

    @property
    def gap(self) -> float:
        """What it costs to begin with a good action that is not the secret one: ½νρ^(d−1)."""
        return float(0.5 * self.nu * self.rho ** (self.depth - 1))

    def num_good(self, step: int) -> int:
        """How many actions are good at a step."""
        return int(good_actions(step, int(self.kappa), self._share))

    @property
    def _share(self) -> float:
        """The share of steps at which one more than ⌊κ⌋ actions are good."""
        low = int(self.kappa)
        return math.log(self.kappa / low) / math.log((low + 1) / low)

    def _good_reward(self, step: float) -> float:
        return float(0.5 * self.nu * (1 - self.rho) * (self.rho / self.discount) ** step)

    def _secret_reward(self) -> float:
        return float(0.5 * self.nu * (self.rho / self.discount) ** (self.depth - 1))

    def _outcome(self, state: Any, action: int) -> tuple[tuple[int, int], float]:
        """The next state and the mean reward."""
        t, kind = int(state[0]), int(state[1])
        place = (action + shift(t, self.seed)) % self.num_actions
        if kind == DEAD or place >= self.num_good(t):
            return (t + 1, DEAD), 0.0
        reward, after = self._good_reward(t), GOOD
        if kind == SECRET and place == 0:
            if t == self.depth - 1:
                reward += self._secret_reward()
            else:
                after = SECRET
        return (t + 1, DEAD if t + 1 == self.horizon else after), reward

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Go on, or end."""
        after, reward = self._outcome(state, action)
        if self.noise:
            reward += rng.uniform(-self.noise, self.noise)
        return Transition(after, reward, after[1] == DEAD)

    def mean_reward(self, state: Any, action: int) -> float:
        """The reward without its noise."""
        return self._outcome(state, action)[1]

    def _value(self, state: tuple[int, int], discount: float) -> float:
        """V*: a geometric series, and the secret if it is still ahead."""
        t, kind = state
        if kind == DEAD:
            return 0.0
        ratio = discount * self.rho / self.discount
        value = self._good_reward(t) / (1 - ratio)
        if self.horizon is not None:
            value *= 1 - ratio ** (self.horizon - t)
        if kind == SECRET:
            value += discount ** (self.depth - 1 - t) * self._secret_reward()
        return value

    def action_values(self, state: Any, discount: float) -> NDArray[np.float64]:
        """Q* in closed form."""
        values = np.empty(self.num_actions)
        for action in range(self.num_actions):
            after, reward = self._outcome(state, action)
            values[action] = reward + discount * self._value(after, discount)
        return values

    def array(self) -> ArrayModel:
        """Rows are [t, kind]."""
        return ArrayModel(
            self._step_batch,
            actions=self.num_actions,
            initial_state=np.array(self.initial_state),
            problem=self,
        )

    def _step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        after = np.empty_like(states)
        rewards = np.empty(len(states))
        for i in range(len(states)):
            after[i], rewards[i] = self._outcome(states[i], int(actions[i]))
        if self.noise:
            rewards += rng.uniform(-self.noise, self.noise, len(rewards))
        return after, rewards, after[:, 1] == DEAD

    def compiled(self) -> CompiledModel:
        """States are [t, kind]."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        last = -1 if self.horizon is None else self.horizon - 1
        whole = (self.num_actions, int(self.kappa), self.depth, self.seed, last)
        numbers = (
            self.noise, self._good_reward(0), self._secret_reward(), self.rho / self.discount,
            self._share,
        )  # fmt: skip
        return CompiledModel(
            kernel(made_to_order_kernel),
            actions=self.num_actions,
            initial_state=np.array(self.initial_state),
            params=(np.array(whole, np.int64), np.array(numbers, np.float64)),
            problem=self,
        )


@jitable
def good_actions(step: Any, low: Any, share: Any) -> Any:
    """⌊κ⌋, or one more at a ``share`` of the steps; at least two at the first."""
    if step == 0:
        return max(low, 2)
    return low + int(math.floor((step + 1) * share) - math.floor(step * share))


@jitable
def shift(step: Any, seed: Any) -> Any:
    """By how much the actions of a step are moved on: the secret must not be the same one."""
    mixed = ((step + 7919 * seed) & 0xFFFF) * 40503
    return (mixed >> 13) & 0xFF


def made_to_order_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:
    """Go on, or end."""
    whole, numbers = params
    t, kind = state[0], state[1]
    place = (action + shift(t, whole[3])) % whole[0]
    next_state[0] = t + 1
    next_state[1] = DEAD
    reward = 0.0
    if kind != DEAD and place < good_actions(t, whole[1], numbers[4]):
        reward = numbers[1] * numbers[3] ** t
        next_state[1] = GOOD
        if kind == SECRET and place == 0:
            if t == whole[2] - 1:
                reward += numbers[2]
            else:
                next_state[1] = SECRET
        if t == whole[4]:
            next_state[1] = DEAD
    if numbers[0] > 0.0:
        reward += rng.uniform(-numbers[0], numbers[0])
    return reward, next_state[1] == DEAD
