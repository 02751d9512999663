"""Can a model go on from a state it returned? Some keep their state to themselves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from platypoos.checks import same
from platypoos.errors import DynamicsError
from platypoos.models.advice import Advisor
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access, Transition, access_of, actions_of, is_compiled
from platypoos.models.failures import act, brief
from platypoos.models.numbered import numbered
from platypoos.models.points import has_points

LONGEST = 50
"""Most steps of a walk. Only walks whose state stays the same take more than one."""


def may_hide_its_state(model: Any) -> bool:
    """Whether a model declares that it can only be reset, and is not known to save its states."""
    if access_of(model) is not Access.RESET or isinstance(model, ArrayModel) or is_compiled(model):
        return False
    return not (getattr(model, "saves_states", False) or hasattr(model, "successors"))


def check_goes_on(model: Any, state: Any, most: int) -> int:
    """Raise an error if a model cannot go on from ``state`` twice in the same way.

    The same walk is taken twice, with the same random numbers: one step, or more as long as the
    state that comes back is the same, such as "under way". Returns the calls that were made, at
    most ``most``.
    """
    longest = min(LONGEST, most // 2)
    if longest < 1:
        return 0
    space = actions_of(model)
    if has_points(space):
        action = taken = space.draw(np.random.default_rng(0))
    else:
        model = numbered(model)
        advisor = Advisor(model)
        action = int(np.flatnonzero(advisor.mask(state))[0]) if advisor.masked else 0
        taken = space.payloads[action]
    before = _copied(state)
    one = _walk(model, state, action, longest)
    if _alike(before, state) is False:
        other, how = [], f"a step from it changed it to {brief(state)}"
    else:
        other = _walk(model, state, action, longest)
        how = _contradiction(one, other)
    if how:
        raise DynamicsError(
            f"planning cannot go on from the state {brief(before)}: {how}. The model seems to keep "
            "its state to itself, so it can be planned with from its first state only: call plan, "
            "and carry out plan.actions. For control and Agent, let step return a state that it "
            "can go on from (GymnasiumModel does that for Gymnasium environments). If its results "
            "are random, draw all randomness from rng",
            state=state,
            action=taken,
        )
    return len(one) + len(other)


def _walk(model: Any, state: Any, action: Any, longest: int) -> list[Transition]:
    """One action again and again, as long as the state stays the same."""
    rng, here = np.random.default_rng(0), state
    steps: list[Transition] = []
    for _ in range(longest):
        after = act(model, here, action, rng)
        steps.append(after._replace(state=_copied(after.state)))
        if after.terminated or not _alike(after.state, state):
            break
        here = after.state
    return steps


def _contradiction(one: list[Transition], other: list[Transition]) -> str:
    for step, (first, second) in enumerate(zip(one, other, strict=False)):
        if _alike(tuple(first), tuple(second)) is False:
            said = [f"({brief(s, 60)}, {r!r}, {e})" for s, r, e in (first, second)]
            place = "the same step" if not step else f"step {step + 1} of the same walk"
            return f"{place} from there returned {said[0]}, and then {said[1]}"
    return ""


def _alike(one: Any, other: Any) -> bool | None:
    """Whether two states or results are the same; None if they cannot be compared."""
    try:
        return same(one, other)
    except Exception:  # noqa: BLE001  whatever comparing the user's states raises
        return None


def _copied(state: Any) -> Any:
    try:
        return copy.deepcopy(state)
    except Exception:  # noqa: BLE001  whatever copying the user's state raises
        return state
