"""Random dynamics and a box of actions: sequences are averaged over common scenarios.

A scenario fixes what chance does at each step: the same random numbers for every sequence of
actions. In a few scenarios at once the next states follow from the action, so sequences are
searched as where dynamics are deterministic, and two of them differ by their actions alone. One
step then takes a call for each scenario. Such a plan does not react to what chance does later;
the next decision does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from platypoos.models.points import Point
from platypoos.simulator import Request, Simulator, Walk
from platypoos.simulator.streams import WORD
from platypoos.spaces import MultiDiscrete

CALLS_EACH = 250
"""There are as many scenarios as the root of the calls over this: few calls are better spent on
more sequences than on more scenarios."""
BY_CLOCK = 3
"""Scenarios where the calls are not known before."""
OVER: Any = object()
"""In place of a state: the episode has ended in this scenario."""


def scenarios_for(budget: int, *, open_ended: bool) -> int:
    """How many scenarios a plan looks at.

    >>> [scenarios_for(calls, open_ended=False) for calls in (1, 300, 1_000, 3_000, 10_000)]
    [1, 1, 2, 3, 6]
    """
    return BY_CLOCK if open_ended else max(1, math.isqrt(budget // CALLS_EACH))


class Joint(NamedTuple):
    """The states of all scenarios, after the same actions."""

    states: tuple[Any, ...]
    """``OVER`` where the episode has ended."""
    time: int
    """Steps from the state that is planned for."""


class Player:
    """A walk that is played in all scenarios at once."""

    __slots__ = ("actions", "at", "walk")

    def __init__(self, at: Joint, actions: list[Any], walk: Walk) -> None:
        self.at, self.actions, self.walk = at, actions, walk


class Scenarios:
    """Plays sequences in all scenarios. To a search it is a simulator whose states are ``Joint``.

    Rewards are averaged; an episode that has ended brings 0. ``calls`` and ``budget`` count joint
    steps, so that the search need not know how many scenarios there are.

    Args:
        simulator: makes the calls.
        number: of scenarios.
        space: the actions.
        rng: draws what chance does.
    """

    def __init__(
        self, simulator: Simulator, number: int, space: Any, rng: np.random.Generator
    ) -> None:
        self.simulator, self.number = simulator, number
        self.calls = 0
        self._whole = isinstance(space, MultiDiscrete)
        self._rng = rng
        self._words: list[bytes] = []  # by time: where the random streams of all scenarios start

    @property
    def budget(self) -> int:
        """Joint steps that there are surely calls for, with those that were made."""
        return self.calls + self.simulator.left // self.number

    @budget.setter
    def budget(self, steps: int) -> None:
        self.simulator.budget = self.simulator.calls + (steps - self.calls) * self.number

    @property
    def due(self) -> Callable[[], bool]:
        """The simulator's clock."""
        return self.simulator.due

    @due.setter
    def due(self, due: Callable[[], bool]) -> None:
        self.simulator.due = due

    @property
    def until(self) -> float | None:
        """The same for workers."""
        return self.simulator.until

    @until.setter
    def until(self, until: float | None) -> None:
        self.simulator.until = until

    def start(self, state: Any) -> Joint:
        """A state, in all scenarios."""
        return Joint((state,) * self.number, 0)

    def run(self, batch: Sequence[Request]) -> list[list[Walk]]:
        """Play the requests of a batch, one step of all walks at a time.

        If the model fails, ``error.replies`` has the joint steps before.
        """
        replies: list[list[Walk]] = []
        players = []
        for state, actions, steps, times in batch:
            walks: list[Walk] = [[] for _ in range(times)]
            replies.append(walks)
            planned = [*actions[:steps], *[None] * (steps - len(actions))]
            players += [Player(state, planned, walk) for walk in walks]
        try:
            while players:
                players = self._step(players)
        except BaseException as error:
            error.replies = replies  # type: ignore[attr-defined]
            raise
        for walks in replies:
            walks[:] = [walk for walk in walks if walk]
        return replies

    def _step(self, players: list[Player]) -> list[Player]:
        """Take one step with each; returns those that go on."""
        requests: list[Request] = []
        words: list[bytes] = []
        for player in players:
            place = len(player.walk)
            if player.actions[place] is None:
                player.actions[place] = self.advise(player.at)
            action = [player.actions[place]]
            drawn = self._words_at(player.at.time)
            for number, state in enumerate(player.at.states):
                if state is not OVER:
                    requests.append(Request(state, action, 1))
                    words.append(drawn[number * WORD : (number + 1) * WORD])
        answers = iter(self.simulator.run(requests, words=b"".join(words)))
        return [player for player in players if self._move(player, answers)]

    def _move(self, player: Player, answers: Any) -> bool:
        """Take note of a step; whether the walk goes on."""
        after: list[Any] = []
        total, complete = 0.0, True
        for state in player.at.states:
            if state is OVER:
                after.append(OVER)
                continue
            walks = next(answers)
            if not walks or not walks[0]:
                complete = False  # time was up
                continue
            _, stored, reward, ended = walks[0][0]
            total += reward
            after.append(OVER if ended else stored)
        if not complete:
            return False
        self.calls += 1
        player.at = Joint(tuple(after), player.at.time + 1)
        ended = all(state is OVER for state in after)
        action = player.actions[len(player.walk)]
        player.walk.append((action, player.at, total / self.number, ended))
        return not ended and len(player.walk) < len(player.actions)

    def _words_at(self, time: int) -> bytes:
        while len(self._words) <= time:
            self._words.append(self._rng.bytes(WORD * self.number))
        return self._words[time]

    def value(self, function: Callable[[Any], float]) -> Callable[[Joint], float]:
        """What the model says that states are worth, on average; 0 after an end."""

        def average(joint: Joint) -> float:
            return sum(function(s) for s in joint.states if s is not OVER) / self.number

        return average

    def advise(self, joint: Joint) -> Point:
        """The average of what the rule does in the scenarios that go on."""
        rule = self.simulator.rule
        assert rule is not None  # noqa: S101  it is asked only if there is one
        said = [rule(state, None) for state in joint.states if state is not OVER]
        middle = (sum(entries) / len(said) for entries in zip(*said, strict=True))
        return tuple(round(entry) for entry in middle) if self._whole else tuple(middle)

    def told(self) -> dict[str, Any]:
        """The fields of ``Plan`` that are other ones than where dynamics are deterministic."""
        note = "searched in one scenario"
        if self.number > 1:
            note = f"averaged over {self.number} common scenarios"
        told: dict[str, Any] = {"states": {}, "noise": None, "note": note}
        return told | {"improvement": None, "rule_node": None}
