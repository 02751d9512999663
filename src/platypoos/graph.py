"""What is known of a simulator: a graph of states and of the actions that were tried there.

Sequences of actions that meet in a state share what is known of it. Values are those of the best
known policy. They are kept up to date by a work list: where a value changes, the states that lead
there are looked at again.

Rewards are counted from the first reward that was seen (``Graph.origin``), so that adding a
constant to all rewards changes nothing.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from platypoos.models.base import Reward
from platypoos.models.failures import not_deterministic
from platypoos.models.keys import key_failure

SURVEY_LEAST = 32
"""A survey is made when the graph has doubled, and grown by at least this number of edges."""
LONGEST_TAIL = 64
"""Steps that a walk asks for at once, at most."""
ROUGHLY = 1e-3
"""Changes of a value below this share of the spread of all values are not passed on."""
BYTES_PER_STATE = 700
"""What a state and the edge that led there take, beside the stored state itself."""


class State:
    """A state of the simulator, and what is known of it."""

    __slots__ = (
        "advice",
        "choice",
        "edges",
        "legal",
        "name",
        "parents",
        "queued",
        "span",
        "stored",
        "ticket",
        "time",
        "value",
        "worth",
    )

    def __init__(
        self, stored: Any, name: Hashable, time: int, span: float, value: float, ticket: float
    ) -> None:
        self.stored = stored
        self.name = name
        self.time = time
        """Steps from the beginning of the episode, when it was first met."""
        self.span = span
        """What a reward of 1 at each step to come is worth from here."""
        self.edges: dict[Any, Edge] = {}
        self.parents: list[Edge] = []
        """The edges that lead here."""
        self.value = value
        """Under the best known policy."""
        self.choice: Edge | None = None
        """The edge that this policy takes."""
        self.queued = False
        """Whether its value must be looked at again."""
        self.ticket = ticket
        """Decides between equals."""
        self.legal: list[int] | None = None
        """The actions that are allowed here; None as long as nobody asked."""
        self.advice: Any = None
        """What the user's rule does here; None as long as nobody asked."""
        self.worth: float | None = None
        """What the model says that the state is worth; None if it says nothing."""


class Edge:
    """An action that was tried in a state, and where it led."""

    __slots__ = (
        "action",
        "after",
        "average",
        "going_on",
        "mean",
        "parts",
        "rest",
        "samples",
        "start",
        "walks",
    )

    def __init__(self, start: State, action: Any, after: State | None, mean: float) -> None:
        self.start, self.action = start, action
        self.after = after
        """The state it leads to; None if the episode ends."""
        self.mean, self.samples = mean, 1
        """Of the rewards."""
        self.parts: dict[str, float] | None = None
        """Of the rewards, where the model says what they consist of: the mean of each part."""
        self.rest = 0.0
        """What an end is worth: 0, counted from the origin at each step that is not taken."""
        self.walks = 0
        """Random walks that took it; the mean of their returns from here on, without what follows
        them, and the mean of what a reward of 1 at each step after them is worth."""
        self.average = self.going_on = 0.0

    def add_parts(self, parts: dict[str, float]) -> None:
        """What the last sample consists of."""
        known, count = self.parts or {}, self.samples
        self.parts = {
            name: known.get(name, 0.0) + (parts.get(name, 0.0) - known.get(name, 0.0)) / count
            for name in {**known, **parts}
        }


Path = list[Edge]


class Graph:
    """All that is known.

    Actions are numbers here, places in the list of a model's actions, or points of a box.

    Args:
        discount: γ.
        actions: how many actions there are; None if they cannot be listed.
        key: tells states apart; None if nobody can.
        seed: for tickets.
    """

    def __init__(
        self, discount: float, actions: int | None, key: Callable[[Any], Hashable] | None, seed: int
    ) -> None:
        self.discount, self.key = discount, key
        self.num_actions = 0 if actions is None else actions
        self.endless = actions is None
        """Whether there are always more actions to try."""
        self.span = 1.0 / (1.0 - discount) if discount < 1.0 else 1.0
        """What a reward of 1 at each step to come is worth, without a horizon."""
        self.random = random.Random(seed)  # noqa: S311  for search, not for secrets
        self.states: dict[Hashable, State] = {}
        self.count = 0
        """States that were made, also those that meet no other."""
        self.root = State(None, None, 0, self.span, 0.0, 0.0)
        self.known = 0
        """Edges."""
        self.origin = 0.0
        self.value_of_state: Callable[[Any], float] | None = None
        """The model's ``value``, if it has one."""
        self.legal_actions: Callable[[Any], list[int]] | None = None
        """The model's ``legal``, as numbers of actions, if it has one."""
        self.horizon: int | None = None
        """The time at which episodes are over. With it, a state's name has the time in it."""
        self.is_same: Callable[[Any, Any], bool] | None = None
        """With names of the model's own: whether two states of the same name are really the same.
        A walk is learned from only as long as it is in the states that are stored."""
        self.check_again: Callable[[Edge, Any], None] | None = None
        """Sees whether an action that is tried again leads where it led before."""
        self.open_loop = False
        """By RESET: a state is a sequence of actions, and may end in one walk and not in others."""
        self.rate = 0.0
        """What a step from an unknown state is taken to bring, counted from the origin."""
        self.closed = False
        """Whether nothing is unknown anywhere."""
        self.missing = 0
        """Actions that were not tried in states that can be reached, at the last survey."""
        self.survey_at, self.surveyed = 0, -1
        """How many edges are known when everything is looked at again; and were, the last time."""
        self.tail = 4
        """Steps that a walk asks for at once: more where nothing meets."""
        self._sum = self._squares_sum = self._inverse_sum = 0.0  # of means, squares, 1/samples
        self.squares, self.degrees = 0.0, 0
        """Of differences between samples of the same edge."""
        self.shrinks = True
        """Whether noisy rewards are drawn to the mean of all."""
        self.middle, self.spread, self.doubt, self.tolerance = 0.0, 0.0, 0.0, 0.0
        self.total_variance = 0.0
        self._queue: deque[State] = deque()

    # ------------------------------------------------------------------ states and samples

    def state_of(self, stored: Any, time: int) -> State:
        """The state, a new one if it was never seen."""
        name, found = self._look_up(stored, time)
        if found is not None:
            return found
        self.count += 1
        span = self.span_from(time)
        made = State(stored, name, time, span, self.rate * span, self.random.random())
        if self.value_of_state is not None and not (self.open_loop and stored is None):
            made.worth = made.value = self.value_of_state(stored) - self.origin * span
        if name is not None:
            self.states[name] = made
        return made

    def find(self, stored: Any, time: int) -> State | None:
        """The state if it is known."""
        return self._look_up(stored, time)[1]

    def _look_up(self, stored: Any, time: int) -> tuple[Hashable, State | None]:
        """The name of a state, None if it has none; and the state if it is known."""
        if self.key is None:
            return None, None
        try:
            name = self.key(stored)
            if name is None:
                return None, None
            if self.horizon is not None:
                name = (name, time)
            return name, self.states.get(name)
        except Exception as error:
            raise key_failure(error, stored) from error

    def span_from(self, time: int) -> float:
        """What a reward of 1 at each step to come is worth."""
        if self.horizon is None:
            return self.span
        left = max(0, self.horizon - time)
        gamma = self.discount
        return float(left) if gamma == 1.0 else (1.0 - gamma**left) / (1.0 - gamma)

    def learn(self, state: State, walk: Iterable[tuple[Any, Any, float, bool]], time: int) -> Path:
        """Add what happened on a walk from a state; returns its edges.

        Args:
            state: where it began.
            walk: (action, state after it, reward, whether the episode ended) for each step.
            time: steps from the beginning of the episode to the walk's beginning.
        """
        path: Path = []
        new = 0
        queue = self._queue
        here: State | None = state
        for action, stored, reward, ended in walk:
            if here is None:
                break  # the horizon
            edge = here.edges.get(action)
            if not self.known:
                self._begin(here, reward)
            parts = reward.parts if reward.__class__ is Reward else None
            reward -= self.origin  # noqa: PLW2901  counted from the first one
            time += 1
            if edge is None:
                after = None
                if not ended and time != self.horizon:
                    after = self.state_of(stored, time)
                edge = here.edges[action] = Edge(here, action, after, reward)
                if after is not None:
                    after.parents.append(edge)
                else:
                    edge.rest = -self.origin * self.span_from(time)
                new += 1
                self.known += 1
                self._sum += reward
                self._squares_sum += reward * reward
                self._inverse_sum += 1.0
            else:
                self._add_sample(edge, reward)
                if self.open_loop:
                    if edge.after is None and not ended and time != self.horizon:
                        edge.after = self.state_of(stored, time)  # it ended by chance before
                        edge.after.parents.append(edge)
                elif ended != (edge.after is None) and time != self.horizon:
                    raise not_deterministic(here.stored, action)
                elif self.check_again is not None:
                    self.check_again(edge, stored)
            if parts is not None:
                edge.add_parts(parts)
            path.append(edge)
            if not here.queued:
                here.queued = True
                queue.appendleft(here)  # the last ones first
            here = edge.after
            if (
                self.is_same is not None
                and here is not None
                and here.stored is not stored
                and not self.is_same(here.stored, stored)
            ):
                self.tail = 1
                break  # the walk goes on from another state than the one that stands for it
        if len(path) > 1:  # does it pay to ask for many steps at once?
            self.tail = (
                min(2 * self.tail, LONGEST_TAIL) if new == len(path) else max(1, self.tail // 2)
            )
        return path

    def absorb(self, state: State | None, actions: Iterable[int]) -> None:
        """By RESET: an episode that has ended brings nothing at the steps that were planned."""
        for action in actions:
            edge = None if state is None else state.edges.get(action)
            if edge is None:
                return
            self._add_sample(edge, -self.origin)
            state = edge.after

    def _begin(self, state: State, reward: float) -> None:
        """The first reward of all: the others are counted from it."""
        self.origin = reward
        if state.worth is not None:
            state.worth -= reward * state.span
            state.value = state.worth

    def _add_sample(self, edge: Edge, reward: float) -> None:
        was, count = edge.mean, edge.samples
        moved = (reward - was) / (count + 1)
        edge.mean = was + moved
        edge.samples = count + 1
        self.degrees += 1
        if moved:
            self.squares += moved * moved * count * (count + 1)
            self._sum += moved
            self._squares_sum += moved * (2.0 * was + moved)
        self._inverse_sum -= 1.0 / (count * (count + 1))

    def options(self, state: State) -> list[int] | range:
        """The actions that are allowed in a state. By RESET only those of the root are known."""
        if self.legal_actions is None or (self.open_loop and state is not self.root):
            return range(self.num_actions)
        if state.legal is None:
            state.legal = self.legal_actions(state.stored)
        return state.legal

    def allows(self, state: State, action: Any) -> bool:
        """Whether an action is allowed in a state."""
        return self.legal_actions is None or action in self.options(state)

    # ------------------------------------------------------------------ values

    @property
    def noisy(self) -> bool:
        """Whether two samples of an edge have ever differed."""
        return self.squares > 0.0

    @property
    def variance(self) -> float:
        """Of a sample; 0 as long as no noise was seen."""
        return self.squares / self.degrees if self.squares > 0.0 else 0.0

    def take_moments(self) -> None:
        """How far rewards are drawn to the mean of all, as noise makes them unsure."""
        n = max(1, self.known)
        self.middle = self._sum / n
        total = max(0.0, self._squares_sum / n - self.middle * self.middle)
        self.total_variance = total
        self.tolerance = ROUGHLY * self.root.span * math.sqrt(total)
        self.spread, self.doubt = total, 0.0
        if self.squares > 0.0 and self.shrinks:
            variance = self.squares / self.degrees
            self.spread = max(total - variance * self._inverse_sum / n, 0.01 * total)
            self.doubt = variance / self.spread if self.spread > 0.0 else 0.0

    def rewards(self, path: Path) -> list[float]:
        """The mean rewards along a path, drawn to the mean of all."""
        if not self.doubt:
            return [edge.mean for edge in path]
        m, k = self.middle, self.doubt
        return [m + (edge.mean - m) / (1.0 + k / edge.samples) for edge in path]

    def edge_value(self, edge: Edge) -> float:
        """What an action is worth: its reward, and the value of the state it leads to."""
        after = edge.after
        follows = edge.rest if after is None else after.value
        return self.rewards([edge])[0] + self.discount * follows

    def settle(self, visits: float) -> None:
        """Bring values up to date, by looking at so many states at most."""
        queue, gamma = self._queue, self.discount
        m, k, tolerance = self.middle, self.doubt, self.tolerance
        while queue and visits > 0:
            visits -= 1
            state = queue.popleft()
            state.queued = False
            best, choice = -math.inf, None
            for edge in state.edges.values():
                after = edge.after
                value = m + (edge.mean - m) / (1.0 + k / edge.samples) if k else edge.mean
                value += gamma * (edge.rest if after is None else after.value)
                if value > best:
                    best, choice = value, edge
            if choice is None:
                best = self.rate * state.span if state.worth is None else state.worth
            changed = abs(best - state.value) > tolerance
            state.value, state.choice = best, choice
            if changed:
                for edge in state.parents:
                    start = edge.start
                    if not start.queued:
                        start.queued = True
                        queue.append(start)

    def reachable(self) -> list[State]:
        """All states that can be reached from the root, nearest first."""
        found, seen = [self.root], {self.root}
        for state in found:
            for edge in state.edges.values():
                after = edge.after
                if after is not None and after not in seen:
                    seen.add(after)
                    found.append(after)
        return found

    def survey(self, visits: int, *, exactly: bool = False) -> None:
        """Look at everything: what a step from an unknown state is worth, and whether any is."""
        self.take_moments()
        if exactly:
            self.tolerance *= 1e-9
        found = self.reachable()
        tried = [state for state in found if state.edges]
        fronts = tried
        if not self.endless:
            fronts = [state for state in tried if len(state.edges) < len(self.options(state))]
        self.closed = not fronts and len(tried) == len(found)
        self.missing = sum(self.num_actions - len(state.edges) for state in found)
        if self.survey_at == 0:
            self.rate = self.middle
        elif tried:
            counted = fronts or tried
            self.rate = sum(state.value / state.span for state in counted) / len(counted)
        for state in found:
            if not state.edges and state.worth is None:
                state.value = self.rate * state.span
        for state in reversed(found):
            if not state.queued:
                state.queued = True
                self._queue.append(state)
        self.settle(200_000 if exactly else visits + 2 * len(found))
        self.surveyed = self.known
        self.survey_at = self.known + max(SURVEY_LEAST, len(found))

    # ------------------------------------------------------------------ memory

    def keep_most(self, most: int) -> None:
        """Forget states that are out of reach, and then the furthest, until ``most`` are left."""
        if self.count <= most:
            return
        found = self.reachable()[: max(1, most)]
        kept = set(found)
        for state in found:
            state.parents = [edge for edge in state.parents if edge.start in kept]
            lost = [
                a for a, e in state.edges.items() if e.after is not None and e.after not in kept
            ]
            for action in lost:
                del state.edges[action]
            if state.choice is not None and state.choice.action not in state.edges:
                state.choice = None
        self.states = {state.name: state for state in found if state.name is not None}
        self._queue = deque(state for state in self._queue if state in kept)
        self.count = len(found)
        self._count_edges(found)

    def _count_edges(self, states: list[State]) -> None:
        """The sums over all edges, anew."""
        edges = [edge for state in states for edge in state.edges.values()]
        self.known = len(edges)
        self._sum = sum(edge.mean for edge in edges)
        self._squares_sum = sum(edge.mean * edge.mean for edge in edges)
        self._inverse_sum = sum(1.0 / edge.samples for edge in edges)
        self.survey_at = min(self.survey_at, self.known)
