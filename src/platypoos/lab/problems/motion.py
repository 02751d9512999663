"""The equations of motion: one compiled step for all of the physics, so it is compiled once."""

from __future__ import annotations

import math
from typing import Any

from platypoos.compiled.code.marks import jitable

PENDULUM, CART_POLE, ACROBOT, MOUNTAIN_CAR, PILLARS, LANDER = range(6)
"""The first of the parameters; the second is the time step, the third the repeat."""
TURN = 2 * math.pi
POLE_LIMIT, TRACK_LIMIT = 12 * TURN / 360, 2.4
"""Where cart-pole ends: angle and position."""
FLOATS_LIMIT = 10.0
"""How far from the middle a lander may drift."""


@jitable
def clip(x: Any, low: Any, high: Any) -> Any:
    """The number within bounds."""
    return min(max(x, low), high)


@jitable
def wrap(x: Any) -> Any:
    """The same angle from −π to π."""
    while x > math.pi:
        x -= TURN
    while x < -math.pi:
        x += TURN
    return x


@jitable
def pendulum(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Swing up; torques are evenly spaced from −2 to 2. Costs are those of 0.05 s."""
    dt = params[1]
    torque = -2.0 + 4.0 * action / (params[3] - 1)
    angle, speed = state[0], state[1]
    off = (angle + math.pi) % TURN - math.pi
    cost = off**2 + 0.1 * speed**2 + 0.001 * torque**2
    speed = clip(speed + (15.0 * math.sin(angle) + 3.0 * torque) * dt, -8.0, 8.0)
    after[0] = angle + speed * dt
    after[1] = speed
    return -cost * dt / 0.05, False


@jitable
def cart_pole(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Push left or right; a reward of 1 for every 0.02 s."""
    dt = params[1]
    force = 10.0 if action == 1 else -10.0
    x, v, angle, spin = state[0], state[1], state[2], state[3]
    cosine, sine = math.cos(angle), math.sin(angle)
    push = (force + 0.05 * spin**2 * sine) / 1.1
    turning = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
    driving = push - 0.05 * turning * cosine / 1.1
    after[0] = x + dt * v
    after[1] = v + dt * driving
    after[2] = angle + dt * spin
    after[3] = spin + dt * turning
    fallen = abs(after[0]) > TRACK_LIMIT or abs(after[2]) > POLE_LIMIT
    return dt / 0.02, fallen


@jitable
def acrobot_rates(one: Any, two: Any, speed_one: Any, speed_two: Any, torque: Any) -> Any:
    """The accelerations of the two links, of length and mass 1."""
    d1 = 0.25 + (1.25 + math.cos(two)) + 2.0
    d2 = 0.25 + 0.5 * math.cos(two) + 1.0
    phi2 = 0.5 * 9.8 * math.cos(one + two - math.pi / 2)
    phi1 = (
        -0.5 * speed_two**2 * math.sin(two)
        - speed_two * speed_one * math.sin(two)
        + 1.5 * 9.8 * math.cos(one - math.pi / 2)
        + phi2
    )
    turning = torque + d2 / d1 * phi1 - 0.5 * speed_one**2 * math.sin(two) - phi2
    second = turning / (1.25 - d2**2 / d1)
    return -(d2 * second + phi1) / d1, second


@jitable
def acrobot(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Swing the tip above the bar by a torque of −1, 0 or 1: −1 for every 0.2 s until then."""
    dt, torque = params[1], action - 1.0
    a, b, v, w = state[0], state[1], state[2], state[3]
    half = dt / 2.0
    # The classical Runge-Kutta method of fourth order.
    v1, w1 = v, w
    p1, q1 = acrobot_rates(a, b, v1, w1, torque)
    v2, w2 = v + half * p1, w + half * q1
    p2, q2 = acrobot_rates(a + half * v1, b + half * w1, v2, w2, torque)
    v3, w3 = v + half * p2, w + half * q2
    p3, q3 = acrobot_rates(a + half * v2, b + half * w2, v3, w3, torque)
    v4, w4 = v + dt * p3, w + dt * q3
    p4, q4 = acrobot_rates(a + dt * v3, b + dt * w3, v4, w4, torque)
    after[0] = wrap(a + dt / 6.0 * (v1 + 2 * v2 + 2 * v3 + v4))
    after[1] = wrap(b + dt / 6.0 * (w1 + 2 * w2 + 2 * w3 + w4))
    after[2] = clip(v + dt / 6.0 * (p1 + 2 * p2 + 2 * p3 + p4), -2 * TURN, 2 * TURN)
    after[3] = clip(w + dt / 6.0 * (q1 + 2 * q2 + 2 * q3 + q4), -4.5 * TURN, 4.5 * TURN)
    above = -math.cos(after[0]) - math.cos(after[1] + after[0]) > 1.0
    return (0.0 if above else -dt / 0.2), above


@jitable
def mountain_car(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Get out of a valley by a force of −1, 0 or 1: −1 for every unit of time until then."""
    dt = params[1]
    speed = state[1] + dt * ((action - 1) * 0.001 - 0.0025 * math.cos(3 * state[0]))
    speed = clip(speed, -0.07, 0.07)
    place = clip(state[0] + dt * speed, -1.2, 0.6)
    if place == -1.2 and speed < 0:
        speed = 0.0
    after[0] = place
    after[1] = speed
    return -dt, place >= 0.5 and speed >= 0.0


@jitable
def pillars(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Fly to (8, 8) by nine thrusts: −distance for every second, −100 and the end at a pillar."""
    dt = params[1]
    across, up = action // 3 - 1, action % 3 - 1
    after[2] = state[2] + dt * (4.0 * across - 0.3 * state[2])
    after[3] = state[3] + dt * (4.0 * up - 0.3 * state[3])
    after[0] = state[0] + dt * after[2]
    after[1] = state[1] + dt * after[3]
    crash = False
    for i in range(3, len(params), 2):
        crash = crash or math.hypot(after[0] - params[i], after[1] - params[i + 1]) < 1.0
    reward = -dt * math.hypot(after[0] - 8.0, after[1] - 8.0)
    return reward - (100.0 if crash else 0.0), crash


@jitable
def lander(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Land softly on the pad, |x| < 1, by thrusts none, left, right and up: 10, or −20 for a crash.

    Fuel costs 0.2 a second.
    """
    dt = params[1]
    across = 1.0 * (action == 2) - 1.0 * (action == 1)
    up = 3.0 * (action == 3) - 1.5
    after[2] = state[2] + dt * across
    after[3] = state[3] + dt * up
    after[0] = state[0] + dt * after[2]
    after[1] = state[1] + dt * after[3]
    reward = -0.2 * dt if action > 0 else 0.0
    if abs(after[0]) > FLOATS_LIMIT or after[1] > FLOATS_LIMIT:
        return reward - 20.0, True
    if after[1] > 0.0:
        return reward, False
    soft = abs(after[0]) < 1.0 and abs(after[2]) < 0.6 and after[3] > -1.0
    return reward + (10.0 if soft else -20.0), True


@jitable
def move(state: Any, action: Any, params: Any, after: Any) -> Any:
    """One time step of whichever problem it is."""
    kind = params[0]
    if kind == PENDULUM:
        return pendulum(state, action, params, after)
    if kind == CART_POLE:
        return cart_pole(state, action, params, after)
    if kind == ACROBOT:
        return acrobot(state, action, params, after)
    if kind == MOUNTAIN_CAR:
        return mountain_car(state, action, params, after)
    if kind == PILLARS:
        return pillars(state, action, params, after)
    return lander(state, action, params, after)


def motion_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:  # noqa: ARG001
    """As many time steps as the action is repeated; rewards add up."""
    total, ended = move(state, action, params, next_state)
    for _ in range(1, int(params[2])):
        if ended:
            break
        reward, ended = move(next_state, action, params, next_state)
        total += reward
    return total, ended
