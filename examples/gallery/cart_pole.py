"""Balance a pole on a cart: a Gymnasium environment, filmed.

python examples/gallery/cart_pole.py cart_pole.gif
"""

from __future__ import annotations

import sys

import platypoos as pp


def main(path: str, steps: int = 50) -> None:
    """Each decision is taken for four time steps."""
    model = pp.GymnasiumModel("CartPole-v1", repeat=4, seed=0)
    episode = pp.control(model, budget=300, steps=steps, discount=0.9, seed=0, render=path)
    print(f"the pole was up for {sum(episode.rewards):.0f} time steps; {episode.calls:,} calls")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cart_pole.gif")
