"""What is imported when: Numba and other large packages only by those who use them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType

import pytest

import platypoos as pp
from platypoos import lab, planners

MODEL = """
def step(state, action, rng):
    return (state + action) % 5, float(state == 4) + 0.1 * rng.random(), False
model = pp.FunctionModel(step, actions=2, initial_state=0)
"""
LARGE = ["numba", "gymnasium", "matplotlib", "scipy", "pyarrow", "tqdm", "plotly", "distributed"]
LARGE += ["jinja2", "PIL"]
"""Packages that take long to import."""


START = "import sys\nimport platypoos as pp\nfrom platypoos import lab"


def run(code: str) -> str:
    """What a new process prints."""
    command = [sys.executable, "-c", f"{START}\n{code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def imported(code: str) -> list[str]:
    """Which of the large packages a new process has imported after some code."""
    return run(f"{code}\nprint(*(name for name in {LARGE} if name in sys.modules))").split()


def test_the_library_alone_imports_nothing_large():
    assert imported("") == []


PLAIN = {
    "plan": "pp.plan(model, budget=100)",
    "deadline": "pp.plan(model, deadline=0.05)",
    "horizon": "pp.plan(model, budget=100, discount=1.0, horizon=5)",
    "reset": "pp.plan(model, budget=100, access='reset')",
    "planner": "pp.plan(model, budget=100, planner=pp.Platypus(0.9))",
    "control": "pp.control(model, budget=100, steps=3)",
    "control with a deadline": "pp.control(model, deadline=0.02, steps=3)",
    "agent": "agent = pp.Agent(model, budget=100); agent.act(); agent.observe(0.0, 1); agent.act()",
    "agent with a deadline": "agent = pp.Agent(model, deadline=0.02); agent.warm_up(); agent.act()",
    "text": "plan = pp.plan(model, budget=100); str(plan); repr(plan)",
    "explanation": "plan = pp.plan(model, budget=100); str(plan.explain()); plan.searched",
    "saved": "plan = pp.plan(model, budget=100); plan.tree; plan.actions; plan.lead",
    "checked": "pp.check_model(model)",
    "chain": "pp.plan(pp.problems.SwitchChain(), budget=100)",
    "table": "pp.plan(pp.problems.Garnet(10, 3, seed=0, noise=1.0), budget=100)",
    "motion": "pp.plan(lab.problems.Pendulum(), budget=100)",
    "puzzle": "pp.plan(lab.problems.SlidingTiles(), budget=100)",
    "jobs": "pp.plan(pp.problems.JobShop([[(0, 3), (1, 2)], [(1, 2), (0, 4)]]), budget=100)",
    "regret": "p = pp.problems.SwitchChain(); pp.problems.simple_regret(p, pp.plan(p, budget=100))",
    "array": "pp.plan(pp.problems.SwitchChain().array(), budget=100)",
    "mistake": "try: pp.plan(model)\nexcept pp.InvalidArgument: pass",
}


def test_the_default_planner_needs_nothing_large():
    # One after the other in one process: the first that imports something is named.
    lines = [MODEL, f"plain, large = {PLAIN!r}, {LARGE!r}"]
    lines.append("for name, code in plain.items():")
    lines.append("    exec(code)")
    lines.append("    found = [package for package in large if package in sys.modules]")
    lines.append("    assert not found, (name, found)")
    lines.append("    print(name, 'done')")
    assert run("\n".join(lines)).count("done") == len(PLAIN)


def test_only_html_needs_templates():
    assert imported(MODEL + "pp.plan(model, budget=100)._repr_html_()") == ["jinja2"]


def test_an_environment_needs_its_own_packages_only():
    pytest.importorskip("gymnasium")
    code = "pp.plan(pp.GymnasiumModel('CartPole-v1', seed=0), budget=100)"
    assert imported(code) == ["gymnasium"]


@pytest.mark.parametrize(
    "code",
    [
        "pp.plan(pp.problems.SwitchChain().compiled(), budget=100, seed=0)",
        "pp.plan(pp.problems.SwitchChain(), planner=pp.PlaTyPOOS(0.95), budget=100, seed=0)",
    ],
)
def test_who_needs_machine_code_imports_it(code):
    assert "numba" in imported(code)


@pytest.mark.parametrize(
    "module", [pp, lab, lab.problems, lab.theory, pp.checking, pp.models, pp.problems]
)
def test_all_public_names_are_there(module):
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_the_public_face_is_small():
    assert len(pp.__all__) <= 30


@pytest.mark.parametrize("name", pp.__all__)
def test_no_module_is_hidden_behind_a_public_name(name):
    is_module = isinstance(getattr(pp, name), ModuleType)
    assert (find_spec(f"platypoos.{name}") is not None) == is_module


def test_every_planner_is_there_by_the_name_of_its_class():
    for kind in planners.available().values():
        assert getattr(planners, kind.__name__) is kind
        assert kind.__name__ in dir(planners)


def test_a_planner_is_found_before_anything_else_is_imported():
    code = "print(pp.planners.Random.name, 'platypoos.planners.uct' in sys.modules)"
    assert run(code) == "random False"
    assert run("print(pp.planners.PredictiveSampling.name)") == "predictive-sampling"


@pytest.mark.parametrize("module", ["platypoos", "platypoos.models", "platypoos.problems"])
def test_names_can_be_imported_one_by_one(module):
    code = f"""
names = __import__({module!r}, fromlist=["__all__"]).__all__
for name in reversed(names):
    exec(f"from {module} import {{name}}")
from platypoos import *
import platypoos.results
assert callable(plan) and plan is pp.plan
"""
    run(code)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'platypoos' has no attribute 'plam'"):
        _ = pp.plam
    with pytest.raises(ImportError, match="cannot import name 'Platypusses'"):
        from platypoos.planners import Platypusses  # noqa: F401
