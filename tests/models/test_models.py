"""The contract check, and how compiled code is cached."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest

import platypoos as pp
from platypoos.compiled.ledger.machine import evaluate_all, play_path, query
from platypoos.compiled.platypus import entries
from platypoos.search.running import run

PROBLEMS = [
    pp.problems.SwitchChain(noise=1.0),
    pp.problems.Garnet(6, 2, noise=1.0),
    pp.problems.Grid(),
    pp.problems.Battery(),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_our_own_problems_pass(problem):
    for form in (problem, problem.array(), problem.compiled()):
        report = pp.check_model(form)
        assert report.ok, str(report)
        assert isinstance(form, pp.Model)


def changes_its_state(state, action, rng):
    state[0] += 1
    return state, 0.0, False


def shares_its_state(shared):
    def step(state, action, rng):
        shared[0] = state[0] + 1
        return shared, 0.0, False

    return step


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (pp.FunctionModel(changes_its_state, 2, [0]), "changed the state it was given"),
        (pp.FunctionModel(shares_its_state([0]), 2, (0,)), "state"),
        (pp.FunctionModel(lambda s, a, r: (r.random(), 0.0, False), 2, 0.0), 'dynamics="random"'),
        (pp.FunctionModel(lambda s, a, r: (s, np.nan, False), 2, 0.0), "reward nan"),
        (pp.FunctionModel(lambda s, a, r: (s, "a lot", False), 2, 0.0), "'a lot' of type str"),
        (pp.FunctionModel(lambda s, a, r: (s, 1.0), 2, 0.0), "(state, reward, terminated)"),
        (pp.FunctionModel(lambda s, a, r: (s, np.random.rand(), False), 2, 0.0), "from rng"),
        (pp.problems.SwitchChain, "pass SwitchChain(...)"),
        (
            pp.FunctionModel(changes_its_state, 2, [0], access=pp.Access.RESET),
            "changed the state it was given",
        ),
        (pp.FunctionModel(lambda s, a, r: 1 / 0, 2, 0.0), "ZeroDivisionError"),
        (object(), "no actions, initial_state, step"),
        (pp.ArrayModel(lambda s, a, r: (s + 0.5, 0.0 * s, False), 2, np.int64(0)), "cut off"),
        (
            pp.ArrayModel(lambda s, a, r: (s + a.sum(), 0.0 * s, False), 3, 0.0),
            "row 0 of a batch",
        ),
        (
            pp.FunctionModel(lambda s, a, r: ([*s, a], 0.0, False), 2, [], key=lambda s: s),
            "cannot be hashed",
        ),
    ],
)
def test_the_check_finds_what_is_wrong(model, match):
    report = pp.check_model(model)
    assert not report.ok
    assert match in str(report)
    assert "not safe" in str(report)


def test_the_check_tells_whether_states_can_be_shared():
    def around(state, action, rng):
        return [(state[0] + 1) % 5], 0.0, False

    lists = pp.FunctionModel(around, 2, [0])
    assert "states cannot be told apart" in str(pp.check_model(lists))
    with_key = pp.FunctionModel(around, 2, [0], key=tuple)
    assert "told apart: 95 steps led to one" in str(pp.check_model(with_key, steps=100))


@numba.njit
def sloppy_kernel(state, action, params, rng, next_state):
    if params == 0:
        state[0] += 1
    next_state[0] = state[0] + (0.5 if params == 2 else 1)
    if params != 1:
        next_state[1] = 0
    return 0.0, False


@pytest.mark.parametrize(
    ("fault", "match"),
    [(0, "may only write next_state"), (1, "did not write next_state[1]"), (2, "cut off")],
)
def test_the_check_finds_sloppy_kernels(fault, match):
    model = pp.CompiledModel(sloppy_kernel, 2, np.zeros(2, np.int64), params=fault)
    report = pp.check_model(model)
    assert not report.ok
    assert match in str(report)


def test_the_check_leaves_the_model_alone():
    model = pp.FunctionModel(changes_its_state, 2, [0])
    assert not pp.check_model(model).ok
    assert model.initial_state == [0]


def test_states_that_cannot_be_copied():
    import threading

    start = (threading.Lock(), 0)
    model = pp.FunctionModel(lambda s, a, r: ((s[0], s[1] + 1), 1.0, False), 2, start)
    report = pp.check_model(model)
    assert report.ok
    assert "cannot be copied" in str(report)


def test_a_check_of_no_steps():
    with pytest.raises(pp.InvalidArgument, match="steps must be at least 1"):
        pp.check_model(pp.problems.SwitchChain(), steps=0)


def test_a_shared_state_is_found():
    model = pp.FunctionModel(shares_its_state([0]), 2, (0,))
    # The second step from the second state is given the very object it changes.
    assert not pp.check_model(model).ok


def test_reset_models_may_be_random():
    model = pp.FunctionModel(
        lambda s, a, r: (r.random(), 0.0, False), 2, 0.0, access=pp.Access.RESET
    )
    assert pp.check_model(model).ok


def test_states_of_any_kind():
    def step(state, action, rng):
        return {"x": np.append(state["x"], action)}, float(action), False

    model = pp.FunctionModel(step, 2, {"x": np.zeros(0)})
    assert pp.check_model(model, steps=20).ok
    assert pp.plan(model, budget=100, discount=0.5, seed=0).action == 1


def make_kernel(prize):
    @numba.njit
    def kernel(state, action, params, rng, next_state):
        next_state[0] = state[0]
        return prize * action, False

    return kernel


def test_kernels_that_look_alike_are_not_mixed_up():
    for prize, best in [(1.0, 1), (-1.0, 0), (2.0, 1), (-1.0, 0)]:
        model = pp.CompiledModel(make_kernel(prize), 2, np.zeros(1))
        plan = pp.PlaTyPOOS(0.5).plan(model, budget=50, seed=0)
        assert plan.action == best
        if prize > 0:
            seen = sum(0.5**t for t in range(len(plan.actions)))
            assert plan.value == pytest.approx(prize * seen)


@numba.njit
def not_the_first(state, params, mask):
    mask[0] = False


def test_a_new_model_needs_no_new_loops():
    # Not even one with states of another type, other parameters, and more to say.
    def loops():
        known = [len(code.overloads) for code in (evaluate_all, query, play_path, run.compiled)]
        return known, entries.make_plan._point

    def plan(model):
        for access in ("restore", "reset"):
            assert pp.PlaTyPOOS(0.5).plan(model, budget=50, seed=0, access=access).action == 1
        assert pp.plan(model, budget=50, discount=0.5, seed=0).action == 1

    plan(pp.CompiledModel(make_kernel(4.0), 2, np.zeros(1)))
    before = loops()
    plan(pp.CompiledModel(make_kernel(5.0), 2, np.zeros(1)))
    small, params = np.zeros(1, np.int16), (np.ones((2, 2)), 1, None)
    plan(pp.CompiledModel(make_kernel(5.0), 2, small, params, legal=not_the_first))
    assert loops() == before


@numba.njit
def confused_kernel(state, action, params, rng, next_state):
    return state.no_such_thing, False


@numba.njit
def silent_kernel(state, action, params, rng, next_state):
    next_state[0] = state[0]
    return 1.0


def test_kernels_that_cannot_be_planned_with():
    with pytest.raises(pp.InvalidArgument, match="no_such_thing"):
        pp.plan(pp.CompiledModel(confused_kernel, 2, np.zeros(1)), budget=50, discount=0.5)
    with pytest.raises(
        pp.InvalidArgument, match=r"must return \(reward, terminated\), not float64"
    ):
        pp.plan(pp.CompiledModel(silent_kernel, 2, np.zeros(1)), budget=50, discount=0.5)


SCRIPT = """
import numpy as np, numba, platypoos as pp
from platypoos.compiled.platypus import entries
from platypoos.search.running import run
@numba.njit
def kernel(state, action, params, rng, next_state):
    next_state[0] = state[0]
    return 1.0 * action, False
assert pp.PlaTyPOOS(0.5).plan(pp.CompiledModel(kernel, 2, np.zeros(1)), budget=50).action == 1
from platypoos.compiled.ledger.machine import evaluate_all
for code in (run.compiled, evaluate_all):
    print(sum(code.stats.cache_hits.values()), sum(code.stats.cache_misses.values()))
"""


def test_machine_code_is_kept_for_the_next_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert run() == ["0", "1", "0", "1"]  # the planner, and the model's loop
    assert run() == ["1", "0", "1", "0"]


def test_importing_compiles_nothing():
    code = (
        "import platypoos, sys\n"
        "platypoos.planners.available()\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "import gc\n"
        "ours = [d for d in gc.get_objects() if isinstance(d, Dispatcher)\n"
        "        and d.py_func.__module__.startswith('platypoos')]\n"
        "assert len(ours) > 5\n"
        "assert not any(d.overloads for d in ours)\n"
        "heavy = {'matplotlib', 'gymnasium'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_cache_of_another_version_is_not_read(tmp_path, monkeypatch):
    # Its index may name types that are gone: only the first object of it may be unpickled.
    cache_file = query._cache._cache_file
    index = tmp_path / "old.nbi"
    index.write_bytes(pickle.dumps(numba.__version__) + b"garbage")
    monkeypatch.setattr(cache_file, "_index_path", str(index))
    assert cache_file._load_index() == {}
