"""The challenges in which planners act for many steps, a function for each family."""

from __future__ import annotations

from typing import Any

from platypoos.lab.arena.challenge import Challenge
from platypoos.lab.experiments.spec import Choice

DECISIONS = (100, 300, 1_000)
"""Budgets of one decision, in calls."""
SILENT = (300, 1_000, 3_000)
"""Budgets of one decision where rewards are far away."""


def _control(family: str, name: str, problem: Choice, discount: float, **said: Any) -> Challenge:
    """Plan, act, repeat; the total of the rewards is measured. Budgets are given in calls."""
    calls = said.pop("calls", DECISIONS)
    settings: dict[str, Any] = {"measure": "total", "frames": 1, **said}
    return Challenge(
        name=f"{family}/{name}",
        family=family,
        problem=problem,
        budgets=tuple(count * settings["frames"] for count in calls),
        discount=discount,
        **settings,
    )


def silent() -> list[Challenge]:
    """No reward before the goal."""

    def goal(name: str, problem: Choice, steps: int, **said: Any) -> Challenge:
        return _control("silent", name, problem, 0.95, steps=steps, calls=SILENT, **said)

    return [
        goal("maze-6", Choice.of("maze", size=6), 40, measure="expected", quick=True),
        goal("maze-10", Choice.of("maze", size=10), 80, measure="expected"),
        goal("maze-6-noise-0.2", Choice.of("maze", size=6, noise=0.2), 40, measure="expected",
             noise=0.2),
        goal("frozen-lake-8x8",
             Choice.of("gymnasium", env="FrozenLake-v1", is_slippery=False, map_name="8x8"), 30),
        goal("cliff-walking", Choice.of("gymnasium", env="CliffWalking-v1"), 30,
             reward_min=-100.0, reward_max=-1.0),
        goal("taxi", Choice.of("gymnasium", env="Taxi-v4"), 40,
             reward_min=-10.0, reward_max=20.0),
        goal("door-key-5x5", Choice.of("gymnasium", env="MiniGrid-DoorKey-5x5-v0"), 40),
    ]  # fmt: skip


def time_steps() -> list[Challenge]:
    """Problems of motion, with the usual time step, half of it, and a quarter."""
    rows: list[tuple[str, float, int, float, float, float, float]] = [
        # name, usual time step, steps, discount, reward per step, per end, repeat
        ("pillars", 0.1, 60, 0.95, -2.0, -100.0, 1),
        ("pendulum", 0.05, 100, 0.95, -16.3, 0.0, 1),
        ("cart-pole", 0.02, 200, 0.98, 1.0, 0.0, 1),
        ("acrobot", 0.2, 40, 0.95, -5.0, 0.0, 5),
        ("mountain-car", 1.0, 20, 0.95, -10.0, 0.0, 10),
    ]
    found = []
    for name, dt, steps, discount, reward, end, repeat in rows:
        for part in (1, 2, 4):
            parameters = {"dt": dt / part, **({"repeat": repeat} if repeat > 1 else {})}
            found.append(
                _control(
                    "time-steps",
                    name if part == 1 else f"{name}-{part}-times-finer",
                    Choice.of(name, **parameters),
                    round(discount ** (1 / part), 4),
                    steps=part * steps,
                    reward_min=min(0.0, reward / part + end),
                    reward_max=max(0.0, reward / part),
                    frames=int(repeat),
                    quick=part == 1 and name in {"pillars", "pendulum"},
                )
            )
    return found


def landings() -> list[Challenge]:
    """A landing, with an end that is good and many that are bad."""
    return [
        _control(
            "landings",
            name,
            Choice.of("lander", dt=dt),
            discount,
            steps=steps,
            reward_min=-20.2,
            reward_max=10.0,
            quick=name == "lander",
        )
        for name, dt, steps, discount in (
            ("lander", 0.2, 50, 0.97),
            ("lander-coarse", 0.4, 25, 0.94),
            ("lander-fine", 0.1, 100, 0.985),
        )
    ]


def operations() -> list[Challenge]:
    """Orders, prices, packing, tours and schedules."""

    def task(name: str, problem: Choice, discount: float, steps: int, **said: Any) -> Challenge:
        return _control("operations", name, problem, discount, steps=steps, **said)

    stock = {"reward_min": -244.0, "reward_max": 320.0}
    return [
        task("inventory", Choice.of("inventory"), 0.95, 60, **stock, quick=True),
        task("inventory-noise-30", Choice.of("inventory", noise=30.0), 0.95, 60, **stock,
             noise=30.0),
        task("battery", Choice.of("battery", noise=5.0), 0.98, 48, varies=False,
             reward_min=-84.0, reward_max=75.0, noise=5.6),
        task("knapsack-20", Choice.of("knapsack", num_items=20), 1.0, 20, horizon=20,
             reward_min=10.0, reward_max=99.0, quick=True),
        task("knapsack-40", Choice.of("knapsack", num_items=40), 1.0, 40, horizon=40,
             reward_min=10.0, reward_max=99.0),
        task("tour-12", Choice.of("travelling-salesman", num_cities=12), 1.0, 11, horizon=11,
             reward_min=-2.9, reward_max=0.0),
        task("tour-30", Choice.of("travelling-salesman", num_cities=30), 1.0, 29, horizon=29,
             reward_min=-2.9, reward_max=0.0),
        task("job-shop-6x6", Choice.of("job-shop"), 1.0, 36, horizon=36, varies=False,
             reward_min=-10.0, reward_max=0.0),
    ]  # fmt: skip


def puzzles() -> list[Challenge]:
    """Sliding tiles and boxes to push."""
    return [
        _control("puzzles", "tiles-120", Choice.of("sliding-tiles"), 0.95, steps=120,
                 reward_max=512.0, quick=True),
        _control("puzzles", "tiles-300", Choice.of("sliding-tiles"), 0.98, steps=300,
                 reward_max=1_024.0),
    ] + [
        _control("puzzles", f"boxes-{level}", Choice.of("pushing-boxes", level=level), 0.95,
                 steps=steps, calls=SILENT, varies=False, reward_min=-1.0, reward_max=11.0,
                 quick=level == 0)
        for level, steps in enumerate((30, 50, 60))
    ]  # fmt: skip


def games() -> list[Challenge]:
    """Atari games; a call is 15 frames."""
    return [
        _control(
            "games",
            name,
            Choice.of(
                "gymnasium", env=f"ALE/{game}-v5", frameskip=15, repeat_action_probability=0.0
            ),
            0.98,
            steps=50,
            calls=(30, 60, 120),
            frames=15,
            reward_max=most,
        )
        for name, game, most in (
            ("breakout", "Breakout", 7.0),
            ("freeway", "Freeway", 1.0),
            ("ms-pacman", "MsPacman", 200.0),
        )
    ]


def control_families() -> list[Challenge]:
    """All of them."""
    return [
        *silent(),
        *time_steps(),
        *landings(),
        *operations(),
        *puzzles(),
        *games(),
    ]
