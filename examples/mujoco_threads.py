"""Step many MuJoCo simulations at once: HalfCheetah-v5 as an array model, on threads.

python examples/mujoco_threads.py

``mujoco.rollout`` steps a batch of states in C++, on all processors. What it needs is a reward that
follows from the states: here the way that was made, and the costs of control.
"""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

import platypoos as pp

STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
THREADS = os.cpu_count() or 1


def half_cheetah() -> pp.ArrayModel:
    """The model; its states are what MuJoCo calls the full physics state."""
    core: Any = gymnasium.make("HalfCheetah-v5").unwrapped
    core.reset(seed=0)
    model, frames = core.model, core.frame_skip
    start = np.empty(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, core.data, start, STATE)
    memory = [mujoco.MjData(model) for _ in range(THREADS)]
    pool = rollout.Rollout(nthread=THREADS)

    def step(states: Any, actions: Any, _: Any) -> Any:
        controls = np.repeat(actions[:, None], frames, axis=1)
        after = pool.rollout(model, memory, states, controls)[0][:, -1]
        speed = (after[:, 1] - states[:, 1]) / core.dt  # the first entry is the time
        return after, speed - 0.1 * np.square(actions).sum(axis=1), False

    return pp.ArrayModel(step, pp.Box(core.action_space.low, core.action_space.high), start)


def main(budget: int = 2_000) -> None:
    """Plan with the environment and with the array model."""
    rng = np.random.default_rng(0)
    fast, usual = half_cheetah(), pp.GymnasiumModel("HalfCheetah-v5", seed=0)
    ours, theirs = fast.initial_state, usual.initial_state
    gap = 0.0
    for _ in range(20):
        action = usual.actions.draw(rng)
        ours, reward, _ = fast.step(ours, action, rng)
        theirs, other, _ = usual.step(theirs, action, rng)
        gap = max(gap, abs(reward - other))
    print(f"rewards of 20 steps differ by {gap:.1g} at most")
    for name, model in (("environment", usual), ("array model", fast)):
        seconds = []
        for _ in range(3):
            began = time.perf_counter(), time.process_time()
            pp.plan(model, budget=budget, planner=pp.planners.MPPI(0.95), seed=0)
            seconds.append([time.perf_counter() - began[0], time.process_time() - began[1]])
        wall, work = (1e6 * min(column) / budget for column in zip(*seconds, strict=True))
        print(f"{name}: {wall:.0f} µs for each call, {work:.0f} µs of work")


if __name__ == "__main__":
    main()
