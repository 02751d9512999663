"""What the slow version of Platypus knows: states, tried actions, samples, candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from platypoos.compiled.platypus.tuning import STAGES
from platypoos.ledger.tickets import ticket
from platypoos.planners.sequence_search import SEED_SHARE
from platypoos.search.sequences import AT_LEAST, NEGLIGIBLE, SHORTEST


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
            steps = max(SHORTEST, math.log(NEGLIGIBLE) / math.log(gamma))
            most = min(budget // AT_LEAST, int(SEED_SHARE * budget) // actions)
            self.length = int(max(1, min(most, steps)))
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
        self.solved = False  # whether it ever was
        self.best = {}  # first action: Candidate
        self.leader = None  # the first action of the best candidate
        self.h_max = {True: 1, False: 1}  # of the next wide round, and of the next other one
        self.rounds = []  # (h_max, wide, complete, states that were opened)
        self.wins = {"tree": 1, "sequences": 1, "nobody": 0}  # new best sequences…
        self.spent = {"tree": 0, "sequences": 0}  # …and calls that they have cost
        self.credit, self.stage_began = 0.0, 0  # what the tree explorer has earned; see run_stage
        self.stuck = False  # whether it found nothing to ask for
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
    mind.mean = mean
    noisy = mind.variance > 0.0
    mind.spread = max(squares - less, 0.01 * squares) / len(mind.tried) if noisy else 0.0


def solve(mind, accuracy):
    """Value iteration on all that is known.

    A state in which nothing was tried is worth, for each step to come, what the states with
    untried actions are worth on average (if there are none: what all states are worth).
    """
    take_moments(mind)
    if not mind.solved:  # the first time: from the mean of all rewards
        mind.solved, mind.rate = True, mind.mean
        for state in mind.states.values():
            state.value = mind.rate * mind.span
    visits = 20_000 if accuracy > 1e-9 else 200_000
    for sweep in range(8 + visits // (len(mind.tried) + 1)):
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
