"""Play a batch with a JAX model: all its walks are one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import ModelError
from platypoos.models.advice import no_legal_action
from platypoos.models.array import ArrayModel
from platypoos.models.failures import bad_reward, brief, explained, located
from platypoos.models.jax import JaxModel
from platypoos.models.lanes import (
    BAD,
    BY_RULE,
    CHECK,
    ENDED,
    LOST,
    STOPPED,
    STRICT,
    STUCK,
    Played,
    bounds,
)
from platypoos.models.numbered import NumberedArray
from platypoos.models.points import PointedArray
from platypoos.simulator.arrays import RULE, ArrayPlayer, Rule, ask
from platypoos.simulator.requests import IfLegal, Replies, Request, Step, Walk
from platypoos.simulator.streams import WORD, Stream

_KINDS = {IfLegal: STRICT, Rule: BY_RULE}


class ScanPlayer(ArrayPlayer):
    """Plays whole walks in one call; see ``models/lanes.py``.

    Each request has its own stream of random numbers, so what it draws does not depend on the other
    requests of the batch. With a clock that is asked in the middle of a batch, the walks take a
    step together as with any array model.
    """

    keyed = True

    def __init__(
        self, model: ArrayModel, stream: Stream, legal: Any = None, policy: Any = None
    ) -> None:
        super().__init__(model, stream, legal, policy)
        found = jax_model(model)
        assert found is not None  # noqa: S101  there is another player for other models
        self._jax = found
        self._space: Any = found.actions
        self._chooses = found.legal is not None or found.policy is not None
        self._as_told = legal is None and policy is None
        """Whether the compiled programs ask the functions that are to be asked."""

    def play(
        self,
        batch: Sequence[Request],
        words: bytes,
        replies: Replies,
        due: Callable[[int], bool] | None,
        check_legal: bool,
    ) -> int:
        """Play a batch and add its walks to ``replies``; returns the calls made."""
        masked = check_legal and self._legal is not None
        ruled = any(steps > len(actions) for _, actions, steps, _ in batch)
        if due is not None or ((masked or ruled) and not self._as_told):
            return super().play(batch, words, replies, due, check_legal)
        first = len(replies)
        todo = self._begin(batch, replies)
        plain = not masked and not todo.kinds & {IfLegal, Rule}
        keys = self._keys(words, replies[first:])
        size, made = self._model.batch_size, 0
        try:
            for start in range(0, len(todo.walks), size):
                part = slice(start, start + size)
                rows = self._rows(todo.states[part])
                plans = todo.plans[part]
                lengths = np.fromiter(map(len, plans), np.int64, len(plans))
                actions = list(chain.from_iterable(plans))
                if plain:
                    played = self._play_lanes(rows, lengths, actions, keys[part])
                else:
                    played, actions = self._play_checked(
                        rows, lengths, actions, keys[part], masked=masked
                    )
                self._model.expect(played.states)
                made += self._take_note(todo.walks[part], rows, lengths, actions, played)
        except BaseException as error:
            error.calls = made + getattr(error, "calls", 0)  # type: ignore[attr-defined]
            for mine in replies[first:]:
                mine[:] = [walk for walk in mine if walk]
            raise
        return made

    def _keys(self, words: bytes, replies: Replies) -> NDArray[np.uint32]:
        """The keys of all walks: those of a request are one after the other."""
        keys = np.frombuffer(words, np.uint32).reshape(-1, WORD // 4)[:, :2]
        times = [len(walks) for walks in replies]
        if times.count(1) == len(times):
            return keys
        keys = np.repeat(keys, times, 0)
        keys[:, 1] += np.array([n for count in times for n in range(count)], np.uint32)
        return keys

    def _play_checked(
        self,
        rows: NDArray[Any],
        lengths: NDArray[np.int64],
        actions: list[Any],
        keys: NDArray[np.uint32],
        *,
        masked: bool,
    ) -> tuple[Played, list[Any]]:
        """Play walks some of whose actions are chosen on the way; returns also the actions."""
        check = CHECK if masked else 0
        kinds = np.array([check + _KINDS.get(type(action), 0) for action in actions], np.uint8)
        given = [
            self._any_action
            if action is RULE
            else (action.action if type(action) is IfLegal else action)
            for action in actions
        ]
        if not self._chooses:  # without masks, what is tried only if it is legal always is
            return self._play_lanes(rows, lengths, given, keys), given
        played = self._play_lanes(rows, lengths, given, keys, kinds)
        assert played.taken is not None  # noqa: S101  there were kinds
        return played, self._as_planned(played.taken)

    def _take_note(
        self,
        walks: list[Walk],
        rows: NDArray[Any],
        lengths: NDArray[np.int64],
        actions: list[Any],
        played: Played,
    ) -> int:
        """Write down walks up to their ends; returns their steps."""
        listed, rewards = list(played.states), played.rewards.tolist()
        flags = played.flags.tolist()
        columns = (actions, listed, rewards, [flag == ENDED for flag in flags])
        if not any(flags):
            steps = zip(*columns, strict=True)
            if len(walks) == len(actions):
                for walk, step in zip(walks, steps, strict=True):
                    walk.append(step)
            else:
                for walk, length in zip(walks, lengths.tolist(), strict=True):
                    walk.extend(islice(steps, length))
            return len(actions)
        start = made = 0
        for row, walk, length in zip(rows, walks, lengths.tolist(), strict=True):
            before = row
            part = slice(start, start + length)
            taken = zip(*(column[part] for column in columns), strict=True)
            for place, step in enumerate(taken, start):
                if flags[place] & STOPPED:
                    break
                if flags[place] > ENDED:
                    self._fail(before, step, flags[place], made)
                walk.append(step)
                made += 1
                if flags[place]:
                    break
                before = step[1]
            start += length
        return made

    def _fail(self, state: Any, step: Step, flag: int, made: int) -> NoReturn:
        """Raise the error for a step that failed; ``made`` calls were made before."""
        action, _, reward, _ = step
        shown = self._jax.unpack(state)
        failure: ModelError
        if flag & STUCK:
            failure = no_legal_action(shown)
        elif flag & LOST:
            said = np.asarray(ask("policy", self._policy, state[None]))[0]
            failure = ModelError(
                f"the model's policy returned {brief(said)}, which is neither a legal action nor "
                f"finite weights of at least 0 (at state {brief(shown)})",
                state=shown,
            )
        else:
            failure = located(bad_reward(reward, shown, action))
            made += 1
        failure.calls = made
        raise failure

    # ------------------------------------------------------------------ calls

    def _play_lanes(
        self,
        states: NDArray[Any],
        lengths: NDArray[np.int64],
        actions: list[Any],
        keys: NDArray[np.uint32],
        kinds: NDArray[np.uint8] | None = None,
    ) -> Played:
        """One compiled call; its failures say that the step could not be traced."""
        try:
            given = self._as_given(np.array(actions))
            return self._jax.lanes.play(  # type: ignore[attr-defined,no-any-return]
                states, lengths, given, keys, kinds
            )
        except ModelError:
            raise
        except Exception as error:
            where = f"a batch of {len(states)} states"
            raise explained(error, states, np.array(actions), where=where) from error

    def _step(self, states: NDArray[Any], actions: NDArray[Any]) -> tuple[Any, Any, Any]:
        """Take one step from each state."""
        keys = self._stream.rng.integers(0, 1 << 32, (len(states), 2), np.uint32)
        ones = np.ones(len(states), np.int64)
        played = self._play_lanes(states, ones, actions, keys)  # type: ignore[arg-type]
        bad = np.flatnonzero(played.flags & BAD)
        if len(bad):
            at, action = bad[0], actions[bad[0]]
            plain = action.item() if np.ndim(action) == 0 else action
            shown = self._jax.unpack(states[at])
            raise located(bad_reward(float(played.rewards[at]), shown, plain))
        return played.states, played.rewards, played.flags > 0  # ENDED

    def _as_given(self, planned: NDArray[Any]) -> NDArray[Any]:
        """Actions as the compiled programs take them: numbers of a list, or arrays of a box."""
        space = self._space
        if not space.is_finite:
            kind: np.dtype[Any] = bounds(space)[0].dtype
            return planned.astype(kind).reshape(-1, *space.shape)
        if isinstance(self._model, PointedArray):
            return np.array(np.ravel_multi_index(tuple(planned.T), space.sizes.ravel()))
        if isinstance(self._model, NumberedArray) or space.is_numbered:
            return planned
        return np.array([space.index(action) for action in planned])

    def _as_planned(self, taken: NDArray[Any]) -> list[Any]:
        """The way back: numbers, or points."""
        space = self._space
        if space.is_finite and isinstance(self._model, PointedArray):
            taken = np.stack(np.unravel_index(taken, space.sizes.ravel()), axis=-1)
        if not space.is_finite or isinstance(self._model, PointedArray):
            return [tuple(row) for row in taken.reshape(len(taken), -1).tolist()]
        if isinstance(self._model, NumberedArray) or space.is_numbered:
            return taken.tolist()  # type: ignore[no-any-return]
        return [space.payloads[number] for number in taken.tolist()]

    @cached_property
    def _any_action(self) -> Any:
        """An action as planners name them."""
        space = self._space
        if isinstance(self._model, PointedArray) or not space.is_finite:
            return tuple(bounds(space)[0].ravel().tolist())
        return 0 if space.is_numbered or self._model is not self._jax else space.payloads[0]


def jax_model(model: Any) -> JaxModel | None:
    """The JAX model that a model is, or is a view of."""
    if isinstance(model, NumberedArray | PointedArray):
        model = model.model
    return model if isinstance(model, JaxModel) else None
