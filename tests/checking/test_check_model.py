"""What ``check_model`` says of features and keys."""

from __future__ import annotations

import itertools

import pytest
from environments import Walk

import platypoos as pp


def step(place, action, rng):
    return (place[0] + 2 * action - 1,), 0.0, False


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        (lambda state: state[0], "must return a tuple, a list or an array"),
        (lambda state: state[7], "the model's features raised IndexError"),
        (lambda state: ({},), "the values of features must be hashable"),
        (lambda state: (next(COUNTER),), "they must depend on the state only"),
        (lambda state: (0,) * (1 + state[0] % 2), "return as many of every state"),
    ],
)
def test_features_that_would_mislead(features, problem):
    report = pp.check_model(pp.FunctionModel(step, 2, (0,), features=features))
    assert not report.ok
    assert problem in report.problems[0]


def test_features_that_change_the_state():
    def walk(place, action, rng):
        return [place[0] + 2 * action - 1, 0], 0.0, False

    def features(state):
        state[1] += 1
        return (state[0],)

    report = pp.check_model(pp.FunctionModel(walk, 2, [0, 0], features=features))
    assert "features changed the state it was given" in str(report)


def test_features_that_are_well():
    report = pp.check_model(pp.FunctionModel(step, 2, (0,), features=lambda s: (s[0], (1, 2))))
    assert report.ok
    assert "features depend on the state only; there are 3" in report.passed
    assert "features" not in str(pp.check_model(pp.FunctionModel(step, 2, (0,))))


def test_an_environment_without_features():
    report = pp.check_model(pp.GymnasiumModel(Walk), steps=5)
    assert report.ok, report  # its snapshots are objects that cannot be compared
    assert any("check_simulator tells whether" in note for note in report.notes)
    assert any("show no features; pass features=" in note for note in report.notes)


def test_states_that_cannot_be_told_apart_are_no_success():
    def walk(state, action, rng):
        return {"place": state["place"] + 1}, 0.0, False

    report = pp.check_model(pp.FunctionModel(walk, 2, {"place": 0}))
    assert report.ok
    assert not any("told apart" in line for line in report.passed)
    assert "states cannot be told apart" in report.notes[0]
    assert "  note     states cannot be told apart, so sequences that meet share" in str(report)
    keyed = pp.FunctionModel(walk, 2, {"place": 0}, key=lambda s: s["place"])
    report = pp.check_model(keyed)
    assert report.notes == ()
    assert "states can be told apart" in str(report)


def test_states_of_which_some_have_no_key():
    model = pp.FunctionModel(
        lambda n, a, rng: (n + 1, 0.0, n == 9), 2, 0, key=lambda n: None if n in (3, 4) else n
    )
    report = pp.check_model(model, steps=100)
    assert report.notes == ("the key of 20 of 100 states was None: they meet no other",)


class Ring:
    """Two objects that refer to each other."""

    def __init__(self, place):
        self.place, self.other = place, None

    def moved(self, by):
        one, two = Ring(self.place + by), Ring(0)
        one.other, two.other = two, one
        return one


def test_states_that_refer_to_themselves():
    def walk(state, action, rng):
        return state.moved(2 * action - 1), 0.0, False

    assert pp.check_model(pp.FunctionModel(walk, 2, Ring(0).moved(0))).ok

    def marks(state, action, rng):
        state.other.place += 1
        return state.moved(2 * action - 1), 0.0, False

    report = pp.check_model(pp.FunctionModel(marks, 2, Ring(0).moved(0)))
    assert "step changed the state it was given" in str(report)


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "parking-v0"])
def test_models_of_environments(name):
    options = {"parking-v0": {"actions": 2}, "FrozenLake-v1": {"is_slippery": False}}.get(name, {})
    report = pp.check_model(pp.GymnasiumModel(name, **options), steps=3)
    assert report.ok, report
    apart = "states can be told apart" in str(report)
    assert apart == (name == "FrozenLake-v1"), report  # the others never meet, or have no key


def test_a_step_that_keeps_something_to_itself():
    def counts(state, action, rng):
        return state + next(COUNTER) % 3, 0.0, False

    report = pp.check_model(pp.FunctionModel(counts, 2, 0))
    assert not report.ok
    assert "keeps something outside of the state" in report.problems[0]

    def slips(state, action, rng):
        return state + int(rng.integers(3)), 0.0, False

    report = pp.check_model(pp.FunctionModel(slips, 2, 0))
    assert 'dynamics="random"' in report.problems[0]


def test_reports_point_at_no_traceback():
    report = pp.check_model(pp.FunctionModel(lambda state, action, rng: 1 / 0, 2, 0))
    assert "ZeroDivisionError" in str(report)
    assert "traceback" not in str(report)
