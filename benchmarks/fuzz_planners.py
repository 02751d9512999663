"""The fuzzer's planners: every one of them, with random settings."""

from __future__ import annotations

import random
from typing import Any

import platypoos as pp


def of_lists() -> list[str]:
    """The planners that choose from lists of actions, as the fuzzer's models have them."""
    return sorted(name for name, kind in pp.planners.available().items() if kind.lists)


def make_planner(draw: random.Random, name: str, discount: float) -> Any:
    """A planner with random settings."""
    kind = pp.planners.available()[name]
    high = draw.choice((1.0, 1.0, 1e-3, 1e9, 1e99))
    low = draw.choice((0.0, 0.0, -high, -1e99))
    length = draw.choice((1, 2, 5, 20, 300))
    settings: dict[str, Any] = {}
    if hasattr(kind, "reward_min"):
        settings |= {"reward_max": high, "reward_min": low}
    if name in {"uct", "polynomial-uct", "brue", "sequential-halving"}:
        settings["horizon"] = length
    if name in {"uct", "polynomial-uct"}:
        settings["scale"] = draw.choice(("auto", 1.0, 1e-9, 1e100)) if name == "uct" else high
    if name in {"olop", "stosoo"}:
        settings["noise"] = draw.choice((0.1, 1.0, 1e9))
    if name == "bai-mcts":
        settings |= {"depth": length, "rule": draw.choice(("ugape", "lucb"))}
    if name in {"trailblazer", "stop"}:
        settings["epsilon"] = draw.choice((0.5, 0.01, 100.0)) * (
            high - settings.get("reward_min", 0.0)
        )
    if name == "uniform":
        settings["share"] = draw.random() < 0.5
    if name == "platypoos":
        settings["budget_use"] = draw.choice(("full", "paper"))
    if name == "platypus":
        settings["stop_when_sure"] = draw.random() < 0.2
    if name == "sparse-sampling":
        settings |= {"width": draw.choice((None, 1, 3)), "depth": draw.choice((None, length))}
    if name == "hindsight":
        settings["futures"] = draw.choice((None, 1, 5))
    if name == "op-mdp":
        settings["samples"] = draw.choice((1, 8))
    if name == "gumbel-mcts":
        settings |= {"max_considered": length, "gumbel_scale": draw.choice((0.0, 1.0))}
    return kind(discount, **settings)
