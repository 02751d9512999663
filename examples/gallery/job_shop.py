"""Six jobs share six machines; in which order? The classic instance ft06; the best takes 55.

python examples/gallery/job_shop.py job_shop.png
"""

from __future__ import annotations

import sys

from matplotlib import pyplot as plt

import platypoos as pp

COLORS = ("#2a7de1", "#e4572e", "#f2a900", "#3aa76d", "#7d5ba6", "#33415c")


def main(path: str, steps: int = 36, budget: int = 10_000) -> None:
    """An action is a job: its next operation starts as early as it can."""
    shop = pp.problems.JobShop()
    episode = pp.control(
        shop.compiled(), budget=budget, steps=steps, horizon=36, discount=1.0, seed=0
    )
    print(f"all is done after {-sum(episode.rewards):.0f}; the optimum is {shop.optimum()}")

    figure, axes = plt.subplots(figsize=(9, 3.4), dpi=110, layout="constrained")
    job_free, machine_free, done = [0] * 6, [0] * 6, [0] * 6
    for job in episode.actions:
        machine, time = shop.times[job][done[job]]
        start = max(job_free[job], machine_free[machine])
        job_free[job] = machine_free[machine] = start + time
        done[job] += 1
        axes.barh(machine, time, left=start, color=COLORS[job], edgecolor="white")
        axes.text(start + time / 2, machine, str(job), color="white", ha="center", va="center")
    axes.set(xlabel="time", ylabel="machine", yticks=range(6))
    axes.invert_yaxis()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "job_shop.png")
