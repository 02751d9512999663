"""Choose how many units to order each day, when a delivery takes two days.

python examples/gallery/inventory.py inventory.png
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot as plt

import platypoos as pp
from platypoos import lab


def main(path: str, steps: int = 28) -> None:
    """Four weeks, a decision a day."""
    shop = lab.problems.Inventory(seed=0)
    episode = pp.control(shop, budget=1_000, steps=steps, discount=0.95, seed=0)
    print(f"profit {sum(episode.rewards):.0f} in {steps} days; {episode.calls:,} calls")

    day, stock, _ = np.unravel_index(np.array(episode.states[:-1]), (7, 41, 21))
    figure, axes = plt.subplots(figsize=(9, 3.6), dpi=110, layout="constrained")
    axes.bar(range(steps), episode.actions, color="#a9c9f5", width=0.6, label="ordered")
    axes.step(
        range(steps), shop.demand[day], where="mid", color="#e4572e", linewidth=1.6, label="demand"
    )
    axes.step(range(steps), stock, where="mid", color="#33415c", linewidth=2, label="in stock")
    axes.set(xlabel="day", ylabel="units", xticks=range(0, steps + 1, 7), ylim=(0, 21))
    axes.legend(frameon=False, ncols=3, loc="upper right")
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "inventory.png")
