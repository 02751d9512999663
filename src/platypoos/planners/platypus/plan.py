"""The loop of the default planner: a generator over a graph.

It yields batches of requests ("from this stored state play these actions") and is sent the walks
that were made. It counts nothing and can be left at any yield: budgets, deadlines and workers are
the business of whoever drives it. ``recommend`` says what is best so far.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from platypoos.graph import Graph, Path, State
from platypoos.planners.platypus.jury import Fresh, hear_jury, sample_again, standard_error
from platypoos.planners.platypus.moves import BoxMoves, ListMoves
from platypoos.planners.platypus.policies import adopt_policies, policy_path, propose_policies
from platypoos.planners.platypus.proposing import be_greedy, propose_challengers
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.scout import Scout
from platypoos.planners.platypus.sequences import (
    Asking,
    Candidate,
    Level,
    weigh,
    weigh_again,
)
from platypoos.planners.platypus.tree import Explorer
from platypoos.planners.platypus.walking import (
    CHALLENGES,
    CHANGES,
    OTHERS,
    TREE,
    Walk,
    advance,
    start_walks,
    walk_all,
)
from platypoos.simulator import Request
from platypoos.spaces import Space

NEGLIGIBLE, LEAST_STEPS = 0.2, 12
"""Sequences end when rewards are discounted to this; and have so many steps at least."""


class Asked(NamedTuple):
    """A request, and what is needed to learn from its reply."""

    request: Request
    state: State
    """Where the walks begin."""
    time: int
    payer: str = ""
    """Whose idea it was."""


class Search:
    """All that a plan reads and writes.

    Args:
        graph: what is known; its root is the state to plan for.
        rule: the action that the user's rule takes in a state, if there is a rule.
        rules: constants.
        space: the actions, if they cannot be listed.
        look: the numbers of a state, if it has any.
    """

    def __init__(
        self,
        graph: Graph,
        rule: Callable[[Any], Any] | None,
        rules: Rules,
        space: Space | None = None,
        look: Callable[[Any], list[float] | None] | None = None,
    ) -> None:
        self.graph, self.rules, self.rule, self.space = graph, rules, rule, space
        self.random = random.Random(graph.random.getrandbits(64))  # noqa: S311  for search
        self.moves: ListMoves | BoxMoves = ListMoves(graph, self.random)
        if graph.endless:
            self.moves = BoxMoves(space, self.random, rules)
        self.calls = 0
        """Steps that were learned from, in all plans…"""
        self.began = self.known_before = 0
        """…before this one; and the edges that were known then."""
        self.time = 0
        """Steps from the beginning of the episode to the root."""
        self.level = Level(1)
        """The candidates of this decision."""
        self.decided: Candidate | None = None
        """The last recommendation."""
        self.rest: list[Any] = []
        """What is left of the last decision's sequence."""
        self.walks: list[Walk] = []
        """Walks under way…"""
        self.queue: list[Walk] = []
        """…and those that were proposed."""
        self.walks_until = 0.0
        """Calls at which all walks that are begun must have come to their ends."""
        self.idle = 0
        """Walks in a row that have found nothing new."""
        self.spent: Counter[str] = Counter()
        """Calls, by whose idea they were…"""
        self.limit: dict[str, float] = {}
        """…and how many they may be."""
        self.wide, self.careful = Explorer(self, wide=True), Explorer(self, wide=False)
        """The tree explorers: one sample of each action, or as many as the figure asks for."""
        self.look: Callable[[Any], list[float] | None] = look or (lambda _: None)
        self.scout = Scout(self)
        self.fresh: Fresh | None = None
        self.is_sure: Callable[[], bool] | None = None
        """Asked after each stage: whether to end the plan before its budget is spent."""
        self.goes_on = False
        """Whether a plan without noise goes on until it is stopped, whatever its budget."""
        self.wins = {TREE: 1, CHANGES: 1}
        """New best sequences that each explorer has found."""
        self.usual_return = 0.0
        """Of random walks from the root."""
        self.changes_paid = 0.0
        """The limit of changes when this stage began, or what they had cost if that was less."""
        self.paid_at = 0
        """When the tree explorers and the challengers were last paid."""
        self.greed = rules.greedy_share
        """Share of a level's calls for the greedy sequence; less if it does not lead."""
        self.on_round: Callable[..., None] | None = None
        self.width = self.stage = 1
        self.power = [1.0]

    # ------------------------------------------------------------------ the model

    def request(
        self, state: State, actions: list[Any], steps: int, times: int = 1, payer: str = ""
    ) -> Asked:
        """Ask for walks from a state. By RESET they start at the root."""
        if self.graph.open_loop:
            prefix = self.actions_to(state)
            actions, steps, state = prefix + actions, len(prefix) + steps, self.graph.root
        return Asked(Request(state.stored, actions, steps, times), state, state.time, payer)

    def learn(
        self, asked: Asked, walks: Iterable[list[tuple[Any, Any, float, bool]]]
    ) -> list[Path]:
        """Learn from the walks of a request."""
        graph, paths = self.graph, []
        for steps in walks:
            path = graph.learn(asked.state, steps, asked.time)
            self.calls += len(steps)
            self.spent[asked.payer] += len(steps)
            if graph.open_loop and steps and steps[-1][3]:
                after = path[-1].after if path else None
                graph.absorb(after, asked.request.actions[len(path) :])
                state = after
                for action in asked.request.actions[len(path) :]:
                    edge = None if state is None else state.edges.get(action)
                    if edge is None:
                        break
                    path.append(edge)
                    state = edge.after
            paths.append(path)
        return paths

    def actions_to(self, state: State) -> list[Any]:
        """By RESET: the sequence of actions that a state stands for."""
        actions = []
        while state is not self.graph.root:
            edge = state.parents[0]
            actions.append(edge.action)
            state = edge.start
        return actions[::-1]

    def advice(self, state: State) -> Any:
        """What the user's rule does in a state."""
        if state.advice is None:
            assert self.rule is not None  # noqa: S101  it is asked only if there is one
            state.advice = self.rule(state.stored)
        return state.advice

    # ------------------------------------------------------------------ the plan

    def plan(self, budget: int) -> Asking:
        """Yield batches of requests until the budget is spent; be sent the walks of each."""
        rules, graph = self.rules, self.graph
        self.began, end = self.calls, self.calls + budget
        self.known_before = graph.known
        actions = 1 if graph.endless else len(graph.options(graph.root))
        self.level = Level(self.length_for(budget))
        length = self.level.length
        longest = max(length, self.scout.restart(self.far(), budget))
        self.power = [graph.discount**t for t in range(longest + 1)]
        self.width = self.width_for(budget)
        self.stage = max(2 * actions, budget // rules.stages)
        if not graph.endless:  # in a box the scout must have its turn often
            self.stage = max(self.stage, self.width * length // 2)
        self.wide.restart()
        self.careful.restart()
        self.walks, self.queue, self.fresh = [], [], None
        self.walks_until, self.paid_at = 0.0, self.calls
        self.limit = {who: float(self.spent[who]) for who in (TREE, CHANGES, CHALLENGES)}
        self.limit[TREE] = float(self.tree_calls())
        yield from self.begin(self.began + (budget if length == 1 else rules.seed_share * budget))
        if self.rest and not graph.open_loop and not graph.noisy and not graph.endless:
            yield from be_greedy(self, self.calls + self.greed * budget)
        while self.calls < end or (self.goes_on and not graph.noisy):
            end = max(end, self.calls + self.stage) if self.goes_on else end
            yield from self.run_stage(end, end - rules.jury_share * budget)
            if self.is_sure is not None and self.is_sure():
                return

    def begin(self, most: float) -> Asking:
        """Walk what is left of the last decision, the rule, and one sequence for each action."""
        level = self.level
        first = [self.rest] if self.rest else []
        if self.rule is None:
            yield from walk_all(self, first)
            first = []
            if level.leader is not None and not level.leader.ends:
                return
        else:
            first.append([])
        seeds = self.moves.seeds()
        while seeds:
            width = max(1, int((most - self.calls) / level.length) - len(first))
            first += [[action] for action in seeds[:width]]
            seeds = seeds[width:]
            if not seeds:  # the other explorers need not wait for the last ones
                self.walks += [Walk(self, actions, OTHERS) for actions in first]
                yield from advance(self)  # now, so that ties are not decided by the tree's order
                return
            yield from walk_all(self, first)
            first = []
            if level.leader is not None and self.calls >= most:
                return

    def width_for(self, budget: int) -> int:
        """How many walks are under way at the same time.

        Walks that are under way know nothing of each other. Where one entry of an action is changed
        at a time, what is better must be added up one by one. So there are as many rounds as walks.
        """
        rules, length = self.rules, self.level.length
        share, most = rules.batch_share, rules.most_walks
        if self.graph.endless:
            share /= 2.0
            if self.moves.whole:
                most = min(most, math.isqrt(budget // length))
        return max(1, min(most, int(share * budget / length)))

    def length_for(self, budget: int) -> int:
        """How long sequences are.

        So long that later rewards are discounted to a fifth; at most a quarter of the calls, so
        that there are a few, and in a box at most half of their square root. At most three steps
        for each call that an action gets, so that there are a few walks; in the first plan, so
        few that all sequences of one action fit in their share of the calls. A rule's roll-outs are
        compared as a whole.
        """
        graph, rules = self.graph, self.rules
        gamma = graph.discount
        if gamma == 0.0:
            return 1
        far = self.far()
        actions = 1 if graph.endless else max(1, len(graph.options(graph.root)))
        if graph.endless and self.rule is None:
            far = min(far, max(LEAST_STEPS, rules.box_steps * math.sqrt(budget)))
        if self.rule is not None:
            most: float = budget // 2
        elif graph.open_loop:  # every step of a sequence is paid again each time
            most = min(budget // 4, math.isqrt(budget // actions))
        else:
            most = budget // 4
            share, least = rules.length_share, rules.shortest_kept
            if not self.rest:
                share, least = rules.seed_share, rules.shortest
            most = min(most, max(least, share * budget / actions))
        if graph.horizon is not None:
            most = min(most, graph.horizon - self.time)
        return max(1, int(min(max(LEAST_STEPS, far), most)))

    def far(self) -> float:
        """Steps until rewards are discounted to a fifth, or the episode is over."""
        graph, gamma = self.graph, self.graph.discount
        left = math.inf if graph.horizon is None else graph.horizon - self.time
        if gamma in {0.0, 1.0}:
            return 1.0 if gamma == 0.0 else left
        return min(left, math.log(NEGLIGIBLE) / math.log(gamma))

    def run_stage(self, end: int, jury_from: float) -> Asking:
        """Explore, propose and compare, with a part of the calls."""
        graph, rules, stage = self.graph, self.rules, self.stage
        if graph.known >= graph.survey_at:
            graph.survey(stage)
        weigh_again(self)
        if graph.noisy and self.calls >= jury_from:
            adopt_policies(self)
            self.walks_until = end
            yield from hear_jury(self, end)
            return
        start, known, changes = self.calls, graph.known, self.spent[CHANGES]
        self.idle, self.walks_until = 0, jury_from if graph.noisy else end
        self.pay(end - self.began)
        propose_challengers(self)
        propose_policies(self)
        if rules.tree_share > 0.0 and not graph.endless:
            yield from self.explore_tree()
        yield from self.scout.explore()
        yield from self.finish(min(end - self.calls, rules.finish_share * (end - self.began)))
        propose_policies(self)
        others = self.calls - start - (self.spent[CHANGES] - changes)
        self.limit[CHANGES] = self.changes_paid + max(stage / 2, stage - others)
        start_walks(self)
        while self.walks and self.spent[CHANGES] < self.limit[CHANGES]:
            yield from advance(self)
            start_walks(self)
        if self.level.leader is None:
            return
        if graph.noisy:
            calls = int(rules.hearing_share * stage)
            yield from hear_jury(self, min(end, self.calls + calls))
        else:
            stuck = graph.known == known  # nothing new anywhere: look for noise with all calls
            if 2 * (graph.known - known) < stage and graph.surveyed != graph.known:
                graph.survey(stage)  # little is new: is all known?
            calls = stage if stuck else max(1, int(rules.look_share * stage))
            heard = [self.level.leader]
            if graph.open_loop:  # chance may have ended a walk whose action usually goes on
                heard = self.level.ranked()
            yield from sample_again(self, [c.path for c in heard], max(1, calls // len(heard)))

    def finish(self, most: float) -> Asking:
        """Try all that is untried in the states that can be reached, if that takes few calls."""
        graph = self.graph
        if graph.endless or graph.open_loop or graph.surveyed != graph.known:
            return
        if not 0 < graph.missing <= most:
            return
        yield from advance(
            self,
            [
                self.request(state, [action], 1)
                for state in graph.reachable()
                for action in graph.options(state)
                if action not in state.edges
            ],
        )

    def pay(self, budget: int) -> None:
        """Share the calls of a stage out to the explorers.

        The tree explorers earn a share of all calls, by success: how often an explorer has found a
        new best sequence, for each call that it has cost. Challengers earn a fixed share. What is
        not spent is lost, unless an opening of the tree was too dear. Half a stage at least is left
        for changes of the leader. Those that are under way may cost more than that; then the next
        stage has fewer.
        """
        rules, spent, limit, stage = self.rules, self.spent, self.limit, self.stage
        made = self.calls - self.paid_at
        self.paid_at = self.calls
        cost = {TREE: self.tree_calls(), CHANGES: spent[CHANGES]}
        rate = {who: self.wins[who] / (cost[who] + stage) for who in self.wins}
        least = rules.tree_share * min(
            1.0, budget / (rules.stages * max(1, self.graph.num_actions))
        )
        share = rate[TREE] / (rate[TREE] + rate[CHANGES])
        share = max(least, min(1.0 - rules.tree_share, share))
        left = limit[TREE] - cost[TREE]
        if not (self.wide.waiting or self.careful.waiting):
            left = min(0.0, left)
        # Without noise a full stage, even if the sequence explorer stopped early.
        paid = made if self.graph.noisy else max(made, stage)
        share = 0.0 if self.graph.endless else share
        limit[TREE] = cost[TREE] + left + share * paid
        owed = min(0.0, limit[CHALLENGES] - spent[CHALLENGES])
        limit[CHALLENGES] = spent[CHALLENGES] + owed + rules.challenge_share * max(made, stage)
        others = max(0.0, limit[TREE] - cost[TREE]) + max(
            0.0, limit[CHALLENGES] - spent[CHALLENGES]
        )
        self.changes_paid = min(limit[CHANGES], spent[CHANGES])
        limit[CHANGES] = self.changes_paid + max(stage / 2, stage - others)

    def tree_calls(self) -> int:
        """What the tree explorers have cost, the walks of their sequences included."""
        return self.spent[TREE] + self.wide.spent + self.careful.spent

    def explore_tree(self) -> Asking:
        """Let the tree explorers work with the calls that they have earned.

        With noise, half of them see new states, and half sample well.
        """
        credit = self.limit[TREE] - self.tree_calls()
        if credit < 1.0:
            return
        yield from self.wide.explore(credit / 2 if self.graph.noisy else credit)
        if self.graph.noisy:
            yield from self.careful.explore(self.limit[TREE] - self.tree_calls())

    # ------------------------------------------------------------------ the decision

    def recommend(self) -> Candidate | None:
        """The best candidate by now; None if no sequence was walked to its end."""
        graph = self.graph
        new = graph.known - self.known_before
        if graph.known >= graph.survey_at or 2 * new < self.calls - self.began:
            graph.survey(self.stage)  # where little is new, all may be known
        else:
            graph.settle(2 * self.stage)
        exact = graph.closed and not graph.noisy
        if exact:  # the best policy is the candidate of each first action
            graph.survey(self.stage, exactly=True)
            rule = self.level.rule
            self.level = Level(self.level.length)
            self.level.rule = rule
            for edge in graph.root.edges.values():
                path = policy_path(edge, self.level.length)
                self.level.best[edge.action] = Candidate([e.action for e in path], path)
        elif self.level.leader is not None and not graph.noisy:
            adopt_policies(self)
        weigh_again(self)
        chosen = self.level.leader
        if chosen is None:
            return None
        if graph.noisy:
            chosen = max(self.equals(), key=lambda candidate: candidate.rank[1])
        rule = self.level.rule
        if rule is not None:
            weigh(self, rule)
            if chosen.value <= rule.value:
                chosen = rule
        chosen = self.scout.overrule(chosen)
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

    # ------------------------------------------------------------------ the next decision

    def move(self, root: State, time: int, *, followed: bool) -> None:
        """The system is in another state now. What is known is kept; nothing is copied."""
        self.rest = self.decided.actions[1:] if followed and self.decided is not None else []
        self.graph.root, self.time = root, time
        self.level, self.decided = Level(1), None

    def plan_on(self, budget: int) -> Asking:
        """Go on with another plan for the same state."""
        leader = self.level.leader
        self.rest = [] if leader is None else leader.actions
        yield from self.plan(budget)

    def take_over(self, other: Search) -> None:
        """Begin with what is left of the sequence of another search."""
        if other.decided is not None:
            self.rest = other.decided.actions[1:]
