"""Calls of a model that are counted and timed, and what can be seen in its states."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import same
from platypoos.errors import InvalidArgument
from platypoos.models.advice import Advisor
from platypoos.models.base import Access, access_of, actions_of, said_of_one
from platypoos.models.failures import act
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.keys import key_of
from platypoos.models.numbered import numbered
from platypoos.models.points import has_points
from platypoos.models.wrappers import WrappedModel
from platypoos.progress import progress_bar
from platypoos.spaces import Discrete

PATIENCE = 1.0
"""Seconds until the progress is shown."""

DRAWN = 16
"""Actions of a box that are tried."""

Vector = NDArray[np.float64]


class Spent(Exception):
    """There are no calls left, or the user has interrupted."""


class Seen(NamedTuple):
    """What one call of the model showed."""

    state: Any
    reward: float
    terminated: bool
    vector: Vector | None  # the state as numbers; None if it is not made of floats


@dataclass
class Walk:
    """Steps from the initial state; each action is held for some steps."""

    hold: int
    states: list[Any]
    """One more than steps: the initial state is the first."""
    actions: list[int] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether the episode ended."""
        return bool(self.seen) and self.seen[-1].terminated


class _Some(WrappedModel):
    """A model with a few actions of a box, drawn at random: many are at a bound."""

    def __init__(self, model: Any, rng: np.random.Generator) -> None:
        super().__init__(model)
        space = self.actions
        first = space.draw(rng)
        drawn = [first, *(space.vary(first, rng) for _ in range(DRAWN - 1))]
        different = {np.asarray(action).tobytes(): action for action in drawn}
        self.actions = Discrete(list(different.values()))

    @property
    def legal(self) -> None:
        """Nothing: masks are for lists."""
        return

    @property
    def policy(self) -> None:
        """Nothing: what it chooses is hardly one of these actions."""
        return

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Any:
        """Take ``action`` in ``state``."""
        return self.model.step(state, action, rng)


class Probe:
    """Calls a model, at most ``limit`` times.

    Args:
        model: any model.
        limit: the most calls.
        rng: chooses actions, and is the model's source of randomness.
        on_call: called after each call.
    """

    def __init__(
        self, model: Any, limit: int, rng: np.random.Generator, on_call: Callable[[], None]
    ) -> None:
        self.model, self.limit = model, limit
        self.choices, self.noise = rng.spawn(2)
        self.space = actions_of(model)
        self.in_a_box = has_points(self.space)
        self._view = numbered(_Some(model, self.choices) if self.in_a_box else model)
        self.num_actions = actions_of(self._view).n
        self.access: Access = access_of(model)
        self.start = model.initial_state
        self.key = key_of(model, self.start)
        self.calls = 0
        self.seconds: list[float] = []
        """The time that each call took."""
        self.interrupted = False
        self._on_call = on_call
        self._advisor = Advisor(self._view)
        self._observation: Any = None
        self._size = 0
        self._look = self._find_look()

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self.limit - self.calls

    @property
    def has_vectors(self) -> bool:
        """Whether states are seen as vectors of floats."""
        return self._look is not None

    def step(self, state: Any, action: int) -> Seen:
        """One call; ``Spent`` if it would be one too many."""
        if self.interrupted or not self.left:
            raise Spent
        self.calls += 1
        try:
            begin = time.perf_counter()
            after, reward, terminated = act(self._view, state, action, self.noise)
            self.seconds.append(time.perf_counter() - begin)
            self._on_call()
        except KeyboardInterrupt as error:
            self.interrupted = True
            raise Spent from error
        return Seen(after, reward, terminated, self._see(after))

    def _see(self, state: Any) -> Vector | None:
        """A state as a vector; None if it is none, or not as long as the others."""
        vector = None if self._look is None else _as_vector(self._look(state))
        if vector is None:
            return None
        self._size = self._size or len(vector)
        return vector if len(vector) == self._size else None

    def action(self, state: Any, unlike: int | None = None) -> int:
        """A random legal action; another one than ``unlike``, if there is one."""
        legal = np.arange(self.num_actions)
        if self._advisor.masked:
            legal = np.flatnonzero(self._advisor.mask(state))
        if unlike is not None and len(legal) > 1:
            legal = legal[legal != unlike]
        return int(self.choices.choice(legal))

    def may(self, state: Any, action: int) -> bool:
        """Whether an action is legal."""
        return not self._advisor.masked or bool(self._advisor.mask(state)[action])

    def walk(self, length: int, hold: int = 1) -> Walk:
        """A random walk of at most ``length`` steps; shorter if the calls are spent."""
        walk = Walk(hold, [self.start])
        action = -1
        for step in range(length):
            state = walk.states[-1]
            if step % hold == 0 or not self.may(state, action):
                action = self.action(state)
            try:
                seen = self.step(state, action)
            except Spent:
                break
            walk.actions.append(action)
            walk.states.append(seen.state)
            walk.seen.append(seen)
            if seen.terminated:
                break
        return walk

    def differ(self, one: Seen, other: Seen) -> bool:
        """Whether two calls led to different states, as far as can be seen."""
        if one.terminated != other.terminated:
            return True
        if self.key is not None:
            return bool(self.key(one.state) != self.key(other.state))
        if one.vector is not None and other.vector is not None:
            return not same(one.vector, other.vector)
        if getattr(self.model, "saves_states", False):  # snapshots: nothing is to be seen in them
            return False
        return not same(one.state, other.state)

    def _find_look(self) -> Callable[[Any], Any] | None:
        """How to see a state as a vector of floats: its features, itself, or the observation."""
        features = said_of_one(self.model, "features")
        for look in (features, lambda state: state):
            try:
                if look is not None and _as_vector(look(self.start)) is not None:
                    return look
            except Exception:  # noqa: BLE001, S112  features of the user's: then without
                continue
        if _observes_floats(self.model):
            return lambda _: self._observation
        return None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what a Gymnasium environment shows, and put it back where it was in the end."""
        model = self.model
        if not isinstance(model, GymnasiumModel):
            yield
            return
        keeper = model.keeper
        with ExitStack() as stack:
            try:
                if model.is_yours:
                    stack.callback(model.restore, model.save())
            except InvalidArgument:  # it cannot be saved from outside: planning moves it anyway
                pass
            plain = keeper.step

            def step(action: Any, rng: np.random.Generator) -> Any:
                outcome = plain(action, rng)
                self._observation = outcome[0]
                return outcome

            keeper.step = step  # type: ignore[method-assign]
            stack.callback(vars(keeper).pop, "step")
            yield


def _observes_floats(model: Any) -> bool:
    if not isinstance(model, GymnasiumModel):
        return False
    space = model.env.observation_space
    return bool(space.shape) and np.dtype(space.dtype).kind == "f"


def _as_vector(value: Any) -> Vector | None:
    """A row of finite floats, or None if it is something else. Integers are something else."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if array.dtype.kind != "f" or not array.size or not np.isfinite(array).all():
        return None
    return np.array(array, np.float64).reshape(-1)


@contextmanager
def ticking(total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each call; from the second second on, a bar shows the progress."""
    begin = time.perf_counter()
    done, bar = 0, None
    with ExitStack() as stack:

        def tick() -> None:
            nonlocal done, bar
            done += 1
            if quiet or (bar is None and time.perf_counter() - begin < PATIENCE):
                return
            if bar is None:
                try:
                    bar = stack.enter_context(
                        progress_bar(total, " calls", already=done, quiet=False)
                    )
                except InvalidArgument:  # the package for bars is optional
                    bar = False
            elif bar:
                bar.update()

        yield tick
