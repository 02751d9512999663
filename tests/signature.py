"""The signature: what every planner does on a fixed set of plans, as text that can be compared.

    python tests/signature.py        writes tests/signature.json

Refactoring leaves the signature alone. A change of behaviour changes it on purpose, in the same
commit; the line of a planner shows which one changed.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numba
from random_trees import PLANNERS, can_use

import platypoos as pp

FILE = Path(__file__).with_name("signature.json")
BUDGET, DISCOUNT, STEPS = 150, 0.9, 3


@numba.njit
def not_the_state(state, params, mask):
    mask[int(state[0]) % 3] = False


def models() -> dict[str, Any]:
    """Each kind of model: with and without noise, ends and masks."""
    silent = pp.problems.Garnet(12, 3, seed=1, num_terminal=1)
    noisy = pp.problems.Garnet(12, 3, seed=2, noise=0.5)
    return {
        "function": noisy,
        "function, no noise, ends": silent,
        "array": noisy.array(),
        "compiled": noisy.compiled(),
        "compiled, no noise, ends": silent.compiled(),
        "compiled, masked": dataclasses.replace(noisy.compiled(), legal=not_the_state),
    }


def facts(plan: pp.Plan) -> str:
    """What a plan says; nine digits of each number, since the last ones depend on the processor."""
    actions = " ".join(map(str, plan.actions))
    values = " ".join(f"{value:.9g}" for value in plan.action_values)
    return f"{plan.calls} calls, actions {actions}, value {plan.value:.9g} of {values}"


def signature_of(name: str) -> dict[str, str]:
    """Single plans for each kind of model and access, and an episode, which uses the memory."""
    planner = PLANNERS[name](DISCOUNT)
    seen: dict[str, str] = {}
    for label, model in models().items():
        for access in ("restore", "reset"):
            if can_use(name, access):
                plan = planner.plan(model, budget=BUDGET, seed=7, access=access)
                seen[f"{label}, {access}"] = facts(plan)
        episode = pp.control(model, planner=planner, budget=BUDGET, steps=STEPS, seed=8)
        actions, calls = (" ".join(map(str, x)) for x in (episode.actions, episode.step_calls))
        seen[f"{label}, episode"] = f"actions {actions}, calls {calls}"
    return seen


def changes(name: str, before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What a planner does in another way: what it did, and what it does now."""
    return [
        f"{name}, {label}\n- {before.get(label)}\n+ {now.get(label)}\n"
        for label in dict.fromkeys([*before, *now])
        if before.get(label) != now.get(label)
    ]


def main() -> None:
    """Write the file, and say what changed."""
    before = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    now = {name: signature_of(name) for name in sorted(PLANNERS)}
    FILE.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    for name in sorted({*before, *now}):
        sys.stdout.writelines(changes(name, before.get(name, {}), now.get(name, {})))


if __name__ == "__main__":
    main()
