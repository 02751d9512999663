"""Published planners and Python models: what the simulator replies goes into their tree."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checking.watch import COMPARED
from platypoos.checks import LARGEST_REWARD, check_state
from platypoos.errors import BudgetExceeded, ModelError
from platypoos.models.advice import (
    NO_HORIZON,
    UNASKED,
    Advisor,
    Mask,
    adopt_advice,
    draw_seed,
    kept,
    make_advice,
    pick,
    random_unit,
)
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access
from platypoos.models.failures import brief, located, not_deterministic
from platypoos.models.keys import key_of
from platypoos.simulator.arrays import ask, legal_masks
from platypoos.simulator.pace import never
from platypoos.simulator.requests import IfLegal, Replies, Request, Step, Walk
from platypoos.simulator.run import Simulator
from platypoos.trees.meeting import Homes, find_home, make_homes, settle_by_key
from platypoos.trees.protocol import Floats, Nodes, Sampler
from platypoos.trees.tree import ILLEGAL, ROOT, TERMINAL, Tree, path_to

if TYPE_CHECKING:
    from platypoos.compiled.ledger.drivers import Driver
    from platypoos.search.sequences import Ahead
    from platypoos.simulator.pace import Pace

_MOST, _FEWEST = 64, 8
"""Samples of a node are asked for by requests of at most 64 each, and all samples of an evaluation
by at least 8 requests, so that workers can share them."""
_new: Any = tuple.__new__  # makes a Request in half the time


class TreeSimulator(Sampler):
    """Fills a planner's tree with what a Python model does.

    All calls of the model go through one ``Simulator``; this class turns nodes into requests and
    replies into samples. A failing model leaves all samples taken so far in the tree.
    """

    def __init__(
        self,
        model: Any,
        state: Any,
        budget: int,
        rng: np.random.Generator,
        access: Access,
        tree: Tree,
        horizon: int = NO_HORIZON,
        *,
        executor: Any = None,
        timeout: float | None = None,
        until: float | None = None,
    ) -> None:
        self.model, self.access, self.tree = model, access, tree
        self.root_state = state
        self.key: Callable[[Any], Hashable] | None = None
        """How states are told apart, for planners that share them…"""
        self.homes: dict[Hashable, int] = {}
        """…and the first node that led to each."""
        self.horizon = horizon
        """The depth at which episodes are over."""
        self._restores = access is Access.RESTORE
        self._advisor = advisor = Advisor(model)
        self.advice = make_advice(
            len(tree.parent), advisor.num_actions, advisor.masked, advisor.valued
        )
        self._seed = draw_seed(rng) if advisor.masked or advisor.guided else 0
        self._drawn = 0  # actions that were drawn here
        self._ahead: deque[tuple[int, Walk]] = deque()
        self._called_before = 0
        self._failure: BaseException | None = None
        self._simulator = Simulator(
            model, rng, budget=budget, state=state, access=access, executor=executor,
            timeout=timeout, until=until,
        )  # fmt: skip
        self._in_arrays = isinstance(model, ArrayModel) and executor is None
        self.states: Any
        if self._in_arrays:
            self.root_state = root = check_state(state, np.asarray(model.initial_state))
            self.states = np.empty((len(tree.parent), *root.shape), root.dtype)
        else:
            self.states = [None] * len(tree.parent)
        self.states[ROOT] = self.root_state

    # The simulator's own.

    @property
    def calls(self) -> int:  # type: ignore[override]
        """Calls of the model so far."""
        return self._simulator.calls

    @property
    def due(self) -> Callable[[], bool]:
        """Whether time is up."""
        return self._simulator.due

    @due.setter
    def due(self, due: Callable[[], bool]) -> None:
        self._simulator.due = due

    @property
    def pace(self) -> Pace:  # type: ignore[override]
        """How long calls take."""
        return self._simulator.pace

    @property
    def workers(self) -> int:  # type: ignore[override]
        """Requests that are played at the same time."""
        return self._simulator.workers

    def allow(self, calls: int) -> None:
        """Extend the budget by ``calls``."""
        self._simulator.allow(calls)

    def is_ready(self, driver: Driver) -> bool:
        """Whether the driver has run in this process."""
        return driver.has_run

    def drive(self, driver: Driver, args: tuple[Any, ...]) -> Any:
        """Run a planner's main function as plain Python."""
        return driver.around_python(self, args)

    # Samples of nodes.

    def evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Make the calls; see ``requests.evaluate``. With a clock, no more after it has run out."""
        try:
            if not self._restores:
                self._evaluate_by_walks(tree, nodes, repeats)
                return
            fresh = tree.pulls[nodes] == 0 if self._advisor.valued else None
            if self._in_arrays:
                self._evaluate_rows(tree, nodes, repeats)
            else:
                for part in self._parts(tree, nodes, repeats):
                    self._evaluate_states(tree, nodes, part)
            if fresh is not None:
                self.appraise(tree, nodes[fresh & (tree.pulls[nodes] > 0)])
        except ModelError as error:
            raise self._kept(error) from error.__cause__

    def _parts(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> list[Nodes]:
        """Repeats of nodes in one part, or a few first if their results are to be compared.

        So a model that is random costs few calls before it is noticed.
        """
        if not self._simulator.watch.compares(self.calls):
            return [repeats]
        ends = np.cumsum(repeats)
        if not len(ends) or ends[-1] <= 2 * COMPARED:
            return [repeats]
        if not ((tree.pulls[nodes] > 0) | (repeats > 1)).any():
            return [repeats]  # nothing is repeated
        first = np.clip(2 * COMPARED - ends + repeats, 0, repeats)
        return [first, repeats - first]

    def _evaluate_states(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Sample nodes from the stored states of their parents."""
        counts, numbers, states = repeats.tolist(), nodes.tolist(), self.states
        if not numbers:
            return
        # Mostly nodes are one stretch, in their order: a slice is faster to read.
        stretch = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        where: Any = slice(numbers[0], numbers[-1] + 1) if stretch else nodes
        parents, actions = tree.parent[where].tolist(), tree.action[where].tolist()
        most = self._samples_of_a_request(sum(counts))
        batch: list[Request] = []
        for parent, action, count in zip(parents, actions, counts, strict=True):
            if 0 < count <= most:
                batch.append(_new(Request, (states[parent], (action,), 1, count)))
            else:
                for start in range(0, count, most):
                    times = min(most, count - start)
                    batch.append(_new(Request, (states[parent], (action,), 1, times)))
        called_before = self.calls
        failure: BaseException | None = None
        try:
            replies = self._simulator.run(batch, check_legal=False)
        except BaseException as error:  # noqa: BLE001  it is raised when all samples are noted
            replies, failure = _replies_of(error), error
        watch = self._simulator.watch
        compares = watch.compares(called_before)
        answers = iter(replies)
        means: list[float] = []
        pulls: list[int] = []
        ends: list[int] = []  # nodes that turn out to be terminal
        try:
            for node, parent, action, count, pulled, mean, flag in zip(
                numbers, parents, actions, counts, tree.pulls[where].tolist(),
                tree.reward[where].tolist(), tree.flags[where].tolist(), strict=True,
            ):  # fmt: skip
                drift, got = 0.0, pulled
                over = flag & TERMINAL != 0
                for _ in range(0, count, most):
                    walks = next(answers)
                    if walks and not got:
                        _, states[node], mean, over = walks[0][0]  # noqa: PLW2901  the first sample
                        got = 1
                        walks = walks[1:]
                    for ((_, after, _, ended),) in walks:
                        if ended is not over:
                            before = states[parent]
                            raise located(not_deterministic(before, action), before, action)
                        if compares:
                            compares = watch.compare(states[parent], action, states[node], after)
                    drift += sum([walk[0][2] - mean for walk in walks])  # 0 if there is no noise
                    got += len(walks)
                means.append(mean + drift / got if drift else mean)
                pulls.append(got)
                if over:
                    ends.append(node)
        except ModelError as error:
            located(error)
            failure = failure or error
            if got > pulled:
                means.append(mean + drift / got)
                pulls.append(got)
        done = len(means)
        target = where if done == len(numbers) else nodes[:done]
        tree.reward[target], tree.pulls[target] = means, pulls
        if ends:
            tree.flags[ends] |= TERMINAL
        if failure is not None:
            raise failure from failure.__cause__

    def _samples_of_a_request(self, total: int) -> int:
        """How many samples of a node one request asks for, at most.

        It depends on what is asked for only, not on the workers. With a clock every sample is a
        request, so that workers stop in time.
        """
        if self._simulator.due is not never:
            return 1
        return max(1, min(_MOST, -(-total // _FEWEST)))

    def _evaluate_rows(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Sample nodes of an array model, all at once."""
        items = np.repeat(np.arange(len(nodes)), repeats)
        watch = self._simulator.watch
        compares = watch.compares(self.calls)
        asked = nodes[items]
        states = self.states[tree.parent[asked]]
        after, rewards, ended, _, failure = self._simulator.run_rows(states, tree.action[asked])
        made = len(rewards)
        items, asked = items[:made], asked[:made]
        first = np.searchsorted(items, np.arange(len(nodes)))
        present = np.flatnonzero(first < made)  # items that got at least one sample
        present = present[items[first[present]] == present]
        fresh = present[tree.pulls[nodes[present]] == 0]
        self.states[nodes[fresh]] = after[first[fresh]]
        tree.flags[nodes[fresh]] |= np.where(ended[first[fresh]], TERMINAL, 0).astype(np.uint8)
        tree.reward[nodes[fresh]] = rewards[first[fresh]]
        _pool(tree, asked, rewards)
        wrong = np.flatnonzero(ended != (tree.flags[asked] & TERMINAL != 0))
        if len(wrong):
            raise located(not_deterministic(states[wrong[0]], int(tree.action[asked[wrong[0]]])))
        if failure is not None:
            raise failure from failure.__cause__
        if compares:
            again = np.ones(made, np.bool_)
            again[first[fresh]] = False
            for i in np.flatnonzero(again)[:COMPARED]:
                action, expected = int(tree.action[asked[i]]), self.states[asked[i]]
                watch.compare(states[i], action, expected, after[i])

    def _evaluate_by_walks(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Sample nodes by walks from the root; every node on the way gets its sample (RESET)."""
        paths = [path_to(tree, node) for node in nodes.tolist()]
        counts = repeats.tolist()
        most = self._samples_of_a_request(sum(counts))
        masked = self._advisor.masked
        batch: list[Request] = []
        known = [_steps_known(tree, path) for path in paths] if masked else [0] * len(paths)
        for path, count, sure in zip(paths, counts, known, strict=True):
            actions: list[Any] = tree.action[path].tolist()
            if masked:  # a new action is tried only if it is legal
                actions[sure:] = [IfLegal(action) for action in actions[sure:]]
            batch += [
                Request(self.root_state, actions, len(path), min(most, count - start))
                for start in range(0, count, most)
            ]
        failure: BaseException | None = None
        try:
            replies = self._simulator.run(batch)
        except BaseException as error:  # noqa: BLE001  it is raised when all samples are noted
            replies, failure = _replies_of(error), error
        answers = iter(replies)
        for node, count, path, sure in zip(nodes.tolist(), counts, paths, known, strict=True):
            walks = [walk for _ in range(0, count, most) for walk in next(answers, ())]
            self._note_walks(tree, node, path, sure, walks)
        if failure is not None:
            raise failure from failure.__cause__

    def _note_walks(
        self, tree: Tree, node: int, path: list[int], sure: int, walks: list[Walk]
    ) -> None:
        """Add the samples of walks to one node. Its first ``sure`` steps have been taken before."""
        is_new = tree.pulls[node] == 0
        endings = 0
        worth = 0.0
        for walk in walks:
            for step, at in zip(walk, path, strict=False):
                _record(tree, at, step[2])
            state = walk[-1][1] if walk else self.root_state
            if walk and walk[-1][3]:
                endings += 1
                for at in path[len(walk) :]:
                    _record(tree, at, 0.0)  # absorbing with reward 0, and no call
            elif len(walk) == len(path):
                worth += self._meet(tree, node, state) if is_new else 0.0
            elif self._advisor.masked and len(walk) >= sure:
                # It stopped at an action that is not legal, or at the clock or a failure.
                at = path[len(walk)]
                if not self._advisor.mask(state)[tree.action[at]]:
                    tree.flags[at] |= ILLEGAL
        if is_new and walks and endings == len(walks):
            tree.flags[node] |= TERMINAL
        if is_new and self._advisor.valued and walks:
            self.advice.worth[node] = worth / len(walks)

    def _meet(self, tree: Tree, node: int, state: Any) -> float:
        """Ask the model about the state that a walk to a new node has reached."""
        legal = self.advice.legal
        unasked = self._advisor.masked and legal[node, 0] == UNASKED
        if unasked and tree.depth[node] < self.horizon:
            legal[node] = self._advisor.mask(state)
        return self._value_after(tree, node, state)

    # Walks along a path.

    def play_ahead(self, _tree: Tree, ahead: Ahead, asked: int, roll_out: bool) -> None:
        """Make walks at once, which ``play`` takes one after the other; see ``requests``.

        They stop before an action that is not legal, and ``play`` goes on. It makes walks by
        itself if a policy chooses actions in states that they come to, and by RESET if a mask does.
        """
        masked = self._advisor.masked
        if roll_out and self._advisor.guided:
            return
        if not self._restores and (masked or self._in_arrays):
            return
        self._called_before = self.calls
        walks: list[Walk] = [[] for _ in range(asked)]
        try:
            self._walk_ahead(ahead, walks)
        except BaseException as error:  # noqa: BLE001  it is raised when the walks are noted
            _replies_of(error)
            self._failure = error
            ahead.calls[:asked] = [len(walk) for walk in walks]  # what was walked is noted first
        self._ahead.extend(zip(ahead.starts.tolist(), walks, strict=False))

    def _walk_ahead(self, ahead: Ahead, walks: list[Walk]) -> None:
        """Make the walks of sequences: at first, step by step, what they have in common."""
        masked = self._advisor.masked
        starts, calls = ahead.starts.tolist(), ahead.calls.tolist()
        nodes = ahead.nodes.tolist()
        going = [place for place in range(len(walks)) if calls[place]]
        states = {place: self.states[nodes[place]] for place in going}
        paths: dict[int, tuple[int, ...]] = {place: (nodes[place],) for place in going}
        actions: dict[int, list[Any]] = {
            place: ahead.trials[place, starts[place] : starts[place] + calls[place]].tolist()
            for place in going
        }

        def request(place: int, steps: int) -> Request:
            first = len(walks[place])
            planned = actions[place][first : first + steps]
            if masked:
                planned = [IfLegal(action) for action in planned]
            return Request(states[place], planned, len(planned))

        def run(groups: list[list[int]], steps: int) -> None:
            batch = [request(group[0], steps) for group in groups]
            failure: BaseException | None = None
            try:
                replies = self._simulator.run(batch, check_legal=masked)
            except BaseException as error:  # noqa: BLE001  it is raised below
                replies, failure = _replies_of(error), error
            for group, found in zip(groups, replies, strict=True):
                for place in group:
                    walks[place] += found[0] if found else []
            if failure is not None:
                raise failure

        while self._restores:
            shared: dict[tuple[int, ...], list[int]] = {}
            for place in going:
                key = (*paths[place], actions[place][len(walks[place])])
                shared.setdefault(key, []).append(place)
            groups = [group for group in shared.values() if len(group) > 1]
            if not groups:
                break
            before = len(walks[groups[0][0]])
            run(groups, 1)
            done = set()
            for key, group in shared.items():
                for place in group if len(group) > 1 else []:
                    walk = walks[place]
                    paths[place] = key
                    if len(walk) in {before, calls[place]} or walk[-1][3]:
                        done.add(place)  # it has stopped, or is complete
                    else:
                        states[place] = walk[-1][1]
            going = [place for place in going if place not in done]
        run([[place] for place in going], self._simulator.budget)

    def play(self, tree: Tree, path: Nodes, rewards: Floats, start: int, roll_out: bool) -> int:
        """Make the walk in this thread; see ``requests.play``."""
        rewards[:start] = tree.reward[path[:start]]
        here = int(path[start - 1]) if start else ROOT
        walk: Walk | None = None
        if self._ahead:
            begin, walked = self._ahead.popleft()
            walk = walked[start - begin :]
        return start + self._play_on(tree, here, path[start:], rewards[start:], roll_out, walk)

    def _play_on(
        self,
        tree: Tree,
        here: int,
        path: Nodes,
        rewards: Floats,
        roll_out: bool,
        walk: Walk | None,
    ) -> int:
        """Make a walk from the state after the node ``here``, or take one that was made."""
        length, simulator = len(path), self._simulator
        if walk is None and length > simulator.left:
            raise BudgetExceeded(
                f"a request for {length} calls was refused: {self.calls} of the budget of "
                f"{simulator.budget} are spent"
            )
        restores, advisor, legal = self._restores, self._advisor, self.advice.legal
        called_before = self.calls if walk is None else self._called_before
        nodes = path.tolist()
        actions = tree.action[path].tolist()
        pulled = tree.pulls[path].tolist()
        flags = tree.flags[path].tolist()
        samples: list[float] = []
        state = self.states[here] if here else self.root_state
        mask: Mask | None = None
        rolling_out = ended = goes_on = False
        # Without masks and policies all actions are known before the first step.
        by_steps = walk is None and (advisor.masked or (roll_out and advisor.guided))
        failure: BaseException | None = None
        steps: Iterator[Step] = iter(())
        rest = 0.0
        try:
            if walk is not None:
                steps = iter(walk)
                failure = None if self._ahead else self._failure  # after the last one
            elif not by_steps and length:
                try:
                    walks = simulator.run(
                        [Request(state, actions, length)], here=True, check_legal=False
                    )[0]
                except BaseException as error:  # noqa: BLE001  it is raised below
                    walks, failure = _replies_of(error)[0], error
                steps = iter(walks[0] if walks else ())
            watch = simulator.watch
            compares = restores and watch.compares(called_before)
            if advisor.masked and length:
                if legal[here, 0] == UNASKED:
                    legal[here] = advisor.mask(state)
                mask = legal[here]
            for node, planned, pulls, flag in zip(nodes, actions, pulled, flags, strict=True):
                before, action = state, planned
                following = None if by_steps else next(steps, None)
                if following is not None:
                    step = following
                elif not by_steps and (walk is None or mask is None or failure is not None):
                    break
                else:  # step by step; also where a walk has stopped before an illegal action
                    if not pulls and samples and self.due():
                        break
                    if mask is not None or (rolling_out and advisor.guided):
                        action = self._choose(state, planned, mask, rolling_out)
                        if action != planned and not pulls:
                            tree.action[node] = action
                    step = self._one_step(state, action, here=True, go_on=goes_on)
                    goes_on = True
                _, state, reward, ended = step
                if restores and pulls and ended != bool(flag & TERMINAL):
                    raise located(not_deterministic(before, action), before, action)
                samples.append(reward)
                if not pulls:
                    rolling_out = roll_out
                    tree.flags[node] = flag | TERMINAL if ended else flag
                    if restores:
                        self.states[node] = state
                elif flag & TERMINAL and not ended:  # it ended by chance when it was new
                    tree.flags[node] = flag & ~TERMINAL
                elif restores:
                    if compares:
                        compares = watch.compare(before, action, self.states[node], state)
                    state = self.states[node]
                if ended:
                    # Absorbing with reward 0, and no call: a sample for the nodes known already.
                    samples += [0.0 for pulls in pulled[len(samples) :] if pulls]
                    break
                if advisor.masked and tree.depth[node] < self.horizon:
                    if not pulls or legal[node, 0] == UNASKED:
                        legal[node] = advisor.mask(state)
                    mask = legal[node] if restores or not pulls else advisor.mask(state)
            if failure is not None:
                raise failure from failure.__cause__
            if not ended and not tree.flags[here] & TERMINAL:
                rest = self._value_after(tree, nodes[-1] if nodes else here, state)
        except ModelError as error:
            raise self._kept(located(error)) from error.__cause__
        finally:
            done = path[: len(samples)]
            counts = tree.pulls[done] + 1
            means = np.where(counts == 1, samples, tree.reward[done])
            tree.pulls[done] = counts
            tree.reward[done] = means + (samples - means) / counts
            rewards[:length] = 0.0
            rewards[: len(samples)] = samples
        rewards[length] = rest
        return len(samples)

    def steps_from(self, node: int, actions: list[int]) -> Iterator[tuple[Any, float, bool]]:
        """Take steps one after the other from the stored state of a node, until the end."""
        if len(actions) > self._simulator.left:
            raise BudgetExceeded(
                f"a request for {len(actions)} calls was refused: {self.calls} of the budget of "
                f"{self._simulator.budget} are spent"
            )
        state = self.states[node]
        try:
            for action in actions:
                _, state, reward, ended = self._one_step(state, action)
                yield state, reward, ended
                if ended:
                    break
        except ModelError as error:
            raise self._kept(located(error)) from error.__cause__

    def _one_step(
        self, state: Any, action: int, *, here: bool = False, go_on: bool = False
    ) -> Step:
        """One call of a walk that its caller has looked at the clock for."""
        simulator = self._simulator
        due, simulator.due = simulator.due, never
        try:
            request: Request = _new(Request, (state, (action,), 1, 1))
            replies = simulator.run([request], here=here, check_legal=False, go_on=go_on)
            return replies[0][0][0]
        finally:
            simulator.due = due

    def _choose(self, state: Any, planned: int, mask: Mask | None, rolling_out: bool) -> int:
        """The action of a walk: the planned one if it is legal, or one by the policy."""
        if rolling_out and self._advisor.guided:
            weights: NDArray[Any] = self._advisor.weights(state, mask)
        elif mask is None or mask[planned]:
            return planned
        else:
            weights = mask
        self._drawn += 1
        return int(pick(weights, random_unit(self._seed, self._drawn)))

    # What the model says of states.

    def _value_after(self, tree: Tree, node: int, state: Any) -> float:
        """What the model says that the state after a node is worth; 0 if it says nothing."""
        if not self._advisor.valued or tree.depth[node] >= self.horizon:
            return 0.0
        return self._advisor.value(state)

    def appraise(self, tree: Tree, nodes: Nodes) -> None:
        """Ask the model what the states of new nodes are worth."""
        worth = self.advice.worth
        if self._in_arrays:
            over = (tree.flags[nodes] & TERMINAL != 0) | (tree.depth[nodes] >= self.horizon)
            worth[nodes[over]] = 0.0
            if not over.all():
                worth[nodes[~over]] = _values(self.model, self.states[nodes[~over]])
            return
        for node in nodes.tolist():
            ended = tree.flags[node] & TERMINAL
            worth[node] = 0.0 if ended else self._value_after(tree, node, self.states[node])

    def ask_legal(self, nodes: Nodes) -> None:
        """Ask; see ``requests.ask_legal``. By RESET a walk asks when it comes to a node."""
        legal = self.advice.legal
        if not len(legal):
            return
        new = [
            node
            for node in nodes.tolist()
            if legal[node, 0] == UNASKED and (node == ROOT or self._restores)
        ]
        try:
            if self._in_arrays and new:
                legal[new] = legal_masks(
                    self.model.legal, self.states[new], self._advisor.num_actions
                )
                return
            for node in new:
                legal[node] = self._advisor.mask(self.states[node])
        except ModelError as error:
            located_already = self._in_arrays
            raise self._kept(error if located_already else located(error)) from error.__cause__

    # States that are kept, and told apart.

    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""
        self.states[node] = check_state(state, self.states[ROOT]) if self._in_arrays else state

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        before, capacity = self.states, len(tree.parent)
        if self._in_arrays:
            self.states = np.empty((capacity, *before.shape[1:]), before.dtype)
            self.states[: len(nodes)] = before[nodes]
        else:
            self.states = [before[node] for node in nodes.tolist()]
            self.states += [None] * (capacity - len(nodes))
        self.tree = tree
        self.advice = kept(self.advice, nodes, capacity)

    def adopt(self, other: TreeSimulator, nodes: Nodes) -> None:
        """Let the first nodes have the states of these nodes of another sampler, in this order."""
        self.states[: len(nodes)] = other.states_of(nodes)
        adopt_advice(self.advice, other.advice, nodes)

    def states_of(self, nodes: Nodes) -> Any:
        """The states that are stored for some nodes."""
        if self._in_arrays:
            return self.states[nodes]
        return [self.states[node] for node in nodes.tolist()]

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

    def tell_apart(self, state: Any) -> None:
        """By the model's key, or by the state itself if it can be hashed."""
        self.key = key_of(self.model, state)

    def make_homes(self, capacity: int, depth: NDArray[np.int32] | None) -> Homes:
        """Without a table: states are found in a dictionary."""
        return make_homes(capacity, 0, depth)

    def settle(self, homes: Homes, nodes: Nodes) -> None:
        """Find homes by what tells the states apart."""
        settle_by_key(self, homes, nodes)

    def settle_again(self, homes: Homes, before: Nodes, _own: Nodes) -> None:
        """Give homes their new names."""
        if self.key is not None:
            now = homes.home[: len(before)].tolist()
            name = dict(zip(before[::-1].tolist(), now[::-1], strict=True))
            self.homes = {key: name[home] for key, home in self.homes.items() if home in name}

    def home_of(self, homes: Homes, state: Any) -> int:
        """By the key; −1 too where the same state at another time is another one."""
        if self.key is None or len(homes.depth):
            return -1
        return find_home(self, -1, state, None, keep=False)

    def _kept(self, error: ModelError) -> ModelError:
        """The error, with what was learned before it."""
        error.calls = self.calls
        error.tree = self.tree.trimmed()
        error.replies = None  # all of it is in the tree
        return error


def _replies_of(error: BaseException) -> Replies:
    """What was played before a failure; raises the error if it was none of the model."""
    replies: Replies | None = getattr(error, "replies", None)
    if replies is None:
        raise error
    return replies


def _steps_known(tree: Tree, path: list[int]) -> int:
    """How many steps of a path have been taken before."""
    return int((tree.pulls[path] > 0).sum())


def _record(tree: Tree, node: int, reward: float) -> None:
    """Add one sample to a node's mean."""
    pulls = int(tree.pulls[node]) + 1
    tree.pulls[node] = pulls
    mean = float(tree.reward[node]) if pulls > 1 else reward
    tree.reward[node] = mean + (reward - mean) / pulls


def _pool(tree: Tree, nodes: Nodes, rewards: NDArray[np.float64]) -> None:
    """Add samples to the means of their nodes, in the order they came."""
    unique, first, inverse, counts = np.unique(
        nodes, return_index=True, return_inverse=True, return_counts=True
    )
    mean = np.where(tree.pulls[unique] == 0, rewards[first], tree.reward[unique])
    drift = np.bincount(inverse, weights=rewards - mean[inverse], minlength=len(unique))
    tree.pulls[unique] += counts
    tree.reward[unique] = mean + drift / tree.pulls[unique]


def _values(model: ArrayModel, states: NDArray[Any]) -> NDArray[np.float64]:
    """What all states of an array model are worth."""
    said = ask("value", model.value, states)
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
