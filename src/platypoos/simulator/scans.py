"""Play a batch with a JAX model: walks of about the same length are one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD
from platypoos.models.failures import bad_reward, explained, located
from platypoos.models.jax import JaxModel
from platypoos.models.numbered import NumberedArray
from platypoos.models.points import PointedArray
from platypoos.simulator.arrays import ArrayPlayer
from platypoos.simulator.requests import IfLegal, Replies, Request, Walk
from platypoos.spaces import MultiDiscrete


class ScanPlayer(ArrayPlayer):
    """Plays whole walks in one call, where all actions are named and need no check.

    Else, and with a clock, the walks of a batch take a step together as with any array model.
    """

    def play(
        self,
        batch: Sequence[Request],
        replies: Replies,
        due: Callable[[int], bool] | None,
        check_legal: bool,
    ) -> int:
        """Play a batch and add its walks to ``replies``; returns the calls made."""
        checks = check_legal and self._legal is not None
        named = all(request.steps <= len(request.actions) for request in batch)
        if due is not None or checks or not named:
            return super().play(batch, replies, due, check_legal)
        groups: dict[int, list[tuple[Walk, Request]]] = {}
        for request in batch:
            walks: list[Walk] = []
            replies.append(walks)
            if request.steps:
                walks += [[] for _ in range(request.times)]
                group = groups.setdefault((request.steps - 1).bit_length(), [])
                group += [(walk, request) for walk in walks]
        made = 0
        try:
            for group in groups.values():
                for start in range(0, len(group), self._model.batch_size):
                    made += self._scan(group[start : start + self._model.batch_size])
        except BaseException as error:
            error.calls = made + getattr(error, "calls", 0)  # type: ignore[attr-defined]
            for walks in replies[-len(batch) :]:
                walks[:] = [walk for walk in walks if walk]
            raise
        return made

    def _scan(self, group: list[tuple[Walk, Request]]) -> int:
        """Play walks of about the same length; returns their steps up to their ends."""
        longest = max(request.steps for _, request in group)
        planned = []
        for _, request in group:
            actions = [
                action.action if type(action) is IfLegal else action
                for action in request.actions[: request.steps]
            ]
            planned.append(actions + actions[-1:] * (longest - len(actions)))
        states = np.stack([self._checked(request.state) for _, request in group])
        rng = self._stream.rng
        model = jax_model(self._model)
        assert model is not None  # noqa: S101  there is another player for other models
        try:
            after, rewards, ended = model.walk_batch(
                states, given_actions(self._model, np.array(planned)), rng
            )
        except Exception as error:
            where = f"a batch of {len(states)} states"
            raise explained(error, states, np.array(planned), where=where) from error
        made = 0
        bad = ~(np.abs(rewards) <= LARGEST_REWARD)
        lasts = np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, longest).tolist()
        listed = zip(group, planned, list(after), rewards.tolist(), ended.tolist(), strict=True)
        for row, ((walk, request), actions, states_after, paid, over) in enumerate(listed):
            steps = min(request.steps, lasts[row])
            wrong = np.flatnonzero(bad[row, :steps])
            if len(wrong):
                steps = int(wrong[0])
            walk.extend(
                zip(actions[:steps], states_after[:steps], paid[:steps], over[:steps], strict=True)
            )
            made += steps
            if len(wrong):
                before = states_after[steps - 1] if steps else states[row]
                failure = located(bad_reward(paid[steps], before, actions[steps]))
                failure.calls = made + 1
                raise failure
        return made


def jax_model(model: Any) -> JaxModel | None:
    """The JAX model that a model is, or is a view of."""
    if isinstance(model, NumberedArray | PointedArray):
        model = model.model
    return model if isinstance(model, JaxModel) else None


def given_actions(model: Any, planned: NDArray[Any]) -> NDArray[Any]:
    """Actions as the user's step takes them, [rows, steps, ...]."""
    if isinstance(model, NumberedArray):
        return model.model.action_table[planned]  # type: ignore[no-any-return]
    if isinstance(model, PointedArray):
        space = model.model.actions
        kind = np.int64 if isinstance(space, MultiDiscrete) else space.low.dtype
        return planned.astype(kind).reshape(*planned.shape[:2], *space.shape)
    return planned
