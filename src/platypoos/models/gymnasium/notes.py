"""What an environment tells of its states beside what is restored: legal actions, lives."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from platypoos.errors import MaskError
from platypoos.models.gymnasium.masks import Masks


class Noted(NamedTuple):
    """A saved state, with what the environment told of it. None is what it did not tell."""

    snapshot: Any
    legal: tuple[int, ...] | None
    """The numbers of the legal actions; none where the episode has ended."""
    lives: float | None
    cell: tuple[float, ...] | None
    """The cell it lies in; () where the episode has ended."""


class Reader(Protocol):
    """Tells the cell of the state that an environment is in."""

    def read(self, env: Any, observation: Any) -> tuple[float, ...] | None:
        """The cell, or None if it is not known."""
        ...


class Notes:
    """What is noted of the state that an environment is in.

    Args:
        masks: how to read the legal actions, if the environment gives masks.
        counts_lives: whether to note ``info["lives"]``.
        cells: how to read cells, if states are divided into them.
    """

    def __init__(self, masks: Masks | None, counts_lives: bool, cells: Reader | None) -> None:
        self.masks, self.counts_lives, self.cells = masks, counts_lives, cells
        self.legal: tuple[int, ...] | None = None
        self.lives: float | None = None
        self.cell: tuple[float, ...] | None = None
        self.info: dict[str, Any] = {}

    def blank(self) -> Notes:
        """The same with nothing noted yet."""
        return Notes(self.masks, self.counts_lives, self.cells)

    def read(
        self, env: Any, observation: Any, info: dict[str, Any] | None, *, ended: bool = False
    ) -> None:
        """Note what a reset or step returned; None where that is not known."""
        self.info = {} if info is None else info
        self.lives = self.info.get("lives") if self.counts_lives else None
        if self.masks is not None:
            self.legal = () if ended else self.masks.read(env, info)
        if self.cells is not None:
            self.cell = () if ended else self.cells.read(env, observation)

    def on(self, snapshot: Any) -> Noted:
        """A snapshot with what is noted."""
        return Noted(snapshot, self.legal, self.lives, self.cell)

    def put(self, state: Any) -> Any:
        """Note what was noted of a saved state, and return its snapshot."""
        if not isinstance(state, Noted):
            state = Noted(state, None, None, None)
        snapshot, self.legal, self.lives, self.cell = state
        return snapshot

    def lost(self, before: float | None) -> bool:
        """Whether there are fewer lives than before."""
        return before is not None and self.lives is not None and self.lives < before


def as_told(result: Any) -> tuple[Any, dict[str, Any]]:
    """The observation and the info that a reset returned; an old one returns no info."""
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
        return result
    return result, {}


def legal_of(state: Any) -> tuple[int, ...]:
    """The numbers of the legal actions, as they are noted of a state."""
    legal = state.legal if isinstance(state, Noted) else None
    if legal is None:
        raise MaskError(
            "which actions are legal in this state is not known: the environment said so in the "
            "info of a reset or step that the model did not take; save the state with "
            "model.save(info=info)"
        )
    return legal


def bare(state: Any) -> Any:
    """A state without what was noted of it."""
    return state.snapshot if isinstance(state, Noted) else state
