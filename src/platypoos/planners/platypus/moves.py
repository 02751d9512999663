"""How sequences are begun and changed: for a list of actions, and for boxes of numbers."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

from platypoos.graph import Graph, State
from platypoos.models.points import Point, rounding
from platypoos.spaces import MultiDiscrete

if TYPE_CHECKING:
    from platypoos.planners.platypus.rules import Rules
    from platypoos.planners.platypus.sequences import Candidate


class ListMoves:
    """Moves of a finite list of actions, which are numbers here."""

    whole = False

    def __init__(self, graph: Graph, rng: random.Random) -> None:
        self.graph, self.random = graph, rng

    def seeds(self) -> list[Any]:
        """First actions to begin with: all of them."""
        seeds = list(self.graph.options(self.graph.root))
        self.random.shuffle(seeds)
        return seeds

    def stretch(self, candidate: Candidate, start: int, end: int) -> list[Any]:
        """What to put in place of some steps of a sequence: one other action."""
        other = self.other(candidate.path[start].start, candidate.actions[start])
        return [other] * (end - start)

    def other(self, state: State, action: Any) -> Any:
        """A random action that is allowed in a state, another one if there is one."""
        others = [a for a in self.graph.options(state) if a != action] or [action]
        return others[int(self.random.random() * len(others))]

    def sequence(self, length: int) -> list[Any]:
        """Any actions."""
        return self.random.choices(range(self.graph.num_actions), k=length)


class BoxMoves:
    """Moves in a box. Only shares of the box's width are used, so its scale does not matter.

    Args:
        space: a ``Box`` or a ``MultiDiscrete``.
        rng: for all that is drawn.
        rules: constants.
    """

    def __init__(self, space: Any, rng: random.Random, rules: Rules) -> None:
        self.random, self.rules = rng, rules
        self.whole = isinstance(space, MultiDiscrete)
        if self.whole:
            self.low, self.high = [0.0] * space.sizes.size, (space.sizes.ravel() - 1.0).tolist()
        else:
            self.low, self.high = space.low.ravel().tolist(), space.high.ravel().tolist()
        self.rounded = rounding(space)
        self.width = [high - low for low, high in zip(self.low, self.high, strict=True)]

    def seeds(self) -> list[Point]:
        """First actions to begin with: the middle of the box."""
        return [self.inside([low + 0.5 * w for low, w in zip(self.low, self.width, strict=True)])]

    def stretch(self, candidate: Candidate, start: int, end: int) -> list[Point]:
        """What to put in place of some steps of a sequence.

        One random action, or one for each step; or what was there, moved by the same random step,
        in half of the cases with the next steps moved back: what a push has set in motion may have
        to be stopped. Of whole numbers, one entry is set to another one.
        """
        if self.random.random() < self.rules.anew_share:
            if self.random.random() < self.rules.each_share:
                return [self.draw() for _ in range(start, end)]
            return [self.draw()] * (end - start)
        old = candidate.actions[start:end]
        if self.whole:
            place = int(self.random.random() * len(self.high))
            entry = int(self.random.random() * (self.high[place] + 1.0))
            return [(*point[:place], entry, *point[place + 1 :]) for point in old]
        step = self.step()
        moved = [self.inside([x + s for x, s in zip(point, step, strict=True)]) for point in old]
        if self.random.random() < self.rules.pair_share:
            old = candidate.actions[end : 2 * end - start]
            moved += [self.inside([x - s for x, s in zip(p, step, strict=True)]) for p in old]
        return moved

    def draw(self) -> Point:
        """A random action: uniform in a box that is wider, cut to the box, so often at a bound."""
        draw, wide = self.random.random, self.rules.wide
        if self.whole:
            return tuple(int(draw() * (high + 1.0)) for high in self.high)
        return self.inside(
            [
                low + (0.5 + wide * (draw() - 0.5)) * width
                for low, width in zip(self.low, self.width, strict=True)
            ]
        )

    def step(self) -> list[float]:
        """A random step of any size, mostly small: its scale is log-uniform."""
        draw = self.random.random
        scale = self.rules.finest ** draw()
        return [scale * width * math.tan(math.pi * (draw() - 0.5)) for width in self.width]

    def inside(self, point: list[float]) -> Point:
        """The nearest point of the box."""
        if self.whole:
            return tuple(
                int(min(high, max(0.0, round(x)))) for x, high in zip(point, self.high, strict=True)
            )
        return self.rounded(
            [
                low if x < low else min(x, high)
                for x, low, high in zip(point, self.low, self.high, strict=True)
            ]
        )

    def sequence(self, length: int) -> list[Point]:
        """Any actions."""
        return [self.draw() for _ in range(length)]
