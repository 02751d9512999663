"""Overtake on a motorway without a crash: highway-env.

python examples/gallery/highway.py highway.gif      (a minute: this simulator is slow)
"""

from __future__ import annotations

import sys

import platypoos as pp


def main(path: str, steps: int = 30) -> None:
    """A decision a second; each is planned with 50 calls."""
    model = pp.GymnasiumModel("highway-fast-v0", seed=0)
    episode = pp.control(model, budget=50, steps=steps, discount=0.9, seed=0, render=path)
    ended = "crashed" if episode.terminated else "no crash"
    print(f"{len(episode.actions)} decisions, {ended}; total reward {sum(episode.rewards):.1f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "highway.gif")
