"""Play a batch with an array model: all walks take a step together, in one call of NumPy code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD, check_state
from platypoos.errors import InvalidArgument, MaskError, ModelError
from platypoos.models.advice import no_legal_action
from platypoos.models.array import ArrayModel
from platypoos.models.failures import bad_reward, brief, explained, located, worded
from platypoos.models.points import PointedArray, checked_point
from platypoos.simulator.requests import IfLegal, Replies, Request, Walk
from platypoos.simulator.streams import Stream


class Rows(NamedTuple):
    """What came of one step from each of many states."""

    states: NDArray[Any]  # [rows, ...]
    rewards: NDArray[np.float64]  # [rows]
    ended: NDArray[np.bool_]  # [rows]
    calls: int
    """The rows, and those that failed."""
    failure: ModelError | None = None


class Rule:
    """In place of an action: the rule chooses."""


RULE: Any = Rule()


class Todo(NamedTuple):
    """The walks of a batch."""

    walks: list[Walk]
    """Empty, to be filled."""
    states: list[Any]
    """Where each begins."""
    plans: list[Sequence[Any]]
    """The actions of each: what is planned, ``IfLegal`` or ``RULE``."""
    shortest: int
    """The steps of the shortest one."""
    kinds: set[type]
    """Of these actions."""


class ArrayPlayer:
    """Plays batches with an array model.

    All requests of a batch share one random stream, for the model draws for many rows at once. So
    a random sample depends on the whole batch, and with a clock also on the time that calls take.
    """

    keyed = False
    """Whether each request has a random stream of its own."""

    def __init__(
        self, model: ArrayModel, stream: Stream, legal: Any = None, policy: Any = None
    ) -> None:
        self._model, self._stream = model, stream
        self._legal = model.legal if legal is None else legal
        self._policy = model.policy if policy is None else policy
        self._example = np.asarray(model.initial_state)

    def play(
        self,
        batch: Sequence[Request],
        words: bytes,  # noqa: ARG002  of models that draw for each request
        replies: Replies,
        due: Callable[[int], bool] | None,
        check_legal: bool,
    ) -> int:
        """Play a batch and add its walks to ``replies``; returns the calls made.

        After a failure ``error.calls`` are the calls made, those of the failing rows included.
        """
        first = len(replies)
        todo = self._begin(batch, replies)
        going, plans = todo.walks, todo.plans
        masked = check_legal and self._legal is not None
        plain = not masked and not todo.kinds & {IfLegal, Rule}
        barred: set[int] = set()  # walks that stopped before an action that is not legal
        made = t = 0
        try:
            rows = self._rows(todo.states)
            while going and (due is None or not made or not due(made)):
                planned = [plan[t] for plan in plans]
                stopped: list[int] = []
                if plain:
                    actions = np.array(planned)
                else:
                    actions, stopped = self._choose(rows, planned, masked)
                    planned = as_planned(actions)
                if stopped:
                    barred.update(id(going[place]) for place in stopped)
                    kept = [place for place in range(len(going)) if place not in stopped]
                    going, plans = [going[i] for i in kept], [plans[i] for i in kept]
                    rows, actions = rows[kept], actions[kept]
                    planned = [planned[i] for i in kept]
                after = np.empty_like(rows)
                over: list[bool] = []
                size, t = self._model.batch_size, t + 1
                for start in range(0, len(going), size):
                    if start and due is not None and due(made):
                        going, plans = going[:start], plans[:start]
                        break
                    part = slice(start, min(start + size, len(going)))
                    made += part.stop - part.start
                    after[part], rewards, ended = self._step(rows[part], actions[part])
                    over += (ends := ended.tolist())
                    taken = zip(planned[part], after[part], rewards.tolist(), ends, strict=True)
                    for walk, step in zip(going[part], taken, strict=True):
                        walk.append(step)
                self._model.expect(after[: len(over)])
                if t < todo.shortest and True not in over and len(going) == len(rows):
                    rows = after
                    continue
                kept = [i for i, plan in enumerate(plans) if not over[i] and t < len(plan)]
                going, plans = [going[i] for i in kept], [plans[i] for i in kept]
                rows = after[kept]
        except BaseException as error:
            error.calls = made  # type: ignore[attr-defined]
            raise
        finally:
            if any(not walk for walk in todo.walks):
                for mine in replies[first:]:
                    mine[:] = [walk for walk in mine if walk or id(walk) in barred]
        return made

    def _begin(self, batch: Sequence[Request], replies: Replies) -> Todo:
        """The walks to make, with a reply for each request."""
        walks: list[Walk] = []
        states: list[Any] = []
        plans: list[Sequence[Any]] = []
        for state, actions, steps, times in batch:
            plan = actions
            if steps > len(actions):
                if self._policy is None:
                    raise InvalidArgument(
                        f"a request for {steps} steps names {len(actions)} actions, and the model "
                        "has no policy to choose the others"
                    )
                plan = [*actions, *[RULE] * (steps - len(actions))]
            elif steps < len(actions):
                plan = actions[:steps]
            mine: list[Walk] = [[] for _ in range(times if steps else 0)]
            replies.append(mine)
            walks += mine
            states += [state] * len(mine)
            plans += [plan] * len(mine)
        kinds = set(map(type, chain.from_iterable(plans)))
        return Todo(walks, states, plans, min(map(len, plans), default=0), kinds)

    def _rows(self, states: list[Any]) -> NDArray[Any]:
        """States of the model's kind, a row for each."""
        example = self._example
        try:
            rows = np.array(states)
        except ValueError:
            rows = np.empty(0, object)
        if rows.dtype != example.dtype or rows.shape[1:] != example.shape:
            rows = np.array([check_state(state, example) for state in states], example.dtype)
        return rows

    def _choose(
        self, states: NDArray[Any], planned: list[Any], masked: bool
    ) -> tuple[NDArray[Any], list[int]]:
        """The actions of all walks at a step, and which walks stop before it.

        The actions are the planned ones if these are legal, or those of the rule.
        """
        strict = [place for place, action in enumerate(planned) if type(action) is IfLegal]
        for place in strict:
            planned[place] = planned[place].action
        masks = None
        if masked:
            masks = legal_masks(self._legal, states, self._model.actions.n)
        by_rule = [place for place, action in enumerate(planned) if action is RULE]
        if by_rule:
            chosen = self._ask_rule(states[by_rule], None if masks is None else masks[by_rule])
            for place, action in zip(by_rule, chosen, strict=True):
                planned[place] = action
        actions = np.array(planned)
        stopped: list[int] = []
        if masks is not None:
            for place in np.flatnonzero(masks[np.arange(len(actions)), actions] == 0).tolist():
                if place in strict:
                    stopped.append(place)
                    continue
                allowed = np.flatnonzero(masks[place])
                actions[place] = allowed[int(self._stream.rng.random() * len(allowed))]
        return actions, stopped

    def _ask_rule(self, states: NDArray[Any], masks: NDArray[np.uint8] | None) -> list[Any]:
        """The heaviest legal action of each state, or the action that the policy names."""
        said = np.asarray(ask("policy", self._policy, states))
        space = self._model.actions
        if isinstance(self._model, PointedArray) or not space.is_finite:
            check_rows("policy", said, states)
            return [checked_point(space, *row) for row in zip(said, states, strict=True)]
        count = self._model.actions.n
        if said.shape == (len(states),) and said.dtype.kind in "iu":
            wrong = (said < 0) | (said >= count)
            if masks is not None:
                wrong |= masks[np.arange(len(states)), np.clip(said, 0, count - 1)] == 0
            bad = np.flatnonzero(wrong)
            if len(bad):
                state, action = states[bad[0]], int(said[bad[0]])
                raise ModelError(
                    f"the model's policy chose the action {action}, which is not legal there (at "
                    f"state {brief(state)})",
                    state=state,
                    action=action,
                )
            return said.tolist()  # type: ignore[no-any-return]
        if said.shape != (len(states), count) or said.dtype.kind not in "biuf":
            raise ModelError(
                f"policy of an array model given {len(states)} states must return an action for "
                f"each or weights of shape {(len(states), count)}, got {said.dtype} of shape "
                f"{said.shape}",
                state=states,
            )
        weights = said.astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)).all(axis=1))
        if len(bad):
            raise ModelError(
                f"the model's policy must return finite weights of at least 0, got "
                f"{brief(said[bad[0]])} (at state {brief(states[bad[0]])})",
                state=states[bad[0]],
            )
        if masks is not None:
            weights[masks == 0] = -1.0
        return weights.argmax(axis=1).tolist()  # type: ignore[no-any-return]

    def step_rows(self, states: NDArray[Any], actions: NDArray[Any]) -> Rows:
        """Take a step from each state, a batch at a time; what came before a failure is kept."""
        n, size = len(states), self._model.batch_size
        after = np.empty_like(states)
        rewards, ended = np.empty(n), np.empty(n, np.bool_)
        made = 0
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            made = rows.stop
            try:
                after[rows], rewards[rows], ended[rows] = self._step(states[rows], actions[rows])
            except ModelError as error:
                return Rows(after[:start], rewards[:start], ended[:start], made, error)
            except BaseException as error:
                error.calls = made  # type: ignore[attr-defined]
                raise
        return Rows(after, rewards, ended, made)

    def _step(self, states: NDArray[Any], actions: NDArray[Any]) -> tuple[Any, Any, Any]:
        """One call of the model for all rows; its failures say where."""
        rows = actions.astype(np.int64) if actions.dtype.kind in "iub" else actions
        try:
            after, rewards, ended = self._model.step_batch(states, rows, self._stream.rng)
            if not np.abs(rewards).max() <= LARGEST_REWARD:
                at = np.flatnonzero(~(np.abs(rewards) <= LARGEST_REWARD))[0]
                raise located(bad_reward(float(rewards[at]), states[at], _plain(actions[at])))
        except ModelError as error:
            if error.action is None:
                error.state, error.action = states, rows
            raise
        except Exception as error:
            raise explained(
                error, states, rows, where=f"a batch of {len(states)} states"
            ) from error
        return after, rewards, ended


def legal_masks(legal: Any, states: NDArray[Any], num_actions: int) -> NDArray[np.uint8]:
    """The legal actions of all states; an error if there are none in one."""
    masks = np.asarray(ask("legal", legal, states))
    wanted = (len(states), num_actions)
    if masks.dtype != np.bool_ or masks.shape != wanted:
        raise MaskError(
            f"legal of an array model given {wanted[0]} states must return booleans of shape "
            f"{wanted}, got {masks.dtype} of shape {masks.shape}"
        )
    stuck = np.flatnonzero(~masks.any(axis=1))
    if len(stuck):
        raise no_legal_action(states[stuck[0]])
    return masks.astype(np.uint8)


def as_planned(actions: NDArray[Any]) -> list[Any]:
    """Actions as planners name them: numbers or points."""
    listed = actions.tolist()
    return listed if actions.ndim == 1 else [tuple(row) for row in listed]


def check_rows(name: str, said: NDArray[Any], states: NDArray[Any]) -> None:
    """Raise an error if a function of an array model does not say something of each state."""
    if said.shape[:1] != (len(states),):
        raise ModelError(
            f"{name} of an array model given {len(states)} states must return something for each, "
            f"got an array of shape {said.shape}",
            state=states,
        )


def ask(name: str, function: Any, states: NDArray[Any]) -> Any:
    """What a function of an array model says of some states; its failures say where."""
    try:
        return function(states)
    except Exception as error:
        raise ModelError(
            f"the model's {name} raised {worded(error)} (for {len(states)} "
            f"states, the first {brief(states[0])}); the original traceback is above",
            state=states,
        ) from error


def _plain(action: Any) -> Any:
    return action.item() if np.ndim(action) == 0 else action
