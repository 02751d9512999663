"""Models from Gymnasium environments."""

from __future__ import annotations

import copy
import importlib
import itertools
import os
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from platypoos.checks import check_count
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, Transition
from platypoos.models.families import METHODS, ToyText, native_keeper
from platypoos.models.snapshots import DeepCopyKeeper, Keeper, ReplayKeeper
from platypoos.models.trial import is_random, restores

MOST_ACTIONS = 256
"""The most actions that are enumerated."""
_HIGHWAY = (
    "highway-", "merge-", "roundabout-", "parking-", "intersection-", "racetrack-", "exit-",
    "two-way-", "u-turn-", "lane-keeping-",
)  # fmt: skip
_PROVIDERS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("ALE/",), "ale_py", "atari"),
    (("MiniGrid-", "BabyAI-"), "minigrid", "minigrid"),
    (_HIGHWAY, "highway_env", "highway"),
)
"""Ids start with; are made known by this package; which this extra installs."""
_OWN_EXTRAS = {"mujoco": "mujoco", "box2d": "box2d", "classic_control": "gym", "toy_text": "gym"}


class GymnasiumModel:
    """A Gymnasium environment as a model.

    Its state is saved and restored natively (classic control, toy text, MuJoCo, Atari, MiniGrid,
    highway-env, and what :func:`~platypoos.register_family` added), else by a deep copy if a short
    trial shows that copies go on as the original does, else by taking all steps since the reset
    again. ``platypoos.check_simulator`` proves it, and tells what it costs.

    Where the dynamics are random, or states are replayed, access is RESET. A time limit is no
    terminal state. Randomness that a step draws from the environment's ``np_random`` comes from
    the planner's generator.

    Args:
        env: the environment's id, an environment, or a function that makes one. An environment
            that was reset is planned from where it is; planning moves it.
        seed: for the first state; 0 if left out.
        actions: a list of actions to choose from, or for a continuous box the number of evenly
            spaced values of each coordinate. Discrete spaces need none.
        repeat: how many times a chosen action is taken in the environment; rewards add up.
        method: "native", "deepcopy" or "replay", to force it. What is forced is not tried first.
        **options: passed on to ``gymnasium.make``.

    Attributes:
        family, method: the kind of environment, and how it is restored.
        replayed: steps taken again to restore states, beside the calls of planners.

    >>> import platypoos as pp
    >>> model = pp.GymnasiumModel("CartPole-v1")
    >>> pp.control(model, budget=2_000, steps=5, discount=0.8, seed=0).rewards
    (1.0, 1.0, 1.0, 1.0, 1.0)
    """

    def __init__(
        self,
        env: Any,
        seed: int | None = None,
        actions: Sequence[Any] | int | None = None,
        repeat: int = 1,
        method: str | None = None,
        **options: Any,
    ) -> None:
        gymnasium = _gymnasium()
        check_count("repeat", repeat)
        if method not in (None, "native", *METHODS):
            raise InvalidArgument(f"method must be native, deepcopy or replay, got {method!r}")
        self._recipe = (env, seed, actions, repeat, method, options)
        made = make_environment(env, options)
        spec = getattr(made, "spec", None)
        self.name = str(spec.id) if spec is not None else type(made.unwrapped).__name__
        self.forced = method is not None
        self.seed = 0 if seed is None else seed
        self.repeat = repeat
        self.actions = list_actions(made, actions, gymnasium)
        self.num_actions = len(self.actions)
        self.access = Access.RESTORE
        self._painter: Keeper | None = None
        self._live: Any = None  # the snapshot of the state that the environment is in
        under_way = seed is None and isinstance(env, gymnasium.Env) and _was_reset(env)
        if not under_way:
            made.reset(seed=self.seed)
        self.keeper = self._choose(made, method, under_way)
        self.family, self.method = self.keeper.family, self.keeper.method
        self.initial_state = self.keeper.save()
        self._set_up_access()

    def _choose(self, env: Any, method: str | None, under_way: bool) -> Keeper:
        keeper = None if method in METHODS else native_keeper(env)
        if keeper is None and method == "native":
            raise InvalidArgument(
                f"{type(env.unwrapped).__name__} is of no family that is known; leave out method, "
                "or tell how it is saved and restored with platypoos.register_family"
            )
        if keeper is None and method is None:
            keeper = DeepCopyKeeper(env)
            if not restores(keeper, self.actions):
                keeper = None
        if keeper is None:
            keeper = METHODS[method or "replay"](env)
        if isinstance(keeper, ReplayKeeper):
            if under_way:
                raise InvalidArgument(
                    f"{type(env.unwrapped).__name__} can only be restored by a replay from its "
                    "reset, so planning cannot start where it is; pass seed=, to start there"
                )
            keeper.reset(self.seed)
        return keeper

    def _set_up_access(self) -> None:
        keeper = self.keeper
        if isinstance(keeper, ToyText) and self.repeat == 1:
            self._table = keeper.table()
            if self._table is not None:
                self._set_up_table()
                return
        step = keeper.direct(self.actions) if self.repeat == 1 else None
        if step is not None:
            self.step = step  # type: ignore[method-assign]
            return
        if isinstance(keeper, ReplayKeeper) or getattr(keeper, "sticky", 0) > 0:
            self.access = Access.RESET
        elif not self.forced:
            if is_random(keeper, self.initial_state, self.actions):
                self.access = Access.RESET
            keeper.restore(self.initial_state)

    def _set_up_table(self) -> None:
        """Toy text: transitions by a table, which also lists what may happen."""
        self.initial_state = int(self.keeper.core.s)
        rows = [row for by_action in self._table.values() for row in by_action.values()]
        self.max_successors = max(len(row) for row in rows)
        if self.max_successors > 1:
            self.access = Access.RESET
        self.step = self._step_in_table  # type: ignore[method-assign]
        self.successors = self._successors

    @property
    def env(self) -> Any:
        """The environment that is planned with."""
        return self.keeper.env

    @property
    def replayed(self) -> int:
        """Steps taken again to restore states."""
        return self.keeper.replayed

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Put the environment into ``state`` and take an action."""
        keeper = self.keeper
        if state is not self._live:
            keeper.restore(state)
        self._live = None
        total, terminated = 0.0, False
        chosen = self.actions[action]
        for _ in range(self.repeat):
            _, reward, terminated = keeper.step(chosen, rng)
            total += reward
            if terminated:
                break
        self._live = after = keeper.save()
        return Transition(after, total, bool(terminated))

    def _step_in_table(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        listed = self._table[state][self.actions[action]]
        chosen = 0
        if len(listed) > 1:
            chosen = int(rng.choice(len(listed), p=[entry[0] for entry in listed]))
        _, after, reward, terminated = listed[chosen]
        return Transition(int(after), float(reward), bool(terminated))

    def _successors(self, state: Any, action: int) -> list[tuple[float, Any, float, bool]]:
        """(probability, state, reward, terminated) of all that may happen."""
        listed = self._table[state][self.actions[action]]
        return [(float(p), int(s), float(r), bool(e)) for p, s, r, e in listed]

    def save(self) -> Any:
        """The state the environment is in now, to plan from: ``plan(model, model.save(), …)``."""
        saved = self.keeper.save()
        return int(saved["s"]) if hasattr(self, "successors") else saved

    def restore(self, state: Any) -> None:
        """Put the environment into a state, say to act in it after a plan."""
        self._live = None
        self.keeper.restore({"s": state} if hasattr(self, "successors") else state)

    def render(self, state: Any) -> Any:
        """A picture of a state: an array of height, width and RGB."""
        if self.keeper.can_render():
            if state is not self._live:
                self.restore(state)
                self._live = state
            return self._frame(self.keeper)
        if self._painter is None:
            self._painter = self._make_painter()
        if hasattr(self, "successors"):
            state = {"s": state}
        self._painter.restore(state)
        return self._frame(self._painter)

    @property
    def frames_per_second(self) -> float:
        """How fast a film of it shows real time."""
        rate = (getattr(self.env.unwrapped, "metadata", None) or {}).get("render_fps")
        return (rate or 20.0) / self.repeat

    def _frame(self, keeper: Keeper) -> Any:
        try:
            frame = keeper.render()
        except Exception as error:
            hint = " (without a screen set MUJOCO_GL to egl or osmesa)"
            hint = hint if self.family == "MuJoCo" else ""
            raise InvalidArgument(f"{self.name} cannot be rendered: {error}{hint}") from error
        if not isinstance(frame, np.ndarray):
            raise InvalidArgument(f"{self.name} rendered no picture, but {type(frame).__name__}")
        return frame

    def _make_painter(self) -> Keeper:
        """A second environment that renders; the one that is planned with is faster without."""
        env, _, _, _, _, options = self._recipe
        recipe = self.env.spec if env is self.env or not isinstance(env, str) else env
        if recipe is None:
            raise InvalidArgument(
                f"{self.name} cannot be rendered: make it with render_mode='rgb_array'"
            )
        os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # else Ctrl-C is SDL's
        if not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # else SDL complains of no screen
            os.environ.setdefault("MUJOCO_GL", "egl")
        made = make_environment(recipe, {**options, "render_mode": "rgb_array"})
        made.reset(seed=self.seed)
        keeper = METHODS[self.method](made) if self.method in METHODS else native_keeper(made)
        if keeper is None or isinstance(keeper, DeepCopyKeeper):
            raise InvalidArgument(
                f"{self.name} cannot be rendered: make it with render_mode='rgb_array'"
            )
        return keeper

    def __reduce__(self) -> tuple[Any, ...]:
        env, seed, actions, repeat, method, options = self._recipe
        if not isinstance(env, str):
            try:
                pickle.dumps(env)
            except Exception:
                if getattr(env, "spec", None) is None:
                    raise
                env = env.spec
        seed = self.seed if seed is None else seed
        return _rebuild, (env, seed, actions, repeat, method, options, self.initial_state)


def _rebuild(
    env: Any, seed: Any, actions: Any, repeat: int, method: Any, options: Any, start: Any
) -> GymnasiumModel:
    model = GymnasiumModel(env, seed, actions, repeat, method, **options)
    model.initial_state = start
    return model


def _gymnasium() -> Any:
    try:
        import gymnasium
    except ImportError as error:
        raise InvalidArgument(
            "GymnasiumModel needs Gymnasium: pip install 'platypoos[gym]'"
        ) from error
    return gymnasium


def make_environment(env: Any, options: dict[str, Any]) -> Any:
    """An environment from its id, its specification, or a function; or itself."""
    gymnasium = _gymnasium()
    if isinstance(env, gymnasium.Env):
        if options:
            raise InvalidArgument(
                f"{', '.join(options)}: options are for environments made from their id; this one "
                "is made already"
            )
        return env
    if callable(env) and not hasattr(env, "entry_point"):
        made = env(**options)
        if not isinstance(made, gymnasium.Env):
            raise InvalidArgument(f"env() must return an environment, got {made!r}")
        return made
    if not isinstance(env, str) and not hasattr(env, "entry_point"):
        raise InvalidArgument(
            f"env must be an id such as 'CartPole-v1', an environment or a function that makes "
            f"one, got {env!r}"
        )
    name = env if isinstance(env, str) else env.id
    _make_known(name)
    try:
        return gymnasium.make(env, **{"disable_env_checker": True, **options})
    except gymnasium.error.DependencyNotInstalled as error:
        where = str(getattr(gymnasium.spec(name), "entry_point", ""))
        extra = next((e for part, e in _OWN_EXTRAS.items() if f".{part}" in where), "all")
        raise InvalidArgument(
            f"{name} needs more than is installed: pip install 'platypoos[{extra}]' ({error})"
        ) from error
    except Exception as error:  # unknown ids, options that are not taken, missing files, …
        raise InvalidArgument(f"Gymnasium cannot make {name!r}: {error}") from error


def _make_known(name: str) -> None:
    """Import the package that registers an id."""
    for prefixes, package, extra in _PROVIDERS:
        if name.startswith(prefixes):
            try:
                module = importlib.import_module(package)
            except ImportError as error:
                raise InvalidArgument(
                    f"{name} needs {package}: pip install 'platypoos[{extra}]'"
                ) from error
            if extra == "atari":
                module.ALEInterface.setLoggerMode(module.LoggerMode.Error)


def _was_reset(env: Any) -> bool:
    """Whether an environment that was passed is under way."""
    while hasattr(env, "unwrapped"):
        if type(env).__name__ == "OrderEnforcing":
            return bool(env.has_reset)
        if env is env.unwrapped:
            return getattr(env, "_np_random", None) is not None
        env = env.env
    return False


def list_actions(env: Any, actions: Any, gymnasium: Any) -> list[Any]:
    """The actions to choose from, checked."""
    space, spaces = env.action_space, gymnasium.spaces
    if isinstance(space, spaces.Box) and _is_count(actions):
        return _grid(space, int(actions))
    if actions is None or _is_count(actions):
        if _is_count(actions):
            raise InvalidArgument(
                f"actions={actions} is a number of values for a continuous box, but the actions "
                f"are {space}; leave it out"
            )
        listed = _enumerate(space, spaces)
        if listed is None:
            raise InvalidArgument(
                f"the actions of {type(env.unwrapped).__name__} are {space}; pass the ones to "
                "choose from, such as actions=5 (values of each coordinate) or a list of actions"
            )
        return listed
    if isinstance(actions, str) or not hasattr(actions, "__len__") or not len(actions):
        raise InvalidArgument(f"actions must be a list of actions or a number, got {actions!r}")
    chosen = [_as_action(action, space, spaces) for action in actions]
    for given, action in zip(actions, chosen, strict=True):
        if not space.contains(action):
            raise InvalidArgument(f"the action {given!r} is not in {space}")
    return chosen


def some_actions(env: Any) -> list[Any]:
    """A few actions of an environment, whatever its space: to try it, not to plan with."""
    try:
        return list_actions(env, None, _gymnasium())
    except InvalidArgument:
        space = copy.deepcopy(env.action_space)
        space.seed(0)
        return [space.sample() for _ in range(16)]


def _is_count(actions: Any) -> bool:
    return isinstance(actions, int | np.integer) and not isinstance(actions, bool)


def _as_action(action: Any, space: Any, spaces: Any) -> Any:
    if isinstance(space, spaces.Discrete):
        return int(action) if float(action).is_integer() else action
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return np.asarray(action, space.dtype)
    return action


def _grid(space: Any, count: int) -> list[Any]:
    size = int(np.prod(space.shape))
    if count < 2:
        raise InvalidArgument(f"actions must be at least 2 values of each coordinate, got {count}")
    _check_number(count**size, f"{count} values for each of {size} coordinates")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise InvalidArgument(f"{space} has no bounds to divide evenly; pass a list of actions")
    values = [
        np.linspace(low, high, count)
        for low, high in zip(space.low.ravel(), space.high.ravel(), strict=True)
    ]
    return [
        np.asarray(point, space.dtype).reshape(space.shape) for point in itertools.product(*values)
    ]


def _enumerate(space: Any, spaces: Any) -> list[Any] | None:
    """All actions of a finite space."""
    if isinstance(space, spaces.Discrete):
        return list(range(int(space.start), int(space.start) + int(space.n)))
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        counts = np.broadcast_to(getattr(space, "nvec", 2), space.shape).ravel()
        start = np.broadcast_to(getattr(space, "start", 0), space.shape).ravel()
        _check_number(int(np.prod(counts.astype(object))), f"all combinations of {space}")
        return [
            (np.asarray(point) + start).astype(space.dtype).reshape(space.shape)
            for point in itertools.product(*(range(int(count)) for count in counts))
        ]
    if isinstance(space, spaces.Tuple):
        parts = [_enumerate(part, spaces) for part in space.spaces]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        _check_number(int(np.prod([len(part) for part in known], dtype=object)), str(space))
        return list(itertools.product(*known))
    return None


def _check_number(number: int, what: str) -> None:
    if number > MOST_ACTIONS:
        raise InvalidArgument(
            f"{what}: {number} actions, more than {MOST_ACTIONS}; pass a list of the ones to "
            "choose from, actions=[…]"
        )
