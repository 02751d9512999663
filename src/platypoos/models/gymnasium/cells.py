"""Cells: states that are near each other count as the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.models.gymnasium.families import ClassicControl
from platypoos.models.gymnasium.notes import Noted, bare
from platypoos.models.gymnasium.snapshots import Keeper


class Cells:
    """Divides states, or observations, into cells: ⌊x / resolution⌋ of each entry x.

    Args:
        resolution: the width of a cell, or one width for each entry.
        name: the environment's, for messages.
        keeper: of the environment. The states of classic control are rows of floats, and divided
            themselves. Elsewhere the observations are.
    """

    def __init__(self, resolution: Any, name: str, keeper: Keeper) -> None:
        self.of_states = isinstance(keeper, ClassicControl) and not keeper.wrappers
        if self.of_states:
            size, what = len(keeper.core.state), f"the state of {name}"
        else:
            size, what = _observed(resolution, name, keeper.env), f"the observation of {name}"
        try:
            widths = np.asarray(resolution, float)
        except (TypeError, ValueError):
            widths = np.empty(0)
        fits = widths.shape in ((), (size,)) and not isinstance(resolution, bool | str)
        if not fits or not (widths > 0).all():
            raise InvalidArgument(
                "resolution must be a number above 0, or one for each entry of "
                f"{what}, which has the shape ({size},), got {resolution!r}"
            )
        self.widths = widths

    def read(self, env: Any, observation: Any) -> tuple[float, ...] | None:
        """The cell of the state that an environment is in; None if it is not known."""
        seen = env.unwrapped.state if self.of_states else observation
        return None if seen is None else self.cell(seen)

    def cell(self, values: Any) -> tuple[float, ...]:
        """The cell of a row of floats."""
        return tuple(np.floor(np.asarray(values, float) / self.widths).tolist())

    def key(self, state: Any) -> tuple[float, ...] | None:
        """What tells a saved state apart: its cell, and None for an end."""
        cell = state.cell if isinstance(state, Noted) else None
        if cell is None and self.of_states:
            cell = self.cell(bare(state))
        if cell is None:
            raise InvalidArgument(
                "the cell of this state is not known: its observation came from a reset or step "
                "that the model did not take; save the state with "
                "model.save(observation=observation)"
            )
        return cell or None


def _observed(resolution: Any, name: str, env: Any) -> int:
    """How many floats an observation has."""
    from gymnasium.spaces import Box

    space = env.observation_space
    if isinstance(space, Box) and len(space.shape) == 1 and np.dtype(space.dtype).kind == "f":
        return int(space.shape[0])
    raise InvalidArgument(
        f"resolution={resolution!r} divides observations that are one row of floats, but those of "
        f"{name} are {type(space).__name__}, shape {space.shape}, type {space.dtype}; pass "
        "key=, a function of the state, instead"
    )
