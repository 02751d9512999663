"""Models from Gymnasium environments."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.models.base import (
    DETERMINISTIC,
    RANDOM,
    Access,
    Transition,
    check_dynamics,
    check_names,
)
from platypoos.models.gymnasium.actions import (
    SOME,
    array_space,
    as_given,
    drawn_actions,
    is_list,
    list_actions,
)
from platypoos.models.gymnasium.cells import Cells
from platypoos.models.gymnasium.families import ToyText
from platypoos.models.gymnasium.making import gymnasium_package, make_environment, was_reset
from platypoos.models.gymnasium.masks import find_masks, has_masks
from platypoos.models.gymnasium.names import name_actions, name_coordinates
from platypoos.models.gymnasium.notes import Notes, as_told, bare, legal_of
from platypoos.models.gymnasium.pictures import make_painter, picture
from platypoos.models.gymnasium.registry import METHODS, is_atari, native_keeper
from platypoos.models.gymnasium.snapshots import DeepCopyKeeper, Keeper, ReplayKeeper, pickled
from platypoos.models.gymnasium.table import Table
from platypoos.models.gymnasium.trial import is_random, restores, step_info
from platypoos.spaces import Discrete, MultiDiscrete, Space

ATARI_LIVES = "end"
"""What the loss of a life is to planning in Atari games, unless it is said."""


class GymnasiumModel:
    """A Gymnasium environment as a model.

    Its state is saved and restored natively (classic control, toy text, MuJoCo, Atari, MiniGrid,
    highway-env, and what :func:`~platypoos.models.register_family` added), else by a deep copy if
    a short trial shows that copies go on as the original does, else by taking all steps since the
    reset again. ``platypoos.check_simulator`` proves it, and tells what it costs.

    Where states are replayed, access is RESET; where the dynamics are random too, except in toy
    text without wrappers (slippery FrozenLake, Blackjack), where the default planner plans in
    closed loop. A time limit is no terminal state. Randomness that a step draws from the
    environment's ``np_random`` comes from the planner's generator, which is never saved.

    Masks are respected: with a method ``action_masks()`` of the environment or a wrapper, or with
    ``info["action_mask"]``, the model has ``legal(state)``. Without them ``legal`` is None.

    Args:
        env: the environment's id, an environment, or a function that makes one. An environment
            that was reset is planned from where it is. Planning moves it, unless it is restored
            by deep copies: those are made of it, and it is left alone.
        seed: for the first state; 0 if left out.
        actions: what to choose from, if not from all actions. A list of actions; or for a
            continuous box a smaller one, ``pp.Box(low, high)``, or the number of evenly spaced
            values of each coordinate, or "sparse" (see :func:`~platypoos.models.sparse_actions`).
            What ``step`` takes: with a list its entries; in a box, and in a MultiDiscrete or
            MultiBinary space of more than 32 actions without masks, arrays; else the numbers of
            the actions, from 0.
        repeat: how many times a chosen action is taken in the environment; rewards add up, without
            a discount (:class:`~platypoos.models.RepeatedAction` discounts them). It stops where
            the action is no longer legal.
        method: "native", "deepcopy" or "replay", to force it. What is forced is not tried first.
        lives: "end" to let a step that loses a life (by ``info["lives"]``) end the episode for
            planning, "ignore" not to. Left out, it is "end" for Atari games only.
        ends: ``ends(info)`` says of the info of a step whether it ends the episode for planning.
            With ``lives`` and ``ends`` acting goes on: ``acting`` is the model to act in.
        key: ``key(state)`` tells states apart, instead of the environment's own way.
        resolution: the width of a cell, or one width for each entry. Two states are taken to be
            the same if ⌊x / resolution⌋ is the same for all entries x of the state (classic
            control) or of the observation (a row of floats). So sequences meet that never would.
            What is given up: a cell stands for all its states, so the dynamics are only
            approximately deterministic. ``check_simulator`` tells how much. Cells should be
            narrower than a step is long.
        features: ``features(state)`` returns a value for each feature, for planners that look for
            new ones. Left out, they are the memory of an Atari game (128 bytes), the cell with
            ``resolution``, the entries of the state in classic control.
        action_names: a text for each action, or for each coordinate where actions are arrays;
            what the environment calls them if left out.
        dynamics: "deterministic" or "random"; what a short trial shows if left out.
        **options: passed on to ``gymnasium.make``.

    Attributes:
        actions: the space of the actions.
        env_actions: what the environment gets for each of them; empty where they are arrays.
        trial_actions: some that the environment can be tried with.
        family, method: the kind of environment, and how it is restored.
        legal: ``legal(state)`` returns the legal actions; None without masks.
        legal_numbers: the same, by their places in ``env_actions``.
        action_names: a text for each action (of arrays, for each coordinate), or None.
        replayed: steps taken again to restore states, beside the calls of planners.

    >>> import platypoos as pp
    >>> model = pp.GymnasiumModel("CartPole-v1")
    >>> pp.control(model, budget=2_000, steps=5, discount=0.8, seed=0).rewards
    (1.0, 1.0, 1.0, 1.0, 1.0)
    >>> pendulum = pp.GymnasiumModel("Pendulum-v1")
    >>> pendulum.actions, pp.plan(pendulum, budget=300, seed=0).action.dtype
    (Box([-2], [2]), dtype('float32'))
    """

    saves_states = True
    """States are snapshots: whether a step leaves them alone is the doctor's to check."""

    def __init__(
        self,
        env: Any,
        seed: int | None = None,
        actions: Sequence[Any] | int | str | Space | None = None,
        repeat: int = 1,
        method: str | None = None,
        *,
        lives: str | None = None,
        ends: Callable[[dict[str, Any]], bool] | None = None,
        key: Callable[[Any], Hashable] | None = None,
        resolution: float | Sequence[float] | None = None,
        features: Callable[[Any], Any] | None = None,
        action_names: Sequence[str] | None = None,
        dynamics: str | None = None,
        **options: Any,
    ) -> None:
        gymnasium = gymnasium_package()
        check_count("repeat", repeat)
        if seed is not None:
            check_seed(seed)
        if method not in (None, "native", *METHODS):
            raise InvalidArgument(f"method must be native, deepcopy or replay, got {method!r}")
        if lives not in (None, "end", "ignore"):
            raise InvalidArgument(f"lives must be 'end' or 'ignore', got {lives!r}")
        for name, function in (("ends", ends), ("key", key), ("features", features)):
            if function is not None and not callable(function):
                raise InvalidArgument(f"{name} must be a function, got {function!r}")
        if key is not None and resolution is not None:
            raise InvalidArgument("key and resolution both tell states apart; pass one of them")
        self._recipe = (env, options)
        made = make_environment(env, options)
        spec = getattr(made, "spec", None)
        self.name = str(spec.id) if spec is not None else type(made.unwrapped).__name__
        self.forced = method is not None
        self.seed = 0 if seed is None else seed
        self.repeat = repeat
        self.ends, self.resolution = ends, resolution
        self.lives = lives
        self._key, self._features = key, features
        self._cells: Cells | None = None
        self._table: Table | None = None
        self.asked_actions = actions
        self._asked_names = action_names
        self._choose_actions(made)
        self.access = Access.RESTORE
        self.dynamics = DETERMINISTIC
        self._painter: Keeper | None = None
        self._sent: Any = None  # the environment as workers get it
        self._live: Any = None  # the snapshot of the state that the environment is in
        under_way = seed is None and isinstance(env, gymnasium.Env) and was_reset(env)
        told = None if under_way else made.reset(seed=self.seed)
        self.keeper = self._choose(made, method, under_way, told)
        self.family, self.method = self.keeper.family, self.keeper.method
        self.initial_state = self.keeper.save()
        self.legal: Callable[[Any], tuple[Any, ...]] | None = None
        self.legal_numbers: Callable[[Any], tuple[int, ...]] | None = None
        self._set_up_access()
        if dynamics is not None:
            self.dynamics = check_dynamics(dynamics)
        self._set_up_legal()

    def _choose_actions(self, env: Any, *, in_a_list: bool = False) -> None:
        """What there is to choose from, and how the environment takes it."""
        named = self._asked_names
        space = None if in_a_list else array_space(env, self.asked_actions)
        self.actions: Space
        self.env_actions: list[Any] = []
        self._given: Callable[[Any], Any]
        self._is_listed = space is None and is_list(self.asked_actions)
        if space is not None:
            self.actions = space
            self._given = as_given(space, env.action_space.dtype)
            self.trial_actions = drawn_actions(space, self._given)
            if named is None:
                named = name_coordinates(env, int(np.prod(space.shape)))
        else:
            listed = self.env_actions = self.trial_actions = list_actions(env, self.asked_actions)
            self.actions = Discrete(listed if self._is_listed else len(listed))
            self._given = self._entry if self._is_listed else listed.__getitem__
            if named is None:
                named = name_actions(env, listed)
        self.action_names = check_names(named, self.actions)

    def _entry(self, action: Any) -> Any:
        """What the environment gets for an action of a list."""
        return self.env_actions[self.actions.index(action)]

    def _choose(self, env: Any, method: str | None, under_way: bool, told: Any) -> Keeper:
        keeper = None if method in METHODS else native_keeper(env)
        if keeper is None and method == "native":
            raise InvalidArgument(
                f"{type(env.unwrapped).__name__} is of no family that is known; leave out method, "
                "or tell how it is saved and restored with platypoos.models.register_family"
            )
        if keeper is None and method is None:
            keeper = self._tried_copy(env, told)
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
        self._take_notes(keeper, told)
        return keeper

    def _tried_copy(self, env: Any, told: Any) -> Keeper | None:
        """A keeper that copies, if a short trial shows that copies go on as the original."""
        try:
            keeper = DeepCopyKeeper(env)
        except Exception:  # noqa: BLE001  whatever it is, it cannot be copied
            return None
        self._take_notes(keeper, told)
        return keeper if restores(keeper, self.trial_actions) else None

    def _take_notes(self, keeper: Keeper, told: Any) -> None:
        """Let the keeper note of each state what is needed of what the environment tells."""
        keeper.notes = None
        observation, info = (None, keeper.info()) if told is None else as_told(told)
        sample = info
        if sample is None or (self.lives == "end" and "lives" not in sample):
            sample = step_info(keeper, self.trial_actions)
        if self.lives is None:
            atari = is_atari(keeper.core) and "lives" in sample
            self.lives = ATARI_LIVES if atari else "ignore"
        if self.lives == "end" and "lives" not in sample:
            raise InvalidArgument(
                f"lives='end' needs info['lives'], but the info of {self.name} has "
                f"{', '.join(map(repr, sample)) or 'nothing'}; pass ends=, a function of the info"
            )
        if isinstance(self.actions, MultiDiscrete) and has_masks(keeper.env, sample):
            self._choose_actions(keeper.env, in_a_list=True)
        masks = find_masks(keeper.env, sample, self.env_actions)
        if self.resolution is not None:
            self._cells = Cells(self.resolution, self.name, keeper)
        if masks or self._cells or self._ends_early:
            keeper.notes = Notes(masks, self.lives == "end", self._cells)
            keeper.notes.read(keeper.env, observation, info)

    @property
    def _ends_early(self) -> bool:
        return self.lives == "end" or self.ends is not None

    @property
    def acting(self) -> Any:
        """The model to act in: with the same states, and no ends but the environment's own."""
        return Acting(self, self._take) if self._ends_early else self

    def _set_up_access(self) -> None:
        keeper = self.keeper
        if isinstance(keeper, ToyText) and self.repeat == 1 and self.ends is None:
            rows = keeper.table()
            told = keeper.legal is not None and not callable(getattr(keeper.core, "action_mask", 0))
            if rows is not None and not told:
                self._set_up_table(Table(keeper, rows, self._given))
                return
        plain = self.repeat == 1 and keeper.notes is None
        step = keeper.direct(self._given) if plain else None
        if step is not None:
            self.step = step  # type: ignore[method-assign]
            self.calls_per_stream = 1 << 62  # it draws nothing
            return
        if getattr(keeper, "sticky", 0) > 0:
            self.access, self.dynamics = Access.RESET, RANDOM
        elif isinstance(keeper, ReplayKeeper):
            self.access = Access.RESET
        elif not (self.forced or (isinstance(keeper, ToyText) and keeper.is_deterministic())):
            if is_random(keeper, self.initial_state, self.trial_actions):
                self.dynamics = RANDOM
                if not isinstance(keeper, ToyText) or keeper.wrappers:
                    self.access = Access.RESET
            keeper.restore(self.initial_state)
            keeper.give_back()

    def _set_up_table(self, table: Table) -> None:
        """Toy text: transitions by a table, which also lists what may happen."""
        self._table = table
        self.keeper.notes = None  # masks can be asked of any state
        self.initial_state = table.here
        self.max_successors = table.max_successors
        if table.max_successors > 1:
            self.dynamics = RANDOM
        self.step = table.step  # type: ignore[method-assign]
        self.successors = table.successors

    def _set_up_legal(self) -> None:
        """``legal`` is there only if the environment has masks."""
        notes = self.keeper.notes
        if self._table is not None:
            self.legal = self._table.legal if self._table.has_masks else None
        elif notes is not None and notes.masks is not None:
            self.legal = legal_of
        self.legal_numbers = self.legal
        if self.legal is not None and self._is_listed:
            self.legal = self._legal_in_list

    def _legal_in_list(self, state: Any) -> tuple[Any, ...]:
        numbers: Any = self.legal_numbers
        return tuple(self.env_actions[number] for number in numbers(state))

    def _number(self, action: Any) -> int:
        """The place of an action in ``env_actions``."""
        return self.actions.index(action) if self._is_listed else action

    @property
    def env(self) -> Any:
        """The environment that is planned with."""
        return self.keeper.env

    @property
    def replayed(self) -> int:
        """Steps taken again to restore states."""
        return self.keeper.replayed

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Put the environment into ``state`` and take an action."""
        after, reward, terminated, early = self._take(state, action, rng)
        return Transition(after, reward, terminated or early)

    def _take(
        self, state: Any, action: Any, rng: np.random.Generator
    ) -> tuple[Any, float, bool, bool]:
        """The same, with the environment's own end and that by ``lives`` or ``ends`` apart."""
        keeper = self.keeper
        if state is not self._live:
            keeper.restore(state)
        self._live = None
        notes = keeper.notes
        total, terminated, early = 0.0, False, False
        chosen = self._given(action)
        for turn in range(self.repeat):
            if turn and keeper.legal is not None and self._number(action) not in keeper.legal:
                break
            lives = None if notes is None else notes.lives
            _, reward, terminated = keeper.step(chosen, rng)
            total += reward
            if notes is not None:
                early = notes.lost(lives)
                early = early or (self.ends is not None and bool(self.ends(notes.info)))
            if terminated or early:
                break
        self._live = after = keeper.save()
        return after, total, bool(terminated), early

    def key(self, state: Any) -> Any:
        """What tells states apart, for planners that share them; None if nothing does."""
        snapshot = bare(state)
        if self._key is not None:
            return self._key(snapshot)
        if self._cells is not None:
            return self._cells.key(state)
        return self.keeper.key(snapshot) if self._table is None else state

    def features(self, state: Any) -> Any:
        """What there is to see in a state, for planners that look for new things."""
        if self._features is not None:
            return self._features(bare(state))
        if self._cells is not None:
            return self._cells.key(state)
        known = self.keeper.features(bare(state)) if self._table is None else (state,)
        if known is None:
            raise InvalidArgument(f"states of {self.name} show no features; pass features=")
        return known

    def start(self, seed: int) -> Any:
        """The first state of an episode with another seed."""
        self._live = None
        self.keeper.reset(seed)
        return self.keeper.save() if self._table is None else self._table.here

    def save(self, observation: Any = None, info: dict[str, Any] | None = None) -> Any:
        """The state the environment is in now, to plan from: ``plan(model, model.save(), …)``.

        Args:
            observation: what the last reset or step of the environment returned; needed with
                ``resolution``, except for classic control.
            info: the same; needed if masks are in ``info["action_mask"]``.
        """
        if isinstance(self.keeper, ReplayKeeper) and not isinstance(self._recipe[0], str):
            raise InvalidArgument(
                f"{self.name} is restored by a replay, which does not know of steps taken outside "
                "of the model; act with control, or with the model's step"
            )
        saved = self.keeper.current()
        if self._table is not None:
            return int(saved["s"])
        if self.keeper.notes is None:
            return saved
        notes = self.keeper.notes.blank()
        notes.read(self.keeper.passed, observation, self.keeper.info() if info is None else info)
        return notes.on(saved)

    @property
    def is_yours(self) -> bool:
        """Whether it was made around an environment of the caller's, who may act in it."""
        return not isinstance(self._recipe[0], str)

    def restore(self, state: Any) -> None:
        """Put the environment into a state, say to act in it after a plan."""
        self._live = None
        self.keeper.restore(state if self._table is None else {"s": state})
        self.keeper.give_back()

    def render(self, state: Any) -> Any:
        """A picture of a state: an array of height, width and RGB."""
        painter = self.painter()
        if painter is not self.keeper:
            painter.restore(bare(state) if self._table is None else {"s": state})
            self._live = None  # MiniGrid's painter has put its things into this state
        elif state is not self._live:
            self.restore(state)
        return picture(painter, self.name)

    def painter(self) -> Keeper:
        """The keeper of the environment that draws: a second one, unless the first one renders."""
        if self.keeper.can_render():
            return self.keeper
        if self._painter is None:
            env, options = self._recipe
            recipe = env if isinstance(env, str) else self.env.spec
            self._painter = make_painter(recipe, options, self.seed, self.method, self.name)
        return self._painter

    @property
    def steps_per_call(self) -> int:
        """Steps of the environment that a call takes at most."""
        return self.repeat

    @property
    def frames_per_second(self) -> float:
        """How fast a film of it shows real time."""
        rate = (getattr(self.env.unwrapped, "metadata", None) or {}).get("render_fps")
        return (rate or 20.0) / self.repeat

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is sent to another process: as what makes it there, and its settings."""
        notes = None if self.keeper.notes is None else self.keeper.notes.blank()
        told = (self.access, self.dynamics, self.initial_state, notes)
        settings = {
            "seed": self.seed,
            "actions": self.env_actions if self.asked_actions is SOME else self.asked_actions,
            "repeat": self.repeat,
            "method": self.method,
            "lives": self.lives,
            "ends": self.ends,
            "key": self._key,
            "resolution": self.resolution,
            "features": self._features,
            "action_names": self.action_names,
            **self._recipe[1],
        }
        return _rebuild, (self._as_sent(), settings, *told)

    def _as_sent(self) -> Any:
        """The environment: its id, its bytes, or else its specification."""
        env = self._recipe[0]
        if self._sent is None:  # once, so that workers see that it is the same model
            try:
                self._sent = env if isinstance(env, str) else pickled(env)
            except Exception:  # surfaces, locks, local functions, …
                self._sent = getattr(env, "spec", None)
                if self._sent is None:
                    raise
        return self._sent


def _rebuild(
    sent: Any,
    settings: dict[str, Any],
    access: Access,
    dynamics: str,
    start: Any,
    notes: Notes | None,
) -> GymnasiumModel:
    """The model in another process; what was tried when it was made is not tried again."""
    env = pickle.loads(sent) if isinstance(sent, bytes) else sent  # noqa: S301  our own bytes
    model = GymnasiumModel(env, **settings)
    model.access, model.dynamics = access, dynamics
    model.initial_state, model.keeper.notes = start, notes
    model._set_up_legal()  # noqa: SLF001
    return model


class Acting:
    """The model of an environment whose ends are only the environment's own.

    It has the same states, actions and rewards as the model that is planned with, and works with
    the same environment. What else the model offers (``render``, ``key``, …) it offers too.

    Args:
        model: the model that is planned with.
        take: takes a step; returns the state, the reward, and the two kinds of end apart.
    """

    def __init__(self, model: Any, take: Callable[..., tuple[Any, float, bool, bool]]) -> None:
        self.model, self._take = model, take
        self.actions = model.actions

    @property
    def initial_state(self) -> Any:
        """Where the model starts."""
        return self.model.initial_state

    @property
    def acting(self) -> Acting:
        """Itself."""
        return self

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""
        after, reward, terminated, _ = self._take(state, action, rng)
        return Transition(after, reward, terminated)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.model, name)
