"""The ledger for array models: a request is answered by whole batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD, check_state
from platypoos.errors import MaskError, ModelError
from platypoos.ledger.base import Simulator
from platypoos.ledger.protocol import Nodes
from platypoos.ledger.tree import ILLEGAL, ROOT, TERMINAL, Tree
from platypoos.models.advice import UNASKED, no_legal_action, pick
from platypoos.models.array import ArrayModel
from platypoos.models.failures import (
    bad_reward,
    brief,
    explained,
    located,
    not_deterministic,
    worded,
)
from platypoos.simulator.watch import COMPARED

_ROWS = 8192  # rows of a request that share a random stream


class ArraySimulator(Simulator):
    """Answers a request by calling the model's function on whole batches."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.model: ArrayModel
        root = check_state(self.root_state, np.asarray(self.model.initial_state))
        self.states = np.empty((len(self.tree.parent), *root.shape), root.dtype)
        self.states[ROOT] = root
        self.root_state = root

    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""
        self.states[node] = check_state(state, self.states[ROOT])

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        states = np.empty((len(tree.parent), *self.states.shape[1:]), self.states.dtype)
        states[: len(nodes)] = self.states[nodes]
        super().keep(nodes, tree)
        self.states = states

    def states_of(self, nodes: Nodes) -> NDArray[Any]:
        """The states that are stored for some nodes."""
        return self.states[nodes]  # type: ignore[no-any-return]

    def _query(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        items = np.repeat(np.arange(len(nodes)), repeats)
        self._admit(len(items))
        watch = self._watch.compares(self.calls)
        asked = nodes[items]
        states = self.states[tree.parent[asked]]
        after, rewards, terminated, made = self._step(states, tree.action[asked])
        items, asked = items[:made], asked[:made]
        first = np.searchsorted(items, np.arange(len(nodes)))
        present = np.flatnonzero(first < made)  # items that got at least one sample
        present = present[items[first[present]] == present]
        fresh = present[tree.pulls[nodes[present]] == 0]
        self.states[nodes[fresh]] = after[first[fresh]]
        tree.flags[nodes[fresh]] |= np.where(terminated[first[fresh]], TERMINAL, 0).astype(np.uint8)
        tree.reward[nodes[fresh]] = rewards[first[fresh]]
        _pool(tree, asked, rewards)
        wrong = np.flatnonzero(terminated != (tree.flags[asked] & TERMINAL != 0))
        if len(wrong):
            raise located(not_deterministic(states[wrong[0]], int(tree.action[asked[wrong[0]]])))
        self._raise_failure()
        if watch:
            again = np.ones(made, np.bool_)
            again[first[fresh]] = False
            for i in np.flatnonzero(again)[:COMPARED]:
                action, expected = int(tree.action[asked[i]]), self.states[asked[i]]
                self._watch.compare(states[i], action, expected, after[i])
        if self._advisor.valued:
            new = nodes[fresh]
            over = (tree.flags[new] & TERMINAL != 0) | (tree.depth[new] >= self.horizon)
            self.advice.worth[new[over]] = 0.0
            if not over.all():
                self.advice.worth[new[~over]] = self._values(self.states[new[~over]])

    def ask_legal(self, nodes: Nodes) -> None:
        """Ask about all new states at once; see ``requests.ask_legal``."""
        legal = self.advice.legal
        if not len(legal):
            return
        new = [n for n in nodes.tolist() if legal[n, 0] == UNASKED and self._has_state(n)]
        if new:
            try:
                legal[new] = self._masks(self.states[new])
            except ModelError as error:
                raise self._kept(error) from error.__cause__

    def _masks(self, states: NDArray[Any]) -> NDArray[np.uint8]:
        """The legal actions of all states; an error if there are none in one."""
        said = _asked("legal", self.model.legal, states)
        masks = np.asarray(said)
        wanted = (len(states), self.model.num_actions)
        if masks.dtype != np.bool_ or masks.shape != wanted:
            raise MaskError(
                f"legal of an array model given {wanted[0]} states must return booleans of shape "
                f"{wanted}, got {masks.dtype} of shape {masks.shape}"
            )
        stuck = np.flatnonzero(~masks.any(axis=1))
        if len(stuck):
            raise no_legal_action(states[stuck[0]])
        return masks.astype(np.uint8)

    def _values(self, states: NDArray[Any]) -> NDArray[np.float64]:
        """What all states are worth."""
        said = _asked("value", self.model.value, states)
        try:
            worth = np.asarray(said, np.float64)
        except (TypeError, ValueError, OverflowError):
            worth = np.empty(0)
        if worth.shape != (len(states),) or not (np.abs(worth) <= LARGEST_REWARD).all():
            raise ModelError(
                f"value of an array model given {len(states)} states must return {len(states)} "
                f"finite numbers, got {brief(said)}"
            )
        return worth

    def _advance(self, state: NDArray[Any], action: int) -> tuple[Any, float, bool]:
        after, rewards, terminated, made = self._step(state[None], np.array([action]))
        if not made:
            self._raise_failure()
        return after[0], float(rewards[0]), bool(terminated[0])

    def _walk(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        walks = np.repeat(nodes, repeats)
        self._admit(int(tree.depth[walks].sum()))
        longest = int(tree.depth[nodes].max())
        path = np.full((len(walks), longest), -1, np.int64)  # node at each step, −1 past the end
        at: NDArray[Any] = walks
        rows = np.arange(len(walks))
        while len(rows):
            path[rows, tree.depth[at] - 1] = at
            at = tree.parent[at]
            rows, at = rows[at != ROOT], at[at != ROOT]
        state = np.repeat(np.asarray(self.states[ROOT])[None], len(walks), axis=0)
        ended = np.zeros(len(walks), np.bool_)
        newcomers = np.unique(nodes[tree.pulls[nodes] == 0])
        known = tree.pulls[path] > 0
        barred = np.zeros(len(walks), np.bool_)
        for t in range(longest):
            inside = np.flatnonzero((path[:, t] >= 0) & ~barred)
            live = inside[~ended[inside]]
            reached = path[:, t]
            actions = tree.action[reached]
            if self._advisor.masked and len(live):
                actions[live], stopped = self._allowed(state[live], actions[live], known[live, t])
                tree.flags[reached[live[stopped]]] |= ILLEGAL
                barred[live[stopped]] = True
                inside, live = np.setdiff1d(inside, live[stopped]), live[~stopped]
            after, got, terminated, made = self._step(state[live], actions[live])
            live = live[:made]
            state[live] = after
            rewards = np.zeros(len(walks))
            rewards[live] = got
            sampled = np.union1d(live, inside[ended[inside]])  # absorbed walks give reward 0
            _pool(tree, reached[sampled], rewards[sampled])
            ended[live] = terminated
            self._raise_failure()
        survivors = np.unique(walks[~ended])
        tree.flags[np.setdiff1d(newcomers, survivors)] |= TERMINAL
        if self._advisor.masked or self._advisor.valued:
            there = np.flatnonzero(~ended & ~barred & np.isin(walks, newcomers))
            self._meet(tree, walks, there, state[there])

    def _allowed(
        self, states: NDArray[Any], actions: NDArray[Any], known: NDArray[np.bool_]
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Legal actions for the planned ones, and which walks stop: as ``choose_again``."""
        masks = self._masks(states)
        illegal = masks[np.arange(len(states)), actions] == 0
        chosen = actions.copy()
        for i in np.flatnonzero(illegal & known):
            chosen[i] = pick(masks[i], self._streams.rng.random())
        return chosen, illegal & ~known

    def _meet(self, tree: Tree, walks: Nodes, there: Nodes, states: NDArray[Any]) -> None:
        """Ask the model about the states that walks to new nodes have reached."""
        if not len(there):
            return
        inner = tree.depth[walks[there]] < self.horizon
        there, states = there[inner], states[inner]
        if self._advisor.masked and len(there):
            nodes, first = np.unique(walks[there], return_index=True)
            self.advice.legal[nodes] = self._masks(states[first])
        if self._advisor.valued and len(there):
            nodes, inverse = np.unique(walks[there], return_inverse=True)
            totals = np.bincount(inverse, weights=self._values(states))
            all_walks = np.array([int((walks == node).sum()) for node in nodes])
            self.advice.worth[nodes] = totals / all_walks

    def _step(
        self, states: NDArray[Any], actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], int]:
        """All rows, batch by batch; what came back before a failure is kept."""
        n, size = len(states), self.model.batch_size
        self._failure: ModelError | None = None
        after = np.empty_like(states)
        rewards, terminated = np.empty(n), np.empty(n, np.bool_)
        actions64 = actions.astype(np.int64)
        for start in (first + i for first in range(0, n, _ROWS) for i in range(0, _ROWS, size)):
            if start >= n:
                break
            if start % _ROWS == 0:
                self._streams.turn()
            rows = slice(start, min(n, start + size, start - start % _ROWS + _ROWS))
            self.calls += rows.stop - start
            try:
                after[rows], rewards[rows], terminated[rows] = self.model.step_batch(
                    states[rows], actions64[rows], self._streams.rng
                )
                bad = np.flatnonzero(~(np.abs(rewards[rows]) <= LARGEST_REWARD)) + start
                if len(bad):
                    at = bad[0]
                    raise bad_reward(float(rewards[at]), states[at], int(actions64[at]))
            except ModelError as error:
                self._failure = error
                if error.action is None:
                    error.state, error.action = states[rows], actions64[rows]
            except Exception as error:  # noqa: BLE001  whatever the user's function raises
                self._failure = explained(
                    error,
                    states[rows],
                    actions64[rows],
                    where=f"a batch of {rows.stop - start} states",
                )
                self._failure.__cause__ = error
            if self._failure is not None:
                return after[:start], rewards[:start], terminated[:start], start
        return after, rewards, terminated, n

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise located(failure) if isinstance(failure.action, int) else failure


def _pool(tree: Tree, nodes: Nodes, rewards: NDArray[np.float64]) -> None:
    """Add samples to the means of their nodes, in the order they came."""
    unique, first, inverse, counts = np.unique(
        nodes, return_index=True, return_inverse=True, return_counts=True
    )
    mean = np.where(tree.pulls[unique] == 0, rewards[first], tree.reward[unique])
    drift = np.bincount(inverse, weights=rewards - mean[inverse], minlength=len(unique))
    tree.pulls[unique] += counts
    tree.reward[unique] = mean + drift / tree.pulls[unique]


def _asked(name: str, function: Any, states: NDArray[Any]) -> Any:
    try:
        return function(states)
    except Exception as error:
        raise ModelError(
            f"the model's {name} raised {worded(error)} (for {len(states)} "
            f"states, the first {brief(states[0])}); the original traceback is above",
            state=states,
        ) from error
