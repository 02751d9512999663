"""What random actions and the best known actions are worth on each challenge of the arena.

    python benchmarks/arena_references.py                     what is missing in references.json
    python benchmarks/arena_references.py --again pillars     again, where the name contains pillars
    python benchmarks/arena_references.py --planner CEM --planner UCT --times 50

A reference is exact where the optimum is known: by backward induction, by a dynamic programme, or
because nothing better is possible. Elsewhere it is the best mean of some planners with up to 20
times the largest budget of the challenge; or what is in the file, if that is better on as many
instances: more planners can only raise it. Random actions and references are means over the same
instances, those of the seeds 0, 1, ….
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import platypoos as pp
from platypoos.lab.arena.challenge import REFERENCES, Challenge, load_references
from platypoos.lab.arena.entrants import entrants, titles_of
from platypoos.lab.arena.families import CHALLENGES
from platypoos.lab.experiments.spec import Choice
from platypoos.models.base import said_of_one
from platypoos.planners import available
from platypoos.problems import Problem
from platypoos.progress import progress_bar

INSTANCES = 20
"""Seeds of the full arena."""
RANDOM_RUNS = 10
"""Runs with random actions on each instance, where values are not exact."""
CALLS = 20_000_000
"""Calls of a planner's searches on one challenge, about: some 30 s of compiled models."""
SLOW = 500
"""A call of a Gymnasium environment takes as long as so many compiled calls, about."""
PLANNERS = ("UCT", "SequenceSearch", "CEM")
Found = tuple[float, float, str]


def compiled(problem: Any) -> Any:
    return problem.compiled() if hasattr(problem, "compiled") else problem


def measured(challenge: Challenge, rewards: list[float]) -> float:
    """The measure of the rewards of a run."""
    discount = challenge.discount if challenge.measure == "expected" else 1.0
    return float(np.dot(discount ** np.arange(len(rewards)), rewards))


def random_run(challenge: Challenge, problem: Any, rng: np.random.Generator) -> float:
    """The measure of a run with random actions; without the noise if it is known."""
    model = compiled(problem)
    model = getattr(model, "acting", model)
    legal = said_of_one(model, "legal")
    state, rewards = model.initial_state, []
    mean = isinstance(problem, Problem) and challenge.access == "restore"
    for _ in range(challenge.steps):
        action = int(rng.integers(model.actions.n))
        if legal is not None:
            said = np.asarray(legal(state))
            action = int(rng.choice(np.flatnonzero(said) if said.dtype == bool else said))
        before = state
        state, reward, ended = tuple(model.step(state, action, rng))[:3]
        rewards.append(problem.mean_reward(before, action) if mean else float(reward))
        if ended:
            break
    return measured(challenge, rewards)


def random_mean(challenge: Challenge, instances: int, runs: int = RANDOM_RUNS) -> float:
    """The mean of random actions over the instances."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(instances):
        problem = challenge.make(seed)
        if challenge.measure == "regret":
            values = problem.action_values(problem.initial_state, challenge.discount)
            values = values[np.isfinite(values)]
            found.append(float((values.max() - values).mean()))
        else:
            found += [random_run(challenge, problem, rng) for _ in range(runs)]
    return float(np.mean(found))


def by_tables(challenge: Challenge, problem: Any) -> float:
    """Backward induction in a problem that can be solved."""
    discount = challenge.discount if challenge.measure == "expected" else 1.0
    return float(problem.finite_values(problem.initial_state, discount, challenge.steps).max())


def by_probabilities(challenge: Challenge, model: Any) -> float:
    """Backward induction in a Gymnasium environment that has a table of probabilities."""
    states, at = [model.initial_state], {model.initial_state: 0}
    for state in states:  # grows as it goes
        for action in range(model.actions.n):
            for _, after, _, ended in model.successors(state, action):
                if not ended and after not in at:
                    at[after] = len(states)
                    states.append(after)
    future = np.zeros(len(states))
    for _ in range(challenge.steps):
        values = np.zeros((len(states), model.actions.n))
        for i, state in enumerate(states):
            for action in range(model.actions.n):
                values[i, action] = sum(
                    chance * (reward + (0.0 if ended else future[at[after]]))
                    for chance, after, reward, ended in model.successors(state, action)
                )
        future = values.max(axis=1)
    return float(future[0])


def by_layers(challenge: Challenge, model: Any) -> float:
    """Forward induction over all states that can be reached; deterministic, no reward below 0."""
    rng = np.random.default_rng(0)
    start = model.initial_state
    layer: dict[Any, tuple[Any, float]] = {model.key(start): (start, 0.0)}
    best = 0.0
    for _ in range(challenge.steps):
        fresh: dict[Any, tuple[Any, float]] = {}
        for state, total in layer.values():
            for action in range(model.actions.n):
                after, reward, ended = tuple(model.step(state, action, rng))[:3]
                best = max(best, total + reward)
                key = model.key(after)
                if not ended and (key not in fresh or fresh[key][1] < total + reward):
                    fresh[key] = after, total + reward
        layer = fresh
    return best


def exact(challenge: Challenge, seed: int) -> tuple[float, str] | None:
    """The optimum of an instance and how it is known, or None."""
    problem = challenge.make(seed)
    name, value = challenge.problem.name, None
    if name == "travelling-salesman" and problem.num_cities <= 12:
        value, how = -problem.optimum(), "exact: the shortest tours, by dynamic programming"
    elif name == "travelling-salesman":
        value, how = -problem.reference, "tours improved by 2-opt; shorter ones may exist"
    elif name == "job-shop":
        value, how = -float(problem.optimum()), "exact: the shortest makespan, by branch and bound"
    elif name == "knapsack":
        value, how = float(problem.optimum()), "exact: the largest value, by dynamic programming"
    elif name == "pushing-boxes" and problem.solution_length() <= challenge.steps:
        value = float(len(problem.initial_state) - 1 + 10)
        how = f"exact: solved, which takes {problem.solution_length()} moves"
    elif name == "cart-pole":
        value, how = challenge.steps * problem.params[1] / 0.02, "exact: the pole never falls"
    elif isinstance(problem, Problem):
        value, how = by_tables(challenge, problem), "exact: by backward induction"
    elif hasattr(problem, "successors"):
        value = by_probabilities(challenge, problem)
        how = "exact: by backward induction over the table of the environment"
    elif "DoorKey" in str(challenge.problem.parameters):
        value, how = by_layers(challenge, problem), "exact: by a search of all states"
    return None if value is None else (float(value), how)


def searched(challenge: Challenge, planner: Choice, times: int, seed: int) -> float:
    """The measure of a run with many times the largest budget."""
    problem = challenge.make(seed)
    chosen = planner.make(available(), "planner", discount=challenge.discount)
    episode = pp.control(
        compiled(problem),
        planner=chosen,
        budget=times * challenge.budgets[-1] // challenge.frames,
        steps=challenge.steps,
        horizon=challenge.horizon,
        access=challenge.access,
        seed=seed,
    )
    return measured(challenge, list(episode.rewards))


def by_search(challenge: Challenge, args: argparse.Namespace) -> Found:
    """The best mean of the planners; with smaller budgets, then fewer instances, to save calls."""
    calls = args.calls // (SLOW if challenge.problem.name == "gymnasium" else 1)
    largest = challenge.budgets[-1] // challenge.frames * challenge.steps  # calls of a run
    instances = max(1, min(args.instances, calls // (2 * largest)))
    times = max(2, min(args.times, calls // (instances * largest)))
    random = random_mean(challenge, instances)
    best, who = random, "random actions"
    for planner in entrants(challenge, titles_of(args.planner or PLANNERS)):
        runs = [searched(challenge, planner, times, seed) for seed in range(instances)]
        if np.mean(runs) > best:
            best = float(np.mean(runs))
            who = f"{planner.title} with {times} times the largest budget"
    where = f"{instances} instance" + ("s" if instances > 1 else "")
    return random, best, f"best found, by {who}, on {where}; not known to be optimal"


def found(challenge: Challenge, args: argparse.Namespace) -> Found:
    """The measure of random actions, the reference, and where it is from."""
    instances = args.instances
    count = instances if challenge.varies else 1
    if challenge.measure == "regret":
        return random_mean(challenge, count), 0.0, "exact: the best action costs nothing"
    first = exact(challenge, 0)
    if first is None:
        return by_search(challenge, args)
    pairs: Iterator[Any] = map(partial(exact, challenge), range(1, count))
    optimum = float(np.mean([first[0], *(pair[0] for pair in pairs)]))
    runs = RANDOM_RUNS if challenge.varies else RANDOM_RUNS * instances
    random = random_mean(challenge, count, runs)
    return random, max(optimum, random), first[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="only challenges whose name contains this")
    parser.add_argument("--again", nargs="?", const="", help="also those that are in the file")
    parser.add_argument("--planner", action="append", help="an entrant of the arena; repeatable")
    parser.add_argument("--times", type=int, default=20, help="times the largest budget, at most")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of a search, at most")
    parser.add_argument("--instances", type=int, default=INSTANCES, help="how many seeds")
    args = parser.parse_args()
    known = load_references()
    data = {name: vars(entry) for name, entry in known.items()}
    wanted = args.only if args.again is None else args.again or args.only
    todo = [
        challenge
        for challenge in CHALLENGES
        if wanted in challenge.name and (args.again is not None or challenge.name not in known)
    ]
    with progress_bar(len(todo), "challenge", quiet=False) as bar:
        for challenge in todo:
            bar.set_postfix_str(challenge.name)
            random, reference, how = found(challenge, args)
            before = known.get(challenge.name)
            if before is not None and before.reference > reference:
                on, on_before = how.partition(", on ")[2], before.provenance.partition(", on ")[2]
                if on and on == on_before:  # searched, and on the same instances
                    random, reference, how = vars(before).values()
            data[challenge.name] = {"random": random, "reference": reference, "provenance": how}
            ordered = {one.name: data[one.name] for one in CHALLENGES if one.name in data}
            text = json.dumps(ordered, indent=1, ensure_ascii=False)
            REFERENCES.write_text(text + "\n", encoding="utf-8")
            bar.update()


if __name__ == "__main__":
    main()
