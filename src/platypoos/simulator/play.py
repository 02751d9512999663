"""The loop that calls the model: what this thread runs, and what a worker runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import iter_unpack
from typing import Any

import numpy as np

from platypoos.checks import LARGEST_REWARD, as_number
from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.base import Reward
from platypoos.models.failures import NOTHING, as_flag, bad_reward, explained, located
from platypoos.simulator.asking import Legal, Rule, contains
from platypoos.simulator.requests import IfLegal, Replies, Request, Walk
from platypoos.simulator.streams import RunningStream, Stream

_LOW, _HIGH = -LARGEST_REWARD, LARGEST_REWARD
_RULE: Any = object()
"""In place of an action: the rule chooses."""
_STOP: Any = object()
"""In place of an action: it is not legal, and the walk stops."""
_ONCE = (None,)  # faster to go through than range(1)
_CHOOSING: Any = object()
"""In place of a result: the next step has not been made yet."""


def play(
    step: Callable[[Any, Any, np.random.Generator], Any],
    legal: Legal | None,
    rule: Rule | None,
    batch: Sequence[Request],
    words: bytes,
    stream: Stream | RunningStream,
    replies: Replies,
    due: Callable[[int], bool] | None = None,
) -> int:
    """Play requests and add the walks of each to ``replies``; returns the calls made.

    An action that is not legal is replaced by a random legal one, or stops the walk (``IfLegal``).
    A failure leaves the steps before it in ``replies``; ``error.calls`` are the calls made, the
    failing one included.

    Args:
        step: the model's step.
        legal: the legal actions in a state, or None.
        rule: chooses after the actions of a request, or None.
        batch: what to play.
        words: where the random stream of each request starts, 16 bytes each.
        stream: the generator that is put there.
        replies: where the walks go.
        due: told the calls made, says whether to stop. The first call is always made.
    """
    seed, rng = stream.start, stream.rng
    first = len(replies)
    made = 0
    state: Any = None
    action: Any = None
    result: Any = _CHOOSING
    try:
        for (start, actions, steps, times), (word,) in zip(
            batch, iter_unpack("16s", words), strict=True
        ):
            seed(word)
            walks: list[Walk] = []
            replies.append(walks)
            chooses = legal is not None
            if steps != len(actions):
                if steps > len(actions):
                    if rule is None:
                        result = _CHOOSING
                        raise _no_rule(steps, actions)
                    chooses = True
                actions = [*actions[:steps], *[_RULE] * (steps - len(actions))]  # noqa: PLW2901
            for _ in _ONCE if times == 1 else range(times):
                state = start
                walk: Walk = []
                walks.append(walk)
                for action in actions:
                    if due is not None:
                        result = _CHOOSING
                        if (made or walk) and due(made + len(walk)):
                            if not walk:
                                walks.pop()
                            return made + len(walk)
                    if chooses:
                        result = _CHOOSING
                        action = _choose(legal, rule, state, action, rng)  # noqa: PLW2901
                        if action is _STOP:
                            break
                    result = NOTHING
                    result = step(state, action, rng)
                    after, reward, ended = result
                    if reward.__class__ is not float and reward.__class__ is not Reward:
                        reward = as_number(reward)
                        if _LOW <= reward <= _HIGH:
                            reward = float(reward)
                    if not _LOW <= reward <= _HIGH:
                        raise bad_reward(reward, state, action)
                    if ended is not False and ended is not True:
                        ended = as_flag(ended)
                    walk.append((action, after, reward, ended))
                    if ended:
                        break
                    state = after
                made += len(walk)
    except BaseException as error:  # noqa: BLE001  it is raised again, with what was learned
        called = result is not _CHOOSING
        failure: BaseException = error
        if isinstance(error, ModelError):
            failure = located(error, state, action) if called else error
        elif isinstance(error, Exception) and called:
            failure = explained(error, state, action, result)
            failure.__cause__ = error
        if replies[first:] and replies[-1] and not replies[-1][-1]:
            replies[-1].pop()
        made = calls_in(replies[first:]) + called
        failure.calls = made  # type: ignore[attr-defined]
        raise failure from failure.__cause__
    return made


def _no_rule(steps: int, actions: Sequence[Any]) -> InvalidArgument:
    return InvalidArgument(
        f"a request for {steps} steps names {len(actions)} actions, and the model has no policy "
        "to choose the others"
    )


def _choose(
    legal: Legal | None, rule: Rule | None, state: Any, planned: Any, rng: np.random.Generator
) -> Any:
    """The action to play: the planned one if it is legal, or the rule's."""
    allowed = None if legal is None else legal(state)
    if planned is _RULE:
        assert rule is not None  # noqa: S101  the request was refused otherwise
        return rule(state, allowed)
    if type(planned) is IfLegal:
        is_legal = allowed is None or contains(allowed, planned.action)
        return planned.action if is_legal else _STOP
    if allowed is None or contains(allowed, planned):
        return planned
    return allowed[int(rng.random() * len(allowed))]


def calls_in(replies: Replies) -> int:
    """The steps of all walks."""
    return sum(len(walk) for walks in replies for walk in walks)


def drop_states(replies: Replies) -> None:
    """Keep the last state of each walk only: with Access.RESET nobody can start from the others."""
    for walks in replies:
        for walk in walks:
            last = walk[-1:]
            walk[:] = [(action, None, reward, ended) for action, _, reward, ended in walk]
            walk[-1:] = last
