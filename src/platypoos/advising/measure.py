"""What is measured of a model: whether states meet, noise, ends, rewards, and times of change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from platypoos.advising.probe import Probe, Seen, Spent, Walk
from platypoos.models.base import Access

WALKS, WALK_LENGTH = 4, 50
"""Random walks, and the most steps of each."""
AGAIN = 40
"""Calls that sample the same state and action again."""
HOLDS = (2, 4, 8, 16)
"""Steps for which actions are held, to find a repeat; the last one is the largest repeat."""
HELD_LENGTH = 64
"""The most steps of a walk in which actions are held."""
PAIRS = 8
"""Pairs of actions that are held from the same state."""
GROWS = 0.5
"""Two actions go on to make more of a difference if it grows as time to this power, or faster."""
LEAST_CALLS = 10
"""Fewer calls tell nothing."""
ROUNDING = 1e-9
"""Of a coordinate's largest number: it stands still if it varies by less."""


@dataclass(frozen=True)
class Noise:
    """Steps that were taken again from the same state."""

    tried: int
    rewards: int
    """In how many the reward was another one."""
    states: int
    """In how many the next state, or the end, was another one."""


@dataclass(frozen=True)
class Ends:
    """Random walks, and those in which the episode ended."""

    walks: int
    ended: int
    earliest: int
    """Steps to the earliest end; 0 if there was none."""
    typical: int
    """Steps to the median end; 0 if there was none."""


@dataclass(frozen=True)
class Findings:
    """What the first calls tell of a model."""

    walks: list[Walk]
    steps: int
    """Steps of all walks."""
    met: int
    """Steps that led to a state that was seen before."""
    noise: Noise
    ends: Ends
    silent: bool
    """Each action had the same reward wherever it was taken, ends aside."""
    constant: bool
    """Every step paid the same, and not nothing, ends aside."""
    timed: list[float]
    """Seconds of calls; of such that go back to a known state, as those of planners, if any."""


def look_at(probe: Probe) -> Findings:
    """Walk around at random, and take some of the steps again."""
    walks = take_walks(probe)
    if not walks:
        raise KeyboardInterrupt
    noise, again = take_again(probe, walks)
    return Findings(
        walks=walks,
        steps=sum(len(walk.seen) for walk in walks),
        met=count_meetings(probe, walks),
        noise=noise,
        ends=find_ends(walks),
        silent=rewards_are_silent(walks),
        constant=rewards_are_constant(walks),
        timed=again if len(again) >= LEAST_CALLS else probe.seconds,
    )


def take_walks(probe: Probe) -> list[Walk]:
    """Random walks from the initial state; at most a third of the calls."""
    walks, until = [], max(LEAST_CALLS, probe.limit // 3)
    steps = WALKS * WALK_LENGTH
    while steps > 0 and probe.calls < until and probe.left and not probe.interrupted:
        walk = probe.walk(min(WALK_LENGTH, steps, until - probe.calls))
        steps -= max(1, len(walk.seen))
        if walk.seen:
            walks.append(walk)
    return walks


def count_meetings(probe: Probe, walks: list[Walk]) -> int:
    """How many steps led to a state that was seen before."""
    if probe.key is None:
        return 0
    known = {probe.key(probe.start)}
    met = 0
    for walk in walks:
        for seen in walk.seen:
            name = probe.key(seen.state)
            met += name is not None and name in known
            known.add(name)
    return met


def take_again(probe: Probe, walks: list[Walk]) -> tuple[Noise, list[float]]:
    """Take steps of the walks again; also returns the seconds of these calls."""
    before = len(probe.seconds)
    counts = [0, 0, 0]  # tries, other rewards, other states

    def compare(first: Seen, second: Seen) -> bool:
        other = probe.differ(first, second)
        counts[0] += 1
        counts[1] += first.reward != second.reward and not other
        counts[2] += other
        return other

    most = min(AGAIN, max(1, probe.limit // 10))
    try:
        if probe.access is Access.RESTORE:
            # Evenly spaced along the walks, so that a planner's restores are measured too.
            known = [
                (walk.states[i], walk.actions[i], walk.seen[i])
                for walk in walks
                for i in range(len(walk.seen))
            ]
            picked = np.linspace(0, len(known) - 1, min(most, len(known))).astype(int)
            for index in picked:
                state, action, seen = known[index]
                compare(seen, probe.step(state, action))
        else:
            _replay(probe, walks, most, compare)
    except Spent:
        pass
    return Noise(*counts), probe.seconds[before:]


def _replay(
    probe: Probe, walks: list[Walk], most: int, compare: Callable[[Seen, Seen], bool]
) -> None:
    """Take walks again from the initial state, each up to where it goes another way."""
    left = most
    for walk in walks * most:
        state = probe.start
        for action, first in zip(walk.actions, walk.seen, strict=True):
            if left <= 0:
                return
            left -= 1
            second = probe.step(state, action)
            if compare(first, second):
                break
            state = second.state


def find_ends(walks: list[Walk]) -> Ends:
    """How often and how early random walks ended."""
    whole = [walk for walk in walks if walk.ended or len(walk.seen) == WALK_LENGTH]
    walks = whole or walks  # without the last one, which was cut short
    steps = sorted(len(walk.seen) for walk in walks if walk.ended)
    if not steps:
        return Ends(len(walks), 0, 0, 0)
    return Ends(len(walks), len(steps), steps[0], steps[len(steps) // 2])


def rewards_are_silent(walks: list[Walk]) -> bool:
    """Whether each action had one reward wherever it was taken, ends aside."""
    known: dict[int, float] = {}
    for walk in walks:
        for action, seen in zip(walk.actions, walk.seen, strict=True):
            if seen.terminated:
                continue
            if seen.reward != known.setdefault(action, seen.reward):
                return False
    return True


def rewards_are_constant(walks: list[Walk]) -> bool:
    """Whether every step paid the same, whatever the action, ends aside; and not nothing."""
    paid = {seen.reward for walk in walks for seen in walk.seen if not seen.terminated}
    return len(paid) == 1 and 0.0 not in paid


def find_repeat(probe: Probe, walks: list[Walk]) -> int:
    """Steps for which an action goes on to make more of a difference, a power of two.

    Two actions are held from the same state. Where the time step is small, their states move apart
    in proportion to time. They no longer do where the system has had the time to respond.
    """
    length = min(HELD_LENGTH, int(0.4 * probe.left) // len(HOLDS))
    held = [probe.walk(length, hold) for hold in HOLDS]
    largest = _largest_safe(walks, held)
    vectors = [seen.vector for walk in walks + held for seen in walk.seen]
    rows = np.array([vector for vector in vectors if vector is not None])
    if len(rows) < LEAST_CALLS:
        return 1
    spread = rows.std(axis=0)
    moving = spread > ROUNDING * np.abs(rows).max(axis=0)
    apart = _differences(probe, walks, spread, moving)
    found = 1
    for hold in HOLDS:
        before, after = apart[:, hold // 2 - 1], apart[:, hold - 1]
        known = (before > 0) & (after > 0)  # not where an episode ended, which is NaN
        if hold > largest or known.sum() < 2:
            break
        if np.log2(after[known] / before[known]).mean() < GROWS:
            break
        found = hold
    return found


def _differences(
    probe: Probe, walks: list[Walk], spread: NDArray[np.float64], moving: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """How far apart two actions, held from the same state, have led after 1, 2, … steps.

    Coordinates are in units of their standard deviation, and those that do not move are left out.
    """
    found = np.full((PAIRS, HOLDS[-1]), np.nan)
    states = [state for walk in walks for state in walk.states[: len(walk.seen)]]
    try:
        for pair in range(PAIRS):
            state = probe.start
            if probe.access is Access.RESTORE:
                state = states[int(probe.choices.integers(len(states)))]
            one = probe.action(state)
            first = _hold(probe, state, one)
            second = _hold(probe, state, probe.action(state, unlike=one))
            for step, (a, b) in enumerate(zip(first, second, strict=False)):
                if a.vector is not None and b.vector is not None:
                    gap = (a.vector - b.vector)[moving] / spread[moving]
                    found[pair, step] = np.sqrt((gap**2).sum())
    except Spent:
        pass
    return found


def _hold(probe: Probe, state: object, action: int) -> list[Seen]:
    """What holding an action shows, up to the end of the episode."""
    trail: list[Seen] = []
    for _ in range(HOLDS[-1]):
        if not probe.may(state, action):
            break
        trail.append(probe.step(state, action))
        state = trail[-1].state
        if trail[-1].terminated:
            break
    return trail


def _largest_safe(walks: list[Walk], held: list[Walk]) -> int:
    """The largest hold that led to no bad end.

    An end is good if it brings more than any step before, or if it stops negative rewards.
    """
    rewards = [seen.reward for walk in walks for seen in walk.seen if not seen.terminated]
    if not rewards:
        return 1
    least, most = min(rewards), max(rewards)
    bad = []
    for walk in held:
        last = walk.seen[-1].reward if walk.ended else np.inf
        if last < least or (most >= 0 and last <= most):
            bad.append(walk.hold)
    return min(bad) // 2 if bad else HOLDS[-1]
