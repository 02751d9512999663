"""Walks of a JAX model, many in one compiled call.

The walks of a batch are laid out on a few lanes. All lanes take a step together; where a walk is at
its end, its lane goes on with another one. So the compiled program depends on the number of lanes,
which is fixed, and on how many steps there is room for, a power of four: there are few programs.

The number of lanes is the same for all batches also because compilers may round differently for
other shapes: a step has the same result to the last bit, whatever else is in its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import local
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD
from platypoos.errors import InvalidArgument, MaskError, ModelError, TransitionError
from platypoos.spaces import MultiDiscrete

Bytes = NDArray[np.uint8]
Slots = NDArray[np.int64] | slice

FEW, MANY = 4, 16
"""Lanes for steps of a few operations, and for others."""
SMALL = 500.0
"""Operations of a program for few lanes, as JAX counts them before it compiles. On a processor, JAX
hands larger ones to another thread, which takes longer than a few such steps themselves."""
ROOM, ROOM_BYTES = 64, 1 << 16
"""A program has room for so many steps of each lane at least, or so many bytes of states."""

START, STRICT, BY_RULE, CHECK = 1, 2, 4, 8
"""Kinds of steps, to be added: the first one of a walk; the walk stops before the action if it is
not legal; the rule chooses the action; whether it is legal is checked."""
ENDED, BAD, STOPPED, STUCK, LOST = 1, 2, 4, 8, 16
"""What became of a step, to be added: the episode ended; the reward is no finite number; it was not
taken, as the action is not legal, as no action is, or as the rule chose no legal one."""

LEGAL = 1
"""Tells the random numbers that choose a legal action from those of the step."""


class Layout:
    """How a state, a pytree of arrays, is written as bytes."""

    def __init__(self, initial_state: Any) -> None:
        jax = import_jax()
        leaves, self.structure = jax.tree.flatten(initial_state)
        if not leaves:
            raise InvalidArgument("initial_state must be a pytree with at least one array")
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind not in "biuf":
                raise InvalidArgument(
                    f"initial_state must be a pytree of numbers and arrays, got {initial_state!r}"
                )
        self.examples = [np.asarray(jax.numpy.asarray(leaf)) for leaf in leaves]
        self.size = sum(example.nbytes for example in self.examples)
        whole = all(example.dtype.itemsize % 4 == 0 for example in self.examples)
        self.word = np.dtype(np.uint32 if whole else np.uint8)
        """What compiled programs move states in."""
        self.initial = self.pack(initial_state)

    def pack(self, state: Any) -> Bytes:
        """A state as bytes."""
        leaves, structure = import_jax().tree.flatten(state)
        if structure != self.structure:
            raise InvalidArgument(
                f"a state must be a pytree like the initial state, {self.structure}, "
                f"got {structure}"
            )
        parts = []
        for leaf, example in zip(leaves, self.examples, strict=True):
            array = np.asarray(leaf)
            if array.shape != example.shape:
                raise InvalidArgument(
                    f"an array of a state must have the shape {example.shape}, got {array.shape}"
                )
            parts.append(np.ascontiguousarray(array, example.dtype).reshape(-1).view(np.uint8))
        return np.concatenate(parts)

    def unpack(self, packed: Bytes) -> Any:
        """The state that some bytes stand for."""
        rows = [leaf[0] for leaf in self.leaves(np.asarray(packed)[None])]
        return import_jax().tree.unflatten(self.structure, rows)

    def leaves(self, rows: Bytes) -> list[NDArray[Any]]:
        """The arrays of some states, with a row for each."""
        found, start = [], 0
        for example in self.examples:
            raw = np.ascontiguousarray(rows[:, start : start + example.nbytes])
            found.append(raw.view(example.dtype).reshape(len(rows), *example.shape))
            start += example.nbytes
        return found

    def to_words(self, state: Any) -> Any:
        """As ``pack``, of traced arrays, into words."""
        jax = import_jax()
        leaves, structure = jax.tree.flatten(state)
        if structure != self.structure:
            raise TransitionError(
                f"step must return a state that is a pytree like the initial state, "
                f"{self.structure}, got {structure}"
            )
        parts = []
        for leaf, example in zip(leaves, self.examples, strict=True):
            if jax.numpy.shape(leaf) != example.shape:
                raise TransitionError(
                    f"step must return a state with the arrays of the initial state, got the "
                    f"shape {jax.numpy.shape(leaf)} in place of {example.shape}"
                )
            parts.append(as_words(jax.numpy.asarray(leaf, example.dtype), self.word))
        return jax.numpy.concatenate(parts)

    def from_words(self, packed: Any) -> Any:
        """As ``unpack``, of traced words."""
        jax = import_jax()
        found, start = [], 0
        for example in self.examples:
            end = start + example.nbytes // self.word.itemsize
            found.append(of_words(packed[start:end], example.dtype, example.shape))
            start = end
        return jax.tree.unflatten(self.structure, found)


class Played(NamedTuple):
    """What came of the steps of some walks, one walk after the other."""

    states: Bytes  # [steps, bytes]
    rewards: NDArray[np.float64]  # [steps]
    flags: NDArray[np.uint8]  # [steps] what became of each; later steps of the walk mean nothing
    taken: NDArray[Any] | None
    """The actions, if there were kinds: numbers of a list, or what the rule returned."""


class Form(NamedTuple):
    """How steps are written as bytes."""

    sent: np.dtype[Any]
    """What a program is told of a step: the first four only where a walk begins."""
    told: np.dtype[Any]
    """What it says of it; with the action, if there are legal ones or a rule."""


class Lanes:
    """The compiled programs of a model.

    Args:
        layout: of its states.
        functions: ``step``, ``legal`` and ``policy`` of one state; the last two may be None.
        table: the actions, if they can be listed and are not their own numbers.
        space: the actions.
        lanes: how many; if None, so many as suit the step.
    """

    def __init__(
        self,
        layout: Layout,
        functions: tuple[Callable[..., Any], Any, Any],
        table: NDArray[Any] | None,
        space: Any,
        lanes: int | None,
    ) -> None:
        self._layout, self._space, self._asked = layout, space, lanes
        self._step, self._legal, self._policy = functions
        self._table = table
        self._chooses = self._legal is not None or self._policy is not None
        self._local = local()

    # ------------------------------------------------------------------ one call

    def play(
        self,
        states: Bytes,
        lengths: NDArray[np.int64],
        actions: NDArray[Any],
        keys: NDArray[np.uint32],
        kinds: NDArray[np.uint8] | None = None,
    ) -> Played:
        """Play walks.

        Args:
            states: where each begins, [walks, bytes].
            lengths: the steps of each, [walks].
            actions: of all steps, one walk after the other, [steps, ...]; numbers of a list.
            keys: of each walk: its random numbers follow from them, [walks, 2].
            kinds: CHECK, STRICT, BY_RULE of each step, [steps].
        """
        lanes, total = self.lanes, len(actions)
        first, slots, rows = lay_out(lengths, lanes, total)
        room = self._room(rows)
        sent = self._buffer(room)  # lanes without a walk find an old state there, and go on from it
        sent["state"][first] = states
        sent["key"][first] = keys
        sent["action"][slots] = actions
        mark = sent["mark"]
        mark[: rows * lanes] = 0
        if kinds is not None:
            mark[slots] = kinds
        mark[first] += START
        word = self._layout.word
        raw = np.asarray(self._program(sent.view(word).reshape(room, lanes, -1), np.int32(rows)))
        found = raw.reshape(-1).view(self._form.told)[slots]
        if type(slots) is slice:
            found = found.copy()  # do not keep what was not asked for
        return Played(
            found["state"],
            found["reward"].astype(np.float64),
            found["flag"],
            None if kinds is None else found["action"],
        )

    def _buffer(self, room: int) -> NDArray[Any]:
        """What is sent to a program: the same memory each time, in a thread."""
        buffers = self._local.__dict__
        found: NDArray[Any] | None = buffers.get(str(room))
        if found is None:
            found = buffers[str(room)] = np.zeros(room * self.lanes, self._form.sent)
            found["state"] = self._layout.initial
            found["action"] = self._example_action
        return found

    def _room(self, rows: int) -> int:
        """For how many steps of each lane a program is taken."""
        room = ROOM
        while room > 1 and room * self.lanes * self._layout.size > ROOM_BYTES:
            room //= 4
        while room < rows:
            room *= 4
        return room

    # ------------------------------------------------------------------ programs

    @cached_property
    def _traced(self) -> tuple[Any, float]:
        """What a step returns beside the state, and how many operations it takes."""
        jax = import_jax()

        def step(packed: Any, action: Any, words: Any) -> Any:
            return self._take(packed, action, jax.random.wrap_key_data(words))[1:]

        example = self._layout.initial.view(self._layout.word)
        traced = jax.jit(step).trace(example, self._example_action, np.zeros(2, np.uint32))
        return traced.out_info, operations(traced.lower())

    @cached_property
    def lanes(self) -> int:
        """How many lanes there are."""
        if self._asked is not None:
            return self._asked
        if self._traced[1] > SMALL:
            return MANY
        word = self._layout.word
        sent = np.zeros((ROOM, FEW, self._form.sent.itemsize // word.itemsize), word)
        lowered = self._program.lower(sent, np.int32(1))
        return FEW if operations(lowered) <= SMALL else MANY

    @cached_property
    def _form(self) -> Form:
        state, kind = ("state", "u1", (self._layout.size,)), self._example_action
        action = ("action", kind.dtype, kind.shape)
        word = self._layout.word
        told: list[Any] = [state, ("reward", np.dtype(self._traced[0][0].dtype)), ("flag", word)]
        return Form(
            np.dtype([state, ("key", np.uint32, (2,)), action, ("mark", word)]),
            np.dtype([*told, action] if self._chooses else told),
        )

    @cached_property
    def _example_action(self) -> NDArray[Any]:
        if self._space.is_finite:
            return np.zeros((), np.int32)
        return np.asarray(import_jax().numpy.asarray(bounds(self._space)[0]))

    @cached_property
    def _program(self) -> Any:
        """The program of the model; JAX compiles it when it is first called, for each size."""
        jax, numpy = import_jax(), import_jax().numpy
        sent, word = self._form.sent, self._layout.word
        width, size = (n // word.itemsize for n in (self._form.told.itemsize, self._layout.size))

        def field(record: Any, name: str) -> Any:
            kind, start = sent.fields[name][:2]  # type: ignore[index]
            raw = record[start // word.itemsize : (start + kind.itemsize) // word.itemsize]
            return raw if name == "state" else of_words(raw, kind.base, kind.shape)

        def begin(last: Any, t: Any, key: Any, record: Any) -> Any:
            mark, action = field(record, "mark"), field(record, "action")
            begins = mark & START > 0
            packed = numpy.where(begins, field(record, "state"), last[:size])
            t = numpy.where(begins, 0, t)
            key = numpy.where(begins, field(record, "key"), key)
            drawn = jax.random.fold_in(jax.random.wrap_key_data(key), t)
            return packed, t, key, mark, action, drawn

        def finish(packed: Any, action: Any, drawn: Any, flags: Any) -> Any:
            after, reward, ended = self._take(packed, action, drawn)
            came = ENDED * ended.astype(np.uint8) + BAD * is_bad(reward).astype(np.uint8)
            flag = numpy.where(flags == 0, came, flags).astype(word)
            told = [after, as_words(reward, word), flag[None]]
            return numpy.concatenate([*told, as_words(action, word)] if self._chooses else told)

        def program(records: Any, rows: Any) -> Any:
            room, lanes, _ = records.shape

            def body(at: Any) -> Any:
                row, t, key, out = at
                # Walks go on from the state that is told, not from one that is computed beside it:
                # the two might be rounded in different ways.
                packed, t, key, mark, action, drawn = jax.vmap(begin)(
                    out[row - 1], t, key, records[row]
                )
                flags = numpy.zeros(lanes, np.uint8)
                if self._chooses:
                    action, flags = jax.lax.cond(
                        (mark & (CHECK | BY_RULE) > 0).any(),
                        jax.vmap(self._choose),
                        lambda _packed, action, _mark, _drawn: (action, flags),
                        packed, action, mark, drawn,
                    )  # fmt: skip
                told = jax.vmap(finish)(packed, action, drawn, flags)
                return row + 1, t + 1, key, jax.lax.dynamic_update_index_in_dim(out, told, row, 0)

            out = numpy.zeros((room, lanes, width), word)
            keys = numpy.zeros((lanes, 2), np.uint32)
            start = (0, numpy.zeros(lanes, np.int32), keys, out)
            return jax.lax.while_loop(lambda at: at[0] < rows, body, start)[3]

        return jax.jit(program)

    def _take(self, packed: Any, action: Any, key: Any) -> tuple[Any, Any, Any]:
        """The user's step: bytes, reward and whether the episode ended."""
        jax = import_jax()
        if self._table is not None:
            action = jax.numpy.asarray(self._table)[action]
        result = self._step(self._layout.from_words(packed), action, key)
        if not isinstance(result, tuple) or len(result) != 3:
            raise TransitionError(
                f"step must return (state, reward, ended), got {type(result).__name__}"
            )
        reward, ended = jax.numpy.asarray(result[1]), jax.numpy.asarray(result[2])
        if reward.size != 1 or ended.size != 1:
            raise TransitionError(
                f"step must return one reward and one flag, got shapes {reward.shape} and "
                f"{ended.shape}"
            )
        if reward.dtype.itemsize < 4:
            reward = reward.astype(np.float32)
        after = self._layout.to_words(result[0])
        return after, reward.reshape(()), ended.reshape(()) != 0

    def _choose(self, packed: Any, planned: Any, mark: Any, key: Any) -> tuple[Any, Any]:
        """The action to take, and flags: the planned one if it is legal, or the rule's."""
        jax, numpy = import_jax(), import_jax().numpy
        state = self._layout.from_words(packed)
        count = self._space.n if self._space.is_finite else 0
        allowed = numpy.ones(count, bool)
        flags, action = numpy.uint8(0), planned
        if self._legal is not None:
            allowed = numpy.asarray(self._legal(state))
            if allowed.dtype != np.bool_ or allowed.shape != (count,):
                raise MaskError(
                    f"legal must return {count} booleans, got {allowed.dtype} of shape "
                    f"{allowed.shape}"
                )
            allowed |= mark & CHECK == 0
        if self._policy is not None:
            by_rule = mark & BY_RULE > 0
            said = numpy.asarray(self._policy(state))
            chosen, fits = self._by_rule(said, allowed) if count else self._in_box(said)
            action = numpy.where(by_rule, chosen, planned)
            flags |= numpy.where(by_rule & ~fits, LOST, 0).astype(np.uint8)
        if self._legal is not None:
            illegal = ~allowed[action] & (flags == 0)
            stops = illegal & (mark & STRICT > 0)
            unit = jax.random.uniform(jax.random.fold_in(key, LEGAL))
            number = (unit * allowed.sum()).astype(np.int32)  # of the legal ones
            other = numpy.argmax(numpy.cumsum(allowed) > number).astype(np.int32)
            action = numpy.where(illegal & ~stops, other, action)
            flags |= numpy.where(stops, STOPPED, 0).astype(np.uint8)
            flags = numpy.where(allowed.any(), flags, STUCK).astype(np.uint8)
        return action.astype(planned.dtype), flags

    def _by_rule(self, said: Any, allowed: Any) -> tuple[Any, Any]:
        """The number that a policy chose, and whether it is that of a legal action."""
        numpy = import_jax().numpy
        count = self._space.n
        if said.dtype.kind in "iu" and said.shape == getattr(self._space, "shape", None):
            said, fits = self._in_box(said)  # an action itself
            strides = np.cumprod([1, *self._space.sizes.ravel()[:0:-1]])[::-1].astype(np.int32)
            number = numpy.where(fits, (said.reshape(-1) * strides).sum(), 0).astype(np.int32)
            return number, fits & allowed[number]
        if said.shape == () and said.dtype.kind in "iu":
            within = (said >= 0) & (said < count)
            number = numpy.clip(said, 0, count - 1).astype(np.int32)
            return number, within & allowed[number]
        if said.shape != (count,) or said.dtype.kind not in "biuf":
            raise ModelError(
                f"policy of a JaxModel must return the number of an action or {count} weights, "
                f"got {said.dtype} of shape {said.shape}"
            )
        weights = numpy.where(allowed, said.astype(float), -1.0)
        right = (numpy.isfinite(said.astype(float)) & (said >= 0)).all()
        return numpy.argmax(weights).astype(np.int32), right

    def _in_box(self, said: Any) -> tuple[Any, Any]:
        """What a policy chose in a box, and whether it is in it."""
        low, high = (import_jax().numpy.asarray(bound) for bound in bounds(self._space))
        if said.size != low.size:
            raise ModelError(
                f"policy must return an action of {self._space}, got shape {said.shape}"
            )
        said = said.reshape(low.shape).astype(low.dtype)
        return said, ((said >= low) & (said <= high)).all()


def lay_out(lengths: NDArray[np.int64], lanes: int, total: int) -> tuple[Slots, Slots, int]:
    """Where walks go: the slots of their first steps and of all steps; and rows of slots.

    Walks are taken from the longest to the shortest, ``lanes`` at a time; the slots of a lane are
    ``lanes`` apart.

    >>> first, slots, rows = lay_out(np.array([1, 3, 2]), 2, 6)
    >>> first.tolist(), slots.tolist(), rows
    ([6, 0, 1], [6, 0, 2, 4, 1, 3], 4)
    """
    count = len(lengths)
    if total == count:  # one step each
        return slice(0, count), slice(0, count), -(-count // lanes)
    if count == 1:
        return slice(0, 1), slice(0, total * lanes, lanes), total
    most = int(lengths.max())
    if most * count == total:  # all of the same length
        place = np.arange(count)
        first = place // lanes * (most * lanes) + place % lanes
        return first, (first[:, None] + lanes * np.arange(most)).ravel(), -(-count // lanes) * most
    order = np.argsort(-lengths, kind="stable")
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    longest = lengths[order[::lanes]]
    ends = np.cumsum(longest)
    first = (ends - longest)[place // lanes] * lanes + place % lanes
    offsets = np.cumsum(lengths) - lengths
    slots = np.repeat(first - offsets * lanes, lengths) + lanes * np.arange(total)
    return first, slots, int(ends[-1])


def bounds(space: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the largest entries of actions that are arrays."""
    if isinstance(space, MultiDiscrete):
        return np.zeros_like(space.sizes), space.sizes - 1
    return space.low, space.high


def operations(lowered: Any) -> float:
    """How many floating-point operations a program has, as JAX counts them; of loops, one turn."""
    cost = lowered.cost_analysis() or {}
    return float(cost.get("flops", 0.0))


def is_bad(reward: Any) -> Any:
    """Whether a traced reward is not finite, or too large."""
    if reward.dtype.kind != "f":
        return import_jax().numpy.bool_(False)
    most = min(LARGEST_REWARD, float(np.finfo(reward.dtype).max))
    return ~(abs(reward) <= most)


def as_words(array: Any, word: np.dtype[Any]) -> Any:
    """A traced array as words, which are no longer than its numbers."""
    flat = array.reshape(-1)
    if flat.dtype == np.bool_:
        return flat.astype(np.uint8)
    return import_jax().lax.bitcast_convert_type(flat, word).reshape(-1)


def of_words(raw: Any, kind: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """The traced array that some words stand for."""
    if kind == np.bool_:
        return raw.astype(np.bool_).reshape(shape)
    parts = kind.itemsize // raw.dtype.itemsize
    if parts > 1:
        raw = raw.reshape(-1, parts)
    return import_jax().lax.bitcast_convert_type(raw, kind).reshape(shape)


def import_jax() -> Any:
    """JAX, or an error that says how to install it."""
    try:
        import jax
    except ImportError as error:
        raise InvalidArgument("JaxModel needs JAX: pip install platypoos[jax]") from error
    return jax
