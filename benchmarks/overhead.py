"""What planning costs on top of a simulator, as ratios in one run.

Restoring and stepping: the plan against a bare loop that makes the same calls by hand, with the
states that the plan visited. Two cores: a simulator of 2 ms a step, with and without two workers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import platypoos as pp

ROUNDS = 5


def cartpole(model: Any) -> Callable[[Any, int], None]:
    """Set the state, step."""
    core = model.keeper.core

    def call(state: Any, action: int) -> None:
        core.state = state
        core.steps_beyond_terminated = None
        core.step(action)

    return call


def atari(model: Any) -> Callable[[Any, int], None]:
    """Restore, act for each frame; no screen."""
    ale, keys = model.keeper.ale, model.keeper.core._action_set  # noqa: SLF001

    def call(state: Any, action: int) -> None:
        ale.restoreState(state)
        for _ in range(4):
            ale.act(keys[action])
        ale.game_over(with_truncation=False)

    return call


def hopper(model: Any) -> Callable[[Any, int], None]:
    """Set the physics, step."""
    import mujoco

    core, actions = model.keeper.core, model.env_actions
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    size = mujoco.mj_stateSize(core.model, kind)

    def call(state: Any, action: int) -> None:
        mujoco.mj_setState(core.model, core.data, state[:size], kind)
        core.step(actions[action])

    return call


class Recorder:
    """A model that notes its calls."""

    def __init__(self, model: Any) -> None:
        self.model, self.actions = model, model.actions
        self.initial_state, self.access = model.initial_state, model.access
        self.calls: list[tuple[Any, int]] = []

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Any:
        self.calls.append((state, action))
        return self.model.step(state, action, rng)


def ratio(name: str, options: dict[str, Any], bare: Any, budget: int, bar: float | None) -> None:
    model = pp.GymnasiumModel(name, **options)
    recorder = Recorder(model)
    pp.plan(recorder, budget=budget, discount=0.9, seed=0)
    call = bare(model)
    by_hand, planned = [], []
    for _ in range(ROUNDS):  # in turns, so that a busy machine slows both
        start = time.perf_counter()
        for state, action in recorder.calls:
            call(state, action)
        by_hand.append(time.perf_counter() - start)
        start = time.perf_counter()
        made = pp.plan(model, budget=budget, discount=0.9, seed=0).calls
        planned.append(time.perf_counter() - start)
        assert made == len(recorder.calls)
    best = [min(times) * 1e6 / budget for times in (by_hand, planned)]
    typical = np.median(np.array(planned) / np.array(by_hand))
    print(f"{name:16} {budget:>8} {best[0]:>14.2f} {best[1]:>14.2f} {best[1] / best[0]:>7.2f} "
          f"{typical:>8.2f}  {'' if bar is None else bar}")  # fmt: skip


def slow(state: int, action: int, _: np.random.Generator) -> tuple[int, float, bool]:
    """Two milliseconds of work."""
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        pass
    return (state * 3 + action) % 1009, float(state % 7), False


def two_cores(budget: int = 2_000) -> None:
    model = pp.FunctionModel(slow, actions=2, initial_state=1)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pp.plan(model, budget=100, discount=0.9, seed=0, executor=pool)  # starts the workers
        times = []
        plans = []
        for executor in (None, pool):
            start = time.perf_counter()
            plans.append(pp.plan(model, budget=budget, discount=0.9, seed=0, executor=executor))
            times.append(time.perf_counter() - start)
    assert plans[0].actions == plans[1].actions
    print(f"\n2 ms a step, N = {budget}: alone {times[0]:.2f} s, two workers {times[1]:.2f} s, "
          f"{times[0] / times[1]:.2f} times faster (bar 1.7)")  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'simulator':16} {'N':>8} {'bare µs/call':>14} {'plan µs/call':>14} {'ratio':>7} "
          f"{'median':>8}  bar")  # fmt: skip
    ratio("CartPole-v1", {}, cartpole, 10_000, 1.15)
    ratio("ALE/Pong-v5", {"repeat_action_probability": 0.0}, atari, 1_000, 1.15)
    ratio("Hopper-v5", {"actions": 2}, hopper, 2_000, None)
    two_cores()


if __name__ == "__main__":
    main()
