"""Rewards that both sequences get: what a page says of them is tried by planning again."""

from __future__ import annotations

import pytest

import platypoos as pp


def test_what_both_sequences_get_decides_nothing():
    # After the first step both are in the same state: only the first rewards differ.
    def step(state, action, rng):
        if state == 0:
            return 1, 1.0 - 0.5 * action, False
        return min(state + 1, 9), 50.0 if state == 3 else 0.0, False

    model = pp.FunctionModel(step, actions=2, initial_state=0)
    why = pp.plan(model, budget=300, discount=0.9, seed=0).explain()
    assert why.action == 0
    assert {flip.step for flip in why.flips if flip.kind == "reward"} == {0}


def test_a_reward_that_comes_later_in_the_other_sequence():
    # The same 10 comes after one step or after two: only the difference of their weights counts.
    def step(state, action, rng):
        if state == 0:
            return (2, 0.0, False) if action == 0 else (1, 0.0, False)
        if state in (1, 2):
            return (2, 0.0, False) if state == 1 else (3, 10.0, False)
        return 3, 0.0, False

    def lower(by):
        def changed(state, action, rng):
            after, reward, ended = step(state, action, rng)
            return after, reward - by * (reward == 10.0), ended

        return pp.plan(pp.FunctionModel(changed, 2, 0), budget=300, discount=0.9, seed=0)

    found = lower(0.0)
    assert found.action == 0
    flip = next(flip for flip in found.explain().flips if flip.step == 1)
    assert flip.amount == pytest.approx(-10.0)  # 0.9 − 0.81 of it is all of the lead
    assert "The other sequence gets it too" in flip.text
    assert lower(9.9).action == 0
    assert lower(10.1).action == 1
