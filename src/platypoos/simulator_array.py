"""The ledger for array models: a request is answered by whole batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.blame import bad_reward, explained, located, not_deterministic
from platypoos.checks import check_state
from platypoos.errors import ModelError
from platypoos.models.array import ArrayModel
from platypoos.simulator import Nodes, Simulator
from platypoos.tree import ROOT, TERMINAL, Tree

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
        self.tree, self.states = tree, states

    def _query(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        items = np.repeat(np.arange(len(nodes)), repeats)
        self._admit(len(items))
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
        for t in range(longest):
            inside = np.flatnonzero(path[:, t] >= 0)
            live = inside[~ended[inside]]
            reached = path[:, t]
            after, got, terminated, made = self._step(state[live], tree.action[reached[live]])
            live = live[:made]
            state[live] = after
            rewards = np.zeros(len(walks))
            rewards[live] = got
            known = np.union1d(live, inside[ended[inside]])  # absorbed walks give reward 0
            _pool(tree, reached[known], rewards[known])
            ended[live] = terminated
            self._raise_failure()
        survivors = np.unique(walks[~ended])
        tree.flags[np.setdiff1d(newcomers, survivors)] |= TERMINAL

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
                bad = np.flatnonzero(~np.isfinite(rewards[rows])) + start
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
