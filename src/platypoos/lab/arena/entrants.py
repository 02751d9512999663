"""Who takes part: every planner, with one setting for the whole arena."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from platypoos.checks import nearest, required_fields
from platypoos.discounting import span
from platypoos.errors import InvalidArgument
from platypoos.lab.arena.challenge import Challenge, Reference
from platypoos.lab.experiments.spec import Block, Choice, Experiment
from platypoos.planners import available

NEGLIGIBLE = 0.1
"""Planners that must be told a horizon are told when rewards are discounted to this share."""
ACCURACY = 0.1
"""ε of planners that are asked for one, as a share of the largest difference of returns."""
QUICK_SEEDS, FULL_SEEDS = 12, 20

Told = Callable[[Challenge], dict[str, Any]]


def _looks(challenge: Challenge) -> int:
    """How far to look ahead."""
    if challenge.horizon is not None:
        return challenge.horizon
    return max(1, math.ceil(math.log(NEGLIGIBLE) / math.log(max(challenge.discount, 1e-9))))


def _returns(challenge: Challenge) -> float:
    """The largest difference of returns: the range of the rewards at every step."""
    width = challenge.reward_max - challenge.reward_min
    return width * span(challenge.discount, challenge.horizon)


def _range(challenge: Challenge) -> dict[str, Any]:
    return {"reward_min": challenge.reward_min, "reward_max": challenge.reward_max}


def _range_with_noise(challenge: Challenge) -> dict[str, Any]:
    return {
        "reward_min": challenge.reward_min - challenge.noise,
        "reward_max": challenge.reward_max + challenge.noise,
    }


def _nothing(challenge: Challenge) -> dict[str, Any]:  # noqa: ARG001
    return {}


def _asked_for_accuracy(challenge: Challenge) -> dict[str, Any]:
    return {**_range_with_noise(challenge), "epsilon": ACCURACY * _returns(challenge)}


SETTINGS: dict[str, tuple[str, Told]] = {
    "Platypus": ("platypus", _nothing),
    "PlaTγPOOS": ("platypoos", _nothing),
    "SequOOL": ("sequool", _nothing),
    "StroquOOL": ("stroquool", _nothing),
    "OPD": ("opd", _range),
    "OLOP": ("olop", lambda c: {**_range(c), "noise": c.noise}),
    "KL-OLOP": ("kl-olop", _range_with_noise),
    "UCT": ("uct", lambda c: {"scale": _returns(c) / 2, "horizon": _looks(c)}),
    "UCT(auto)": ("uct", lambda c: {"scale": "auto", "horizon": _looks(c)}),
    "PolynomialUCT": (
        "polynomial-uct",
        lambda c: {"scale": _returns(c) / 2, "horizon": _looks(c)},
    ),
    "BRUE": ("brue", lambda c: {"horizon": _looks(c)}),
    "HOO": ("hoo", _range_with_noise),
    "SOO": ("soo", _nothing),
    "StoSOO": ("stosoo", lambda c: {"noise": c.noise}),
    "SequentialHalving": ("sequential-halving", lambda c: {"horizon": _looks(c)}),
    "GumbelMCTS": ("gumbel-mcts", _nothing),
    "OP-MDP": ("op-mdp", _range),
    "BAI-MCTS": ("bai-mcts", lambda c: {**_range_with_noise(c), "depth": _looks(c)}),
    "TrailBlazer": ("trailblazer", _asked_for_accuracy),
    "StOP": ("stop", _asked_for_accuracy),
    "SparseSampling": ("sparse-sampling", _nothing),
    "Hindsight": ("hindsight", _nothing),
    "SequenceSearch": ("sequence-search", _nothing),
    "CEM": ("cem", _nothing),
    "RandomShooting": ("random-shooting", _nothing),
    "IW": ("iw", _nothing),
    "RolloutIW": ("rollout-iw", _nothing),
    "Uniform": ("uniform", _nothing),
    "OneStep": ("one-step", _nothing),
    "Random": ("random", _nothing),
}
"""What tables call a planner, its name, and what it is told of a challenge."""


def _all_entrants() -> dict[str, tuple[str, Told]]:
    """The table, and each planner for lists that needs to be told nothing and is not in it."""
    known = {name for name, _ in SETTINGS.values()}
    others = {
        kind.__name__: (name, _nothing)
        for name, kind in available().items()
        if kind.lists and name not in known and required_fields(kind) == ["discount"]
    }
    return SETTINGS | others


ENTRANTS = _all_entrants()
"""All that take part."""


class _Known(NamedTuple):
    """What is known of somebody's own problem."""

    discount: float
    horizon: int | None


def _needs_nothing(told: Told) -> bool:
    """Whether what a planner is told can be had without knowing the rewards."""
    try:
        told(_Known(0.9, None))  # type: ignore[arg-type]
    except AttributeError:
        return False
    return True


UNTOLD = tuple(title for title, (_, told) in ENTRANTS.items() if _needs_nothing(told))
"""Entrants that need to be told nothing of the rewards; for problems of which nothing is known."""


def untold(titles: Iterable[str], discount: float, horizon: int | None) -> list[Choice]:
    """Entrants for a problem of which nothing is known; an error for those that must be told."""
    found = []
    for title in titles:
        if title not in UNTOLD:
            raise InvalidArgument(
                f"{title} must be told the range of the rewards, which is not known of your own "
                f"problem; try: {', '.join(UNTOLD)}; or 'platypoos compare' with its parameters"
            )
        name, told = ENTRANTS[title]
        asked = told(_Known(discount, horizon))  # type: ignore[arg-type]
        found.append(Choice.of(name, title, **asked))
    return found


def can_enter(planner: str, challenge: Challenge) -> bool:
    """Whether a planner can use the challenge's access, plan for its horizon, react to chance."""
    kind = available()[planner]
    accesses = {access.name.lower() for access in kind.access}
    return (
        challenge.access in accesses
        and (kind.finite or challenge.horizon is None)
        and (kind.reacts or planner == "random" or not challenge.closed_loop)
    )


def entrants(challenge: Challenge, titles: Iterable[str]) -> tuple[Choice, ...]:
    """The planners of a challenge, told its true range of rewards and its true noise."""
    found = []
    for title in titles:
        name, told = ENTRANTS[title]
        if can_enter(name, challenge):
            found.append(Choice.of(name, title, **told(challenge)))
    return tuple(found)


def titles_of(asked: Iterable[str]) -> list[str]:
    """The entrants that are meant by titles or by names of planners; all if none is given."""
    found: list[str] = []
    names = {name for name, _ in ENTRANTS.values()}
    for one in asked:
        if one in names:
            found += [title for title, (name, _) in ENTRANTS.items() if name == one]
        else:
            found.append(nearest(one, sorted({*ENTRANTS, *names}), "planner of the arena"))
    return list(dict.fromkeys(found)) or list(ENTRANTS)


def arena(
    challenges: Iterable[Challenge],
    references: dict[str, Reference],
    *,
    full: bool = False,
    planners: Iterable[str] = (),
    families: Iterable[str] = (),
    seeds: int | None = None,
) -> Experiment:
    """The arena as an experiment: a block for each challenge.

    Args:
        challenges: all of them; the quick arena takes those that are marked.
        references: what random actions and the best ones known are worth, by challenge.
        full: all challenges at all budgets, with more seeds.
        planners: titles or names of the entrants; all if there are none. Random actions always
            take part.
        families: which families; all if there are none.
        seeds: runs of each planner on each problem and budget; 12, or 20 if ``full``.
    """
    challenges = list(challenges)
    known = dict.fromkeys(challenge.family for challenge in challenges)
    wanted = {nearest(family, known, "family") for family in families} or set(known)
    titles = list(dict.fromkeys([*titles_of(planners), "Random"]))
    blocks = []
    for challenge in challenges:
        if challenge.family not in wanted or not (full or challenge.quick):
            continue
        reference = references.get(challenge.name)
        blocks.append(
            Block(
                title=challenge.name,
                problems=(challenge.problem,),
                planners=entrants(challenge, titles),
                budgets=challenge.budgets if full else challenge.budgets[1:2],
                seeds=(FULL_SEEDS if full else QUICK_SEEDS) if seeds is None else seeds,
                steps=challenge.steps,
                discount=challenge.discount,
                access=challenge.access,
                measure=challenge.measure,
                horizon=challenge.horizon,
                frames=challenge.frames,
                varies=challenge.varies,
                family=challenge.family,
                apart=challenge.closed_loop,
                random=None if reference is None else reference.random,
                reference=None if reference is None else reference.reference,
                provenance="" if reference is None else reference.provenance,
            )
        )
    if not blocks:
        raise InvalidArgument(
            "no problem of these families is in the quick arena; pass --full, or other families"
        )
    return Experiment("arena, full" if full else "arena, quick", tuple(blocks))
