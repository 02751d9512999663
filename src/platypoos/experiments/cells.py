"""Running cells: the work that is sent to other processes."""

from __future__ import annotations

import time
import traceback
from typing import Any

import numpy as np

from platypoos.control import control
from platypoos.experiments.spec import Cell, canonical
from platypoos.problems import Problem

Row = dict[str, Any]


def run_cells(cells: list[Cell]) -> list[Row]:
    """Run some cells; one that fails gives a row with its traceback."""
    return [_run_or_fail(cell) for cell in cells]


def _run_or_fail(cell: Cell) -> Row:
    try:
        return {"key": cell.key, "status": "done", **run_cell(cell)}
    except Exception:  # noqa: BLE001  recorded; the other cells go on
        return {"key": cell.key, "status": "failed", "error": traceback.format_exc()}


def run_cell(cell: Cell) -> Row:
    """Control a problem, and measure.

    ``received`` is the discounted return with its noise, ``expected`` that of the mean rewards
    of the same actions, ``regret`` what the first action costs: max Q* − Q*(action). The last
    two are known for our own problems only; else ``expected`` is what was received.
    """
    problem, model = _models(cell)
    planner = cell.make_planner()
    rng = np.random.default_rng(cell.seeds())
    start = time.perf_counter()
    episode = control(
        model, planner, budget=cell.budget, steps=cell.steps, seed=rng, access=cell.access
    )
    seconds = time.perf_counter() - start
    row: Row = {
        "received": episode.discounted_return,
        "expected": episode.discounted_return,
        "calls": episode.calls,
        "seconds": seconds,
    }
    if isinstance(problem, Problem):
        values = problem.action_values(problem.initial_state, cell.discount)
        row["expected"] = problem.expected_return(episode.actions, cell.discount)
        row["regret"] = float(values.max() - values[episode.actions[0]])
    return row


_KEPT: dict[str, tuple[Any, Any]] = {}


def _models(cell: Cell) -> tuple[Any, Any]:
    """The problem, and the form of it to plan with; kept, as the next cell has it too."""
    place = canonical(cell.problem.as_data())
    if place not in _KEPT:
        problem = cell.make_problem()
        compiled = problem.compiled() if isinstance(problem, Problem) else problem
        _KEPT[place] = problem, compiled
    return _KEPT[place]
