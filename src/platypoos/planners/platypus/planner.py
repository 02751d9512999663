"""The default planner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from platypoos._jit import handle, jit
from platypoos.advice import NO_HORIZON
from platypoos.meeting import make_homes
from platypoos.models.base import Access
from platypoos.models.compiled import CompiledModel
from platypoos.models.keys import key_of
from platypoos.plan import Plan
from platypoos.planners.base import Planner, Task
from platypoos.planners.platypus.algorithm import think
from platypoos.planners.platypus.mind import BEFORE, STANDING, START, Mind
from platypoos.planners.platypus.tuning import AT_LEAST, NEGLIGIBLE, SHORTEST, STAGES
from platypoos.tree import ROOT, make_tree, set_node, set_root


@dataclass(frozen=True)
class Platypus(Planner):
    """The default."""

    name: ClassVar[str] = "platypus"
    citation: ClassVar[str] = "platypoos: two explorers and a jury"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    anytime: ClassVar[bool] = True
    memory: int = 256_000_000

    def remember(self) -> Any:
        return Memory()

    def _plan(self, task: Task) -> Plan:
        memory = task.memory
        mind = sim = None
        kept = None
        if memory is not None and memory.mind is not None:
            mind, sim, kept = memory.recall(task, self.discount)
        if mind is None:
            mind, sim = make_mind(task, self.discount)
        mind = handle(mind)
        begin(mind, sim, task, kept)
        before = sim.calls
        think(sim, mind)
        plan = made(self, task, mind, sim, before)
        if memory is not None:
            memory.keep(mind, sim, task)
        return plan


class Memory:
    mind = None

    def __init__(self):
        self.action = -1

    def keep(self, mind, sim, task):
        self.mind, self.sim, self.task = mind, sim, task

    def observe(self, action, reward):
        self.action = action

    def recall(self, task, discount):
        old, sim = self.mind, self.sim
        at = old.at[0]
        sequence = old.sequences[at.leader, : len(old.trial)].copy() if at.leader == self.action else None
        # find the node
        tree = old.tree
        child = int(old.first[at.root])
        while child and tree.action[child] != self.action:
            child = int(old.sibling[child])
        if not child or tree.pulls[child] == 0 or at.reset:
            return None, None, None
        root = int(old.homes.home[child])
        if task.horizon is not None and tree.depth[root] + task.horizon != at.over_at:
            return None, None, None
        mind = remake(old, sim, task, discount, root)
        return mind, sim, sequence


def whole_length(discount: float, budget: int, horizon: int | None) -> int:
    if discount == 0.0:
        return 1
    steps = math.inf if discount == 1.0 else math.log(NEGLIGIBLE) / math.log(discount)
    length = int(max(1, min(budget // AT_LEAST, max(SHORTEST, steps))))
    return length if horizon is None else min(length, horizon)


def arrays(task, discount, capacity):
    K = task.num_actions
    L = whole_length(discount, task.budget, task.horizon)
    entries = max(1024, capacity // 2) + K
    block = np.empty((5, capacity), np.int32)
    request = max(stage_of(task) + K, K * L) + K
    at = np.zeros(1, STANDING).view(np.recarray)
    return dict(
        first=block[0], sibling=block[1], tried=block[2], choice=block[3], place=block[4],
        share=np.zeros(capacity),
        at=at,
        power=discount ** np.arange(L + 1.0),
        sequences=np.zeros((K, L), np.int64),
        value=np.full(K, -np.inf),
        steps=np.zeros(K, np.int64),
        order=np.zeros(K, np.int64),
        trial=np.zeros(L, np.int64),
        path=np.zeros(L, np.int64),
        samples=np.zeros(L + 1),
        entry_node=np.empty(entries, np.int32), entry_before=np.empty(entries, np.int32),
        entry_value=np.empty(entries), picked=np.empty(entries, np.int32),
        nodes=np.zeros(request, np.int64), repeats=np.zeros(request, np.int64),
        knob=knobs(), mean=np.zeros(request), pulls=np.zeros(request, np.int64),
    )


NAMES = dict(jury=0.25, least=0.25, shrink=1.0, wide=0.5, stages=16, tail=0.0, each=0.5, look=0.06, policies=3, grow=0.25)


def knobs():
    import os, json
    k = {**NAMES, **json.loads(os.environ.get("KNOBS", "{}"))}
    return np.array(list(k.values()), float)


def stage_of(task):
    return max(2 * task.num_actions, int(task.budget // knobs()[4]))


def make_mind(task, discount):
    capacity = task.budget + 1
    tree = make_tree(capacity)
    set_root(tree)
    sim = task.ledger(tree)
    compiled = isinstance(task.model, CompiledModel)
    timed = task.horizon is not None
    homes = make_homes(capacity, compiled, tree.depth if timed else None)
    parts = arrays(task, discount, capacity)
    mind = Mind(tree=tree, homes=homes, legal=sim.advice.legal, worth=sim.advice.worth, **parts)
    for a in (mind.first, mind.tried, mind.choice, mind.place):
        a[ROOT] = 0
    mind.at[0].over_at = NO_HORIZON if task.horizon is None else task.horizon
    homes.home[ROOT] = ROOT
    if not compiled:
        sim.key = key_of(task.model, task.state) if task.access is Access.RESTORE else None
    if task.access is Access.RESTORE:
        from platypoos.meeting import settle_rows, bits_of, settle
        if compiled:
            settle_rows(homes, bits_of(sim), np.array([ROOT]))
        else:
            settle(sim, homes, np.array([ROOT]))
    sim.ask_legal(np.array([ROOT]))
    mind.at[0].tree_wins = mind.at[0].sequence_wins = 1
    mind.at[0].h_max = mind.at[0].h_wide = 1
    return mind, sim


def remake(old, sim, task, discount, root):
    from platypoos.meeting import settle_rows, bits_of
    from platypoos.planners.platypus.memory import gather
    from platypoos.tree import copy_nodes
    nodes, parents, homes_ = gather(old, root, 1 << 62)
    size = len(nodes)
    capacity = size + task.budget + 1
    tree = make_tree(capacity)
    copy_nodes(old.tree, tree, nodes)
    tree.parent[:size] = parents
    tree.flags[0] = 0
    old_home = old.homes.home[nodes]
    tree.value[:size] = old.tree.value[old_home]
    sim.keep(old_home.astype(np.int64), tree)
    compiled = isinstance(task.model, CompiledModel)
    homes = make_homes(capacity, compiled, tree.depth if task.horizon is not None else None)
    parts = arrays(task, discount, capacity)
    mind = Mind(tree=tree, homes=homes, legal=sim.advice.legal, worth=sim.advice.worth, **parts)
    homes.home[:size] = homes_
    link_children(mind, size)
    if compiled:
        own = np.flatnonzero(homes_ == np.arange(size))
        settle_rows(homes, bits_of(sim), own)
    elif sim.key is not None:
        number = np.full(old.tree.num_nodes, -1)
        number[old_home[::-1]] = homes_[::-1]
        sim.homes = {name: int(number[h]) for name, h in sim.homes.items() if number[h] >= 0}
    a, b = mind.at[0], old.at[0]
    for name in ("squares", "degrees", "looked", "tree_wins", "sequence_wins", "over_at", "drawn"):
        a[name] = b[name]
    a.h_max = max(1, b.h_max // 2)
    a.h_wide = max(1, b.h_wide // 2)
    sim.allow(task.budget)
    return mind


@jit
def link_children(mind, size):
    for node in range(size):
        mind.first[node] = mind.tried[node] = mind.choice[node] = mind.place[node] = 0
    for node in range(1, size):
        state = mind.tree.parent[node]
        mind.sibling[node] = mind.first[state]
        mind.first[state] = node
        mind.tried[state] += 1


def begin(mind, sim, task, kept):
    at = mind.at[0]
    at.phase = START
    at.discount = task_discount(mind)
    at.reset = task.access is Access.RESET
    at.seed = task.tie_seed()
    at.began = sim.calls
    at.limit = sim.calls + task.budget
    at.stage = stage_of(task)
    at.stage_began = at.began
    at.piece_end = at.began
    at.depth = at.leader = BEFORE
    L = len(mind.trial)
    if kept is not None and len(kept) > 1:
        rest = kept[1:]
        mind.trial[:] = rest[np.minimum(np.arange(L), len(rest) - 1)]
        at.kept = 1
    mind.order[:] = np.argsort(task.rng.random(task.num_actions))


def task_discount(mind):
    return float(mind.power[1])


def made(planner, task, mind, sim, before):
    at = mind.at[0]
    leader = int(at.leader)
    L = len(mind.trial)
    estimates = np.where(np.isfinite(mind.value), mind.value, np.nan)
    n = int(mind.steps.sum()) + 1
    tree = make_tree(n)
    set_root(tree)
    node = 0
    old = mind.tree
    for a in range(task.num_actions):
        state, parent = int(at.root), ROOT
        for t in range(int(mind.steps[a])):
            action = int(mind.sequences[a, t])
            child = int(mind.first[state])
            while old.action[child] != action:
                child = int(mind.sibling[child])
            new = tree.num_nodes
            set_node(tree, new, parent, action, t + 1, 0)
            tree.pulls[new], tree.reward[new] = old.pulls[child], old.reward[child]
            tree.flags[new] = old.flags[child]
            tree.value[new] = 0.0
            tree.size[0] += 1
            parent = new
            state = int(mind.homes.home[child])
        if a == leader:
            node = parent
    return Plan(action=leader, value=float(mind.value[leader]), calls=sim.calls - before,
                budget=task.budget, discount=planner.discount, state=task.state,
                num_actions=task.num_actions, node=node, p_index=0, reward_floor=0.0, tree=tree,
                estimates=estimates, horizon=task.horizon)
