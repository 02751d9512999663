"""Machine code is made when it is first needed, and never while a clock runs."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import numba
import numpy as np
import pytest
from random_trees import THINKING

import platypoos as pp
from platypoos.compiled.code import notice
from platypoos.errors import InvalidArgument
from platypoos.trees import tree as tree_arrays


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


def outcome(planner, model, budget, seed, access):
    plan = planner.plan(model, budget=budget, seed=seed, access=access)
    size = plan.tree.num_nodes
    arrays = [array[:size].tobytes() for array in plan.tree[:-1]]
    return plan.actions, plan.value, plan.calls, plan.lead, arrays


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


def cold_model():
    """A chain around a kernel that nobody has compiled."""

    @numba.njit
    def kernel(state, action, params, rng, next_state):
        next_state[0] = state[0] + 2 * action - 1
        return 1.0 if next_state[0] == params else 0.0, False

    return pp.CompiledModel(kernel, actions=2, initial_state=np.zeros(1), params=3)


@pytest.mark.parametrize("kind", [pp.Platypus, pp.PlaTyPOOS, pp.planners.RandomShooting])
def test_with_a_deadline_nothing_is_compiled(kind):
    model, planner = cold_model(), kind(0.9)
    with pytest.raises(InvalidArgument, match=r"call warm_up\(\) of an Agent"):
        planner.plan(model, budget=None, deadline=10.0, seed=0)
    assert not model.kernel.overloads
    agent = pp.Agent(model, planner=planner, deadline=0.05, seed=0)
    with pytest.raises(InvalidArgument, match=r"call warm_up\(\)"):
        agent.act()
    assert agent.warm_up() > 0.0
    for _ in range(3):
        agent.act(model.initial_state)
        assert agent.plan.calls > 0
    assert planner.plan(model, budget=None, deadline=0.05, seed=0).calls > 0


def test_control_warms_up_before_its_first_step():
    episode = pp.control(cold_model(), planner=pp.PlaTyPOOS(0.9), deadline=0.05, steps=2, seed=0)
    assert len(episode.actions) == 2


DEADLINE = """
import platypoos as pp
model, planner = pp.problems.SwitchChain(), pp.PlaTyPOOS(0.9)
try:
    planner.plan(model, budget=None, deadline=0.05, seed=0)
except pp.InvalidArgument:
    print("cold")
pp.Agent(model, planner=planner, deadline=0.05).warm_up()
print(planner.plan(model, budget=None, deadline=0.05, seed=0).calls > 0)
"""


def test_nor_for_the_inner_loops_around_a_python_model():
    command = [sys.executable, "-c", DEADLINE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cold", "True"]


def test_one_line_says_how_long_it_took(capsys, monkeypatch):
    monkeypatch.setattr(notice, "WORTH_A_LINE", 1e-9)
    model = cold_model()
    pp.plan(model, budget=100, discount=0.9, seed=0)
    (line,) = capsys.readouterr().err.splitlines()
    assert "to compile for Platypus took " in line
    assert "warm_up()" in line
    pp.plan(model, budget=100, discount=0.9, seed=0)
    assert not capsys.readouterr().err


BOUNDS = """
import platypoos as pp
for problem in (lab.problems.Pendulum(seed=1), lab.problems.Pillars(seed=1)):
    planner = pp.Platypus(0.95)
    episode = pp.control(problem.compiled(), planner, budget=300, steps=3, seed=1)
    assert set(episode.step_calls) == {300}
"""


@pytest.mark.slow
def test_nothing_is_out_of_bounds_where_that_is_checked(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_BOUNDSCHECK": "1"}
    subprocess.run([sys.executable, "-c", BOUNDS], env=environment, check=True)


def test_only_one_file_touches_private_parts():
    private = re.compile(r"\._(cache|set_uuid|MemoMixin|index_key|load_index)\b|_MemoMixin__uuid")
    for file in Path(pp.__file__).parent.rglob("*.py"):
        if file.name != "unsafe.py":
            assert not private.search(file.read_text(encoding="utf-8")), file


def test_the_version_of_numba_is_bounded():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (asked,) = [line for line in project["dependencies"] if line.startswith("numba")]
    low, high = re.fullmatch(r"numba>=0\.(\d+),<0\.(\d+)", asked).groups()
    assert int(low) <= int(numba.__version__.split(".")[1]) < int(high)


@numba.njit
def to_the_right(state, params, weights):
    weights[1] = 1.0


def test_nor_for_plans_in_python_of_a_compiled_model():
    # With a rule the default planner plans in Python: only the kernel is compiled.
    model = dataclasses.replace(cold_model(), policy=to_the_right)
    with pytest.raises(InvalidArgument, match=r"machine code of Platypus .* warm_up\(\)"):
        pp.plan(model, deadline=10.0, discount=0.9)
    assert pp.Agent(model, deadline=0.05, discount=0.9).warm_up() > 0.0
    plan = pp.plan(model, deadline=0.05, discount=0.9, seed=0)
    assert plan.calls > 0
    assert plan.improvement is not None


def test_the_default_planner_uses_the_rule_of_a_compiled_model():
    # The reward is 30 steps to the right: no random walk of 100 calls gets there, but the rule.
    model = dataclasses.replace(cold_model(), params=30.0, policy=to_the_right)
    plan = pp.plan(model, budget=100, discount=0.99, seed=0)
    assert plan.action == 1
    assert plan.value > 0.5
    alone = pp.plan(dataclasses.replace(model, policy=None), budget=100, discount=0.99, seed=0)
    assert alone.value < 0.5
