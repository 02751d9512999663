"""Ask for the samples of a request, and learn from them."""

from __future__ import annotations

from typing import Any

from platypoos.compiled.code import part
from platypoos.compiled.platypus.knowledge import learn, note
from platypoos.compiled.platypus.state import Search
from platypoos.trees.meeting import settle
from platypoos.trees.requests import ask_legal, evaluate, is_late


@part
def ask(sim: Any, search: Search, count: int) -> bool:
    """Take the samples of ``nodes``. False if time is up, or if a compiled model failed."""
    note(search, count)
    if not evaluate(sim, search.tree, search.nodes[:count], search.repeats[:count]):
        return False
    new = learn(search, count)
    if new > 0:
        settle(sim, search.homes, search.nodes[:new])
        if not ask_legal(sim, search.nodes[:new]):
            return False
    return not is_late(sim)
