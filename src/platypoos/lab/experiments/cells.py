"""Running cells: the work that is sent to other processes."""

from __future__ import annotations

import pickle
import time
import traceback
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.api import control
from platypoos.lab.experiments.spec import NO_MAKERS, Cell, Makers, canonical
from platypoos.models.base import RANDOM, dynamics_of
from platypoos.planners.platypus.planner import Platypus
from platypoos.problems import Problem

Row = dict[str, Any]
KEPT = 64
"""Problems that are kept for the next cells."""


def run_cells(cells: list[Cell], makers: bytes = b"") -> list[Row]:
    """Run some cells; one that fails gives a row with its traceback.

    ``makers`` is the pickled form of what makes problems that are not ours.
    """
    try:
        made: Makers = pickle.loads(makers) if makers else NO_MAKERS  # noqa: S301  our own bytes
    except Exception:  # noqa: BLE001  recorded: say, the module is not there in this process
        reason = traceback.format_exc()
        return [{"key": cell.key, "status": "failed", "error": reason} for cell in cells]
    return [_run_or_fail(cell, made) for cell in cells]


def _run_or_fail(cell: Cell, makers: Makers) -> Row:
    try:
        return {"key": cell.key, "status": "done", **run_cell(cell, makers)}
    except Exception:  # noqa: BLE001  recorded; the other cells go on
        return {"key": cell.key, "status": "failed", "error": traceback.format_exc()}


def run_cell(cell: Cell, makers: Makers = NO_MAKERS) -> Row:
    """Control a problem, and measure.

    ``received`` is the discounted return with its noise, ``total`` the sum of the rewards,
    ``expected`` the discounted return of the mean rewards of the same actions, ``regret`` what the
    first action costs: max Q* − Q*(action). The last two are known for our own problems only; else
    ``expected`` is what was received.
    """
    problem, model = _models(cell, makers)
    planner = cell.make_planner()
    if isinstance(planner, Platypus):
        model = problem  # what users get is what is judged: the plain planner
    rng = np.random.default_rng(cell.seeds())
    start = time.perf_counter()
    episode = control(
        model,
        planner=planner,
        budget=cell.calls,
        steps=cell.steps,
        seed=rng,
        access=cell.access,
        horizon=cell.horizon,
    )
    seconds = time.perf_counter() - start
    row: Row = {
        "received": episode.discounted_return,
        "expected": episode.discounted_return,
        "total": float(sum(episode.rewards)),
        "calls": episode.calls,
        "seconds": seconds,
    }
    if isinstance(problem, Problem):
        if cell.access == "restore" and dynamics_of(problem) != RANDOM:  # else they lead elsewhere
            row["expected"] = problem.expected_return(episode.actions, cell.discount)
        values = _first_values(problem, cell)
        if values is not None:
            row["regret"] = float(values.max() - values[episode.action_indices[0]])
    return row


def _first_values(problem: Problem, cell: Cell) -> NDArray[np.float64] | None:
    """Q* of the initial state; None if it is not asked for and takes long."""
    if cell.horizon is None:
        return problem.action_values(problem.initial_state, cell.discount)
    if cell.steps > 1:  # with a horizon every state that can be reached is visited
        return None
    return problem.finite_values(problem.initial_state, cell.discount, cell.horizon)


_KEPT: OrderedDict[str, tuple[Any, Any]] = OrderedDict()


def _models(cell: Cell, makers: Makers) -> tuple[Any, Any]:
    """The problem, and the form of it to plan with; kept, as the next cell has it too."""
    place = canonical(cell.problem.as_data())
    if place not in _KEPT or cell.problem.name in makers:
        problem = cell.make_problem(makers)
        compiled = getattr(problem, "compiled", None)
        _KEPT[place] = problem, compiled() if callable(compiled) else problem
        if len(_KEPT) > KEPT:
            _KEPT.popitem(last=False)
    return _KEPT[place]
