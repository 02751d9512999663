"""Play an Atari game, with the emulator itself as the simulator. Nothing is learned before.

python examples/gallery/ms_pacman.py ms_pacman.gif
"""

from __future__ import annotations

import sys

import platypoos as pp


def main(path: str, steps: int = 120) -> None:
    """Sticky actions are off: the planner needs to know what an action does."""
    model = pp.GymnasiumModel("ALE/MsPacman-v5", repeat=3, seed=0, repeat_action_probability=0.0)
    episode = pp.control(model, budget=80, steps=steps, discount=0.97, seed=0, render=path)
    print(f"score {sum(episode.rewards):.0f} after {steps} decisions; {episode.calls:,} calls")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ms_pacman.gif")
