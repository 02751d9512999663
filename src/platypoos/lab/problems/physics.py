"""Problems of motion, with a time step that can be made smaller; their best returns are not known.

Four have the equations and rewards of Gymnasium's classic control at their usual time step. Rewards
are proportional to the time step, so totals of the same time are alike whatever it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number, check_seed
from platypoos.errors import InvalidArgument
from platypoos.lab.problems import motion
from platypoos.models.base import Transition
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel


@dataclass(frozen=True)
class Motion(ABC):
    """A problem of motion: deterministic, states are tuples of numbers.

    Use one of its subclasses: it is what they share.

    Args:
        dt: the time step; the usual one if left out.
        repeat: time steps of one action; rewards add up.
        seed: the same seed, the same start.
    """

    dt: float | None = None
    repeat: int = 1
    seed: int = 0

    kind: ClassVar[int]
    usual_dt: ClassVar[float]
    actions: ClassVar[Discrete]
    action_names: ClassVar[tuple[str, ...] | None] = None

    def __post_init__(self) -> None:
        if self.dt is not None:
            check_number("dt", self.dt, above=0.0)
        check_count("repeat", self.repeat)
        check_seed(self.seed)

    @cached_property
    def initial_state(self) -> tuple[float, ...]:
        """Where it starts."""
        rng = np.random.default_rng([self.kind, self.seed])
        return tuple(float(x) for x in self._start(rng))

    @abstractmethod
    def _start(self, rng: np.random.Generator) -> Any:
        """Draw where it starts."""

    def _further(self) -> list[float]:
        """Parameters after the kind, the time step and the repeat."""
        return []

    @cached_property
    def params(self) -> NDArray[np.float64]:
        """What the kernel is told."""
        dt = self.usual_dt if self.dt is None else self.dt
        return np.array([self.kind, dt, self.repeat, *self._further()], np.float64)

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Move on by a time step, or several."""
        after = list(state)
        if not 0 <= action < self.actions.n:
            raise InvalidArgument(
                f"there is no action {action!r}: actions are 0 to {self.actions.n - 1}"
            )
        params = self.params.tolist()
        reward, ended = motion.motion_kernel(state, action, params, rng, after)
        return Transition(tuple(after), float(reward), bool(ended))

    def compiled(self) -> CompiledModel:
        """States are the same numbers."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        return CompiledModel(
            kernel(motion.motion_kernel),
            actions=self.actions,
            initial_state=np.array(self.initial_state),
            params=self.params,
            problem=self,
        )


@dataclass(frozen=True)
class Pendulum(Motion):
    """Swing a pendulum up, from about hanging down; Gymnasium's Pendulum-v1.

    Args:
        dt: the time step, 0.05 if left out.
        repeat: time steps of one action.
        seed: for the start.
        torques: how many torques to choose from, evenly spaced from −2 to 2.

    >>> Pendulum().actions.n, len(Pendulum().initial_state)
    (5, 2)
    """

    torques: int = 5

    kind = motion.PENDULUM
    usual_dt = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_count("torques", self.torques) < 2:
            raise InvalidArgument(f"torques must be at least 2, got {self.torques!r}")

    @cached_property
    def actions(self) -> Discrete:  # type: ignore[override]
        """One for each torque."""
        return Discrete(self.torques)

    def _start(self, rng: np.random.Generator) -> Any:
        return np.pi + rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5)

    def _further(self) -> list[float]:
        return [float(self.torques)]


@dataclass(frozen=True)
class CartPole(Motion):
    """Balance a pole on a cart; Gymnasium's CartPole-v1.

    Args:
        dt: the time step, 0.02 if left out.
        repeat: time steps of one action.
        seed: for the start.

    >>> CartPole().step((0.0, 0.0, 0.2, 1.0), 0, None).terminated
    True
    """

    kind = motion.CART_POLE
    usual_dt = 0.02
    actions = Discrete(2)
    action_names = ("left", "right")

    def _start(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-0.05, 0.05, 4)


@dataclass(frozen=True)
class Acrobot(Motion):
    """Swing the tip of two links above the bar they hang from; Gymnasium's Acrobot-v1.

    Args:
        dt: the time step, 0.2 if left out.
        repeat: time steps of one action.
        seed: for the start.

    >>> Acrobot().step(Acrobot().initial_state, 0, None).reward
    -1.0
    """

    kind = motion.ACROBOT
    usual_dt = 0.2
    actions = Discrete(3)

    def _start(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-0.1, 0.1, 4)


@dataclass(frozen=True)
class MountainCar(Motion):
    """Drive out of a valley with an engine that is too weak; Gymnasium's MountainCar-v0.

    Args:
        dt: the time step, 1 if left out.
        repeat: time steps of one action.
        seed: for the start.

    >>> MountainCar(repeat=5).step(MountainCar().initial_state, 0, None).reward
    -5.0
    """

    kind = motion.MOUNTAIN_CAR
    usual_dt = 1.0
    actions = Discrete(3)

    def _start(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-0.6, -0.4), 0.0


@dataclass(frozen=True)
class Pillars(Motion):
    """Fly a point mass from (0, 0) to (8, 8) without touching one of at most five pillars.

    The actions are nine thrusts. The reward is −distance to the goal for every second; a pillar
    costs 100 and ends the episode.

    Args:
        dt: the time step, 0.1 if left out.
        repeat: time steps of one action.
        seed: where the pillars are.

    >>> Pillars().actions.n, Pillars().initial_state
    (9, (0.0, 0.0, 0.0, 0.0))
    """

    kind = motion.PILLARS
    usual_dt = 0.1
    actions = Discrete(9)
    action_names = ("↙", "←", "↖", "↓", "·", "↑", "↘", "→", "↗")

    def _start(self, rng: np.random.Generator) -> Any:
        del rng  # only the field varies
        return (0.0,) * 4

    @cached_property
    def field(self) -> NDArray[np.float64]:
        """[pillars, 2] the middle of each; their radius is 1."""
        places = np.random.default_rng(self.seed).uniform(1.5, 7, (5, 2))
        return np.asarray(places[np.hypot(*places.T) > 2])

    def _further(self) -> list[float]:
        return [float(x) for x in self.field.ravel()]

    def position(self, state: Any) -> tuple[float, float]:
        """Where it is, for maps and films."""
        return float(state[0]), float(state[1])

    def landmarks(self) -> list[tuple[float, float, float, str]]:
        """The pillars and the goal, for maps and films: x, y, radius and name of each."""
        pillars = [(float(x), float(y), 1.0, "pillar") for x, y in self.field]
        return [*pillars, (8.0, 8.0, 0.2, "goal")]


@dataclass(frozen=True)
class Lander(Motion):
    """Land a point mass softly on a pad; a crash is worse than to stay in the air.

    The actions are no thrust, left, right and up. A landing within 1 of the middle, at most 0.6
    fast across and 1 down, pays 10; any other, or flying 10 away, costs 20. Fuel costs 0.2 a
    second.

    Args:
        dt: the time step, 0.2 if left out.
        repeat: time steps of one action.
        seed: for the start, 4 to 8 high.

    >>> Lander().actions.n
    4
    """

    kind = motion.LANDER
    usual_dt = 0.2
    actions = Discrete(4)
    action_names = ("none", "left", "right", "up")

    def _start(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-4, 4), rng.uniform(4, 8), rng.uniform(-1, 1), rng.uniform(-1, 1)
