"""Ask for the samples of a request, and learn from them."""

from __future__ import annotations

from typing import Any

from platypoos.compile import part
from platypoos.ledger.meeting import settle
from platypoos.ledger.requests import ask_legal, evaluate, is_late
from platypoos.planners.platypus.knowledge import learn, note
from platypoos.planners.platypus.mind import Mind


@part
def ask(sim: Any, mind: Mind, count: int) -> bool:
    """Take the samples of ``nodes``. False if time is up, or if a compiled model failed."""
    note(mind, count)
    if not evaluate(sim, mind.tree, mind.nodes[:count], mind.repeats[:count]):
        return False
    new = learn(mind, count)
    if new > 0:
        settle(sim, mind.homes, mind.nodes[:new])
        if not ask_legal(sim, mind.nodes[:new]):
            return False
    return not is_late(sim)
