"""Plan with your own simulator: a thermostat, as a function and compiled.

python examples/own_simulator.py
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

import platypoos as pp

# The room loses heat; heating (action 1) costs energy, and so does discomfort below 20 degrees.
# Sensors are noisy, so rewards are. Nothing about their size is told to the planner.
OUTSIDE, LEAK, HEAT, COMFORT = 5.0, 0.1, 2.5, 20.0


def step(temperature: float, action: int, rng: np.random.Generator) -> tuple[float, float, bool]:
    """A state goes in, a state comes out; all randomness is drawn from ``rng``."""
    after = temperature + LEAK * (OUTSIDE - temperature) + HEAT * action
    discomfort = max(0.0, COMFORT - after)
    return after, -1.0 * action - discomfort + rng.normal(scale=0.5), False


@numba.njit  # type: ignore[untyped-decorator]
def kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:
    """The same, compiled: it writes the next state instead of returning it."""
    next_state[0] = state[0] + LEAK * (OUTSIDE - state[0]) + HEAT * action
    discomfort = max(0.0, params - next_state[0])
    return -1.0 * action - discomfort + rng.normal(0.0, 0.5), False


def main() -> None:
    """Check the model, plan once, then control for 24 steps."""
    model = pp.FunctionModel(step, 2, 17.0, action_names=["off", "heat"])
    print(pp.check_model(model))

    plan = pp.plan(model, budget=2_000, discount=0.9, seed=0)
    print(f"\n{plan}")

    fast = pp.CompiledModel(kernel, actions=2, initial_state=np.array([17.0]), params=COMFORT)
    episode = pp.control(fast, budget=20_000, steps=24, discount=0.9, seed=0)
    for hour, (state, action) in enumerate(zip(episode.states, episode.actions, strict=False)):
        print(f"{hour:2d} h {state[0]:5.1f} degrees {'heat' if action else ''}")
    print(f"{episode.calls:,} calls of the simulator")


if __name__ == "__main__":
    main()
