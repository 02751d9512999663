"""How an environment saves and restores its state, whatever its kind.

A *keeper* drives one environment: ``reset``, ``step``, ``save``, ``restore``. Randomness that an
environment draws from its ``np_random`` during a step comes from the planner's generator, which is
never saved: a restored generator would repeat the same "noise", and a planner would foresee it.
"""

from __future__ import annotations

import copy
import enum
import pickle
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.models.gymnasium.notes import Notes, as_told

Outcome = tuple[Any, float, bool]
"""Observation, reward, terminated. A time limit is no end: planners look past it."""

INERT = ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit")
"""Outer wrappers that change neither rewards nor ends; planning goes without them."""
CHECKERS = ("PassiveEnvChecker", "OrderEnforcing")
"""Wrappers that hold nothing to save."""
NOT_STATE = {
    "env", "spec", "metadata", "action_space", "observation_space", "_action_space",
    "_observation_space", "_metadata", "_np_random", "_np_random_seed", "np_random", "render_mode",
    "_cached_spec", "_saved_kwargs", "func", "_ezpickle_args", "_ezpickle_kwargs",
}  # fmt: skip
_RENDERING = {"window", "clock", "screen", "surf", "viewer"}  # unless they are plain numbers
_BY_REFERENCE = (type(None), bool, int, float, complex, str, bytes, enum.Enum, np.generic, type)


class Unknown(Exception):
    """Something of an environment is of a kind that the keeper does not know how to save."""


def duplicate(value: Any) -> Any:
    """A copy of plain data: numbers, texts, arrays, and containers of them."""
    if isinstance(value, _BY_REFERENCE):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.copy()
    if isinstance(value, list | set | deque | tuple) and not hasattr(value, "_fields"):
        copied = [duplicate(item) for item in value]
        return deque(copied, value.maxlen) if isinstance(value, deque) else type(value)(copied)
    if type(value) is dict:
        return {key: duplicate(item) for key, item in value.items()}
    raise Unknown(type(value).__name__)


def pickled(thing: Any) -> bytes:
    """As bytes, local functions included where cloudpickle is there."""
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    return bytes(pickler.dumps(thing))


def attributes_of(thing: Any, ignored: set[str]) -> dict[str, Any]:
    """The attributes of a thing that may be part of its state."""
    return {
        name: value
        for name, value in vars(thing).items()
        if name not in ignored
        and (name not in _RENDERING or isinstance(value, int | float | np.generic | np.ndarray))
    }


def put_attributes(thing: Any, saved: dict[str, Any], ignored: set[str]) -> None:
    """Make a thing's attributes what they were: those that came later go."""
    present = vars(thing)
    for name in attributes_of(thing, ignored):
        if name not in saved:
            del present[name]
    present.update(saved)


class Keeper:
    """Drives an environment; a kind of environment fills in ``save_core`` and ``restore_core``.

    The state of wrappers is saved with it. Outer wrappers that change nothing are left out. With
    ``notes``, what the environment told of a state is saved with it.
    """

    family = ""
    method = "native"
    replayed = 0
    """Steps taken again to get back to a state."""
    notes: Notes | None = None

    def __init__(self, env: Any) -> None:
        while type(env).__name__ in INERT and env is not env.unwrapped:
            env = env.env
        self.env = env
        self.core = env.unwrapped
        self.wrappers = []
        while env is not self.core:
            if type(env).__name__ == "Autoreset":
                raise InvalidArgument(
                    "the wrapper Autoreset starts new episodes behind a planner's back; pass the "
                    "environment without it"
                )
            if type(env).__name__ not in CHECKERS:
                self.wrappers.append(env)
            env = env.env
        self._own_generator = getattr(self.core, "_np_random", None)

    def reset(self, seed: int) -> None:
        """Start an episode."""
        told = self.start_over(seed)
        if self.notes is not None:
            self.notes.read(self.env, *as_told(told))

    def start_over(self, seed: int) -> Any:
        """Reset the environment, so that nothing is left of what was before."""
        return self.env.reset(seed=seed)

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        """Take a step, with the planner's randomness."""
        self.core.np_random = rng
        observation, reward, terminated, _, info = self.env.step(action)
        if self.notes is not None:
            self.notes.read(self.env, observation, info, ended=bool(terminated))
        return observation, reward, terminated

    @property
    def is_watched(self) -> bool:
        """Whether wrappers or notes look at observations."""
        return bool(self.wrappers) or self.notes is not None

    @property
    def legal(self) -> tuple[int, ...] | None:
        """The numbers of the actions that are legal now; None if that is not known."""
        return None if self.notes is None else self.notes.legal

    def info(self) -> dict[str, Any] | None:
        """What a reset or step would tell now, if the environment can be asked; else None."""
        return None

    def give_back(self) -> None:
        """Let the environment draw from its own generator again, not from a planner's."""
        if self._own_generator is not None:
            self.core.np_random = self._own_generator

    def observe(self, observation: Any) -> Any:
        """What a step returned, or what there is to see instead of it."""
        return observation

    def save(self) -> Any:
        """The state the environment is in; nothing done later changes what is returned."""
        snapshot = self.snapshot()
        return snapshot if self.notes is None else self.notes.on(snapshot)

    def snapshot(self) -> Any:
        """The same without notes."""
        if self.wrappers:
            return self.save_core(), [_wrapper_state(wrapper) for wrapper in self.wrappers]
        return self.save_core()

    def key(self, snapshot: Any) -> Any:  # noqa: ARG002
        """What tells a saved state from others, for planners that share states; None if nothing."""
        return None

    def features(self, snapshot: Any) -> Any:
        """What there is to see in a saved state, for planners that look for new things; or None."""
        core = snapshot[0] if self.wrappers else snapshot
        return self.core_features(core)

    def core_features(self, core: Any) -> Any:
        """The same for the saved state of the bare environment: its key, or its entries."""
        key = self.key(core)
        if key is not None:
            return key if isinstance(key, tuple) else (key,)
        return core if isinstance(core, np.ndarray | tuple | list) else None

    @property
    def passed(self) -> Any:
        """The environment that was passed: the one that is planned with, or its original."""
        return self.env

    def current(self) -> Any:
        """A snapshot of the environment that was passed."""
        return self.snapshot()

    def restore(self, state: Any) -> None:
        """Put the environment into a saved state, and leave what was saved as it is."""
        self.put(state if self.notes is None else self.notes.put(state))

    def put(self, snapshot: Any) -> None:
        """The same from a snapshot."""
        if self.wrappers:
            snapshot, kept = snapshot
            for wrapper, attributes in zip(self.wrappers, kept, strict=True):
                wrapper.__dict__.update(copy.deepcopy(attributes))
        self.restore_core(snapshot)

    def save_core(self) -> Any:
        """The state of the bare environment."""
        raise NotImplementedError

    def restore_core(self, snapshot: Any) -> None:
        """Put the bare environment into a state."""
        raise NotImplementedError

    def can_render(self) -> bool:
        """Whether it renders as it is."""
        return getattr(self.core, "render_mode", None) == "rgb_array"

    def render(self) -> Any:
        """A picture of the state the environment is in."""
        return self.env.render()

    def follow(self) -> None:
        """Render with a camera that moves with what walks; called after a reset."""

    def direct(self, given: Callable[[Any], Any]) -> Callable[..., Any] | None:
        """Restore, step and save in one function, if that is faster; only without wrappers.

        ``given`` makes an action of the model what the environment takes.
        """
        del given
        return None


def _wrapper_state(wrapper: Any) -> dict[str, Any]:
    attributes = attributes_of(wrapper, NOT_STATE)
    try:
        return {name: duplicate(value) for name, value in attributes.items()}
    except Unknown:
        # Spaces and functions do not change; the rest may be any object.
        memo = {id(value): value for value in attributes.values() if callable(value)}
        memo.update({id(value): value for k, value in attributes.items() if k.endswith("space")})
        return copy.deepcopy(attributes, memo)


class DeepCopyKeeper(Keeper):
    """The state is a deep copy of the environment with its wrappers, which is left alone."""

    family = "any"
    method = "deepcopy"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._original = self.env
        self.env = self._copied(self.env)
        self.core = self.env.unwrapped

    @property
    def passed(self) -> Any:
        return self._original

    def current(self) -> Any:
        return self._copied(self._original)

    def _copied(self, env: Any) -> Any:
        core = env.unwrapped
        # What does not change is shared, and the generator is the planner's.
        names = ("_np_random", "action_space", "observation_space", "spec")
        shared = [getattr(core, name, None) for name in names]
        return copy.deepcopy(env, {id(value): value for value in shared if value is not None})

    def snapshot(self) -> Any:
        return self._copied(self.env)

    def put(self, snapshot: Any) -> None:
        self.env = self._copied(snapshot)
        self.core = self.env.unwrapped


class Since(tuple[int, tuple[tuple[Any, int], ...]]):
    """The seed of a reset, and the steps since: actions, with the seeds of their randomness."""

    __slots__ = ()

    def __repr__(self) -> str:
        count = len(self[1])
        return f"{count} step{'' if count == 1 else 's'} after the reset"


class ReplayKeeper(Keeper):
    """The state is what was done since the reset; to restore it, it is done again."""

    family = "any"
    method = "replay"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.seed = 0
        self.history: tuple[tuple[Any, int], ...] = ()

    def reset(self, seed: int) -> None:
        self.seed = seed
        self.history = ()
        super().reset(seed)

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        # A generator of its own for each step, so that the step can be taken again.
        own = int(rng.integers(2**63))
        self.history += ((action, own),)
        return super().step(action, np.random.default_rng(own))

    def snapshot(self) -> Any:
        return Since((self.seed, self.history))

    def put(self, snapshot: Any) -> None:
        notes, self.notes = self.notes, None  # nothing needs to be read on the way
        try:
            self._replay(snapshot)
        finally:
            self.notes = notes

    def _replay(self, snapshot: Any) -> None:
        seed, history = snapshot
        known = len(self.history)
        ahead = seed == self.seed and all(
            one is other for one, other in zip(self.history, history[:known], strict=False)
        )
        if not ahead or known > len(history) or not known:
            known = 0
            self.start_over(seed)
        self.seed, self.history = snapshot
        for action, own in history[known:]:
            super().step(action, np.random.default_rng(own))
        self.replayed += len(history) - known


class FunctionKeeper(Keeper):
    """Saves and restores with two functions of the user's."""

    def __init__(self, env: Any, family: str, save: Any, restore: Any) -> None:
        super().__init__(env)
        self.family = family
        self._save, self._restore = save, restore

    def save_core(self) -> Any:
        return self._save(self.core)

    def restore_core(self, snapshot: Any) -> None:
        self._restore(self.core, snapshot)
