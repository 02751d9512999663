"""A quadrotor flies through moving gates and lands on a moving deck, in real time.

    python examples/gallery/quadrotor.py quadrotor.gif

Its two thrusts are continuous actions, chosen every 60 ms within 30 ms. Nothing waits for the
planner: it plans from where the model says that the quadrotor will be when the thrusts at work are
over. The model is wrong: the real quadrotor is 15 % heavier, and it knows nothing of the gusts.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

import platypoos as pp

State = tuple[float, ...]

DEADLINE, PERIOD, SUBSTEPS = 0.03, 0.06, 3
MASS, REAL_MASS, ARM, INERTIA, DRAG, GRAVITY = 1.0, 1.15, 0.25, 0.08, 0.15, 9.81
THRUSTS = pp.Box([0.0, 0.0], [10.0, 10.0])
GUSTS = 3  # the seed of the wind
WIDTH, HEIGHT, WALLS, HALF_GAP = 28.0, 9.0, (6.5, 12.5, 18.5), 1.3
RADIUS, SAFE, FAST = 0.2, 0.5, 5.0  # of the quadrotor; kept from walls; metres per second
START: State = (1.5, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # x, z, their speeds, tilt, its speed, the time


def gap(wall: int, t: float) -> float:
    """The height of the middle of a wall's gap. The first one stays, the others move."""
    return (6.0, 4.5 + 2.0 * math.sin(1.3 * t), 4.5 + 2.0 * math.sin(1.3 * t + 2.0))[wall]


def deck(t: float) -> tuple[float, float, float]:
    """The place of the deck, and how fast it moves."""
    return 24.0 + 1.5 * math.sin(0.8 * t), 1.2, 1.2 * math.cos(0.8 * t)


def way_to_go(x: float, z: float, t: float) -> float:
    """The length of the way through the gaps that are still ahead to the deck."""
    length = 0.0
    for wall, at in enumerate(WALLS):
        if x < at + 0.3:
            middle = gap(wall, t)
            length += math.hypot(at + 0.3 - x, middle - z)
            x, z = at + 0.3, middle
    to_x, to_z, _ = deck(t)
    return length + math.hypot(to_x - x, to_z + 0.2 - z)


def is_near(x: float, z: float, t: float, distance: float) -> bool:
    """Whether a wall, the floor or the ceiling is nearer than this."""
    if not (distance < z < HEIGHT - distance and distance < x < WIDTH - distance):
        return True
    return any(
        abs(x - at) < 0.2 + distance and abs(z - gap(wall, t)) > HALF_GAP - distance
        for wall, at in enumerate(WALLS)
    )


def fly(state: State, thrusts: Any, mass: float, wind: float) -> tuple[State, float, bool]:
    """One period with two thrusts."""
    x, z, vx, vz, tilt, turn, t = state
    left, right = thrusts
    dt = PERIOD / SUBSTEPS
    for _ in range(SUBSTEPS):
        lift = (left + right) / mass
        vx += dt * (-lift * math.sin(tilt) + DRAG * (wind - vx))
        vz += dt * (lift * math.cos(tilt) - GRAVITY - DRAG * vz)
        turn += dt * (ARM * (right - left) / INERTIA - turn)
        x, z, tilt, t = x + dt * vx, z + dt * vz, tilt + dt * turn, t + dt
        if is_near(x, z, t, RADIUS):
            return (x, z, vx, vz, tilt, turn, t), -100.0, True
    to_x, to_z, speed = deck(t)
    here = (x, z, vx, vz, tilt, turn, t)
    settles = abs(vx - speed) + abs(vz) + abs(tilt) < 1.5
    if settles and abs(x - to_x) < 0.6 and 0.0 < z - to_z < 0.35:
        return here, 10.0, True  # landed
    cost = 0.1 * way_to_go(x, z, t) + 0.05 * tilt * tilt + 0.005 * turn * turn
    cost += 0.1 * max(0.0, math.hypot(vx, vz) - FAST) ** 2
    if is_near(x, z, t, SAFE) and z > to_z + 1:
        cost += 2.0
    return here, -cost, False


def step(state: State, thrusts: Any, rng: np.random.Generator) -> tuple[State, float, bool]:
    """The model: what the quadrotor would do if it were as light as we think, without wind."""
    del rng
    return fly(state, thrusts, MASS, 0.0)


def gusts(seed: int, periods: int) -> list[float]:
    """The wind in each period, in m/s: it changes slowly, and then at once."""
    rng, wind, winds = np.random.default_rng(seed), 0.0, []
    for _ in range(periods):
        wind = 0.97 * wind + rng.normal(0.0, 0.8)
        if rng.random() < 0.05:
            wind = rng.normal(0.0, 8.0)
        winds.append(wind)
    return winds


def main(path: str, steps: int = 250) -> None:
    """Fly with the default planner and with MPPI, and film the first flight."""
    scenes = flight("Platypus", pp.Platypus(discount=0.95), steps)
    flight("MPPI", pp.planners.MPPI(discount=0.95), steps)
    draw(scenes, path)


def flight(name: str, planner: Any, steps: int) -> list[Any]:
    """Fly, and print how it went; returns what there was to see."""
    looked_at: list[State] = []

    def watched(state: State, thrusts: Any, rng: np.random.Generator) -> Any:
        found = step(state, thrusts, rng)
        looked_at.append(found[0][:2])
        return found

    agent = pp.Agent(
        pp.FunctionModel(watched, THRUSTS, START), deadline=DEADLINE, planner=planner, seed=0
    )
    agent.warm_up()
    state, thrusts, total, ended = START, (MASS * GRAVITY / 2,) * 2, 0.0, False
    scenes, waits, calls = [], [], 0
    for wind in gusts(GUSTS, steps):
        looked_at.clear()
        expected = fly(state, thrusts, MASS, 0.0)[0]  # when the thrusts at work are over
        begin = time.perf_counter()
        agent.act(expected)
        plan = agent.plan
        waits.append(1000 * (time.perf_counter() - begin))
        calls += plan.calls
        scenes.append(Scene(state, thrusts, wind, plan, np.array(looked_at)))
        state, reward, ended = fly(state, thrusts, REAL_MASS, wind)
        thrusts, total = plan.action, total + reward
        if ended:
            break
    outcome = "landed" if ended and reward > 0 else "crashed" if ended else "in the air"
    middle, late = np.percentile(waits, (50, 99))
    print(
        f"{name}: {outcome} after {state[-1]:.1f} s, return {total:.0f}; decisions took "
        f"{middle:.1f} ms (median), {late:.1f} (99 %), {max(waits):.1f} (worst), "
        f"with {calls // len(waits)} calls each"
    )
    return [*scenes, scenes[-1]._replace(state=state)]


class Scene(NamedTuple):
    """What there is to see in one period."""

    state: State
    thrusts: Any
    wind: float
    plan: pp.Plan
    looked_at: np.ndarray


SKY, WALL, LAMP, DOT, ROUTE, TRAIL, BODY, FLAME, DECK, AIR = (
    "#f6f9fd", "#33415c", "#57b894", "#9aa7b8", "#2a7de1", "#e4572e", "#1b2a41", "#ff9f1c",
    "#7a5195", "#b9cbe2",
)  # fmt: skip


def draw(scenes: list[Scene], path: str) -> None:
    """One picture for each decision, in real time; the last one stays for a second."""
    figure = plt.figure(figsize=(8.4, 2.7), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    flown = np.array([scene.state[:2] for scene in scenes])
    air = np.random.default_rng(0).uniform((0, 0), (WIDTH, HEIGHT), (45, 2))

    def picture(number: int) -> None:
        number = min(number, len(scenes) - 1)
        scene = scenes[number]
        axes.clear()
        axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), xticks=[], yticks=[], facecolor=SKY)
        air[:, 0] = (air[:, 0] + PERIOD * scene.wind) % WIDTH
        streaks = [((x, z), (x - 0.15 * scene.wind, z)) for x, z in air]
        axes.add_collection(LineCollection(streaks, colors=AIR, linewidths=1.2, zorder=0))
        draw_course(axes, scene.state[-1])
        if number < len(scenes) - 1:  # the last picture is of the end
            axes.plot(*scene.looked_at.T, ".", color=DOT, markersize=1.5)
            axes.plot(*route(scene.plan).T, color=ROUTE, linewidth=2.2)
        axes.plot(*flown[: number + 1].T, color=TRAIL, linewidth=1.8)
        draw_quadrotor(axes, scene.state, scene.thrusts)

    film = FuncAnimation(figure, picture, frames=len(scenes) + round(1 / PERIOD))
    film.save(path, writer=PillowWriter(fps=int(1 / PERIOD)))
    plt.close(figure)


def route(plan: pp.Plan) -> np.ndarray:
    """Where the model says that the recommended thrusts lead."""
    state, places = plan.state, [plan.state[:2]]
    for thrusts in plan.actions:
        state, _, ended = fly(state, thrusts, MASS, 0.0)
        places.append(state[:2])
        if ended:
            break
    return np.array(places)


def draw_course(axes: Any, t: float) -> None:
    """The walls with lamps at their gaps, and the deck."""
    for wall, at in enumerate(WALLS):
        low, high = gap(wall, t) - HALF_GAP, gap(wall, t) + HALF_GAP
        for bottom, top, lamp in ((0.0, low, low - 0.15), (high, HEIGHT, high)):
            axes.add_patch(Rectangle((at - 0.2, bottom), 0.4, top - bottom, color=WALL))
            axes.add_patch(Rectangle((at - 0.2, lamp), 0.4, 0.15, color=LAMP))
    x, z, _ = deck(t)
    axes.add_patch(Rectangle((x - 1.0, z - 0.3), 2.0, 0.3, color=DECK))
    for wheel in (x - 0.7, x + 0.7):
        axes.plot([wheel, wheel], [0.2, z - 0.3], color=DECK, linewidth=2)
        axes.plot(wheel, 0.15, "o", color=BODY, markersize=4)


def draw_quadrotor(axes: Any, state: State, thrusts: Any) -> None:
    """Its beam, its rotors, and below each of them a flame that is as long as the thrust."""
    x, z, tilt = state[0], state[1], state[4]
    along = np.array([math.cos(tilt), math.sin(tilt)])
    up = np.array([-math.sin(tilt), math.cos(tilt)])

    def line(*ends: Any, **style: Any) -> None:
        axes.plot(*np.array(ends).T, solid_capstyle="round", **style)

    for side, thrust in zip((-0.5, 0.5), thrusts, strict=True):
        rotor = np.array([x, z]) + side * along + 0.15 * up
        line(rotor - 0.1 * up, rotor - (0.1 + 0.1 * thrust) * up, color=FLAME, linewidth=3.5)
        line(rotor - 0.3 * along, rotor + 0.3 * along, color=BODY, linewidth=1.6)
    line((x, z) - 0.5 * along, (x, z) + 0.5 * along, color=BODY, linewidth=4)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "quadrotor.gif")
