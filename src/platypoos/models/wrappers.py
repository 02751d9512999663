"""Models made of other models: noisy, scaled or shaped rewards, repeated actions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from platypoos.checks import check_count, check_discount, check_number, missing_from
from platypoos.errors import InvalidArgument
from platypoos.models.advice import Advisor
from platypoos.models.base import Access, Transition, actions_of, dynamics_of, said_of_one

_FORMS = ("successors", "max_successors", "step_batch", "function", "kernel", "compiled", "array",
          "calls_per_stream", "single_legal", "single_value", "single_policy",
          "single_features")  # fmt: skip


class WrappedModel:
    """A model that changes what another one returns.

    It is planned with step by step, also if the other is an array or a compiled model. What else
    the other offers (``render``, ``action_names``, …) it offers too.
    """

    def __init__(self, model: Any) -> None:
        missing = missing_from(model)
        if missing:
            raise InvalidArgument(missing)
        self.model = model
        self.actions = actions_of(model)
        self.access = getattr(model, "access", Access.RESTORE)
        self.dynamics = dynamics_of(model)

    @property
    def initial_state(self) -> Any:
        """Where the model starts."""
        return self.model.initial_state

    @property
    def legal(self) -> Callable[[Any], Any] | None:
        """Which actions the other model allows."""
        return said_of_one(self.model, "legal")

    @property
    def value(self) -> Callable[[Any], float] | None:
        """What the other model says that a state is worth."""
        return said_of_one(self.model, "value")

    @property
    def policy(self) -> Callable[[Any], Any] | None:
        """What a sensible actor does, as the other model says."""
        return said_of_one(self.model, "policy")

    @property
    def features(self) -> Callable[[Any], Any] | None:
        """What the other model says that there is to see in a state."""
        return said_of_one(self.model, "features")

    @property
    def acting(self) -> Any:
        """The same around the model that the other is acted in."""
        inner = getattr(self.model, "acting", self.model)
        if inner is self.model:
            return self
        changed = copy.copy(self)
        changed.model = inner
        return changed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in _FORMS or "model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.model, name)


class NoisyReward(WrappedModel):
    """Adds noise to the rewards of a model, drawn from the planner's generator.

    Args:
        model: any model.
        noise: the half-width b of uniform noise in [−b, b], or a function of a generator that
            draws the noise of one reward.

    >>> import platypoos as pp
    >>> model = pp.models.NoisyReward(pp.problems.SwitchChain(), 10.0)
    >>> pp.plan(model, budget=10_000, discount=0.95, seed=0).action
    0
    """

    def __init__(self, model: Any, noise: float | Callable[[np.random.Generator], float]) -> None:
        super().__init__(model)
        if not callable(noise):
            noise = check_number("noise", noise)
            if noise < 0:
                raise InvalidArgument(f"noise must be at least 0, got {noise:g}")
        self.noise = noise

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        after, reward, terminated = self.model.step(state, action, rng)
        noise = self.noise
        drawn = noise(rng) if callable(noise) else noise * (2.0 * rng.random() - 1.0)
        return Transition(after, reward + drawn, terminated)


class ScaledReward(WrappedModel):
    """Rewards times ``scale`` plus ``shift``. With scale > 0, PlaTγPOOS plans the same.

    A shift changes what ending an episode is worth, as a terminal state stays worth 0.
    """

    def __init__(self, model: Any, scale: float = 1.0, shift: float = 0.0) -> None:
        super().__init__(model)
        self.scale, self.shift = check_number("scale", scale), check_number("shift", shift)

    @property
    def value(self) -> Callable[[Any], float] | None:
        """What the other model says, scaled; nothing if rewards are shifted too."""
        said = super().value
        if said is None or self.shift != 0.0:
            return None
        return lambda state: self.scale * said(state)

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        after, reward, terminated = self.model.step(state, action, rng)
        return Transition(after, reward * self.scale + self.shift, terminated)


class RepeatedAction(WrappedModel):
    """Takes each action several times; the rewards in between are discounted too.

    It stops before where the action is no longer legal.

    Plan with ``discount=model.discount``, which is γ^repeat: sequences are then worth what they
    are worth step by step. A call of this model is up to ``repeat`` steps of the other.

    >>> import platypoos as pp
    >>> model = pp.models.RepeatedAction(pp.problems.SwitchChain(), repeat=2, discount=0.9)
    >>> round(model.discount, 2), pp.plan(model, budget=500, discount=model.discount, seed=0).action
    (0.81, 0)
    """

    def __init__(self, model: Any, repeat: int, discount: float) -> None:
        super().__init__(model)
        check_count("repeat", repeat)
        self.repeat = repeat
        self.steps_per_call = repeat * int(getattr(model, "steps_per_call", 1))
        """Steps of the simulator that a call takes at most."""
        self._gamma = check_discount(discount, may_be_one=True)
        self._advisor = Advisor(model)
        self.discount = self._gamma**repeat
        """The discount to plan with."""

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` up to ``repeat`` times, from ``state``."""
        total, weight, terminated = 0.0, 1.0, False
        number = self.actions.index(action) if self._advisor.masked else -1
        for again in range(self.repeat):
            if again and self._advisor.masked and not self._advisor.mask(state)[number]:
                break
            state, reward, terminated = self.model.step(state, action, rng)
            total += weight * reward
            weight *= self._gamma
            if terminated:
                break
        return Transition(state, total, terminated)


class ShapedReward(WrappedModel):
    """Adds γ·Φ(next state) − Φ(state) to rewards: a hint that changes no optimal policy.

    Args:
        model: any model.
        potential: Φ(state), larger where it is better to be; it counts as 0 where episodes end.
        discount: γ, the same as the planner's: with another one the hint is no longer harmless.

    >>> import platypoos as pp
    >>> walk = pp.FunctionModel(lambda x, a, rng: (x + 2 * a - 1, float(x == 30), False), 2, 0)
    >>> hinted = pp.models.ShapedReward(walk, potential=lambda x: -abs(30.0 - x), discount=0.9)
    >>> pp.plan(hinted, budget=100, discount=0.9, seed=0).action
    1
    """

    def __init__(self, model: Any, potential: Callable[[Any], float], discount: float) -> None:
        super().__init__(model)
        if not callable(potential):
            raise InvalidArgument(f"potential must be a function of a state, got {potential!r}")
        self.potential = potential
        self.discount = check_discount(discount, may_be_one=True)
        """The discount to plan with."""

    @property
    def value(self) -> Callable[[Any], float] | None:
        """What the other model says, less the potential, which the rewards to come will lack."""
        said = super().value
        return None if said is None else lambda state: said(state) - self.potential(state)

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        before = self.potential(state)
        after, reward, terminated = self.model.step(state, action, rng)
        ahead = 0.0 if terminated else self.discount * self.potential(after)
        return Transition(after, reward + ahead - before, terminated)
