"""Play a batch with a JAX model: all its walks are one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD
from platypoos.errors import ModelError
from platypoos.models.advice import no_legal_action
from platypoos.models.failures import bad_reward, brief, explained, located
from platypoos.models.array import ArrayModel
from platypoos.models.jax import JaxModel
from platypoos.models.lanes import BY_RULE, ENDED, LOST, STRICT, STUCK, Played, bounds
from platypoos.models.numbered import NumberedArray
from platypoos.models.points import PointedArray
from platypoos.simulator.arrays import ArrayPlayer
from platypoos.simulator.requests import IfLegal, Replies, Request, Walk
from platypoos.simulator.streams import Stream
from platypoos.spaces import MultiDiscrete

_RULE: Any = object()
"""In place of an action: the rule chooses."""


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
        ruled = any(request.steps > len(request.actions) for request in batch)
        if due is not None or ((masked or ruled) and not self._as_told):
            return super().play(batch, words, replies, due, check_legal)
        first = len(replies)
        keys = np.frombuffer(words, np.uint32).reshape(len(batch), -1)[:, :2]
        walks: list[Walk] = []
        states: list[Any] = []
        planned: list[Sequence[Any]] = []
        asked: list[int] = []
        number: list[int] = []  # of the walk, in its request
        for place, (state, actions, steps, times) in enumerate(batch):
            self._check_rule(batch[place])
            mine: list[Walk] = []
            replies.append(mine)
            if not steps:
                continue
            given = actions
            if steps < len(actions):
                given = actions[:steps]
            elif steps > len(actions):
                given = [*actions, *[_RULE] * (steps - len(actions))]
            state = self._checked(state)  # noqa: PLW2901  in the type of the model's states
            for count in range(times):
                walk: Walk = []
                mine.append(walk)
                walks.append(walk)
                states.append(state)
                planned.append(given)
                asked.append(place)
                number.append(count)
        made = 0
        try:
            for start in range(0, len(walks), self._model.batch_size):
                some = slice(start, start + self._model.batch_size)
                drawn = keys[asked[some]]
                drawn[:, 1] += np.array(number[some], np.uint32)
                made += self._scan(walks[some], states[some], planned[some], drawn, masked)
        except BaseException as error:
            error.calls = made + getattr(error, "calls", 0)  # type: ignore[attr-defined]
            for walks_of_one in replies[first:]:
                walks_of_one[:] = [walk for walk in walks_of_one if walk]
            raise
        return made

    def _scan(
        self,
        walks: list[Walk],
        states: list[Any],
        planned: list[Sequence[Any]],
        keys: NDArray[np.uint32],
        masked: bool,
    ) -> int:
        """Play some walks; returns their steps up to their ends."""
        lengths = np.array([len(actions) for actions in planned])
        actions = [action for sequence in planned for action in sequence]
        kinds, ruled = None, False
        if masked or self._policy is not None:
            rule = np.array([action is _RULE for action in actions])
            strict = np.array([type(action) is IfLegal for action in actions])
            kinds, ruled = (BY_RULE * rule + STRICT * strict).astype(np.uint8), bool(rule.any())
        if ruled:
            actions = [self._any_action if action is _RULE else action for action in actions]
        if any(type(action) is IfLegal for action in actions):
            actions = [a.action if type(a) is IfLegal else a for a in actions]
        rows = np.array(states)
        played = self._play_lanes(rows, lengths, actions, keys, kinds, masked, ruled)
        if played.taken is not None:
            actions = self._as_planned(played.taken)
        listed = list(played.states)
        rewards, over = played.rewards.tolist(), (played.flags & ENDED > 0).tolist()
        bad = ~(np.abs(played.rewards) <= LARGEST_REWARD)
        cuts = np.flatnonzero((played.flags > 0) | bad).tolist()
        if not cuts:
            end = 0
            for walk, length in zip(walks, lengths.tolist(), strict=True):
                start, end = end, end + length
                part = slice(start, end)
                walk += zip(actions[part], listed[part], rewards[part], over[part], strict=True)
            return end
        made = end = at = 0
        for row, (walk, length) in enumerate(zip(walks, lengths.tolist(), strict=True)):
            start, end = end, end + length
            while at < len(cuts) and cuts[at] < start:
                at += 1
            stop, flag = end, 0
            if at < len(cuts) and cuts[at] < end:
                stop, flag = cuts[at], int(played.flags[cuts[at]])
                failed = bool(bad[stop]) and flag <= ENDED
                if flag == ENDED and not failed:
                    stop += 1
            part = slice(start, stop)
            walk += zip(actions[part], listed[part], rewards[part], over[part], strict=True)
            made += stop - start
            if stop < end and (failed or flag & (STUCK | LOST)):
                before = listed[stop - 1] if stop > start else rows[row]
                self._fail(before, actions[stop], rewards[stop], flag, made)
        return made

    def _fail(self, state: Any, action: Any, reward: float, flag: int, made: int) -> NoReturn:
        """Raise the error for a walk that failed; ``made`` calls were made before."""
        shown = self._jax.unpack(state)
        failure: ModelError
        if flag & STUCK:
            failure = no_legal_action(shown)
        elif flag & LOST:
            assert self._policy is not None  # noqa: S101  it has chosen
            said = np.asarray(self._policy(state[None]))[0]
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
        masked: bool = False,
        ruled: bool = False,
    ) -> Played:
        """One compiled call; its failures say that the step could not be traced."""
        try:
            given = self._as_given(np.array(actions))
            return self._jax.lanes.play(  # type: ignore[attr-defined,no-any-return]
                states, lengths, given, keys, kinds, masked=masked, ruled=ruled
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
        bad = np.flatnonzero(~(np.abs(played.rewards) <= LARGEST_REWARD))
        if len(bad):
            at, action = bad[0], actions[bad[0]]
            plain = action.item() if np.ndim(action) == 0 else action
            shown = self._jax.unpack(states[at])
            raise located(bad_reward(float(played.rewards[at]), shown, plain))
        return played.states, played.rewards, played.flags > 0

    def _as_given(self, planned: NDArray[Any]) -> NDArray[Any]:
        """Actions as the compiled programs take them: numbers of a list, or arrays of a box."""
        space = self._space
        if isinstance(self._model, PointedArray):
            if space.is_finite:
                points = planned.reshape(len(planned), -1)
                return np.ravel_multi_index(tuple(points.T), space.sizes.ravel())
            kind = np.int64 if isinstance(space, MultiDiscrete) else space.low.dtype
            return planned.astype(kind).reshape(-1, *space.shape)
        if isinstance(self._model, NumberedArray) or space.is_numbered or not space.is_finite:
            return planned
        return np.array([space.index(action) for action in planned])

    def _as_planned(self, taken: NDArray[Any]) -> list[Any]:
        """The way back."""
        space = self._space
        if isinstance(self._model, PointedArray):
            if space.is_finite:
                taken = np.stack(np.unravel_index(taken, space.sizes.ravel()), axis=-1)
            return [tuple(row) for row in taken.reshape(len(taken), -1).tolist()]
        if isinstance(self._model, NumberedArray) or space.is_numbered or not space.is_finite:
            return taken.tolist()  # type: ignore[no-any-return]
        return [space.payloads[number] for number in taken.tolist()]

    @cached_property
    def _any_action(self) -> Any:
        """An action as planners name them."""
        if isinstance(self._model, PointedArray):
            return tuple(bounds(self._space)[0].ravel().tolist())
        return 0 if self._space.is_finite else bounds(self._space)[0]


def jax_model(model: Any) -> JaxModel | None:
    """The JAX model that a model is, or is a view of."""
    if isinstance(model, NumberedArray | PointedArray):
        model = model.model
    return model if isinstance(model, JaxModel) else None
