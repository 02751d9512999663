"""The ledger: the only caller of a model. Counts, caps, stores states, batches, checks rewards."""

from __future__ import annotations

import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.blame import (
    NOTHING,
    act,
    as_flag,
    bad_reward,
    explained,
    list_successors,
    located,
    not_deterministic,
)
from platypoos.errors import BudgetExceeded, InvalidArgument, ModelError, TransitionError
from platypoos.models.base import Access
from platypoos.models.function import FunctionModel
from platypoos.streams import Streams
from platypoos.tree import ROOT, TERMINAL, Tree

Seed = int | np.random.SeedSequence | np.random.Generator | None
Nodes = NDArray[np.int64]
Floats = NDArray[np.float64]
_INF = float("inf")


def make_generator(seed: Seed) -> np.random.Generator:
    """The random generator of a plan; a ``Generator`` is used as it is, and moves on."""
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"seed must be an int of at least 0, a SeedSequence or a Generator, got {seed!r}"
        ) from error


def path_to(tree: Tree, node: int) -> list[int]:
    """The nodes from the root's child to ``node``."""
    path = []
    while node != ROOT:
        path.append(node)
        node = int(tree.parent[node])
    path.reverse()
    return path


def evaluate(sim: Any, tree: Tree, nodes: Nodes, repeats: Nodes) -> bool:
    """Evaluate the last action of each node so many times; every sample goes into the tree.

    Inside compiled planners the same name means the compiled ledger
    (``simulator_compiled.py``). Returns False only there, when the model failed.
    """
    sim.evaluate(tree, nodes, repeats)
    return True


def play(sim: Any, tree: Tree, path: Nodes, rewards: Floats) -> int:
    """Walk from the root along the nodes of ``path``, a call each; every sample goes into the tree.

    ``rewards`` receives the samples of this walk. Returns how many nodes of the path have got
    one: all of them, unless the episode ends on the way (then the nodes behind are new ones).
    Inside compiled planners it returns -1 when the model failed.
    """
    return int(sim.play(tree, path, rewards))


def calls_made(sim: Any) -> int:
    """Calls made so far; compiled planners may ask too."""
    return int(sim.calls)


def is_due(sim: Any) -> bool:
    """Whether a planner that can stop at any time should look at the clock."""
    return bool(sim.due())


def never() -> bool:
    """A clock that never runs out."""
    return False


class Simulator(ABC):
    """The ledger of one plan with a Python model.

    Every call of the model goes through ``evaluate``. A request that could exceed the budget is
    refused before its first call; a failing model leaves all samples taken so far in the tree.
    """

    def __init__(
        self,
        model: Any,
        state: Any,
        budget: int,
        rng: np.random.Generator,
        access: Access,
        tree: Tree,
    ) -> None:
        self.model = model
        self.budget = budget
        self.calls = 0
        self.access = access
        self.tree = tree
        self.root_state = state
        self.states: Any = []
        self.due: Callable[[], bool] = never
        self.key: Callable[[Any], Hashable] | None = None
        """How states are told apart, for planners that share them…"""
        self.homes: dict[Hashable, int] = {}
        """…and the first node that led to each."""
        self._streams = Streams(rng, getattr(model, "calls_per_stream", None))

    def evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Make the calls; see :func:`evaluate`."""
        try:
            if self.access is Access.RESTORE:
                self._query(tree, nodes, repeats)
            else:
                asked = np.flatnonzero(repeats)
                if len(asked):
                    self._walk(tree, nodes[asked], repeats[asked])
        except ModelError as error:
            raise self._kept(error) from error.__cause__

    def play(self, tree: Tree, path: Nodes, rewards: Floats) -> int:
        """Make the walk; see :func:`play`."""
        length = len(path)
        self._admit(length)
        self._streams.begin(1, length)
        self._streams.turn()
        restore = self.access is Access.RESTORE
        nodes = path.tolist()
        actions = tree.action[path].tolist()
        pulled = tree.pulls[path].tolist()
        flags = tree.flags[path].tolist()
        samples: list[float] = []
        state = self.root_state
        try:
            for node, action, pulls, flag in zip(nodes, actions, pulled, flags, strict=True):
                before, (state, reward, ended) = state, self._advance(state, action)
                if restore and pulls and ended != bool(flag & TERMINAL):
                    raise located(not_deterministic(before, action), before, action)
                samples.append(reward)
                if not pulls:
                    tree.flags[node] = flag | TERMINAL if ended else flag
                    if restore:
                        self.states[node] = state
                elif flag & TERMINAL and not ended:  # it ended by chance when it was new
                    tree.flags[node] = flag & ~TERMINAL
                elif restore:
                    state = self.states[node]
                if ended:
                    # Absorbing with reward 0, and no call: a sample for the nodes known already.
                    samples += [0.0 for pulls in pulled[len(samples) :] if pulls]
                    break
        except ModelError as error:
            raise self._kept(error) from error.__cause__
        finally:
            done = path[: len(samples)]
            pulls = tree.pulls[done] + 1
            means = np.where(pulls == 1, samples, tree.reward[done])
            tree.pulls[done] = pulls
            tree.reward[done] = means + (samples - means) / pulls
            rewards[:length] = 0.0
            rewards[: len(samples)] = samples
        return len(samples)

    def allow(self, calls: int) -> None:
        """Extend the budget by so many calls."""
        self.budget += calls

    @abstractmethod
    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""

    @abstractmethod
    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""

    @cached_property
    def state_bytes(self) -> int:
        """The size of a state, by that of the first, with its place in the table of states."""
        state = self.root_state
        if isinstance(state, np.ndarray):
            return state.nbytes + 200
        try:
            return len(pickle.dumps(state)) + 200
        except Exception:  # noqa: BLE001  whatever it is, it cannot be pickled
            return sys.getsizeof(state) + 200

    def _kept(self, error: ModelError) -> ModelError:
        """The error, with what was learned before it."""
        error.calls = self.calls
        error.tree = self.tree.trimmed()
        return error

    def _admit(self, calls: int) -> None:
        """Refuse a request that could exceed the budget, before its first call."""
        if self.calls + calls > self.budget:
            raise BudgetExceeded(
                f"a request for {calls} calls was refused: {self.calls} of the budget of "
                f"{self.budget} are spent"
            )

    @abstractmethod
    def _query(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Evaluate nodes from their parents' stored states (RESTORE)."""

    @abstractmethod
    def _advance(self, state: Any, action: int) -> tuple[Any, float, bool]:
        """Make one call; its failures say where."""

    @abstractmethod
    def _walk(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Evaluate nodes by trajectories from the root; every prefix gets its sample (RESET)."""


class FunctionSimulator(Simulator):
    """Calls ``step`` once for each sample; states are any object."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        model = self.model
        self._step = model.function if isinstance(model, FunctionModel) else model.step
        self.states = [None] * len(self.tree.parent)
        self.states[ROOT] = self.root_state

    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""
        self.states[node] = state

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        self.tree = tree
        self.states = [self.states[node] for node in nodes.tolist()]
        self.states += [None] * (len(tree.parent) - len(nodes))

    def _query(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        step, states = self._step, self.states
        rng, turn = self._streams.rng, self._streams.turn
        counts = repeats.tolist()
        total = sum(counts)
        if not total:
            return
        self._admit(total)
        self._streams.begin(total, total)
        numbers = nodes.tolist()
        # Nodes come in increasing order, mostly as one stretch: a slice is faster to read.
        stretch = numbers[-1] - numbers[0] == len(numbers) - 1
        where: Any = slice(numbers[0], numbers[-1] + 1) if stretch else nodes
        means: list[float] = []  # of the nodes that are done
        ends: list[int] = []  # nodes that turn out to be terminal
        left = extra = 0
        low, high = -_INF, _INF
        state = result = NOTHING
        action = -1
        drift = mean = 0.0
        try:
            for node, parent, action, count, pulled, mean in zip(
                numbers,
                tree.parent[where].tolist(),
                tree.action[where].tolist(),
                counts,
                tree.pulls[where].tolist(),
                tree.reward[where].tolist(),
                strict=True,
            ):
                state = states[parent]
                drift = 0.0
                fresh = pulled == 0
                ended = not fresh and bool(tree.flags[node] & TERMINAL)
                for extra in range(count):  # noqa: B007  read when a step fails
                    if not left:
                        left = turn()
                    left -= 1
                    result = NOTHING
                    result = step(state, action, rng)
                    successor, reward, terminated = result
                    if not low < reward < high:
                        raise bad_reward(reward, state, action)
                    if fresh:
                        mean = float(reward)  # noqa: PLW2901  the first sample
                        states[node] = successor
                        ended = terminated is not False and as_flag(terminated)
                        fresh = False
                    else:
                        # The same object, nearly always: cheaper than comparing.
                        if terminated is not ended and as_flag(terminated) != ended:
                            raise not_deterministic(state, action)
                        drift += reward - mean  # exact when rewards have no noise
                means.append(mean + drift / (pulled + count) if drift else mean)
                if ended:
                    ends.append(node)
        except BaseException as error:
            # The calls made are one more than the samples; keep what the failing node has got.
            done = len(means)
            self.calls += sum(counts[:done]) + extra + 1
            repeats = repeats.copy()
            repeats[done:] = 0
            if extra:
                repeats[done] = extra
                means.append(mean + drift / (tree.pulls[nodes[done]] + extra))
            if isinstance(error, ModelError):
                located(error, state, action)
                raise
            if isinstance(error, Exception):
                raise explained(error, state, action, result) from error
            raise
        else:
            self.calls += total
        finally:
            tree.reward[nodes[: len(means)] if len(means) < len(nodes) else where] = means
            tree.pulls[where] += repeats
            if ends:
                tree.flags[ends] |= TERMINAL

    def _advance(self, state: Any, action: int) -> tuple[Any, float, bool]:
        self.calls += 1
        return act(self.model, state, action, self._streams.rng)

    def successors(self, node: int, action: int, most: int) -> list[tuple[float, Any, float, bool]]:
        """All successors of a node's state, as the model lists them; each counts as a call.

        They are (probability, state, reward, terminated); the model may leave out the last.
        """
        self._admit(most)
        state = self.states[node]
        try:
            listed = list_successors(self.model, state, action)
            self.calls += len(listed)
            if len(listed) > most:
                raise TransitionError(
                    f"successors listed {len(listed)} entries, but max_successors is {most}"
                )
            chances = [entry[0] for entry in listed]
            if not listed or min(chances) < 0 or not abs(sum(chances) - 1) <= 1e-6:
                raise TransitionError(
                    "successors must list probabilities of at least 0 that add up to 1, got "
                    f"{chances}"
                )
            for _, _, reward, _ in listed:
                if not -_INF < reward < _INF:
                    raise bad_reward(reward, state, action)
        except ModelError as error:
            raise self._kept(located(error, state, action)) from error.__cause__
        return listed

    def _walk(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        worst = int((repeats * tree.depth[nodes]).sum())
        self._admit(worst)
        self._streams.begin(int(repeats.sum()), worst)
        left = 0
        for node, count in zip(nodes.tolist(), repeats.tolist(), strict=True):
            path = path_to(tree, node)
            actions = tree.action[path].tolist()
            first_time = tree.pulls[node] == 0
            endings = 0
            for _ in range(count):
                if not left:
                    left = self._streams.turn()
                left -= 1
                state, terminated = self.root_state, False
                for prefix, action in zip(path, actions, strict=True):
                    reward = 0.0  # once ended: absorbing with reward 0, and no call
                    if not terminated:
                        state, reward, terminated = self._advance(state, action)
                    record(tree, prefix, reward)
                endings += terminated
            if first_time and endings == count:
                tree.flags[node] |= TERMINAL


def record(tree: Tree, node: int, reward: float) -> None:
    """Add one sample to a node's mean."""
    pulls = int(tree.pulls[node]) + 1
    tree.pulls[node] = pulls
    mean = float(tree.reward[node]) if pulls > 1 else reward
    tree.reward[node] = mean + (reward - mean) / pulls
