"""The loop under random dynamics: a generator over what is known.

It yields batches of requests and is sent the walks that were made, like the loop for deterministic
dynamics (``planners/platypus/plan.py``). It can be left at any yield.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable
from typing import Any

from platypoos.planners.chance.knowledge import Edge, Knowledge, State
from platypoos.simulator import Request

NEGLIGIBLE, LEAST_STEPS = 0.5, 12
"""Walks end when rewards are discounted to this; where calls are few they are shorter, but have
so many steps if there is one walk for each action."""
WALKS_PER_ACTION, WITH_RULE = 4, 2
"""Walks that there must be calls for, for each action, before walks get longer; with a rule, whose
late steps say more than arbitrary ones."""
FREE = 4
"""Steps through what is known for each call, at most: it saves time where all is known."""
BATCHES, WIDEST = 4, 64
"""Walks are made together, if there are at least so many times as many; and at most this many."""
LEAST_SWEEPS, MOST_SWEEPS = 2, 16
"""Times that all values are brought up to date for a decision: many if there are few states."""
LOOKS_EVERY = 4
"""A walk brings up to date the actions it took, and each fourth time all actions of a state. All
states are brought up to date after a fourth as many calls as there are known actions."""
FIRST_ASKED = 64
"""Calls before it is first asked whether a plan is enough."""
LONGEST_TAIL, STRETCH = 64, 2
"""Steps that a walk asks for at once, at most; and beside others that have fewer steps to go."""


class Walk:
    """A walk that reacts to chance: it chooses in each state that it comes to."""

    __slots__ = ("at", "is_new", "length", "path", "request", "waits_for")

    def __init__(self, root: State, length: int) -> None:
        self.at: State | None = root
        """Where it is; None if the episode ended."""
        self.length = length
        """Steps to its end."""
        self.path: list[Edge] = []
        self.request: Request
        self.waits_for: Edge | None = None
        """The edge that it has asked the simulator about."""
        self.is_new = False
        """Whether nothing is known of the state where it waits."""


Asking = Generator[list[Walk], Any, None]


class Search:
    """All that a plan reads and writes.

    Args:
        knowledge: what is known; its root is the state to plan for.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.calls = self.passes = 0
        """In this decision: steps that were learned from, and steps of walks in all."""
        self.length = 1
        """Steps of a walk."""
        self.tail = self.stretch = 1
        """Steps that a walk asks for at once, where nothing is known: more where nothing meets, but
        not so many that the other walks of a batch must wait for it."""
        self.lowest, self.highest = math.inf, -math.inf
        """Returns of the walks so far: their range is the unit of reward."""
        self.paid = False
        """Whether these returns are of a time when something paid."""
        self.is_sure: Callable[[], bool] | None = None
        """Asked each time that the calls have doubled: whether to end the plan."""
        self._swept_at, self._asked_at = 0, FIRST_ASKED
        self.decided: Edge | None = None
        """The recommended action, if it was compared with the rule."""

    def begin(self, root: State) -> None:
        """Plan for another state. What is known is kept."""
        self.knowledge.root = root
        self.knowledge.rate = self.knowledge.worth_of(root) / root.span if root.span else 0.0
        self.calls = self.passes = self._swept_at = 0
        self.decided = None
        self._asked_at = FIRST_ASKED
        self.lowest, self.highest = math.inf, -math.inf

    def plan(self, budget: int) -> Asking:
        """Plan with so many more calls."""
        knowledge = self.knowledge
        knowledge.sweep()  # the last decision has left cautious values
        total = self.calls + budget
        self.length = self.length_for(total)
        width = max(1, min(WIDEST, total // (BATCHES * self.length)))
        walks: list[Walk] = []
        while True:
            walks += [Walk(knowledge.root, self.length) for _ in range(width - len(walks))]
            self.stretch = max(STRETCH, min(walk.length - len(walk.path) for walk in walks))
            under_way = [walk for walk in walks if self.advance(walk)]
            for walk in walks:
                if walk.waits_for is None:
                    self.back_up(walk)
            walks = under_way
            if walks:
                yield from self.ask(walks)
            if knowledge.hardly_meets:  # more walks say more there than longer ones
                self.length = min(self.length, LEAST_STEPS)
            if LOOKS_EVERY * (self.calls - self._swept_at) >= knowledge.known:
                self._swept_at = self.calls
                knowledge.sweep()
            if self.is_sure is not None and self.calls >= self._asked_at:
                self._asked_at = 2 * self.calls
                if self.is_sure():
                    return
                knowledge.sweep()

    def length_for(self, budget: int) -> int:
        """How long walks are."""
        knowledge = self.knowledge
        root, gamma = knowledge.root, knowledge.discount
        if gamma == 0.0:
            return 1
        far = math.inf if gamma == 1.0 else math.ceil(math.log(NEGLIGIBLE) / math.log(gamma))
        actions = max(1, len(root.edges) + len(knowledge.untried(root)))
        walks = actions * (WALKS_PER_ACTION if knowledge.rule is None else WITH_RULE)
        most = min(max(LEAST_STEPS, budget // walks), budget // actions)
        if not knowledge.pays and knowledge.samples:  # look further for something that does
            most = budget // actions
        if knowledge.horizon is not None:
            most = min(most, knowledge.horizon - root.time)
        return max(1, int(min(max(LEAST_STEPS, far), most)))

    # ------------------------------------------------------------------ walks

    def advance(self, walk: Walk) -> bool:
        """Let a walk go on through what is known; True if it needs the simulator."""
        knowledge, path, length = self.knowledge, walk.path, walk.length
        while walk.at is not None and len(path) < length:
            state = walk.at
            walk.is_new = not state.edges
            edge = self.choose(state)
            state.passes += 1
            edge.passes += 1
            self.passes += 1
            if self.calls_again(edge):
                edge.asked += 1
                walk.waits_for = edge
                steps, actions = 1, [edge.action]
                if walk.is_new:
                    steps = min(self.tail, self.stretch, length - len(path))
                    if knowledge.rule is None:
                        number, draw = knowledge.num_actions, knowledge.random.random
                        actions += [int(draw() * number) for _ in range(steps - 1)]
                walk.request = Request(state.stored, actions, steps)
                return True
            path.append(edge)
            walk.at = knowledge.draw(edge)
        return False

    def choose(self, state: State) -> Edge:
        """The action to take: an untried one, else the one with the largest upper bound (UCB).

        With a rule, the rule's action is the first one, and below the root another one is tried
        each time that the square root of the passes has grown by 1: mostly the rule is followed.
        """
        knowledge = self.knowledge
        untried = knowledge.untried(state)
        if untried and (
            knowledge.rule is None
            or state is knowledge.root
            or state.passes >= (1 + len(state.edges)) ** 2
            or not state.edges
        ):
            return knowledge.edge_of(state, untried[-1])
        scale = self.highest - self.lowest
        if not scale > 0.0:  # no difference was seen yet
            if knowledge.rule is not None and state is not knowledge.root:
                return state.edges[0]
            return min(state.edges, key=lambda edge: edge.passes)
        width = scale * math.sqrt(math.log(state.passes + 1))
        found, highest = state.edges[0], -math.inf
        for edge in state.edges:
            if edge.samples:  # else another walk is waiting for the first one
                bound = edge.value + width / math.sqrt(edge.passes)
                if bound > highest:
                    found, highest = edge, bound
        return found

    def calls_again(self, edge: Edge) -> bool:
        """Whether a walk calls the simulator, or takes an outcome that was seen, for free.

        As long as all samples led to different states, it calls: an outcome that never came twice
        says little of what will happen. Then there are as many samples as the square root of the
        passes: walks look further ahead from the outcomes that are likely.
        """
        samples = edge.samples
        return (
            samples <= len(edge.outcomes)
            or edge.asked * edge.asked < edge.passes
            or self.passes > FREE * self.calls + 100
        )

    def ask(self, walks: list[Walk]) -> Asking:
        """Have requests played, and learn."""
        try:
            replies = yield walks
            for walk, made in zip(walks, replies, strict=False):
                self.learn(walk, made)
        finally:  # also where the plan ends
            for walk in walks:
                if walk.waits_for is not None:
                    self.knowledge.take_back(walk.waits_for)
                    walk.waits_for = None
                    walk.at = None

    def learn(self, walk: Walk, made: Iterable[list[tuple[int, Any, float, bool]]]) -> None:
        """Learn from the reply to a walk's request, and let the walk go on where it ends."""
        knowledge, edge, met = self.knowledge, walk.waits_for, False
        for steps in made:
            for action, stored, reward, ended in steps:
                if edge is None:  # a later step of a tail
                    state = walk.at
                    if state is None:
                        break  # the horizon
                    met |= bool(state.edges)
                    edge = knowledge.edge_of(state, action)
                    edge.asked += 1
                    edge.passes += 1
                    state.passes += 1
                    self.passes += 1
                walk.waits_for = None
                self.calls += 1
                walk.at = knowledge.learn(edge, stored, reward, ended=ended)
                walk.path.append(edge)
                edge = None
        if walk.is_new and walk.waits_for is None:
            met |= walk.at is not None and bool(walk.at.edges)
            self.tail = 1 if met else min(2 * self.tail, LONGEST_TAIL)

    def back_up(self, walk: Walk) -> None:
        """Bring the states along a walk up to date, the last one first; note its return."""
        knowledge, path = self.knowledge, walk.path
        if not path:
            return
        gamma = knowledge.discount
        for edge in {edge.start: edge for edge in reversed(path)}.values():
            if edge.start.passes % LOOKS_EVERY:
                knowledge.back_up_edge(edge)
                knowledge.back_up(edge.start)
            else:
                knowledge.look_at(edge.start)
        root = knowledge.root
        if root.span:
            knowledge.rate = root.value / root.span
        is_over = walk.at is None
        if len(path) < walk.length and not is_over:
            return  # it was cut short
        if knowledge.pays != self.paid:
            self.paid, self.lowest, self.highest = True, math.inf, -math.inf
        total = 0.0
        if is_over:  # steps that are not taken bring 0, which is counted from the origin too
            missing = walk.length - len(path)
            steps = float(missing) if gamma == 1.0 else (1.0 - gamma**missing) / (1.0 - gamma)
            total = -knowledge.loss * steps
        for edge in reversed(path):
            total = edge.mean + gamma * total
        self.lowest, self.highest = min(self.lowest, total), max(self.highest, total)

    # ------------------------------------------------------------------ the decision

    def recommend(self) -> Edge | None:
        """The best first action by now; None if nothing was tried."""
        knowledge = self.knowledge
        if self.decided is not None:
            return self.decided
        sweeps = LOOKS_EVERY * self.calls // max(1, knowledge.known)
        for _ in range(max(LEAST_SWEEPS, min(MOST_SWEEPS, sweeps))):
            knowledge.sweep(cautious=True)
        return knowledge.root.choice
