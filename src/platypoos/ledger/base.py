"""The ledger: the only caller of a model. Counts, caps, stores states, batches, checks rewards."""

from __future__ import annotations

import pickle
import sys
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import BudgetExceeded, ModelError
from platypoos.ledger.meeting import Homes, find_home, make_homes, settle_by_key
from platypoos.ledger.protocol import Floats, Ledger, Nodes
from platypoos.ledger.streams import Streams
from platypoos.ledger.tree import ROOT, TERMINAL, Tree
from platypoos.models.advice import (
    NO_HORIZON,
    UNASKED,
    Advice,
    Advisor,
    Mask,
    adopt_advice,
    draw_seed,
    kept,
    make_advice,
    pick,
    random_unit,
)
from platypoos.models.base import Access
from platypoos.models.failures import located, not_deterministic
from platypoos.models.keys import key_of
from platypoos.simulator.pace import Pace, never
from platypoos.simulator.watch import Watch

if TYPE_CHECKING:
    from platypoos.ledger.drivers import Driver


def path_to(tree: Tree, node: int) -> list[int]:
    """The nodes from the root's child to ``node``."""
    path = []
    while node != ROOT:
        path.append(node)
        node = int(tree.parent[node])
    path.reverse()
    return path


def steps_known(tree: Tree, path: list[int]) -> int:
    """How many steps of a path have been taken before."""
    return int((tree.pulls[path] > 0).sum())


BARRED = -1
"""In place of an action that is not legal."""


def choose_again(
    advisor: Advisor, state: Any, planned: int, known: bool, rng: np.random.Generator
) -> int:
    """See ``Simulator._choose_again``; workers call it too."""
    mask = advisor.mask(state)
    if mask[planned]:
        return planned
    return int(pick(mask, rng.random())) if known else BARRED


class Simulator(Ledger):
    """The ledger of one plan with a Python model.

    Every call of the model goes through ``evaluate``, ``play`` or ``steps_from``. A request that
    could exceed the budget is refused before its first call; a failing model leaves all samples
    taken so far in the tree.
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
    ) -> None:
        self.model = model
        self.budget = budget
        self.calls = 0
        self.access = access
        self.tree = tree
        self.root_state = state
        self.states: Any = []
        self.due: Callable[[], bool] = never
        self.in_haste = False
        self.key: Callable[[Any], Hashable] | None = None
        """How states are told apart, for planners that share them…"""
        self.homes: dict[Hashable, int] = {}
        """…and the first node that led to each."""
        self.horizon = horizon
        """The depth at which episodes are over."""
        self._advisor = Advisor(model, model.num_actions)
        self.advice = self._make_advice(len(tree.parent))
        advised = self._advisor.masked or self._advisor.guided
        self._seed = draw_seed(rng) if advised else 0
        self._drawn = 0  # actions that were drawn by the ledger
        self._streams = Streams(rng, getattr(model, "calls_per_stream", None))
        self._watch = Watch(model, state)
        self.pace = Pace()
        self.workers = 1

    def evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Make the calls; see ``requests.evaluate``. With a clock, no more after it has run out."""
        self.pace.spread(self, self._evaluate, tree, nodes, repeats)

    def _evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        try:
            if self.access is Access.RESTORE:
                self._query(tree, nodes, repeats)
            else:
                asked = np.flatnonzero(repeats)
                if len(asked):
                    self._walk(tree, nodes[asked], repeats[asked])
        except ModelError as error:
            raise self._kept(error) from error.__cause__

    def drive(self, driver: Driver, args: tuple[Any, ...]) -> Any:
        """Run a planner's main function as plain Python."""
        return driver.around_python(self, args)

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

    def play(self, tree: Tree, path: Nodes, rewards: Floats, start: int, roll_out: bool) -> int:
        """Make the walk; see ``requests.play``."""
        rewards[:start] = tree.reward[path[:start]]
        here = int(path[start - 1]) if start else ROOT
        return start + self._play_on(tree, here, path[start:], rewards[start:], roll_out)

    def _play_on(self, tree: Tree, here: int, path: Nodes, rewards: Floats, roll_out: bool) -> int:
        """Make a walk from the state after the node ``here``."""
        length = len(path)
        self._admit(length)
        self._streams.begin(1, length)
        self._streams.turn()
        restore = self.access is Access.RESTORE
        watch = restore and self._watch.compares(self.calls)
        advisor, legal = self._advisor, self.advice.legal
        nodes = path.tolist()
        actions = tree.action[path].tolist()
        pulled = tree.pulls[path].tolist()
        flags = tree.flags[path].tolist()
        samples: list[float] = []
        state = self.states[here] if here else self.root_state
        mask: Mask | None = None
        rolling_out = ended = False
        try:
            if advisor.masked and length:
                if legal[here, 0] == UNASKED:
                    legal[here] = advisor.mask(state)
                mask = legal[here]
            for node, planned, pulls, flag in zip(nodes, actions, pulled, flags, strict=True):
                if not pulls and samples and self.due():
                    break
                action = planned
                if mask is not None or (rolling_out and advisor.guided):
                    action = self._choose(state, planned, mask, rolling_out)
                    if action != planned and not pulls:
                        tree.action[node] = action
                before, (state, reward, ended) = state, self._advance(state, action)
                if restore and pulls and ended != bool(flag & TERMINAL):
                    raise located(not_deterministic(before, action), before, action)
                samples.append(reward)
                if not pulls:
                    rolling_out = roll_out
                    tree.flags[node] = flag | TERMINAL if ended else flag
                    if restore:
                        self.states[node] = state
                elif flag & TERMINAL and not ended:  # it ended by chance when it was new
                    tree.flags[node] = flag & ~TERMINAL
                elif restore:
                    if watch:
                        watch = self._watch.compare(before, action, self.states[node], state)
                    state = self.states[node]
                if ended:
                    # Absorbing with reward 0, and no call: a sample for the nodes known already.
                    samples += [0.0 for pulls in pulled[len(samples) :] if pulls]
                    break
                if advisor.masked and tree.depth[node] < self.horizon:
                    if not pulls or legal[node, 0] == UNASKED:
                        legal[node] = advisor.mask(state)
                    mask = legal[node] if restore or not pulls else advisor.mask(state)
            if self._watch.looks_at_states:
                self._watch.look_back(self.calls)
            rest = 0.0
            if not ended and not tree.flags[here] & TERMINAL:
                rest = self._value_after(tree, nodes[-1] if nodes else here, state)
        except ModelError as error:
            rest = 0.0
            raise self._kept(located(error)) from error.__cause__
        finally:
            done = path[: len(samples)]
            pulls = tree.pulls[done] + 1
            means = np.where(pulls == 1, samples, tree.reward[done])
            tree.pulls[done] = pulls
            tree.reward[done] = means + (samples - means) / pulls
            rewards[:length] = 0.0
            rewards[: len(samples)] = samples
        rewards[length] = rest
        return len(samples)

    def steps_from(self, node: int, actions: list[int]) -> Iterator[tuple[Any, float, bool]]:
        """Take steps one after the other from the stored state of a node, until the end."""
        self._admit(len(actions))
        state = self.states[node]
        try:
            for action in actions:
                state, reward, ended = self._step_once(state, action)
                yield state, reward, ended
                if ended:
                    break
            if self._watch.looks_at_states:
                self._watch.look_back(self.calls)
        except ModelError as error:
            raise self._kept(located(error)) from error.__cause__

    def _step_once(self, state: Any, action: int) -> tuple[Any, float, bool]:
        """One call of a walk, with a random stream of its own."""
        self._streams.begin(1, 1)
        self._streams.turn()
        step = self._watch.guard(lambda s, a, _: self._advance(s, a), self.calls, 1)
        return step(state, action, self._streams.rng)  # type: ignore[no-any-return]

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

    def _choose_again(self, state: Any, planned: int, known: bool) -> int:
        """The action of a walk by RESET: BARRED if the planned one is not legal.

        If it was legal before, the dynamics are random; then another legal one takes its place.
        """
        return choose_again(self._advisor, state, planned, known, self._streams.rng)

    def _value_after(self, tree: Tree, node: int, state: Any) -> float:
        """What the model says that the state after a node is worth; 0 if it says nothing."""
        if not self._advisor.valued or tree.depth[node] >= self.horizon:
            return 0.0
        return self._advisor.value(state)

    def appraise(self, tree: Tree, nodes: Nodes) -> None:
        """Ask the model what the states of new nodes are worth."""
        for node in nodes.tolist():
            ended = tree.flags[node] & TERMINAL
            worth = 0.0 if ended else self._value_after(tree, node, self.states[node])
            self.advice.worth[node] = worth

    def ask_legal(self, nodes: Nodes) -> None:
        """Ask; see :func:`ask_legal`. By RESET a walk asks when it comes to a node."""
        legal = self.advice.legal
        if not len(legal):
            return
        try:
            for node in nodes.tolist():
                if legal[node, 0] == UNASKED and self._has_state(node):
                    legal[node] = self._advisor.mask(self.states[node])
        except ModelError as error:
            raise self._kept(located(error)) from error.__cause__

    def _has_state(self, node: int) -> bool:
        return node == ROOT or self.access is Access.RESTORE

    def _make_advice(self, nodes: int) -> Advice:
        advisor = self._advisor
        return make_advice(nodes, advisor.num_actions, advisor.masked, advisor.valued)

    def allow(self, calls: int) -> None:
        """Extend the budget by ``calls``."""
        self.budget += calls

    @abstractmethod
    def put(self, node: int, state: Any) -> None:
        """Let a node have a state that was not reached by a call."""

    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Go on with a tree that has these nodes only, in this order."""
        self.tree = tree
        self.advice = kept(self.advice, nodes, len(tree.parent))

    def adopt(self, other: Simulator, nodes: Nodes) -> None:
        """Let the first nodes have the states of these nodes of another ledger, in this order."""
        self.states[: len(nodes)] = other.states_of(nodes)
        adopt_advice(self.advice, other.advice, nodes)

    def states_of(self, nodes: Nodes) -> Any:
        """The states that are stored for some nodes."""
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


def record(tree: Tree, node: int, reward: float) -> None:
    """Add one sample to a node's mean."""
    pulls = int(tree.pulls[node]) + 1
    tree.pulls[node] = pulls
    mean = float(tree.reward[node]) if pulls > 1 else reward
    tree.reward[node] = mean + (reward - mean) / pulls
