"""``platypoos planners``: what each planner can do and needs, as a table or one by one."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from platypoos.checks import nearest, required_fields
from platypoos.cli.options import parameters
from platypoos.planners import available
from platypoos.search.base import Planner

HEADS = {
    "planner": "",
    "actions": "a list of them, a box of numbers, or both",
    "chance": "yes: it reacts to chance; else it plans one sequence for all outcomes, by reset",
    "deadline": "it stops at any time, or repeats plans with growing budgets until time is up",
    "uses": "what it makes use of, if the model has it",
    "memory": "it keeps what it knows from step to step of an episode",
    "workers": "of an executor that it keeps busy, with a list of actions if it takes one",
    "guarantee": "what is proved of it, under the conditions of its paper",
}


def add_planners_command(commands: Any) -> None:
    """Add the command to a parser."""
    command = commands.add_parser(
        "planners",
        help="list the planners, what they can do, and what each needs to know",
        description="List the planners in a table; or, of some, what each needs to know, its "
        "parameters and its reference.",
        epilog="examples:\n  platypoos planners\n  platypoos planners uct cem",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("name", nargs="*", help="only these, in detail")
    command.add_argument("--json", action="store_true", help="print JSON, with all details")
    command.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    kinds = available()
    chosen = {name: kinds[nearest(name, kinds, "planner")] for name in args.name or kinds}
    if args.json:
        rows = [_details(name, kind) for name, kind in chosen.items()]
        print(json.dumps(rows, default=dataclasses.asdict))
    elif args.name:
        for name, kind in chosen.items():
            _print_details(_details(name, kind))
    else:
        _print_table(chosen)


def _abilities(name: str, kind: type[Planner]) -> dict[str, Any]:
    """A row of the table."""
    actions = [what for what, can in (("list", kind.lists), ("box", kind.boxes)) if can]
    uses = {"policy": "rule"}
    return {
        "planner": name,
        "actions": " ".join(actions),
        "chance": "yes" if kind.reacts else "",
        "deadline": "anytime" if kind.anytime else "repeats",
        "uses": " ".join(uses.get(use, use) for use in kind.uses),
        "memory": "yes" if kind.remember is not Planner.remember else "",
        "workers": kind.workers,
        "guarantee": kind.guarantee,
    }


def _print_table(kinds: dict[str, type[Planner]]) -> None:
    rows = [_abilities(name, kind) for name, kind in kinds.items()]
    wide = {head: max(len(head), *(len(row[head]) for row in rows)) for head in HEADS}
    for row in ({head: head for head in HEADS}, *rows):
        print("  ".join(f"{row[head]:<{wide[head]}}" for head in HEADS).rstrip())
    print()
    for head, meaning in HEADS.items():
        if meaning:
            print(f"{head:<{wide['planner']}}  {meaning}")
    print("\nplatypoos planners NAME: what it needs to know, its parameters, its reference")


def _details(name: str, kind: type[Planner]) -> dict[str, Any]:
    return {
        **_abilities(name, kind),
        "needs": kind.needs,
        "uses": ["legal", *kind.uses] if kind.lists else list(kind.uses),
        "horizon": kind.finite,
        "parameters": {
            key: "required" if key in required_fields(kind) else field.default
            for key, field in parameters(kind).items()
        },
        "access": [access.value for access in kind.access],
        "reacts": kind.reacts,
        "reference": kind.citation,
        "summary": (kind.__doc__ or "").split("\n", 1)[0],
    }


def _print_details(row: dict[str, Any]) -> None:
    print(f"{row['planner']}: {row['summary']}")
    chance = "; reacts to chance" if row["reacts"] else ""
    print(f"    needs: {row['needs']}; access: {', '.join(row['access'])}{chance}")
    horizon = "takes a horizon" if row["horizon"] else "takes no horizon"
    print(f"    uses of a model: {', '.join(row['uses'])}; {horizon}")
    settings = [
        key if value == "required" else f"[{key}={value}]"
        for key, value in row["parameters"].items()
    ]
    if settings:
        print(f"    --set: {' '.join(settings)}")
    print(f"    reference: {row['reference']}")
