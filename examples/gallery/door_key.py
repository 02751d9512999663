"""Fetch a key, open a door, go to the goal: no reward comes before it.

python examples/gallery/door_key.py door_key.gif
"""

from __future__ import annotations

import sys

import imageio

import platypoos as pp


def main(path: str, steps: int = 40) -> None:
    """The planner notices which states it has seen, so it does not walk in circles."""
    model = pp.GymnasiumModel("MiniGrid-DoorKey-8x8-v0", seed=3)
    episode = pp.control(model, budget=3_000, steps=steps, discount=0.95, seed=0)
    reached = "reached" if episode.terminated else "not reached"
    print(f"goal {reached} after {len(episode.actions)} steps; {episode.calls:,} calls")
    pictures = [model.render(state) for state in episode.states]
    imageio.mimsave(path, pictures, duration=350, loop=0)  # milliseconds for each


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "door_key.gif")
