"""A drone flies to a goal among pillars, and plans its way as it flies.

    python examples/gallery/drone.py drone.gif

Each grey dot is a place that the planner looked at: one call of the simulator. The blue line is
the sequence that it follows, the red line what was flown.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

import platypoos as pp
from platypoos import lab

BUDGET, STEPS = 300, 45
SKY, PILLAR, DOT, ROUTE, DRONE, GOAL = (
    "white",
    "#33415c",
    "#9aa7b8",
    "#2a7de1",
    "#e4572e",
    "#f2a900",
)


def main(path: str, steps: int = STEPS) -> None:
    """Fly, then draw the film."""
    pillars = lab.problems.Pillars(seed=16)
    looked_at: list[Any] = []

    def step(state: Any, action: int, rng: np.random.Generator) -> pp.models.Transition:
        after = pillars.step(state, action, rng)
        looked_at.append(after.state[:2])
        return after

    model = pp.FunctionModel(step, actions=9, initial_state=pillars.initial_state)
    scenes = []

    def remember(_: int, plan: pp.Plan, __: float) -> None:
        scenes.append((plan, np.array(looked_at)))
        looked_at.clear()

    episode = pp.control(model, budget=BUDGET, steps=steps, discount=0.95, seed=0, on_step=remember)
    x, y = episode.states[-1][:2]
    print(
        f"{np.hypot(8 - x, 8 - y):.2f} from the goal after {steps} steps; {episode.calls:,} calls"
    )
    draw(pillars, scenes, path)


def route(model: Any, plan: pp.Plan) -> np.ndarray:
    """Where the recommended sequence leads."""
    state, places = plan.state, [plan.state[:2]]
    for action in plan.actions:
        state, _, ended = model.step(state, action, None)
        places.append(state[:2])
        if ended:
            break
    return np.array(places)


def draw(pillars: Any, scenes: list[Any], path: str) -> None:
    """One picture for each step."""
    figure, axes = plt.subplots(figsize=(5, 5), dpi=84, layout="constrained", facecolor=SKY)
    flown = np.array([plan.state[:2] for plan, _ in scenes])

    def picture(step: int) -> None:
        plan, dots = scenes[step]
        axes.clear()
        axes.set(xlim=(-1.2, 9.2), ylim=(-1.2, 9.2), aspect="equal", xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_color("#c8d0da")
        for place in pillars.field:
            axes.add_patch(plt.Circle(tuple(place), 1.0, color=PILLAR))
        axes.plot(8, 8, "*", color=GOAL, markersize=24)
        axes.plot(*dots.T, ".", color=DOT, markersize=3.5)
        axes.plot(*route(pillars, plan).T, color=ROUTE, linewidth=2.2)
        axes.plot(*flown[: step + 1].T, color=DRONE, linewidth=2.2)
        axes.plot(*flown[step], "o", color=DRONE, markersize=10)

    FuncAnimation(figure, picture, frames=len(scenes)).save(path, writer=PillowWriter(fps=10))
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "drone.gif")
