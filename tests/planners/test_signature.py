"""What planners do has not changed without anybody saying so."""

from __future__ import annotations

import json

import pytest
from random_trees import PLANNERS
from signature import FILE, signature_of

import platypoos as pp


@pytest.mark.parametrize("name", sorted(PLANNERS))
def test_a_planner_does_what_it_did(name):
    # After a change of behaviour on purpose: python tests/signature.py
    assert signature_of(name) == json.loads(FILE.read_text(encoding="utf-8"))[name]


def test_all_planners_have_a_signature():
    of_lists = {name for name, kind in pp.planners.available().items() if kind.lists}
    assert of_lists <= set(PLANNERS)  # tests/random_trees.py
    assert sorted(json.loads(FILE.read_text(encoding="utf-8"))) == sorted(PLANNERS)
