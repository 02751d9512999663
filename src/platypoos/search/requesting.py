"""Requests of planners that are plain Python as a whole."""

from __future__ import annotations

from typing import Any

from platypoos.ledger.drivers import Driver
from platypoos.ledger.protocol import Nodes
from platypoos.ledger.requests import evaluate
from platypoos.ledger.tree import Tree


@Driver
def request(sim: Any, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Ask the ledger from outside of compiled code."""
    return evaluate(sim, tree, nodes, repeats)
