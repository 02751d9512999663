"""The kinds of environment that save and restore their state natively."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
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


class MuJoCo(Keeper):
    """The full physics state, and what environments read of the last step (positions, forces)."""

    family = "MuJoCo"
    _DERIVED = (
        "xpos", "xquat", "xipos", "site_xpos", "geom_xpos", "subtree_com", "cinert", "cvel",
        "cfrc_ext", "qfrc_actuator", "qfrc_constraint", "sensordata", "actuator_force",
    )  # fmt: skip

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        import mujoco

        self._mujoco, self._kind = mujoco, mujoco.mjtState.mjSTATE_INTEGRATION
        self._size = mujoco.mj_stateSize(self.core.model, self._kind)
        views = [getattr(self.core.data, name, None) for name in self._DERIVED]
        self._views = [view.reshape(-1) for view in views if view is not None and view.size]
        # Environments of others may keep more than physics.
        self._own = not type(self.core).__module__.startswith("gymnasium.envs.mujoco.")
        self._ignored = NOT_STATE | {"model", "data", "mujoco_renderer", "init_qpos", "init_qvel"}
        self._spare: Any = None

    def save_core(self) -> Any:
        core = self.core
        physics = np.empty(self._size)
        self._mujoco.mj_getState(core.model, core.data, physics, self._kind)
        saved = np.concatenate([physics, *self._views])
        if self._own:
            return saved, {k: duplicate(v) for k, v in attributes_of(core, self._ignored).items()}
        return saved

    def core_features(self, core: Any) -> Any:
        return (core[0] if self._own else core)[: self._size]

    def restore_core(self, snapshot: Any) -> None:
        core = self.core
        if self._own:
            snapshot, attributes = snapshot
            put_attributes(core, duplicate(attributes), self._ignored)
        self._mujoco.mj_setState(core.model, core.data, snapshot[: self._size], self._kind)
        start = self._size
        for view in self._views:
            view[:] = snapshot[start : start + view.size]
            start += view.size

    def follow(self) -> None:
        kind = self._mujoco.mjtObj.mjOBJ_CAMERA
        camera = self._mujoco.mj_name2id(self.core.model, kind, "track")
        if camera >= 0:
            self.core.mujoco_renderer.camera_id = camera

    def render(self) -> Any:
        # Orientations, cameras and lights are not restored. A forward pass computes them; it also
        # writes what steps start from, so all data are put back as they were.
        model, data, mujoco = self.core.model, self.core.data, self._mujoco
        if self._spare is None:
            self._spare = mujoco.MjData(model)
        mujoco.mj_copyData(self._spare, model, data)
        try:
            mujoco.mj_forward(model, data)
            return super().render()
        finally:
            mujoco.mj_copyData(data, model, self._spare)


class DmControl(Keeper):
    """A task of dm_control: the physics, and what the task and the episode have of their own.

    Steps are taken without observations and without the time limit. dm_control leaves the first
    half of MuJoCo's next step done (``mj_step1``), so that is done after a restore too. What a
    reset writes into the model (targets, terrain) is saved once for each episode.
    """

    family = "dm_control"
    _NOT_OF_TASK = frozenset({"_random"})

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        import mujoco

        self._mujoco, self._kind = mujoco, mujoco.mjtState.mjSTATE_INTEGRATION
        self.inner = self.core._env  # noqa: SLF001
        self.physics, self.task = self.inner.physics, self.inner.task
        self._model, self._data = self.physics.model.ptr, self.physics.data.ptr
        self._size = mujoco.mj_stateSize(self._model, self._kind)
        self._arrays = _arrays_of(self._model)
        # Without it (in Shimmy's environments) all that a model has is saved for each episode.
        pristine = getattr(self.core, "pristine", None)
        self._pristine = {} if pristine is None else _arrays_of(pristine)
        self._episode = self._current_episode()
        self.save_core()  # tells whether all attributes are known

    def start_over(self, seed: int) -> Any:
        told = super().start_over(seed)
        self._episode = self._current_episode()
        return told

    def _current_episode(self) -> tuple[str, dict[str, Any]]:
        """What is not as in the pristine model, with a mark that tells it from others."""
        mark, changed = hashlib.sha256(), {}
        for name, entry in self._arrays.items():
            as_bytes = entry.tobytes()
            if name not in self._pristine or as_bytes != self._pristine[name].tobytes():
                changed[name] = entry.copy()
                mark.update(name.encode() + as_bytes)
        return mark.hexdigest(), changed

    def step(self, action: Any, rng: np.random.Generator) -> Outcome:
        inner, task, physics = self.inner, self.task, self.physics
        if self.wrappers or self.notes is not None:
            return self._whole_step(action)
        del rng  # no task of the suite draws in a step
        task.before_step(action, physics)
        physics.step(inner._n_sub_steps)  # noqa: SLF001
        task.after_step(physics)
        inner._step_count += 1  # noqa: SLF001
        return None, task.get_reward(physics), task.get_termination(physics) == 0.0

    def _whole_step(self, action: Any) -> Outcome:
        """A step with observations, for wrappers that look at them."""
        inner = self.inner
        limit, inner._step_limit = inner._step_limit, float("inf")  # noqa: SLF001
        try:
            observation, reward, terminated, _, info = self.env.step(action)
        finally:
            inner._step_limit = limit  # noqa: SLF001
        if self.notes is not None:
            self.notes.read(self.env, observation, info, ended=bool(terminated))
        return observation, reward, terminated

    def give_back(self) -> None:
        """Nothing: it draws from no generator of a planner."""

    def observe(self, observation: Any) -> Any:
        if observation is not None:
            return observation
        return {k: np.array(v) for k, v in self.task.get_observation(self.physics).items()}

    def save_core(self) -> Any:
        physics = np.empty(self._size)
        self._mujoco.mj_getState(self._model, self._data, physics, self._kind)
        own = {
            name: duplicate(value)
            for name, value in vars(self.task).items()
            if name not in self._NOT_OF_TASK
        }
        inner = self.inner
        count = inner._step_count, inner._reset_next_step  # noqa: SLF001
        return physics, own, count, self._episode

    def restore_core(self, snapshot: Any) -> None:
        physics, own, count, episode = snapshot
        if episode[0] != self._episode[0]:
            self._put_episode(episode)
        vars(self.task).update(duplicate(own))
        inner = self.inner
        inner._step_count, inner._reset_next_step = count  # noqa: SLF001
        self._mujoco.mj_setState(self._model, self._data, physics, self._kind)
        self._mujoco.mj_step1(self._model, self._data)

    def _put_episode(self, episode: tuple[str, dict[str, Any]]) -> None:
        """Write what a reset had written into the model."""
        for name in self._episode[1].keys() & self._pristine.keys():
            self._arrays[name][...] = self._pristine[name]
        for name, entry in episode[1].items():
            self._arrays[name][...] = entry
        self._episode = episode

    def core_features(self, core: Any) -> Any:
        return core[0]


def _arrays_of(model: Any) -> dict[str, Any]:
    """The arrays of a MuJoCo model."""
    found = {name: getattr(model, name) for name in dir(model) if not name.startswith("_")}
    return {name: entry for name, entry in found.items() if isinstance(entry, np.ndarray)}


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


def _unseen() -> None:
    """In place of an observation."""


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
        # What the agent sees takes most of a step, and planners do not look.
        vars(self.core)["gen_obs"] = _unseen
        try:
            return super().step(action, rng)
        finally:
            del vars(self.core)["gen_obs"]

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
        return super().step(action, rng)

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
