"""One executor for every schedule: go down the tree once, layer by layer (Figure 3).

The functions marked ``@jit`` are the inner loops. ``run`` is the algorithm: plain Python around
a Python model, and compiled as a whole around a compiled one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_floor
from platypoos.compile import borrowed, inlined, jit, jitable
from platypoos.errors import InvalidArgument
from platypoos.ledger.drivers import patient_driver
from platypoos.ledger.requests import ask_legal, calls_made, evaluate
from platypoos.ledger.tree import (
    CLOSED,
    ILLEGAL,
    NODE_BITS,
    OPENED,
    ROOT,
    Tree,
    set_node,
    set_root,
    ticket,
)
from platypoos.models.advice import Advice, is_legal
from platypoos.models.base import Access
from platypoos.plan import Plan
from platypoos.search.base import Planner, Task
from platypoos.search.counts import EVALUATIONS, INDEX, QUOTA
from platypoos.search.schedules import BudgetUse, Schedule, check_schedule, layered
from platypoos.search.selection import NONE, ONE, Tickets, in_order, move_best_to_end
from platypoos.search.validation import (
    Ballot,
    find_candidates,
    make_ballot,
    output,
    share_out,
    validate,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Course(NamedTuple):
    """The exploration of a schedule and its scratch memory, as compiled code reads them."""

    rows: Ints  # [rows, 5]
    layers: Ints  # [depths + 1]
    group_end: Ints  # [p_max + 2] layer nodes of index p are group_end[p + 1]..group_end[p]
    nodes: Ints  # [widest] a request: the nodes to evaluate…
    repeats: Ints  # [widest] …and how often
    pool: Tickets  # [widest] tickets of the nodes that wait to be opened…
    keys: Ints  # [widest] …and numbers that are in the order of their û
    opened: Ints  # [widest] nodes whose children are to be evaluated
    power: Floats  # [depth] γ^t
    gamma: float
    root_evaluations: int
    reset: bool


@dataclass(frozen=True)
class LayeredPlanner(Planner):
    """A planner that is a schedule."""

    kind: ClassVar[int]
    uses: ClassVar[tuple[str, ...]] = ("value",)
    reward_floor: float | None = None
    budget_use: BudgetUse = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget_use not in {"full", "paper"}:
            raise InvalidArgument(f'budget_use must be "full" or "paper", got {self.budget_use!r}')
        check_floor(self.reward_floor)

    def schedule(
        self,
        budget: int,
        num_actions: int,
        access: Access | str = Access.RESTORE,
        horizon: int | None = None,
    ) -> Schedule:
        """What would be opened at most, known before the first call."""
        checked = check_schedule(
            budget, num_actions, self.discount, access, self.budget_use, horizon
        )
        return layered(self.kind, *checked, self.budget_use, horizon)

    def _plan(self, task: Task) -> Plan:
        schedule = layered(
            self.kind,
            task.budget,
            task.num_actions,
            self.discount,
            task.access,
            self.budget_use,
            task.horizon,
        )
        return run_schedule(self, task, schedule, self.reward_floor)


def run_schedule(
    planner: Planner, task: Task, schedule: Schedule, reward_floor: float | None
) -> Plan:
    """Run a schedule on a model."""
    sim, tree = task.begin(schedule.num_nodes)
    course, ballot = borrow_scratch(schedule)
    given_floor = check_floor(reward_floor)
    advice = sim.advice
    node, action, index, value, floor = run(
        sim, tree, course, ballot, advice, task.num_actions, given_floor, task.tie_seed()
    )
    if len(course.keys) <= KEEP:
        schedule.scratch.append((course, ballot))
    return planner.recommend(
        task,
        tree,
        node,
        action=int(action),
        value=float(value),
        calls=sim.calls,
        p_index=int(index),
        reward_floor=float(floor),
        worth=advice.worth[: tree.num_nodes].copy() if len(advice.worth) else None,
    )


KEEP = 10_000
"""Scratch memory up to this number of entries is kept for the next plan with the same schedule."""


def borrow_scratch(schedule: Schedule) -> tuple[Course, Ballot]:
    """A schedule with scratch memory: what an earlier plan has left, or new."""
    try:
        return schedule.scratch.pop()  # type: ignore[no-any-return]
    except IndexError:
        pass
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
    )
    return course, make_ballot(schedule)


@patient_driver(seconds=1.0)
def run(
    sim: Any,
    tree: Tree,
    course: Course,
    ballot: Ballot,
    advice: Advice,
    num_actions: int,
    given_floor: float,
    tie_seed: int,
) -> tuple[int, int, int, float, float]:
    """Explore layer by layer, cross-validate the candidates, output the best (Figure 3)."""
    tree, course, ballot = borrowed(tree), borrowed(course), borrowed(ballot)
    nodes, repeats = course.nodes, course.repeats
    legal, worth = advice.legal, advice.worth
    asked = open_root(tree, course, num_actions)
    fine = True
    layer = 0
    while fine and asked > 0:
        if len(legal) > 0:
            opened = list_opened(tree, course, asked, num_actions)
            fine = ask_legal(sim, course.opened[:opened])
            leave_out_illegal(tree, course, legal, asked)
        fine = fine and evaluate(sim, tree, nodes[:asked], repeats[:asked])
        if layer == len(course.layers) - 1:
            break
        if fine:
            asked = open_layer(tree, course, worth, num_actions, tie_seed, layer)
        layer += 1
    if not fine:  # the ledger says what is wrong; the tree is not whole, and not to be read
        return -1, -1, 0, 0.0, 0.0
    floor = find_candidates(tree, ballot, worth, given_floor, tie_seed)
    if ballot.validated:
        finalists = share_out(tree, ballot, ballot.budget - calls_made(sim))
        for i in range(finalists):
            asked = validate(tree, ballot, i, nodes, repeats)
            fine = fine and evaluate(sim, tree, nodes[:asked], repeats[:asked])
    return output(tree, ballot, worth, floor)


@jitable
def open_root(tree: Tree, course: Course, num_actions: int) -> int:
    """The root's children have index p_max."""
    p_max = len(course.group_end) - 2
    set_root(tree)
    tree.flags[ROOT] = OPENED
    for action in range(num_actions):
        set_node(tree, 1 + action, ROOT, action, 1, p_max)
        tree.reward[1 + action] = 0.0
        course.nodes[action] = 1 + action
        course.repeats[action] = course.root_evaluations
    tree.size[0] = 1 + num_actions
    course.group_end[p_max + 1] = 1
    for p in range(p_max + 1):
        course.group_end[p] = 1 + num_actions
    return num_actions


@jit
def list_opened(tree: Tree, course: Course, asked: int, num_actions: int) -> int:
    """The nodes whose children are the request; returns how many."""
    count = 0
    for k in range(0, asked, num_actions):
        course.opened[count] = tree.parent[course.nodes[k]]
        count += 1
    return count


@jit
def leave_out_illegal(tree: Tree, course: Course, legal: NDArray[np.uint8], asked: int) -> None:
    """Actions that are not legal are not evaluated, and their nodes are closed."""
    for k in range(asked):
        node = course.nodes[k]
        if not is_legal(legal, tree.parent[node], tree.action[node]):
            tree.flags[node] = ILLEGAL
            course.repeats[k] = 0


@jit
def open_layer(
    tree: Tree, course: Course, worth: Floats, num_actions: int, tie_seed: int, layer: int
) -> int:
    """Open the best nodes of the deepest layer; returns how many children there are to evaluate.

    For p from p_max down to 0: of the nodes of index ≥ p that are not open yet, the k(h, p) with
    the largest û. The layer lists its nodes by decreasing index, so each p adds a stretch of it
    to a pool and takes the best.
    """
    tree, course = borrowed(tree), borrowed(course)
    group_end = course.group_end
    p_max = len(group_end) - 2
    start = group_end[p_max + 1]
    if course.reset:
        update_values(tree, course, start)  # walks add samples to every prefix
    next_start = tree.size[0]
    depth = tree.depth[next_start - 1] + 1
    weight = course.power[depth - 2]
    size = NONE  # of the pool
    first = child = np.uint64(next_start)
    done = p_max + 1  # for indices from here up, group_end is that of the next layer
    for row in range(course.layers[layer], course.layers[layer + 1]):
        p = course.rows[row, INDEX]
        end = group_end[p]
        size = fill_pool(tree, course, worth, start, end, weight, tie_seed, size)
        start = end
        for q in range(p + 1, done):  # indices that open nothing
            group_end[q] = child
        count = min(size, np.uint64(course.rows[row, QUOTA]))
        if count < size:
            move_best_to_end(course.keys, course.pool, size, count)
        evaluations = course.rows[row, EVALUATIONS]
        for _ in range(count):
            size -= ONE
            node = course.pool[size] & NODE_BITS
            tree.flags[node] = OPENED  # it is not terminal
            for action in range(num_actions):
                tree.parent[child] = node
                tree.action[child] = action
                tree.p_index[child] = p
                course.repeats[child - first] = evaluations
                child += ONE
        group_end[p] = child
        done = p
    for q in range(done):
        group_end[q] = child
    group_end[p_max + 1] = next_start
    tree.size[0] = child
    set_layer(tree, course, first, child, depth)
    return int(child - first)


@inlined
def fill_pool(
    tree: Tree,
    course: Course,
    worth: Floats,
    start: int,
    end: int,
    weight: float,
    tie_seed: int,
    size: np.uint64,
) -> np.uint64:
    """Add a stretch of the deepest layer to the pool, by its û; returns the pool's new size.

    If the model tells what states are worth, by û and that.
    """
    for node in range(np.uint64(start), np.uint64(end)):
        value = tree.value[np.uint64(tree.parent[node])] + weight * tree.reward[node]
        tree.value[node] = value
        if len(worth) > 0:
            value += weight * course.gamma * worth[node]
        course.keys[size] = in_order(value)
        course.pool[size] = ticket(tie_seed, node)
        size += np.uint64(tree.flags[node] & CLOSED == 0)
    return size


@inlined
def set_layer(tree: Tree, course: Course, first: np.uint64, end: np.uint64, depth: int) -> None:
    """What the nodes of a new layer have in common; plain loops, a dozen stores at a time."""
    for node in range(first, end):
        tree.depth[node] = depth
    for node in range(first, end):
        tree.pulls[node] = 0
    for node in range(first, end):
        tree.reward[node] = 0.0
    for node in range(first, end):
        tree.flags[node] = 0
    for node in range(first, end):
        course.nodes[node - first] = node


@inlined
def update_values(tree: Tree, course: Course, end: int) -> None:
    """û of the nodes before ``end``, by û of their parents."""
    for node in range(1, end):
        weight = course.power[tree.depth[node] - 1]
        tree.value[node] = tree.value[tree.parent[node]] + weight * tree.reward[node]
