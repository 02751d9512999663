"""The challenges of the arena, a function for each family; ``CHALLENGES`` has all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from platypoos.lab.arena.challenge import Challenge
from platypoos.lab.arena.families_control import control_families
from platypoos.lab.experiments.spec import Choice

PLANS = (100, 1_000, 10_000)
"""Budgets of a single plan."""
NARROW = 1e-6
"""The range of rewards beside an offset of a million."""


def _single(family: str, name: str, problem: Choice, discount: float, **said: Any) -> Challenge:
    """A single plan; its regret is measured."""
    settings: dict[str, Any] = {"budgets": PLANS, **said}
    return Challenge(
        name=f"{family}/{name}", family=family, problem=problem, discount=discount, **settings
    )


def chain() -> list[Challenge]:
    """The paper's chain: the better action pays off after six steps."""
    return [
        Challenge(
            name=f"chain/noise-{noise}",
            family="chain",
            problem=Choice.of("switch-chain", noise=float(noise)),
            budgets=PLANS,
            discount=0.95,
            steps=20,
            measure="expected",
            varies=False,
            reward_min=100.0,
            reward_max=130.0,
            noise=float(noise),
            quick=noise == 10,
        )
        for noise in (0, 1, 10, 50, 100)
    ]


def tables() -> list[Challenge]:
    """Random tables: sequences meet again and again."""
    rows: list[tuple[int, int, float, float]] = [  # states, actions, noise, discount
        (20, 3, 0.0, 0.9),
        (20, 3, 1.0, 0.9),
        (50, 10, 0.3, 0.8),
        (200, 5, 0.5, 0.95),
        (2_000, 4, 0.0, 0.95),
        (2_000, 2, 1.0, 0.9),
    ]
    return [
        _single(
            "tables",
            f"{states}x{actions}-noise-{noise:g}",
            Choice.of("random-table", num_states=states, num_actions=actions, noise=noise),
            discount,
            noise=noise,
            quick=(states, noise) == (20, 1.0),
        )
        for states, actions, noise, discount in rows
    ] + [
        _single(
            "tables",
            "garnet-20x2-noise-0.5",
            Choice.of("garnet", num_states=20, num_actions=2, noise=0.5),
            0.95,
            noise=0.5,
        )
    ]


def trees() -> list[Challenge]:
    """Random trees, rough and smooth: no two sequences meet."""
    rows: list[tuple[str, int, int, float, float, float]] = [
        # name, actions, depth, similar, noise, discount
        ("binary", 2, 15, 0.0, 0.0, 0.9),
        ("binary-noise-1", 2, 15, 0.0, 1.0, 0.9),
        ("ternary", 3, 10, 0.0, 0.0, 0.8),
        ("ternary-noise-0.5", 3, 10, 0.0, 0.5, 0.8),
        ("wide-6-noise-0.2", 6, 6, 0.0, 0.2, 0.7),
        ("smooth", 3, 10, 0.8, 0.0, 0.9),
        ("smooth-noise-1", 3, 10, 0.8, 1.0, 0.9),
    ]
    return [
        _single(
            "trees",
            name,
            Choice.of(
                "random-tree", num_actions=actions, depth=depth, similar=similar, noise=noise
            ),
            discount,
            noise=noise,
            quick=name == "ternary-noise-0.5",
        )
        for name, actions, depth, similar, noise, discount in rows
    ] + [
        _single(
            "trees",
            "made-to-order",
            Choice.of("made-to-order", kappa=1.5, rho=0.9, depth=8, num_actions=3, discount=0.9),
            0.9,
            reward_max=0.55,
        ),
        _single(
            "trees",
            "made-to-order-noise-0.2",
            Choice.of(
                "made-to-order", kappa=1.5, rho=0.9, depth=5, num_actions=3, discount=0.9, noise=0.2
            ),
            0.9,
            reward_max=0.55,
            noise=0.2,
        ),
    ]


def declining() -> list[Challenge]:
    """Rewards that shrink with depth: the paper's ρ < γ."""
    rows = [  # actions, depth, decay, noise
        (2, 15, 0.7, 0.0),
        (2, 15, 0.7, 0.3),
        (3, 10, 0.85, 0.0),
        (4, 8, 0.5, 0.1),
    ]
    return [
        _single(
            "declining",
            f"{actions}-actions-decay-{decay:g}-noise-{noise:g}",
            Choice.of("random-tree", num_actions=actions, depth=depth, decay=decay, noise=noise),
            0.95,
            noise=noise,
            quick=(actions, noise) == (2, 0.0),
        )
        for actions, depth, decay, noise in rows
    ] + [
        _single(
            "declining",
            "made-to-order",
            Choice.of("made-to-order", kappa=2.0, rho=0.6, depth=6, num_actions=3, discount=0.95),
            0.95,
            reward_max=0.2,
        )
    ]


def traps() -> list[Challenge]:
    """What looks good at first is not, or nothing is to be seen where the prize is."""

    def trap(name: str, problem: Choice, discount: float, **said: Any) -> Challenge:
        return _single("traps", name, problem, discount, **said)

    return [
        trap("one-off-tree", Choice.of("one-off", depth=10), 0.95, quick=True),
        trap("one-off-chain", Choice.of("one-off", branches=False, depth=300), 0.95),
        trap(
            "one-off-noise-0.2", Choice.of("one-off", depth=10, pay=0.1, noise=0.2), 0.95, noise=0.2
        ),
        trap("deceptive-8", Choice.of("deceptive-chain", length=8, bait=0.2), 0.95),
        trap(
            "deceptive-15-noise-0.3",
            Choice.of("deceptive-chain", length=15, num_actions=3, noise=0.3),
            0.97,
            noise=0.3,
            quick=True,
        ),
        trap("lock-6x4", Choice.of("combination-lock"), 0.95),
        trap("lock-12x3", Choice.of("combination-lock", length=12, num_actions=3), 0.95),
        trap(
            "needle-9", Choice.of("combination-lock", length=9, num_actions=2, forgets=False), 0.9
        ),
    ]


def ends() -> list[Challenge]:
    """Episodes that end, well or badly."""

    def end(name: str, problem: Choice, discount: float, **said: Any) -> Challenge:
        return _single("ends", name, problem, discount, **said)

    many = {"num_states": 40, "num_terminal": 12, "low": 0.0, "high": 0.2}
    return [
        end("many-bad", Choice.of("random-table", **many, end_low=-5.0, end_high=0.0), 0.9,
            reward_min=-5.0, quick=True),
        end("good-and-bad", Choice.of("random-table", **many, end_low=-5.0, end_high=5.0), 0.9,
            reward_min=-5.0, reward_max=5.0),
        end("good-and-bad-noise-1",
            Choice.of("random-table", **many, end_low=-5.0, end_high=5.0, noise=1.0), 0.9,
            reward_min=-5.0, reward_max=5.0, noise=1.0),
        end("cliff-12", Choice.of("cliff"), 0.95, reward_min=-100.0, reward_max=-1.0),
        end("cliff-8-noise-3", Choice.of("cliff", width=8, fall=30.0, noise=3.0), 0.95,
            reward_min=-30.0, reward_max=-1.0, noise=3.0),
    ]  # fmt: skip


def loops() -> list[Challenge]:
    """Silent steps, then a loop for each first action."""
    rows = [  # actions, delay, noise, discount
        (4, 2, 0.5, 0.95),
        (4, 5, 0.5, 0.99),
        (4, 11, 0.3, 0.99),
        (10, 5, 0.5, 0.98),
    ]
    return [
        _single(
            "loops",
            f"{actions}-loops-delay-{delay}",
            Choice.of("loops", num_actions=actions, delay=delay, noise=noise),
            discount,
            noise=noise,
            quick=(actions, delay) == (4, 5),
        )
        for actions, delay, noise, discount in rows
    ]


def bandits() -> list[Challenge]:
    """Many first actions, each with a noisy loop behind it."""
    rows = [  # actions, law, noise, three standard deviations or the half-width
        (10, "uniform", 1.0, 1.0),
        (20, "uniform", 0.5, 0.5),
        (10, "normal", 1.0, 3.0),
        (20, "student", 0.5, 1.5),
    ]
    return [
        _single(
            "bandits",
            f"{actions}-{law}-{noise:g}",
            Choice.of("loops", num_actions=actions, law=law, noise=noise),
            0.9,
            noise=width,
            quick=(actions, law) == (10, "uniform"),
        )
        for actions, law, noise, width in rows
    ]


def rare() -> list[Challenge]:
    """Rewards of 1 that come seldom: most samples say nothing."""
    bernoulli = {"law": "bernoulli", "noise": 1.0}
    few = {"low": 0.002, "high": 0.042, **bernoulli}
    some = {"low": 0.0, "high": 0.2, **bernoulli}
    rows: list[tuple[str, Choice, float, float]] = [
        ("table-20x3", Choice.of("random-table", num_states=20, **few), 0.5, 0.042),
        ("table-100x4", Choice.of("random-table", num_states=100, num_actions=4, **some), 0.8, 0.2),
        ("loops-5", Choice.of("loops", num_actions=5, **few), 0.9, 0.042),
        ("loops-3-delay-3", Choice.of("loops", num_actions=3, delay=3, **some), 0.95, 0.2),
    ]
    return [
        _single("rare", name, problem, discount, reward_max=most, noise=1.0,
                quick=name == "table-20x3")
        for name, problem, discount, most in rows
    ]  # fmt: skip


def noises() -> list[Challenge]:
    """Noise with heavy tails, or larger in some places than in others."""
    student = {"law": "student", "noise": 1.0}
    uneven = {"uneven": True, "noise": 1.0}
    rows: list[tuple[str, Choice, float, float]] = [
        ("student-table", Choice.of("random-table", **student), 0.9, 3.0),
        ("student-tree", Choice.of("random-tree", num_actions=3, depth=9, **student), 0.8, 3.0),
        ("normal-2-table", Choice.of("random-table", law="normal", noise=2.0), 0.9, 6.0),
        ("uneven-table", Choice.of("random-table", **uneven), 0.9, 2.0),
        ("uneven-loops", Choice.of("loops", num_actions=8, delay=1, **uneven), 0.9, 2.0),
        ("uneven-student-table", Choice.of("random-table", law="student", **uneven), 0.9, 6.0),
    ]
    return [
        _single("noises", name, problem, discount, noise=width,
                quick=name in {"student-table", "uneven-loops"})
        for name, problem, discount, width in rows
    ]  # fmt: skip


def scales() -> list[Challenge]:
    """The same problems in other units: only the differences between rewards matter."""
    million = {"offset": 1e6, "scale": NARROW}
    rows: list[tuple[str, Choice, float, float, float]] = [
        # name, problem, smallest and largest mean reward, noise
        ("table-million", Choice.of("random-table", **million), 1e6, 1e6 + NARROW, 0.0),
        ("table-million-noise", Choice.of("random-table", noise=1.0, **million),
         1e6, 1e6 + NARROW, NARROW),
        ("table-minus-million", Choice.of("random-table", noise=1.0, offset=-1e6),
         -1e6, 1.0 - 1e6, 1.0),
        ("table-huge", Choice.of("random-table", noise=1.0, scale=1e6), 0.0, 1e6, 1e6),
        ("table-tiny", Choice.of("random-table", noise=1.0, scale=NARROW), 0.0, NARROW, NARROW),
        ("loops-thousand", Choice.of("loops", num_actions=5, noise=1.0, scale=0.01, offset=1e3),
         1e3, 1e3 + 0.01, 0.01),
    ]  # fmt: skip
    return [
        _single("scales", name, problem, 0.9, reward_min=least, reward_max=most, noise=noise,
                quick=name == "table-million-noise")
        for name, problem, least, most, noise in rows
    ]  # fmt: skip


def slippery() -> list[Challenge]:
    """Random dynamics: every trajectory starts at the root."""

    def slip(name: str, problem: Choice, discount: float, **said: Any) -> Challenge:
        return _single("slippery", name, problem, discount, access="reset", **said)

    return [
        slip("table-20x3-slip-0.2", Choice.of("random-table", slip=0.2), 0.9, quick=True),
        slip("table-50x4-slip-0.4",
             Choice.of("random-table", num_states=50, num_actions=4, slip=0.4, noise=0.5), 0.9,
             noise=0.5),
        slip("deceptive-6-slip-0.1",
             Choice.of("deceptive-chain", length=6, bait=0.05, slip=0.1), 0.95),
        slip("cliff-8-slip-0.1", Choice.of("cliff", width=8, fall=20.0, slip=0.1), 0.9,
             reward_min=-20.0, reward_max=-1.0),
        Challenge(
            name="slippery/frozen-lake-8x8",
            family="slippery",
            problem=Choice.of("gymnasium", env="FrozenLake-v1", is_slippery=True, map_name="8x8"),
            budgets=(100, 300, 1_000),
            discount=0.99,
            steps=100,
            access="reset",
            measure="total",
        ),
    ]  # fmt: skip


def closed_loop() -> list[Challenge]:
    """The slippery problems again, with states that can be stored: planners react to chance."""
    return [
        replace(
            one,
            name=f"closed-loop/{one.name.removeprefix('slippery/')}",
            family="closed-loop",
            problem=(
                one.problem
                if one.problem.name == "gymnasium"  # its states are stored unless told otherwise
                else one.problem.having(access="restore")
            ),
            access="restore",
            closed_loop=True,
        )
        for one in slippery()
    ]


CHALLENGES: tuple[Challenge, ...] = tuple(
    challenge
    for family in (
        chain, tables, trees, declining, traps, ends, loops, bandits, rare, noises, scales,
        slippery, closed_loop, control_families,
    )
    for challenge in family()
)  # fmt: skip
"""All challenges."""
