"""Plans, episodes and reports as data: stable from version to version."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import platypoos as pp

DATA = Path(__file__).with_name("data")
KINDS = {
    "plan": pp.Plan,
    "episode": pp.Episode,
    "model-report": pp.checking.ModelReport,
    "simulator-report": pp.checking.SimulatorReport,
}


def made(name):
    chain = pp.problems.SwitchChain(noise=1.0)
    if name == "plan":
        return pp.plan(chain, budget=60, discount=0.8, seed=0)
    if name == "episode":
        return pp.control(chain, budget=30, discount=0.8, steps=3, seed=0)
    if name == "model-report":
        return pp.check_model(chain, steps=20)
    return pp.check_simulator("CartPole-v1", trajectories=1, steps=3)


def stored(name):
    return json.loads((DATA / f"{name}-1.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", KINDS)
def test_version_1_is_read(name):
    data = stored(name)
    assert data["version"] == 1
    again = json.loads(json.dumps(KINDS[name].from_dict(data).as_dict()))
    if name == "episode":  # its plans are not stored
        for row in data["steps"]:
            for key in ("value", "values", "depth"):
                del row[key]
    for key, value in data.items():
        if isinstance(value, float):
            value = pytest.approx(value)  # the last digit of a sum depends on the machine
        assert again[key] == value, key


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_has_the_fields_of_version_1(name):
    data = made(name).as_dict()
    assert json.loads(json.dumps(data, allow_nan=False))["version"] == 1
    assert set(stored(name)) <= set(data)
    if name == "episode":
        assert set(stored(name)["steps"][0]) <= set(data["steps"][0])
    if name == "plan":
        old, new = stored(name)["sequences"][0], data["sequences"][0]
        assert set(old) <= set(new)
        assert set(old["steps"][0]) <= set(new["steps"][0])


@pytest.mark.parametrize("name", KINDS)
def test_newer_data_is_refused(name):
    with pytest.raises(pp.InvalidArgument, match="version 2"):
        KINDS[name].from_dict({**stored(name), "version": 2})


@pytest.mark.parametrize("name", KINDS)
def test_pickle(name):
    before = made(name)
    after = pickle.loads(pickle.dumps(before))
    assert after.as_dict() == before.as_dict()
    assert str(after) == str(before)
    assert after._repr_html_() == before._repr_html_()


def test_a_pickled_plan_can_be_explained():
    """Its model cannot be pickled, and is left out."""
    model = pp.FunctionModel(lambda s, a, rng: (s + a, float(s == 3), s > 4), 2, 0)
    found = pp.plan(model, budget=100, seed=0)
    after = pickle.loads(pickle.dumps(found))
    assert after.origin.model is None
    assert found.origin.model is model
    one, two = found.explain(), after.explain()
    assert (one.summary, one.bars, one.searched) == (two.summary, two.bars, two.searched)
    np.testing.assert_array_equal(after.action_values, found.action_values)


def test_a_plan_from_data_says_the_same():
    found = made("plan")
    after = pp.Plan.from_dict(json.loads(json.dumps(found.as_dict())))
    first, *rest = str(found).splitlines()
    again, *others = str(after).splitlines()
    assert first == again
    # States came back as lists.
    assert [line.split("(0")[0] for line in rest[:6]] == [
        line.split("[0")[0] for line in others[:6]
    ]
    assert after.explain().bars == found.explain().bars


@pytest.mark.parametrize("name", KINDS)
def test_notebooks_show_it(name):
    shown = made(name)._repr_html_()
    assert shown.startswith("<div>")
    assert shown.count("<table") == shown.count("</table>") >= 1


def test_texts_are_escaped():
    model = pp.FunctionModel(lambda s, a, rng: (s + a, 0.0, False), 2, 0)
    found = pp.plan(model, budget=20, seed=0)
    vars(found)["action_names"] = ("<script>alert(1)</script>", "a & b")
    assert "<script>" not in found._repr_html_()
    report = pp.checking.ModelReport("<b>", 1, ("<i>",), ())
    assert "<i>" not in report._repr_html_()
