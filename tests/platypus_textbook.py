"""The default planner in plain Python, slow, to be read: it must make the same calls as Platypus.

What is known is a graph. A ``State`` has the actions that were ``Tried`` there; each leads to one
state. Sequences that meet in a state share what is known of it. One plan, RESTORE access, no
horizon; nothing that the model may say of legal actions, values or policies.

Where only rounding is at stake, sums are taken in the same order as by Platypus.
"""

from __future__ import annotations

import math
from collections import Counter

from platypus_textbook_knowledge import (
    Candidate,
    Mind,
    State,
    believed,
    outlook,
    solve,
    take_samples,
    try_action,
    value_of,
)

from platypoos.compiled.platypus.tuning import (
    CANDIDATES,
    DEEPER,
    GROWTH,
    HEARING_SHARE,
    IDLE,
    JURY_SHARE,
    LEAST_SHARE,
    LOOK_SHARE,
    STAGES,
    WIDE_SHARE,
)
from platypoos.ledger.tickets import ticket
from platypoos.planners.sequence_search import SEED_SHARE

ROUGHLY, EXACTLY = 1e-3, 1e-14


def follow(mind, actions, finder):
    """Walk a sequence from the root: known steps are free, unknown ones are calls. Weigh it."""
    sequence = (actions + actions[-1:] * mind.length)[: mind.length]
    known, state, path = len(mind.tried), mind.root, []
    for action in sequence:
        if action not in state.tried:
            if mind.calls >= mind.budget:
                break
            take_samples(mind, {try_action(mind, state, action): 1})
        path.append(state.tried[action])
        state = path[-1].after
        if state is None:
            break
    mind.idle = mind.idle + 1 if len(mind.tried) == known else 0
    if path and (state is None or len(path) == mind.length):
        weigh(mind, Candidate(sequence, path, value_of(mind, path), outlook(path)), finder)


def weigh(mind, new, finder):
    """Keep the better one of two sequences that begin alike.

    Of equal ones, the new one; but not if it ends the episode, and earlier. It leads if no other
    is better.
    """
    old = mind.best.get(new.sequence[0])
    if old is not None:
        old.value = value_of(mind, old.path)
        if new.value < old.value:
            return
        if new.value == old.value:
            old.outlook = outlook(old.path)
            ends_earlier = new.path[-1].after is None and len(new.path) < len(old.path)
            if new.outlook < old.outlook or ends_earlier:
                return
    if mind.leader is not None and new.value > mind.best[mind.leader].value:
        mind.wins[finder] += 1
    mind.best[new.sequence[0]] = new
    mind.leader = ranked(mind, sorted(mind.best))[0]
    leading = mind.best[mind.leader]
    if (new.value, new.outlook) == (leading.value, leading.outlook):
        mind.leader = new.sequence[0]


def ranked(mind, among):
    """First actions, the best candidate first."""

    def key(action):
        best = mind.best[action]
        return best.value, best.outlook, ticket(mind.seed, action)

    return sorted(among, key=key, reverse=True)


def weigh_again(mind):
    for candidate in mind.best.values():
        candidate.value, candidate.outlook = value_of(mind, candidate.path), outlook(candidate.path)


def explore_tree(mind, end, *, wide):
    """Rounds of growing h_max. Returns whether they find nothing to ask for any more."""
    if wide and mind.seen == len(mind.tried):  # that was so before, and all is as it was
        return True
    while mind.calls < end:
        h_max = mind.h_max[wide]
        complete, learned = run_round(mind, h_max, end, wide=wide)
        everything = (len(mind.tried) + 1) * DEEPER * mind.length
        if not learned and (not complete or h_max > everything):
            mind.seen = len(mind.tried) if wide else mind.seen
            return True
        if complete:
            mind.h_max[wide] += max(1, int(GROWTH * h_max)) if learned else h_max
    return False


def run_round(mind, h_max, end, *, wide):
    """Figure 3 of the paper, layer by layer; then its best sequences are walked as a whole.

    A layer is {state: (value, path)}: of those that meet in a state, the best. Where the episode
    ends, the last step stands for the state. A state is opened once in a round.
    """
    layer, depth, entries, best_end = {mind.root: (0.0, [])}, 0, 1, (-math.inf, [])
    complete, opened, calls = True, [], mind.calls
    while complete and layer and depth <= h_max and depth < DEEPER * mind.length:
        chosen, complete = open_layer(mind, layer, h_max, depth, end, wide=wide)
        opened += chosen
        if not complete:
            break
        above, layer, depth = layer, {}, depth + 1
        for state in chosen:
            before, path = above[state]
            for tried in state.newest_first():
                if entries == mind.most_entries:
                    complete = False
                    break
                entry = (before + mind.gamma ** (depth - 1.0) * tried.mean, [*path, tried])
                place = tried if tried.after is None else tried.after
                if place in opened or (place in layer and entry[0] <= layer[place][0]):
                    continue
                if tried.after is None:
                    if entry[0] <= best_end[0]:
                        continue
                    best_end = entry
                entries += place not in layer
                layer[place] = entry
    mind.rounds.append((h_max, wide, complete, [state.state for state in opened]))
    learned = mind.calls > calls
    going_on = [entry for place, entry in layer.items() if isinstance(place, State)]
    best = max(going_on, key=lambda entry: entry[0], default=(0.0, []))
    for _, path in (best, best_end):
        if learned and path:
            follow(mind, [tried.action for tried in path], "tree")
    return complete, learned


def open_layer(mind, layer, h_max, h, end, *, wide):
    """Choose the best states of a layer, and sample all actions there.

    A wide round opens the h_max//h best ones, with one sample of each action. Others open
    h_max//(h·c(h, p)) with c(h, p) samples, for every p, of those whose last action had enough.
    Returns what was opened, and whether the calls sufficed.
    """

    def c(h, p):
        return 1 if wide or h == 0 else max(1, math.ceil(h * 2**p * mind.gamma ** (2.0 * h)))

    if h == 0:
        rows = [(1, 1 if wide else h_max, 0)]  # states, samples, samples of the last action
    else:
        indices = [0] if wide else range(h_max.bit_length() - 1, -1, -1)
        rows = [(h_max // (h * c(h, p)), c(h, p), c(h - 1, p)) for p in indices]
    waiting = [place for place in layer if isinstance(place, State)]
    waiting.sort(key=lambda s: (layer[s][0], ticket(mind.seed, s.number)), reverse=True)
    chosen, request, left = [], {}, end - mind.calls
    enough = True
    for quota, times, needed in rows:
        able = [s for s in waiting if h == 0 or layer[s][1][-1].samples >= needed]
        for state in able[:quota] if enough else []:
            if not enough:
                break
            chosen.append(state)
            waiting.remove(state)
            for action in range(mind.actions):
                had = state.tried[action].samples if action in state.tried else 0
                enough = enough and times - had <= left
                missing = min(times - had, left)
                if missing > 0:
                    request[try_action(mind, state, action)] = missing
                    left -= missing
    take_samples(mind, request)
    return chosen, enough


def explore_sequences(mind, end):
    """Sequences of one action first; then stretches of the best one are changed."""
    while mind.calls < mind.budget:
        if mind.seeds and (
            mind.leader is None or mind.calls < max(mind.actions, SEED_SHARE * mind.budget)
        ):
            sequence = [mind.seeds.pop(0)]
        elif mind.leader is None or mind.calls >= end or mind.idle >= IDLE:
            return
        elif mind.idle % 2 == 1:  # the last one was known already
            sequence = [mind.random_below(mind.actions) for _ in range(mind.length)]
        else:
            best = mind.best[mind.leader].sequence
            known = len(mind.best[mind.leader].path)
            start = mind.random_below(known)
            if known < mind.length and mind.random_below(2) == 0:  # near the episode's end
                start = max(0, known - 1 - mind.random_below(1 + 2 ** mind.random_below(4)))
            end_of_it = start + 2 ** mind.random_below(mind.length.bit_length())
            action = best[start]
            if mind.actions > 1:
                action = (action + 1 + mind.random_below(mind.actions - 1)) % mind.actions
            changed = [action] * (min(end_of_it, mind.length) - start)
            sequence = best[:start] + changed + best[end_of_it:]
        follow(mind, sequence, "sequences" if end > 0 else "nobody")


def propose_policies(mind):
    """Try what the best policy in all that is known would do, after the best first actions.

    Not where less than half of a sequence is known.
    """
    solve(mind, ROUGHLY)

    def value(tried):
        return believed(mind, tried) + mind.gamma * outlook([tried]), tried.number

    for tried in sorted(mind.root.tried.values(), key=value, reverse=True)[:CANDIDATES]:
        if mind.calls < mind.budget:
            path = policy(mind, tried)
            if path[-1].after is None or 2 * len(path) >= mind.length:
                follow(mind, [step.action for step in path], "nobody")


def policy(mind, tried):
    """The steps that the best policy takes after a first action, as far as they are known."""
    path = []
    while tried is not None and len(path) < mind.length:
        path.append(tried)
        tried = tried.after and tried.after.choice
    return path


def look_for_noise(mind, began, *, stuck):
    """Sample again, along the leader; or anything, with the calls that nobody could use."""
    left = min(mind.budget - mind.calls, max(1, int(LOOK_SHARE * mind.stage)))
    if mind.calls == began or stuck:
        left = min(mind.budget - mind.calls, max(left, began + mind.stage - mind.calls))
        size = len(mind.tried)
        again = [mind.tried[(mind.looked + i) % size] for i in range(min(left, size))]
        mind.looked += len(again)
    else:
        again = mind.best[mind.leader].path[:left] if mind.leader is not None else []
    take_samples(mind, in_order(Counter(again)))


def in_order(request):
    return {t: request[t] for t in sorted(request, key=lambda t: t.number) if request[t] > 0}


def hear_jury(mind, end):
    """Compare the candidates on fresh samples, and halve them, until one is left."""
    jury = []
    while mind.calls < end and mind.leader is not None:
        if len(jury) < 2:  # if calls are left over, the two best are heard again
            weigh_again(mind)
            everyone = ranked(mind, sorted(mind.best))
            hearings = 0 if jury else (len(everyone) - 1).bit_length()
            jury = everyone[:2] if jury else everyone
        left = end - mind.calls
        calls = max(1, left // (max(1, hearings) * len(jury)))
        request = Counter()
        for action in jury:
            if left > 0:
                request.update(split(mind, mind.best[action].path, min(calls, left)))
            left -= calls
        take_samples(mind, in_order(request))
        weigh_again(mind)
        jury = ranked(mind, jury)[: (len(jury) + 1) // 2]
        mind.leader = jury[0]
        hearings = max(0, hearings - 1)
        if hearings > 0:
            propose_policies(mind)


def split(mind, path, calls):
    """Split calls among the steps of a candidate: as much as each counts, γ^t."""
    weight, total = {}, 0.0
    for t, tried in enumerate(path):
        weight[tried] = weight.get(tried, 0.0) + mind.power[t]
        total += mind.power[t]
    shares = {tried: int(calls * w / total) for tried, w in weight.items()}
    while sum(shares.values()) < calls:  # what rounding has left over goes to the first steps
        for tried in list(shares)[: calls - sum(shares.values())]:
            shares[tried] += 1
    return shares


def plan(step, initial_state, actions, *, discount, budget, seed, sequences=True):
    """Spend the budget; the recommended action is the ``leader``.

    ``sequences=False`` leaves out the sequence explorer.
    """
    mind = Mind(step, initial_state, actions, discount, budget, seed)
    if sequences:
        explore_sequences(mind, 0)
    while mind.calls < budget:
        if mind.squares > 0.0 and budget - mind.calls <= JURY_SHARE * budget:
            hear_jury(mind, budget)
        else:
            run_stage(mind, sequences=sequences)
    if mind.closed:
        solve(mind, EXACTLY)
        if mind.squares == 0.0:  # the best policy is the candidate of every first action
            for action, tried in mind.root.tried.items():
                path = policy(mind, tried)
                sequence = [step.action for step in path]
                mind.best[action] = Candidate(sequence, path, 0.0, 0.0)
        weigh_again(mind)
        if mind.squares == 0.0:
            mind.leader = ranked(mind, sorted(mind.best))[0]
    return mind


def run_stage(mind, *, sequences):
    """Explore in both ways, propose policies; then look for noise, or hear the jury."""
    began, budget = mind.calls, mind.budget
    rate = {who: mind.wins[who] / (mind.spent[who] + mind.stage) for who in mind.spent}
    share = rate["tree"] / (rate["tree"] + rate["sequences"])
    least = LEAST_SHARE * min(1.0, budget / (STAGES * mind.actions))
    share = max(least, min(1.0 - LEAST_SHARE, share))
    made = began - mind.stage_began
    if mind.squares == 0.0:  # nobody is heard: idle sequences must not end the pay
        made = max(made, mind.stage)
    mind.credit += share * made if sequences else mind.stage
    mind.stage_began = began
    if mind.credit >= 1.0:
        if mind.squares > 0.0:
            wide_end = min(budget, began + max(1, int(WIDE_SHARE * mind.credit)))
            explore_tree(mind, wide_end, wide=True)
        tree_end = min(budget, began + int(mind.credit))
        mind.stuck = explore_tree(mind, tree_end, wide=mind.squares == 0.0)
        mind.spent["tree"] += mind.calls - began
        mind.credit = min(0.0, mind.credit - (mind.calls - began))
    turn_began = mind.calls
    if sequences:
        mind.idle = 0
        explore_sequences(mind, min(budget, began + mind.stage))
    mind.spent["sequences"] += mind.calls - turn_began
    if mind.calls < budget:
        propose_policies(mind)
    if mind.calls < budget and mind.squares == 0.0:
        look_for_noise(mind, began, stuck=mind.stuck)
    elif budget - mind.calls > JURY_SHARE * budget:
        hear_jury(mind, min(budget, mind.calls + int(HEARING_SHARE * mind.stage)))
