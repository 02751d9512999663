"""The default planner in plain Python, slow, to be read: it must make the same calls as Platypus.

What is known is a graph. A ``State`` has the actions that were ``Tried`` there; each leads to one
state. Sequences that meet in a state share what is known of it. One plan, RESTORE access, no
horizon; nothing that the model may say of legal actions, values or policies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from platypoos.planners.platypus import tuning
from platypoos.tree import ticket

Step = Callable[[Any, int], tuple[Any, float, bool]]
ROUGHLY, EXACTLY = 1e-5, 1e-14
IDLE = 60


@dataclass(eq=False)
class State:
    """A state, numbered after the tried action that led to it first; the root is 0."""

    number: int
    state: Any
    tried: dict[int, Tried] = field(default_factory=dict)
    value: float = 0.0  # when all was last solved
    choice: Tried | None = None  # its best action then

    def newest_first(self) -> Iterable[Tried]:
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

    def __lt__(self, other: Tried) -> bool:
        return self.number < other.number


@dataclass
class Candidate:
    """The best sequence known that begins with an action."""

    sequence: list[int]
    path: list[Tried]  # shorter if the episode ends
    value: float


@dataclass
class Round:
    """What a round of the tree explorer did."""

    h_max: int
    wide: bool
    complete: bool = True
    opened: list[Any] = field(default_factory=list)  # states, in order
    learned: bool = False


@dataclass(eq=False)
class Entry:
    """A sequence in a layer of a round: its last step, the entry before it, its value."""

    last: Tried | None
    before: Entry | None
    value: float
    state: State | None


class Mind:
    """What is known, and where the plan stands."""

    def __init__(
        self, step: Step, initial_state: Any, actions: int, gamma: float, budget: int, seed: int
    ) -> None:
        self.step, self.actions, self.gamma, self.budget = step, actions, gamma, budget
        self.length = 1
        if gamma > 0.0:
            steps = math.log(tuning.NEGLIGIBLE) / math.log(gamma)
            self.length = int(max(1, min(budget // tuning.AT_LEAST, max(12.0, steps))))
        self.power = (gamma ** np.arange(self.length + 1.0)).tolist()
        self.stage = max(2 * actions, budget // tuning.STAGES)  # calls
        self.most_entries = max(1024, (budget + 1) // 2) + actions
        rng = np.random.default_rng(seed)
        self.seed, self.drawn = int(rng.bit_generator.random_raw()) >> 1, 0
        self.seeds = np.argsort(rng.random(actions)).tolist()  # first actions still to be tried

        self.calls = 0
        self.root = State(0, initial_state)
        self.states: dict[Hashable, State] = {initial_state: self.root}
        self.tried: list[Tried] = []
        self.squares, self.degrees = 0.0, 0  # of differences between samples of the same action
        self.mean, self.spread = 0.0, 0.0  # of all rewards
        self.rate, self.closed = 0.0, False  # worth of a step that is unknown; is there none?
        self.best: dict[int, Candidate] = {}
        self.leader: int | None = None
        self.size = {True: 1, False: 1}  # h_max of the next wide round, and of the next other one
        self.rounds: list[Round] = []
        self.wins = {"tree": 1, "sequences": 1}
        self.idle, self.looked = 0, 0

    @property
    def variance(self) -> float:
        return self.squares / self.degrees if self.degrees else 0.0

    def random_below(self, end: int) -> int:
        self.drawn += 1
        return ((int(ticket(self.seed + 1, self.drawn)) >> 32) * end) >> 32


# ---------------------------------------------------------------------------------- knowledge


def try_action(mind: Mind, state: State, action: int) -> Tried:
    """The action as tried in a state; a new one has no samples yet."""
    if action not in state.tried:
        state.tried[action] = Tried(len(mind.tried) + 1, state, action)
        mind.tried.append(state.tried[action])
    return state.tried[action]


def take_samples(mind: Mind, request: Iterable[tuple[Tried, int]]) -> None:
    """Make the calls of a request, then learn from them about noise and states."""
    ends: dict[Tried, tuple[Any, bool]] = {}
    request = list(request)
    before = [(tried.mean, tried.samples) for tried, _ in request]
    for tried, times in request:
        drift = 0.0
        for _ in range(times):
            successor, reward, ended = mind.step(tried.start.state, tried.action)
            mind.calls += 1
            if tried.samples == 0 and tried not in ends:
                tried.mean, ends[tried] = reward, (successor, ended)
            else:
                drift += reward - tried.mean
        tried.samples += times
        tried.mean += drift / tried.samples if drift else 0.0
    for (tried, _), (mean, had) in zip(request, before, strict=True):
        if had > 0:
            moved, now = tried.mean - mean, tried.samples
            mind.squares += moved * moved * now * had / (now - had)  # worth one variance
            mind.degrees += 1
        elif not ends[tried][1]:
            name = ends[tried][0]
            tried.after = mind.states.setdefault(name, State(tried.number, name))


def believed(mind: Mind, tried: Tried) -> float:
    """The mean reward, drawn to the mean of all rewards as far as noise makes it unsure."""
    if mind.spread == 0.0:
        return tried.mean
    doubt = mind.variance / tried.samples
    return mind.mean + (tried.mean - mind.mean) * mind.spread / (mind.spread + doubt)


def take_moments(mind: Mind) -> None:
    """The mean and the variance of all rewards, noise taken out."""
    if mind.variance == 0.0:
        return
    mean, squares, less = 0.0, 0.0, 0.0
    for count, tried in enumerate(mind.tried, 1):
        step = tried.mean - mean
        mean += step / count
        squares += step * (tried.mean - mean)
        less += mind.variance / tried.samples
    mind.mean, mind.spread = mean, max(squares - less, 0.01 * squares) / len(mind.tried)


def solve(mind: Mind, accuracy: float) -> None:
    """Value iteration on all that is known.

    A state in which nothing was tried is worth, for each step to come, what the states with
    untried actions are worth on average (if there are none: what all states are worth).
    """
    take_moments(mind)
    steps = 1.0 / (1.0 - mind.gamma)
    for sweep in range(8 + 100_000 // (len(mind.tried) + 1)):
        change, everyone, fronts, leaves = 0.0, [], [], 0
        for state in reversed(mind.states.values()):
            best, chosen = -math.inf, None
            for tried in state.newest_first():
                value = believed(mind, tried)
                if tried.after is not None:
                    value += mind.gamma * tried.after.value
                if value > best:
                    best, chosen = value, tried
            if chosen is None:
                leaves += 1
                best = mind.rate * steps
            else:
                everyone.append(best)
                if len(state.tried) < mind.actions:
                    fronts.append(best)
            change = max(change, abs(best - state.value))
            state.value, state.choice = best, chosen
        before, counted, total = mind.rate, fronts or everyone, 0.0
        for value in counted:  # not sum(), which rounds less than compiled code
            total += value / steps
        mind.rate = total / len(counted)
        mind.closed = not fronts and leaves == 0
        change = max(change, abs(mind.rate - before))
        if sweep > 0 and change <= accuracy * (max(everyone) - min(everyone)):
            break


def value_of(mind: Mind, path: list[Tried]) -> float:
    """The discounted sum of rewards; what follows is counted only if nothing is unknown."""
    total = 0.0
    for t, tried in enumerate(path):
        total += mind.power[t] * believed(mind, tried)
    after = path[-1].after
    if after is not None and mind.closed:
        return total + mind.power[len(path)] * after.value
    return total


# ------------------------------------------------------------------- walks and their candidates


def follow(mind: Mind, sequence: list[int], finder: str) -> None:
    """Walk a sequence from the root: known steps are free, unknown ones are calls. Weigh it."""
    path: list[Tried] = []
    known, state = len(mind.tried), mind.root
    for action in sequence:
        if action not in state.tried:
            if mind.calls >= mind.budget:
                break
            take_samples(mind, [(try_action(mind, state, action), 1)])
        path.append(state.tried[action])
        if path[-1].after is None:
            break
        state = path[-1].after
    mind.idle = mind.idle + 1 if len(mind.tried) == known else 0
    if path and (path[-1].after is None or len(path) == mind.length):
        weigh(mind, sequence, path, finder)


def weigh(mind: Mind, sequence: list[int], path: list[Tried], finder: str) -> None:
    """Keep the better one of two sequences that begin alike: the new one if they are equal…

    …unless it ends the episode, and earlier.
    """
    value, rival = value_of(mind, path), mind.best.get(sequence[0])
    if rival is not None:
        rival.value = value_of(mind, rival.path)
        shorter = path[-1].after is None and len(path) < len(rival.path)
        if value < rival.value or (value == rival.value and shorter):
            return
    if mind.leader is not None and value > mind.best[mind.leader].value:
        mind.wins[finder] += 1
    mind.best[sequence[0]] = Candidate(sequence, path, value)
    mind.leader = ranked(mind)[0]


def ranked(mind: Mind) -> list[int]:
    """First actions, the best candidate first."""
    return sorted(sorted(mind.best), key=lambda action: -mind.best[action].value)


def weigh_again(mind: Mind) -> None:
    for candidate in mind.best.values():
        candidate.value = value_of(mind, candidate.path)


# ----------------------------------------------------------------------------- tree explorer


def explore_tree(mind: Mind, end: int, *, wide: bool) -> bool:
    """Rounds of growing h_max; whether there is nothing left to find by them."""
    while mind.calls < end:
        this = Round(mind.size[wide], wide)
        mind.rounds.append(this)
        run_round(mind, this, end)
        most = (len(mind.tried) + 1) * mind.length
        if not this.learned and (not this.complete or this.h_max > most):
            return True
        if this.complete:
            mind.size[wide] += max(1, this.h_max // 4)
    return False


def run_round(mind: Mind, this: Round, end: int) -> None:
    """Figure 3 of the paper, layer by layer; then the best sequences are walked to their end."""
    layer, entries = [Entry(None, None, 0.0, mind.root)], 1
    best_end: Entry | None = None
    depth = 0
    while True:
        chosen = open_layer(mind, this, layer, depth, end)
        if not this.complete:
            break
        layer, place = [], {}
        for before in chosen:
            for tried in before.state.newest_first():
                if entries == mind.most_entries:
                    this.complete = False
                    break
                value = before.value + mind.power[depth] * tried.mean
                entry = Entry(tried, before, value, tried.after)
                if tried.after is None:
                    if best_end is not None and value <= best_end.value:
                        continue
                    best_end = entry
                elif tried.after in place:  # of those that meet in a state, the best
                    if value > layer[place[tried.after]].value:
                        layer[place[tried.after]] = entry
                    continue
                else:
                    place[tried.after] = len(layer)
                layer.append(entry)
                entries += 1
        depth += 1
        if not layer or depth >= min(this.h_max, mind.length):
            break
    best = max(layer, key=lambda entry: entry.value, default=None)
    for entry in (best, best_end):
        if entry is not None and entry.last is not None:
            actions = actions_to(entry)
            actions += actions[-1:] * (mind.length - len(actions))
            follow(mind, actions, "tree")


def actions_to(entry: Entry) -> list[int]:
    return [] if entry.last is None else [*actions_to(entry.before), entry.last.action]


def open_layer(mind: Mind, this: Round, layer: list[Entry], h: int, end: int) -> list[Entry]:
    """Choose the best entries of a layer, and sample all actions in their states.

    A wide round opens the h_max//h best ones, with one sample of each action. Others open
    h_max//(h·2^p) with c(h, p) samples, for every p, of those whose last action had enough.
    """
    h_max = this.h_max
    rows = [(1, 1 if this.wide else h_max, 0)]  # entries, samples, samples of the last action
    if h > 0:
        indices = [0] if this.wide else range((h_max // h).bit_length() - 1, -1, -1)
        rows = [(h_max // (h << p), c(mind, this, h, p), c(mind, this, h - 1, p)) for p in indices]
    live = [entry for entry in layer if entry.state is not None]
    live.sort(key=lambda entry: (-entry.value, ticket(mind.seed, entry.state.number)))
    chosen: list[Entry] = []
    request: list[tuple[Tried, int]] = []
    left = end - mind.calls
    for quota, times, needed in rows:
        able = [e for e in live if e not in chosen and (h == 0 or e.last.samples >= needed)]
        for entry in able[:quota]:
            for action in range(mind.actions):
                known = entry.state.tried.get(action)
                missing = times - (known.samples if known else 0)
                if missing > left:  # the calls do not suffice
                    this.complete = False
                missing = min(missing, left)
                if missing > 0:
                    this.learned = True
                    request.append((try_action(mind, entry.state, action), missing))
                    left -= missing
            chosen.append(entry)
            if not this.complete:
                break
        if not this.complete:
            break
    this.opened += [entry.state.state for entry in chosen]
    take_samples(mind, request)
    return chosen


def c(mind: Mind, this: Round, h: int, p: int) -> int:
    """c(h, p) of the paper: how often actions are sampled in a state at depth h."""
    return 1 if this.wide or h == 0 else max(1, math.ceil(h * 2**p * mind.gamma ** (2.0 * h)))


# -------------------------------------------------------------- sequence explorer, policies


def explore_sequences(mind: Mind, end: int) -> None:
    """Sequences of one action first, then changes of the best one, at all time scales."""
    while True:
        early = mind.calls < tuning.SEED_SHARE * mind.budget
        if mind.seeds and (early or mind.leader is None):
            if mind.calls >= mind.budget:
                return
            sequence = [mind.seeds.pop(0)] * mind.length
        elif mind.leader is None or mind.calls >= end or mind.idle >= IDLE:
            return
        elif mind.idle % 2 == 1:  # the last one was known already
            sequence = [mind.random_below(mind.actions) for _ in range(mind.length)]
        else:
            sequence = change(mind, mind.best[mind.leader])
        follow(mind, sequence, "sequences")


def change(mind: Mind, best: Candidate) -> list[int]:
    """Replace a stretch of 1, 2, 4, … steps by another action; often near the episode's end."""
    known = len(best.path)
    start = mind.random_below(known)
    if known < mind.length and mind.random_below(2) == 0:
        start = max(0, known - 1 - mind.random_below(1 + 2 ** mind.random_below(4)))
    stretch = 2 ** mind.random_below(mind.length.bit_length())
    action = best.sequence[start]
    if mind.actions > 1:
        action = (action + 1 + mind.random_below(mind.actions - 1)) % mind.actions
    changed = [action] * min(stretch, mind.length - start)
    return best.sequence[:start] + changed + best.sequence[start + stretch :]


def propose_policies(mind: Mind) -> None:
    """Try what the best policy in all that is known would do, after the best first actions."""
    solve(mind, ROUGHLY)

    def value(tried: Tried) -> tuple[float, int]:
        after = tried.after.value if tried.after else 0.0
        return tried.mean + mind.gamma * after, tried.number

    for first in sorted(mind.root.tried.values(), key=value, reverse=True)[: tuning.CANDIDATES]:
        if mind.calls >= mind.budget:
            return
        sequence: list[int] = []
        tried: Tried | None = first
        while tried is not None and len(sequence) < mind.length:
            sequence.append(tried.action)
            tried = tried.after.choice if tried.after else None
        follow(mind, sequence + sequence[-1:] * (mind.length - len(sequence)), "sequences")


# ------------------------------------------------------------------------------ noise and jury


def look_for_noise(mind: Mind, began: int, stuck: bool) -> None:
    """Sample again, along the leader; or anything, with the calls that nobody could use."""
    left = min(mind.budget - mind.calls, max(1, int(tuning.LOOK_SHARE * mind.stage)))
    if mind.calls == began or stuck:
        left = min(mind.budget - mind.calls, max(left, began + mind.stage - mind.calls))
        size = len(mind.tried)
        again = [mind.tried[(mind.looked + i) % size] for i in range(min(left, size))]
        mind.looked += len(again)
    else:
        again = mind.best[mind.leader].path[:left] if mind.leader is not None else []
    take_samples(mind, sorted(Counter(again).items()))


def hear_jury(mind: Mind, end: int) -> None:
    """Compare the candidates on fresh samples, and halve them, until one is left."""
    jury: list[int] = []
    hearings = 0
    while mind.calls < end and mind.leader is not None:
        if len(jury) < 2:  # if calls are left over, the two best are heard again
            weigh_again(mind)
            everyone = ranked(mind)
            hearings = hearings if jury else (len(everyone) - 1).bit_length()
            jury = everyone[:2] if jury else everyone
        left = end - mind.calls
        calls = max(1, left // (max(1, hearings) * len(jury)))
        request: Counter[Tried] = Counter()
        for action in jury:
            if left > 0:
                request.update(shares(mind, mind.best[action].path, min(calls, left)))
            left -= calls
        take_samples(mind, sorted((tried, n) for tried, n in request.items() if n > 0))
        weigh_again(mind)
        jury.sort(key=lambda action: -mind.best[action].value)
        jury = jury[: (len(jury) + 1) // 2]
        mind.leader = jury[0]
        hearings = max(0, hearings - 1)
        if hearings > 0:
            propose_policies(mind)


def shares(mind: Mind, path: list[Tried], calls: int) -> dict[Tried, int]:
    """Split calls among the steps of a candidate: as much as each counts, γ^t."""
    weight: dict[Tried, float] = {}
    total = 0.0
    for t, tried in enumerate(path):
        weight[tried] = weight.get(tried, 0.0) + mind.power[t]
        total += mind.power[t]
    split = {tried: int(calls * w / total) for tried, w in weight.items()}
    spent = sum(split.values())
    while spent < calls:  # what rounding has left over goes to the first steps
        for tried in split:
            if spent < calls:
                split[tried] += 1
                spent += 1
    return split


# ----------------------------------------------------------------------------------- the plan


def plan(
    step: Step,
    initial_state: Any,
    actions: int,
    *,
    discount: float,
    budget: int,
    seed: int,
    sequences: bool = True,
) -> Mind:
    """Spend the budget; the recommended action is the ``leader``.

    ``sequences=False`` leaves out the sequence explorer.
    """
    mind = Mind(step, initial_state, actions, discount, budget, seed)
    if sequences:
        explore_sequences(mind, 0)
    while mind.calls < budget:
        if mind.squares > 0.0 and budget - mind.calls <= tuning.JURY_SHARE * budget:
            hear_jury(mind, budget)
            break
        run_stage(mind, sequences=sequences)
    if mind.closed:
        solve(mind, EXACTLY)
        weigh_again(mind)
        if mind.squares == 0.0:
            mind.leader = ranked(mind)[0]
    return mind


def run_stage(mind: Mind, *, sequences: bool) -> None:
    """Explore in both ways, propose policies; then look for noise, or hear the jury."""
    began, budget = mind.calls, mind.budget
    share = mind.wins["tree"] / (mind.wins["tree"] + mind.wins["sequences"])
    share = max(tuning.LEAST_SHARE, min(1.0 - tuning.LEAST_SHARE, share))
    tree_end = min(budget, began + max(1, int(share * mind.stage)))
    if mind.squares > 0.0:
        wide_end = min(budget, began + max(1, int(tuning.WIDE_SHARE * share * mind.stage)))
        explore_tree(mind, wide_end, wide=True)
        stuck = explore_tree(mind, tree_end, wide=False)
    else:
        stuck = explore_tree(mind, tree_end, wide=True)
    if mind.calls < budget and sequences:
        mind.idle = 0
        explore_sequences(mind, min(budget, began + mind.stage))
    if mind.calls < budget:
        propose_policies(mind)
    if mind.calls >= budget:
        return
    if mind.squares == 0.0:
        look_for_noise(mind, began, stuck=stuck)
    elif budget - mind.calls > tuning.JURY_SHARE * budget:
        hear_jury(mind, min(budget, mind.calls + int(tuning.HEARING_SHARE * mind.stage)))
