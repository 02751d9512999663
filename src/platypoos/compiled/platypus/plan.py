"""The loop of the default planner; the twin of ``planners/platypus/plan.py``.

Where the plain planner yields a batch and may be closed, functions here return False: then the
plan is over, and all that called them return too.
"""

from __future__ import annotations

import numpy as np

from platypoos.compiled.platypus.arrays import (
    CAREFUL,
    CHALLENGES,
    CHANGES,
    NONE,
    OTHERS,
    TREE,
    WIDE,
    Search,
)
from platypoos.compiled.platypus.asking import request
from platypoos.compiled.platypus.confidence import note_confidence
from platypoos.compiled.platypus.draws import OF_SEARCH, shuffle
from platypoos.compiled.platypus.graph import allows, find_edge, is_noisy, reachable, settle, survey
from platypoos.compiled.platypus.jury import hear, hear_jury, sample_again
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.policies import adopt_policies, policy_path, propose_policies
from platypoos.compiled.platypus.proposing import be_greedy, propose_challengers
from platypoos.compiled.platypus.sequences import equal_candidates, weigh_again
from platypoos.compiled.platypus.tree import explore, is_waiting, restart, spent_by
from platypoos.compiled.platypus.walking import advance, give, put_under_way, start_walks, walk
from platypoos.results import CLEAR


@part
def new_level(search: Search) -> None:
    """Forget all candidates."""
    at = search.at[0]
    at.ranked, at.leader = 0, NONE
    at.level += 1
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
    restart(search, WIDE)
    restart(search, CAREFUL)
    free_all(search)
    at.has_fresh = 0
    at.walks_until, at.paid_at = 0.0, at.calls
    search.limit[CHANGES] = search.spent[CHANGES]
    search.limit[CHALLENGES] = search.spent[CHALLENGES]
    search.limit[TREE] = tree_calls(search)
    share = 1.0 if at.length == 1 else rules.seed_share
    if not begin(search, at.began + share * budget):
        return
    is_greedy = at.rest > 0 and not is_noisy(search)
    if is_greedy and not be_greedy(search, at.calls + at.greed * budget):
        return
    end = at.end
    while at.calls < end:
        if not run_stage(search, end, end - rules.jury_share * budget):
            return
        if at.stops and is_sure(search):
            return


@part
def free_all(search: Search) -> None:
    """Let no walk be under way, and none be proposed."""
    at = search.at[0]
    at.walks = at.proposed = at.line = 0
    at.free = len(search.walkers)
    for i in range(at.free):
        search.spare[i] = i


@part
def begin(search: Search, most: float) -> bool:
    """Walk what is left of the last decision, and one sequence for each action."""
    at, graph = search.at[0], search.graph[0]
    if at.rest > 0:
        put_under_way(search, give(search, search.rest, at.rest, OTHERS), True)
        if not walk(search):
            return False
    if at.leader != NONE and search.edges[last_edge(search, at.leader)].after != NONE:
        return True
    seeds = search.lists[3]
    count = 0
    for action in range(graph.num_actions):
        if allows(search, graph.root, action):
            seeds[count] = action
            count += 1
    shuffle(search, OF_SEARCH, seeds, count)
    done = 0
    while done < count:
        width = max(1, np.int64((most - at.calls) / at.length))
        waits = width < count - done  # the other explorers need not wait for the last ones
        for i in range(done, min(count, done + width)):
            put_under_way(search, give(search, seeds[i : i + 1], 1, OTHERS), waits)
        done += width
        if not waits:
            return advance(search)  # now, so that ties are not decided by the tree's order
        if not walk(search):
            return False
        if at.leader != NONE and at.calls >= most:
            return True
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
        at.walks_until = end
        return hear_jury(search, end)
    start, known, changes = at.calls, graph.known, search.spent[CHANGES]
    at.idle, at.walks_until = 0, jury_from if is_noisy(search) else end
    pay(search, end - at.began)
    propose_challengers(search)
    propose_policies(search)
    if rules.tree_share > 0.0 and not explore_tree(search):
        return False
    if not finish(search, min(end - at.calls, rules.finish_share * (end - at.began))):
        return False
    propose_policies(search)
    others = at.calls - start - (search.spent[CHANGES] - changes)
    search.limit[CHANGES] = at.changes_paid + max(stage / 2, np.float64(stage - others))
    start_walks(search)
    while at.walks > 0 and search.spent[CHANGES] < search.limit[CHANGES]:
        at.requests = 0
        if not advance(search):
            return False
        start_walks(search)
    if at.leader == NONE:
        return True
    if is_noisy(search):
        calls = np.int64(rules.hearing_share * stage)
        return hear_jury(search, min(end, np.float64(at.calls + calls)))
    stuck = graph.known == known  # nothing new anywhere: look for noise with all calls
    if 2 * (graph.known - known) < stage and graph.surveyed != graph.known:
        survey(search, stage, False)  # little is new: is all known?
    calls = stage if stuck else max(1, np.int64(rules.look_share * stage))
    hear(search, 0, at.leader)
    return sample_again(search, 1, max(1, calls))


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
                request(search, state, action, 1, 1, OTHERS, NONE)
    return advance(search)


@part
def pay(search: Search, budget: float) -> None:
    """Share the calls of a stage out to the explorers; see the plain planner."""
    at, rules, graph = search.at[0], search.rules[0], search.graph[0]
    spent, limit, stage = search.spent, search.limit, search.at[0].stage
    made = at.calls - at.paid_at
    at.paid_at = at.calls
    of_tree = tree_calls(search)
    tree_rate = search.wins[TREE] / (of_tree + stage)
    change_rate = search.wins[CHANGES] / (spent[CHANGES] + stage)
    least = rules.tree_share * min(1.0, budget / (rules.stages * max(1, graph.num_actions)))
    share = tree_rate / (tree_rate + change_rate)
    share = max(least, min(1.0 - rules.tree_share, share))
    left = limit[TREE] - of_tree
    if not (is_waiting(search, WIDE) or is_waiting(search, CAREFUL)):
        left = min(0.0, left)
    # Without noise a full stage, even if the sequence explorer stopped early.
    paid = made if is_noisy(search) else max(made, stage)
    limit[TREE] = of_tree + left + share * paid
    owed = min(0.0, limit[CHALLENGES] - spent[CHALLENGES])
    limit[CHALLENGES] = spent[CHALLENGES] + owed + rules.challenge_share * max(made, stage)
    others = max(0.0, limit[TREE] - of_tree)
    others += max(0.0, limit[CHALLENGES] - spent[CHALLENGES])
    at.changes_paid = min(limit[CHANGES], np.float64(spent[CHANGES]))
    limit[CHANGES] = at.changes_paid + max(stage / 2, stage - others)


@part
def tree_calls(search: Search) -> int:
    """What the tree explorers have cost, the walks of their sequences included."""
    return search.spent[TREE] + spent_by(search, WIDE) + spent_by(search, CAREFUL)


@part
def explore_tree(search: Search) -> bool:
    """Let the tree explorers work with the calls that they have earned."""
    credit = search.limit[TREE] - tree_calls(search)
    if credit < 1.0:
        return True
    if not explore(search, WIDE, credit / 2 if is_noisy(search) else credit):
        return False
    if is_noisy(search):
        return explore(search, CAREFUL, search.limit[TREE] - tree_calls(search))
    return True


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
