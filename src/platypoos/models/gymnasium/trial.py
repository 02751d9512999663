"""Drive a keeper along given actions, and compare what two drives saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from platypoos.checks import same
from platypoos.models.gymnasium.notes import Notes
from platypoos.models.gymnasium.snapshots import Keeper, Outcome, Unknown, duplicate


def difference(one: Outcome, other: Outcome) -> str:
    """What differs between the outcomes of two steps, in words; empty if nothing does."""
    if bool(one[2]) != bool(other[2]):
        return f"the episode ended: {bool(one[2])} and {bool(other[2])}"
    if not same(one[1], other[1]):
        return f"the rewards were {float(one[1])!r} and {float(other[1])!r}"
    if not same(one[0], other[0]):
        return f"the observations differ{_how_much(one[0], other[0])}"
    return ""


def _how_much(one: Any, other: Any) -> str:
    try:
        gap = np.abs(np.asarray(one, float) - np.asarray(other, float)).max()
    except (TypeError, ValueError):
        return ""
    return f" by up to {gap:.2g}"


@dataclass
class Drive:
    """A trajectory, fixed beforehand: the numbers of its actions, and its randomness.

    Where some actions are not legal, the numbers count those that are.
    """

    actions: Sequence[Any]
    """All that there are."""
    draws: Sequence[int]
    seeds: Sequence[int]

    def number(self, keeper: Keeper, step: int) -> int | None:
        """The number of the action to take now; None if no action is legal."""
        legal, draw = keeper.legal, self.draws[step]
        if legal is None:
            return draw
        return legal[draw % len(legal)] if legal else None

    def take(self, keeper: Keeper, step: int, rng: np.random.Generator) -> Outcome | None:
        """Take a step of it; None if no action is legal."""
        number = self.number(keeper, step)
        if number is None:
            return None
        observation, reward, terminated = keeper.step(self.actions[number], rng)
        return keeper.observe(observation), reward, terminated

    def run(self, keeper: Keeper, start: int = 0, stop: int | None = None) -> list[Outcome]:
        """The outcomes from where the environment is, up to the end of the episode."""
        outcomes: list[Outcome] = []
        for step in range(len(self.draws))[start:stop]:
            outcome = self.take(keeper, step, np.random.default_rng(self.seeds[step]))
            if outcome is None:
                break
            outcomes.append(outcome)
            if outcome[2]:
                break
        return outcomes

    def run_and_save(self, keeper: Keeper) -> tuple[list[Outcome], list[Any]]:
        """The same with a snapshot before each step."""
        outcomes: list[Outcome] = []
        snapshots = []
        for step in range(len(self.draws)):
            snapshot = keeper.save()
            outcome = self.run(keeper, step, step + 1)
            if not outcome:
                break
            snapshots.append(snapshot)
            outcomes += outcome
            if outcomes[-1][2]:
                break
        return outcomes, snapshots


def random_drive(actions: Sequence[Any], steps: int, rng: np.random.Generator) -> Drive:
    """A trajectory of random actions."""
    draws = rng.integers(len(actions), size=steps).tolist()
    return Drive(actions, draws, rng.integers(2**32, size=steps).tolist())


def first_difference(expected: Sequence[Outcome], got: Sequence[Outcome]) -> tuple[int, str] | None:
    """The first step at which two drives differ, and how."""
    for step, (one, other) in enumerate(zip(expected, got, strict=False)):
        how = difference(one, other)
        if how:
            return step, how
    return None


def restores(keeper: Keeper, actions: Sequence[Any], steps: int = 6) -> bool:
    """Whether snapshots of one short trajectory, restored backwards, continue as it did."""
    drive = random_drive(actions, steps, np.random.default_rng(0))
    try:
        outcomes, snapshots = drive.run_and_save(keeper)
        for step in reversed(range(len(snapshots))):
            for _ in range(2):  # the second time shows what the first changed
                keeper.restore(snapshots[step])
                if first_difference(outcomes[step:], drive.run(keeper, step)):
                    return False
        keeper.restore(snapshots[0])
    except Exception:  # noqa: BLE001  whatever it is, it cannot be restored
        return False
    return True


def step_info(keeper: Keeper, actions: Sequence[Any]) -> dict[str, Any]:
    """The info of a step, in a trial; empty if no step can be taken."""
    before = keeper.snapshot()
    for action in actions:  # the first may not be legal
        keeper.notes = notes = Notes(None, counts_lives=False, cells=None)
        try:
            keeper.step(action, np.random.default_rng(0))
        except Exception:  # noqa: BLE001, S112  whatever it is, it told nothing
            continue
        finally:
            keeper.notes = None
            keeper.put(before)
            keeper.give_back()
        return notes.info
    return {}


AHEAD = 8
"""Randomness may show a few steps after it was drawn: a car that was spawned out of sight."""


class Coin:
    """What one step from a state does with different random numbers."""

    def __init__(self, keeper: Keeper, start: Any, drive: Drive, rng: np.random.Generator) -> None:
        self.drawn = self.random = self.noisy = False
        """Random numbers were drawn; they change where a step leads; they change its reward."""
        self.ended = self.suspicious = False
        seen: list[list[Outcome]] = []
        led_to: list[Any] = []
        for seed in rng.integers(2**32, size=3).tolist():
            keeper.restore(start)
            generator = np.random.default_rng(seed)
            untouched = generator.bit_generator.state
            outcome = drive.take(keeper, 0, generator)
            if outcome is None:
                self.ended = True
                return
            seen.append([outcome])
            self.drawn = self.drawn or generator.bit_generator.state != untouched
            led_to.append(_plain_state(keeper))
            if not self.drawn:
                break  # the others would be the same
            if not outcome[2]:
                seen[-1] += drive.run(keeper, 1)
        self.ended = bool(seen[0][0][2])
        for other in seen[1:]:
            self.noisy = self.noisy or not same(seen[0][0][1], other[0][1])
            for one, another in zip(seen[0], other, strict=False):
                if bool(one[2]) != bool(another[2]) or not same(one[0], another[0]):
                    self.random = True
            self.random = self.random or any(
                not same(led_to[0], state) for state in led_to[1:] if state is not None
            )
        # What was drawn and shows nowhere may have gone somewhere. (A replay always draws.)
        quiet = not self.random and not self.noisy
        self.suspicious = self.drawn and quiet and keeper.method != "replay"


def _plain_state(keeper: Keeper) -> Any:
    """The state, if it is plain data, so that states can be compared; else None."""
    if keeper.method != "native":
        return None
    state = keeper.snapshot()
    try:
        duplicate(state)
    except Unknown:
        return None
    return state


def is_random(keeper: Keeper, start: Any, actions: Sequence[Any], steps: int = 4) -> bool:
    """Whether where steps lead may depend on the planner's generator, in a short trial.

    Random numbers that are drawn and seem to change nothing count as random dynamics. A step that
    fails shows nothing: who takes it is told.
    """
    rng = np.random.default_rng(0)
    try:
        for _ in range(steps):
            drive = random_drive(actions, AHEAD, rng)
            coin = Coin(keeper, start, drive, rng)
            if coin.random or coin.suspicious:
                return True
            if coin.ended:
                break
            keeper.restore(start)
            drive.take(keeper, 0, np.random.default_rng(0))
            start = keeper.save()
    except Exception:  # noqa: BLE001  whatever it is, it will come again
        return False
    return False
