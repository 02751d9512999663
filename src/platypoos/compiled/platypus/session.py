"""One decision of the default planner in machine code; the twin of ``session.py``.

Python owns the arrays and the clock; machine code makes the plan, in a thread of its own if that
takes long or if there is a clock.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import int64, typeof

from platypoos.checking.watch import COMPARED, Watch
from platypoos.checks import check_state
from platypoos.compiled.code.records import RECORD_BYTES, Stored, store
from platypoos.compiled.code.unsafe import entry_point_for
from platypoos.compiled.ledger.first_class import Given
from platypoos.compiled.ledger.simulator import CompiledSimulator
from platypoos.compiled.platypus import entries
from platypoos.compiled.platypus.arrays import (
    BAD_REWARD,
    BAD_VALUE,
    FINE,
    NO_LEGAL,
    NONE,
    RANDOM_END,
    RANDOM_STATE,
)
from platypoos.compiled.platypus.room import Room, fixed_fields
from platypoos.errors import ModelError
from platypoos.models.advice import Advisor
from platypoos.models.base import Access, is_compiled
from platypoos.models.failures import bad_reward, explained, not_deterministic, unlike_before
from platypoos.planners.platypus.decision import WIDE
from platypoos.planners.platypus.plan import LEAST_STEPS, NEGLIGIBLE
from platypoos.planners.platypus.rules import Rules
from platypoos.planners.platypus.session import spend_in_parts
from platypoos.planners.platypus.tree import DEEPEST
from platypoos.results import CLEAR, Lead, Noise
from platypoos.search.base import Task
from platypoos.simulator.asking import legal_from, listed_actions
from platypoos.simulator.pace import Pace, never
from platypoos.simulator.streams import Stream
from platypoos.trees.tree import Tree, make_tree

MOST_CALLS = 1 << 30
"""Of a plan: numbers of edges have 32 bits."""
LEAST_GROWTH = 1.1
"""Of the tree's rounds, or there are too many of them."""
QUICK = 0.05
"""Plans that take longer, or that have a clock, are made in a thread of their own, so that this
one can look at the clock and listen to Ctrl-C."""
_FUNCTIONS: WeakKeyDictionary[Any, tuple[Stored, Callable[..., Any]]] = WeakKeyDictionary()
"""See ``CompiledSession._functions_for``."""
_PACES: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
"""Seconds that a call took in the last plan with a model."""


def fits(task: Task, rules: Rules) -> bool:
    """Whether a task can be planned in machine code. If not, the plain planner does it."""
    return (
        is_compiled(task.model)
        and task.model.policy is None
        and task.access is Access.RESTORE
        and task.budget < MOST_CALLS
        and rules.growth >= LEAST_GROWTH
        and _has_known_layout()
    )


@cache
def _has_known_layout() -> bool:
    """Whether generators are laid out in memory as ``simulator/streams.py`` knows them."""
    stream = Stream()
    return stream.start != stream._by_state  # noqa: SLF001


class Calls:
    """The calls of a decision: what ``spend_in_parts`` and clocks know of a simulator."""

    def __init__(self, session: CompiledSession, budget: int) -> None:
        self._session, self.budget = session, budget
        self.due: Callable[[], bool] = never
        self.until: float | None = None
        self.pace = Pace()

    @property
    def calls(self) -> int:
        """Made in this decision."""
        at = self._session.at
        return int(at["calls"][0] - at["first_call"][0])


class CompiledSession:
    """What is known of a compiled model, and the plans that are made with it.

    Args:
        task: what is asked for.
        discount: γ.
        rules: constants of the planner.
    """

    scenarios = None
    """Dynamics are deterministic."""

    def __init__(self, task: Task, discount: float, rules: Rules) -> None:
        self.task, self.discount, self.rules = task, discount, rules
        model, actions = task.model, task.num_actions
        self.model = model
        number = task.tie_seed()
        self._stream = Stream()
        self._rows = model.initial_state
        fields = fixed_fields(actions, rules, rules.most_walks)
        fields |= {"seeder": task.rng, "rng": self._stream.rng, **_memory_of(self._stream)}
        now = self.graph = fields["graph"]
        self.at, self._stop = fields["at"], fields["stop"]
        now["discount"] = discount
        now["span"] = 1.0 / (1.0 - discount) if discount < 1.0 else 1.0
        now["num_actions"] = actions
        now["horizon"] = NONE if task.horizon is None else task.horizon
        now["surveyed"], now["tail"] = -1, 4
        now["masked"], now["valued"] = model.legal is not None, model.value is not None
        now["shrinks"] = rules.shrinkage
        at = self.at
        at["length"] = 1
        at["leader"] = NONE
        at["greed"] = rules.greedy_share
        self.room = Room(fields, model.initial_state, actions)
        self.given: Any = None
        self._begin_decision(task)
        self._make_room(task.budget + 1, 1, 1)
        self.room.rows[0] = check_state(task.state, model.initial_state)
        self._guarded(entries.begin, number)

    def _begin_decision(self, task: Task) -> None:
        at = self.at
        self.simulator = Calls(self, task.budget)
        at["status"] = FINE
        at["first_call"] = at["calls"]
        at["compares"], at["next_glance"] = COMPARED, 128
        at["used"] = at["pooled"] = 0
        self.room.fields["seeder"] = task.rng

    def _make_room(self, calls: int, length: int, most: int) -> None:
        """Room for so many calls, and for sequences of so many steps."""
        fits = self.room.make(self._known() + calls + 1, calls, length, most)
        if fits or self.given is None:
            self._connect()

    def _known(self) -> int:
        """States or edges, whichever are more."""
        return int(max(self.graph["count"][0], self.graph["edges"][0]))

    def _connect(self) -> None:
        """Let the model's functions know where the states are."""
        given = Given(self.room.rows, self.model.params, self._stream.rng)
        functions, write = self._functions_for(given)
        memory, at = np.empty(RECORD_BYTES, np.uint8), self.at
        write(given, memory.ctypes.data)
        self.given = given, memory
        at["functions"], at["given"] = functions.address, memory.ctypes.data
        entries.enter_all(self.room)

    def _functions_for(self, given: Given) -> tuple[Stored, Callable[..., Any]]:
        """The model's functions, and what writes what they are given; once for a model."""
        known = _FUNCTIONS.get(self.model)
        if known is None:
            functions = CompiledSimulator._functions(self, given)  # type: ignore[arg-type]  # noqa: SLF001
            write = entry_point_for(store, (typeof(given), int64))
            known = _FUNCTIONS[self.model] = functions, write
        return known

    _blame_kernel = CompiledSimulator._blame_kernel  # noqa: SLF001

    def go_on(self, task: Task, root: int, *, followed: bool) -> None:
        """Make the next decision, from a state that is known."""
        self.task = task
        fields, at = self.room.fields, self.at
        at["rest"] = 0
        if followed and at["decided"][0]:
            self._leave_rest(fields["actions"][-1], int(fields["candidates"]["count"][-1]), 1)
        self.graph["root"] = root
        at["length"], at["leader"], at["ranked"] = 1, NONE, 0
        at["decided"] = 0
        fields["candidates"]["steps"] = 0
        self._begin_decision(task)
        self.room.close()

    def take_over(self, other: CompiledSession) -> None:
        """Begin with what is left of the sequence of another session."""
        if other.at["decided"][0]:
            fields = other.room.fields
            count = int(fields["candidates"]["count"][-1])
            self._make_room(self.task.budget, 1, count)
            self._leave_rest(fields["actions"][-1], count, 1)

    def _leave_rest(self, actions: Any, count: int, start: int) -> None:
        """Begin the next plan with the end of a sequence."""
        self.room.fields["rest"][: count - start] = actions[start:count]
        self.at["rest"] = count - start

    # ------------------------------------------------------------------ calls

    def spend(self, *, stop_when_sure: bool = False) -> None:
        """Plan with the budget of the task, or until its clock runs out."""
        self.at["stops"] = stop_when_sure
        is_sure = (lambda: bool(entries.ask_if_sure(self.room))) if stop_when_sure else None
        spend_in_parts(self.simulator, self.task, self._drive, is_sure)  # type: ignore[arg-type]

    def _drive(self, budget: int, due: Callable[[], bool]) -> bool:
        """Make a plan, or go on with it; False if time was up."""
        at, fields = self.at, self.room.fields
        leader = int(at["leader"][0])
        if leader != NONE:  # go on with another plan for the same state
            count = int(fields["candidates"]["count"][leader])
            self._leave_rest(fields["actions"][leader], count, 0)
        length = self._length_for(budget)
        rest = int(at["rest"][0])
        self._make_room(budget, length, max(DEEPEST * length + 1, rest))
        at["length"] = length
        gamma = self.discount
        fields = self.room.fields
        fields["power"][: length + 1] = [gamma**t for t in range(length + 1)]
        rules = self.rules
        width = max(1, min(rules.most_walks, int(rules.batch_share * budget / length)))
        at["width"] = width
        options = self._options()
        at["stage"] = max(2 * options, budget // rules.stages, width * length // 2)
        self._stop[0] = 0
        began = time.perf_counter()
        before = int(at["calls"][0])
        if due is never and budget * _PACES.get(self.model, math.inf) < QUICK:
            self._guarded(entries.make_plan, budget)
        else:
            self._in_thread(budget, due)
        made = int(at["calls"][0]) - before
        seconds = time.perf_counter() - began
        self.simulator.pace.note(made, seconds)
        _PACES[self.model] = seconds / max(1, made)
        return not at["late"][0]

    def _in_thread(self, budget: int, due: Callable[[], bool]) -> None:
        """Make the plan in another thread; this one looks at the clock."""
        done, errors = threading.Event(), []

        def work() -> None:
            try:
                self._guarded(entries.make_plan, budget)
            except BaseException as error:  # noqa: BLE001  raised again below
                errors.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while not done.wait(0.0005 if due is not never else 0.05):
                if due():
                    self._stop[0] = 1
                    break
        except BaseException:
            self._stop[0] = 1
            raise
        finally:
            thread.join()
        if errors:
            raise errors[0]

    def _options(self) -> int:
        if self.model.legal is None:
            return self.task.num_actions
        return int(self._guarded(entries.options_of, int(self.graph["root"][0])))

    def _length_for(self, budget: int) -> int:
        """How long sequences are; see ``length_for`` of the plain planner."""
        gamma, rules, task = self.discount, self.rules, self.task
        if gamma == 0.0:
            return 1
        left = math.inf
        time_of_root = 0
        if task.horizon is not None:
            horizon = int(self.graph["horizon"][0])
            time_of_root = int(self.room.fields["states"]["time"][int(self.graph["root"][0])])
            left = horizon - time_of_root
        far = left if gamma == 1.0 else min(left, math.log(NEGLIGIBLE) / math.log(gamma))
        share, least = rules.length_share, rules.shortest_kept
        if not self.at["rest"][0]:
            share, least = rules.seed_share, rules.shortest
        most = min(budget // 4, max(least, share * budget / max(1, self._options())))
        if task.horizon is not None:
            most = min(most, left)
        return max(1, int(min(max(LEAST_STEPS, far), most)))

    # ------------------------------------------------------------------ failures

    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call machine code; what the model did wrong becomes our error."""
        try:
            with np.errstate(all="ignore"):
                return function(self.room, *args)
        except Exception as error:  # noqa: BLE001  whatever the model raises is explained
            failure = self._failure(error)
            if isinstance(failure, ModelError):
                failure.calls = self.simulator.calls
            raise failure from (error if self.at["status"][0] == FINE else None)

    def _failure(self, error: Exception) -> BaseException:
        at, rows = self.at, self.room.rows
        status = int(at["status"][0])
        state, action = rows[int(at["at_state"][0])].copy(), int(at["at_action"][0])
        try:
            if status == BAD_VALUE:
                Advisor(self.model).value(state)
            elif status == NO_LEGAL:
                legal = legal_from(self.model.single_legal(), listed_actions(self.model))
                assert legal is not None  # noqa: S101  it was asked
                legal(state)
        except ModelError as reason:
            return reason
        if status == BAD_REWARD:
            return bad_reward(float(at["reward"][0]), state, action)
        if status == RANDOM_END:
            return not_deterministic(state, action)
        if status == RANDOM_STATE:
            edge = int(entries.edge_of(self.room, int(at["at_state"][0]), action))
            after = int(self.room.fields["edges"]["after"][edge])
            got = rows[int(self.graph["count"][0])].copy()
            return unlike_before(state, action, rows[after].copy(), got)
        return explained(error, state, action)

    # ------------------------------------------------------------------ what is known

    @property
    def has_tried(self) -> bool:
        """Whether there is a sample of a first action."""
        return bool(self.room.fields["states"]["degree"][int(self.graph["root"][0])])

    def tree(self) -> Tree:
        """All that was searched."""
        return Searched(self.room, int(self.graph["root"][0])).tree()

    def first_samples(self) -> dict[int, tuple[float, int]]:
        """The mean reward and the number of samples of each first action."""
        edges, origin = self.room.fields["edges"], float(self.graph["origin"][0])
        found = {}
        edge = int(self.room.fields["states"]["first"][int(self.graph["root"][0])])
        while edge != NONE:
            known = edges[edge]
            found[int(known["action"])] = float(known["mean"]) + origin, int(known["samples"])
            edge = int(known["next"])
        return found

    def noise(self) -> tuple[float, float]:
        """The variance of a sample, and that of all rewards."""
        entries.moments(self.room)
        now = self.graph
        squares = float(now["squares"][0])
        variance = squares / int(now["degrees"][0]) if squares > 0.0 else 0.0
        return variance, float(now["total_variance"][0])

    def root_state(self) -> Any:
        """The state that is planned for."""
        return self.room.rows[int(self.graph["root"][0])].copy()

    @property
    def decided(self) -> int | None:
        """The first action of the last decision."""
        return int(self.room.fields["actions"][-1, 0]) if self.at["decided"][0] else None

    @property
    def keeps_sequences(self) -> bool:
        """Whether what is left of a sequence is of use where nothing else is."""
        return True

    def find(self, task: Task, taken: int | None) -> int | None:
        """The state to plan for, if it is known; ``taken`` is the last action."""
        now, fields = self.graph, self.room.fields
        horizon = int(now["horizon"][0])
        if (horizon == NONE) != (task.horizon is None):
            return None
        time = 0 if task.horizon is None else horizon - task.horizon
        count = int(now["count"][0])
        self.room.rows[count] = check_state(task.state, self.model.initial_state)
        found = int(entries.find(self.room, count, time))
        edge = NONE
        if taken is not None:
            edge = int(entries.edge_of(self.room, int(now["root"][0]), taken))
        expected = NONE if edge == NONE else int(fields["edges"]["after"][edge])
        if expected != NONE:
            stored = self.room.rows[expected]
            elsewhere = Watch(task.model, task.state).is_elsewhere(stored, task.state)
            if elsewhere or (horizon != NONE and fields["states"]["time"][expected] != time):
                expected = NONE  # the system is not the model
        if expected != NONE:
            return expected
        return None if found == NONE else found

    def keep_most(self, most: int) -> None:
        """Forget states that are out of reach, and then the furthest, until ``most`` are left."""
        if int(self.graph["count"][0]) <= most:
            return
        count = min(int(entries.list_reachable(self.room)), max(1, most))
        smaller = self.room.empty(self._known() + self.task.budget + 1)
        entries.keep(self.room, smaller, count)
        self.room = smaller
        self.graph = smaller.fields["graph"]
        self._connect()

    # ------------------------------------------------------------------ the decision

    def describe(self) -> dict[str, Any]:
        """The fields of ``Plan`` that depend on the search."""
        nodes = int(entries.decide(self.room))
        now, at, fields = self.graph[0], self.at[0], self.room.fields
        tree = make_tree(nodes)
        actions = self.task.num_actions
        values, ends = np.full(actions, np.nan), np.empty(actions, np.int64)
        sources, after = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
        entries.lay_out(self.room, tree, values, ends, sources, after)
        origin, root = float(now["origin"]), int(now["root"])
        values += origin * self._span(root)
        goes_on = np.flatnonzero(after != NONE)
        states = dict(zip(goes_on.tolist(), self.room.rows[after[goes_on]], strict=True))
        chosen, rival = int(fields["actions"][-1, 0]), int(at["rival"])
        heard = None
        if at["has_lead"]:
            lead, error = float(at["lead"]), WIDE * float(at["lead_error"])
            heard = Lead(lead, lead - error, lead + error)
        squares = float(now["squares"])
        variance = squares / int(now["degrees"]) if squares > 0.0 else 0.0
        sure = float(at["confidence"])
        return {
            "tree": tree,
            "node": int(ends[chosen]),
            "action": chosen,
            "value": float(values[chosen]),
            "reward_floor": float(now["rate"]) + origin,
            "estimates": values,
            "heard": heard,
            "rival_index": None if rival == NONE else rival,
            "confidence": sure,
            "signs": (float(at["ahead"]), float(at["solid"]), float(at["looked"])),
            "enough": sure >= CLEAR,
            "states": states,
            "sources": sources,
            "noise": Noise(
                math.sqrt(variance), float(now["middle"]) + origin, float(now["spread"])
            ),
            "searched": Searched(self.room, root),
        }

    def _span(self, state: int) -> float:
        horizon = int(self.graph["horizon"][0])
        if horizon == NONE:
            return float(self.graph["span"][0])
        left = max(0, horizon - int(self.room.fields["states"]["time"][state]))
        gamma = self.discount
        return float(left) if gamma == 1.0 else (1.0 - gamma**left) / (1.0 - gamma)


class Searched:
    """All that was searched, as a tree: each state below the first edge that led to it."""

    def __init__(self, arrays: Room, root: int) -> None:
        self._room, self._root = arrays, root
        self._tree: Tree | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is stored: addresses mean nothing elsewhere."""
        return {"_tree": self.tree()}

    def tree(self) -> Tree:
        """Make the tree."""
        if self._tree is not None:
            return self._tree
        tree = make_tree(1 + int(self._room.fields["graph"]["edges"][0]))
        entries.span(self._room, self._root, tree)
        return tree.trimmed()


def _memory_of(stream: Stream) -> dict[str, Any]:
    """Where the state of a generator is, and whether half of a draw is left over."""
    address = stream._bits.ctypes.state_address  # noqa: SLF001
    where = ctypes.c_void_p.from_address(address).value
    assert where is not None  # noqa: S101  whoever calls has looked
    words = (ctypes.c_uint32 * 4).from_address(where)
    half = (ctypes.c_uint32 * 1).from_address(address + 8)
    return {"stream": np.ctypeslib.as_array(words), "half": np.ctypeslib.as_array(half)}
