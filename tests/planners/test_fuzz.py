"""A small version of ``benchmarks/fuzz.py``: random odd models, planners and arguments."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
from fuzz import check, complaint, make_case, run
from fuzz_models import KINDS, Fault, Running
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import platypoos as pp

PLAIN = KINDS[:-1]  # compiled models are compiled for a minute


@pytest.fixture(autouse=True)
def _quiet():
    """Rewards of 1e99 overflow here and there; what comes out must still be right."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("hundred", range(5))
def test_promises_are_kept(hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        said = check(random.Random(seed), PLAIN)  # noqa: S311
        assert not said, f"python benchmarks/fuzz.py --python --seed {seed}: {said}"


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.randoms(use_true_random=False))
def test_promises_are_kept_for_what_hypothesis_thinks_of(draw):
    said = check(draw, PLAIN)
    assert not said, said


def some_case(kind, fault=""):
    """A case of a kind of model, with a fault at the first call."""
    for seed in range(1_000):
        case = make_case(random.Random(seed), (kind,), ("platypoos",))  # noqa: S311
        usual = not case.bad and case.executor is None and case.world.form.name == "int"
        if usual and case.world.fault.kind == fault and case.world.fault.at <= 2:
            return case
    raise AssertionError(f"no case with {fault}")


class Breaks:
    """Lets a running model break a promise for the planner."""

    def __init__(self, monkeypatch):
        self.patch = monkeypatch

    def over_budget(self):
        self.patch.setattr(Running, "calls", property(lambda r: int(r.counter[0]) + 1_000_000))

    def illegal(self):
        self.patch.setattr(Running, "is_legal", lambda r, action: False)

    def illegal_call(self):
        self.patch.setattr(Running, "illegal_calls", property(lambda r: 1))


@pytest.mark.parametrize(
    ("name", "said"),
    [("over_budget", "are allowed"), ("illegal", "is illegal"), ("illegal_call", "illegal calls")],
)
def test_the_fuzzer_notices(name, said, monkeypatch):
    case = some_case("python")
    assert complaint(case, run(case)) == ""
    getattr(Breaks(monkeypatch), name)()
    assert said in complaint(case, run(case))


def test_the_fuzzer_notices_errors_that_are_not_ours(monkeypatch):
    case = some_case("python", "raise")
    outcome = run(case)
    assert isinstance(outcome.error, pp.ModelError)
    assert complaint(case, outcome) == ""
    outcome.error = KeyError("not ours")
    assert "an error that is not ours: KeyError" in complaint(case, outcome)
    outcome.error = None
    assert "was not told" in complaint(case, outcome)
    outcome.error = pp.errors.BudgetExceeded("too much")
    assert "should not get out" in complaint(case, outcome)


def test_the_fuzzer_notices_plans_that_differ(monkeypatch):
    made = []

    def unlike(self):
        made.append(self)
        return len(made)

    monkeypatch.setattr("fuzz.Outcome.summary", unlike)
    monkeypatch.setattr("fuzz.AGAIN", 1.1)
    said = [check(random.Random(seed), PLAIN) for seed in range(5)]  # noqa: S311
    assert any("the same seed, another plan" in text for text in said)


def test_faults_say_whether_they_must_be_told():
    assert Fault("raise").must_be_told
    assert not Fault("odd reward").must_be_told
