"""Odd models for the fuzzer: small random tables that count for themselves, and fail on demand.

A :class:`World` is data and never changes. ``Running`` is one use of it: it counts calls, and has
the model in one of four forms.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numba
import numpy as np
from fuzz_states import FORMS, Form

import platypoos as pp

SCALES = (0.0, 1.0, 1.0, 1.0, 1e-300, 5e-324, 1e-9, 1e9, 1e99, 1e99, 1e300)
KINDS = ("python", "class", "array", "compiled")


class Unprintable(Exception):
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Demanding(Exception):
    """An error that cannot be made from its arguments, so it cannot be pickled."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


RAISED: tuple[Callable[[], BaseException], ...] = (
    lambda: ValueError("no"), lambda: KeyError("key"), ZeroDivisionError, StopIteration,
    lambda: RecursionError("deep"), lambda: MemoryError("full"), AssertionError, TimeoutError,
    CancelledError, lambda: UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), Unprintable,
    lambda: Demanding("a", "b"), lambda: pp.errors.BudgetExceeded("not ours"),
    lambda: pp.InvalidArgument("not ours"), lambda: pp.ModelError("of a model"),
    lambda: BaseExceptionGroup("some", [ValueError("one")]), lambda: Warning("a warning"),
    lambda: TypeError("step() takes 2 positional arguments"),
)  # fmt: skip
"""What a step may raise: all of it is wrapped."""
ABRUPT: tuple[Callable[[], BaseException], ...] = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends programs: it is passed on as it is."""
REWARDS: tuple[Any, ...] = (
    float("nan"), float("inf"), float("-inf"), None, "much", 1j, [1.0], [], {}, 10**400,
    np.array([1.0, 2.0]), np.nan, object(), np.float32("nan"), -(10**400),
)  # fmt: skip
"""Rewards that are none."""
ODD_REWARDS: tuple[Any, ...] = (True, np.float32(0.5), np.int8(3), Fraction(1, 3), 7, -0.0)
"""Rewards that are fine, whatever they are made of."""
RESULTS: tuple[Any, ...] = (None, 1.0, (), (0, 1.0), (0, 1.0, False, {}), "ab", {}, iter(()))
FLAGS: tuple[Any, ...] = (None, "", 2, 1.0, float("nan"), [], "yes", np.array([True, False]))
MASKS: tuple[Any, ...] = (
    None, (), [], [-1], [99], [0, 0], "0", [0.5], [[0]], 3, [None], [True], {0: 1}, [2**70],
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (None, "x", float("nan"), float("inf"), [], [1.0, 2.0], 10**400, 1j)


@dataclass(frozen=True)
class Fault:
    """What goes wrong at one call; ``kind`` is empty if nothing does."""

    kind: str = ""
    at: int = 0
    number: int = 0

    @property
    def must_be_told(self) -> bool:
        """Whether planning must end with a ModelError once it has happened."""
        return self.kind in {"raise", "reward", "result", "flag"}


def made(kinds: tuple[Callable[[], BaseException], ...], fault: Fault) -> BaseException:
    """The exception that a fault raises."""
    return kinds[fault.number % len(kinds)]()


@dataclass(frozen=True)
class World:
    """A random table, and how it is shown to a planner."""

    kind: str
    form: Form
    after: Any
    rewards: Any
    ends: Any
    masks: Any
    noise: float
    says: tuple[str, ...]
    access: str
    fault: Fault

    @property
    def is_too_large(self) -> bool:
        """Whether rewards may be beyond what is taken for a number."""
        return bool(abs(self.rewards).max() + 10 * self.noise > 1e100)

    def __str__(self) -> str:
        shape = f"{self.after.shape[0]} states, {self.after.shape[1]} actions"
        return (
            f"{self.kind} ({self.form.name}), {shape}, noise {self.noise:g}, rewards up to "
            f"{abs(self.rewards).max():g}, says {self.says}, {self.access}, {self.fault}"
        )


def make_world(draw: random.Random, kinds: tuple[str, ...] = KINDS) -> World:
    """A random world, as a model of one of these kinds."""
    kind = draw.choice(kinds)
    states, actions = draw.randint(1, 6), draw.choice((1, 2, 2, 3, 3, 4, 7))
    spread, lean = draw.choice(SCALES), draw.choice((-1.0, 0.0, 0.0, 1.0))
    rewards = [
        [spread * max(-1.0, min(1.0, draw.uniform(-1, 1) + lean)) for _ in range(actions)]
        for _ in range(states)
    ]
    if draw.random() < 0.1:
        rewards = [[draw.choice(SCALES) * draw.choice((-1, 1)) for _ in row] for row in rewards]
    ends = draw.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    masked = draw.random() < 0.35
    masks = [[draw.random() < 0.6 for _ in range(actions)] for _ in range(states)]
    for row in masks:
        row[draw.randrange(actions)] = True  # something is legal everywhere
    says = ["legal"] if masked else []
    says += [name for name in ("value", "policy") if draw.random() < 0.15]
    if kind == "compiled":  # each combination is compiled by itself
        says = draw.choice(([], [], ["legal"], ["legal", "value", "policy"]))
        masked = bool(says)
    elif kind != "array":
        says += [name for name in ("key", "features") if draw.random() < 0.1]
    noisy = draw.random() < 0.4
    return World(
        kind=kind,
        form=FORMS[draw.randrange(len(FORMS))] if draw.random() < 0.5 else FORMS[0],
        after=np.array([[draw.randrange(states) for _ in range(actions)] for _ in range(states)]),
        rewards=np.array(rewards),
        ends=np.array([[draw.random() < ends for _ in range(actions)] for _ in range(states)]),
        masks=np.array(masks) if masked else np.ones((states, actions), np.bool_),
        noise=draw.choice((1.0, 1e-3, 100.0)) * min(spread, 1e300) if noisy else 0.0,
        says=tuple(says),
        access=draw.choice(("restore", "restore", "reset")),
        fault=make_fault(draw, kind),
    )


def make_fault(draw: random.Random, kind: str) -> Fault:
    """What goes wrong; nothing in half of all cases."""
    if draw.random() < 0.5:
        return Fault()
    at = draw.choice((1, 1, 2, 3, draw.randint(1, 40), draw.randint(1, 300), 1000))
    kinds = ["raise", "reward", "random ends"]
    if kind != "compiled":
        kinds += ["result", "flag", "random", "legal", "value", "policy"]
        kinds += ["abrupt"] * (draw.random() < 0.3)
    if kind in {"python", "class"}:
        kinds += ["mutate", "odd reward", "key", "features"]
    return Fault(draw.choice(kinds), at, draw.randrange(1000))


class Running:
    """A world in use: ``model`` counts its calls, the illegal ones too."""

    known: ClassVar[dict[int, Running]] = {}
    """Those that may be sent to workers: what arrives there is the same object."""
    made: ClassVar[int] = 0

    def __init__(self, world: World) -> None:
        self.world = world
        Running.made += 1
        self.number = Running.made
        self.counter = np.zeros(4, np.int64)  # calls, illegal calls, faults, questions
        self.model = {
            "python": self._function, "class": self._class, "array": self._array,
            "compiled": self._compiled,
        }[world.kind]()  # fmt: skip

    def __reduce__(self) -> Any:
        return find_running, (self.number,)

    @property
    def calls(self) -> int:
        return int(self.counter[0])

    @property
    def illegal_calls(self) -> int:
        return int(self.counter[1])

    @property
    def failed(self) -> bool:
        """Whether the fault has happened."""
        return bool(self.counter[2])

    def is_legal(self, action: int) -> bool:
        """In the initial state."""
        return 0 <= action < self.world.after.shape[1] and bool(self.world.masks[0, action])

    def _function(self) -> pp.FunctionModel:
        world = self.world
        names = set(world.says)
        if world.fault.kind in {"legal", "value", "policy", "key", "features"}:
            names.add(world.fault.kind)
        said: dict[str, Any] = {name: getattr(self, f"_{name}") for name in names}
        start = world.form.make(0)
        access = pp.Access(world.access)
        return pp.FunctionModel(self._step, world.after.shape[1], start, access=access, **said)

    def _class(self) -> Any:
        inner = self._function()
        said = {n: getattr(inner, n) for n in ("legal", "value", "policy", "key", "features")}
        members: dict[str, Any] = {
            name: staticmethod(f) for name, f in said.items() if f is not None
        }
        members |= {"step": staticmethod(self._step), "actions": inner.actions}
        kind = type("Own", (), {"initial_state": inner.initial_state, **members})
        own = kind()
        own.access = inner.access
        return own

    def _step(self, state: Any, action: int, rng: np.random.Generator) -> Any:
        world, fault = self.world, self.world.fault
        self.counter[0] += 1
        here = world.form.read(state)
        self.counter[1] += not world.masks[here, action]
        after = int(world.after[here, action])
        reward: Any = float(world.rewards[here, action])
        if world.noise:
            reward = float(np.clip(reward + world.noise * rng.normal(), -1.7e308, 1.7e308))
        flag: Any = bool(world.ends[here, action])
        if fault.kind and self.counter[0] >= fault.at:
            self.counter[2] = 1
            if fault.kind == "raise":
                raise made(RAISED, fault)
            if fault.kind == "abrupt":
                raise made(ABRUPT, fault)
            if fault.kind == "result":
                return RESULTS[fault.number % len(RESULTS)]
            if fault.kind == "reward":
                reward = REWARDS[fault.number % len(REWARDS)]
            elif fault.kind == "odd reward":
                reward = ODD_REWARDS[fault.number % len(ODD_REWARDS)]
            elif fault.kind == "flag":
                flag = FLAGS[fault.number % len(FLAGS)]
            elif fault.kind == "random":
                after = int(rng.integers(len(world.after)))
            elif fault.kind == "random ends":
                flag = bool(rng.random() < 0.5)
            elif fault.kind == "mutate":
                world.form.spoil(state, after)
        return world.form.make(after), reward, flag

    def _asked(self, name: str, odd: tuple[Any, ...], answer: Any) -> Any:
        fault = self.world.fault
        self.counter[3] += 1
        if fault.kind == name and self.counter[3] >= min(fault.at, 20):
            self.counter[2] = 1
            if fault.number % 3 == 0:
                raise ValueError(f"no {name}")
            return odd[fault.number // 3 % len(odd)]
        return answer

    def _legal(self, state: Any) -> Any:
        mask = self.world.masks[self.world.form.read(state)]
        return self._asked("legal", MASKS, mask if len(mask) % 2 else np.flatnonzero(mask).tolist())

    def _value(self, state: Any) -> Any:
        return self._asked("value", NUMBERS, float(self.world.form.read(state)))

    def _policy(self, state: Any) -> Any:
        del state
        weights = [1.0] * self.world.after.shape[1]
        return self._asked("policy", (*NUMBERS, [-1.0], [0.0] * len(weights)), weights)

    def _key(self, state: Any) -> Any:
        return self._asked("key", (None, [], {}, np.zeros(2)), self.world.form.read(state))

    def _features(self, state: Any) -> Any:
        return self._asked("features", (None, 3, [[]], [{}], ()), (self.world.form.read(state),))

    def _array(self) -> pp.ArrayModel:
        world = self.world
        said: dict[str, Any] = {}
        if "legal" in world.says or world.fault.kind == "legal":
            said["legal"] = lambda s: self._asked("legal", MASKS, world.masks[s])
        if "value" in world.says or world.fault.kind == "value":
            said["value"] = lambda s: self._asked("value", NUMBERS, s.astype(float))
        if "policy" in world.says or world.fault.kind == "policy":
            ones = np.ones(world.after.shape[1])
            said["policy"] = lambda s: self._asked("policy", NUMBERS, np.tile(ones, (len(s), 1)))
        access = pp.Access(world.access)
        batch = (1, 3, 8192)[world.fault.number % 3]
        return pp.ArrayModel(
            self._steps, world.after.shape[1], np.int64(0), access=access, batch_size=batch, **said
        )

    def _steps(self, states: Any, actions: Any, rng: np.random.Generator) -> Any:
        world, fault = self.world, self.world.fault
        self.counter[0] += len(states)
        self.counter[1] += (~world.masks[states, actions]).sum()
        after, flags = world.after[states, actions], world.ends[states, actions]
        rewards: Any = world.rewards[states, actions]
        if world.noise:
            noise = world.noise * rng.normal(size=len(states))
            rewards = np.clip(rewards + noise, -1.7e308, 1.7e308)
        if fault.kind and self.counter[0] >= fault.at:
            self.counter[2] = 1
            if fault.kind == "raise":
                raise made(RAISED, fault)
            if fault.kind == "abrupt":
                raise made(ABRUPT, fault)
            if fault.kind == "result":
                return RESULTS[fault.number % len(RESULTS)]
            if fault.kind == "reward":
                odd = (np.full(len(states), np.nan), rewards[:-1], None, "x", rewards * 1j)
                rewards = odd[fault.number % len(odd)]
            elif fault.kind == "flag":
                flags = (None, "x", np.zeros(len(states) + 1, bool), 0.5)[fault.number % 4]
            elif fault.kind == "random":
                after = rng.integers(len(world.after), size=len(states))
            elif fault.kind == "random ends":
                flags = rng.random(len(states)) < 0.5
        return after, rewards, flags

    def _compiled(self) -> pp.CompiledModel:
        world, fault = self.world, self.world.fault
        known = {"": 0, "raise": 1, "reward": 2, "random ends": 3}
        told = np.array([known[fault.kind], fault.at, fault.number], np.int64)
        params = (
            world.after, world.rewards, world.noise, world.ends, world.masks, self.counter, told
        )  # fmt: skip
        ours = {"legal": _table_legal, "value": _table_value, "policy": _table_policy}
        said = {name: ours[name] for name in world.says}
        start, access = np.zeros(1, np.int64), pp.Access(world.access)
        return pp.CompiledModel(
            _table_step, world.after.shape[1], start, params, access=access, **said
        )


def find_running(number: int) -> Running:
    """A world that is in use in this process."""
    return Running.known[number]


@numba.njit
def _table_step(state, action, params, rng, next_state):  # type: ignore[no-untyped-def]
    after, rewards, noise, ends, masks, counter, fault = params
    counter[0] += 1
    counter[1] += not masks[state[0], action]
    next_state[0] = after[state[0], action]
    reward, flag = rewards[state[0], action], ends[state[0], action]
    if noise > 0:
        reward = min(max(reward + noise * rng.normal(), -1.7e308), 1.7e308)
    if fault[0] > 0 and counter[0] >= fault[1]:
        counter[2] = 1
        if fault[0] == 1:
            raise ValueError("no")
        if fault[0] == 2:
            reward = np.nan if fault[2] % 2 else np.inf
        if fault[0] == 3:
            flag = rng.random() < 0.5
    return reward, flag


@numba.njit
def _table_legal(state, params, mask):  # type: ignore[no-untyped-def]
    for action in range(len(mask)):
        mask[action] = params[4][state[0], action]


@numba.njit
def _table_value(state, params):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return float(state[0])


@numba.njit
def _table_policy(state, params, weights):  # type: ignore[no-untyped-def]  # noqa: ARG001
    for action in range(len(weights)):
        weights[action] = 1.0 + action
