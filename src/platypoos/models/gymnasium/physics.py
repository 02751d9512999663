"""The kinds of environment whose physics is MuJoCo's: Gymnasium's own, and dm_control's."""

from __future__ import annotations

import atexit
import hashlib
import weakref
from typing import Any

import numpy as np

from platypoos.models.gymnasium.snapshots import (
    NOT_STATE,
    Keeper,
    Outcome,
    attributes_of,
    duplicate,
    put_attributes,
)


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
        self._is_drawn = False
        self._followed: Any = None
        """The body that the camera follows; where that looks, and where the body is, at first."""

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

    def give_back(self) -> None:
        """Complete what pictures are made of: restored positions come without orientations."""
        super().give_back()
        model, data, mujoco = self.core.model, self.core.data, self._mujoco
        for body in range(model.nbody):
            mujoco.mju_quat2Mat(data.xmat[body], data.xquat[body])
        parts = [(data.xipos, data.ximat, model.body_ipos, model.body_iquat, range(model.nbody),
                  model.body_sameframe),
                 (data.geom_xpos, data.geom_xmat, model.geom_pos, model.geom_quat,
                  model.geom_bodyid, model.geom_sameframe),
                 (data.site_xpos, data.site_xmat, model.site_pos, model.site_quat,
                  model.site_bodyid, model.site_sameframe)]  # fmt: skip
        for places, turns, at, turned, bodies, frames in parts:
            for number, body in enumerate(bodies):
                mujoco.mj_local2Global(
                    data, places[number], turns[number], at[number], turned[number], body,
                    frames[number],
                )  # fmt: skip
        mujoco.mj_camlight(model, data)

    def follow(self) -> None:
        core, mujoco = self.core, self._mujoco
        tracking = mujoco.mj_name2id(core.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
        if tracking >= 0:  # it walks
            config = core.mujoco_renderer.default_cam_config or {}
            lookat = config.get("lookat", np.median(core.data.geom_xpos, axis=0))
            body = core.model.cam_bodyid[tracking]
            self._followed = body, np.array(lookat), core.data.subtree_com[body].copy()

    def _look_at_it(self) -> None:
        """Move Gymnasium's own camera along with the body, which would leave the picture."""
        body, lookat, start = self._followed
        viewer = self.core.mujoco_renderer._get_viewer("rgb_array")  # noqa: SLF001
        moved = self.core.data.subtree_com[body] - start
        viewer.cam.lookat[:] = lookat + moved * (1.0, 1.0, 0.0)

    def render(self) -> Any:
        # Orientations, cameras and lights are not restored. A forward pass computes them; it also
        # writes what steps start from, so all data are put back as they were.
        model, data, mujoco = self.core.model, self.core.data, self._mujoco
        if self._spare is None:
            self._spare = mujoco.MjData(model)
        mujoco.mj_copyData(self._spare, model, data)
        try:
            mujoco.mj_forward(model, data)
            if self._followed is not None:
                self._look_at_it()
            picture = super().render()
        finally:
            mujoco.mj_copyData(data, model, self._spare)
        if not self._is_drawn:  # from here on: what is registered last is called first
            self._is_drawn = True
            atexit.register(_close, weakref.ref(self.core.mujoco_renderer))
        return picture


def _close(renderer: Any) -> None:
    """Close a renderer that is still there, before the graphics library ends."""
    if renderer() is not None:
        renderer().close()


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
        engine = next(kind for kind in type(self.physics).__mro__ if "step" in vars(kind))
        self._plain = engine.__module__ == "dm_control.mujoco.engine" and self.physics.legacy_step
        self._rk4 = mujoco.mjtIntegrator.mjINT_RK4.value
        self._warnings = self.physics.data.warning.number
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
        if self.is_watched:
            return self._whole_step(action)
        del rng  # no task of the suite draws in a step
        task.before_step(action, physics)
        self._advance(inner._n_sub_steps)  # noqa: SLF001
        task.after_step(physics)
        inner._step_count += 1  # noqa: SLF001
        return None, task.get_reward(physics), task.get_termination(physics) == 0.0

    def _advance(self, steps: int) -> None:
        """``physics.step(steps)``, at a third of its overhead."""
        physics, model, data, mujoco = self.physics, self._model, self._data, self._mujoco
        if not self._plain or model.opt.integrator == self._rk4:
            physics.step(steps)
            return
        before = self._warnings.tobytes()
        mujoco.mj_step2(model, data)
        if steps > 1:
            mujoco.mj_step(model, data, steps - 1)
        mujoco.mj_step1(model, data)
        if self._warnings.tobytes() != before:  # the physics is no longer valid: let it say so
            after = self._warnings.copy()
            self._warnings[:] = np.frombuffer(before, self._warnings.dtype)
            with physics.check_invalid_state():
                self._warnings[:] = after

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
