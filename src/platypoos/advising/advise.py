"""Advice for a model that nobody has planned with yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.advising.lines import runs_in_batches, write_code, write_command
from platypoos.advising.measure import LEAST_CALLS, Ends, Findings, Noise, find_repeat, look_at
from platypoos.advising.probe import Probe, ticking
from platypoos.advising.recommendation import Recommendation, Statement
from platypoos.checks import Seed, check_count, check_number, make_generator
from platypoos.choosing import DEFAULT_DISCOUNT
from platypoos.errors import InvalidArgument
from platypoos.models.base import RANDOM, Access, actions_of, dynamics_of
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.points import has_points
from platypoos.models.wrappers import WrappedModel
from platypoos.search.base import initial_state

CALLS = 500
"""The most calls of the model, unless another number is given."""
SECONDS = 0.1
"""Time for one decision, unless another one is given."""
OWN_WORK = 10e-6
"""Seconds of the planner's own work for one call of a Python model, at about 1,000 calls: 5 to 20,
most where states meet."""
WORK_WITH_CHANCE = 25e-6
"""The same for plans in closed loop: 9 to 40."""
MEETS = 0.1
"""States meet if a larger share of random steps leads to known ones."""
SOON = 10
"""Random actions that end an episode within as many steps do so soon."""


def advise(
    model: Any,
    *,
    seconds: float = SECONDS,
    calls: int = CALLS,
    seed: Seed = 0,
    quiet: bool = False,
) -> Recommendation:
    """Find out with a few hundred calls of ``model`` how to plan with it.

    It tells what a call costs, whether states meet, whether there is noise, how soon episodes end
    and whether rewards say where to go; and advises how long an action should last (``repeat``), a
    discount, a budget and a planner. Print it: the lines to copy are at its end.

    Args:
        model: any model. An environment that a ``GymnasiumModel`` was made around is put back
            where it was, unless its states are replayed.
        seconds: the time that one decision may take, for the budget.
        calls: the most calls of the model to make, at least 10. A model in which actions need not
            be repeated takes less than half of them.
        seed: the same seed, the same advice, apart from what depends on time: cost and budget.
        quiet: show no progress. It is shown from the second second on.

    Ctrl-C gives advice from the calls that were made.

    >>> import platypoos as pp
    >>> advice = pp.advise(pp.problems.SwitchChain(noise=1.0))
    >>> advice.repeat, advice.discount, advice.planner, advice.met > 0
    (1, 0.95, 'Platypus', True)
    """
    initial_state(model)  # is it a model at all?
    seconds = check_number("seconds", seconds, above=0.0)
    if check_count("calls", calls) < LEAST_CALLS:
        raise InvalidArgument(f"calls must be at least {LEAST_CALLS}, got {calls}")
    with ticking(calls, quiet=quiet) as tick:
        probe = Probe(model, int(calls), make_generator(seed), tick)
        with probe.watching():
            found = look_at(probe)
            factor, why = _choose_repeat(probe, found)
    return _recommend(probe, found, seconds, factor, why)


def _recommend(
    probe: Probe, found: Findings, seconds: float, factor: int, why: str
) -> Recommendation:
    """Put into words what was found; ``factor`` calls are what one action should last."""
    model, noise, ends = probe.model, found.noise, found.ends
    repeat = factor * (model.repeat if isinstance(model, GymnasiumModel) else 1)
    cost = float(np.median(found.timed))
    discount, because = _choose_discount(model)
    random = noise.states > 0 or dynamics_of(model) == RANDOM
    closed = _reacts(probe)
    access = Access.RESET if random and not _may_store(probe) else probe.access
    each = cost * factor + (WORK_WITH_CHANCE if closed else OWN_WORK)
    budget = _round_down(seconds / each, 1 if probe.in_a_box else probe.num_actions)
    batches = runs_in_batches(model) and factor == 1
    limits: dict[str, Any] = {"deadline": seconds} if batches else {"budget": budget}
    statements = (
        Statement("a call", _time(cost), f"the median of {len(found.timed)} calls"),
        _about_states(probe, found.met, found.steps),
        *_about_noise(noise, random=random),
        _about_access(probe, access, random=random),
        _about_ends(ends, found.steps),
        _about_rewards(silent=found.silent, constant=found.constant, noisy=noise.rewards > 0),
        Statement("repeat", str(repeat), why),
        Statement("discount", f"{discount:g}", because),
        _about_budget(budget, seconds, each, batches=batches),
        _about_planner(probe, access),
    )
    return Recommendation(
        name=str(getattr(model, "name", type(model).__name__)),
        num_actions=None if probe.in_a_box else probe.num_actions,
        calls=probe.calls,
        interrupted=probe.interrupted,
        call_us=1e6 * cost,
        walk_steps=found.steps,
        told_apart=probe.key is not None,
        met=found.met,
        tried_again=noise.tried,
        other_rewards=noise.rewards,
        other_states=noise.states,
        walks=ends.walks,
        walks_ended=ends.ended,
        earliest_end=ends.earliest,
        typical_end=ends.typical,
        silent=found.silent,
        access=access,
        repeat=repeat,
        discount=discount,
        budget=budget,
        seconds=seconds,
        planner="Platypus",
        statements=statements,
        code=write_code(model, repeat, factor, discount, limits, access),
        command=write_command(model, repeat, factor, discount, budget),
    )


def _choose_repeat(probe: Probe, found: Findings) -> tuple[int, str]:
    """How many calls an action should last, and why."""
    single = ""
    if probe.num_actions == 1:
        single = "there is one action only"
    elif not probe.has_vectors:
        single = "states are no vectors of floats, so there is no time step to be too small"
    elif found.met > MEETS * found.steps:
        single = "states meet, so the planner gets around by itself"
    elif found.noise.rewards:
        single = "rewards have noise, so it cannot be told whether they say where to go"
    elif not found.silent:
        single = "rewards say where to go, and the planner follows them in small steps"
    elif found.ends.ended:
        single = "random actions end episodes, and longer ones would end them earlier"
    elif isinstance(probe.model, WrappedModel) and hasattr(probe.model, "discount"):
        single = "the model is made for one discount, which another repeat would change"
    if single:
        return 1, single
    repeat = find_repeat(probe, found.walks)
    if repeat == 1:
        return 1, "no longer action was seen to be safe, and to make more of a difference"
    return repeat, (
        f"rewards say nothing, and over {repeat} calls the difference between two actions keeps "
        "growing"
    )


def _choose_discount(model: Any) -> tuple[float, str]:
    """The discount of one decision, and why."""
    made_for = getattr(model, "discount", None) if isinstance(model, WrappedModel) else None
    if made_for is not None:
        return float(made_for), "the model's rewards are made for it"
    return DEFAULT_DISCOUNT, "of each decision: a reward 20 decisions later counts for a third"


def _about_states(probe: Probe, met: int, steps: int) -> Statement:
    if probe.key is None:
        why = (
            "states have no key; sequences that meet share nothing unless the model has key(state)"
        )
        if probe.has_vectors:
            why = "states are numbers without a key; they would hardly ever be the same"
        return Statement("states", "not told apart", why)
    if not met:
        return Statement("states", "never meet", f"no state in {steps} random steps was known")
    share = f"{met} of {steps} random steps led to a known state"
    return Statement("states", "meet", f"{share}; sequences that meet share their samples")


def _about_noise(noise: Noise, *, random: bool) -> list[Statement]:
    tries = f"{noise.tried} steps taken again"
    alike = noise.tried - noise.states
    said = "yes" if noise.rewards else "none seen" if alike else "unknown"
    return [
        Statement(
            "noise", said, f"{noise.rewards} of {alike} steps to the same state had another reward"
        ),
        Statement(
            "dynamics",
            "random" if random else "deterministic",
            f"{noise.states} of {tries} led to another state",
        ),
    ]


def _reacts(probe: Probe) -> bool:
    """Whether the default planner plans in closed loop: chance is declared, states are stored."""
    return _may_store(probe) and not has_points(actions_of(probe.model))


def _may_store(probe: Probe) -> bool:
    """Whether chance is declared, and states can be stored."""
    return dynamics_of(probe.model) == RANDOM and probe.access is Access.RESTORE


def _about_access(probe: Probe, access: Access, *, random: bool) -> Statement:
    why = "any state can be queried again"
    if _reacts(probe):
        why += ', so plans can react to chance; access="reset" if one sequence is good enough'
    elif probe.access is Access.RESET:
        why = "the model says that its states cannot be restored"
        if random:
            why += ": one sequence for all outcomes, in walks from the root"
    elif _may_store(probe):
        why += (
            ", and sequences are averaged over common scenarios; only with a list of actions can "
        )
        why += "plans react to chance"
    elif random:
        why = (
            "the dynamics are random, but the model does not say so: give it "
            'dynamics="random" for plans that react to chance, or are averaged over it in a box'
        )
    return Statement("access", access.name, why)


def _about_ends(ends: Ends, steps: int) -> Statement:
    if not ends.ended:
        return Statement("ends", "none seen", f"{steps} random steps ended no episode")
    typical = (
        f"{ends.ended} of {ends.walks} random walks ended, the shortest after {ends.earliest} steps"
    )
    soon = "soon" if ends.typical <= SOON else "yes"
    return Statement("ends", soon, f"{typical}, half within {ends.typical}")


def _about_rewards(*, silent: bool, constant: bool, noisy: bool) -> Statement:
    if constant:
        why = "every step paid the same, so only the ends tell actions apart"
        return Statement("rewards", "constant", why)
    if noisy:
        return Statement("rewards", "noisy", "what they depend on is hidden by their noise")
    if silent:
        return Statement(
            "rewards", "silent", "each action had the same one wherever it was taken, ends aside"
        )
    return Statement("rewards", "tell", "they depend on the state")


def _about_budget(budget: int, seconds: float, each: float, *, batches: bool) -> Statement:
    if batches:
        why = f"at least, in {seconds:g} s: the model runs in batches, so give a deadline instead"
        return Statement("budget", f"{budget:,}", why)
    why = (
        f"calls in about {seconds:g} s on an idle machine, {_time(each)} each with the planner's "
        "own work; deadline= keeps to the time itself"
    )
    if budget * each > seconds:
        why = f"one call of {_time(each)} for each action is the least; {seconds:g} s are too short"
    return Statement("budget", f"{budget:,}", why)


def _about_planner(probe: Probe, access: Access) -> Statement:
    why = "the best one over the problems of the arena; it needs to know nothing"
    if _reacts(probe):
        why = "in closed loop: it plans what to do after each outcome of chance"
    elif _may_store(probe):
        why += "; in open loop: one sequence for all that chance may do, and a new one each time"
    elif access is Access.RESET:
        why += "; with random dynamics PlaTyPOOS may need fewer calls"
    return Statement("planner", "Platypus", why)


def _time(seconds: float) -> str:
    """A time in a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _round_down(number: float, least: int) -> int:
    """Two digits are enough for a budget; never less than ``least``."""
    whole = int(number)
    size = int(10 ** max(0, len(str(whole)) - 2))
    return max(whole // size * size, least)
