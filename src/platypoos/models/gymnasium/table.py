"""Toy text environments without wrappers: their transitions are a table, and are taken from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from platypoos.models.base import Transition
from platypoos.models.gymnasium.families import ToyText


class Table:
    """What an environment's table says: where steps lead, and what else may happen.

    States are whole numbers. Chance is drawn from the planner's generator, not the environment's.

    Args:
        keeper: of the environment.
        rows: for each state and action of the environment, all that may happen.
        given: what the environment gets for an action of the model.
    """

    def __init__(self, keeper: ToyText, rows: Any, given: Callable[[Any], Any]) -> None:
        self._core, self._rows, self._given = keeper.core, rows, given
        self._masks = None if keeper.notes is None else keeper.notes.masks
        self._legal: dict[int, tuple[int, ...]] = {}
        every = [row for by_action in rows.values() for row in by_action.values()]
        self.max_successors = max(len(row) for row in every)
        self.has_masks = self._masks is not None

    @property
    def here(self) -> int:
        """The state that the environment is in."""
        return int(self._core.s)

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take an action."""
        listed = self._rows[state][self._given(action)]
        chosen = 0
        if len(listed) > 1:
            chosen = int(rng.choice(len(listed), p=[entry[0] for entry in listed]))
        _, after, reward, terminated = listed[chosen]
        return Transition(int(after), float(reward), bool(terminated))

    def successors(self, state: Any, action: Any) -> list[tuple[float, Any, float, bool]]:
        """(probability, state, reward, terminated) of all that may happen."""
        listed = self._rows[state][self._given(action)]
        return [(float(p), int(s), float(r), bool(e)) for p, s, r, e in listed]

    def legal(self, state: Any) -> tuple[int, ...]:
        """The places of the legal actions."""
        if state not in self._legal:
            masks: Any = self._masks
            self._legal[state] = masks.legal(self._core.action_mask(state))
        return self._legal[state]
