"""The kinds of environment that save and restore their state natively."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.models.gymnasium.snapshots import (
    NOT_STATE,
    Keeper,
    Outcome,
    ReplayKeeper,
    attributes_of,
    duplicate,
    put_attributes,
)


@contextmanager
def unseen(thing: Any, method: str) -> Iterator[None]:
    """Let a method that makes observations return None: planners do not look."""
    vars(thing)[method] = lambda *_: None
    try:
        yield
    finally:
        del vars(thing)[method]


class ClassicControl(Keeper):
    """CartPole, Acrobot, MountainCar, Pendulum: a few numbers, replaced by each step."""

    family = "classic control"

    def render(self) -> Any:
        if hasattr(self.core, "last_u"):
            self.core.last_u = None  # Pendulum draws its last torque, which is no part of a state
        return super().render()

    def save_core(self) -> Any:
        return self.core.state

    def restore_core(self, snapshot: Any) -> None:
        self.core.state = snapshot
        self.core.steps_beyond_terminated = None

    def direct(self, given: Callable[[Any], Any]) -> Callable[..., Any] | None:
        core = self.core
        if self.wrappers:
            return None

        def step(state: Any, action: Any, _: np.random.Generator) -> tuple[Any, float, bool]:
            core.state = state
            core.steps_beyond_terminated = None
            result = core.step(given(action))
            return core.state, result[1], result[2]

        return step


class ToyText(Keeper):
    """FrozenLake, Taxi, CliffWalking, Blackjack: plain attributes; the table does not change."""

    family = "toy text"
    _STATE = ("s", "lastaction", "fickle_step", "taxi_orientation", "player", "dealer")
    _SHOWN = ("lastaction", "taxi_orientation")  # in pictures only

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._names = [name for name in self._STATE if hasattr(self.core, name)]

    def save_core(self) -> Any:
        return {name: duplicate(getattr(self.core, name)) for name in self._names}

    def restore_core(self, snapshot: Any) -> None:
        vars(self.core).update(duplicate(snapshot))

    def info(self) -> dict[str, Any] | None:
        mask = getattr(self.core, "action_mask", None)
        return {"action_mask": mask(self.core.s)} if callable(mask) else None

    def key(self, snapshot: Any) -> Any:
        """The number of the state, if the table says everything; else all that is saved."""
        if self.wrappers:
            return None
        if self.table() is not None:
            return snapshot["s"]
        said = (snapshot[name] for name in self._names if name not in self._SHOWN)
        return tuple(tuple(sorted(x)) if isinstance(x, list) else x for x in said)  # hands

    def table(self) -> Any:
        """The table of all transitions, if it says everything."""
        fickle = getattr(self.core, "fickle_passenger", False)
        return None if fickle or self.wrappers else getattr(self.core, "P", None)

    def is_deterministic(self) -> bool:
        """Whether the table says that there is no chance in it, though every step draws."""
        table = self.table()
        rows = [row for by_action in (table or {}).values() for row in by_action.values()]
        return bool(rows) and all(len(row) == 1 for row in rows)


class Atari(Keeper):
    """The emulator's own clone and restore; no screen is made unless a wrapper asks for it.

    Sticky actions are drawn from the planner's generator, as the emulator would draw them.
    """

    family = "Atari"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.ale = self.core.ale
        self.sticky = float(self.ale.getFloat("repeat_action_probability"))
        self._plain = isinstance(self.core._frameskip, int) and not self.core.continuous  # noqa: SLF001
        self._last = 0
        self._old_screen = False  # the emulator does not restore its screen
        if not self._plain or self.wrappers:
            if self.sticky:
                raise InvalidArgument(
                    "the emulator's sticky actions cannot be drawn from a planner's generator "
                    "behind wrappers, random frame skips or continuous actions; pass "
                    "repeat_action_probability=0.0"
                )
        elif self.sticky:
            state = self.ale.cloneState()
            self.ale.setFloat("repeat_action_probability", 0.0)
            self.core.load_game()  # the emulator reads its settings here
            self.ale.restoreState(state)
        self._prime()

    def _prime(self) -> None:
        """Qbert and Tetris go another way once after a reset, and then always the same."""
        state = self.ale.cloneState()
        self.ale.act(0)
        self.ale.restoreState(state)
        self._old_screen = True

    def reset(self, seed: int) -> None:
        super().reset(seed)
        self._last = 0
        self._prime()

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        if self.wrappers or not self._plain:
            return super().step(action, rng)
        ale, reward = self.ale, 0.0
        key = self.core._action_set[action]  # noqa: SLF001
        for _ in range(self.core._frameskip):  # noqa: SLF001
            if not self.sticky or rng.random() >= self.sticky:
                self._last = key
            reward += ale.act(self._last)
        self._old_screen = False
        ended = ale.game_over(with_truncation=False)
        if self.notes is not None:
            self.notes.read(self.env, None, self.info(), ended=ended)
        return None, reward, ended

    def info(self) -> dict[str, Any]:
        return dict(self.core._get_info())  # noqa: SLF001

    def observe(self, observation: Any) -> Any:
        return self.ale.getRAM() if observation is None else observation

    def save_core(self) -> Any:
        # The memory of the game is copied here: later it could only be read by restoring.
        return self.ale.cloneState(), self._last, self.ale.getRAM()

    def restore_core(self, snapshot: Any) -> None:
        state, self._last, _ = snapshot
        self.ale.restoreState(state)
        self._old_screen = True

    def core_features(self, core: Any) -> Any:
        return core[2]

    def can_render(self) -> bool:
        return True

    def render(self) -> Any:
        if not self._old_screen:
            return self.ale.getScreenRGB()
        state = self.ale.cloneState()
        self.ale.act(0)  # a frame later the screen is that of the state
        frame = self.ale.getScreenRGB()
        self.ale.restoreState(state)
        return frame


class Box2D(ReplayKeeper):
    """A replay: Box2D hides what its solver keeps from one step to the next."""

    def start_over(self, seed: int) -> Any:
        # A world that was used before leaves traces in the next episode.
        core, world = self.core, self.core.world
        core._destroy()  # noqa: SLF001
        core.world = type(world)(gravity=world.gravity)
        return super().start_over(seed)


class CarRacing(Box2D):
    """The same without pictures: each step draws one, which takes nearly all of its time."""

    def start_over(self, seed: int) -> Any:
        if self.is_watched:
            return super().start_over(seed)
        with unseen(self.core, "_render"):
            return super().start_over(seed)

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        if self.is_watched:
            return super().step(action, rng)
        with unseen(self.core, "_render"):
            return super().step(action, rng)

    def observe(self, observation: Any) -> Any:
        return self.core._render("state_pixels") if observation is None else observation  # noqa: SLF001


class MiniGrid(Keeper):
    """Plain attributes, the grid's cells, and what can change of the things in them."""

    family = "MiniGrid"
    _IGNORED = NOT_STATE | {"grid", "actions", "mission_space", "agent_pov"}

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        from minigrid.core.world_object import WorldObj

        self._thing = WorldObj
        self.save_core()  # tells whether all attributes are known

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        if self.wrappers:
            return super().step(action, rng)
        with unseen(self.core, "gen_obs"):  # it takes most of a step
            return super().step(action, rng)

    def observe(self, observation: Any) -> Any:
        return self.core.gen_obs() if observation is None else observation

    def _duplicate(self, value: Any, things: dict[int, Any]) -> Any:
        if isinstance(value, self._thing):
            if id(value) not in things:
                things[id(value)] = value
                for item in vars(value).values():
                    self._duplicate(item, things)
            return value
        if isinstance(value, list):
            return [self._duplicate(item, things) for item in value]
        return duplicate(value)

    def save_core(self) -> Any:
        core = self.core
        things: dict[int, Any] = {}
        attributes = {
            k: self._duplicate(v, things) for k, v in attributes_of(core, self._IGNORED).items()
        }
        cells = list(core.grid.grid)
        for cell in cells:
            if cell is not None and cell.type not in ("wall", "goal", "lava", "floor"):
                self._duplicate(cell, things)
        return attributes, cells, [(thing, dict(vars(thing))) for thing in things.values()]

    def key(self, snapshot: Any) -> Any:
        """The agent and all things; not the clock, on which rewards depend a little."""
        if self.wrappers or hasattr(self.core, "instrs"):  # instructions remember what was done
            return None
        attributes, cells, things = snapshot
        saved = {id(thing): state for thing, state in things}

        def described(value: Any) -> str:  # things change later: as they were saved
            if id(value) in saved:
                return str([(k, described(v)) for k, v in sorted(saved[id(value)].items())])
            return str(value)

        carried = described(attributes["carrying"])
        where = ((i, described(cell)) for i, cell in enumerate(cells) if id(cell) in saved)
        return (*attributes["agent_pos"], attributes["agent_dir"], carried, *where)

    def restore_core(self, snapshot: Any) -> None:
        attributes, cells, things = snapshot
        unused: dict[int, Any] = {}
        copied = {k: self._duplicate(v, unused) for k, v in attributes.items()}
        put_attributes(self.core, copied, self._IGNORED)
        self.core.grid.grid = list(cells)
        for thing, state in things:
            vars(thing).update(state)


class Highway(Keeper):
    """A deep copy of what moves; roads, spaces and settings are shared."""

    family = "highway-env"
    _MOVING = (
        "road", "controlled_vehicles", "action_type", "observation_type", "time", "steps", "done",
        "observation_type_parking", "_vehicle",
    )  # fmt: skip

    def _copied(self, parts: Any) -> Any:
        core, road = self.core, parts["road"]
        shared = [core, core.config, road.network, road.np_random, core.viewer, core.action_space]
        return copy.deepcopy(parts, {id(value): value for value in shared if value is not None})

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        self.core.road.np_random = rng
        seen = self.core.observation_type
        if self.is_watched or type(seen).__name__ == "MultiAgentObservation":  # info looks at it
            return super().step(action, rng)
        with unseen(seen, "observe"):
            return super().step(action, rng)

    def observe(self, observation: Any) -> Any:
        return self.core.observation_type.observe() if observation is None else observation

    def give_back(self) -> None:
        super().give_back()
        self.core.road.np_random = self.core.np_random

    def render(self) -> Any:
        core = self.core
        if core.viewer is None:
            core.config["offscreen_rendering"] = True
            core.render()
        viewer: Any = core.viewer
        viewer.enabled = True  # it is off where there is no screen
        return core.render()

    def save_core(self) -> Any:
        core = vars(self.core)
        return self._copied({name: core[name] for name in self._MOVING if name in core})

    def restore_core(self, snapshot: Any) -> None:
        vars(self.core).update(self._copied(snapshot))
