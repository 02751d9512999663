"""Buy electricity when it is cheap, sell it when it is dear. Prices are noisy.

python examples/gallery/battery.py battery.png
"""

from __future__ import annotations

import sys

from matplotlib import pyplot as plt

import platypoos as pp
from platypoos.problems.finite import PRICES

COLORS = ("#c8d0da", "#2a7de1", "#e4572e")


def main(path: str, steps: int = 72) -> None:
    """Three days, a decision an hour."""
    battery = pp.problems.Battery(capacity=4, noise=5.0)
    episode = pp.control(battery, budget=1_000, steps=steps, discount=0.98, seed=0)
    print(f"earned {sum(episode.rewards):.0f} in {steps} hours; {episode.calls:,} calls")

    hours = range(steps)
    charge = [state // battery.hours for state in episode.states]
    # To buy into a full battery, or to sell from an empty one, is to wait.
    moved = [charge[hour + 1] - charge[hour] for hour in hours]
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(9, 4.2), dpi=110, sharex=True, layout="constrained", height_ratios=(2, 1)
    )
    prices = [PRICES[hour % 24] for hour in hours]
    top.bar(hours, prices, color=[COLORS[change] for change in moved])
    for color, name in zip(COLORS, ("wait", "buy", "sell"), strict=True):
        top.bar(0, 0, color=color, label=name)
    top.set(ylabel="mean price", ylim=(0, 95))
    top.legend(frameon=False, ncols=3, loc="upper right")
    bottom.fill_between(range(steps + 1), charge, step="post", color="#2a7de1", alpha=0.35)
    bottom.set(xlabel="hour", ylabel="charge", yticks=(0, 2, 4), xticks=range(0, steps + 1, 12))
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "battery.png")
