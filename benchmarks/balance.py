"""Keep a pole upright (CartPole-v1): 500 steps, rewards of 1 with and without noise.

Tests whether a planner keeps a margin. Each step pays 1 until the pole falls, so plans differ only
in when they end. With noise of ±4 the reward of a step says next to nothing. The physics is that of
Gymnasium, as a plain Python function ("python"), or the environment itself ("gymnasium").

python benchmarks/balance.py                                # half an hour on one core
python benchmarks/balance.py --quick --kind python
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import trials
from trials import Problem, Row, cell, select

import platypoos as pp

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
MOST_X, MOST_ANGLE = 2.4, 12 * 2 * math.pi / 360
STEPS, DISCOUNT = 500, 0.95
UPRIGHT = math.radians(6)
KINDS = ("python", "gymnasium")

Cart = tuple[float, float, float, float]


def step(state: Cart, action: int, _: Any) -> tuple[Cart, float, bool]:
    """One step of gymnasium's cartpole.py (Euler); ``check_physics`` compares them."""
    x, x_dot, theta, theta_dot = state
    force = FORCE if action == 1 else -FORCE
    cos, sin, mass = math.cos(theta), math.sin(theta), CART + POLE
    pull = (force + POLE * HALF_LENGTH * theta_dot**2 * sin) / mass
    theta_acc = (GRAVITY * sin - cos * pull) / (HALF_LENGTH * (4.0 / 3.0 - POLE * cos**2 / mass))
    x_acc = pull - POLE * HALF_LENGTH * theta_acc * cos / mass
    x, x_dot = x + SECONDS * x_dot, x_dot + SECONDS * x_acc
    theta, theta_dot = theta + SECONDS * theta_dot, theta_dot + SECONDS * theta_acc
    fell = abs(x) > MOST_X or abs(theta) > MOST_ANGLE
    return (x, x_dot, theta, theta_dot), 1.0, fell


def make(seed: int) -> Problem:
    """CartPole from the state in which Gymnasium starts with this seed."""
    start = tuple(np.random.default_rng(seed).uniform(-0.05, 0.05, 4).tolist())
    return Problem(
        step=step, actions=2, initial_state=start, rule=None, steps=STEPS, discount=DISCOUNT
    )


def check_physics(episodes: int = 20) -> None:
    """Compare the function with the environment: starts, states, rewards, ends."""
    import gymnasium

    env = gymnasium.make("CartPole-v1").unwrapped
    for seed in range(episodes):
        state, rng, ended = make(seed)["initial_state"], np.random.default_rng(seed), False
        env.reset(seed=seed)
        while not ended:
            assert np.allclose(state, env.state, rtol=0, atol=1e-9), (state, env.state)
            action = int(rng.integers(2))
            state, reward, ended = step(state, action, rng)
            _, expected, over, _, _ = env.step(action)
            assert (reward, ended) == (expected, over)
    env.close()


def angles_of(kind: str, actions: list[int], seed: int) -> list[float]:
    """The angles when these actions are taken from the start."""
    if kind == "python":
        given = iter(actions)
        run = trials.follow(make(seed), lambda _: next(given, None))
        return [state[2] for state in run.states[1:]]
    import gymnasium

    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=seed)
    angles = []
    for action in actions:  # the same arithmetic to the last bit: errors grow fast here
        env.step(action)
        angles.append(float(env.state[2]))
    env.close()
    return angles


def environment_model(seed: int, noise: float) -> Any:
    """The environment itself as a model, with noise if there is any."""
    model = pp.GymnasiumModel("CartPole-v1", seed=seed)
    if not noise:
        return model
    noisy = Problem(
        step=model.step, actions=2, initial_state=model.initial_state, rule=None, steps=STEPS,
        discount=DISCOUNT,
    )  # fmt: skip
    return trials.as_model(noisy, with_rule=False, noise=noise)


def play(kind: str, planner: str, budget: int, noise: float, seed: int) -> Row:
    """One episode."""
    model = trials.as_model(make(seed), with_rule=False, noise=noise) if kind == "python" else None
    episode = pp.control(
        environment_model(seed, noise) if model is None else model,
        planner=trials.PLANNERS[planner](DISCOUNT), budget=budget, steps=STEPS, seed=seed,
        keep="nothing",
    )  # fmt: skip
    angles = np.abs(angles_of(kind, list(episode.actions), seed))
    return {
        "benchmark": "balance", "kind": kind, "planner": planner, "budget": budget, "noise": noise,
        "seed": seed, "score": len(angles), "survived": not episode.terminated,
        "upright": float(np.sum(angles <= UPRIGHT)) / STEPS,
        "largest": math.degrees(float(angles.max())),
    }  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 4.0], help="± this")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))


def main() -> None:
    """Check the physics, play, and print a table."""
    args = trials.parse(
        str(__doc__), budgets=(300, 3_000), planners=("Platypus", "UCT"), seeds=5,
        quick_budgets=(300,), quick_seeds=2, more=add_options,
    )  # fmt: skip
    check_physics()
    cases = [(kind, name, budget, noise) for kind in args.kind for noise in args.noise
             for budget in args.budgets for name in args.planner]  # fmt: skip
    rows = trials.measure(play, [(*case, seed) for case in cases for seed in args.seeds], args)
    lines = []
    for kind, name, budget, noise in cases:
        found = select(rows, kind=kind, planner=name, budget=budget, noise=noise)
        lines.append((
            kind, f"±{noise:g}", budget, name,
            f"{sum(row['survived'] for row in found)} of {len(found)}",
            cell([row["score"] for row in found], 0),
            cell([100 * row["upright"] for row in found], 0) + " %",
            cell([row["largest"] for row in found], 1) + "°",
        ))  # fmt: skip
    print(f"CartPole, {STEPS} steps, discount {DISCOUNT}; share of {STEPS} steps within 6°")
    heads = ("model", "noise", "calls", "planner", "survived", "steps", "within 6°", "largest")
    trials.print_table(heads, lines)
    settings = ("benchmark", "kind", "planner", "budget", "noise")
    trials.print_against(rows, args.against, settings)


if __name__ == "__main__":
    main()
