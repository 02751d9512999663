"""Ends: when to stop, when to go on, and when not to die; regret to the exact optimum.

The problems are small, so that value iteration solves them. The regret of an episode is the sum
over its steps of γ^t·(V*(s) − Q*(s, a)): what its actions lost against the optimum, whatever
happens after the last step. "share" in the rows is the regret divided by V* − V of random actions.

A planner that notices that two sequences lead to the same state solves most of these problems. With
"separate" states the model adds the past to each state, so that none is reached twice.

python benchmarks/stopping.py                                # half an hour on one core
python benchmarks/stopping.py --quick --problem pillars --planner Platypus UCT
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import trials
from numpy.typing import NDArray
from trials import Maker, Problem, Row, State, cell, select

DISCOUNT = 0.95
STATES = ("shared", "separate")
PLANNERS = ("Platypus", "UCT", "CEM", "PlaTyPOOS", "OneStep", "Random")


def problem_of(step: Any, actions: int, start: State, steps: int = 60) -> Problem:
    """A problem without a rule."""
    return Problem(
        step=step, actions=actions, initial_state=start, rule=None, steps=steps, discount=DISCOUNT
    )


def stopping(seed: int) -> Problem:
    """Each step costs 1; one may stop at any time for a prize that grows on some steps only.

    Tests whether an end with a reward is taken in time: going on for ever costs 20.
    """
    rng = np.random.default_rng(seed)
    last = 30
    grows = rng.random((last, 2)) < np.linspace(0.6, 0.05, last)[:, None]
    growth = (grows * rng.integers(2, 7, (last, 2))).tolist()

    def step(state: tuple[int, int], action: int, _: Any) -> Any:
        t, prize = state
        if action == 2:
            return state, float(prize), True
        more = growth[t][action] if t < last else 0
        return (min(last, t + 1), prize + more), -1.0, False

    return problem_of(step, 3, (0, 0))


def cliff(seed: int) -> Problem:
    """A ledge of two lanes: +1 for each step on it; over the edge is a coin of 4 to 8, and death.

    Tests long horizons: staying is worth 20, but random roll-outs from there soon fall.
    """
    rng = np.random.default_rng(seed)
    length = 12
    coins = rng.integers(4, 9, (length, 2)).tolist()

    def step(state: tuple[int, int], action: int, _: Any) -> Any:
        place, lane = state
        after = lane + action - 1  # left, straight, right
        if not 0 <= after < 2:
            return state, float(coins[place][lane]), True
        return ((place + 1) % length, after), 1.0, False

    return problem_of(step, 3, (0, 0), steps=80)


def pillars(seed: int) -> Problem:
    """Fly between walls with gaps: the middle pays most, gaps are anywhere, a crash costs 10.

    Tests sequences that are kept from step to step: a good one leads into the next wall.
    """
    rng = np.random.default_rng(seed)
    lanes, spacing, walls = 9, 10, 5
    gaps = rng.integers(0, lanes, walls).tolist()

    def step(state: tuple[int, int], action: int, _: Any) -> Any:
        place, lane = state
        lane = min(lanes - 1, max(0, lane + action - 1))
        place = (place + 1) % (spacing * walls)
        if place % spacing == 0 and abs(lane - gaps[place // spacing]) > 1:
            return (place, lane), -10.0, True
        return (place, lane), 1.0 - 0.1 * abs(lane - lanes // 2), False

    return problem_of(step, 3, (1, lanes // 2), steps=80)


def exit_problem(seed: int, prize: float) -> Problem:
    """A round of 7 states: one of three moves pays 1, the others 0.2; one state has an exit."""
    rng = np.random.default_rng(seed)
    size = 7
    right, door = rng.integers(0, 3, size).tolist(), int(rng.integers(2, size))

    def step(state: int, action: int, _: Any) -> Any:
        if action == 3:
            return (state, prize, True) if state == door else ((state + 1) % size, 0.0, False)
        return (state + 1) % size, 1.0 if action == right[state] else 0.2, False

    return problem_of(step, 4, 0)


def small_prize(seed: int) -> Problem:
    """Leaving pays 13, going on well is worth 20, and going on at random 8.

    Tests whether going on is judged by what good actions get there.
    """
    return exit_problem(seed, 13.0)


def large_prize(seed: int) -> Problem:
    """Leaving pays 27, going on well is worth 20.

    Tests whether an end is taken though every step before it pays.
    """
    return exit_problem(seed, 27.0)


def path(seed: int) -> Problem:
    """The cheapest way through a grid of 8 × 8 fields: each step costs 1 to 3, the goal ends it.

    Tests ends where all rewards are negative: only the end stops the costs.
    """
    rng = np.random.default_rng(seed)
    size = 8
    cost = rng.integers(1, 4, (size, size)).tolist()

    def step(state: tuple[int, int], action: int, _: Any) -> Any:
        row, column = state
        down, right = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
        row = min(size - 1, max(0, row + down))
        column = min(size - 1, max(0, column + right))
        return (row, column), -float(cost[row][column]), (row, column) == (size - 1, size - 1)

    return problem_of(step, 4, (0, 0))


PROBLEMS: dict[str, Maker] = {
    "stopping": stopping,
    "cliff": cliff,
    "pillars": pillars,
    "small-prize": small_prize,
    "large-prize": large_prize,
    "path": path,
}


def separated(problem: Problem) -> Problem:
    """The same problem, but every sequence of actions leads to a state of its own."""
    inner = problem["step"]

    def step(state: tuple[State, int], action: int, rng: Any) -> Any:
        after, reward, ended = inner(state[0], action, rng)
        return (after, hash((state[1], action))), reward, ended

    return Problem(**{**problem, "step": step, "initial_state": (problem["initial_state"], 0)})


@dataclass(frozen=True)
class Solution:
    """The exact values of all states that can be reached."""

    number: dict[State, int]
    best: NDArray[np.float64]  # [states] V*
    values: NDArray[np.float64]  # [states, actions] Q*
    random: NDArray[np.float64]  # [states] value of random actions

    def regret(self, run: trials.Run, discount: float) -> float:
        """What the actions of an episode lost against the optimum, discounted."""
        lost, weight = 0.0, 1.0
        for state, action in zip(run.states, run.actions, strict=False):
            at = self.number[state]
            lost += weight * float(self.best[at] - self.values[at, action])
            weight *= discount
        return lost


def solve(problem: Problem, accuracy: float = 1e-9) -> Solution:
    """Value iteration over the states that can be reached from the first one."""
    step, count, gamma = problem["step"], problem["actions"], problem["discount"]
    states = [problem["initial_state"]]
    number = {states[0]: 0}
    rewards, following, goes_on = [], [], []
    for state in states:  # grows while it is read
        after = [step(state, action, None) for action in range(count)]
        for following_state, _, ended in after:
            if not ended and following_state not in number:
                number[following_state] = len(states)
                states.append(following_state)
        rewards.append([reward for _, reward, _ in after])
        goes_on.append([not ended for _, _, ended in after])
        following.append([0 if ended else number[one] for one, _, ended in after])
    reward, index, more = np.array(rewards), np.array(following), gamma * np.array(goes_on)
    best, random = np.zeros(len(states)), np.zeros(len(states))
    while True:
        values = reward + more * best[index]
        under_random = (reward + more * random[index]).mean(axis=1)
        change = max(np.abs(values.max(axis=1) - best).max(), np.abs(under_random - random).max())
        best, random = values.max(axis=1), under_random
        if change < accuracy:
            return Solution(number, best, values, random)


def play(name: str, states: str, planner: str, budget: int, noise: float, seed: int) -> Row:
    """One episode; the score is minus the regret."""
    problem = PROBLEMS[name](seed)
    planned = problem if states == "shared" else separated(problem)
    model = trials.as_model(planned, with_rule=False, noise=noise)
    run = trials.play(problem, planner, budget, seed, model=model)
    solution = solve(problem)
    regret = solution.regret(run, problem["discount"])
    return {
        "benchmark": "stopping", "problem": name, "states": states, "planner": planner,
        "budget": budget, "noise": noise, "seed": seed, "score": -regret,
        "share": regret / float(solution.best[0] - solution.random[0]),
        "optimum": float(solution.best[0]), "ended": run.ended, "decisions": len(run.actions),
    }  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--problem", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0], help="± this, uniform")
    parser.add_argument("--states", nargs="+", choices=STATES, default=list(STATES))


def main() -> None:
    """Play, and print a table."""
    args = trials.parse(
        str(__doc__), budgets=(30, 100, 1_000), planners=PLANNERS, seeds=20,
        quick_budgets=(100,), quick_seeds=5, more=add_options,
    )  # fmt: skip
    cases = [(problem, states, budget, noise) for problem in args.problem for states in args.states
             for noise in args.noise for budget in args.budgets]  # fmt: skip
    tasks = [(problem, states, planner, budget, noise, seed)
             for problem, states, budget, noise in cases for planner in args.planner
             for seed in args.seeds]  # fmt: skip
    rows = trials.measure(play, tasks, args)
    lines = []
    for problem, states, budget, noise in cases:
        here = select(rows, problem=problem, states=states, budget=budget, noise=noise)
        optimum = np.mean([row["optimum"] for row in here])
        found = [select(here, planner=planner) for planner in args.planner]
        cells = [f"{cell([-row['score'] for row in ours], 1)} ({sum(row['ended'] for row in ours)})"
                 for ours in found]  # fmt: skip
        lines.append((problem, states, f"±{noise:g}", budget, f"{optimum:.1f}", *cells))
    print(f"Regret to the optimum, discount {DISCOUNT}, {len(args.seeds)} instances; in brackets: "
          "episodes that ended")  # fmt: skip
    trials.print_table(("problem", "states", "noise", "calls", "optimum", *args.planner), lines)
    settings = ("benchmark", "problem", "states", "planner", "budget", "noise")
    trials.print_against(rows, args.against, settings)


if __name__ == "__main__":
    main()
