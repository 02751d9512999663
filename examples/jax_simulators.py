"""Plan with simulators that are written in JAX: in gymnax's style, in brax's, and with MJX.

python examples/jax_simulators.py

The first two environments are small and stand for any of their kind: ``of_gymnax`` and ``of_brax``
take those of the packages too. MJX is MuJoCo in JAX (``pip install mujoco-mjx``).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import platypoos as pp


def of_gymnax(env: Any, params: Any, state: Any) -> pp.JaxModel:
    """A model of an environment with gymnax's ``step_env(key, state, action, params)``."""

    def step(state: Any, action: Any, key: Any) -> Any:
        _, after, reward, done, *_ = env.step_env(key, state, action, params)
        return after, reward, done

    return pp.JaxModel(step, env.num_actions, state)


def of_brax(env: Any, state: Any, **options: Any) -> pp.JaxModel:
    """A model of an environment with brax's ``step(state, action)``."""

    def step(state: Any, action: Any, _: Any) -> Any:
        after = env.step(state, action)
        return after, after.reward, after.done

    high = np.ones(env.action_size, np.float32)
    return pp.JaxModel(step, pp.Box(-high, high), state, **options)


class Boat(NamedTuple):
    """The state of ``River``."""

    place: Any
    time: Any


class River:
    """Cross a river whose current carries you down: in gymnax's style."""

    num_actions = 3

    def step_env(self, _key: Any, state: Boat, action: Any, params: float) -> Any:
        """Row left, straight on, or right."""
        place = state.place + jnp.array([action - 1.0, 0.5]) + jnp.array([params, 0.0])
        after = Boat(place, state.time + 1)
        landed = place[1] >= 3.0
        reward = jnp.where(landed, 10.0 - jnp.abs(place[0]), -1.0)
        return place, after, reward, landed, {}


class Sled(NamedTuple):
    """The state of ``Slide``: brax keeps the reward in it."""

    place: Any
    speed: Any
    reward: Any
    done: Any


class Slide:
    """Stop a sled at the origin: in brax's style."""

    action_size = 1

    def step(self, state: Sled, action: Any) -> Sled:
        """Push."""
        speed = 0.95 * state.speed + action[0]
        place = state.place + 0.1 * speed
        return Sled(place, speed, -(place**2) - 0.01 * speed**2, jnp.abs(place) > 5.0)


XML = """
<mujoco>
  <option timestep="0.02"/>
  <worldbody>
    <body>
      <joint name="slide" type="slide" axis="1 0 0"/>
      <geom type="box" size=".2 .1 .1" mass="1" contype="0" conaffinity="0"/>
      <body>
        <joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 .6" size=".04" mass=".1" contype="0"
              conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="slide" gear="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def of_mjx() -> pp.JaxModel:
    """A pole on a cart. A state is what the next step needs: positions and speeds."""
    import mujoco
    from mujoco import mjx

    model = mjx.put_model(mujoco.MjModel.from_xml_string(XML))
    data = mjx.make_data(model)

    def step(state: Any, action: Any, _: Any) -> Any:
        after = mjx.step(model, data.replace(qpos=state[0], qvel=state[1], ctrl=action))
        upright = jnp.cos(after.qpos[1])
        return (after.qpos, after.qvel), upright - 0.1 * after.qpos[0] ** 2, upright < 0.5

    start = (jnp.array([0.0, 0.2]), jnp.zeros(2))
    # A step is many small operations: 64 together take hardly longer than one.
    return pp.JaxModel(
        step, pp.Box(np.full(1, -1.0, np.float32), np.full(1, 1.0, np.float32)), start, lanes=64
    )


def main() -> None:
    """Plan for each."""
    start = Boat(jnp.zeros(2), jnp.int32(0))
    plan = pp.plan(of_gymnax(River(), 0.5, start), budget=500, discount=0.95, seed=0)
    drift = sum(int(action) - 1 for action in plan.actions[:6])
    print(f"river: rows {-drift} to the left of 3 that the current carries it to the right")
    still = jnp.float32(0.0)
    sled = of_brax(Slide(), Sled(jnp.float32(1.0), still, still, jnp.bool_(False)))
    episode = pp.control(sled, budget=300, steps=30, discount=0.95, seed=0)
    print(f"sled: {sled.unpack(episode.states[-1]).place:.2f} from the origin")
    if find_spec("mujoco") is None or find_spec("mujoco.mjx") is None:
        print("MJX is not installed")
        return
    cart = pp.control(of_mjx(), budget=500, steps=5, discount=0.95, seed=0)
    print(f"cart and pole in MJX: reward {sum(cart.rewards):.2f} of 5 at most")


if __name__ == "__main__":
    main()
