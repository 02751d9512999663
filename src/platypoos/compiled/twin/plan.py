"""The loop of the default planner; the twin of ``planners/platypus/plan.py``.

Where the plain planner yields a batch and may be closed, functions here return False: then the
plan is over, and all that called them return too.
"""

from __future__ import annotations

import numpy as np

from platypoos.compiled.twin.arrays import CAREFUL, NOBODY, NONE, SEQUENCES, TREE, WIDE, Search
from platypoos.compiled.twin.asking import ask, request
from platypoos.compiled.twin.confidence import note_confidence
from platypoos.compiled.twin.draws import OF_SEARCH, shuffle
from platypoos.compiled.twin.graph import (
    allows,
    count_options,
    find_edge,
    is_noisy,
    reachable,
    settle,
    survey,
)
from platypoos.compiled.twin.jury import hear_jury, sample_again
from platypoos.compiled.twin.parts import part
from platypoos.compiled.twin.policies import (
    adopt_policies,
    policy_path,
    propose_policies,
)
from platypoos.compiled.twin.sequences import (
    be_greedy,
    challenge,
    equal_candidates,
    explore_sequences,
    give,
    take_proposed,
    walk,
    weigh_again,
)
from platypoos.compiled.twin.tree import explore, is_waiting, restart
from platypoos.plan import CLEAR


@part
def new_level(search: Search) -> None:
    """Forget all candidates."""
    at = search.at[0]
    at.ranked, at.leader = 0, NONE
    for action in range(len(search.tried)):
        search.candidates[action].steps = 0
        search.tried[action] = 0


@part
def plan(search: Search, budget: int) -> None:
    """Spend the budget; level, lengths, width and stage are set already."""
    at, rules, graph = search.at[0], search.rules[0], search.graph[0]
    at.began, at.end = at.calls, at.calls + budget
    at.over = at.late = 0
    at.known_before = graph.known
    new_level(search)
    length = at.length
    restart(search, WIDE)
    restart(search, CAREFUL)
    at.proposed = at.has_fresh = 0
    at.paid_at = at.challenged_at = at.calls
    if begin(search, budget, length):
        end = at.end
        while at.calls < end:
            if not run_stage(search, end, end - rules.jury_share * budget):
                return
            if at.stops and is_sure(search):
                return


@part
def begin(search: Search, budget: int, length: int) -> bool:
    """The first sequences: what is left of the last one, those of one action, the greedy one."""
    at, rules, graph = search.at[0], search.rules[0], search.graph[0]
    actions = count_options(search, graph.root)
    if at.rest > 0:
        give(search, 0, search.rest, at.rest)
        if not walk(search, 0, 1, False):
            return False
    most = at.began + (np.float64(budget) if length == 1 else rules.seed_share * budget)
    if at.leader == NONE or search.edges[last_edge(search, at.leader)].after == NONE:
        seeds = search.lists[3]
        count = 0
        for action in range(graph.num_actions):
            if allows(search, graph.root, action):
                seeds[count] = action
                count += 1
        shuffle(search, OF_SEARCH, seeds, count)
        done = 0
        while done < count and (at.leader == NONE or at.calls < most):
            width = max(1, min(np.int64((most - at.calls) / length), actions))
            width = min(width, count - done)
            for i in range(width):
                give(search, i, seeds[done + i : done + i + 1], 1)
            if not walk(search, 0, width, False):
                return False
            done += width
    if at.rest > 0 and not is_noisy(search):
        return be_greedy(search, at.calls + at.greed * budget)
    return True


@part
def last_edge(search: Search, row: int) -> int:
    """The last edge of a candidate."""
    return search.ways[row, search.candidates[row].steps - 1]


@part
def run_stage(search: Search, end: float, jury_from: float) -> bool:
    """Explore, propose and compare, with a part of the calls."""
    at, rules, graph, stage = search.at[0], search.rules[0], search.graph[0], search.at[0].stage
    if graph.known >= graph.survey_at:
        survey(search, stage, False)
    weigh_again(search)
    if is_noisy(search) and at.calls >= jury_from:
        adopt_policies(search)
        return hear_jury(search, end)
    start, known = at.calls, graph.known
    stage_end = min(end, np.float64(start + stage))
    if rules.tree_share > 0.0 and not explore_tree(search, end - at.began):
        return False
    before = at.calls
    at.challenge_credit += rules.challenge_share * max(stage, before - at.challenged_at)
    at.challenged_at = before
    goes_on = challenge(search, at.challenge_credit)
    at.challenge_credit = min(0.0, at.challenge_credit - (at.calls - before))
    if not goes_on:
        return False
    if not finish(search, min(end - at.calls, rules.finish_share * (end - at.began))):
        return False
    propose_policies(search)
    if not explore_sequences(search, 0.0):
        return False
    before, at.finder = at.calls, SEQUENCES
    most = max(stage_end, at.calls + stage / 2)
    goes_on = explore_sequences(search, min(most, jury_from) if is_noisy(search) else most)
    at.finder = NOBODY
    at.sequence_spent += at.calls - before
    if not goes_on:
        return False
    if at.leader == NONE:
        return True
    if is_noisy(search):
        calls = np.int64(rules.hearing_share * stage)
        return hear_jury(search, min(end, np.float64(at.calls + calls)))
    stuck = graph.known == known  # nothing new anywhere: look for noise with all calls
    if 2 * (graph.known - known) < stage and graph.surveyed != graph.known:
        survey(search, stage, False)  # little is new: is all known?
    calls = stage if stuck else max(1, np.int64(rules.look_share * stage))
    heard = search.lists[2]
    heard[0] = at.leader
    return sample_again(search, heard, 1, max(1, calls))


@part
def finish(search: Search, most: float) -> bool:
    """Try all that is untried in the states that can be reached, if that takes few calls."""
    graph = search.graph[0]
    if graph.surveyed != graph.known or not 0 < graph.missing <= most:
        return True
    search.at[0].requests = 0
    for i in range(reachable(search)):
        state = search.found[i]
        for action in range(graph.num_actions):
            if allows(search, state, action) and find_edge(search, state, action) == NONE:
                request(search, state, action, 1, 1, NONE)
    return ask(search)


@part
def explore_tree(search: Search, budget: float) -> bool:
    """Let the tree explorers work with the calls that they have earned; see the plain planner."""
    at, rules, graph = search.at[0], search.rules[0], search.graph[0]
    of_tree = at.tree_wins / (at.tree_spent + at.stage)
    of_sequences = at.sequence_wins / (at.sequence_spent + at.stage)
    least = rules.tree_share * min(1.0, budget / (rules.stages * graph.num_actions))
    share = of_tree / (of_tree + of_sequences)
    share = max(least, min(1.0 - rules.tree_share, share))
    made = at.calls - at.paid_at
    if not is_noisy(search):  # a full stage, even if the sequence explorer stopped early
        made = max(made, at.stage)
    at.credit += share * made
    at.paid_at = start = at.calls
    if at.credit < 1.0:
        return True
    end = start + at.credit
    explore(search, WIDE, (start + end) / 2 if is_noisy(search) else end)
    if not at.over and is_noisy(search):
        explore(search, CAREFUL, end)
    if not at.over:
        at.finder = TREE
        walk(search, 0, take_proposed(search), False)
    at.finder = NOBODY
    at.tree_spent += at.calls - start
    left = at.credit - (at.calls - start)
    waits = is_waiting(search, WIDE) or is_waiting(search, CAREFUL)
    at.credit = left if waits else min(0.0, left)
    return not at.over


# ---------------------------------------------------------------------- the decision


@part
def recommend(search: Search) -> bool:
    """Choose the best candidate by now; False if no sequence was walked to its end."""
    at, graph, edges = search.at[0], search.graph[0], search.edges
    new = graph.known - at.known_before
    if graph.known >= graph.survey_at or 2 * new < at.calls - at.began:
        survey(search, at.stage, False)  # where little is new, all may be known
    else:
        settle(search, 2.0 * at.stage)
    if graph.closed and not is_noisy(search):
        survey(search, at.stage, True)
        new_level(search)
        edge = search.states[graph.root].first
        while edge != NONE:
            action = edges[edge].action
            candidate = search.candidates[action]
            candidate.steps = policy_path(search, edge, search.ways[action], at.length)
            candidate.count = candidate.steps
            for t in range(candidate.steps):
                search.actions[action, t] = edges[search.ways[action, t]].action
            search.best[at.ranked] = action
            at.ranked += 1
            edge = edges[edge].next
    elif at.leader != NONE and not is_noisy(search):
        adopt_policies(search)
    weigh_again(search)
    if at.leader == NONE:
        return False
    chosen = at.leader
    if is_noisy(search):
        equals = search.lists[0]
        count = equal_candidates(search, equals)
        chosen = equals[0]
        for i in range(1, count):
            if search.candidates[equals[i]].steady > search.candidates[chosen].steady:
                chosen = equals[i]
    decide_for(search, chosen)
    return True


@part
def decide_for(search: Search, chosen: int) -> None:
    """Keep a candidate as the decision: in the row behind the others."""
    at, row = search.at[0], len(search.candidates) - 1
    decision, candidate = search.candidates[row], search.candidates[chosen]
    decision.value, decision.steady = candidate.value, candidate.steady
    decision.outlook = candidate.outlook
    decision.count, decision.steps = candidate.count, candidate.steps
    for i in range(candidate.count):
        search.actions[row, i] = search.actions[chosen, i]
    for i in range(candidate.steps):
        search.ways[row, i] = search.ways[chosen, i]
    at.decided = 1


@part
def is_sure(search: Search) -> bool:
    """Whether more calls are unlikely to change the decision."""
    if not recommend(search):
        return False
    note_confidence(search)
    return search.at[0].confidence >= CLEAR
