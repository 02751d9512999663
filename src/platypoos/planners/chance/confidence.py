"""How sure a decision is under random dynamics: a probability that was fitted like the other one.

The signs are those of ``planners/platypus/confidence.py``, for what is known of chance. The
coefficients come from six problems with exact values, and were judged on five others
(``benchmarks/calibration_chance.py``).
"""

from __future__ import annotations

import math

from platypoos.planners.chance.knowledge import Edge, State
from platypoos.planners.chance.plan import Search
from platypoos.planners.platypus.confidence import Signs
from platypoos.results import PROVED

CONSTANT, AHEAD, BOTH = -1.05, 2.07, 2.68
"""Of the formula: a constant, the factor of ``ahead``, and that of ``ahead`` times ``solid``."""
VISITS, LEAST_SWEEPS, MOST_SWEEPS = 40_000, 2, 60
"""Of states, for ``solid``."""


def confidence(search: Search, chosen: Edge) -> tuple[float, Signs]:
    """The probability that no other first action is clearly better, and its signs.

    It is never called proved: what has not happened yet may happen.
    """
    signs = signs_of(search, chosen)
    odds = math.exp(CONSTANT + signs.ahead * (AHEAD + BOTH * signs.solid))
    return min(signs.looked * odds / (1.0 + odds), math.nextafter(PROVED, 0.0)), signs


def signs_of(search: Search, chosen: Edge) -> Signs:
    """Look at the first actions, and at what is known along the best policy.

    ``ahead`` is the lead over itself plus its standard error, by the samples of the two first
    actions; 0 as long as nothing pays. ``solid`` is the least over all first actions of the
    discounted share of time that the best known policy spends in states in which all actions were
    tried, before it leaves them.
    """
    knowledge = search.knowledge
    others = [edge for edge in knowledge.root.edges if edge is not chosen and edge.samples]
    ahead = 1.0
    if others:
        rival = max(others, key=lambda edge: edge.value)
        lead = chosen.value - rival.value
        error = math.sqrt(knowledge.noise * (1.0 / chosen.samples + 1.0 / rival.samples))
        ahead = lead / (lead + error) if lead > 0.0 and knowledge.pays else 0.0
    again = knowledge.samples - knowledge.known
    looked = 1.0 if knowledge.noise > 0.0 else (again + 1) / (again + 2)
    return Signs(ahead, solid(search), looked)


def solid(search: Search) -> float:
    """See ``signs_of``; 0 if an action was never tried."""
    knowledge = search.knowledge
    root, gamma, tried = knowledge.root, knowledge.discount, knowledge.tried
    if knowledge.untried(root):
        return 0.0
    shares: dict[State | None, float] = {None: 1.0}  # an end is no way out
    known = [s for s in reversed(tried) if s.choice is not None and not knowledge.untried(s)]
    for _ in range(max(LEAST_SWEEPS, min(MOST_SWEEPS, VISITS // max(1, len(tried))))):
        for state in known:
            assert state.choice is not None  # noqa: S101  others are left out
            shares[state] = (1.0 - gamma) + gamma * after(state.choice, shares)
    return min((after(edge, shares) for edge in root.edges), default=0.0)


def after(edge: Edge, shares: dict[State | None, float]) -> float:
    """The mean share of the outcomes of an edge; 0 for what is not known."""
    if not edge.samples:
        return 0.0
    total = sum(count * shares.get(state, 0.0) for state, count in edge.outcomes.items())
    return total / edge.samples
