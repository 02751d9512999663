"""Tables for notebooks, and texts of all kinds of states."""

from __future__ import annotations

import numpy as np

import platypoos as pp
from platypoos.lab.experiments.standings import Place, Standings
from platypoos.markup import Table, notebook, plain, show_state


def test_the_arena_in_a_notebook():
    places = tuple(Place(f"{family}/one", family, 100, 0) for family in ("traps", "loops"))
    scores = np.array([[[1.0, 0.8], [0.5, 0.5]], [[0.0, 0.2], [0.1, 0.1]]])
    shown = Standings(("<best>", "worst"), places, scores, ())._repr_html_()
    assert shown.index("&lt;best&gt;") < shown.index("worst")
    assert ">0.90</td>" in shown  # of the first in traps
    assert ">0.70</td>" in shown  # of the first in all
    assert "<best>" not in shown


def test_states_are_short():
    for state in (
        0, 1.5, "x" * 1_000, (1, 2), [1.0] * 100, np.zeros((3, 4)), np.zeros(1_000), b"x" * 5_000,
        {"a": {"b": list(range(100))}}, object(), None, True, np.float32(2.5), {1, 2},
    ):  # fmt: skip
        assert len(show_state(state)) <= 48
        assert "\n" not in show_state(state)
        plain(state)  # never raises


def test_tables_are_escaped():
    shown = notebook("<x>", Table(["<x>"], [["<x>"]], 0), ["<x>"])
    assert "<x>" not in shown
    assert shown.count("&lt;x&gt;") == 4


def test_actions_that_are_not_allowed_are_named():
    model = pp.FunctionModel(
        lambda state, action, rng: (state + 1, float(action), False),
        3,
        0,
        legal=lambda state: [0, 1],
    )
    found = pp.plan(model, budget=50, seed=0)
    assert "not allowed" in str(found)
    assert "not evaluated" not in str(found)
