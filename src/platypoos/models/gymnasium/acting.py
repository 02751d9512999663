"""A model to act in, where planning ends episodes that go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from platypoos.models.base import Transition


class Acting:
    """The model of an environment whose ends are only the environment's own.

    It has the same states, actions and rewards as the model that is planned with, and works with
    the same environment. What else the model offers (``render``, ``key``, …) it offers too.

    Args:
        model: the model that is planned with.
        take: takes a step; returns the state, the reward, and the two kinds of end apart.
    """

    def __init__(self, model: Any, take: Callable[..., tuple[Any, float, bool, bool]]) -> None:
        self.model, self._take = model, take
        self.actions = model.actions

    @property
    def initial_state(self) -> Any:
        """Where the model starts."""
        return self.model.initial_state

    @property
    def acting(self) -> Acting:
        """Itself."""
        return self

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        after, reward, terminated, _ = self._take(state, action, rng)
        return Transition(after, reward, terminated)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.model, name)
