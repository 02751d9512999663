"""The default planner in plain Python, slow, to be read: it must make the same calls as Platypus.

What is known is a graph. A ``State`` has the actions that were ``Tried`` there; each leads to one
state. Sequences that meet in a state share what is known of it. One plan, RESTORE access, no
horizon; nothing that the model may say of legal actions, values or policies.

Where only rounding is at stake, sums are taken in the same order as by Platypus.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from platypoos.planners.platypus.sequence_explorer import IDLE
from platypoos.planners.platypus.tree_explorer import DEEPER
from platypoos.planners.platypus.tuning import (
    AT_LEAST,
    CANDIDATES,
    HEARING_SHARE,
    JURY_SHARE,
    LEAST_SHARE,
    LOOK_SHARE,
    NEGLIGIBLE,
    SEED_SHARE,
    STAGES,
    WIDE_SHARE,
)
from platypoos.tree import ticket

ROUGHLY, EXACTLY = 1e-5, 1e-14


@dataclass(eq=False)
class State:
    """A state, numbered after the tried action that led to it first; the root is 0."""

    number: int
    state: Any
    value: float = 0.0  # when all was last solved
    choice: Tried | None = None  # its best action then
    tried: dict[int, Tried] = field(default_factory=dict)

    def newest_first(self):
        return reversed(self.tried.values())


@dataclass(eq=False)
class Tried:
    """An action that was tried in a state. Numbers are in the order of trying, from 1 on."""

    number: int
    start: State
    action: int
    samples: int = 0
    mean: float = 0.0
    after: State | None = None  # where it leads; None if the episode ends


@dataclass
class Candidate:
    """The best sequence known that begins with an action."""

    sequence: list[int]
    path: list[Tried]  # shorter if the episode ends
    value: float
    outlook: float  # what its last state is worth; decides between equal ones


class Mind:
    """What is known, and where the plan stands."""

    def __init__(self, step, root, actions, gamma, budget, seed):
        self.step, self.actions, self.gamma, self.budget = step, actions, gamma, budget
        self.length = 1  # of whole sequences
        if gamma > 0.0:
            steps = max(12.0, math.log(NEGLIGIBLE) / math.log(gamma))
            self.length = int(max(1, min(budget // AT_LEAST, steps)))
        self.span = 1.0 / (1.0 - gamma)  # what a reward of 1 at each step to come is worth
        self.power = (gamma ** np.arange(self.length + 1.0)).tolist()
        self.stage = max(2 * actions, budget // STAGES)  # calls
        self.most_entries = max(1024, (budget + 1) // 2) + actions
        rng = np.random.default_rng(seed)
        self.seed, self.drawn = int(rng.bit_generator.random_raw()) >> 1, 0
        self.seeds = np.argsort(rng.random(actions)).tolist()  # first actions still to be tried
        self.calls = 0
        self.root = State(0, root)
        self.states = {root: self.root}
        self.tried = []
        self.squares, self.degrees = 0.0, 0  # of differences between samples of the same action
        self.mean, self.spread = 0.0, 0.0  # of all rewards
        self.rate, self.closed = 0.0, False  # worth of an unknown step; whether there is none
        self.best = {}  # first action: Candidate
        self.leader = None  # the first action of the best candidate
        self.h_max = {True: 1, False: 1}  # of the next wide round, and of the next other one
        self.rounds = []  # (h_max, wide, complete, states that were opened)
        self.wins = {"tree": 1, "sequences": 1}
        self.idle, self.looked, self.seen = 0, 0, -1

    @property
    def variance(self):
        return self.squares / self.degrees if self.degrees else 0.0

    def random_below(self, end):
        self.drawn += 1
        return ((int(ticket(self.seed + 1, self.drawn)) >> 32) * end) >> 32


def try_action(mind, state, action):
    """The action as tried in a state; a new one has no samples yet."""
    if action not in state.tried:
        state.tried[action] = Tried(len(mind.tried) + 1, state, action)
        mind.tried.append(state.tried[action])
    return state.tried[action]


def take_samples(mind, request):
    """Make the calls of a request, {tried: times}; then learn from them about noise and states."""
    before = {tried: (tried.mean, tried.samples) for tried in request}
    ends = {}
    for tried, times in request.items():
        drift = 0.0
        for _ in range(times):
            successor, reward, ended = mind.step(tried.start.state, tried.action)
            mind.calls += 1
            if tried.samples == 0 and tried not in ends:
                tried.mean, ends[tried] = reward, (successor, ended)
            drift += reward - tried.mean
        tried.samples += times
        tried.mean += drift / tried.samples
    for tried, (mean, had) in before.items():
        if had > 0:
            moved, now = tried.mean - mean, tried.samples
            mind.squares += moved * moved * now * had / (now - had)  # worth one variance
            mind.degrees += 1
        elif not ends[tried][1]:
            name = ends[tried][0]
            new = State(tried.number, name, value=mind.rate * mind.span)
            tried.after = mind.states.setdefault(name, new)


def believed(mind, tried):
    """The mean reward, drawn to the mean of all rewards as far as noise makes it unsure."""
    if mind.spread == 0.0:
        return tried.mean
    doubt = mind.variance / tried.samples
    return mind.mean + (tried.mean - mind.mean) * mind.spread / (mind.spread + doubt)


def take_moments(mind):
    """The mean and the variance of all rewards, noise taken out."""
    mean, squares, less = 0.0, 0.0, 0.0
    for count, tried in enumerate(mind.tried, 1):
        step = tried.mean - mean
        mean += step / count
        squares += step * (tried.mean - mean)
        less += mind.variance / tried.samples
    mind.mean, mind.spread = mean, max(squares - less, 0.01 * squares) / len(mind.tried)


def solve(mind, accuracy):
    """Value iteration on all that is known.

    A state in which nothing was tried is worth, for each step to come, what the states with
    untried actions are worth on average (if there are none: what all states are worth).
    """
    if mind.variance > 0.0:
        take_moments(mind)
    for sweep in range(8 + 100_000 // (len(mind.tried) + 1)):
        change, everyone, fronts = 0.0, [], []
        for state in reversed(mind.states.values()):
            best, chosen = mind.rate * mind.span, None
            for tried in state.newest_first():
                value = believed(mind, tried)
                if tried.after is not None:
                    value += mind.gamma * tried.after.value
                if chosen is None or value > best:
                    best, chosen = value, tried
            if chosen is not None:
                everyone.append(best)
                if len(state.tried) < mind.actions:
                    fronts.append(best)
            change = max(change, abs(best - state.value))
            state.value, state.choice = best, chosen
        before, counted, total = mind.rate, fronts or everyone, 0.0
        for value in counted:  # sum() rounds less
            total += value / mind.span
        mind.rate = total / len(counted)
        mind.closed = not fronts and len(everyone) == len(mind.states)
        change = max(change, abs(mind.rate - before))
        if sweep > 0 and change <= accuracy * (max(everyone) - min(everyone)):
            break


def outlook(path):
    return 0.0 if path[-1].after is None else path[-1].after.value


def value_of(mind, path):
    """The discounted sum of rewards; what follows is counted only if nothing is unknown."""
    total = 0.0
    for t, tried in enumerate(path):
        total += mind.power[t] * believed(mind, tried)
    return total + mind.power[len(path)] * outlook(path) if mind.closed else total


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

    Of equal ones, the new one; but not if it ends the episode, and earlier.
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


def ranked(mind, among):
    """First actions, the best candidate first."""
    return sorted(among, key=lambda a: (mind.best[a].value, mind.best[a].outlook), reverse=True)


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
            mind.h_max[wide] += max(1, h_max // 4) if learned else h_max
    return False


def run_round(mind, h_max, end, *, wide):
    """Figure 3 of the paper, layer by layer; then its best sequences are walked as a whole.

    A layer is {state: (value, path)}: of those that meet in a state, the best. Where the episode
    ends, the last step stands for the state.
    """
    layer, depth, entries, best_end = {mind.root: (0.0, [])}, 0, 1, (-math.inf, [])
    complete, opened, calls = True, [], mind.calls
    while complete and layer and (depth == 0 or depth < min(h_max, DEEPER * mind.length)):
        chosen, complete = open_layer(mind, layer, h_max, depth, end, wide=wide)
        opened += [state.state for state in chosen]
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
                if tried.after is None and entry[0] > best_end[0]:
                    best_end = entry
                elif tried.after is None or (place in layer and entry[0] <= layer[place][0]):
                    continue
                entries += place not in layer
                layer[place] = entry
    mind.rounds.append((h_max, wide, complete, opened))
    learned = mind.calls > calls
    best = max(layer.values(), key=lambda entry: entry[0], default=(0.0, []))
    for _, path in (best, best_end):
        if learned and path:
            follow(mind, [tried.action for tried in path], "tree")
    return complete, learned


def open_layer(mind, layer, h_max, h, end, *, wide):
    """Choose the best states of a layer, and sample all actions there.

    A wide round opens the h_max//h best ones, with one sample of each action. Others open
    h_max//(h·2^p) with c(h, p) samples, for every p, of those whose last action had enough.
    Returns what was opened, and whether the calls sufficed.
    """

    def c(h, p):
        return 1 if wide or h == 0 else max(1, math.ceil(h * 2**p * mind.gamma ** (2.0 * h)))

    if h == 0:
        rows = [(1, 1 if wide else h_max, 0)]  # states, samples, samples of the last action
    else:
        indices = [0] if wide else range((h_max // h).bit_length() - 1, -1, -1)
        rows = [(h_max // (h << p), c(h, p), c(h - 1, p)) for p in indices]
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
        if mind.seeds and (mind.leader is None or mind.calls < SEED_SHARE * mind.budget):
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
        follow(mind, sequence, "sequences")


def propose_policies(mind):
    """Try what the best policy in all that is known would do, after the best first actions."""
    solve(mind, ROUGHLY)

    def value(tried):
        return tried.mean + mind.gamma * outlook([tried]), tried.number

    for tried in sorted(mind.root.tried.values(), key=value, reverse=True)[:CANDIDATES]:
        if mind.calls < mind.budget:
            actions = []
            while tried is not None and len(actions) < mind.length:
                actions.append(tried.action)
                tried = tried.after and tried.after.choice
            follow(mind, actions, "sequences")


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
        weigh_again(mind)
        if mind.squares == 0.0:
            mind.leader = ranked(mind, sorted(mind.best))[0]
    return mind


def run_stage(mind, *, sequences):
    """Explore in both ways, propose policies; then look for noise, or hear the jury."""
    began, budget = mind.calls, mind.budget
    share = mind.wins["tree"] / (mind.wins["tree"] + mind.wins["sequences"])
    share = max(LEAST_SHARE, min(1.0 - LEAST_SHARE, share))
    tree_end = min(budget, began + max(1, int(share * mind.stage)))
    if mind.squares > 0.0:
        wide_end = min(budget, began + max(1, int(WIDE_SHARE * share * mind.stage)))
        explore_tree(mind, wide_end, wide=True)
    stuck = explore_tree(mind, tree_end, wide=mind.squares == 0.0)
    if sequences:
        mind.idle = 0
        explore_sequences(mind, min(budget, began + mind.stage))
    if mind.calls < budget:
        propose_policies(mind)
    if mind.calls < budget and mind.squares == 0.0:
        look_for_noise(mind, began, stuck=stuck)
    elif budget - mind.calls > JURY_SHARE * budget:
        hear_jury(mind, min(budget, mind.calls + int(HEARING_SHARE * mind.stage)))
