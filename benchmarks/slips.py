"""A frozen lake: plan as if nothing slips and again at every step, or with chance.

    python benchmarks/slips.py

prints how many of 40 runs reach the goal, and the same for Gymnasium's own slippery lake.
The figures are in docs/concepts/access.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import platypoos as pp

LAKE = "SFFFFHFHFFFHHFFG"
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
BUDGET, STEPS, SEEDS, DISCOUNT = 500, 60, 40, 0.95


def sure(place: int, action: int, rng: np.random.Generator) -> tuple[int, float, bool]:
    """A step that never slips."""
    del rng
    row, column = (
        min(3, max(0, x + d)) for x, d in zip(divmod(place, 4), MOVES[action], strict=True)
    )
    place = 4 * row + column
    return place, float(LAKE[place] == "G"), LAKE[place] in "HG"


class Slippery:
    """A step that goes to one side with a probability of ``slip``."""

    def __init__(self, slip: float) -> None:
        self.slip = slip

    def __call__(
        self, place: int, action: int, rng: np.random.Generator
    ) -> tuple[int, float, bool]:
        """Take it."""
        if rng.random() < self.slip:
            action = (action + (1 if rng.random() < 0.5 else 3)) % 4
        return sure(place, action, rng)


def reached(
    model: pp.FunctionModel, planner: pp.planners.Planner, real: Slippery, seed: int
) -> float:
    """Whether a run reaches the goal."""
    rng = np.random.default_rng(1_000 + seed)
    agent = pp.Agent(model, planner=planner, budget=BUDGET, seed=seed)
    place = 0
    for _ in range(STEPS):
        place, reward, ended = real(place, agent.act(place), rng)
        agent.observe(reward)
        if ended:
            return reward
    return 0.0


def on_gymnasium(settings: dict[str, Any], seed: int) -> float:
    """Whether a run reaches the goal of FrozenLake-v1, where two steps of three slip."""
    lake = pp.GymnasiumModel("FrozenLake-v1")
    return float(sum(pp.control(lake, budget=300, steps=100, seed=seed, **settings).rewards))


def main() -> None:
    """Print a table."""
    for slip in (0.1, 0.3):
        real = Slippery(slip)
        without = pp.FunctionModel(sure, 4, 0)
        closed = pp.FunctionModel(real, 4, 0, dynamics="random")
        by_reset = pp.FunctionModel(real, 4, 0, access=pp.Access.RESET)
        runs = {
            "as if nothing slips": (without, pp.Platypus(discount=DISCOUNT)),
            "closed loop, default": (closed, pp.Platypus(discount=DISCOUNT)),
            "RESET, UCT": (by_reset, pp.planners.UCT(discount=DISCOUNT, horizon=20, scale="auto")),
            "RESET, default": (by_reset, pp.Platypus(discount=DISCOUNT)),
            "RESET, PlaTyPOOS": (by_reset, pp.PlaTyPOOS(discount=DISCOUNT)),
        }
        for name, (model, planner) in runs.items():
            total = sum(reached(model, planner, real, seed) for seed in range(SEEDS))
            print(f"slips {slip:g}: {name}: {total:.0f} of {SEEDS}")
    by_settings: dict[str, dict[str, Any]] = {
        "closed loop, default": {"discount": 0.99},
        "RESET, default": {"discount": 0.99, "access": "reset"},
        "RESET, UCT": {
            "planner": pp.planners.UCT(0.99, horizon=40, scale="auto"),
            "access": "reset",
        },
    }
    for name, settings in by_settings.items():
        won = sum(on_gymnasium(settings, seed) for seed in range(SEEDS))
        print(f"FrozenLake-v1, 300 calls: {name}: {won:.0f} of {SEEDS}")


if __name__ == "__main__":
    main()
