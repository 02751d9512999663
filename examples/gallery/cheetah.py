"""A cheetah of dm_control runs: six continuous torques, and no training.

python examples/gallery/cheetah.py cheetah.gif
"""

from __future__ import annotations

import sys

import platypoos as pp


def main(path: str, steps: int = 75) -> None:
    """Each decision is taken for four time steps: 0.04 seconds."""
    model = pp.GymnasiumModel("dm_control/cheetah-run-v0", repeat=4, seed=0, width=300, height=160)
    episode = pp.control(model, budget=1_000, steps=steps, seed=0, render=path)
    print(f"reward {sum(episode.rewards):.0f} of {4 * steps} at most; {episode.calls:,} calls")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cheetah.gif")
