"""The loop of the default planner: a generator over a graph.

It yields batches of requests ("from this stored state play these actions") and is sent the walks
that were made. It counts nothing and can be left at any yield: budgets, deadlines and workers are
the business of whoever drives it. ``recommend`` says what is best so far.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

from platypoos.graph import Graph, Path, State
from platypoos.planners.platypus.jury import Fresh, hear_jury, sample_again, standard_error
from platypoos.planners.platypus.policies import policy_path, propose_policies
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.sequences import (
    Asking,
    Candidate,
    Level,
    be_greedy,
    challenge,
    explore_sequences,
    walk,
    weigh,
    weigh_again,
)
from platypoos.planners.platypus.tree import Explorer
from platypoos.simulator import Request

NEGLIGIBLE, LEAST_STEPS = 0.2, 12
"""The longest sequences end when rewards are discounted to this; and have so many steps at least."""


class Asked(NamedTuple):
    """A request, and what is needed to learn from its reply."""

    request: Request
    state: State
    """Where the walks begin."""
    actions: list[int]
    """What they are planned to do, as numbers."""
    time: int


class Search:
    """All that a plan reads and writes.

    Args:
        graph: what is known; its root is the state to plan for.
        payloads: the model's actions.
        rule: the number of the action that the user's rule takes in a state, if there is a rule.
        rules: constants.
    """

    def __init__(
        self,
        graph: Graph,
        payloads: list[Any],
        rule: Callable[[Any], int] | None,
        rules: Rules,
    ) -> None:
        self.graph, self.rules, self.rule = graph, rules, rule
        self.payloads = payloads
        self.numbered = payloads == list(range(len(payloads)))
        self.random = random.Random(graph.random.getrandbits(64))
        self.calls = 0
        """Steps that were learned from, in all plans…"""
        self.began = 0
        """…before this one."""
        self.time = 0
        """Steps from the beginning of the episode to the root."""
        self.levels: list[Level] = []
        self.level = Level(1)
        """The one that is worked on."""
        self.decided: Candidate | None = None
        """The last recommendation."""
        self.kept: dict[int, list[int]] = {}
        """What is left of the last decision's sequences, by the level's length."""
        self.rest: list[int] = []
        """What is left of the recommended one."""
        self.shares: dict[int, float] = {}
        """How often a level has decided lately, by its length."""
        self.proposed: list[list[int]] = []
        """Sequences to be walked."""
        self.wide, self.careful = Explorer(self, wide=True), Explorer(self, wide=False)
        """The tree explorers: one sample of each action, or as many as the figure asks for."""
        self.fresh: Fresh | None = None
        self.agreed = 0
        """Stages in a row with the same first action in the lead…"""
        self.last_first: int | None = None
        """…and that action."""
        self.stops_when_sure = False
        self.greed = rules.greedy_share
        """Share of a level's calls for the greedy sequence; less if it does not lead."""
        self.on_round: Callable[..., None] | None = None
        self.longest = self.width = self.stage = 1
        self.power = [1.0]

    # ------------------------------------------------------------------ the model

    def request(self, state: State, actions: list[int], steps: int, times: int = 1) -> Asked:
        """Ask for walks from a state. By RESET they start at the root."""
        if self.graph.open_loop:
            prefix = self.actions_to(state)
            actions, steps, state = prefix + actions, len(prefix) + steps, self.graph.root
        played = actions if self.numbered else [self.payloads[a] for a in actions]
        return Asked(Request(state.stored, played, steps, times), state, actions, state.time)

    def ask(self, batch: list[Asked]) -> Generator[list[Asked], Any, list[list[Path]]]:
        """Have requests played, and learn; returns the paths of each request's walks."""
        if not batch:
            return []
        replies = yield batch
        return [
            self.learn(asked, walks) for asked, walks in zip(batch, replies, strict=False)
        ]

    def learn(self, asked: Asked, walks: Iterable[list[tuple[Any, Any, float, bool]]]) -> list[Path]:
        """Learn from the walks of a request."""
        graph, paths = self.graph, []
        for steps in walks:
            if not self.numbered:
                steps = [(self.number(s[0], i, asked), *s[1:]) for i, s in enumerate(steps)]
            path = graph.learn(asked.state, steps, asked.time)
            self.calls += len(steps)
            if graph.open_loop and steps and steps[-1][3]:
                after = path[-1].after if path else None
                graph.absorb(after, asked.actions[len(path) :])
                state = after
                for action in asked.actions[len(path) :]:
                    edge = None if state is None else state.edges.get(action)
                    if edge is None:
                        break
                    path.append(edge)
                    state = edge.after
            paths.append(path)
        return paths

    def number(self, payload: Any, place: int, asked: Asked) -> int:
        """The number of an action that was played."""
        actions = asked.actions
        if place < len(actions) and self.payloads[actions[place]] is payload:
            return actions[place]
        return self.index(payload)

    def index(self, payload: Any) -> int:
        """The place of an action in the list."""
        for number, other in enumerate(self.payloads):
            if other is payload:
                return number
        return self.payloads.index(payload)

    def actions_to(self, state: State) -> list[int]:
        """By RESET: the sequence of actions that a state stands for."""
        actions = []
        while state is not self.graph.root:
            edge = state.parents[0]
            actions.append(edge.action)
            state = edge.start
        return actions[::-1]

    def advice(self, state: State) -> int:
        """What the user's rule does in a state."""
        if state.advice is None:
            assert self.rule is not None
            state.advice = self.rule(state.stored)
        return state.advice

    def other_action(self, state: State, action: int) -> int:
        """A random action that is allowed in a state, another one if there is one."""
        others = [a for a in self.graph.options(state) if a != action] or [action]
        return others[int(self.random.random() * len(others))]

    def random_sequence(self) -> list[int]:
        """Any actions."""
        return self.random.choices(range(len(self.payloads)), k=self.longest)

    # ------------------------------------------------------------------ the plan

    def plan(self, budget: int) -> Asking:
        """Yield batches of requests until the budget is spent; be sent the walks of each."""
        self.began = self.calls
        end = self.calls + budget
        lengths = self.lengths(budget)
        self.longest = lengths[-1]
        self.power = [self.graph.discount**t for t in range(self.longest + 1)]
        self.wide.restart()
        self.careful.restart()
        self.proposed = []
        self.levels, self.fresh = [], None
        shares = self.shares_of(lengths)
        proposal: Candidate | None = None
        for i, length in enumerate(lengths):
            calls = end - self.calls
            if i < len(lengths) - 1:
                calls = int(calls * shares[i] / sum(shares[i:]))
            self.level = Level(length)
            self.levels.append(self.level)
            yield from self.plan_level(calls, proposal)
            proposal = self.choose_level()[0]
        while self.calls < end:
            yield from self.run_stage(end, end)

    def lengths(self, budget: int) -> list[int]:
        """How long sequences are, level by level.

        Nobody can know how far ahead a problem must be looked. So a plan begins with short
        sequences, which are soon searched well, and goes on with longer ones.
        """
        graph, rules = self.graph, self.rules
        gamma = graph.discount
        if gamma == 0.0:
            return [1]
        far = math.inf if gamma == 1.0 else math.log(NEGLIGIBLE) / math.log(gamma)
        most = budget // (2 if self.rule is not None else rules.top_share)
        actions = max(1, len(graph.options(graph.root)))
        if graph.open_loop:  # every step of a sequence is paid again each time
            most = min(most, math.isqrt(budget // actions))
        if graph.horizon is not None:
            most = min(most, graph.horizon - self.time)
        top = max(1, int(min(max(LEAST_STEPS, far), most)))
        lengths, length = [], rules.shortest
        while 1.4 * length < top and not graph.open_loop:
            lengths.append(length)
            length *= rules.ratio
        return [*lengths, top]

    def shares_of(self, lengths: list[int]) -> list[float]:
        """How the calls of a plan are shared among levels: half evenly, half by who decided."""
        n, total = len(lengths), sum(self.shares.get(length, 0.0) for length in lengths)
        even = self.rules.even_share
        return [
            even / n + (1.0 - even) * (self.shares.get(length, 0.0) / total if total else 1.0 / n)
            for length in lengths
        ]

    def plan_level(self, calls: int, proposal: Candidate | None) -> Asking:
        """Plan with sequences of one length."""
        rules, graph, level = self.rules, self.graph, self.level
        began, end = self.calls, self.calls + calls
        actions = len(graph.options(graph.root))
        self.width = max(1, min(rules.most_walks, int(rules.batch_share * calls / level.length)))
        self.stage = max(2 * actions, calls // rules.stages, self.width * level.length // 2)
        kept = self.kept.get(level.length, self.rest)
        first: list[list[int]] = []
        if proposal is not None:  # what the shorter levels want, made longer
            short = proposal.actions if proposal.ends else proposal.actions[: len(proposal.path)]
            if kept and self.rule is None:
                first.append(short + kept[len(short) :])
            first.append(short)
        if kept:
            first.append(kept)
        yield from walk(self, first)
        seeds = list(graph.options(graph.root))
        self.random.shuffle(seeds)
        if self.rule is not None:
            yield from walk(self, [[]])
        while seeds and (level.leader is None or self.calls - began < rules.seed_share * calls):
            fitting = int((rules.seed_share * calls + began - self.calls) / level.length)
            width = max(1, min(fitting, self.width if kept else actions))
            yield from walk(self, [[action] for action in seeds[:width]])
            seeds = seeds[width:]
        if not graph.open_loop and self.greed > 0.0:
            yield from be_greedy(self, self.calls + self.greed * calls)
        while self.calls < end:
            yield from self.run_stage(end, end - rules.jury_share * calls)

    def run_stage(self, end: int, jury_from: float) -> Asking:
        """Explore, propose and compare, with a part of a level's calls."""
        graph, rules, stage = self.graph, self.rules, self.stage
        if graph.known >= graph.survey_at:
            graph.survey(stage)
        weigh_again(self)
        if graph.noisy and self.calls >= jury_from:
            yield from hear_jury(self, end)
            return
        start, known = self.calls, graph.known
        stage_end = min(end, start + stage)
        tree_end = start + max(1, int(rules.tree_share * (stage_end - start)))
        if rules.tree_share > 0.0:
            wide_end = (start + tree_end) / 2 if graph.noisy else tree_end
            yield from self.wide.explore(wide_end)
            if graph.noisy:
                yield from self.careful.explore(tree_end)
        if rules.challengers:
            challenge(self)
        propose_policies(self)
        yield from explore_sequences(self, stage_end)
        if self.level.leader is None:
            return
        self.note_leader()
        if graph.noisy:
            calls = int(rules.hearing_share * stage)
            yield from hear_jury(self, min(end, self.calls + calls))
        else:
            stuck = graph.known == known  # nothing new anywhere: look for noise with all calls
            calls = stage if stuck else max(1, int(rules.look_share * stage))
            yield from sample_again(self, [self.level.leader.path], calls)

    def note_leader(self) -> None:
        """Count the stages in a row with the same first action in the lead."""
        leader = self.choose_level()[0]
        first = None if leader is None else leader.first
        self.agreed = self.agreed + 1 if first == self.last_first else 0
        self.last_first = first

    # ------------------------------------------------------------------ the decision

    def choose_level(self) -> tuple[Candidate | None, int]:
        """The candidate to recommend, and the length of the level that decided.

        The shortest level proposes. A longer one overrules it if its leader is ahead, in its own
        comparison, by more than what this plan has gained there: less than that is not settled.
        """
        proposal, decider = None, 0
        for level in self.levels:
            if not level.best:
                continue
            for candidate in level.best.values():
                weigh(self, candidate)
            leader = level.ranked()[0]
            if proposal is None:
                proposal, decider = leader, level.length
                continue
            same = level.best.get(proposal.first)
            if same is None:
                continue
            margin = 0.0
            if not self.graph.noisy and not same.ends:  # with noise, the jury has heard them
                margin = self.gained(level, leader)
            if leader.value - same.value > margin:
                proposal, decider = leader, level.length
            else:
                proposal = same
        return proposal, decider

    def gained(self, level: Level, candidate: Candidate) -> float:
        """How much better than the first candidate of this decision it is."""
        seen = level.seen.get(candidate.first)
        if seen is None:
            return 0.0
        weigh(self, seen)
        return max(0.0, candidate.value - seen.value)

    def recommend(self) -> Candidate | None:
        """The best candidate by now; None if no sequence was walked to its end."""
        graph = self.graph
        if graph.known >= graph.survey_at or graph.known <= self.calls - self.began:
            graph.survey(self.stage)
        else:
            graph.settle(2 * self.stage)
        exact = graph.closed and not graph.noisy
        if exact:  # the best policy is the candidate of each first action
            graph.survey(self.stage, exactly=True)
            self.level = Level(self.longest)
            self.levels = [self.level]
            for edge in graph.root.edges.values():
                path = policy_path(edge, self.longest)
                self.level.best[edge.action] = Candidate([e.action for e in path], path)
        graph.take_moments()
        chosen, decider = self.choose_level()
        if chosen is None:
            return None
        if graph.noisy:
            chosen = self.steadiest(chosen)
        if self.rule is not None:
            chosen = self.at_least_the_rule(chosen)
        if not exact:
            memory = self.rules.level_memory
            for level in self.levels:
                old = self.shares.get(level.length, 1.0 / len(self.levels))
                won = level.length == decider
                self.shares[level.length] = memory * old + (1.0 - memory) * won
        self.decided = chosen
        return chosen

    def equals(self) -> list[Candidate]:
        """The candidates of this level that nobody can tell from the best one."""
        level = self.level
        leader = level.leader
        if leader is None:
            return []
        if not self.graph.noisy:
            return [c for c in level.best.values() if c.value == leader.value]
        return [
            c
            for c in level.best.values()
            if leader.value - c.value <= self.rules.near * standard_error(self, leader, c)
        ]

    def steadiest(self, chosen: Candidate) -> Candidate:
        """Of candidates that noise cannot tell apart, the one whose variations do best."""
        level = self.level_of(chosen)
        near = [
            candidate
            for candidate in level.best.values()
            if chosen.value - candidate.value
            <= self.rules.near * standard_error(self, chosen, candidate)
        ]
        return max(near, key=lambda candidate: candidate.rank[1])

    def at_least_the_rule(self, chosen: Candidate) -> Candidate:
        """The rule's own sequence, unless what was chosen is better over as many steps."""
        for level in reversed(self.levels):
            same = level.best.get(chosen.first)
            if level.rule is not None and same is not None:
                weigh(self, level.rule)
                return level.rule if same.value <= level.rule.value else chosen
        return chosen

    def level_of(self, candidate: Candidate) -> Level:
        """The level that a candidate belongs to."""
        for level in self.levels:
            if level.best.get(candidate.first) is candidate:
                return level
        return self.level

    # ------------------------------------------------------------------ the next decision

    def move(self, root: State, time: int, *, followed: bool) -> None:
        """The system is in another state now. What is known is kept; nothing is copied."""
        self._keep_sequences(1 if followed else None)
        self.graph.root, self.time = root, time
        self.levels, self.level, self.decided = [], Level(1), None
        self.agreed, self.last_first = 0, None

    def plan_on(self, budget: int) -> Asking:
        """Go on with another plan for the same state."""
        self.decided = self.choose_level()[0]
        self._keep_sequences(0)
        yield from self.plan(budget)

    def take_over(self, other: Search) -> None:
        """Begin with what is left of the sequences of another search."""
        other._keep_sequences(1)
        self.rest, self.kept = other.rest, other.kept
        self.shares = other.shares

    def _keep_sequences(self, done: int | None) -> None:
        """Begin the next plan with what is left of the sequences of this one, after some steps."""
        self.rest, self.kept = [], {}
        if done is None or self.decided is None:
            return
        action = self.decided.first
        self.rest = self.decided.actions[done:]
        self.kept = {
            level.length: level.best[action].actions[done:]
            for level in self.levels
            if action in level.best
        }
