"""Inner loops are interpreted before they are compiled: plans are the same, and come at once."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import types

import numba
import numpy as np
import pytest
from random_trees import THINKING

import platypoos as pp
from platypoos.compile import jit_uncached, kernels
from platypoos.compiled.platypus.algorithm import plan_on
from platypoos.ledger import compiled as simulator_compiled
from platypoos.ledger import tree as tree_arrays
from platypoos.ledger.compiled import CompiledSimulator
from platypoos.search.running import run

PLANNERS = [pp.PlaTyPOOS, pp.SequOOL, pp.StroquOOL, pp.planners.CompiledPlatypus]


def outcome(planner, model, budget, seed, access):
    plan = planner.plan(model, budget=budget, seed=seed, access=access)
    size = plan.tree.num_nodes
    arrays = [array[:size].tobytes() for array in plan.tree[:-1]]
    return plan.actions, plan.value, plan.calls, plan.lead, arrays


@pytest.mark.slow
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
            patch.setattr(kernels, "is_on_disk", lambda *_: False)
            for driver in (run, plan_on):
                loops = kernels.with_fast_kernels(driver._function, patience)
                patch.setattr(driver, "_python", loops)
            found[patience] = [outcome(*case) for case in cases]
    assert found[0.0] == found[math.inf]


def masked_table(seed):
    """Some actions are not legal, and the model says what states are worth."""
    problem = pp.problems.Garnet(12, 3, seed=seed, noise=0.5, num_terminal=1)
    return dataclasses.replace(problem.compiled(), legal=not_the_state, value=half_the_state)


@numba.njit
def not_the_state(state, params, mask):
    mask[int(state[0]) % 3] = False


@numba.njit
def half_the_state(state, params):
    return 0.5 * state[0]


@pytest.mark.parametrize("name", THINKING)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_compiled_model_gives_the_same_plan_before_it_is_compiled(name, access, monkeypatch):
    # 6 problems each, half of them with masks and values; all of the tree is compared.
    make = THINKING[name]
    models = [pp.problems.Garnet(12, 3, seed=s, noise=0.5).compiled() for s in range(3)]
    models += [masked_table(s) for s in range(3)]
    cases = [(make(0.9), model, 150, s, access) for s, model in enumerate(models)]
    found = [outcome(*case) for case in cases]
    monkeypatch.setattr(simulator_compiled, "waits", lambda: False)
    monkeypatch.setattr(simulator_compiled.Loops, "is_loaded", lambda *_: False)
    monkeypatch.setattr(CompiledSimulator, "run", None)  # nothing is run in machine code
    assert [outcome(*case) for case in cases] == found


@pytest.mark.parametrize("name", THINKING)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_every_node_is_written(name, access, monkeypatch):
    # What the memory held before must not be seen, nodes that are never evaluated included.
    found = []
    for filling in (0x11, 0x77):

        def filled(shape, dtype=float, filling=filling):
            array = np.empty(shape, dtype)
            array.view(np.uint8)[...] = filling
            return array

        with monkeypatch.context() as patch:
            patch.setattr(tree_arrays, "np", types.SimpleNamespace(**vars(np) | {"empty": filled}))
            found.append(outcome(THINKING[name](0.9), masked_table(1), 150, 1, access))
    assert found[0] == found[1]


def test_after_a_while_they_are_compiled(monkeypatch):
    monkeypatch.setattr(kernels, "_SPENT", [0.0])
    kernel, other = jit_uncached(twice), jit_uncached(twice)
    call = kernels.fast(kernel, patience=1e-9)
    assert [call(3), len(kernel.overloads)] == [6, 0]
    assert [call(3), len(kernel.overloads)] == [6, 1]
    # One patience for all of them: the next one is compiled at once.
    assert [kernels.fast(other, patience=1e-9)(3), len(other.overloads)] == [6, 1]
    assert kernels.fast(kernel, patience=math.inf)(4) == 8  # what is compiled is not interpreted


def twice(number):
    return 2 * number


@pytest.mark.parametrize("planner", ["PlaTyPOOS", "CompiledPlatypus"])
def test_a_small_first_plan_compiles_nothing(planner, tmp_path):
    code = f"""
import platypoos as pp
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    model, planner = pp.problems.SwitchChain(noise=1.0), pp.planners.{planner}(discount=0.95)
    assert pp.plan(model, planner=planner, budget=100, seed=0).calls == 100
print(len(compiled.buffer))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


AGENT = """
import sys, threading, time
import platypoos as pp
from numba.core.dispatcher import Dispatcher
from platypoos.compile.workshop import WORKSHOP

compiled, compile_it = [], Dispatcher.compile
def compile(self, signature):
    if threading.current_thread() is threading.main_thread():
        compiled.append(self.py_func.__name__)
    return compile_it(self, signature)
Dispatcher.compile = compile

chain = pp.problems.SwitchChain(noise=10.0)
model = chain.compiled() if sys.argv[1] == "compiled" else chain
agent = pp.Agent(model, discount=0.95, deadline=0.02, seed=0)
latest = 0.0
for _ in range(40):
    start = time.perf_counter()
    plan = agent.act(model.initial_state)
    latest = max(latest, time.perf_counter() - start)
print(len(compiled), WORKSHOP.open_orders > 0, plan.calls > 0, latest < 2.0)
"""


@pytest.mark.parametrize("kind", ["python", "compiled"])
def test_with_a_deadline_nothing_is_compiled_in_the_callers_time(kind, tmp_path):
    # 2 s for a plan of 20 ms is no bar: compiling would take 10 to 30 s.
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("PLATYPOOS_COMPILE")
    command = [sys.executable, str(script), kind]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    # The plain planner has nothing to compile.
    assert done.stdout == f"0 {kind == 'compiled'} True True\n"


WORKSHOP = """
from numba import types
from platypoos.compile import workshop as compiling
from platypoos.search.counts import evaluations
from platypoos.compile.unsafe import is_on_disk
from platypoos.compile.workshop import WORKSHOP, are_loaded
from platypoos.ledger.tickets import ticket
from platypoos.compiled.platypus.knowledge import link_children
from platypoos.compiled.platypus.ongoing import OngoingPlan
from platypoos.compile.handles import _KINDS
import platypoos as pp
pp.planners.CompiledPlatypus(0.95).plan(pp.problems.SwitchChain(noise=1.0), budget=50, seed=0)
search = _KINDS[next(kind for kind in _KINDS if kind.__name__ == "Search")]
order = [(link_children, (search,))]
print(are_loaded(order), is_on_disk(*order[0]))
print(WORKSHOP.wait(120.0), are_loaded(order), is_on_disk(*order[0]))
print(sum(link_children.stats.cache_hits.values()), sum(link_children.stats.cache_misses.values()))
"""


def test_another_process_compiles_and_this_one_loads(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("PLATYPOOS_COMPILE")
    command = [sys.executable, "-c", WORKSHOP]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    # It is not there; then it is, and was found in the cache: not compiled in this process.
    assert done.stdout.split() == ["False", "False", "True", "True", "True", "1", "0"]
