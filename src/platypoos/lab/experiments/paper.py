"""The paper's Figure 4, and the same problem with every other planner as further lines."""

from __future__ import annotations

from platypoos.lab.experiments.spec import Block, Choice, Experiment

REWARD_MAX = 130.0
SHIFT = 100 * (1 - 0.95**20) / (1 - 0.95)
"""What the shift of 100 adds to the return of 20 steps; figures leave it out."""
QUICK_BUDGETS = (100, 300, 1_000, 3_000, 10_000)
FULL_BUDGETS = (100, 180, 320, 560, 1_000, 1_800, 3_200, 5_600, 10_000, 18_000, 32_000)
PLATYPOOS = Choice.of("platypoos", "PlaTγPOOS")
PLATYPUS = Choice.of("platypus", "Platypus (the default)")
UCT = tuple(Choice.of("uct", f"UCT(100, {h})", scale=100.0, horizon=h) for h in (10, 30))


def olop(reward_max: float, noise: float, label: str = "") -> Choice:
    """OLOP as in the paper's experiments: told a largest reward and a noise, true or not."""
    return Choice.of(
        "olop", label or f"OLOP({reward_max:g}, {noise:g})", reward_max=reward_max, noise=noise
    )


def further(noise: float) -> tuple[Choice, ...]:
    """The other planners, told the truth where they must be told something."""
    return (
        PLATYPOOS,
        olop(REWARD_MAX, noise, "OLOP"),
        Choice.of("platypoos", "PlaTγPOOS, the paper's h_max", budget_use="paper"),
        Choice.of("sequool", "SequOOL"),
        Choice.of("stroquool", "StroquOOL"),
        Choice.of("kl-olop", "KL-OLOP", reward_min=100 - noise, reward_max=REWARD_MAX + noise),
        Choice.of("opd", "OPD", reward_max=REWARD_MAX),
        *UCT,
        PLATYPUS,
    )


def paper(*, full: bool = False) -> Experiment:
    """All six panels of Figure 4 (the first six blocks) and four with further planners.

    Beside the paper's lines, all panels have the default planner, and that of b = 50 has UCT.

    The paper states neither its budgets nor its number of runs: here 11 budgets and 100 seeds in
    full, 5 budgets and 15 seeds else.
    """
    budgets, seeds = (FULL_BUDGETS, 100) if full else (QUICK_BUDGETS, 15)

    def block(title: str, noise: float, planners: tuple[Choice, ...]) -> Block:
        problem = Choice.of("switch-chain", noise=noise)
        return Block(title, (problem,), planners, budgets, seeds, baseline=SHIFT)

    noises = (1.0, 10.0, 20.0, 50.0)
    blocks = [
        block(
            f"b = {b:g}",
            b,
            (PLATYPOOS, olop(REWARD_MAX, b, "OLOP"), PLATYPUS, *(UCT if b == 50.0 else ())),
        )
        for b in noises
    ]
    rewards_told = (13.0, 50.0, 130.0, 400.0, 1_300.0, 13_000.0)
    blocks.append(
        block(
            "OLOP told another largest reward (b = 10)",
            10.0,
            (PLATYPOOS, *(olop(r, 10.0, f"OLOP, R̃ = {r:g}") for r in rewards_told), PLATYPUS),
        )
    )
    noises_told = (0.1, 1.0, 10.0, 100.0, 1_000.0)
    blocks.append(
        block(
            "OLOP told another noise (b = 10)",
            10.0,
            (PLATYPOOS, *(olop(REWARD_MAX, b, f"OLOP, b̃ = {b:g}") for b in noises_told), PLATYPUS),
        )
    )
    blocks += [block(f"further planners, b = {b:g}", b, further(b)) for b in noises]
    return Experiment("the paper's Figure 4" + ("" if full else ", quick"), tuple(blocks))
