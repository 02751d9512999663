"""Plans as plain data, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.explain.origin import Origin
from platypoos.explain.sequences import Line, lines_of, rule_line
from platypoos.explain.verdict import Lead
from platypoos.markup import check_version, plain
from platypoos.models.points import as_action
from platypoos.spaces import Box, Discrete, MultiDiscrete, Space, Tried
from platypoos.trees.tree import ROOT, TERMINAL, make_tree, set_node, set_root

if TYPE_CHECKING:
    from platypoos.results import Plan

VERSION = 1
PLAN = "platypoos plan"


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """See ``Plan.as_dict``."""
    origin = plan.origin
    lines, rule = lines_of(plan), rule_line(plan)
    return {
        "kind": PLAN,
        "version": VERSION,
        "action": plan.action_index,
        "action_name": plan.action_names[plan.action_index],
        "value": plain(plan.value),
        "lead": None if plan.lead is None else plain(list(plan.lead)),
        "heard": None if plan.heard is None else plain(list(plan.heard)),
        "rival": plan.rival,
        "confidence": plan.confidence,
        "enough": plan.enough,
        "reached": plan.reached,
        "note": plan.note,
        "calls": plan.calls,
        "budget": plan.budget,
        "depth": plan.depth,
        "discount": plan.discount,
        "horizon": plan.horizon,
        "reward_floor": plain(plan.reward_floor),
        "noise": None if plan.noise is None else plain(list(plan.noise)),
        "state": plain(plan.state),
        "action_names": list(plan.action_names),
        "coordinate_names": list(plan.coordinate_names),
        "payloads": stored_payloads(plan.space),
        "space": stored_space(plan.space),
        "action_values": plain(plan.action_values.tolist()),
        "sequences": [_line_as_dict(line) for line in lines.values()],
        "improvement": None if plan.improvement is None else plain(list(plan.improvement)),
        "rule": None if rule is None else _line_as_dict(rule),
        "outcomes": [
            {
                "probability": outcome.probability,
                "state": plain(outcome.state),
                "ends": outcome.ends,
                "action": outcome.action_index,
            }
            for outcome in plan.outcomes
        ],
        "planner": None if origin is None else origin.planner_name,
        "model": None if origin is None else origin.model_code,
        "access": None if origin is None else origin.access,
        "seed": origin.seed if origin is not None and isinstance(origin.seed, int) else None,
    }


def stored_payloads(space: Space) -> list[Any] | None:
    """The actions as plain data; None if they are only numbered."""
    if isinstance(space, Tried):
        return [np.asarray(action).tolist() for action in space.payloads]
    return None if space.is_numbered else [plain(action) for action in space.payloads]


def stored_space(space: Space) -> dict[str, Any] | None:
    """Where the actions are from, if they are some of a box; None if they are all."""
    if not isinstance(space, Tried):
        return None
    of: Any = space.of
    if isinstance(of, MultiDiscrete):
        return {"firsts": space.firsts, "sizes": of.sizes.tolist()}
    bounds = {"low": of.low.tolist(), "high": of.high.tolist(), "dtype": str(of.low.dtype)}
    return {"firsts": space.firsts, **bounds}


def restored_space(
    payloads: list[Any] | None, number: int, stored: dict[str, Any] | None = None
) -> Space:
    """The actions from what was stored: as plain data, or only their numbers."""
    if payloads is not None and stored is not None:
        of: Space
        if "sizes" in stored:
            of = MultiDiscrete(stored["sizes"])
        else:
            kind = np.dtype(stored["dtype"])
            of = Box(np.array(stored["low"], kind), np.array(stored["high"], kind))
        actions = [as_action(of, tuple(np.ravel(action))) for action in payloads]
        return Tried(of, actions, stored["firsts"])
    if payloads is not None:
        try:
            return Discrete(payloads)
        except InvalidArgument:  # as text, two of them are the same
            pass
    return Discrete(number)


def _line_as_dict(line: Line) -> dict[str, Any]:
    return {
        "action": line.action,
        "value": plain(line.value),
        "interval": plain(line.interval),
        "steps": [
            {
                "action": step.action,
                "reward": plain(step.reward),
                "samples": step.samples,
                "ends": step.ends,
                "source": step.source,
                "state": plain(step.state),
                **({"parts": plain(step.parts)} if step.parts else {}),
            }
            for step in line.steps
        ],
    }


def check_kind(data: dict[str, Any], kind: str, newest: int = VERSION) -> None:
    """Raise if data is something else, or newer than this version of platypoos."""
    if data.get("kind") != kind:
        raise InvalidArgument(f"this is not a {kind}: its kind is {data.get('kind')!r}")
    check_version(data, newest)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def plan_fields(data: dict[str, Any]) -> dict[str, Any]:
    """What ``Plan.from_dict`` needs."""
    check_kind(data, PLAN)
    sequences = data["sequences"]
    rule = data.get("rule")
    lines = [*sequences, *([] if rule is None else [rule])]
    tree = make_tree(1 + sum(len(line["steps"]) for line in lines))
    set_root(tree)
    states: dict[int, Any] = {}
    parts: dict[int, dict[str, float]] = {}
    sources = np.zeros(len(tree.parent), np.int64)
    size, ends = 1, []
    for line in lines:
        last = ROOT
        for t, step in enumerate(line["steps"]):
            set_node(tree, size, last, step["action"], t + 1, 0)
            tree.pulls[size] = step["samples"]
            tree.reward[size] = _number(step["reward"])
            tree.value[size] = 0.0
            tree.flags[size] = TERMINAL if step["ends"] else 0
            sources[size] = step["source"]
            if step["state"] is not None:
                states[size] = step["state"]
            if "parts" in step:
                parts[size] = {name: _number(part) for name, part in step["parts"].items()}
            last, size = size, size + 1
        ends.append(last)
    tree.size[0] = size
    chosen = [line["action"] for line in sequences].index(data["action"])
    heard = data["heard"]
    space = restored_space(data.get("payloads"), len(data["action_values"]), data.get("space"))
    return {
        "action": space.payloads[data["action"]],
        "action_index": data["action"],
        "space": space,
        "value": _number(data["value"]),
        "calls": data["calls"],
        "budget": data["budget"],
        "discount": data["discount"],
        "state": data["state"],
        "node": ends[chosen],
        "rule_node": None if rule is None else ends[-1],
        "improvement": data.get("improvement"),
        "tree": tree,
        "reward_floor": _number(data["reward_floor"]),
        "estimates": np.array([_number(value) for value in data["action_values"]]),
        "heard": None if heard is None else Lead(*heard),
        "rival_index": data["rival"],
        "confidence": data["confidence"],
        "enough": data["enough"],
        "reached": data["reached"],
        "note": data.get("note", ""),
        "horizon": data["horizon"],
        "states": states,
        "parts": parts,
        "sources": sources,
        "noise": data["noise"],
        "outcomes": [
            (
                found["probability"],
                found["state"],
                found["ends"],
                None if found["action"] is None else space.payloads[found["action"]],
                found["action"],
            )
            for found in data.get("outcomes", [])
        ],
        "depth": data["depth"],
        "action_names": tuple(data["action_names"]),
        "coordinate_names": tuple(data.get("coordinate_names", ())),
        "origin": Origin(
            None, data["planner"], data["seed"], data["access"], None, data["model"] or "Model"
        ),
    }
