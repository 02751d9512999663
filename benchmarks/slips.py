"""A frozen lake: plan as if nothing slips and again at every step, or with chance by RESET.

    python benchmarks/slips.py

prints how many of 10 runs reach the goal. The figures are in docs/concepts/access.md.
"""

from __future__ import annotations

import numpy as np

import platypoos as pp

LAKE = "SFFFFHFHFFFHHFFG"
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
BUDGET, STEPS, SEEDS, DISCOUNT = 500, 60, 10, 0.95


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


def reached(model: pp.FunctionModel, planner: pp.Planner, real: Slippery, seed: int) -> float:
    """Whether a run reaches the goal."""
    rng = np.random.default_rng(1_000 + seed)
    agent = pp.Agent(model, planner=planner, budget=BUDGET, seed=seed)
    place = 0
    for _ in range(STEPS):
        place, reward, ended = real(place, agent.act(place).action, rng)
        agent.observe(reward)
        if ended:
            return reward
    return 0.0


def main() -> None:
    """Print a table."""
    for slip in (0.1, 0.3):
        real = Slippery(slip)
        without = pp.FunctionModel(sure, 4, 0)
        by_reset = pp.FunctionModel(real, 4, 0, access=pp.Access.RESET)
        runs = {
            "as if nothing slips": (without, pp.Platypus(discount=DISCOUNT)),
            "RESET, UCT": (by_reset, pp.UCT(discount=DISCOUNT, horizon=20, scale="auto")),
            "RESET, default": (by_reset, pp.Platypus(discount=DISCOUNT)),
            "RESET, PlaTyPOOS": (by_reset, pp.PlaTyPOOS(discount=DISCOUNT)),
        }
        for name, (model, planner) in runs.items():
            total = sum(reached(model, planner, real, seed) for seed in range(SEEDS))
            print(f"slips {slip:g}: {name}: {total:.0f} of {SEEDS}")


if __name__ == "__main__":
    main()
