"""The tasks of dm_control's suite as Gymnasium environments: ``dm_control/cheetah-run-v0``."""

from __future__ import annotations

import copy
import math
from importlib.metadata import version
from typing import Any, ClassVar

import gymnasium
import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.version import install

PREFIX, SUFFIX = "dm_control/", "-v0"
SIZE = 240, 320
"""Height and width of a picture, if they are not given."""


def register(name: str) -> None:
    """Make an id known to Gymnasium, unless it is known already (to Shimmy, say)."""
    from dm_control import suite

    if name in gymnasium.registry:
        return
    tasks = {f"{PREFIX}{domain}-{task}{SUFFIX}": (domain, task) for domain, task in suite.ALL_TASKS}
    if name not in tasks:
        domain = name.removeprefix(PREFIX).split("-", maxsplit=1)[0]
        near = [known for known in tasks if known.startswith(f"{PREFIX}{domain}-")]
        raise InvalidArgument(
            f"dm_control has no task {name!r}; there are {', '.join(near or list(tasks))}"
        )
    domain, task = tasks[name]
    gymnasium.register(
        name,
        entry_point=f"{__name__}:SuiteEnv",
        kwargs={"domain": domain, "task": task},
    )


class SuiteEnv(gymnasium.Env):  # type: ignore[misc]
    """A task of dm_control's suite.

    Observations are one row of numbers. A time limit truncates an episode; only a discount of 0
    ends it.

    Args:
        domain: such as "cheetah".
        task: such as "run".
        render_mode: None or "rgb_array".
        task_kwargs: passed on to ``dm_control.suite.load``.
        environment_kwargs: passed on to ``dm_control.suite.load``.
        height: of a picture, in pixels.
        width: of a picture, in pixels.
        camera_id: the number or the name of a camera; the first one if left out.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(
        self,
        domain: str,
        task: str,
        render_mode: str | None = None,
        task_kwargs: dict[str, Any] | None = None,
        environment_kwargs: dict[str, Any] | None = None,
        height: int = SIZE[0],
        width: int = SIZE[1],
        camera_id: int | str = 0,
    ) -> None:
        from dm_control import suite

        settings = {"random": 0, **(task_kwargs or {})}  # some models are drawn at random
        try:
            self._env: Any = suite.load(
                domain, task, task_kwargs=settings, environment_kwargs=environment_kwargs
            )
        except Exception as error:
            raise InvalidArgument(
                f"dm_control {version('dm_control')} cannot load it with MuJoCo "
                f"{version('mujoco')}: {error}. Versions that go together: {install('dm-control')}"
            ) from error
        self.pristine = copy.copy(self._env.physics.model.ptr)
        """The model before any reset, which may write targets or terrain into it."""
        self.render_mode = render_mode
        self._picture = {"height": height, "width": width, "camera_id": camera_id}
        rate = 1.0 / self._env.control_timestep()
        self.metadata = {**type(self).metadata, "render_fps": rate}  # type: ignore[misc]
        given = self._env.action_spec()
        self.action_space = gymnasium.spaces.Box(given.minimum, given.maximum, dtype=given.dtype)
        seen = self._env.observation_spec().values()
        size = sum(math.prod(entry.shape) for entry in seen)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)

    @property
    def physics(self) -> Any:
        """The physics of the task."""
        return self._env.physics

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._env.task.random.seed(seed)
        return _row(self._env.reset().observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        seen = self._env.step(action)
        ended = bool(seen.last() and seen.discount == 0.0)
        cut = bool(seen.last() and not ended)
        return _row(seen.observation), float(seen.reward or 0.0), ended, cut, {}

    def render(self) -> Any:
        """A picture of where it is."""
        return self._env.physics.render(**self._picture)

    def close(self) -> None:
        """Free what the simulator holds."""
        self._env.close()


def _row(observation: Any) -> Any:
    return np.concatenate([np.ravel(entry) for entry in observation.values()]).astype(np.float64)
