"""The ledger for Python models: ``step`` is called once for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.checks import LARGEST_REWARD, as_number
from platypoos.errors import ModelError, TransitionError
from platypoos.ledger.base import BARRED, Simulator, path_to, record, steps_known
from platypoos.ledger.protocol import Nodes
from platypoos.ledger.tree import ILLEGAL, ROOT, TERMINAL, Tree
from platypoos.models.advice import UNASKED
from platypoos.models.failures import (
    NOTHING,
    act,
    as_flag,
    bad_reward,
    explained,
    list_successors,
    located,
    not_deterministic,
)


class FunctionSimulator(Simulator):
    """Calls ``step`` once for each sample; states are any object."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._step = self.model.step
        self.states = [None] * len(self.tree.parent)
        self.states[ROOT] = self.root_state

    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""
        self.states[node] = state

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        super().keep(nodes, tree)
        self.states = [self.states[node] for node in nodes.tolist()]
        self.states += [None] * (len(tree.parent) - len(nodes))

    def _query(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        total = int(repeats.sum())
        if not total:
            return
        self._admit(total)
        self._streams.begin(total, total)
        fresh = tree.pulls[nodes] == 0 if self._advisor.valued else None
        self._sample(tree, nodes, repeats, watch=self._watch.compares(self.calls))
        if fresh is not None:
            self.appraise(tree, nodes[fresh & (repeats > 0)])

    def _sample(self, tree: Tree, nodes: Nodes, repeats: Nodes, *, watch: bool) -> None:
        """Take the samples of a request; if ``watch``, compare the first that are repeated."""
        states = self.states
        rng, turn = self._streams.rng, self._streams.turn
        counts, numbers = repeats.tolist(), nodes.tolist()
        total = sum(counts)
        step = self._watch.guard(self._step, self.calls, total)
        # Mostly nodes are one stretch, in their order: a slice is faster to read.
        stretch = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        where: Any = slice(numbers[0], numbers[-1] + 1) if stretch else nodes
        means: list[float] = []  # of the nodes that are done
        ends: list[int] = []  # nodes that turn out to be terminal
        left = extra = 0
        low, high = -LARGEST_REWARD, LARGEST_REWARD
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
                    if reward.__class__ is not float:
                        reward = as_number(reward)
                    if not low <= reward <= high:
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
                        if watch:
                            watch = self._watch.compare(state, action, states[node], successor)
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
            if self._watch.looks_at_states:
                self._watch.look_back(self.calls)
        finally:
            tree.reward[nodes[: len(means)] if len(means) < len(nodes) else where] = means
            tree.pulls[where] += repeats
            if ends:
                tree.flags[ends] |= TERMINAL

    def _advance(self, state: Any, action: int) -> tuple[Any, float, bool]:
        self.calls += 1
        return act(self.model, state, action, self._streams.rng)

    def legal_actions(self, node: int) -> list[int]:
        """The legal actions after a node whose state was put there by hand."""
        if not self._advisor.masked:
            return list(range(self._advisor.num_actions))
        try:
            mask = self._advisor.mask(self.states[node])
        except ModelError as error:
            raise self._kept(error) from error.__cause__
        return [int(action) for action in np.flatnonzero(mask)]

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
                if not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
                    raise bad_reward(reward, state, action)
        except ModelError as error:
            raise self._kept(located(error, state, action)) from error.__cause__
        return listed

    def _walk(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        worst = int((repeats * tree.depth[nodes]).sum())
        self._admit(worst)
        self._streams.begin(int(repeats.sum()), worst)
        masked, valued = self._advisor.masked, self._advisor.valued
        left = 0
        paths = [path_to(tree, node) for node in nodes.tolist()]
        known = [steps_known(tree, path) for path in paths] if masked else [0] * len(paths)
        for node, count, path, sure in zip(
            nodes.tolist(), repeats.tolist(), paths, known, strict=True
        ):
            actions = tree.action[path].tolist()
            first_time = tree.pulls[node] == 0
            endings, worth = 0, 0.0
            for _ in range(count):
                if not left:
                    left = self._streams.turn()
                left -= 1
                state, terminated = self.root_state, False
                for step, (prefix, planned) in enumerate(zip(path, actions, strict=True)):
                    reward = 0.0  # once ended: absorbing with reward 0, and no call
                    if not terminated:
                        action = planned
                        if masked:
                            action = self._choose_again(state, planned, step < sure)
                            if action == BARRED:
                                tree.flags[prefix] |= ILLEGAL
                                break
                        state, reward, terminated = self._advance(state, action)
                    record(tree, prefix, reward)
                else:
                    endings += terminated
                    if not terminated and (first_time and (masked or valued)):
                        worth += self._meet(tree, node, state)
            if first_time and endings == count:
                tree.flags[node] |= TERMINAL
            if first_time and valued:
                self.advice.worth[node] = worth / count

    def _meet(self, tree: Tree, node: int, state: Any) -> float:
        """Ask the model about the state that a walk to a new node has reached."""
        legal = self.advice.legal
        unasked = self._advisor.masked and legal[node, 0] == UNASKED
        if unasked and tree.depth[node] < self.horizon:
            legal[node] = self._advisor.mask(state)
        return self._value_after(tree, node, state)
