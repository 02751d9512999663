"""Models from Gymnasium environments."""

from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.models.actions import list_actions
from platypoos.models.base import Access, Transition
from platypoos.models.families import METHODS, ToyText, native_keeper
from platypoos.models.snapshots import DeepCopyKeeper, Keeper, ReplayKeeper, pickled
from platypoos.models.trial import is_random, restores

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
            that was reset is planned from where it is. Planning moves it, unless it is restored
            by deep copies: those are made of it, and it is left alone.
        seed: for the first state; 0 if left out.
        actions: a list of actions to choose from, or for a continuous box the number of evenly
            spaced values of each coordinate. Discrete spaces need none.
        repeat: how many times a chosen action is taken in the environment; rewards add up, without
            a discount (:class:`~platypoos.RepeatedAction` discounts them).
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
        if seed is not None:
            check_seed(seed)
        if method not in (None, "native", *METHODS):
            raise InvalidArgument(f"method must be native, deepcopy or replay, got {method!r}")
        self._recipe = (env, seed, actions, repeat, method, options)
        made = make_environment(env, options)
        spec = getattr(made, "spec", None)
        self.name = str(spec.id) if spec is not None else type(made.unwrapped).__name__
        self.forced = method is not None
        self.seed = 0 if seed is None else seed
        self.repeat = repeat
        self.actions = list_actions(made, actions)
        self.num_actions = len(self.actions)
        self.access = Access.RESTORE
        self._painter: Keeper | None = None
        self._sent: Any = None  # the environment as workers get it
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
            keeper = self._tried_copy(env)
        if keeper is None:
            try:
                keeper = METHODS[method or "replay"](env)
            except Exception as error:
                raise InvalidArgument(f"{self.name} cannot be copied: {error}") from error
        if isinstance(keeper, ReplayKeeper):
            if under_way:
                raise InvalidArgument(
                    f"{self.name} can only be restored by a replay from its reset, so planning "
                    "cannot start where it is; pass seed= to start from a reset, and act with "
                    "control, or with the model's step"
                )
            keeper.reset(self.seed)
        return keeper

    def _tried_copy(self, env: Any) -> Keeper | None:
        """A keeper that copies, if a short trial shows that copies go on as the original."""
        try:
            keeper = DeepCopyKeeper(env)
        except Exception:  # noqa: BLE001  whatever it is, it cannot be copied
            return None
        return keeper if restores(keeper, self.actions) else None

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
            self.calls_per_stream = 1 << 62  # it draws nothing
            return
        if isinstance(keeper, ReplayKeeper) or getattr(keeper, "sticky", 0) > 0:
            self.access = Access.RESET
        elif not (self.forced or (isinstance(keeper, ToyText) and keeper.is_deterministic())):
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

    def key(self, state: Any) -> Any:
        """What tells states apart, for planners that share them; None if nothing does."""
        return state if hasattr(self, "successors") else self.keeper.key(state)

    def save(self) -> Any:
        """The state the environment is in now, to plan from: ``plan(model, model.save(), …)``."""
        if isinstance(self.keeper, ReplayKeeper) and not isinstance(self._recipe[0], str):
            raise InvalidArgument(
                f"{self.name} is restored by a replay, which does not know of steps taken outside "
                "of the model; act with control, or with the model's step"
            )
        saved = self.keeper.current()
        return int(saved["s"]) if hasattr(self, "successors") else saved

    def restore(self, state: Any) -> None:
        """Put the environment into a state, say to act in it after a plan."""
        self._live = None
        self.keeper.restore({"s": state} if hasattr(self, "successors") else state)
        self.keeper.give_back()

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
        env, _, _, repeat, _, options = self._recipe
        if self._sent is None:  # once, so that workers see that it is the same model
            try:
                self._sent = env if isinstance(env, str) else pickled(env)
            except Exception:  # surfaces, locks, local functions, …
                self._sent = getattr(env, "spec", None)
                if self._sent is None:
                    raise
        settings = (self.seed, self.actions, repeat, self.method, self.access, self.initial_state)
        return _rebuild, (self._sent, settings, options)


def _rebuild(sent: Any, settings: tuple[Any, ...], options: dict[str, Any]) -> GymnasiumModel:
    """The model in another process; what was tried when it was made is not tried again."""
    seed, actions, repeat, method, access, start = settings
    env = pickle.loads(sent) if isinstance(sent, bytes) else sent  # noqa: S301  our own bytes
    model = GymnasiumModel(env, seed, actions, repeat, method, **options)
    model.access, model.initial_state = access, start
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
            break
        env = env.env
    if getattr(env, "_np_random", None) is None:
        raise InvalidArgument(
            f"cannot tell whether this {type(env).__name__} was reset; call env.reset(seed=0) "
            "first to plan from where it is, or pass seed=0 or a function that makes one"
        )
    return True
