"""The frame of planners that sample sequences in a box: draw, walk them all at once, learn.

A ``Sampler`` is what differs between them. It works with controls: arrays in which -1 and 1 are the
bounds of the box in each coordinate. So nothing depends on the box's scale.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count
from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.advice import Advisor
from platypoos.models.base import Access, actions_of
from platypoos.models.failures import located
from platypoos.models.points import Point, as_action, pointed
from platypoos.planners.platypus.session import Clock
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.simulator import Request, Simulator
from platypoos.simulator.requests import Walk
from platypoos.spaces import Box, Space, Tried
from platypoos.trees.tree import ROOT, TERMINAL, Tree, make_tree, set_node, set_root

Floats = NDArray[np.float64]

NEGLIGIBLE, SHORTEST = 0.2, 12
"""Sequences are so long that later rewards are discounted to this share, or this long…"""
BUDGET_STEPS, AT_LEAST = 4.0, 4
"""…but at most this many times N^¼ steps, and short enough that this many fit in the budget N."""
WITHOUT_BUDGET = 3_000
"""The budget that sequences are as long as if there is only a deadline."""
AT_ONCE, FEWEST = 32, 8
"""With a clock: sequences that are walked at once, at most; and how few, if calls are slow."""
MOST_SHOWN = 4
"""First actions whose best sequence a plan shows, at most."""


class Batch(NamedTuple):
    """Sequences that were walked."""

    controls: Floats  # [sequences, length, coordinates]
    rewards: Floats  # [sequences, length] 0 after an end
    values: Floats  # [sequences] discounted sums, with what the last state is worth
    places: list[int]
    """Their rows among those that were drawn; a clock may have cut others short."""


class Estimate(NamedTuple):
    """A sequence that was not walked itself, and what is known of it from others."""

    controls: Floats  # [length, coordinates]
    rewards: Floats  # [length]
    value: float
    samples: int
    """How many walks this is worth."""


class Sampler(ABC):
    """What a planner draws and learns. One is used for all decisions of an episode.

    Args:
        length: steps of a sequence.
        coordinates: of the box.
        rng: what to draw with. There is another one for each decision.
    """

    def __init__(self, length: int, coordinates: int, rng: np.random.Generator) -> None:
        self.length, self.coordinates, self.rng = length, coordinates, rng

    def sizes(self, number: int) -> list[int]:
        """How many sequences to draw in each iteration, if there are ``number`` in all."""
        return [number]

    @abstractmethod
    def draw(self, number: int) -> Floats:
        """Sequences to walk, [number, length, coordinates]; they are cut to the box."""

    @abstractmethod
    def learn(self, batch: Batch) -> None:
        """Learn from sequences that were walked: those that were drawn last, as they were cut."""

    @abstractmethod
    def shift(self, length: int) -> None:
        """Get ready for the next decision, one step later."""

    def estimate(self) -> Estimate | None:
        """What to recommend; None for the best sequence that was walked in this decision."""
        return None


def shifted(controls: Floats, length: int) -> Floats:
    """Sequences without their first step, the last one held; [..., steps, coordinates].

    >>> shifted(np.array([[1.0], [2.0], [3.0]]), 4).ravel().tolist()
    [2.0, 3.0, 3.0, 3.0]
    """
    steps = np.minimum(np.arange(1, length + 1), controls.shape[-2] - 1)
    return controls[..., steps, :]


class SamplerMemory:
    """Keeps the sampler from step to step of an episode."""

    def __init__(self) -> None:
        self.sampler: Sampler | None = None
        self.model: Any = None

    def observe(self, action: Any, reward: float) -> None:
        """Nothing: whatever was done, the next decision is one step later."""


@dataclass(frozen=True, kw_only=True)
class BoxPlanner(Planner):
    """A planner for boxes only."""

    length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length is not None:
            object.__setattr__(self, "length", check_count("length", self.length))

    def view_of(self, model: Any) -> Any:
        """The model with points for actions; an error if they are not a box."""
        actions = actions_of(model)
        if not isinstance(actions, Box):
            raise InvalidArgument(
                f"{type(self).__name__} chooses from a box of numbers (pp.Box), but this model's "
                f"actions are {actions}; Platypus, CEM and RandomShooting also choose from lists"
            )
        return pointed(model)

    def count(self, actions: Space) -> int:  # noqa: ARG002  the same for all boxes
        """How many calls it takes at least."""
        return 1

    def remember(self) -> Any:
        """What it learned in the last decision."""
        return SamplerMemory()


Maker = Callable[[int, int, np.random.Generator], Sampler]


def plan_in_box(planner: Any, task: Task, make: Maker, memory: SamplerMemory | None = None) -> Plan:
    """Plan with a sampler.

    Args:
        planner: has a ``discount`` and a ``length``.
        task: its model is a view with points for actions.
        make: makes the sampler from the length, the number of coordinates, and a generator.
        memory: of the episode.
    """
    length = length_for(planner, task)
    rng = np.random.default_rng(task.tie_seed())
    space: Any = actions_of(task.model)
    if memory is None or memory.sampler is None or memory.model is not task.model:
        sampler = make(length, space.low.size, rng)
    else:
        sampler = memory.sampler
        sampler.rng = rng
        sampler.shift(length)
        sampler.length = length
    if memory is not None:
        memory.sampler, memory.model = sampler, task.model
    search = Search(task, planner.discount, length)
    try:
        spend(search, sampler)
    except KeyboardInterrupt as error:
        if not search.shown:
            raise
        if not task.open_ended:
            error.plan = build_plan(planner, search, sampler)  # type: ignore[attr-defined]
            raise
    except ModelError as error:
        if error.action is not None:
            located(error)
        error.calls = search.simulator.calls
        error.tree = search.tree()
        raise
    return build_plan(planner, search, sampler)


def length_for(planner: Any, task: Task) -> int:
    """How long sequences are: what the planner was told, or what suits discount and budget."""
    budget = WITHOUT_BUDGET if task.open_ended else task.budget
    length: int | None = planner.length
    if length is None:
        length = usual_length(planner.discount, budget)
    return min(task.within_horizon(length), budget)


def usual_length(discount: float, budget: int) -> int:
    """How long sequences are if nobody says so.

    >>> usual_length(0.95, 3_000), usual_length(0.95, 300), usual_length(0.95, 20)
    (29, 16, 5)
    """
    if discount == 0.0:
        return 1
    steps = math.inf if discount == 1.0 else math.log(NEGLIGIBLE) / math.log(discount)
    most = min(BUDGET_STEPS * budget**0.25, budget // AT_LEAST)
    return int(max(1, min(most, max(SHORTEST, steps))))


class Search:
    """The walks of one decision, and the best of them."""

    def __init__(self, task: Task, discount: float, length: int) -> None:
        self.task, self.length = task, length
        self.space: Box = actions_of(task.model)  # type: ignore[assignment]
        self.low = self.space.low.ravel().astype(np.float64)
        self.high = self.space.high.ravel().astype(np.float64)
        self.discounts = discount ** np.arange(length + 1, dtype=np.float64)
        self.simulator = Simulator(
            task.model,
            task.rng,
            budget=task.budget,
            state=task.state,
            access=task.access,
            executor=task.executor,
            timeout=task.timeout,
        )
        advisor = Advisor(task.model)
        goes_on = task.horizon is None or length < task.horizon
        self.value_of = advisor.value if advisor.valued and goes_on else None
        self.walks: list[Walk] = []
        self.shown: dict[Point, tuple[float, Walk]] = {}
        """The best walk that begins with an action, and its value; the best one first."""

    def points(self, controls: Floats) -> Floats:
        """The points that controls stand for, in the precision of the box."""
        points = self.low + (0.5 * (controls + 1.0)) * (self.high - self.low)
        points = np.clip(points, self.low, self.high)
        return points.astype(self.space.low.dtype).astype(np.float64)

    def walk(self, controls: Floats) -> Batch:
        """Walk sequences from the root; those that the clock cut short are left out."""
        state, length = self.task.state, self.length
        batch = [
            Request(state, [tuple(point) for point in sequence], length)
            for sequence in self.points(controls).tolist()
        ]
        try:
            replies = self.simulator.run(batch, check_legal=False)
        except BaseException as error:
            walks = self._keep(getattr(error, "replies", []))
            if isinstance(error, KeyboardInterrupt):
                self._take(controls, walks)
            raise
        return self._take(controls, self._keep(replies))

    def _keep(self, replies: Sequence[Sequence[Walk]]) -> list[Walk]:
        walks = [found[0] if found else [] for found in replies]
        self.walks += walks
        return walks

    def tree(self) -> Tree:
        """All that was walked."""
        lines = [line_of(walk) for walk in self.walks if walk]
        number = {point: place for place, point in enumerate(all_points(lines))}
        return tree_of(lines, number)[0]

    def _take(self, controls: Floats, walks: list[Walk]) -> Batch:
        places = [
            place
            for place, walk in enumerate(walks)
            if len(walk) == self.length or (walk and walk[-1][3])
        ]
        if not places and not self.shown:  # time is up: part of a sequence is better than nothing
            places = sorted(range(len(walks)), key=lambda place: -len(walks[place]))[:1]
            places = [place for place in places if walks[place]]
        rewards = np.zeros((len(places), self.length))
        for row, place in enumerate(places):
            rewards[row, : len(walks[place])] = [step[2] for step in walks[place]]
        values = rewards @ self.discounts[:-1]
        if self.value_of is not None:
            for row, place in enumerate(places):
                _, after, _, ended = walks[place][-1]
                if not ended:
                    values[row] += self.discounts[len(walks[place])] * self.value_of(after)
        self._show([walks[place] for place in places], values)
        return Batch(controls[places], rewards, values, places)

    def _show(self, walks: list[Walk], values: Floats) -> None:
        """Keep the best walk of each of the best first actions."""
        order = np.argsort(-values, kind="stable")[: 4 * MOST_SHOWN].tolist()
        found = [*self.shown.values(), *((float(values[row]), walks[row]) for row in order)]
        found.sort(key=lambda pair: -pair[0])
        self.shown = {}
        for value, walk in found:
            if len(self.shown) < MOST_SHOWN:
                self.shown.setdefault(walk[0][0], (value, walk))


def spend(search: Search, sampler: Sampler) -> None:
    """Draw, walk and learn until the budget is spent, or time is up."""
    task, simulator, length = search.task, search.simulator, search.length
    clock = Clock(simulator, task)
    sizes: list[int] = []
    if clock.runs:
        simulator.due = clock.due
        simulator.until = task_end(clock)
    else:
        sizes = sampler.sizes(task.budget // length)[::-1]
    while True:
        if task.open_ended:
            simulator.budget = simulator.calls + AT_ONCE * length
        left = simulator.left // length
        if left == 0 or (simulator.calls and clock.due()):
            return
        if clock.runs:
            number = min(left, at_once(clock.end - time.perf_counter(), simulator, length))
        else:
            number = min(left, sizes.pop() if sizes else left)
        batch = search.walk(np.clip(sampler.draw(number), -1.0, 1.0))
        if len(batch.values):
            sampler.learn(batch)


def at_once(seconds: float, simulator: Simulator, length: int) -> int:
    """With a clock: how many sequences to walk at once, so that there are several iterations."""
    pace = simulator.pace.seconds
    if pace == 0.0:
        return FEWEST
    return int(min(AT_ONCE, max(FEWEST, 0.5 * seconds / (pace * length))))


def task_end(clock: Clock) -> float | None:
    """When workers stop, in the time of ``time.time()``; None for never."""
    return None if clock.end == math.inf else time.time() + clock.end - time.perf_counter()


class Line(NamedTuple):
    """A sequence as a plan shows it."""

    points: list[Point]
    rewards: list[float]
    samples: int
    value: float
    ended: bool = False
    states: tuple[Any, ...] = ()


def line_of(walk: Walk, value: float = 0.0) -> Line:
    """A walk as a plan shows it."""
    actions, states, rewards, ended = zip(*walk, strict=True)
    return Line(list(actions), list(rewards), 1, value, ended[-1], states)


def all_points(lines: list[Line]) -> list[Point]:
    """The actions of some sequences, each one once; the first ones first."""
    firsts = [line.points[0] for line in lines]
    return list(dict.fromkeys(firsts + [point for line in lines for point in line.points]))


def build_plan(planner: Any, search: Search, sampler: Sampler) -> Plan:
    """The plan: what the sampler recommends, and the best walks with other first actions."""
    task = search.task
    restores = task.access is Access.RESTORE
    lines = [line_of(walk, value) for value, walk in search.shown.values()]
    found = sampler.estimate()
    if found is not None:
        points = [tuple(point) for point in search.points(found.controls).tolist()]
        chosen = Line(points, found.rewards.tolist(), found.samples, found.value)
        lines = [chosen, *(line for line in lines if line.points[0] != chosen.points[0])]
    number = {point: place for place, point in enumerate(all_points(lines))}
    tree, ends, states = tree_of(lines, number)
    plan: Plan = planner.recommend(
        task,
        tree,
        ends[0],
        action=0,
        value=lines[0].value,
        calls=search.simulator.calls,
        space=Tried(search.space, [as_action(search.space, p) for p in number], len(lines)),
        estimates=np.array([line.value for line in lines]),
        states={ROOT: task.state, **states} if restores else {},
        sources=np.arange(tree.num_nodes),  # no two share samples, and this is not all of them
    )
    return plan


def tree_of(lines: list[Line], number: dict[Point, int]) -> tuple[Tree, list[int], dict[int, Any]]:
    """A tree of sequences, the node at the end of each, and the states of the nodes."""
    tree = make_tree(1 + sum(len(line.points) for line in lines))
    set_root(tree)
    ends, states = [], {}
    for line in lines:
        last = ROOT
        for t, (point, reward) in enumerate(zip(line.points, line.rewards, strict=True)):
            node = tree.num_nodes
            tree.size[0] += 1
            set_node(tree, node, last, number[point], t + 1, 0)
            tree.pulls[node], tree.reward[node] = line.samples, reward
            if line.states:
                states[node] = line.states[t]
            last = node
        tree.flags[last] = TERMINAL if line.ended else 0
        ends.append(last)
    return tree, ends, states
