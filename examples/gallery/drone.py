"""A drone flies to a goal among pillars, and plans its way as it flies.

    python examples/gallery/drone.py drone.gif

Grey lines are the best sequence that the planner knows for each first action. The blue one is
the sequence that it follows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

import platypoos as pp

BUDGET, STEPS = 300, 60


def main(path: str, steps: int = STEPS) -> None:
    """Fly, then draw the film."""
    model = pp.problems.Pillars(seed=4)
    plans: list[pp.Plan] = []
    episode = pp.control(
        model,
        budget=BUDGET,
        steps=steps,
        discount=0.95,
        seed=0,
        on_step=lambda _, plan, __: plans.append(plan),
    )
    distance = np.hypot(8 - episode.states[-1][0], 8 - episode.states[-1][1])
    print(f"{distance:.2f} from the goal after {steps} steps; {episode.calls:,} calls")
    draw(model, episode, plans, path)


def routes(model: pp.problems.Pillars, plan: pp.Plan) -> list[np.ndarray]:
    """Where each first action's best sequence leads; the recommended one is the last."""
    tree = plan.tree
    leaves = set(range(1, tree.num_nodes)) - set(tree.parent[1 : tree.num_nodes].tolist())
    found = []
    for node in [*sorted(leaves - {plan.node}), plan.node]:
        state, places = plan.state, [plan.state[:2]]
        for action in tree.actions(node)[:25]:
            state, _, ended = model.step(state, action, None)
            places.append(state[:2])
            if ended:
                break
        found.append(np.array(places))
    return found


def draw(model: Any, episode: pp.Episode, plans: list[pp.Plan], path: str) -> None:
    """One picture for each step."""
    flown = np.array([state[:2] for state in episode.states])
    figure, axes = plt.subplots(figsize=(4.6, 4.6), dpi=80, layout="constrained")

    def picture(step: int) -> None:
        axes.clear()
        axes.set(xlim=(-0.8, 9), ylim=(-0.8, 9), aspect="equal", xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_color("#c8d0da")
        for place in model.field:
            axes.add_patch(plt.Circle(place, 1.0, color="#33415c"))
        axes.plot(8, 8, "*", color="#f2a900", markersize=22, zorder=1)
        *others, chosen = routes(model, plans[step])
        for route in others:
            axes.plot(*route.T, color="#b4bdc9", linewidth=1)
        axes.plot(*chosen.T, color="#2a7de1", linewidth=2.2)
        axes.plot(*flown[: step + 1].T, color="#e4572e", linewidth=2.2)
        axes.plot(*flown[step], "o", color="#e4572e", markersize=9)

    film = FuncAnimation(figure, picture, frames=len(plans))
    film.save(path, writer=PillowWriter(fps=12))
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["drone.gif"])
