"""A model from a pure JAX function of one state: whole batches of walks are one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count
from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.lanes import ENDED, Bytes, Lanes, Layout, import_jax
from platypoos.spaces import as_space


@dataclass(frozen=True, eq=False, init=False)
class JaxModel(ArrayModel):
    """A model from ``step(state, action, key) -> (state, reward, ended)``, a pure JAX function.

    A state is any pytree of arrays, an action what ``actions`` lists, ``key`` a JAX random key. The
    function is mapped over some lanes, on which the walks of a batch are laid out, and compiled
    once for each size of a batch; sizes are powers of four, so there are few. Steps after the end
    of an episode are computed and not counted.

    Planners see a state as the bytes of its arrays: ``model.pack(state)`` gives them, for
    ``plan(..., state=...)``, and ``model.unpack(plan_state)`` is the way back. So nothing is
    rounded, and equal states are found to be equal. Let a state have no more in it than the next
    step needs.

    It needs ``pip install platypoos[jax]``.

    Args:
        step: takes one state, one action and a key; jit must be able to trace it.
        actions: what there is to choose from; see ``FunctionModel``. A list must be of numbers,
            or of arrays of one shape.
        initial_state: one state: a pytree of arrays.
        legal: ``legal(state)`` returns a boolean for each action.
        value: ``value(state)`` returns a number: roughly what the state is worth.
        policy: ``policy(state)`` returns a weight for each action, or the number of one; in a box,
            an action.
        lanes: how many steps are taken together; if left out, 4 where a step is a few operations,
            and else 16. More pay where a step is many small operations, as in MJX.
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
        lanes: int | None = None,
        **options: Any,
    ) -> None:
        if not callable(step):
            raise InvalidArgument(f"step must be callable, got {step!r}")
        object.__setattr__(self, "_layout", Layout(initial_state))
        super().__init__(
            self._step_rows,
            actions,
            self._layout.initial,  # type: ignore[attr-defined]
            legal=self._mapped(legal),
            value=self._mapped(value),
            policy=self._mapped(policy),
            features=self._entries,
            **options,
        )
        space = as_space(actions)
        table = None
        if space.is_finite and not space.is_numbered:
            table = self.action_table
            if table.dtype == object:
                raise InvalidArgument(
                    f"actions of a JaxModel must be numbers or arrays of one shape, got {space}"
                )
        lanes = None if lanes is None else check_count("lanes", lanes)
        made = Lanes(self._layout, (step, legal, policy), table, space, lanes)  # type: ignore[attr-defined]
        object.__setattr__(self, "lanes", made)

    def pack(self, state: Any) -> Bytes:
        """A state as planners see it: the bytes of its arrays."""
        return self._layout.pack(state)  # type: ignore[attr-defined,no-any-return]

    def unpack(self, packed: Bytes) -> Any:
        """The state that some bytes stand for."""
        return self._layout.unpack(packed)  # type: ignore[attr-defined]

    def _step_rows(self, states: Bytes, actions: NDArray[Any], rng: np.random.Generator) -> Any:
        """Take one step from each state; a row of ``actions`` is an action of the list, or one."""
        if self.actions.is_finite and not self.actions.is_numbered:
            same = actions[:, None] == self.action_table
            actions = same.reshape(*same.shape[:2], -1).all(axis=2).argmax(axis=1)
        played = self.lanes.play(  # type: ignore[attr-defined]
            states,
            np.ones(len(states), np.int64),
            actions,
            rng.integers(0, 1 << 32, (len(states), 2), np.uint32),
        )
        return played.states, played.rewards, played.flags & ENDED > 0

    def _entries(self, states: Bytes) -> NDArray[np.float64]:
        """The numbers in some states."""
        leaves = self._layout.leaves(states)  # type: ignore[attr-defined]
        return np.concatenate([leaf.reshape(len(states), -1) for leaf in leaves], 1, dtype=float)

    def _mapped(self, function: Callable[[Any], Any] | None) -> Callable[[Bytes], Any] | None:
        """A function of one state, for rows of bytes."""
        if function is None:
            return None
        jax = import_jax()
        layout: Layout = self._layout  # type: ignore[attr-defined]
        mapped = jax.jit(jax.vmap(lambda packed: function(layout.from_words(packed))))

        def of_rows(states: Bytes) -> NDArray[Any]:
            padded = np.repeat(states[:1], power_of_four(len(states)), 0)
            padded[: len(states)] = states
            return np.asarray(mapped(padded.view(layout.word)))[: len(states)]

        return of_rows

    def __reduce__(self) -> Any:
        raise TypeError("a JaxModel is not sent to other processes: it plays whole batches itself")


def power_of_four(number: int) -> int:
    """The least power of four, from 4 on, that is not smaller.

    >>> [power_of_four(n) for n in (1, 4, 5, 64, 65)]
    [4, 4, 16, 64, 256]
    """
    return max(4, 1 << ((number - 1).bit_length() + 1) // 2 * 2)
