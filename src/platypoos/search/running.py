"""One executor for every schedule: go down the tree once, layer by layer (Figure 3).

The functions marked ``@jit`` are the inner loops. ``run`` is the algorithm: plain Python around
a Python model, and compiled as a whole around a compiled one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_floor
from platypoos.compiled.code import borrowed, part
from platypoos.compiled.ledger.drivers import Driver
from platypoos.models.advice import Advice
from platypoos.models.base import Access
from platypoos.results import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.counts import FIGURE
from platypoos.search.opening import (
    Course,
    end_of_part,
    leave_out_illegal,
    list_opened,
    open_layer,
    open_root,
)
from platypoos.search.schedules import Schedule
from platypoos.search.validation import (
    Ballot,
    find_candidates,
    make_ballot,
    output,
    share_out,
    validate,
)
from platypoos.trees.protocol import Sampler
from platypoos.trees.requests import ask_legal, calls_made, evaluate, is_due
from platypoos.trees.tree import Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Output = tuple[int, int, int, float, float]
"""Node, first action, p, value, reward floor."""


PLACE = np.dtype(
    [
        ("layer", "i8"),  # the layer that is opened; BEFORE a plan
        ("asked", "i8"),  # entries of the present request
        ("done", "i8"),  # those that were evaluated
        ("finalists", "i8"),  # candidates to be validated; BEFORE they are known
        ("turn", "i8"),  # the candidate whose turn it is
        ("part", "i8"),  # most calls of a part of a request; 0 for no parts
    ]
)
"""Where a plan is that was paused."""
BEFORE = -1
PAUSED = (-1, -1, 0, 0.0, 0.0)


def run_schedule(
    planner: Planner, task: Task, schedule: Schedule, reward_floor: float | None
) -> Plan:
    """Run a schedule on a model."""
    sim, tree = task.begin(schedule.num_nodes)
    course, ballot = borrow_scratch(schedule)
    given_floor = check_floor(reward_floor)
    advice = sim.advice
    found = run(sim, tree, course, ballot, advice, task.num_actions, given_floor, task.tie_seed())
    return_scratch(schedule, course, ballot)
    return made(planner, task, tree, sim, found)


def made(planner: Planner, task: Task, tree: Tree, sim: Sampler, found: Output) -> Plan:
    """The plan that ``run`` has found."""
    node, action, index, value, floor = found
    worth = sim.advice.worth
    return planner.recommend(
        task,
        tree,
        node,
        action=int(action),
        value=float(value),
        calls=sim.calls,
        p_index=int(index),
        reward_floor=float(floor),
        worth=worth[: tree.num_nodes].copy() if len(worth) else None,
    )


KEEP = 10_000
"""Scratch memory up to this number of entries is kept for the next plan with the same schedule."""


def borrow_scratch(schedule: Schedule) -> tuple[Course, Ballot]:
    """A schedule with scratch memory: what an earlier plan has left, or new."""
    try:
        course, ballot = schedule.scratch.pop()
    except IndexError:
        pass
    else:
        course.at[0].layer, course.at[0].part = BEFORE, 0
        return course, ballot
    size = max(schedule.widest, schedule.depth)
    course = Course(
        rows=schedule.rows,
        layers=schedule.layers,
        group_end=np.empty(schedule.p_max + 2, np.int64),
        nodes=np.empty(size, np.int64),
        repeats=np.empty(size, np.int64),
        pool=np.empty(size, np.uint64),
        keys=np.empty(size, np.int64),
        opened=np.empty(size, np.int64),
        power=schedule.power,
        gamma=schedule.discount,
        root_evaluations=schedule.root_evaluations,
        reset=schedule.access is Access.RESET,
        figure=schedule.kind == FIGURE,
        at=np.array([(BEFORE, 0, 0, 0, 0, 0)], PLACE).view(np.recarray),
        floor=np.empty(1),
    )
    return course, make_ballot(schedule)


def return_scratch(schedule: Schedule, course: Course, ballot: Ballot) -> None:
    """Keep scratch memory for the next plan with the same schedule."""
    if len(course.keys) <= KEEP:
        schedule.scratch.append((course, ballot))


@Driver
def run(
    sim: Any,
    tree: Tree,
    course: Course,
    ballot: Ballot,
    advice: Advice,
    num_actions: int,
    given_floor: float,
    tie_seed: int,
) -> Output:
    """Explore layer by layer, cross-validate the candidates, output the best (Figure 3).

    The node is −1 if the clock has run out. In machine code that may be a pause to look at the
    clock: called again, it goes on.
    """
    tree, course, ballot = borrowed(tree), borrowed(course), borrowed(ballot)
    nodes, repeats, at = course.nodes, course.repeats, course.at[0]
    legal, worth = advice.legal, advice.worth
    fine = True
    layer, asked, done, finalists, turn = 0, num_actions, 0, BEFORE, 0
    if at.layer == BEFORE:
        open_root(tree, course, num_actions)
        fine = bar_illegal(sim, tree, course, legal, asked, num_actions)
    else:
        layer, asked, done = at.layer, at.asked, at.done
        finalists, turn = at.finalists, at.turn
    while True:
        while fine and done < asked:
            end = asked if at.part == 0 else end_of_part(repeats, done, asked, at.part)
            fine = evaluate(sim, tree, nodes[done:end], repeats[done:end]) and not is_due(sim)
            done = end
        if not fine:
            at.layer, at.asked, at.done = layer, asked, done
            at.finalists, at.turn = finalists, turn
            return PAUSED
        done = 0
        if finalists == BEFORE and asked > 0 and layer < len(course.layers) - 1:
            asked = open_layer(tree, course, worth, num_actions, tie_seed, layer)
            layer += 1
            fine = bar_illegal(sim, tree, course, legal, asked, num_actions)
            continue
        if finalists == BEFORE:
            course.floor[0] = find_candidates(tree, ballot, worth, given_floor, tie_seed)
            finalists = 0
            if ballot.validated:
                finalists = share_out(tree, ballot, ballot.budget - calls_made(sim))
        if turn == finalists:
            return output(tree, ballot, worth, course.floor[0])
        asked = validate(tree, ballot, turn, nodes, repeats)
        turn += 1


@part
def bar_illegal(
    sim: Any, tree: Tree, course: Course, legal: NDArray[np.uint8], asked: int, num_actions: int
) -> bool:
    """Ask which actions are legal, and leave out the others; False if the model failed."""
    if len(legal) == 0:
        return True
    opened = list_opened(tree, course, asked, num_actions)
    fine = ask_legal(sim, course.opened[:opened])
    leave_out_illegal(tree, course, legal, asked)
    return fine
