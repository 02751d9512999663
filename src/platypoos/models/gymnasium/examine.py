"""What the doctor asks of masks and cells."""

from __future__ import annotations

import time
from itertools import count, pairwise
from typing import Any

import numpy as np

from platypoos.models.gymnasium.model import GymnasiumModel

_STATES, _LENGTH, _SECONDS = 2000, 200, 5.0
"""States to visit to measure cells, those of one walk, and how long that may take."""


def examine_masks(
    model: GymnasiumModel, trajectories: int, steps: int, rng: np.random.Generator, until: float
) -> tuple[str, str]:
    """What is well with the masks of a model, or else what is wrong; the other is empty."""
    legal: Any = model.legal
    states, allowed = 0, 0
    for number in range(trajectories):
        state = model.start(number)
        for _ in range(steps):
            actions = legal(state)
            if not actions:
                return "", "no action is legal in a state that is no end"
            seed = int(rng.integers(2**32))
            for action in actions:
                try:
                    model.step(state, action, np.random.default_rng(seed))
                except Exception as error:  # noqa: BLE001  whatever it raises is the finding
                    return "", (
                        f"the action {model.actions[action]!r} is legal by the mask, but taking it "
                        f"failed with {type(error).__name__}: {error}"
                    )
            asked = _asked_again(model, state)
            if asked not in (None, actions):
                return "", _changed(actions, asked)
            states, allowed = states + 1, allowed + len(actions)
            action = actions[int(rng.integers(len(actions)))]
            after, _, ended = model.step(state, action, np.random.default_rng(seed))
            if ended or time.monotonic() > until:
                break
            again = model.step(state, action, np.random.default_rng(seed)).state
            if legal(again) != legal(after):
                return "", _changed(legal(after), legal(again))
            state = after
    share = allowed / (states * model.num_actions)
    return (
        f"masks: {share:.0%} of the actions were legal in {states} states, and all of these "
        "could be taken"
    ), ""


def _changed(one: Any, other: Any) -> str:
    return (
        "the mask of a state changed when it was restored: the legal actions were "
        f"{one} and then {other}"
    )


def _asked_again(model: GymnasiumModel, state: Any) -> tuple[int, ...] | None:
    """The mask that the environment gives when a state is restored, if it has the method."""
    notes = model.keeper.notes
    if notes is None or notes.masks is None or not notes.masks.by_method:
        return None
    model.restore(state)
    return notes.masks.read(model.env, None)


def measure_cells(model: GymnasiumModel, rng: np.random.Generator) -> tuple[str, str]:
    """How far from deterministic the cells of a model are, and what to do, if anything."""
    until = time.monotonic() + _SECONDS
    pairs = apart = stayed = 0
    for cell, states in _visited(model, rng, until).items():
        for one, other in pairwise(states):
            if time.monotonic() > until + _SECONDS:
                break
            action = _some_action(model, one, rng)
            seed = int(rng.integers(2**32))
            ways = [model.step(s, action, np.random.default_rng(seed)) for s in (one, other)]
            where = [_where(model, *way) for way in ways]
            pairs += 1
            apart += where[0] != where[1]
            stayed += where[0] == cell
    if not pairs:
        return "cells: no two of the states visited were in the same cell, so none is shared", ""
    found = (
        f"cells: the same action from two states of one cell led to different cells in "
        f"{apart / pairs:.0%} of {pairs} pairs; {stayed / pairs:.0%} of the steps stayed in "
        "their cell"
    )
    if stayed <= pairs / 2:
        return found, ""
    return found, (
        "make resolution smaller or repeat larger: most steps do not leave their cell, so "
        "planning would stand still"
    )


def _visited(model: GymnasiumModel, rng: np.random.Generator, until: float) -> dict[Any, list[Any]]:
    """States of random walks, by their keys."""
    cells: dict[Any, list[Any]] = {}
    visited = 0
    for number in count():
        state = model.start(number)
        for _ in range(_LENGTH):
            if visited == _STATES or time.monotonic() > until:
                return cells
            cells.setdefault(model.key(state), []).append(state)
            visited += 1
            state, _, ended = model.step(state, _some_action(model, state, rng), rng)
            if ended:
                break
    return cells


def _some_action(model: GymnasiumModel, state: Any, rng: np.random.Generator) -> int:
    if model.legal is None:
        return int(rng.integers(model.num_actions))
    return int(rng.choice(model.legal(state)))


def _where(model: GymnasiumModel, state: Any, _: float, ended: bool) -> Any:
    return "end" if ended else model.key(state)
