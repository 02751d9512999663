"""What planners do has not changed without anybody saying so."""

from __future__ import annotations

import json

import pytest
from random_trees import PLANNERS
from signature import FILE, changes, signature_of

import platypoos as pp


@pytest.mark.parametrize("name", sorted(PLANNERS))
def test_a_planner_does_what_it_did(name):
    # After a change of behaviour on purpose: python tests/signature.py
    before = json.loads(FILE.read_text(encoding="utf-8"))[name]
    changed = changes(name, before, signature_of(name))
    assert not changed, "".join(changed)


def test_all_planners_have_a_signature():
    of_lists = {name for name, kind in pp.planners.available().items() if kind.lists}
    assert of_lists <= set(PLANNERS)  # tests/random_trees.py
    assert sorted(json.loads(FILE.read_text(encoding="utf-8"))) == sorted(PLANNERS)


def test_what_changed_is_shown():
    before = {"array, reset": "3 calls, actions 1", "gone": "1 calls, actions 0"}
    now = {"array, reset": "3 calls, actions 2", "new": "2 calls, actions 1"}
    assert changes("uct", before, before) == []
    assert changes("uct", before, now) == [
        "uct, array, reset\n- 3 calls, actions 1\n+ 3 calls, actions 2\n",
        "uct, gone\n- 1 calls, actions 0\n+ None\n",
        "uct, new\n- None\n+ 2 calls, actions 1\n",
    ]
