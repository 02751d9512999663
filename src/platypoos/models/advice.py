"""What a model can say of a state beside its step: legal actions, a value, a policy.

All three are optional. A sampler asks the model and keeps the answers node by node, in the arrays
of an ``Advice``; planners read the arrays. Without an answer the arrays have no rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import LARGEST_REWARD
from platypoos.compiled.code.marks import jitable
from platypoos.errors import MaskError, ModelError
from platypoos.models.base import actions_of, said_of_one
from platypoos.models.failures import brief, worded
from platypoos.spaces import Space

UNASKED = 2
"""First entry of a row of ``Advice.legal``: the model was not asked yet."""
NO_HORIZON = 1 << 40

Mask = NDArray[np.uint8]


class Advice(NamedTuple):
    """What the model said of the states that nodes lead to."""

    legal: NDArray[np.uint8]  # [nodes, actions] 1 if the action is legal; no rows: all are
    worth: NDArray[np.float64]  # [nodes] value of the state, 0 after an end; or empty


def make_advice(nodes: int, num_actions: int, masked: bool, valued: bool) -> Advice:
    """Nothing was asked yet."""
    legal = np.full((nodes if masked else 0, num_actions), UNASKED, np.uint8)
    return Advice(legal, np.zeros(nodes if valued else 0))


def kept(advice: Advice, nodes: NDArray[np.int64], capacity: int) -> Advice:
    """The advice for a tree that has these nodes only, in this order."""
    masked, valued = len(advice.legal) > 0, len(advice.worth) > 0
    larger = make_advice(capacity, advice.legal.shape[1], masked, valued)
    if masked:
        larger.legal[: len(nodes)] = advice.legal[nodes]
    if valued:
        larger.worth[: len(nodes)] = advice.worth[nodes]
    return larger


def adopt_advice(advice: Advice, other: Advice, nodes: NDArray[np.int64]) -> None:
    """Let the first nodes have what was said of these nodes of another tree."""
    if len(advice.legal):
        advice.legal[: len(nodes)] = other.legal[nodes]
    if len(advice.worth):
        advice.worth[: len(nodes)] = other.worth[nodes]


@jitable
def is_legal(legal: NDArray[np.uint8], node: int, action: int) -> bool:
    """Whether an action may be taken after a node, as far as is known."""
    return len(legal) == 0 or legal[node, 0] == UNASKED or legal[node, action] == 1


@jitable
def count_legal(legal: NDArray[np.uint8], node: int, num_actions: int) -> int:
    """How many actions may be taken after a node, as far as is known."""
    if len(legal) == 0 or legal[node, 0] == UNASKED:
        return num_actions
    count = 0
    for action in range(num_actions):
        if legal[node, action] == 1:
            count += 1
    return count


@jitable
def legal_action(legal: NDArray[np.uint8], node: int, number: int) -> int:
    """The action after ``number`` other legal ones."""
    if len(legal) == 0 or legal[node, 0] == UNASKED:
        return number
    action, left = -1, np.int64(number)  # signed: compiled code may have drawn it unsigned
    while left >= 0:
        action += 1
        left -= np.int64(legal[node, action])
    return action


@jitable
def random_unit(seed: int, count: int) -> float:
    """A pseudo-random number in [0, 1): a hash of two numbers, the same in compiled code."""
    z = (seed + count * 0x9E3779B9) & 0xFFFFFFFF
    z = ((z ^ (z >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    z = ((z ^ (z >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    return (z ^ (z >> 16)) / 4294967296.0


@jitable
def pick(weights: NDArray[Any], unit: float) -> int:
    """An action drawn by its weight; ``unit`` is uniform in [0, 1)."""
    total = 0.0
    for action in range(len(weights)):
        total += weights[action]
    target, running, last = unit * total, 0.0, -1
    for action in range(len(weights)):
        if weights[action] > 0:
            running += weights[action]
            last = action
            if target < running:
                break
    return last


def draw_seed(rng: np.random.Generator) -> int:
    """A seed that depends on the generator and leaves it as it is."""
    return zlib.crc32(repr(rng.bit_generator.state).encode())


class Advisor:
    """Asks a Python model about single states, and checks what it says."""

    def __init__(self, model: Any) -> None:
        self.actions = actions_of(model)
        self.num_actions = self.actions.n if self.actions.is_finite else 0
        self._legal = said_of_one(model, "legal")
        self._value = said_of_one(model, "value")
        self._policy = said_of_one(model, "policy")
        self.masked = self._legal is not None
        self.valued = self._value is not None
        self.guided = self._policy is not None

    def mask(self, state: Any) -> Mask:
        """Which actions are legal in a state; an error if none is."""
        return checked_mask(_asked("legal", self._legal, state), self.actions, state)

    def value(self, state: Any) -> float:
        """What the model says that a state is worth."""
        said = _asked("value", self._value, state)
        try:
            value = float(said)
        except (TypeError, ValueError, OverflowError):
            value = float("nan")
        if not -LARGEST_REWARD <= value <= LARGEST_REWARD:
            raise ModelError(
                f"the model's value must return a finite number, {LARGEST_REWARD:g} at most, got "
                f"{brief(said)} (at state {brief(state)})",
                state=state,
            )
        return value

    def weights(self, state: Any, mask: Mask | None) -> NDArray[np.float64]:
        """The policy's weights of the legal actions; equal ones if it gives them none."""
        said = _asked("policy", self._policy, state)
        return checked_weights(said, self.actions, mask, state)

    def check_policy(self, state: Any) -> None:
        """Ask the policy once; an error if what it says is no action, and no weights."""
        if self.actions.is_finite:
            self.weights(state, None)
            return
        said = _asked("policy", self._policy, state)
        if said not in self.actions:
            raise ModelError(
                f"the model's policy must return an action of {self.actions}, got {brief(said)} "
                f"(at state {brief(state)})",
                state=state,
            )


def _asked(name: str, function: Any, state: Any) -> Any:
    try:
        return function(state)
    except ModelError:
        raise  # a view of the model has looked at what it said
    except Exception as error:
        raise ModelError(
            f"the model's {name} raised {worded(error)} (at state {brief(state)}); the original "
            "traceback is above",
            state=state,
        ) from error


def checked_mask(said: Any, actions: Space, state: Any) -> Mask:
    """A mask from what ``legal`` returned: booleans for all actions, or the legal actions."""
    if isinstance(said, set | frozenset | Iterator):
        said = list(said)
    try:
        given = np.asarray(said)
    except ValueError:
        given = np.empty(0, object)
    place = f" (at state {brief(state)})"
    what = "the numbers of the legal actions" if actions.is_numbered else "the legal actions"
    wanted = f"legal must return {actions.n} booleans or {what}"
    if given.dtype == np.bool_ and (given.shape == (actions.n,) or actions.is_numbered):
        if given.shape != (actions.n,):
            raise MaskError(f"{wanted}, got {brief(said)}{place}", state=state)
        mask = given.astype(np.uint8)
    else:
        if actions.is_numbered:
            if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
                raise MaskError(f"{wanted}, got {brief(said)}{place}", state=state)
            numbers = given.astype(np.int64)
            outside = bool(((numbers < 0) | (numbers >= actions.n)).any())
            wanted += f", 0 to {actions.n - 1}"
        else:
            found = _find_all(said, actions)
            numbers = np.array([place for place in found if place is not None], np.int64)
            outside = None in found
            wanted += f", of {actions}"
        if outside:
            raise MaskError(f"{wanted}, got {brief(said)}{place}", state=state)
        mask = np.zeros(actions.n, np.uint8)
        mask[numbers] = 1
        if mask.sum() != len(numbers):
            raise MaskError(
                f"legal named an action twice, {brief(said)}; if this is a mask, make it of "
                f"booleans{place}",
                state=state,
            )
    if not mask.any():
        raise no_legal_action(state)
    return mask


def _find_all(said: Any, actions: Space) -> list[int | None]:
    """The places of the actions that ``legal`` named; None for what is no action."""
    if isinstance(said, str) or not isinstance(said, Iterable):
        return [None]
    return [actions.index(action) if action in actions else None for action in said]


def no_legal_action(state: Any) -> MaskError:
    """The error for a state that is no end and allows nothing."""
    return MaskError(
        "no action is legal in a state where the episode has not ended; let step return "
        f"terminated=True there, or name a legal action (at state {brief(state)})",
        state=state,
    )


def checked_weights(
    said: Any, actions: Space, mask: Mask | None, state: Any
) -> NDArray[np.float64]:
    """Weights of the legal actions, from what ``policy`` returned: an action, or weights."""
    legal = np.ones(actions.n) if mask is None else mask
    if said in actions:
        weights = np.zeros(actions.n)
        weights[actions.index(said)] = 1.0
    else:
        try:
            weights = np.array(said, np.float64)
        except (TypeError, ValueError, OverflowError):
            weights = np.empty(0)
    if weights.shape != (actions.n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ModelError(
            f"the model's policy must return an action of {actions}, or {actions.n} finite weights "
            f"of at least 0, got {brief(said)} (at state {brief(state)})",
            state=state,
        )
    weights = weights * legal
    return weights if weights.any() else legal.astype(np.float64)
