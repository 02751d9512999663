"""The job shop: jobs share machines; which job goes next? Finished ones are no longer legal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_number
from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition
from platypoos.problems.base import Problem, value_of_staying
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel

FT06 = (
    ((2, 1), (0, 3), (1, 6), (3, 7), (5, 3), (4, 6)),
    ((1, 8), (2, 5), (4, 10), (5, 10), (0, 10), (3, 4)),
    ((2, 5), (3, 4), (5, 8), (0, 9), (1, 1), (4, 7)),
    ((1, 5), (0, 5), (2, 5), (3, 3), (4, 8), (5, 9)),
    ((2, 9), (1, 3), (4, 5), (5, 4), (0, 3), (3, 1)),
    ((1, 3), (3, 3), (5, 9), (0, 10), (4, 4), (2, 1)),
)
"""The instance ft06 of Fisher and Thompson (1963): 6 jobs, 6 machines, shortest makespan 55."""
EXACT_ORDERS = 100_000
"""Values are exact where the operations to come can be ordered in at most this number of ways."""
SEARCH_LIMIT = 100_000
"""States to look at for the shortest makespan: 5 s with 10 jobs on 10 machines; ft06 takes 251."""


@dataclass(frozen=True)
class JobShop(Problem):
    """An action is a job: its next operation is scheduled, as early as can be.

    Each job is a sequence of operations, each of which keeps a machine busy for some time. The
    next operation of the chosen job starts when the job and the machine are free, after all that
    was scheduled before. The reward is −(increase of the makespan, the time when all is done): the
    return without a discount is −makespan. The episode ends when all operations are scheduled.
    Finished jobs are illegal; or, to compare masks with penalties, nothing is, and a finished job
    changes nothing and costs ``penalty``.

    States are whole numbers: how many operations of each job are scheduled, when each job is free,
    and when each machine is.

    Args:
        times: a job after the other, each a sequence of (machine, time) in the order of its
            operations; machines are numbered from 0, times are whole numbers. FT06 if left out.
        penalty: None for masks, or what it costs to choose a finished job.

    >>> import platypoos as pp
    >>> problem = pp.problems.JobShop((((0, 3), (1, 2)), ((1, 2), (0, 4))))
    >>> problem.makespan((0, 0, 1, 1)), problem.makespan((0, 1, 0, 1)), problem.optimum()
    (11, 7, 7)
    >>> problem.legal((2, 1, 5, 2, 3, 5))
    [1]
    """

    times: tuple[tuple[tuple[int, int], ...], ...] = FT06
    penalty: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", _checked(self.times))
        if self.penalty is not None:
            check_number("penalty", self.penalty, above=0.0)

    @cached_property
    def actions(self) -> Discrete:  # type: ignore[override]
        """One for each job."""
        return Discrete(len(self.times))

    @cached_property
    def num_machines(self) -> int:
        """Machines are 0, 1, …, num_machines − 1."""
        return 1 + max(machine for job in self.times for machine, _ in job)

    @property
    def num_operations(self) -> int:
        """How many steps it takes to schedule them all."""
        return sum(self._lengths)

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        """Operations of each job."""
        return tuple(len(job) for job in self.times)

    @cached_property
    def initial_state(self) -> tuple[int, ...]:
        """Nothing is scheduled, all are free at 0."""
        return (0,) * (2 * len(self.times) + self.num_machines)

    def legal(self, state: Any) -> Sequence[int]:
        """The jobs that are not finished, or all if there is a penalty."""
        if self.penalty is not None:
            return range(len(self.times))
        return [job for job, length in enumerate(self._lengths) if state[job] < length]

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:  # noqa: ARG002
        """Schedule the next operation of a job."""
        n, operation = len(self.times), state[action]
        if operation == self._lengths[action]:
            return Transition(state, -self._penalty(action), self._done(state))
        machine, time = self.times[action][operation]
        before = max(state[n : 2 * n])
        free = max(state[n + action], state[2 * n + machine]) + time
        after = list(state)
        after[action] = operation + 1
        after[n + action] = after[2 * n + machine] = free
        return Transition(tuple(after), -float(max(free - before, 0)), self._done(after))

    def _done(self, state: Any) -> bool:
        return tuple(state[: len(self.times)]) == self._lengths

    def _penalty(self, action: int) -> float:
        if self.penalty is None:
            raise InvalidArgument(
                f"job {action} is finished already; legal(state) lists those that are not"
            )
        return self.penalty

    def mean_reward(self, state: Any, action: int) -> float:
        """The reward: there is no noise."""
        return self.step(_read(state), action, np.random.default_rng(0)).reward

    def makespan(self, actions: Sequence[int]) -> int:
        """When all is done, if the operations are scheduled in this order.

        If there is a penalty, choosing a finished job changes nothing.
        """
        state, rng = self.initial_state, np.random.default_rng(0)
        for action in self._checked_actions(actions):
            state = self.step(state, action, rng).state
        n = len(self.times)
        missing = self.num_operations - sum(state[:n])
        if missing:
            raise InvalidArgument(f"no schedule: the actions leave out {missing} operations")
        return max(state[n : 2 * n])

    @property
    def lower_bound(self) -> int:
        """No makespan is smaller: the longest job, or the machine with the most to do."""
        machines = [0] * self.num_machines
        for job in self.times:
            for machine, time in job:
                machines[machine] += time
        return max(*machines, *(sum(time for _, time in job) for job in self.times))

    def optimum(self) -> int:
        """The shortest makespan, for instances of about the size of ft06; an error for larger ones.

        By branch and bound: is there a schedule as short as the lower bound, or one longer, …? Of
        the operations that could end first on their machine, one comes first (Giffler and
        Thompson 1960); a state is given up when a job, or all that is left on a machine, would
        take too long.
        """
        makespan, search = self.lower_bound, _Search(self)
        while not search.finds(self.initial_state, makespan):
            makespan += 1
            search.given_up.clear()
        return makespan

    def action_values(self, state: Any, discount: float) -> NDArray[np.float64]:
        """Q*, exact if at most 100,000 orders are left; −inf for illegal actions.

        By trying all of them, each state once. If there is a penalty, it can be best to stay and
        pay it for ever.
        """
        state = _read(state)
        left = [length - done for length, done in zip(self._lengths, state, strict=False)]
        orders = math.factorial(sum(left)) // math.prod(math.factorial(count) for count in left)
        if orders > EXACT_ORDERS:
            raise InvalidArgument(
                f"{sum(left)} operations in {orders:.2g} orders are too many for exact values: "
                f"at most {EXACT_ORDERS:,} orders"
            )
        staying = value_of_staying(self.penalty, discount)
        rng = np.random.default_rng(0)
        best: dict[Any, float] = {}

        def values_of(state: Any) -> NDArray[np.float64]:
            values = np.full(len(self.times), -np.inf)
            for job, length in enumerate(self._lengths):
                if state[job] < length:
                    after, reward, done = self.step(state, job, rng)
                    if not done and after not in best:
                        best[after] = float(values_of(after).max())
                    values[job] = reward + (0.0 if done else discount * best[after])
            if self.penalty is not None:  # stay with a finished job, once or for ever
                future = 0.0 if self._done(state) else max(float(values.max()), staying)
                values[np.isneginf(values)] = discount * future - self.penalty
            return values

        return values_of(state)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """[jobs, operations] machines and times, and the number of operations of each job."""
        machines = np.zeros((len(self.times), max(self._lengths)), np.int64)
        times = np.zeros_like(machines)
        for i, job in enumerate(self.times):
            machines[i, : len(job)], times[i, : len(job)] = np.transpose(job)
        return machines, times, np.array(self._lengths, np.int64)

    def array(self) -> ArrayModel:
        """Rows are the same numbers as the states."""
        return ArrayModel(
            self._step_batch,
            actions=len(self.times),
            initial_state=np.array(self.initial_state, np.int64),
            problem=self,
            legal=self._legal_batch if self.penalty is None else None,
        )

    def _step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        del rng  # there is no noise
        machines, times, lengths = self._tables
        n, rows = len(lengths), np.arange(len(states))
        operations = states[rows, actions]
        again = operations == lengths[actions]
        operations = np.where(again, 0, operations)
        machine = 2 * n + machines[actions, operations]
        free = np.maximum(states[rows, n + actions], states[rows, machine])
        free += times[actions, operations]
        rewards = -np.maximum(free - states[:, n : 2 * n].max(axis=1), 0).astype(np.float64)
        after = states.copy()
        after[rows, actions] += 1
        after[rows, n + actions] = after[rows, machine] = free
        if again.any():
            rewards[again] = -self._penalty(int(actions[again][0]))
            after[again] = states[again]
        return after, rewards, (after[:, :n] == lengths).all(axis=1)

    def _legal_batch(self, states: NDArray[Any]) -> NDArray[np.bool_]:
        lengths = self._tables[2]
        unfinished: NDArray[np.bool_] = states[:, : len(lengths)] < lengths
        return unfinished

    def compiled(self) -> CompiledModel:
        """States are the same numbers; the reward of an illegal action is not a number."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        penalty = np.nan if self.penalty is None else float(self.penalty)
        return CompiledModel(
            kernel(job_shop_kernel),
            actions=len(self.times),
            initial_state=np.array(self.initial_state, np.int64),
            params=(*self._tables, penalty),
            problem=self,
            legal=kernel(job_shop_legal) if self.penalty is None else None,
        )


class _Search:
    """Looks for a schedule with at most a given makespan."""

    def __init__(self, problem: JobShop) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(0)
        self.looked_at = 0
        self.given_up: set[tuple[int, ...]] = set()
        self.tails = [  # what a job needs after each of its operations
            [sum(time for _, time in job[k + 1 :]) for k in range(len(job))]
            for job in problem.times
        ]

    def finds(self, state: tuple[int, ...], makespan: int) -> bool:
        """Whether what is left can be done by ``makespan``."""
        self.looked_at += 1
        if self.looked_at > SEARCH_LIMIT:
            raise InvalidArgument(
                "the instance is too large for its shortest makespan to be found: it was not "
                f"among {SEARCH_LIMIT:,} states"
            )
        if state in self.given_up or self.bound(state) > makespan:
            return False
        times, n = self.problem.times, len(self.problem.times)
        jobs = [job for job in range(n) if state[job] < len(times[job])]
        if not jobs:
            return True
        machine_of = {job: times[job][state[job]][0] for job in jobs}
        start = {job: max(state[n + job], state[2 * n + machine_of[job]]) for job in jobs}
        end = {job: start[job] + times[job][state[job]][1] for job in jobs}
        first = min(jobs, key=end.__getitem__)
        for job in jobs:
            rival = machine_of[job] == machine_of[first] and start[job] < end[first]
            if rival or job == first:
                after = self.problem.step(state, job, self.rng).state
                if self.finds(after, makespan):
                    return True
        self.given_up.add(state)
        return False

    def bound(self, state: tuple[int, ...]) -> int:
        """No schedule that goes on from here is shorter."""
        n = len(self.problem.times)
        bound = max(state[n : 2 * n])
        machines: dict[int, tuple[float, int, float]] = {}  # earliest start, work, least tail
        for job, operations in enumerate(self.problem.times):
            now = state[n + job]
            for k in range(state[job], len(operations)):
                machine, time = operations[k]
                now = max(now, state[2 * n + machine])
                start, work, tail = machines.get(machine, (math.inf, 0, math.inf))
                least = min(tail, self.tails[job][k])
                machines[machine] = (min(start, now), work + time, least)
                now += time
            bound = max(bound, now)
        return max(bound, *(int(sum(parts)) for parts in machines.values()), 0)


def job_shop_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:  # noqa: ARG001
    """Schedule the next operation of a job."""
    machines, times, lengths, penalty = params
    n, before, left = len(lengths), 0, 0
    for i in range(len(state)):
        next_state[i] = state[i]
    for job in range(n):
        before = max(before, state[n + job])
        left += lengths[job] - state[job]
    operation = state[action]
    if operation == lengths[action]:
        return -penalty, left == 0
    machine = 2 * n + machines[action, operation]
    free = max(state[n + action], state[machine]) + times[action, operation]
    next_state[action] = operation + 1
    next_state[n + action] = free
    next_state[machine] = free
    return -float(max(free - before, 0)), left == 1


def job_shop_legal(state: Any, params: Any, mask: Any) -> None:
    """The jobs that are not finished."""
    lengths = params[2]
    for job in range(len(mask)):
        mask[job] = state[job] < lengths[job]


def _read(state: Any) -> tuple[int, ...]:
    """A state of any of the three forms as plain numbers."""
    return tuple(int(number) for number in state)


def _checked(times: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The jobs as tuples of whole numbers, or an error that says what is wrong with them."""
    try:
        jobs = tuple(tuple((machine, time) for machine, time in job) for job in times)
    except (TypeError, ValueError):
        raise InvalidArgument(
            "times must be jobs of (machine, time), such as [[(0, 3), (1, 2)], [(1, 2), (0, 4)]], "
            f"got {times!r}"
        ) from None
    if not jobs or not all(jobs):
        raise InvalidArgument(f"times must have a job, and each job an operation, got {times!r}")
    for i, job in enumerate(jobs):
        for pair in job:
            whole = all(isinstance(x, int | np.integer) and x >= 0 for x in pair)
            if not whole or any(isinstance(x, bool) for x in pair):
                raise InvalidArgument(
                    f"machines and times must be whole numbers of at least 0, got {pair!r} in "
                    f"job {i}"
                )
    return tuple(tuple((int(machine), int(time)) for machine, time in job) for job in jobs)
