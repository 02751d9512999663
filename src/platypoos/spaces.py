"""The actions of a model: a list of them, or a box of numbers to choose from."""

from __future__ import annotations

import enum
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument

MOST_ENUMERATED = 10_000
"""A ``MultiDiscrete`` of at most so many actions is a finite list of them."""
_LONGEST = 200  # characters of a space or an action in a message
_MOST_NUMBERS = 8  # of an array in a name that is rounded
_ALL_DIGITS = 17


class Space(ABC):
    """What the actions of a model are. An action, or payload, is what ``step`` gets.

    Finite spaces list their actions: ``n`` is their number, ``payloads`` are the actions, and
    ``index`` is the place of an action in that list.
    """

    @property
    @abstractmethod
    def is_finite(self) -> bool:
        """Whether all actions can be listed."""

    @property
    def n(self) -> int:
        """The number of actions; an error if they cannot be listed."""
        return len(self.payloads)

    @property
    @abstractmethod
    def payloads(self) -> tuple[Any, ...]:
        """All actions in their order; an error if they cannot be listed."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Any:
        """A random action, each one as likely as the others."""

    @abstractmethod
    def vary(self, action: Any, rng: np.random.Generator) -> Any:
        """A random action in place of this one."""

    @abstractmethod
    def check(self, action: Any) -> None:
        """Raise an error if this is not an action of the space."""

    @abstractmethod
    def index(self, action: Any) -> int:
        """The place of an action in ``payloads``; an error if it is not one of them."""

    def name(self, action: Any) -> str:
        """A short text for an action."""
        return name_of(action)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all actions of a finite space."""
        return tuple(self.name(action) for action in self.payloads)

    @property
    def is_numbered(self) -> bool:
        """Whether the actions are the numbers 0, 1, …, n − 1."""
        return False

    def __contains__(self, action: Any) -> bool:
        try:
            self.check(action)
        except InvalidArgument:
            return False
        return True

    def _not_listed(self) -> InvalidArgument:
        return InvalidArgument(f"the actions of {self} cannot be listed: pass a list of actions")

    def _not_here(self, action: Any, why: str = "") -> InvalidArgument:
        return InvalidArgument(f"{_short(action)} is not an action of {self}{why}")


class Discrete(Space):
    """A finite list of actions.

    Args:
        actions: the number of actions n, which are then 0, 1, …, n − 1; or a list of the actions,
            which may be any objects.

    An action is found by equality, arrays by their contents. 1 and 1.0 are the same action. True
    is 1 only if True itself is not in the list.

    >>> Discrete(3).payloads
    (0, 1, 2)
    >>> moves = Discrete(["left", "right"])
    >>> moves.n, moves.index("right"), moves.name("right")
    (2, 1, 'right')
    """

    def __init__(self, actions: Any) -> None:
        self._is_numbered = _is_whole(actions)
        listed: Any = (
            range(_checked_number(actions)) if self._is_numbered else tuple(_listed(actions))
        )
        # A range of numbers is as long as a list of them, and takes no room.
        self._payloads: Sequence[Any] = listed
        self._places: dict[Any, int] = {}
        self._loose: list[int] = []  # places of actions that have no hash
        if self._is_numbered:
            return
        self._is_numbered = all(
            _is_whole(action) and action == place for place, action in enumerate(self._payloads)
        )
        for place, action in enumerate(self._payloads):
            if self._find(action, exact=True) is not None:
                raise InvalidArgument(
                    f"the list of actions has {_short(action)} twice; pass each action once"
                )
            key = _key(action)
            if key is None:
                self._loose.append(place)
            else:
                self._places[key] = place

    @property
    def is_finite(self) -> bool:
        """Always: the actions are a list."""
        return True

    @property
    def n(self) -> int:
        """The number of actions."""
        return len(self._payloads)

    @cached_property
    def payloads(self) -> tuple[Any, ...]:
        """The actions, in the order they were given in."""
        return tuple(self._payloads)

    @property
    def is_numbered(self) -> bool:
        """Whether the actions are the numbers 0, 1, …, n − 1."""
        return self._is_numbered

    def draw(self, rng: np.random.Generator) -> Any:
        """A random action."""
        return self._payloads[int(rng.integers(len(self._payloads)))]

    def vary(self, action: Any, rng: np.random.Generator) -> Any:
        """A random action other than this one, if there is another.

        >>> Discrete(2).vary(0, np.random.default_rng(0))
        1
        """
        here = self.index(action)
        if len(self._payloads) == 1:
            return self._payloads[0]
        other = int(rng.integers(len(self._payloads) - 1))
        return self._payloads[other + (other >= here)]

    def __contains__(self, action: Any) -> bool:
        return self.find(action) is not None

    def check(self, action: Any) -> None:
        """Raise an error if this is not one of the actions."""
        self.index(action)

    def index(self, action: Any) -> int:
        """The place of an action in the list."""
        place = self.find(action)
        if place is None:
            raise self._not_here(action)
        return place

    def find(self, action: Any) -> int | None:
        """The place of an action in the list; None if it is not there."""
        if self._is_numbered:
            return _as_place(action, len(self._payloads))
        place = self._find(action, exact=True)
        return self._find(action, exact=False) if place is None else place

    def _find(self, action: Any, *, exact: bool) -> int | None:
        """Find an action; if ``exact``, True is not 1."""
        key = _key(action, other=not exact)
        if key is not None and key in self._places:
            return self._places[key]
        for place, known in enumerate(self._payloads[: max(self._loose, default=-1) + 1]):
            if (not exact or _is_flag(known) == _is_flag(action)) and _equal(known, action):
                return place
        if not exact and isinstance(action, list | tuple | np.ndarray):
            # The same numbers in another container: a list for an array, an array for a tuple.
            for place, known in enumerate(self._payloads):
                if isinstance(known, list | tuple | np.ndarray) and _equal(
                    np.asarray(known, object), np.asarray(action, object)
                ):
                    return place
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Discrete) or len(self._payloads) != len(other._payloads):
            return NotImplemented if not isinstance(other, Discrete) else False
        return all(
            _is_flag(a) == _is_flag(b) and _equal(a, b)
            for a, b in zip(self._payloads, other._payloads, strict=True)
        )

    def __hash__(self) -> int:
        return hash((Discrete, len(self._payloads)))

    def __repr__(self) -> str:
        if self._is_numbered:
            return f"Discrete({len(self._payloads)})"
        return f"Discrete({_short(list(self._payloads))})"


class Tried(Discrete):
    """Actions of a space that cannot be listed: those that a plan is about.

    Args:
        space: where they are from.
        actions: the actions.
        firsts: how many of them, the first ones, can be taken now; the others come later.
    """

    def __init__(self, space: Space, actions: Sequence[Any], firsts: int) -> None:
        # They need not be told apart: two points may be the same array of a coarser type.
        self._is_numbered = False
        self._payloads = tuple(actions)
        self.of, self.firsts = space, firsts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """With three digits, and more for first actions that would look the same."""
        names = [rounded_name(action, 3) for action in self._payloads]
        for digits in (4, 6, _ALL_DIGITS):
            firsts = names[: self.firsts]
            for place, name in enumerate(firsts):
                if firsts.count(name) > 1:
                    names[place] = rounded_name(self._payloads[place], digits)
        return tuple(names)

    def name(self, action: Any) -> str:
        """An action, rounded."""
        place = self.find(action)
        return rounded_name(action, 3) if place is None else self.names[place]

    def find(self, action: Any) -> int | None:
        """The place of an action in the list; None if it is not there."""
        return self._by_point.get(_point(action))

    @cached_property
    def _by_point(self) -> dict[Any, int]:
        known: dict[Any, int] = {}
        for place, action in enumerate(self._payloads):
            known.setdefault(_point(action), place)
        return known

    def __repr__(self) -> str:
        return f"{self.of}"


class Box(Space):
    """Numbers between two bounds, or arrays of them.

    Args:
        low: the lower bounds: a number or an array, finite.
        high: the upper bounds, above the lower ones.

    Two numbers make a space of numbers. If one of the bounds is an array, actions are arrays of
    its shape.

    >>> thrusts = Box([0.0, 0.0], [1.0, 2.0])
    >>> thrusts.draw(np.random.default_rng(0)).round(2).tolist()
    [0.64, 0.54]
    >>> Box(-1, 1).check(0.5)
    >>> Box(-1, 1).check(2.0)
    Traceback (most recent call last):
    platypoos.errors.InvalidArgument: 2.0 is not an action of Box(-1, 1): it is out of bounds
    """

    def __init__(self, low: Any, high: Any) -> None:
        lower, upper = _bound("low", low), _bound("high", high)
        kind = np.result_type(lower, upper)
        try:
            lower, upper = (
                np.array(bound, kind if kind.kind == "f" else np.float64)
                for bound in np.broadcast_arrays(lower, upper)
            )
        except ValueError:
            raise InvalidArgument(
                f"low and high must have the same shape, got {lower.shape} and {upper.shape}"
            ) from None
        if not lower.size:
            raise InvalidArgument(f"a box needs at least one coordinate, got low={_short(low)}")
        if not (lower < upper).all():
            place = np.flatnonzero(~(lower < upper).ravel())[0]
            raise InvalidArgument(
                f"low must be below high, got {lower.ravel()[place]:g} and "
                f"{upper.ravel()[place]:g}" + (f" at coordinate {place}" if lower.ndim else "")
            )
        with np.errstate(over="ignore"):
            if not np.isfinite(upper - lower).all():
                raise InvalidArgument(f"the box from {_short(low)} to {_short(high)} is too wide")
        lower.flags.writeable = upper.flags.writeable = False
        self.low: NDArray[Any] = lower
        self.high: NDArray[Any] = upper

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an action; () for numbers."""
        return self.low.shape

    @property
    def is_finite(self) -> bool:
        """Never: the actions cannot be listed."""
        return False

    @property
    def payloads(self) -> tuple[Any, ...]:
        """An error: the actions cannot be listed."""
        raise self._not_listed()

    def draw(self, rng: np.random.Generator) -> Any:
        """A random action."""
        return self._at(self.low + rng.random(self.shape) * (self.high - self.low))

    def vary(self, action: Any, rng: np.random.Generator) -> Any:
        """A random action, drawn in a box twice as wide and clipped: often at the bounds."""
        self.check(action)
        return self._at(self.low + (2.0 * rng.random(self.shape) - 0.5) * (self.high - self.low))

    def _at(self, point: Any) -> Any:
        point = np.clip(point, self.low, self.high).astype(self.low.dtype)
        return point if self.shape else float(point)

    def check(self, action: Any) -> None:
        """Raise an error if an action has another shape, or is out of bounds."""
        try:
            point = np.asarray(action)
        except ValueError:
            point = np.empty(0, object)
        if point.dtype.kind not in "biuf":
            raise self._not_here(action, ": it is not made of numbers")
        if point.shape != self.shape:
            raise self._not_here(action, f": its shape is {point.shape}, not {self.shape}")
        if not ((point >= self.low) & (point <= self.high)).all():
            raise self._not_here(action, ": it is out of bounds")

    def index(self, action: Any) -> int:  # noqa: ARG002  it has none
        """An error: the actions cannot be listed."""
        raise self._not_listed()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box):
            return NotImplemented
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def __hash__(self) -> int:
        return hash((Box, self.shape))

    def __repr__(self) -> str:
        return f"Box({name_of(self.low)}, {name_of(self.high)})"


class MultiDiscrete(Space):
    """Arrays of whole numbers: entry i is one of 0, 1, …, sizes[i] − 1.

    Args:
        sizes: how many values each entry has.

    It is finite if there are at most 10,000 actions.

    >>> pairs = MultiDiscrete([2, 3])
    >>> pairs.n, pairs.index([1, 0]), pairs.payloads[3].tolist()
    (6, 3, [1, 0])
    """

    def __init__(self, sizes: Any) -> None:
        try:
            given = np.asarray(sizes)
        except ValueError:
            given = np.empty(0)
        if given.dtype.kind not in "iu" or not given.ndim or not given.size or (given < 1).any():
            raise InvalidArgument(
                f"sizes must be a list of whole numbers of at least 1, got {_short(sizes)}"
            )
        self.sizes: NDArray[np.int64] = given.astype(np.int64)
        self.sizes.flags.writeable = False
        self._number = math.prod(self.sizes.ravel().tolist())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an action."""
        return self.sizes.shape

    @property
    def is_finite(self) -> bool:
        """Whether there are at most 10,000 actions."""
        return self._number <= MOST_ENUMERATED

    @property
    def n(self) -> int:
        """The number of actions; an error if they are too many to be listed."""
        if not self.is_finite:
            raise self._not_listed()
        return self._number

    @cached_property
    def payloads(self) -> tuple[Any, ...]:
        """All actions: the last entry changes first."""
        if not self.is_finite:
            raise self._not_listed()
        ranges = [range(size) for size in self.sizes.ravel().tolist()]
        points = itertools.product(*ranges)
        return tuple(np.array(point, np.int64).reshape(self.shape) for point in points)

    def draw(self, rng: np.random.Generator) -> Any:
        """A random action."""
        return rng.integers(self.sizes)

    def vary(self, action: Any, rng: np.random.Generator) -> Any:
        """The action with one entry drawn again, which is then another one if there is another."""
        self.check(action)
        varied = np.array(action, np.int64)
        entries, sizes = varied.reshape(-1), self.sizes.ravel()
        free = np.flatnonzero(sizes > 1)
        if len(free):
            place = int(free[rng.integers(len(free))])
            other = int(rng.integers(sizes[place] - 1))
            entries[place] = other + (other >= entries[place])
        return varied

    def check(self, action: Any) -> None:
        """Raise an error if an action has another shape, or an entry that is too large."""
        try:
            point = np.asarray(action)
        except ValueError:
            point = np.empty(0, object)
        whole = point.dtype.kind in "biu" or (
            point.dtype.kind == "f" and bool((point == np.floor(point)).all())
        )
        if not whole:
            raise self._not_here(action, ": it is not made of whole numbers")
        if point.shape != self.shape:
            raise self._not_here(action, f": its shape is {point.shape}, not {self.shape}")
        if not ((point >= 0) & (point < self.sizes)).all():
            raise self._not_here(action, ": it is out of bounds")

    def index(self, action: Any) -> int:
        """The place of an action in ``payloads``."""
        if not self.is_finite:
            raise self._not_listed()
        self.check(action)
        entries = np.asarray(action).astype(np.int64).ravel()
        return int(np.ravel_multi_index(tuple(entries.tolist()), tuple(self.sizes.ravel())))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MultiDiscrete):
            return NotImplemented
        return np.array_equal(self.sizes, other.sizes)

    def __hash__(self) -> int:
        return hash((MultiDiscrete, tuple(self.sizes.ravel().tolist())))

    def __repr__(self) -> str:
        return f"MultiDiscrete({self.sizes.tolist()})"


def as_space(actions: Any) -> Space:
    """The space that ``actions=`` stands for.

    Args:
        actions: the number of actions, a list of actions, one of the spaces here, or a space of
            Gymnasium (``Discrete``, ``Box``, ``MultiDiscrete``, ``MultiBinary``).

    >>> as_space(2), as_space(("left", "right")), as_space(range(1, 3))
    (Discrete(2), Discrete(['left', 'right']), Discrete([1, 2]))
    """
    if isinstance(actions, Space):
        return actions
    if _is_whole(actions):
        return Discrete(actions)
    if not isinstance(actions, type | np.ndarray | np.generic):
        found = _from_gymnasium(actions)
        if found is not None:
            return found
        if hasattr(actions, "sample") and hasattr(actions, "contains"):
            raise InvalidArgument(
                "actions must be the number of actions, a list of actions or a space of numbers; "
                f"{_short(actions)} is a space of another kind: pass a list of its actions"
            )
    return Discrete(actions)


def name_of(action: Any) -> str:
    """A short text for an action.

    >>> name_of("left"), name_of(2), name_of(np.array([0.5, 1.0])), name_of((0, None))
    ('left', '2', '[0.5, 1]', '(0, None)')
    """
    if isinstance(action, str):
        return action
    if isinstance(action, enum.Enum):
        return action.name
    if isinstance(action, np.generic | np.ndarray) and action.dtype.kind in "biuf":
        if action.ndim:
            return _cut("[" + ", ".join(name_of(entry) for entry in np.asarray(action)) + "]")
        return str(action.item()) if action.dtype.kind in "biu" else f"{float(action):g}"
    return _short(action)


def rounded_name(action: Any, digits: int) -> str:
    """A short text for a number, or an array of numbers; without brackets if there is but one.

    >>> rounded_name(np.array([0.12345, -1.0]), 3), rounded_name([2.0], 3)
    ('[0.123, -1]', '2')
    >>> rounded_name([0] * 20, 3)
    '[0, 0, 0, 0, 0, 0, 0, 0, … 20 numbers]'
    """
    entries = np.ravel(np.asarray(action, np.float64)).tolist()
    shown = [f"{entry + 0.0:.{digits}g}" for entry in entries[:_MOST_NUMBERS]]
    if len(entries) > _MOST_NUMBERS:
        shown.append(f"… {len(entries)} numbers")
    return shown[0] if len(entries) == 1 else f"[{', '.join(shown)}]"


def _point(action: Any) -> Any:
    """What equal arrays of numbers have in common; None if it is no array of numbers."""
    try:
        array = np.asarray(action, np.float64)
    except (TypeError, ValueError):
        return None
    return (array.shape, *array.ravel().tolist())


def _from_gymnasium(space: Any) -> Space | None:
    """A space with the attributes of Gymnasium's; None if it has others."""
    if hasattr(space, "nvec"):
        start = np.asarray(getattr(space, "start", 0))
        made = MultiDiscrete(space.nvec)
        if not start.any():
            return made
        if not made.is_finite:
            raise InvalidArgument(
                f"{_short(space)} does not start at 0, and its {made._number:,} actions are too "  # noqa: SLF001
                "many to be listed; pass a list of actions"
            )
        return Discrete([action + start for action in made.payloads])
    if hasattr(space, "low") and hasattr(space, "high"):
        if np.asarray(space.low).dtype.kind != "f":
            raise InvalidArgument(
                f"{_short(space)} is a box of whole numbers; pass MultiDiscrete(sizes), or a list "
                "of actions"
            )
        return Box(space.low, space.high)
    number: Any = getattr(space, "n", None)
    if _is_whole(number):
        if not hasattr(space, "start") and getattr(space, "shape", None):
            return MultiDiscrete([2] * int(number))  # a MultiBinary
        first = int(getattr(space, "start", 0))
        return Discrete(int(number) if first == 0 else range(first, first + int(number)))
    return None


def _listed(actions: Any) -> list[Any]:
    """The actions of a list, a tuple, a range, an array or an enumeration."""
    listed: list[Any]
    if isinstance(actions, np.ndarray) and actions.ndim == 1 and not actions.dtype.hasobject:
        listed = actions.tolist()
    elif isinstance(actions, str | bytes | dict | set | frozenset) or not _iterates(actions):
        hint = ""
        if callable(actions) and not isinstance(actions, type):
            hint = (
                "; if some are not allowed in some states, pass legal=, which names those that are"
            )
        raise InvalidArgument(
            "actions must be the number of actions, a list of actions, or a space such as "
            f"pp.Box(low, high), got {_short(actions)}{hint}"
        )
    else:
        listed = list(actions)
    if not listed:
        raise InvalidArgument("actions must have at least one action, got an empty list")
    return listed


def _iterates(actions: Any) -> bool:
    if isinstance(actions, type):
        return issubclass(actions, enum.Enum)
    if isinstance(actions, np.ndarray):
        return actions.ndim > 0
    return isinstance(actions, Iterable)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _checked_number(number: Any) -> int:
    if number < 1:
        raise InvalidArgument(f"actions must be at least 1, got {number}")
    return int(number)


def _as_place(action: Any, number: int) -> int | None:
    """The place of an action among 0, 1, …, number − 1; None if it is none of them."""
    if isinstance(action, np.ndarray) and action.ndim == 0:
        action = action.item()
    if isinstance(action, int | float | np.integer | np.floating | np.bool_):
        return int(action) if 0 <= action < number and action == int(action) else None
    return None


def _key(action: Any, *, other: bool = False) -> Any:
    """What equal actions have in common and can be hashed; None if there is no such thing.

    True and 1 have different keys; with ``other``, each has that of the other.
    """
    if isinstance(action, np.ndarray):
        if action.ndim == 0:
            action = action.item()
        elif action.dtype.hasobject:
            return None
        else:
            return ("array", action.shape, tuple(action.ravel().tolist()))
    try:
        hash(action)
    except Exception:  # noqa: BLE001  mostly a TypeError; whatever it is, there is no hash
        return None
    return ("flag" if _is_flag(action) != other else "value", action)


def _equal(one: Any, other: Any) -> bool:
    """Whether two actions are equal; arrays by their contents."""
    if one is other:
        return True
    try:
        if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
            first, second = np.asarray(one), np.asarray(other)
            return first.shape == second.shape and bool(np.all(first == second))
        return bool(one == other)
    except Exception:  # noqa: BLE001  actions that cannot be compared are different
        return False


def _bound(name: str, value: Any) -> NDArray[Any]:
    try:
        bound = np.asarray(value)
    except ValueError:
        bound = np.empty(0, object)
    if bound.dtype.kind not in "iuf" or not np.isfinite(bound).all():
        raise InvalidArgument(f"{name} must be finite numbers, got {_short(value)}")
    return bound


def _short(value: Any) -> str:
    try:
        return _cut(repr(value))
    except Exception:  # noqa: BLE001  whatever it is, the message is about something else
        return f"<{type(value).__name__} that has no text>"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
