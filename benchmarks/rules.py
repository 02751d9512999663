"""Compare planners with the rule that a practitioner would write.

Five problems of operations. Demand, arrivals and prices are drawn in advance from the instance's
seed, so the dynamics are deterministic, and the model knows them; the rules do not look ahead.
The numbers in the rules are the best of a few, tried on seeds 1,000 to 1,039.
Budgets are roll-outs per action: a roll-out has the steps until γ^t is a fifth, at least 12.

python benchmarks/rules.py                                   # 10 seeds; 1, 2 and 10 roll-outs
python benchmarks/rules.py --quick --problem battery heating
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import trials
from trials import Maker, Problem, Row, cell, paired, select, verdict

DISCOUNT = 0.95
AHEAD = 200
"""Data are drawn for so many steps after the last decision; plans may look as far."""


def inventory(seed: int) -> Problem:
    """Order stock: 12 order sizes, two periods of lead time, lost sales.

    Tests delayed effects and many actions: an order costs now, and pays three steps later.
    """
    steps, lot, safety = 60, 3, 6
    rng = np.random.default_rng(seed)
    season = 8 + 4 * np.sin(2 * np.pi * (np.arange(steps + AHEAD) / 20 + rng.random()))
    demand, usual = rng.poisson(season).tolist(), list(map(float, season))

    def step(state: tuple[int, int, int, int], action: int, _: Any) -> Any:
        t, stock, first, second = state  # what arrives now, and one period later
        stock += first
        sold = min(stock, demand[t])
        left, lost = stock - sold, demand[t] - sold
        reward = 4.0 * sold - 1.5 * lot * action - 0.25 * left - 1.0 * lost
        return (t + 1, left, second, lot * action), reward, False

    def rule(state: tuple[int, int, int, int]) -> int:
        """Order up to a level: the usual demand of the next three periods, and some more."""
        t = state[0]
        missing: float = sum(usual[t : t + 3]) + safety - sum(state[1:])
        return min(11, max(0, round(missing / lot)))

    return Problem(
        step=step, actions=12, initial_state=(0, 10, 9, 9), rule=rule, steps=steps,
        discount=DISCOUNT,
    )  # fmt: skip


def elevator(seed: int) -> Problem:
    """Move an elevator: 6 floors, 4 places; up, down, or open the doors.

    Tests delayed rewards with small differences on the way: a detour costs only waiting time.
    """
    steps, floors, places = 80, 6, 4
    rng = np.random.default_rng(seed)
    calls: list[list[tuple[int, int, int]]] = []  # for each time: (number, from, to)
    number = 0
    for _ in range(steps + AHEAD):
        now = []
        if rng.random() < 0.22:
            start, end = rng.choice(floors, 2, replace=False).tolist()
            if rng.random() < 0.4:  # many people come in at the ground floor
                start, end = 0, max(1, end, start)
            now.append((number, start, end))
            number += 1
        calls.append(now)

    def step(state: Any, action: int, _: Any) -> Any:
        t, floor, waiting, riding = state
        reward = 0.0
        if action == 0:
            floor = min(floors - 1, floor + 1)
        elif action == 1:
            floor = max(0, floor - 1)
        else:
            staying = tuple(one for one in riding if one[2] != floor)
            reward += 5.0 * (len(riding) - len(staying))
            here = [one for one in waiting if one[1] == floor][: places - len(staying)]
            riding = staying + tuple(here)
            waiting = tuple(one for one in waiting if one not in here)
        reward -= 0.2 * (len(waiting) + len(riding))
        return (t + 1, floor, waiting + tuple(calls[t]), riding), reward, False

    def rule(state: Any) -> int:
        """Serve the nearest: somebody's floor to leave at, or to get in if there is a place."""
        _, floor, waiting, riding = state
        targets = [one[2] for one in riding]
        if len(riding) < places:
            targets += [one[1] for one in waiting]
        if not targets:
            return 2
        nearest = min(targets, key=lambda target: abs(target - floor))
        return 2 if nearest == floor else 0 if nearest > floor else 1

    return Problem(
        step=step, actions=3, initial_state=(0, 0, (), ()), rule=rule, steps=steps,
        discount=DISCOUNT,
    )  # fmt: skip


def heating(seed: int) -> Problem:
    """Run a heat pump: off, low or on, with a tariff over the day; steps of half an hour.

    Tests small rewards that add up: heat is stored in the house before energy becomes expensive.
    """
    steps, heat, energy = 72, (0.0, 0.45, 0.75), (0.0, 1.0, 2.0)
    rng = np.random.default_rng(seed)
    hours = (np.arange(steps + AHEAD) / 2 + rng.uniform(0, 24)) % 24
    outside = (
        2 + 5 * np.cos(2 * np.pi * (hours - 15) / 24) + rng.normal(0, 1, len(hours))
    ).tolist()
    tariff = np.where((hours >= 17) & (hours < 21), 0.5, np.where(hours < 6, 0.12, 0.25)).tolist()

    def step(state: tuple[int, float], action: int, _: Any) -> Any:
        t, inside = state
        inside = round(inside + 0.02 * (outside[t] - inside) + heat[action], 2)
        discomfort = max(0.0, 20 - inside) + max(0.0, inside - 23)
        return (t + 1, inside), -tariff[t] * energy[action] - discomfort, False

    def rule(state: tuple[int, float]) -> int:
        """A thermostat with two stages."""
        return 2 if state[1] < 20.0 else 1 if state[1] < 20.4 else 0

    return Problem(
        step=step, actions=3, initial_state=(0, 21.0), rule=rule, steps=steps, discount=DISCOUNT
    )


def battery(seed: int) -> Problem:
    """Run a battery beside a solar roof: five levels from discharge to charge; steps of an hour.

    Tests costs now for gains hours later, with limits that make many sequences equal.
    """
    steps, room, kept = 72, 8, 0.9
    rng = np.random.default_rng(seed)
    hours = (np.arange(steps + AHEAD) + int(rng.integers(24))) % 24
    wave = 0.3 + 0.08 * np.sin(2 * np.pi * (hours - 14) / 12) + 0.05 * np.sin(np.pi * hours / 12)
    price = np.clip(wave + rng.normal(0, 0.04, len(hours)), 0.02, None).tolist()
    clouds = rng.uniform(0.2, 1, len(hours))
    solar = (3 * clouds * np.clip(np.sin(np.pi * (hours - 6) / 12), 0, None)).tolist()
    load = (1 + rng.random(len(hours))).tolist()
    low, high = np.quantile(price[:steps], [0.35, 0.65]).tolist()

    def step(state: tuple[int, int], action: int, _: Any) -> Any:
        t, charge = state
        after = min(room, max(0, charge + action - 2))
        moved = after - charge
        bought = load[t] - solar[t] + (moved / kept if moved > 0 else moved * kept)
        reward = -price[t] * bought if bought > 0 else -0.5 * price[t] * bought
        return (t + 1, after), reward, False

    def rule(state: tuple[int, int]) -> int:
        """Charge if the price is clearly below the median, discharge if clearly above."""
        now = price[state[0]]
        return 3 if now < low else 1 if now > high else 2

    return Problem(
        step=step, actions=5, initial_state=(0, 4), rule=rule, steps=steps, discount=DISCOUNT
    )


def dispatch(seed: int) -> Problem:
    """Choose the next job: three machines, due dates, set-up times; wait, or one of five jobs.

    Tests choices whose costs come late: tardiness is paid while a late job is unfinished.
    """
    steps, machines, shown = 70, 3, 5
    rng = np.random.default_rng(seed)
    jobs: list[tuple[int, int, int, int]] = []  # number, due date, length, family
    arrivals: list[list[tuple[int, int, int, int]]] = []
    for t in range(steps + AHEAD):
        now = []
        if rng.random() < 0.66:
            length = int(rng.integers(2, 7))
            due = t + length + int(rng.integers(2, 14))
            now.append((len(jobs), due, length, int(rng.integers(3))))
            jobs += now
        arrivals.append(now)

    def visible(queue: Any) -> Any:
        """The most urgent jobs, in the order in which they came."""
        return sorted(sorted(queue, key=lambda job: job[1])[:shown])

    def step(state: Any, action: int, _: Any) -> Any:
        t, lines, queue, running = state  # lines: (free at, family) of each machine
        choice = visible(queue)
        free = [number for number in range(machines) if lines[number][0] <= t]
        if free and 0 < action <= len(choice):
            job = choice[action - 1]
            number = min(free, key=lambda one: lines[one][1] != job[3])  # set up already, if any
            set_up = 0 if lines[number][1] == job[3] else 2
            end = t + set_up + job[2]
            lines = (*lines[:number], (end, job[3]), *lines[number + 1 :])
            queue = tuple(one for one in queue if one != job)
            running = (*running, (end, job[1]))
        late = sum(due <= t for _, due, _, _ in queue) + sum(due <= t for _, due in running)
        t += 1
        running = tuple(one for one in running if one[0] > t)
        return (t, lines, queue + tuple(arrivals[t - 1]), running), -float(late), False

    def rule(state: Any) -> int:
        """The earliest due date, as soon as a machine is free; a set-up counts as 4 periods."""
        t, lines, queue, _ = state
        families = {family for free_at, family in lines if free_at <= t}
        if not queue or not families:
            return 0
        choice: list[Any] = visible(queue)
        urgent = min(choice, key=lambda job: job[1] + 4 * (job[3] not in families))
        return 1 + choice.index(urgent)

    start = (0, tuple((0, family) for family in range(machines)), (), ())
    return Problem(
        step=step, actions=1 + shown, initial_state=start, rule=rule, steps=steps,
        discount=DISCOUNT,
    )  # fmt: skip


PROBLEMS: dict[str, Maker] = {
    "inventory": inventory,
    "elevator": elevator,
    "heating": heating,
    "battery": battery,
    "dispatch": dispatch,
}


def calls(problem: Problem, rollouts: int) -> int:
    """The budget of a decision: so many roll-outs per action."""
    return rollouts * problem["actions"] * trials.rollout_length(problem["discount"])


def play(name: str, planner: str, with_rule: bool, rollouts: int, seed: int) -> Row:
    """One episode; policies have no roll-outs."""
    problem = PROBLEMS[name](seed)
    budget = calls(problem, rollouts)
    run = trials.play(problem, planner, budget, seed, with_rule=with_rule)
    return {
        "benchmark": "rules", "problem": name, "planner": planner, "rule": with_rule,
        "rollouts": rollouts, "budget": budget, "seed": seed, "score": run.total,
    }  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--problem", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--tell", choices=("both", "rule", "nothing"), default="both",
                        help="whether the planner is told the rule")  # fmt: skip


def main() -> None:
    """Play, and print a table."""
    args = trials.parse(
        str(__doc__), budgets=(1, 2, 10), planners=("Platypus",), seeds=10,
        quick_budgets=(1, 2), quick_seeds=4, more=add_options,
    )  # fmt: skip
    told = {"both": (False, True), "rule": (True,), "nothing": (False,)}[args.tell]
    names = [name for name in args.planner if name in trials.PLANNERS]
    cases = [("Rule", False, 0), ("Random", False, 0), ("Greedy", False, 0)]
    cases += [(name, rule, rollouts) for rollouts in args.budgets for name in names
              for rule in told]  # fmt: skip
    tasks = [(problem, *case, seed) for problem in args.problem for case in cases
             for seed in args.seeds]  # fmt: skip
    rows = trials.measure(play, tasks, args)
    lines = []
    for problem in args.problem:
        by_rule = select(rows, problem=problem, planner="Rule")
        for name, rule, rollouts in cases:
            ours = select(rows, problem=problem, planner=name, rule=rule, rollouts=rollouts)
            differences = paired(ours, by_rule)
            is_rule = name == "Rule"
            lines.append((
                problem, name + (" + rule" if rule else ""), rollouts or "",
                ours[0]["budget"] or "", cell([row["score"] for row in ours], 1),
                "" if is_rule else cell(differences, 1), "" if is_rule else verdict(differences),
            ))  # fmt: skip
    print(f"Total reward, discount {DISCOUNT}, {len(args.seeds)} instances")
    heads = ("problem", "planner", "roll-outs", "calls", "total", "minus the rule", "")
    trials.print_table(heads, lines)
    settings = ("benchmark", "problem", "planner", "rule", "rollouts")
    trials.print_against(rows, args.against, settings)


if __name__ == "__main__":
    main()
