"""Novelty: which features a state shows, and the smallest depth at which each was seen.

A state is a list of features with values. An *atom* is a feature with one of its values, as a
number. A state is novel if it shows an atom (width 1) or a pair of atoms (width 2) that was not
seen at its depth or above it before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.compiled.code import borrowed, fast, inlined, jit
from platypoos.errors import InvalidArgument
from platypoos.models.advice import UNASKED
from platypoos.models.base import Access, said_of_one
from platypoos.models.features import ask_features, entries, not_hashable
from platypoos.search.base import Planner
from platypoos.search.growth import NOBODY, Growth, options
from platypoos.trees.tickets import ticket
from platypoos.trees.tree import ROOT, Tree, set_node

Atoms = NDArray[np.int64]

LARGEST_WIDTH = 2
MOST_PAIRED = 2_000
"""Most features of a state for which pairs are looked at: 2,000 features have two million pairs."""
EMPTY = -1
"""The key of a slot that is not used."""


def check_width(width: object) -> int:
    """1 or 2, or an error that names it."""
    if isinstance(width, bool) or width not in range(1, LARGEST_WIDTH + 1):
        raise InvalidArgument(
            f"width must be 1 (single features) or 2 (pairs of features), got {width!r}"
        )
    return int(width)  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True)
class NoveltyPlanner(Planner):
    """A planner that looks for states which show something new."""

    width: int = 1

    needs: ClassVar[str] = "features of states that tell what is new; that there is no noise"
    access: ClassVar[tuple[Access, ...]] = (Access.RESTORE,)
    uses: ClassVar[tuple[str, ...]] = ("features",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", check_width(self.width))


class FeatureReader:
    """Turns states into atoms: equal values of the same feature are the same atom."""

    def __init__(self, model: Any, width: int) -> None:
        self._said = said_of_one(model, "features")
        self._width = width
        self._number: dict[Any, int] = {}
        self._offsets = np.empty(0, np.int64)

    def read(self, state: Any) -> Atoms:
        """The atoms of a state, one for each feature."""
        features = state if self._said is None else ask_features(self._said, state)
        if isinstance(features, np.ndarray) and features.dtype == np.uint8:
            atoms = self._read_bytes(features.reshape(-1))
        else:
            number = self._number
            try:
                atoms = np.array(
                    [number.setdefault(atom, len(number)) for atom in enumerate(entries(features))],
                    np.int64,
                )
            except Exception as error:  # mostly a TypeError; whatever it is, there is no hash
                raise self._unhashable(features, state) from error
        if self._width > 1 and len(atoms) > MOST_PAIRED:
            raise InvalidArgument(
                f"width 2 looks at all pairs of features, at most {MOST_PAIRED:,} of them, but "
                f"states have {len(atoms):,}; use width=1, or a model with fewer features"
            )
        return atoms

    def _read_bytes(self, values: NDArray[np.uint8]) -> Atoms:
        """Bytes need no dictionary: there are 256 atoms a feature."""
        if len(self._offsets) != len(values):
            self._offsets = 256 * np.arange(len(values))
        return self._offsets + values

    def _unhashable(self, features: Any, state: Any) -> InvalidArgument:
        if self._said is not None:
            return not_hashable(features, state)
        return InvalidArgument(
            f"a state of type {type(state).__name__} has no features by itself; pass "
            "features=, a function of the state that returns a tuple or an array: "
            "FunctionModel(..., features=lambda state: ...)"
        )


def make_child(tree: Tree, growth: Growth, node: int, action: int) -> int:
    """Make the child of a node by an action; it is not evaluated yet."""
    child = tree.num_nodes
    tree.size[0] = child + 1
    set_node(tree, child, node, action, int(tree.depth[node]) + 1, 0)
    tree.reward[child] = tree.value[child] = 0.0
    if len(growth.legal):
        growth.legal[child, 0] = UNASKED
    return child


def legal_actions(growth: Growth, node: int) -> list[int]:
    """The actions at a node; the model must have been asked for them."""
    if not len(growth.legal):
        return list(range(growth.num_actions))
    return np.flatnonzero(growth.legal[node]).tolist()


class Slots(NamedTuple):
    """A hash table: pairs of atoms, and the smallest depth of each."""

    keys: NDArray[np.int64]  # [a power of 2] or EMPTY
    depths: NDArray[np.int64]  # [the same]
    used: NDArray[np.int64]  # [1]


class NoveltyTable:
    """The smallest depth at which each atom, or each pair of atoms, was seen."""

    def __init__(self, width: int) -> None:
        self._pairs = width > 1
        self._slots = _make_slots(1024)

    def record(self, atoms: Atoms, depth: int) -> bool:
        """Note the atoms of a state; whether one of them was seen at no smaller or equal depth."""
        count = len(atoms) * (len(atoms) + 1) // 2 if self._pairs else len(atoms)
        while 2 * (int(self._slots.used[0]) + count) > len(self._slots.keys):
            larger = _make_slots(2 * len(self._slots.keys))
            _move(self._slots, larger)
            self._slots = larger
        return bool(_record(self._slots, atoms, self._pairs, depth))

    def is_first(self, atoms: Atoms, depth: int) -> bool:
        """Whether an atom of a state that was met at a depth was seen at no smaller one."""
        return bool(_is_first(self._slots, atoms, self._pairs, depth))


def _make_slots(size: int) -> Slots:
    return Slots(np.full(size, EMPTY), np.empty(size, np.int64), np.zeros(1, np.int64))


@inlined
def _find_slot(keys: NDArray[np.int64], key: int) -> int:
    """The slot of a key, or the empty one where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot  # type: ignore[return-value]


@jit
def record_kernel(slots: Slots, atoms: Atoms, pairs: bool, depth: int) -> bool:
    """See ``NoveltyTable.record``. An atom by itself is its pair with itself."""
    keys, depths = slots.keys, slots.depths
    novel = False
    for i in range(len(atoms)):
        for j in range(i, len(atoms) if pairs else i + 1):
            key = (atoms[i] << 32) | atoms[j]
            slot = _find_slot(keys, key)
            if keys[slot] == EMPTY:
                keys[slot] = key
                slots.used[0] += 1
            elif depths[slot] <= depth:
                continue
            depths[slot] = depth
            novel = True
    return novel


@jit
def is_first_kernel(slots: Slots, atoms: Atoms, pairs: bool, depth: int) -> bool:
    """See ``NoveltyTable.is_first``."""
    for i in range(len(atoms)):
        for j in range(i, len(atoms) if pairs else i + 1):
            slot = _find_slot(slots.keys, (atoms[i] << 32) | atoms[j])
            if slots.keys[slot] == EMPTY or slots.depths[slot] >= depth:
                return True
    return False


@jit
def move_kernel(slots: Slots, larger: Slots) -> None:
    """Copy all entries into a larger table."""
    for source in range(len(slots.keys)):
        if slots.keys[source] != EMPTY:
            slot = _find_slot(larger.keys, slots.keys[source])
            larger.keys[slot] = slots.keys[source]
            larger.depths[slot] = slots.depths[source]
    larger.used[0] = slots.used[0]


_record, _is_first, _move = fast(record_kernel), fast(is_first_kernel), fast(move_kernel)


@jit
def back_up(tree: Tree, growth: Growth, gamma: float) -> int:
    """Give each node its value: its own reward and the best that may come after it.

    What was not tried counts as 0, so where everything that was tried costs something, the path
    is taken to end, unless all actions were tried. Of equal values the one with the longer paths
    below it is better, then chance decides. Returns the last node of the best path.
    """
    tree, growth = borrowed(tree), borrowed(growth)
    choice, height, tried = growth.first, growth.plays, growth.children
    size = tree.size[0]
    for node in range(size):
        choice[node], height[node], tried[node] = NOBODY, 0, 0
    for node in range(size - 1, ROOT, -1):
        if tree.pulls[node] == 0:
            continue
        rest = 0.0 if choice[node] == NOBODY else tree.value[choice[node]]
        if rest < 0.0 and tried[node] < options(growth, node):
            rest, choice[node] = 0.0, NOBODY
        tree.value[node] = tree.reward[node] + gamma * rest
        parent = tree.parent[node]
        tried[parent] += 1
        height[parent] = max(height[parent], 1 + height[node])
        rival = choice[parent]
        lead = 0.0 if rival == NOBODY else tree.value[node] - tree.value[rival]
        longer = height[node] - height[rival]
        if (
            rival == NOBODY
            or lead > 0
            or (lead == 0 and longer > 0)
            or (
                lead == 0 and longer == 0 and ticket(growth.seed, node) > ticket(growth.seed, rival)
            )
        ):
            choice[parent] = node
    end = int(choice[ROOT])
    while choice[end] != NOBODY:
        end = int(choice[end])
    return end
