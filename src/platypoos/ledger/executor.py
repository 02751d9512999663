"""The ledger for slow simulators: a request is spread over the workers of an executor.

Calls keep their place in the request and with it their random stream, and their results are taken
in that order, so the plan is the same for any number of workers, and for none.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, NamedTuple

import numpy as np

from platypoos.errors import DynamicsError, InvalidArgument, ModelError, WorkerError
from platypoos.ledger.base import BARRED, choose_again, path_to, record, steps_known
from platypoos.ledger.function import FunctionSimulator
from platypoos.ledger.protocol import Nodes
from platypoos.ledger.tree import ILLEGAL, Tree
from platypoos.models.advice import Advisor
from platypoos.models.base import Transition
from platypoos.models.failures import act, worded
from platypoos.models.gymnasium.snapshots import pickled
from platypoos.simulator.streams import Stream
from platypoos.simulator.watch import COMPARED, Watch

_KEPT = 4  # models that a worker keeps
_here = threading.local()


class Unit(NamedTuple):
    """Steps to be taken one after the other: a single call, or a walk."""

    state: int
    """Which of the states sent along it starts from."""
    actions: tuple[int, ...]
    keep: bool
    """Whether the state it leads to is wanted."""
    is_walk: bool = False
    """Whether it starts at the root (RESET)…"""
    known: int = 0
    """…and the number of its steps that have been taken before."""


class Failure(NamedTuple):
    """What a step raised, and where in the code of the worker."""

    error: BaseException
    trace: str


class Barred(NamedTuple):
    """In place of a result: the action is not legal in the state that was reached."""


class WorkerTraceback(Exception):
    """The traceback of an error in a worker."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


Step = Transition | Failure | Barred
Chunk = list[tuple[bytes, list[Unit]]]


def work(token: str, payload: bytes, states: list[Any], chunk: Chunk) -> list[list[Step]]:
    """Make the calls of a chunk; runs in a worker. After a failure it makes no more."""
    try:
        model = _model(token, payload)
    except Exception as error:  # noqa: BLE001  whatever it is, the model cannot be made here
        failed = ModelError(
            f"the model cannot be made in a worker ({worded(error)}); with an "
            "executor it must be picklable, and what it imports must be there"
        )
        failed.__cause__ = error
        return [[_portable(failed)]]
    stream = Stream()
    results: list[list[Step]] = []
    advisor = Advisor(model, model.num_actions)
    watch = Watch(model, states[0])
    for word, units in chunk:
        stream.start(word)
        for unit in units:
            steps: list[Step] = []
            results.append(steps)
            state = states[unit.state]
            try:
                for step, planned in enumerate(unit.actions):
                    action = planned
                    if advisor.masked and unit.is_walk:
                        known = step < unit.known
                        action = choose_again(advisor, state, planned, known, stream.rng)
                        if action == BARRED:
                            steps.append(Barred())
                            break
                    state, reward, terminated = act(model, state, action, stream.rng)
                    steps.append(Transition(None, reward, terminated))
                    if terminated:
                        break
                if watch.looks_at_states and len(results) == 1:
                    watch.look_back(1, action=unit.actions[0])
            except DynamicsError as error:
                steps[-1:] = [_portable(error)]
                return results
            except ModelError as error:
                steps.append(_portable(error))
                return results
            if unit.keep and isinstance(steps[-1], Transition):
                steps[-1] = Transition(state, steps[-1].reward, steps[-1].terminated)
    return results


def _model(token: str, payload: bytes) -> Any:
    """The model of a worker, made once."""
    kept: dict[str, Any] = _here.__dict__.setdefault("models", {})
    if token not in kept:
        while len(kept) >= _KEPT:
            kept.pop(next(iter(kept)))
        kept[token] = pickle.loads(payload)  # noqa: S301  our own process sent it
    return kept[token]


def _portable(error: ModelError) -> Failure:
    trace = "".join(traceback.format_exception(error.__cause__ or error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  only to see whether it can be sent
    except Exception:  # noqa: BLE001  the state cannot be sent; its text is in the message
        error = type(error)(str(error), state=None, action=error.action)
    return Failure(error, trace)


class _Still:
    """Streams that have been given out already, with the calls."""

    rng = None

    def begin(self, units: int, calls: int) -> None:
        """Nothing is left to draw."""

    def turn(self) -> int:
        """One for all."""
        return 1 << 62


class ExecutorSimulator(FunctionSimulator):
    """Spreads requests over an executor; walks along a path are made here."""

    def __init__(self, *args: Any, executor: Any, timeout: float | None) -> None:
        super().__init__(*args)
        self._executor, self._timeout = executor, timeout
        self._payload = _pickled(self.model)
        self._token = hashlib.sha256(self._payload).hexdigest()
        self._arrived: deque[Transition] = deque()
        self.workers = _number_of_workers(executor)

    def _query(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        total = int(repeats.sum())
        if not total:
            return
        self._admit(total)
        self._streams.begin(total, total)
        parents = tree.parent[nodes].tolist()
        places = {parent: place for place, parent in enumerate(dict.fromkeys(parents))}
        left = COMPARED if self._watch.compares(self.calls) else 0
        units: list[Unit] = []
        for parent, action, count, pulls in zip(
            parents,
            tree.action[nodes].tolist(),
            repeats.tolist(),
            tree.pulls[nodes].tolist(),
            strict=True,
        ):
            for again in range(count):
                new = not pulls and not again
                left -= not new  # a repeated one is kept to be compared with the first
                units.append(Unit(places[parent], (action,), new or left >= 0))
        results, lost = self._spread([self.states[parent] for parent in places], units)
        made = sum(len(steps) for steps in results)
        # A node's samples count up to its first failure.
        start, good = 0, []
        failure: Failure | None = None
        for count in repeats.tolist():
            answers = [steps[0] if steps else None for steps in results[start : start + count]]
            start += count
            clean = [answer for answer in answers if isinstance(answer, Transition)]
            broken = next((a for a in answers if isinstance(a, Failure)), None)
            failure = failure or broken
            if len(clean) < count:
                leading = next(i for i, a in enumerate(answers) if not isinstance(a, Transition))
                clean = clean[:leading]
            self._arrived.extend(clean)
            good.append(len(clean))
        self._record(super()._query, tree, nodes, np.array(good, np.int64), made + lost, failure)

    def _walk(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        worst = int((repeats * tree.depth[nodes]).sum())
        self._admit(worst)
        self._streams.begin(int(repeats.sum()), worst)
        paths = [path_to(tree, node) for node in nodes.tolist()]
        asked = self._advisor.masked or self._advisor.valued
        units = [
            Unit(0, tuple(tree.action[path].tolist()), asked, True, steps_known(tree, path))
            for path, count in zip(paths, repeats.tolist(), strict=True)
            for _ in range(count)
        ]
        results, lost = self._spread([self.root_state], units)
        made = sum(len(steps) - isinstance(steps[-1], Barred) for steps in results if steps)
        failure = next((s for steps in results for s in steps if isinstance(s, Failure)), None)
        good, start = [], 0
        for path, count in zip(paths, repeats.tolist(), strict=True):
            walks = results[start : start + count]
            start += count
            whole = [steps for steps in walks if steps and isinstance(steps[-1], Transition)]
            for steps in walks:
                if steps and isinstance(steps[-1], Barred):
                    tree.flags[path[len(steps) - 1]] |= ILLEGAL
                if steps and not isinstance(steps[-1], Transition):
                    for node, step in zip(path, steps[:-1], strict=False):
                        record(tree, node, step.reward)  # type: ignore[union-attr]
            for steps in whole:
                self._arrived.extend(steps)  # type: ignore[arg-type]
            good.append(len(whole))
        counts = np.array(good, np.int64)
        played = counts > 0
        self._record(super()._walk, tree, nodes[played], counts[played], made + lost, failure)

    def _record(
        self,
        recorder: Callable[[Tree, Nodes, Nodes], None],
        tree: Tree,
        nodes: Nodes,
        counts: Nodes,
        calls: int,
        failure: Failure | None,
    ) -> None:
        """Let the ordinary ledger take the results that have arrived, as if it made the calls."""
        streams, step, before = self._streams, self._step, self.calls
        self._streams, self._step = _Still(), self._next  # type: ignore[assignment]
        try:
            recorder(tree, nodes, counts)
        finally:
            self._streams, self._step = streams, step
            self._arrived.clear()
            self.calls = before + calls  # those that failed or were lost included
        if failure is not None:
            failure.error.__cause__ = WorkerTraceback(failure.trace)
            raise failure.error

    def _next(self, state: Any, action: int, rng: Any) -> Transition:
        del state, action, rng
        return self._arrived.popleft()

    def _choose_again(self, state: Any, planned: int, known: bool) -> int:
        return planned if self._arrived else super()._choose_again(state, planned, known)

    def _advance(self, state: Any, action: int) -> tuple[Any, float, bool]:
        if self._arrived:
            return self._arrived.popleft()
        return super()._advance(state, action)

    def _step_once(self, state: Any, action: int) -> tuple[Any, float, bool]:
        """One call of a walk, made by a worker: a model that kills its process must not kill us."""
        self._streams.begin(1, 1)
        results, lost = self._spread([state], [Unit(0, (action,), True)])
        self.calls += 1 + lost
        answer = results[0][0]
        if isinstance(answer, Failure):
            answer.error.__cause__ = WorkerTraceback(answer.trace)
            raise answer.error
        return answer  # type: ignore[return-value]

    def _spread(self, states: list[Any], units: list[Unit]) -> tuple[list[list[Step]], int]:
        """The results of all units, in order; and how many calls were lost with their worker."""
        per_stream = self._streams.units
        streams = [
            (word, units[i * per_stream : (i + 1) * per_stream])
            for i, word in enumerate(self._streams.words())
        ]
        # A chunk for each worker; of a large request two, to even out calls of different length.
        rounds = 1 if len(units) < 32 * self.workers else 2
        size = max(1, -(-len(streams) // (rounds * self.workers)))
        chunks = [streams[i : i + size] for i in range(0, len(streams), size)]
        futures: list[Any] = []
        results: list[list[Step]] = []
        lost, failed = 0, False
        try:
            futures += [self._submit(states, chunk) for chunk in chunks]
            for chunk, future in zip(chunks, futures, strict=True):
                asked = [unit for _, some in chunk for unit in some]
                answered: list[list[Step]]
                try:
                    answered = future.result(self._timeout)
                except Exception as error:  # noqa: BLE001  the worker, not the model
                    if failed and isinstance(error, CancelledError):
                        answered = []  # cancelled below; these calls were not made
                    else:
                        failed = True
                        for other in futures:
                            other.cancel()
                        calls = sum(len(unit.actions) for unit in asked)
                        trace = "".join(traceback.format_exception(error))
                        answered = [[Failure(self._lost(error, calls), trace)]]
                        lost += calls - 1  # the failure stands for one of them
                results += answered + [[] for _ in asked[len(answered) :]]
        except BaseException:
            for future in futures:
                future.cancel()
            # Interrupted: nobody knows what was made, so all that was asked for is counted.
            self.calls += sum(len(unit.actions) for unit in units)
            raise
        return results, lost

    def _submit(self, states: list[Any], chunk: Chunk) -> Any:
        needed = sorted({unit.state for _, units in chunk for unit in units})
        places = {state: place for place, state in enumerate(needed)}
        sent = [
            (word, [unit._replace(state=places[unit.state]) for unit in units])
            for word, units in chunk
        ]
        try:
            return self._executor.submit(
                work, self._token, self._payload, [states[state] for state in needed], sent
            )
        except Exception as error:  # noqa: BLE001  a pool that is shut down or broken
            refused: Future[Any] = Future()
            refused.set_exception(error)
            return refused

    def _lost(self, error: Exception, calls: int) -> WorkerError:
        if isinstance(error, TimeoutError):
            return WorkerError(
                f"no answer within {self._timeout:g} s to a request of {calls} calls: a worker "
                "hangs, or timeout is too short; what the others answered is kept"
            )
        return WorkerError(
            f"a worker was lost with {calls} calls ({worded(error)}); what the "
            "others answered is kept. It may have been killed, have run out of memory, or have "
            "crashed in compiled code; a script must start its pool under "
            "if __name__ == '__main__'. Make a new executor to go on"
        )


def _pickled(model: Any) -> bytes:
    try:
        return pickled(model)
    except Exception as error:
        raise InvalidArgument(
            f"the model cannot be sent to workers ({worded(error)}); with an "
            "executor it must be picklable"
        ) from error


def _number_of_workers(executor: Any) -> int:
    number = getattr(executor, "_max_workers", None)
    return number if isinstance(number, int) and number > 0 else os.cpu_count() or 1
