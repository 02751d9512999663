"""A model from a pure JAX function of one state: whole batches of walks are one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.spaces import as_space

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, init=False)
class JaxModel(ArrayModel):
    """A model from ``step(state, action, key) -> (state, reward, ended)``, a pure JAX function.

    A state is any pytree of arrays, an action what ``actions`` lists, ``key`` a JAX random key. The
    function is mapped over the walks of a batch and scanned over their steps, and compiled once
    for each shape; numbers of walks and of steps are padded to powers of two, so there are few.
    Steps after the end of an episode are computed and not counted.

    Planners see a state as the bytes of its arrays: ``model.pack(state)`` gives them, for
    ``plan(..., state=...)``, and ``model.unpack(plan_state)`` is the way back. So nothing is
    rounded, and equal states are found to be equal.

    It needs ``pip install platypoos[jax]``.

    Args:
        step: takes one state, one action and a key; jit must be able to trace it.
        actions: what there is to choose from; see ``FunctionModel``. A list must be of numbers,
            or of arrays of one shape.
        initial_state: one state: a pytree of arrays.
        legal: ``legal(state)`` returns a boolean for each action.
        value: ``value(state)`` returns a number: roughly what the state is worth.
        policy: ``policy(state)`` returns a weight for each action, or the number of one.
        options: ``dynamics``, ``action_names``, ``name``, ``access``, ``batch_size`` as for
            ``ArrayModel``.

    >>> import jax.numpy as jnp  # doctest: +SKIP
    >>> def step(position, action, key):  # doctest: +SKIP
    ...     position = position + 2 * action - 1
    ...     return position, jnp.float32(position == 3), False
    >>> model = pp.JaxModel(step, actions=2, initial_state=jnp.int32(0))  # doctest: +SKIP
    >>> pp.plan(model, budget=200, discount=0.9, seed=0).actions[:3]  # doctest: +SKIP
    (1, 1, 1)
    """

    def __init__(
        self,
        step: Callable[[Any, Any, Any], Any],
        actions: Any,
        initial_state: Any,
        *,
        legal: Callable[[Any], Any] | None = None,
        value: Callable[[Any], Any] | None = None,
        policy: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        if not callable(step):
            raise InvalidArgument(f"step must be callable, got {step!r}")
        jax = _jax()
        leaves, structure = jax.tree.flatten(initial_state)
        if not leaves:
            raise InvalidArgument("initial_state must be a pytree with at least one array")
        examples = [np.asarray(leaf) for leaf in leaves]
        for example in examples:
            if example.dtype.kind not in "biuf":
                raise InvalidArgument(
                    f"initial_state must be a pytree of numbers and arrays, got {initial_state!r}"
                )
        leaves = [np.asarray(jax.numpy.asarray(example)) for example in examples]
        for name, given in (("step", step), ("structure", structure), ("leaves", leaves)):
            object.__setattr__(self, f"_{name}", given)
        super().__init__(
            self._step_rows,
            actions,
            self.pack(initial_state),
            legal=self._mapped(legal),
            value=self._mapped(value),
            policy=self._mapped(policy),
            features=self._mapped(_numbers),
            **options,
        )
        space = as_space(actions)
        if space.is_finite and self.action_table.dtype == object:
            raise InvalidArgument(
                f"actions of a JaxModel must be numbers or arrays of one shape, got {space}"
            )

    # ------------------------------------------------------------------ states as bytes

    def pack(self, state: Any) -> Bytes:
        """A state as planners see it: the bytes of its arrays."""
        jax = _jax()
        leaves, structure = jax.tree.flatten(state)
        if structure != self._structure:  # type: ignore[attr-defined]
            raise InvalidArgument(
                f"a state must be a pytree like the initial state, {self._structure}, "  # type: ignore[attr-defined]
                f"got {structure}"
            )
        parts = []
        for leaf, example in zip(leaves, self._leaves, strict=True):  # type: ignore[attr-defined]
            array = np.asarray(leaf)
            if array.shape != example.shape:
                raise InvalidArgument(
                    f"an array of a state must have the shape {example.shape}, got {array.shape}"
                )
            parts.append(np.ascontiguousarray(array, example.dtype).reshape(-1).view(np.uint8))
        return np.concatenate(parts)

    def unpack(self, packed: Bytes) -> Any:
        """The state that some bytes stand for."""
        found, start = [], 0
        for example in self._leaves:  # type: ignore[attr-defined]
            raw = np.ascontiguousarray(packed[start : start + example.nbytes])
            found.append(raw.view(example.dtype).reshape(example.shape))
            start += example.nbytes
        return _jax().tree.unflatten(self._structure, found)  # type: ignore[attr-defined]

    def _to_bytes(self, state: Any) -> Any:
        """As ``pack``, of traced arrays."""
        jax = _jax()
        parts = []
        leaves = jax.tree.leaves(state)
        if len(leaves) != len(self._leaves):  # type: ignore[attr-defined]
            raise InvalidArgument("step must return a state with the arrays of the initial state")
        for leaf, example in zip(leaves, self._leaves, strict=True):  # type: ignore[attr-defined]
            array = jax.numpy.asarray(leaf, example.dtype).reshape(example.size)
            if example.dtype == np.bool_:
                parts.append(array.astype(np.uint8))
            else:
                parts.append(jax.lax.bitcast_convert_type(array, np.uint8).reshape(-1))
        return jax.numpy.concatenate(parts)

    def _from_bytes(self, packed: Any) -> Any:
        """As ``unpack``, of traced arrays."""
        jax = _jax()
        found, start = [], 0
        for example in self._leaves:  # type: ignore[attr-defined]
            raw = packed[start : start + example.nbytes]
            size = example.dtype.itemsize
            if example.dtype == np.bool_:
                array = raw.astype(np.bool_)
            elif size == 1:
                array = jax.lax.bitcast_convert_type(raw, example.dtype)
            else:
                array = jax.lax.bitcast_convert_type(raw.reshape(-1, size), example.dtype)
            found.append(array.reshape(example.shape))
            start += example.nbytes
        return jax.tree.unflatten(self._structure, found)  # type: ignore[attr-defined]

    # ------------------------------------------------------------------ calls

    def walk_batch(
        self, states: Bytes, actions: NDArray[Any], rng: np.random.Generator
    ) -> tuple[Bytes, NDArray[np.float64], NDArray[np.bool_]]:
        """Walk from each state: states after each step, rewards and ends, [rows, steps, ...].

        Args:
            states: [rows, bytes].
            actions: [rows, steps, ...].
            rng: where the keys come from.
        """
        rows, steps = actions.shape[:2]
        wide, long = _power_of_two(rows), _power_of_two(steps)
        padded_states = np.repeat(states[:1], wide, 0)
        padded_states[:rows] = states
        padded = np.repeat(np.repeat(actions[:1, :1], long, 1), wide, 0)
        padded[:rows, :steps] = actions
        seed = rng.integers(0, 2**32, dtype=np.uint32)
        after, rewards, ended = self._walks(padded_states, padded, seed)
        return (
            np.asarray(after)[:rows, :steps],
            np.asarray(rewards, np.float64)[:rows, :steps],
            np.asarray(ended)[:rows, :steps],
        )

    @cached_property
    def _walks(self) -> Callable[..., Any]:
        jax = _jax()

        def one_step(packed: Any, given: tuple[Any, Any]) -> tuple[Any, Any]:
            action, key = given
            result = self._step(self._from_bytes(packed), action, key)  # type: ignore[attr-defined]
            if not isinstance(result, tuple) or len(result) != 3:
                raise InvalidArgument(
                    f"step must return (state, reward, ended), got {type(result).__name__}"
                )
            after = self._to_bytes(result[0])
            reward = jax.numpy.asarray(result[1]).reshape(())
            ended = jax.numpy.asarray(result[2]).reshape(()).astype(bool)
            return after, (after, reward, ended)

        def walk(packed: Any, actions: Any, key: Any) -> Any:
            return jax.lax.scan(one_step, packed, (actions, jax.random.split(key, len(actions))))[1]

        def walks(states: Any, actions: Any, seed: Any) -> Any:
            keys = jax.random.split(jax.random.key(seed), len(states))
            return jax.vmap(walk)(states, actions, keys)

        return jax.jit(walks)  # type: ignore[no-any-return]

    def _step_rows(self, states: Bytes, actions: NDArray[Any], rng: np.random.Generator) -> Any:
        after, rewards, ended = self.walk_batch(states, actions[:, None], rng)
        return after[:, 0], rewards[:, 0], ended[:, 0]

    def _mapped(self, function: Callable[[Any], Any] | None) -> Callable[[Bytes], Any] | None:
        """A function of one state, for rows of bytes."""
        if function is None:
            return None
        jax = _jax()
        mapped = jax.jit(jax.vmap(lambda packed: function(self._from_bytes(packed))))

        def of_rows(states: Bytes) -> NDArray[Any]:
            padded = np.repeat(states[:1], _power_of_two(len(states)), 0)
            padded[: len(states)] = states
            return np.asarray(mapped(padded))[: len(states)]

        return of_rows

    def __reduce__(self) -> Any:
        raise TypeError("a JaxModel is not sent to other processes: it plays whole batches itself")


def _numbers(state: Any) -> Any:
    """The entries of a state in one array."""
    jax = _jax()
    return jax.numpy.concatenate(
        [jax.numpy.asarray(leaf, np.float32).reshape(-1) for leaf in jax.tree.leaves(state)]
    )


def _power_of_two(number: int) -> int:
    """The least power of two that is not smaller.

    >>> [_power_of_two(n) for n in (1, 2, 3, 64, 65)]
    [1, 2, 4, 64, 128]
    """
    return 1 << (number - 1).bit_length()


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise InvalidArgument("JaxModel needs JAX: pip install platypoos[jax]") from error
    return jax
