"""Inner loops are interpreted before they are compiled: plans are the same, and come at once."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import platypoos as pp
from platypoos import _jit
from platypoos.planners.layered import run
from platypoos.planners.platypus.algorithm import think

PLANNERS = [pp.PlaTyPOOS, pp.SequOOL, pp.StroquOOL, pp.Platypus]


def outcome(planner, model, budget, seed, access):
    plan = planner.plan(model, budget=budget, seed=seed, access=access)
    size = plan.tree.num_nodes
    arrays = [array[:size].tobytes() for array in plan.tree[:-1]]
    return plan.actions, plan.value, plan.calls, plan.gap_interval, arrays


@pytest.mark.parametrize("kind", PLANNERS)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_interpreted_and_compiled_plans_are_the_same(kind, access, monkeypatch):
    # 30 random problems each; all of the tree is compared, to the last bit.
    cases = []
    for seed in range(30):
        rng = np.random.default_rng([5, seed])
        actions = int(rng.integers(1, 6))
        problem = pp.problems.Garnet(
            int(rng.integers(3, 20)),
            actions,
            seed=seed,
            noise=float(rng.choice([0.0, 1.0])),
            num_terminal=int(rng.choice([0, 1])),
        )
        discount = float(rng.choice([0.0, 0.5, 0.9, 0.99]))
        cases.append((kind(discount), problem, int(rng.integers(actions, 1_000)), seed, access))
    found = {}
    for patience in (0.0, math.inf):
        with monkeypatch.context() as patch:
            patch.setattr(_jit, "_is_compiled", lambda _: False)
            for driver in (run, think):
                loops = _jit.with_fast_kernels(driver._function, patience)
                patch.setattr(driver, "_python", loops)
            found[patience] = [outcome(*case) for case in cases]
    assert found[0.0] == found[math.inf]


def test_after_a_while_they_are_compiled():
    kernel = _jit.jit_uncached(twice)
    call = _jit.fast(kernel, patience=1e-9)
    assert [call(3), len(kernel.overloads)] == [6, 0]
    assert [call(3), len(kernel.overloads)] == [6, 1]
    assert _jit.fast(kernel, patience=math.inf)(4) == 8  # what is compiled is not interpreted


def twice(number):
    return 2 * number


@pytest.mark.parametrize("planner", ["PlaTyPOOS", "Platypus"])
def test_the_first_plan_compiles_nothing(planner, tmp_path):
    code = f"""
import platypoos as pp
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    model, planner = pp.problems.SwitchChain(noise=1.0), pp.{planner}(discount=0.95)
    assert pp.plan(model, planner=planner, budget=1_000, seed=0).calls == 1_000
print(len(compiled.buffer))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
