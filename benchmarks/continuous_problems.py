"""Twelve cheap control problems whose actions are boxes of numbers.

All are deterministic. States are tuples of floats and steps use ``math`` only, so a call takes one
to four microseconds. ``start`` draws where an episode begins. ``low`` and ``high`` are scores that
normalise the others: about what random actions get, and about the best that is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import platypoos as pp

State = tuple[float, ...]
Step = Callable[[State, Any, Any], tuple[State, float, bool]]


@dataclass(frozen=True)
class Problem:
    """A problem, and how its episodes are scored."""

    name: str
    step: Step
    box: pp.Box
    start: Callable[[np.random.Generator], State]
    steps: int
    """Decisions of an episode. Planners are not told."""
    discount: float
    low: float
    high: float
    """A score of ``low`` counts as 0, one of ``high`` as 1."""
    spread: float
    """The standard deviation of the rewards in a good episode, to scale noise by."""
    for_choosing: bool
    """Whether settings may be chosen on it; the other half is for judging."""

    def start_of(self, seed: int) -> State:
        """Where the episode of a seed begins."""
        return self.start(np.random.default_rng([seed, 2026]))

    def model(self, seed: int, noise: float = 0.0, gusts: float = 0.0) -> Any:
        """The model of a seed's episode.

        Args:
            seed: draws where it starts.
            noise: Gaussian noise of this standard deviation, in units of ``spread``, is added to
                each reward.
            gusts: Gaussian noise of this standard deviation, in units of half of the box, is added
                to each action. Then dynamics are random.
        """
        if gusts:
            start = self.start_of(seed)
            return pp.FunctionModel(self.gusty(gusts), self.box, start, dynamics="random")
        step, scale = self.step, noise * self.spread

        def noisy(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:
            after, reward, ended = step(state, action, rng)
            return after, reward + scale * rng.standard_normal(), ended

        return pp.FunctionModel(
            noisy if noise else step, actions=self.box, initial_state=self.start_of(seed)
        )

    def gusty(self, gusts: float) -> Step:
        """A step whose action is not quite the one that was taken."""
        step, box = self.step, self.box
        scale = 0.5 * gusts * (box.high - box.low)

        def disturbed(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:
            moved = action + scale * rng.standard_normal(box.shape)
            return step(state, moved if box.shape else float(moved), rng)

        return disturbed

    def normalised(self, score: float) -> float:
        """A score in units of the range: 0 is ``low`` and 1 is ``high``."""
        return (score - self.low) / (self.high - self.low)


def around(*middle: float, by: float | tuple[float, ...]) -> Callable[[np.random.Generator], State]:
    """A start that is drawn uniformly around a point."""
    width = np.broadcast_to(by, len(middle))

    def start(rng: np.random.Generator) -> State:
        return tuple((np.array(middle) + width * rng.uniform(-1, 1, len(middle))).tolist())

    return start


def pendulum(state: State, action: float, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Swing a pendulum up with a torque that is too weak to lift it; 0 is up."""
    angle, speed = state
    cost = 0.0
    for _ in range(2):
        off = math.remainder(angle, 2 * math.pi)
        cost += off * off + 0.1 * speed * speed + 0.001 * action * action
        speed += 0.05 * (15.0 * math.sin(angle) + 3.0 * action)
        speed = max(-8.0, min(8.0, speed))
        angle += 0.05 * speed
    return (math.remainder(angle, 2 * math.pi), speed), -cost / 2, False


def cartpole(state: State, action: float, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Swing a pole up by pushing the cart that it hangs on; 0 is up, and the track has ends."""
    x, v, angle, turn = state
    force = 10.0 * action
    for _ in range(2):
        sin, cos = math.sin(angle), math.cos(angle)
        push = (force + 0.05 * turn * turn * sin) / 1.1
        bend = (9.81 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        v += 0.02 * (push - 0.05 * bend * cos / 1.1)
        turn += 0.02 * bend
        x += 0.02 * v
        angle += 0.02 * turn
    if abs(x) > 1.8:
        x, v = math.copysign(1.8, x), 0.0
    upright = 0.5 + 0.5 * math.cos(angle)
    reward = upright * (1.0 - 0.5 * abs(x) / 1.8) * (1.0 - 0.1 * action * action)
    reward /= 1.0 + 0.02 * turn * turn
    return (x, v, math.remainder(angle, 2 * math.pi), turn), reward, False


PILLARS = ((1.4, 0.15, 0.45), (2.5, -0.75, 0.45), (2.5, 0.85, 0.45), (3.4, 0.1, 0.35))
"""(x, y, radius) of round pillars between the start, 0, and the goal, (4.5, 0)."""


def hits(x: float, y: float) -> bool:
    """Whether a point is inside of a pillar."""
    for a, b, radius in PILLARS:  # noqa: SIM110  a loop is faster
        if (x - a) * (x - a) + (y - b) * (y - b) < radius * radius:
            return True
    return False


def pillars(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Fly a point mass with two thrusts to a goal behind pillars; a crash is -100 and the end."""
    x, y, vx, vy = state
    ax, ay = action.tolist()
    vx, vy = 0.95 * vx + 0.3 * ax, 0.95 * vy + 0.3 * ay
    x, y = x + 0.1 * vx, y + 0.1 * vy
    if hits(x, y):
        return (x, y, vx, vy), -100.0, True
    return (x, y, vx, vy), -0.2 * math.hypot(x - 4.5, y), False


def quadrotor(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Fly a planar quadrotor by its two rotors through the pillars; a crash is -100 and the end."""
    x, y, tilt, vx, vy, turn = state
    left, right = action.tolist()
    for _ in range(2):
        lift = left + right
        vx += 0.05 * (-lift * math.sin(tilt) - 0.1 * vx)
        vy += 0.05 * (lift * math.cos(tilt) - 9.81 - 0.1 * vy)
        turn += 0.05 * (3.0 * (right - left) - 0.5 * turn)
        x, y, tilt = x + 0.05 * vx, y + 0.05 * vy, tilt + 0.05 * turn
    after = (x, y, tilt, vx, vy, turn)
    if abs(tilt) > 1.6 or abs(y) > 2.5 or hits(x, y):
        return after, -100.0, True
    return after, -0.2 * math.hypot(x - 4.5, y) - 0.02 * abs(turn), False


def arm6(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Let the tip of an arm of six joints follow a target on a circle."""
    a0, a1, a2, a3, a4, a5, s0, s1, s2, s3, s4, s5, phase = state
    u0, u1, u2, u3, u4, u5 = action.tolist()
    s0, s1, s2 = 0.8 * s0 + 0.1 * u0, 0.8 * s1 + 0.1 * u1, 0.8 * s2 + 0.1 * u2
    s3, s4, s5 = 0.8 * s3 + 0.1 * u3, 0.8 * s4 + 0.1 * u4, 0.8 * s5 + 0.1 * u5
    a0, a1, a2, a3, a4, a5 = a0 + s0, a1 + s1, a2 + s2, a3 + s3, a4 + s4, a5 + s5
    x = y = angle = 0.0
    for bend in (a0, a1, a2, a3, a4, a5):
        angle += bend
        x += math.cos(angle)
        y += math.sin(angle)
    phase += 0.12
    gap = math.hypot(x - 3.5 * math.cos(phase), y - 3.5 * math.sin(phase))
    after = (a0, a1, a2, a3, a4, a5, s0, s1, s2, s3, s4, s5, phase)
    return after, math.exp(-gap), False


def swimmer(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Swim in syrup with three joints: after Purcell, only a rhythm of the joints moves it.

    To the lowest order in the joints' angles, the way is the area that pairs of neighbours enclose.
    """
    a, b, c = state
    u, v, w = action.tolist()
    a1 = max(-1.2, min(1.2, a + 0.4 * u))
    b1 = max(-1.2, min(1.2, b + 0.4 * v))
    c1 = max(-1.2, min(1.2, c + 0.4 * w))
    way = (a * b1 - b * a1) + (b * c1 - c * b1)
    return (a1, b1, c1), way, False


def parking(state: State, action: float, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Stop a cart of bounded force at 0, near a wall at 0.25; a crash is -20 and the end."""
    x, v = state
    x += 0.25 * v + 0.03125 * action
    v += 0.25 * action
    if x > 0.25:
        return (x, v), -20.0, True
    return (x, v), -0.2 * abs(x) - 0.02 * abs(v), False


def car(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Park a car sideways: it moves along its heading only, and turns when it moves."""
    x, y, heading = state
    speed, wheel = action.tolist()
    for _ in range(2):
        x += 0.15 * speed * math.cos(heading)
        y += 0.15 * speed * math.sin(heading)
        heading += 0.15 * speed * math.tan(wheel)
    off = math.remainder(heading, 2 * math.pi)
    return (x, y, off), -math.hypot(x, y) - 0.4 * abs(off), False


TRAP_LEFT, TRAP_RIGHT, TRAP_SIDE = -0.2, 0.6, 0.7
"""A wall like a U on its side: open on the left, closed on the right, and two arms."""


def bug_trap(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Leave a U-shaped wall to reach the goal behind it, (2, 0); the reward is -distance.

    The nearest point is inside of the U. To get out, one must go away from the goal first.
    """
    x, y, vx, vy = state
    ax, ay = action.tolist()
    vx, vy = 0.7 * vx + 0.12 * ax, 0.7 * vy + 0.12 * ay
    to = x + vx
    if (x < TRAP_RIGHT) != (to < TRAP_RIGHT) and abs(y) <= TRAP_SIDE:
        vx = 0.0
    else:
        x = to
    to = y + vy
    within = TRAP_LEFT <= x <= TRAP_RIGHT
    if within and ((y < TRAP_SIDE) != (to < TRAP_SIDE) or (y < -TRAP_SIDE) != (to < -TRAP_SIDE)):
        vy = 0.0
    else:
        y = to
    return (x, y, vx, vy), -math.hypot(x - 2.0, y), False


def heat(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Heat a house from a tank: one valve fills the tank by the hour's tariff, one empties it."""
    room, tank, hour = state
    fill, flow = action.tolist()
    outside = 5.0 + 5.0 * math.cos((hour - 15.0) * math.pi / 12)
    tariff = 1.0 if hour < 6.0 else 4.0 if 17.0 <= hour < 21.0 else 2.5
    given = 0.1 * flow * (tank - room)
    tank += 6.0 * fill - given - 0.01 * (tank - room)
    room += 0.5 * given - 0.04 * (room - outside)
    tank = min(tank, 80.0)
    wanted = 20.0 if 6.0 <= hour < 22.0 else 17.0
    cold = max(0.0, wanted - room) + 0.5 * max(0.0, room - wanted - 3.0)
    return (room, tank, (hour + 0.5) % 24.0), -0.5 * tariff * fill - 0.5 * cold, False


def mountain_car(state: State, action: float, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Drive a weak car out of a valley; the only reward is 100 at the top, less the effort."""
    x, v = state
    for _ in range(4):
        v += 0.0015 * action - 0.0025 * math.cos(3 * x)
        v = max(-0.07, min(0.07, v))
        x += v
        if x < -1.2:
            x, v = -1.2, 0.0
        if x >= 0.45:
            return (x, v), 100.0 - 0.1 * action * action, True
    return (x, v), -0.1 * action * action, False


def prices(state: State, action: Any, rng: Any) -> tuple[State, float, bool]:  # noqa: ARG001
    """Sell three products by their prices before the season ends; buyers remember prices."""
    s0, s1, s2, r0, r1, r2, t = state
    p0, p1, p2 = action.tolist()
    crowd = 6.0 + 3.0 * math.sin(t * 0.2)
    w0 = math.exp(2.0 - 0.6 * p0 + 0.3 * (r0 - p0))
    w1 = math.exp(2.5 - 0.5 * p1 + 0.3 * (r1 - p1))
    w2 = math.exp(3.0 - 0.4 * p2 + 0.3 * (r2 - p2))
    all_in = crowd / (1.0 + w0 + w1 + w2)
    d0, d1, d2 = min(s0, w0 * all_in), min(s1, w1 * all_in), min(s2, w2 * all_in)
    s0, s1, s2 = s0 - d0, s1 - d1, s2 - d2
    r0, r1, r2 = 0.8 * r0 + 0.2 * p0, 0.8 * r1 + 0.2 * p1, 0.8 * r2 + 0.2 * p2
    reward = p0 * d0 + p1 * d1 + p2 * d2 - 0.02 * (s0 + s1 + s2)
    return (s0, s1, s2, r0, r1, r2, t + 1.0), reward, False


ONE, TWO = pp.Box(-1, 1), pp.Box([-1.0, -1.0], [1.0, 1.0])
PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "pendulum", pendulum, pp.Box(-2, 2), around(math.pi, 0.0, by=0.5),
            60, 0.95, -500.0, -150.0, 3.7, True,
        ),
        Problem(
            "cartpole", cartpole, ONE, around(0.0, 0.0, math.pi, 0.0, by=0.1),
            100, 0.97, 0.0, 60.0, 0.3, False,
        ),
        Problem(
            "pillars", pillars, TWO, around(0.0, 0.0, 0.0, 0.0, by=(0.1, 0.4, 0.0, 0.0)),
            60, 0.95, -110.0, -12.0, 0.3, True,
        ),
        Problem(
            "quadrotor", quadrotor, pp.Box([0.0, 0.0], [10.0, 10.0]),
            around(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, by=(0.1, 0.4, 0.1, 0.0, 0.0, 0.0)),
            60, 0.95, -110.0, -15.0, 0.3, False,
        ),
        Problem(
            "arm6", arm6, pp.Box([-1.0] * 6, [1.0] * 6),
            around(*[0.2] * 6, *[0.0] * 6, 0.0, by=(*[0.2] * 6, *[0.0] * 6, 1.5)),
            60, 0.95, 0.0, 50.0, 0.3, True,
        ),
        Problem(
            "swimmer", swimmer, pp.Box([-1.0] * 3, [1.0] * 3), around(0.0, 0.0, 0.0, by=0.3),
            60, 0.95, 0.0, 70.0, 0.3, False,
        ),
        Problem(
            "parking", parking, ONE, around(-5.0, 0.0, by=1.0),
            60, 0.95, -60.0, -9.0, 0.35, True,
        ),
        Problem(
            "car", car, pp.Box([-1.0, -0.6], [1.0, 0.6]),
            around(0.5, 1.5, 0.0, by=(0.5, 0.3, 0.3)),
            60, 0.95, -120.0, -20.0, 0.3, False,
        ),
        Problem(
            "bug trap", bug_trap, TWO, around(0.2, 0.0, 0.0, 0.0, by=(0.2, 0.3, 0.0, 0.0)),
            60, 0.97, -100.0, -20.0, 0.8, True,
        ),
        Problem(
            "heat", heat, pp.Box([0.0, 0.0], [1.0, 1.0]),
            around(18.0, 45.0, 0.0, by=(1.0, 5.0, 0.0)),
            96, 0.97, -60.0, -12.0, 0.2, False,
        ),
        Problem(
            "mountain car", mountain_car, ONE, around(-0.5, 0.0, by=(0.1, 0.0)),
            60, 0.99, 0.0, 98.0, 1.0, True,
        ),
        Problem(
            "prices", prices, pp.Box([1.0] * 3, [10.0] * 3),
            around(60.0, 60.0, 60.0, 5.0, 5.0, 5.0, 0.0, by=(*[20.0] * 3, *[0.0] * 4)),
            50, 0.97, 450.0, 950.0, 10.0, False,
        ),
    )
}  # fmt: skip
