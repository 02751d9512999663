"""One executor for every schedule: go down the tree once, layer by layer (Figure 3).

The functions marked ``@jit`` are the inner loops. ``run`` is the algorithm: plain Python around
a Python model, and compiled as a whole around a compiled one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos._jit import inlined, jit, jitable
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, access_of, check_num_actions
from platypoos.plan import Plan
from platypoos.planners.base import Planner, Task
from platypoos.schedules import (
    EVALUATIONS,
    INDEX,
    QUOTA,
    STROQUOOL,
    BudgetUse,
    Schedule,
    check_budget,
    layered,
)
from platypoos.simulator import calls_made, evaluate
from platypoos.simulator_compiled import Driver
from platypoos.tree import (
    NODE_BITS,
    OPENED,
    ROOT,
    TERMINAL,
    Tree,
    set_node,
    set_root,
    ticket,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Tickets = NDArray[np.uint64]
NONE, ONE = np.uint64(0), np.uint64(1)


class Course(NamedTuple):
    """A schedule and the scratch memory to run it, as compiled code reads them."""

    rows: Ints  # [rows, 5]
    layers: Ints  # [depths + 1]
    group_end: Ints  # [p_max + 2] layer nodes of index p are group_end[p + 1]..group_end[p]
    nodes: Ints  # [widest] a request: the nodes to evaluate…
    repeats: Ints  # [widest] …and how often
    heap: Tickets  # [widest] tickets of the nodes that wait to be opened…
    keys: Floats  # [widest] …and their û
    candidates: Ints  # [p_max + 1] for each p, the node to validate
    finalists: Ints  # [p_max + 1] the distinct ones
    shares: Ints  # [p_max + 1] calls beyond Figure 3's for each of them
    weights: Floats  # [p_max + 1] what the shares are proportional to
    validation: Ints  # [depth] evaluations of step t in the cross-validation…
    weight: Floats  # [depth] …which are proportional to this, (t+1)·γ^(2t)
    power: Floats  # [depth] γ^t
    even: bool  # StroquOOL: all steps of a candidate are validated alike
    h_max: int
    gamma: float
    root_evaluations: int
    budget: int
    validated: bool
    spend_all: bool
    reset: bool


@dataclass(frozen=True)
class LayeredPlanner(Planner):
    """A planner that is a schedule."""

    kind: ClassVar[int]
    reward_floor: float | None = None
    budget_use: BudgetUse = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget_use not in {"full", "paper"}:
            raise InvalidArgument(f'budget_use must be "full" or "paper", got {self.budget_use!r}')
        if self.reward_floor is not None and not np.isfinite(self.reward_floor):
            raise InvalidArgument(
                f"reward_floor must be a finite number or None, got {self.reward_floor!r}"
            )

    def schedule(
        self, budget: int, num_actions: int, access: Access | str = Access.RESTORE
    ) -> Schedule:
        """What would be opened, known before the first call."""
        num_actions = check_num_actions(num_actions)
        budget = check_budget(budget, num_actions)
        access = access_of(None, access)
        return layered(self.kind, budget, num_actions, self.discount, access, self.budget_use)

    def _plan(self, task: Task) -> Plan:
        schedule = layered(
            self.kind, task.budget, task.num_actions, self.discount, task.access, self.budget_use
        )
        return run_schedule(task, schedule, self.reward_floor)


def run_schedule(task: Task, schedule: Schedule, reward_floor: float | None) -> Plan:
    """Run a schedule on a model."""
    sim, tree = task.begin(schedule.num_nodes)
    course = borrow_course(schedule)
    given_floor = np.nan if reward_floor is None else float(reward_floor)
    node, action, index, value, floor = run(
        sim, tree, course, task.num_actions, given_floor, task.tie_seed()
    )
    if len(course.keys) <= KEEP:
        schedule.courses.append(course)
    return Plan(
        action=int(action),
        value=float(value),
        calls=sim.calls,
        budget=task.budget,
        discount=schedule.discount,
        state=task.state,
        num_actions=task.num_actions,
        node=int(node),
        p_index=int(index),
        reward_floor=float(floor),
        tree=tree,
    )


KEEP = 10_000
"""Scratch memory of at most so many entries is kept for the next plan with the same schedule."""


def borrow_course(schedule: Schedule) -> Course:
    """A schedule's course: one that an earlier plan has left, or a new one."""
    try:
        return schedule.courses.pop()  # type: ignore[no-any-return]
    except IndexError:
        pass
    size = max(schedule.widest, (schedule.p_max + 1) * schedule.depth)
    levels = schedule.p_max + 1
    return Course(
        rows=schedule.rows,
        layers=schedule.layers,
        group_end=np.empty(levels + 1, np.int64),
        nodes=np.empty(size, np.int64),
        repeats=np.empty(size, np.int64),
        heap=np.empty(size, np.uint64),
        keys=np.empty(size),
        candidates=np.empty(levels, np.int64),
        finalists=np.empty(levels, np.int64),
        shares=np.empty(levels, np.int64),
        weights=np.empty(levels),
        validation=schedule.validation,
        weight=schedule.weight,
        power=schedule.power,
        even=schedule.kind == STROQUOOL,
        h_max=schedule.h_max,
        gamma=schedule.discount,
        root_evaluations=schedule.root_evaluations,
        budget=schedule.budget,
        validated=schedule.validated,
        spend_all=schedule.spend_all,
        reset=schedule.access is Access.RESET,
    )


@Driver
def run(
    sim: Any, tree: Tree, course: Course, num_actions: int, given_floor: float, tie_seed: int
) -> tuple[int, int, int, float, float]:
    """Explore layer by layer, cross-validate the candidates, output the best (Figure 3)."""
    asked = open_root(tree, course, num_actions)
    fine = evaluate(sim, tree, course.nodes[:asked], course.repeats[:asked])
    layer = 0
    while fine and layer < len(course.layers) - 1:
        asked = open_layer(tree, course, num_actions, tie_seed, layer)
        if asked == 0:
            break
        fine = evaluate(sim, tree, course.nodes[:asked], course.repeats[:asked])
        layer += 1
    floor = find_candidates(tree, course, given_floor, tie_seed)
    if fine and course.validated:
        finalists = share_out(tree, course, course.budget - calls_made(sim))
        for i in range(finalists):
            asked = validate(tree, course, i)
            fine = fine and evaluate(sim, tree, course.nodes[:asked], course.repeats[:asked])
    return output(tree, course, floor)


@jitable
def open_root(tree: Tree, course: Course, num_actions: int) -> int:
    """The root's children have index p_max."""
    p_max = len(course.group_end) - 2
    set_root(tree)
    tree.flags[ROOT] = OPENED
    for action in range(num_actions):
        set_node(tree, 1 + action, ROOT, action, p_max)
        course.nodes[action] = 1 + action
        course.repeats[action] = course.root_evaluations
    tree.size[0] = 1 + num_actions
    course.group_end[p_max + 1] = 1
    for p in range(p_max + 1):
        course.group_end[p] = 1 + num_actions
    return num_actions


@jit
def open_layer(tree: Tree, course: Course, num_actions: int, tie_seed: int, layer: int) -> int:
    """Open the best nodes of the deepest layer; returns how many children there are to evaluate.

    For p from p_max down to 0: of the nodes of index ≥ p that are not open yet, the k(h, p) with
    the largest û. The layer lists its nodes by decreasing index, so each p adds a stretch of it
    to a heap and takes the best from the top.
    """
    group_end = course.group_end
    p_max = len(group_end) - 2
    start = group_end[p_max + 1]
    update_values(tree, course, start, group_end[0])
    size = NONE  # of the heap
    asked = 0
    done = p_max + 1  # for indices from here up, group_end is that of the next layer
    next_start = tree.size[0]
    for row in range(course.layers[layer], course.layers[layer + 1]):
        p = course.rows[row, INDEX]
        evaluations = course.rows[row, EVALUATIONS]
        end = group_end[p]
        for node in range(start, end):
            if tree.flags[node] & TERMINAL == 0:
                entry = ticket(tie_seed, node)
                rise(course.keys, course.heap, size, tree.value[node], entry)
                size += ONE
        start = end
        for q in range(p + 1, done):  # indices that open nothing
            group_end[q] = next_start + asked
        for _ in range(min(int(size), course.rows[row, QUOTA])):
            node = int(take_best(course.keys, course.heap, size) & NODE_BITS)
            size -= ONE
            tree.flags[node] |= OPENED
            for action in range(num_actions):
                child = next_start + asked
                set_node(tree, child, node, action, p)
                course.nodes[asked] = child
                course.repeats[asked] = evaluations
                asked += 1
        group_end[p] = next_start + asked
        done = p
    for q in range(done):
        group_end[q] = next_start + asked
    group_end[p_max + 1] = next_start
    tree.size[0] = next_start + asked
    return asked


@inlined
def update_values(tree: Tree, course: Course, start: int, end: int) -> None:
    """û of the nodes of the deepest layer, by û of their parents."""
    if course.reset:
        start = 1  # walks add samples to every prefix
    depth = 0
    weight = 1.0
    for node in range(start, end):
        if tree.depth[node] != depth:
            depth = tree.depth[node]
            weight = course.power[depth - 1]
        tree.value[node] = tree.value[tree.parent[node]] + weight * tree.reward[node]


@inlined
def rise(keys: Floats, heap: Tickets, gap: np.uint64, key: float, entry: np.uint64) -> None:
    """Let an entry rise from a gap in the heap to its place; the best is on top.

    Places are unsigned: compiled code need not look whether they count from the end.
    """
    at = gap
    while at > NONE:
        above = (at - ONE) >> ONE
        if key < keys[above] or (key == keys[above] and entry < heap[above]):
            break
        keys[at] = keys[above]
        heap[at] = heap[above]
        at = above
    keys[at] = key
    heap[at] = entry


@inlined
def take_best(keys: Floats, heap: Tickets, size: np.uint64) -> np.uint64:
    """Take the best of so many entries from the heap.

    The gap sinks to the bottom along the better children, and the last entry rises from there:
    half the comparisons of the usual way, and none that the processor must guess.
    """
    best: np.uint64 = heap[NONE]
    last = size - ONE
    gap, child = NONE, ONE
    while child + ONE < last:
        if keys[child] == keys[child + ONE]:
            child += np.uint64(heap[child + ONE] > heap[child])
        else:
            child += np.uint64(keys[child + ONE] > keys[child])
        keys[gap] = keys[child]
        heap[gap] = heap[child]
        gap = child
        child = gap + gap + ONE
    if child < last:
        keys[gap] = keys[child]
        heap[gap] = heap[child]
        gap = child
    rise(keys, heap, gap, keys[last], heap[last])
    return best


@jit
def find_candidates(tree: Tree, course: Course, floor: float, tie_seed: int) -> float:
    """For each p the node of index ≥ p with the largest value; returns the reward floor f.

    Across depths nodes are compared by Σ γ^t (r̂ − f): every reward then counts as at least 0,
    as in the paper, whatever the sign of the rewards. f = 0 is the paper.
    """
    size = tree.size[0]
    if np.isnan(floor):
        floor = np.inf
        ended = 0
        for node in range(1, size):
            floor = min(floor, tree.reward[node])
            ended |= tree.flags[node] & TERMINAL
        if ended:
            floor = min(floor, 0.0)
    candidates, best = course.candidates, course.keys
    for p in range(len(candidates)):
        candidates[p] = ROOT
        best[p] = -np.inf
    depth = 0
    weight = 1.0
    tree.value[ROOT] = 0.0
    for node in range(1, size):
        if tree.depth[node] != depth:
            depth = tree.depth[node]
            weight = course.power[depth - 1]
        value = tree.value[tree.parent[node]] + weight * (tree.reward[node] - floor)
        if tree.flags[node] & TERMINAL:  # absorbing with reward 0 for ever, and that is certain
            value -= weight * course.gamma * floor / (1.0 - course.gamma)
        tree.value[node] = value
        p = tree.p_index[node]
        if value >= best[p] and (
            value > best[p] or ticket(tie_seed, node) > ticket(tie_seed, candidates[p])
        ):
            candidates[p] = node
            best[p] = value
    for p in range(len(candidates) - 2, -1, -1):
        above = candidates[p + 1]
        if best[p + 1] > best[p] or (
            best[p + 1] == best[p] and ticket(tie_seed, above) > ticket(tie_seed, candidates[p])
        ):
            candidates[p] = above
            best[p] = best[p + 1]
    return floor


@jitable
def step_share(
    course: Course, t: int, depth: int, most: int, heaviest: float
) -> tuple[int, int, float]:
    """Cross-validation of step t of a candidate: evaluations, calls for each, and weight.

    With RESTORE access a step is evaluated on its own. With RESET access a walk to step t
    evaluates all steps before it as well: only as many walks end at t as it needs more than
    ``most``, the most that any later step needs. The weight is in calls.
    """
    needed = -(-course.h_max // depth) if course.even else course.validation[t]
    weight = 1.0 if course.even else course.weight[t]
    if course.reset:
        return max(0, needed - most), t + 1, (t + 1) * max(0.0, weight - heaviest)
    return needed, 1, weight


@jitable
def share_out(tree: Tree, course: Course, calls_left: int) -> int:
    """Keep the distinct candidates, and divide what is left of the budget among them.

    Returns how many there are. Each gets what Figure 3 says; the rest (none if the budget is
    used as in the paper) is divided by weight, to the last call.
    """
    count = 0
    for p in range(len(course.candidates) - 1, -1, -1):
        node = course.candidates[p]
        if count == 0 or node != course.finalists[count - 1]:
            course.finalists[count] = node
            count += 1
    spare = calls_left
    total = 0.0
    for i in range(count):
        depth = tree.depth[course.finalists[i]]
        most, heaviest, weights = 0, 0.0, 0.0
        for t in range(depth - 1, -1, -1):
            evaluations, price, weight = step_share(course, t, depth, most, heaviest)
            most += evaluations
            heaviest += weight / price
            weights += weight
            spare -= evaluations * price
        course.weights[i] = weights
        total += weights
    if not course.spend_all:
        spare = 0
    running = 0.0
    given = 0
    for i in range(count):
        running += course.weights[i]
        upto = int(spare * (running / total))
        course.shares[i] = upto - given
        given = upto
    return count


@jitable
def validate(tree: Tree, course: Course, i: int) -> int:
    """The request that cross-validates candidate i with its share; returns its length."""
    node = course.finalists[i]
    depth = int(tree.depth[node])
    share = course.shares[i]
    most, heaviest, running = 0, 0.0, 0.0
    given = 0
    for t in range(depth - 1, -1, -1):
        evaluations, price, weight = step_share(course, t, depth, most, heaviest)
        most += evaluations
        heaviest += weight / price
        running += weight
        upto = share if t == 0 else int(share * (running / course.weights[i]))
        extra = (upto - given) // price
        given += extra * price
        course.nodes[t] = node
        course.repeats[t] = evaluations + extra
        node = tree.parent[node]
    return depth


@jitable
def output(tree: Tree, course: Course, floor: float) -> tuple[int, int, int, float, float]:
    """The candidate with the largest value, its first action, its p, its value, and the floor.

    Ties go to the larger p.
    """
    best, action, best_p, best_value = -1, -1, 0, -np.inf
    for p in range(len(course.candidates) - 1, -1, -1):
        node = course.candidates[p]
        value = 0.0
        if tree.flags[node] & TERMINAL:
            value = -floor / (1.0 - course.gamma)
        at = first = node
        while at != ROOT:
            value = tree.reward[at] - floor + course.gamma * value
            first = at
            at = tree.parent[at]
        if best < 0 or value > best_value:
            best, action, best_p, best_value = node, tree.action[first], p, value
    return best, action, best_p, best_value + floor / (1.0 - course.gamma), floor
