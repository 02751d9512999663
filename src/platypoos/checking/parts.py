"""Checks of parts of an environment: masks, cells, pictures."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import count, pairwise
from typing import Any

import numpy as np

from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.gymnasium.pictures import picture
from platypoos.models.gymnasium.trial import random_drive

_STATES, _LENGTH, _SECONDS = 2000, 200, 5.0
"""States to visit to measure cells, those of one walk, and how long that may take."""


_PICTURES = 3
"""Restored states whose pictures are compared."""
_ALIKE = 0.002
"""The share of pixels that may differ: some draw sparks, or one ray after the other."""


def examine_masks(
    model: GymnasiumModel,
    trajectories: int,
    steps: int,
    rng: np.random.Generator,
    tell: Callable[[int], bool],
) -> tuple[str, str]:
    """What is well with the masks of a model, or else what is wrong; the other is empty.

    ``tell`` is called with the number of states asked about, and says whether there is time left.
    """
    legal: Any = model.legal_numbers
    payloads = model.actions.payloads
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
                    model.step(state, payloads[action], np.random.default_rng(seed))
                except Exception as error:  # noqa: BLE001  whatever it raises is the finding
                    return "", (
                        f"the action {model.env_actions[action]!r} is legal by the mask, but "
                        f"taking it failed with {type(error).__name__}: {error}"
                    )
            asked = _asked_again(model, state)
            if asked not in (None, actions):
                return "", _changed(actions, asked)
            states, allowed = states + 1, allowed + len(actions)
            action = actions[int(rng.integers(len(actions)))]
            after, _, ended = model.step(state, payloads[action], np.random.default_rng(seed))
            if not tell(states) or ended:
                break
            again = model.step(state, payloads[action], np.random.default_rng(seed)).state
            if legal(again) != legal(after):
                return "", _changed(legal(after), legal(again))
            state = after
    share = allowed / (states * model.actions.n)
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


def _some_action(model: GymnasiumModel, state: Any, rng: np.random.Generator) -> Any:
    if model.legal is None:
        return model.actions.draw(rng)
    legal = model.legal(state)
    return legal[int(rng.integers(len(legal)))]


def _where(model: GymnasiumModel, state: Any, _: float, ended: bool) -> Any:
    return "end" if ended else model.key(state)


def compare_pictures(model: GymnasiumModel, rng: np.random.Generator) -> tuple[str, str]:
    """Whether restored states look as the original did, and what to do, if anything."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gaps = _differences(model, rng)
    except Exception as error:  # noqa: BLE001  whatever it is, it cannot be rendered
        return f"not compared: {error}", ""
    if not gaps:
        return "not compared: the episode ended before its second step", ""
    if max(gaps) > _ALIKE:
        return (
            f"wrong: up to {max(gaps):.1%} of the pixels differ from the original's after a restore"
        ), "do not trust films of it: what it draws depends on more than the state that is saved"
    some = f", but for {max(gaps):.2%} of the pixels" if max(gaps) else ""
    return f"the same as the original's in {len(gaps)} restored states{some}", ""


def _differences(model: GymnasiumModel, rng: np.random.Generator) -> list[float]:
    """The share of pixels that differ, for each restored state."""
    painter, notes = model.painter(), model.keeper.notes
    own = painter is model.keeper
    if not own:
        painter.notes = None if notes is None else notes.blank()
    try:
        model.start(0)
        painter.reset(0)
        drive = random_drive(model.trial_actions, 2 * _PICTURES, rng)
        seen: list[tuple[Any, Any]] = []
        for step in range(2 * _PICTURES):
            outcome = drive.take(painter, step, np.random.default_rng(drive.seeds[step]))
            if outcome is None or outcome[2]:
                break
            if step % 2:
                snapshot = painter.save()
                # Atari draws a restored state in another way than one that was stepped to.
                painter.restore(snapshot)
                seen.append((snapshot, picture(painter, model.name)))
        gaps = []
        for place in rng.permutation(len(seen)).tolist():
            snapshot, original = seen[place]
            painter.restore(snapshot)
            again = picture(painter, model.name)
            alike = again.shape == original.shape
            gaps.append(float((again != original).any(axis=-1).mean()) if alike else 1.0)
        return gaps
    finally:
        if not own:
            painter.notes = None
        model.start(0)
