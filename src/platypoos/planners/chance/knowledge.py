"""What is known of a simulator that rolls dice: where each action led, and how often.

This is an empirical model, keyed by state. Walks that meet in a state share what is known of it.
Rewards are counted from the first one that was seen (``Knowledge.origin``), so that adding a
constant to all rewards changes nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from platypoos.models.keys import key_failure

DOUBT = 4.0
"""Two standard errors, squared: an action so far behind the best one still has 0.6 of a vote."""
NO_VOTE = 20.0
"""Squared distances, in units of the above, from which on an action has no vote at all."""
HARDLY_MET = 8.0
"""Edges with one sample for each other one, from which on states are said to meet hardly ever. Then
values are means over actions while walks are made, and walks are short."""
FIRST_DRAWN = 16
"""Samples of an edge that are kept as they were, for the distribution of returns."""
BYTES_PER_STATE = 1_500
"""What a state and the edge that led there take, beside the stored state itself."""


class State:
    """A state of the simulator, and what is known of it."""

    __slots__ = (
        "choice",
        "edges",
        "name",
        "passes",
        "span",
        "stored",
        "time",
        "untried",
        "value",
        "worth",
    )

    def __init__(self, stored: Any, name: Hashable, time: int, span: float) -> None:
        self.stored, self.name = stored, name
        self.time = time
        """Steps from the beginning of the episode, when it was first met."""
        self.span = span
        """What a reward of 1 at each step to come is worth from here."""
        self.edges: list[Edge] = []
        self.untried: list[int] | None = None
        """The allowed actions without an edge, the next to try last; None if nobody asked."""
        self.passes = 0
        """Of walks."""
        self.value = 0.0
        self.choice: Edge | None = None
        """The best edge; None as long as nothing is known of what follows."""
        self.worth: float | None = None
        """What the model says that the state is worth; None if it says nothing."""


class Edge:
    """An action that was tried in a state, and where it led."""

    __slots__ = (
        "action",
        "asked",
        "drawn",
        "end_value",
        "mean",
        "outcomes",
        "passes",
        "samples",
        "scatter",
        "squares",
        "start",
        "value",
    )

    def __init__(self, start: State, action: int) -> None:
        self.start, self.action = start, action
        self.passes = 0
        """Of walks: not all of them called the simulator."""
        self.asked = self.samples = 0
        """Calls of the simulator; those that were asked for, and those that were answered."""
        self.mean = self.squares = 0.0
        """Of the rewards: their mean, and the sum of squared differences from it."""
        self.outcomes: dict[State | None, int] = {}
        """The states it led to (None: the episode ended), and how often."""
        self.drawn: list[tuple[State | None, float]] = []
        """The first samples: where they led, and their rewards."""
        self.end_value = 0.0
        """What an end is worth: 0, counted from the origin at each step that is not taken."""
        self.value = 0.0
        """Mean reward, plus what follows on average."""
        self.scatter = 0.0
        """Sum of squared differences of the samples' values from ``value``."""


class Knowledge:
    """All that is known. Actions are numbers here: places in the list of a model's actions.

    Args:
        discount: γ.
        actions: how many actions there are.
        key: tells states apart; None if nobody can.
        seed: for random choices.
    """

    def __init__(
        self, discount: float, actions: int, key: Callable[[Any], Hashable] | None, seed: int
    ) -> None:
        self.discount, self.num_actions, self.key = discount, actions, key
        self.span = 1.0 / (1.0 - discount) if discount < 1.0 else 1.0
        """What a reward of 1 at each step to come is worth, without a horizon."""
        self.random = random.Random(seed)  # noqa: S311  for search, not for secrets
        self.states: dict[Hashable, State] = {}
        self.tried: list[State] = []
        """The states with an edge, in the order in which they were first tried."""
        self.known = 0
        """Edges with a sample."""
        self.single = 0
        """Edges with one sample only."""
        self.samples = 0
        self.origin = 0.0
        self.pays = False
        """Whether any reward was other than 0, or the model says what states are worth. Before, an
        end is worth less than going on."""
        self.rate = 0.0
        """What a step from an unknown state is taken to bring, counted from the origin."""
        self.noise = 0.0
        """Variance of a sample's value: the reward, and the value of the state it led to."""
        self._scatter = 0.0  # of all edges
        self.is_cautious = False
        """Whether values allow for luck; see ``back_up``."""
        self.horizon: int | None = None
        """The time at which episodes are over. With it, a state's name has the time in it."""
        self.legal_actions: Callable[[Any], list[int]] | None = None
        """The model's ``legal``, as numbers of actions, if it has one."""
        self.rule: Callable[[Any], int] | None = None
        """What the model's ``policy`` does in a state, if it has one."""
        self.value_of_state: Callable[[Any], float] | None = None
        """The model's ``value``, if it has one."""
        self.root = State(None, None, 0, self.span)

    # ------------------------------------------------------------------ states and samples

    def state_of(self, stored: Any, time: int) -> State:
        """The state, a new one if it was never seen."""
        name = self._name_of(stored, time)
        found = None if name is None else self.states.get(name)
        if found is not None:
            return found
        made = State(stored, name, time, self.span_from(time))
        if self.value_of_state is not None:
            made.worth = self.value_of_state(stored)
        if name is not None:
            self.states[name] = made
        return made

    def find(self, stored: Any, time: int) -> State | None:
        """The state if it is known."""
        name = self._name_of(stored, time)
        return None if name is None else self.states.get(name)

    def _name_of(self, stored: Any, time: int) -> Hashable:
        """The name of a state; None if it has none, and meets no other."""
        if self.key is None:
            return None
        try:
            name = self.key(stored)
            hash(name)
        except Exception as error:
            raise key_failure(error, stored) from error
        return name if name is None or self.horizon is None else (name, time)

    def span_from(self, time: int) -> float:
        """What a reward of 1 at each step to come is worth."""
        if self.horizon is None:
            return self.span
        left = max(0, self.horizon - time)
        gamma = self.discount
        return float(left) if gamma == 1.0 else (1.0 - gamma**left) / (1.0 - gamma)

    def untried(self, state: State) -> list[int]:
        """The actions that can still be tried in a state; the rule's action comes first."""
        if state.untried is None:
            options: Sequence[int] = range(self.num_actions)
            if self.legal_actions is not None:
                options = self.legal_actions(state.stored)
            has_edge = {edge.action for edge in state.edges}
            left = [action for action in options if action not in has_edge]
            self.random.shuffle(left)
            if self.rule is not None and left:
                advised = self.rule(state.stored)
                if advised in left:
                    left.remove(advised)
                    left.append(advised)
            state.untried = left
        return state.untried

    def edge_of(self, state: State, action: int) -> Edge:
        """The edge of an action in a state, a new one if it was never tried."""
        for edge in state.edges:
            if edge.action == action:
                return edge
        if not state.edges:
            self.tried.append(state)
        if state.untried is not None and action in state.untried:
            state.untried.remove(action)
        edge = Edge(state, action)
        state.edges.append(edge)
        return edge

    def take_back(self, edge: Edge) -> None:
        """A call was asked for and not made: as if it had not been asked for."""
        edge.asked = edge.samples
        state = edge.start
        if not edge.samples and edge in state.edges:
            state.edges.remove(edge)
            if not state.edges:
                self.tried.remove(state)
            if state.untried is not None:
                state.untried.append(edge.action)

    def learn(self, edge: Edge, stored: Any, reward: float, *, ended: bool) -> State | None:
        """Add a sample of an edge; returns the state it led to, None if the episode ended."""
        time = edge.start.time + 1
        if not self.samples:  # the first reward of all: the others are counted from it
            self.origin = reward
        if reward != 0.0 and not self.pays:
            self.begin_to_pay()
        after = None if ended or time == self.horizon else self.state_of(stored, time)
        self.samples += 1
        edge.samples += 1
        if edge.samples == 2:
            self.single -= 1
        elif edge.samples == 1:
            self.known += 1
            self.single += 1
            edge.end_value = -self.loss * self.span_from(time)
        moved = reward - self.origin - edge.mean
        edge.mean += moved / edge.samples
        edge.squares += moved * (reward - self.origin - edge.mean)
        edge.outcomes[after] = edge.outcomes.get(after, 0) + 1
        if edge.samples <= FIRST_DRAWN:
            edge.drawn.append((after, reward - self.origin))
        if edge.samples == 1:  # a walk may come by before the next back-up
            self.back_up_edge(edge)
            self.back_up(edge.start)
        return after

    @property
    def loss(self) -> float:
        """What an end costs at each step that is not taken, counted from the origin.

        As long as nothing pays, as if each step paid 1: who goes on may still find something.
        """
        return self.origin if self.pays else 1.0

    def begin_to_pay(self) -> None:
        """The first reward other than 0 was seen: what ends are worth is known now."""
        self.pays = True
        for state in self.tried:
            for edge in state.edges:
                edge.end_value = -self.origin * self.span_from(state.time + 1)
        self.sweep()

    def draw(self, edge: Edge) -> State | None:
        """One of the outcomes that were seen, as often as it was seen."""
        left = self.random.random() * edge.samples
        found = None
        for after, count in edge.outcomes.items():
            found = after
            left -= count
            if left < 0.0:
                break
        return found

    # ------------------------------------------------------------------ values

    def worth_of(self, state: State) -> float:
        """What a state is worth: its value; if nothing is known of it, as much as the root."""
        if state.choice is not None:
            return state.value
        if state.worth is not None:
            return state.worth - self.origin * state.span
        return self.rate * state.span

    def back_up_edge(self, edge: Edge) -> None:
        """Bring the value of an edge up to date with those of the states it leads to."""
        gamma, count = self.discount, edge.samples
        if len(edge.outcomes) == 1:
            for after in edge.outcomes:
                follows = edge.end_value if after is None else self.worth_of(after)
            scatter = edge.squares
        else:
            follows = squares = 0.0
            for after, times in edge.outcomes.items():
                if after is None:
                    value = edge.end_value
                elif after.choice is not None:
                    value = after.value
                else:
                    value = self.worth_of(after)
                follows += times * value
                squares += times * value * value
            follows /= count
            scatter = edge.squares + gamma * gamma * max(0.0, squares - count * follows * follows)
        edge.value = edge.mean + gamma * follows
        self._scatter += scatter - edge.scatter
        edge.scatter = scatter

    def back_up(self, state: State) -> None:
        """Bring the value of a state up to date with those of its edges.

        An action's value is drawn to the mean of all, the more so the fewer samples it has, and the
        fewer edges have met a second sample anywhere: a walk that nobody repeats is mostly luck.
        While walks are made, the state's value is the largest one. That still counts the luck of
        the luckiest action, again at each step to come, which is good for finding out and bad for
        deciding. For the decision it is the mean over the actions that chance alone may have kept
        behind the best one, each with as many votes as walks took it.
        """
        choice: Edge | None = None
        total = passes = 0.0
        for edge in state.edges:
            if edge.samples:
                total += edge.passes * edge.value
                passes += edge.passes
                if choice is None or edge.value > choice.value:
                    choice = edge
        if choice is None:
            return
        state.choice = choice
        state.value = choice.value
        if len(state.edges) == 1:
            return
        mean, luck = total / passes, self.single / max(1, self.known - self.single)
        if luck > HARDLY_MET and not self.is_cautious:
            state.value = mean
            return
        if not self.is_cautious:
            ahead = -math.inf
            for edge in state.edges:
                if edge.samples:
                    drawn = (edge.value - mean) * edge.samples / (edge.samples + luck)
                    ahead = max(ahead, drawn)
            state.value = mean + ahead
            return
        best, noise = choice.value, DOUBT * self.noise
        if noise > 0.0:
            total = votes = 0.0
            rarity = 1.0 / choice.samples
            for edge in state.edges:
                if edge.samples:
                    behind = best - edge.value
                    distance = behind * behind / (noise * (rarity + 1.0 / edge.samples))
                    if distance < NO_VOTE:
                        vote = edge.passes * math.exp(-0.5 * distance)
                        total += vote * behind
                        votes += vote
            best -= total / votes
        state.value = mean + (best - mean) * choice.samples / (choice.samples + luck)

    @property
    def hardly_meets(self) -> bool:
        """Whether hardly any edge has a second sample."""
        return self.single > HARDLY_MET * max(1, self.known - self.single)

    def look_at(self, state: State) -> None:
        """Bring a state up to date, all its edges included."""
        for edge in state.edges:
            if edge.samples:
                self.back_up_edge(edge)
        self.back_up(state)

    def sweep(self, *, cautious: bool = False) -> None:
        """Bring all states up to date, the last ones first."""
        self.is_cautious = cautious
        spare = self.samples - self.known
        self.noise = max(0.0, self._scatter) / spare if spare > 0 else 0.0
        for state in reversed(self.tried):
            self.look_at(state)

    # ------------------------------------------------------------------ memory

    def keep_most(self, room: int) -> None:
        """Forget what cannot be reached from the root, then what is furthest away."""
        if len(self.tried) <= room:
            return
        kept, waiting = {self.root}, [self.root]
        border = {self.root}
        for state in waiting:
            for edge in state.edges:
                for after in edge.outcomes:
                    if after is not None and after not in border:
                        border.add(after)
                        if len(kept) < room:
                            kept.add(after)
                            waiting.append(after)
        for state in self.tried:
            if state not in kept:
                for edge in state.edges:
                    self.samples -= edge.samples
                    self.known -= edge.samples > 0
                    self.single -= edge.samples == 1
                    self._scatter -= edge.scatter
                state.edges, state.untried, state.choice, state.passes = [], None, None, 0
        self.tried = [state for state in self.tried if state in kept]
        # A state at the border stays, so that it is found again if it is met again.
        self.states = {name: state for name, state in self.states.items() if state in border}
