"""Notice broken models while planning: steps that change their state, and random dynamics.

A look costs as much as a cheap step or two, so a simulator looks a few times at the start of a
plan, and again each time that the number of calls has doubled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from platypoos.checks import same
from platypoos.models.failures import step_changed_state, unlike_before

COMPARED = 8
"""Repeated calls of a plan whose results are compared at the start…"""
GLANCE = 2
"""…and each time that the number of calls has doubled."""
DEEPEST = 6
"""Objects within objects that are looked into."""
GUARDED, SMALL = 2, 64
"""Calls whose state is compared before and after: the first of a plan, and of a request of at most
so many calls each time that the number of calls has grown to four times that of the last look."""
_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, np.generic)


class Watch:
    """Watches the calls of one plan."""

    def __init__(self, model: Any, state: Any) -> None:
        own = getattr(model, "key", None)
        self._key: Callable[[Any], Hashable] | None = own if callable(own) else None
        # Snapshots of an environment may hold things that it goes on using: the doctor checks them.
        plain = not getattr(model, "saves_states", False)
        self._plain = plain
        self._comparable = plain and _is_data(state, own_equality=True)
        self._mutable = plain and not _is_immutable(state) and _is_data(state)
        self.looks_at_states = self._mutable
        """Whether states can be changed at all."""
        self._left, self._next_glance = COMPARED, 128
        self._next_look, self._next_guard = 1, 0
        self._samples: list[tuple[Any, bytes]] = []
        """States and their digests, to see later whether they are still the same."""
        if self._mutable:
            self._remember(state)

    def compares(self, calls: int) -> bool:
        """Whether to compare the next repeated calls; ``calls`` were made."""
        if calls >= self._next_glance:
            self._next_glance = 2 * calls
            self._left = GLANCE
        return self._left > 0

    def guard(self, step: Callable[..., Any], calls: int, request: int) -> Callable[..., Any]:
        """The step, or now and then one that sees whether it changes the states it is given."""
        if not self._mutable or calls < self._next_guard or (calls > 0 and request > SMALL):
            return step
        self._next_guard = 4 * calls + 1
        left = GUARDED

        def watched(state: Any, action: int, rng: np.random.Generator) -> Any:
            nonlocal left
            if left <= 0:
                return step(state, action, rng)
            left -= 1
            before = digest(state)
            result = step(state, action, rng)
            if before is not None and _has_changed(before, state):
                raise step_changed_state(_restored(before, state), state, action)
            return result

        return watched

    def look_back(self, calls: int, action: int | None = None) -> None:
        """Raise an error if the plan's first state is no longer what it was.

        It is looked at when the number of calls has grown to four times that of the last look.
        ``action`` is the one that must have changed it, if there was only one.
        """
        if calls < self._next_look:
            return
        self._next_look = 4 * calls
        for state, before in self._samples:
            if _has_changed(before, state):
                raise step_changed_state(_restored(before, state), state, action)

    def compare(self, state: Any, action: int, expected: Any, got: Any) -> bool:
        """Raise an error if a step leads elsewhere than before; else, whether to compare again."""
        if self.differ(expected, got):
            raise unlike_before(state, action, expected, got)
        self._left -= 1
        return self._left > 0

    def differ(self, one: Any, other: Any) -> bool:
        """Whether two states are different, as far as one can tell."""
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            if one.tobytes() == other.tobytes():
                return False
        elif not self._mutable and _is_immutable(one) and one == other:
            return False
        if self._key is not None:
            try:
                name, another = self._key(one), self._key(other)
                if name is None or another is None or name == another:
                    return False
            except Exception:  # noqa: BLE001  who needs the key will say what is wrong with it
                return False
        if self._comparable:
            try:
                return not same(one, other)
            except Exception:  # noqa: BLE001  states that cannot be compared: nobody can tell
                return False
        return self._key is not None  # without a key, nobody can tell

    def is_elsewhere(self, expected: Any, told: Any) -> bool:
        """Whether the system is in another state than expected.

        Here objects are looked into that do not say themselves when they are equal: it does little
        harm if what differs is only a cache.
        """
        if self._key is not None or self._comparable or not self._plain:
            return self.differ(expected, told)
        try:
            return not same(expected, told)
        except Exception:  # noqa: BLE001  nobody can tell
            return False

    def _remember(self, state: Any) -> None:
        before = digest(state)
        if before is not None:
            self._samples.append((state, before))


def digest(state: Any) -> bytes | None:
    """A state as bytes; None if it has no such form."""
    if isinstance(state, np.ndarray) and not state.dtype.hasobject:
        return state.tobytes()
    try:
        return pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001  whatever it is, it cannot be pickled
        return None


def _restored(before: bytes, state: Any) -> Any:
    """The state that bytes were made of; it is of the kind of ``state``."""
    if isinstance(state, np.ndarray) and not state.dtype.hasobject:
        return np.frombuffer(before, state.dtype).reshape(state.shape)
    return pickle.loads(before)  # noqa: S301  our own bytes


def _has_changed(before: bytes, state: Any) -> bool:
    now = digest(state)
    if now == before or now is None:
        return False
    # The same contents may be written in different ways.
    try:
        return not _still(_restored(before, state), state)
    except Exception:  # noqa: BLE001  it cannot be read back or compared: nobody can tell
        return False


def _still(before: Any, now: Any) -> bool:
    """Whether all that was there is as it was; a state may have added a cache to itself."""
    kind = type(before)
    has_own_equality = any("__eq__" in vars(c) for c in kind.__mro__[:-1])
    if not has_own_equality and hasattr(before, "__dict__"):
        after = getattr(now, "__dict__", {})
        return all(k in after and _still(v, after[k]) for k, v in vars(before).items())
    return same(before, now)


def _is_immutable(state: Any, depth: int = 0) -> bool:
    if depth > DEEPEST:
        return False
    if isinstance(state, tuple | frozenset):
        return all(_is_immutable(item, depth + 1) for item in state)
    return isinstance(state, _IMMUTABLE)


def _is_data(value: Any, depth: int = 0, *, own_equality: bool = False) -> bool:
    """Whether a state is made of numbers, texts and arrays, in containers and plain objects.

    What else there is in it may change for reasons of its own: a generator, a window, a simulator.
    With ``own_equality``, objects must say themselves when they are equal.
    """
    if depth > DEEPEST:
        return False
    if isinstance(value, _IMMUTABLE):
        return True
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    items: Any
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        items = value
    elif own_equality and not any("__eq__" in vars(c) for c in type(value).__mro__[:-1]):
        return False
    elif hasattr(value, "__dict__"):
        items = vars(value).values()
    else:
        return False
    return all(_is_data(item, depth + 1, own_equality=own_equality) for item in items)
