"""The command plan: one action of a problem, and why."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.api import Agent, plan
from platypoos.cli.options import DEFAULT_BUDGET, PLANNER, add_options, make_planner, not_own
from platypoos.errors import InvalidArgument
from platypoos.named import make
from platypoos.problems import Problem
from platypoos.problems import available as problems
from platypoos.problems.base import optimal_values
from platypoos.results import Plan

COMPILE_FROM = 2_000_000
"""Budgets from here on are planned in machine code; below, compiling takes longer than it saves."""


def add_plan_command(commands: Any, examples: str) -> None:
    """Add the command to the command line."""
    one = commands.add_parser(
        "plan",
        help="plan the next action on a problem, and say why",
        description="Plan the next action on a problem, and say why.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument(
        "--problem",
        type=not_own,
        choices=sorted(problems()),
        default="switch-chain",
        metavar="PROBLEM",
        help="one of %(choices)s (%(default)s); for your own model, see 'platypoos explain'",
    )
    add_options(one, *PLANNER, "noise", "deadline", "access", "json", access="restore")
    one.add_argument("--schedule", action="store_true", help="also show what the planner opens")
    one.set_defaults(run=_plan)


def _plan(args: argparse.Namespace) -> None:
    settings = {} if args.noise is None else {"noise": args.noise}
    problem = make(problems(), "problem", args.problem, settings)
    planner = make_planner(args.planner, args.discount, args.set)
    budget = args.budget
    if args.deadline is None and budget is None:
        budget = DEFAULT_BUDGET
    model = problem.compiled() if budget is not None and budget >= COMPILE_FROM else problem
    if args.deadline is not None and planner.anytime:
        agent = Agent(model, planner=planner, deadline=args.deadline, access=args.access)
        agent.warm_up()  # before the clock starts
    found = plan(
        model,
        planner=planner,
        budget=budget,
        deadline=args.deadline,
        horizon=args.horizon,
        seed=args.seed,
        access=args.access,
    )
    optimal = _optimal(problem, found)
    schedule = None
    if args.schedule:
        if not hasattr(planner, "schedule"):
            raise InvalidArgument(
                f"{args.planner} has no schedule: what it opens depends on the rewards; pass "
                "--planner platypoos, or leave out --schedule"
            )
        schedule = planner.schedule(budget, found.space.n, args.access, args.horizon)
    if args.json:
        result = _as_json(args, found, optimal)
        if schedule is not None:
            columns = ("depth", "p", "evaluations", "quota", "nodes")
            result["schedule"] = [
                dict(zip(columns, r, strict=True)) for r in schedule.rows.tolist()
            ]
        print(json.dumps(result))
        return
    access = ", access reset (open loop)" if args.access == "reset" else ""
    print(f"{args.problem}, {args.planner}{access}, seed {args.seed}")
    print(found)
    if optimal is not None:
        regret = optimal.max() - optimal[found.action_index]
        best = found.action_names[int(optimal.argmax())]
        print(f"known answer: {best}; simple regret {regret:.6g}")
    if schedule is not None:
        print()
        print(schedule)


def _optimal(problem: Any, found: Plan) -> NDArray[np.float64] | None:
    """Q* of the state, where it is known and can be computed."""
    if not isinstance(problem, Problem):
        return None
    try:
        return optimal_values(problem, found)
    except InvalidArgument:  # it would take too long
        return None


def _as_json(
    args: argparse.Namespace,
    found: Plan,
    optimal: NDArray[np.float64] | None,
) -> dict[str, Any]:
    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "problem": args.problem,
        "planner": args.planner,
        "discount": found.discount,
        "access": args.access,
        "seed": args.seed,
        "action": found.action_index,
        "action_name": found.action_names[found.action_index],
        "actions": list(found.action_indices),
        "value": number(found.value),
        "action_values": [number(value) for value in found.action_values.tolist()],
        "lead": None if found.lead is None else found.lead._asdict(),
        "confidence": found.confidence,
        "enough": found.enough,
        "depth": found.depth,
        "calls": found.calls,
        "budget": found.budget,
        "reached": found.reached,
        "optimal_values": None if optimal is None else optimal.tolist(),
        "simple_regret": None if optimal is None else optimal.max() - optimal[found.action_index],
    }
