"""How sure a decision is: a probability that was fitted on problems with exact values.

It is the probability that no other first action is better than the recommended one by more than a
twentieth of the spread of the action values. It follows from three signs, which do not depend on
the scale of the rewards. ``benchmarks/calibration.py`` fits the coefficients on
one half of its families, and judges them on the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from platypoos.graph import Edge, Graph, State
from platypoos.planners.platypus.jury import standard_error
from platypoos.planners.platypus.policies import policy_path
from platypoos.planners.platypus.sequences import Candidate
from platypoos.results import PROVED

if TYPE_CHECKING:
    from platypoos.planners.platypus.plan import Search

DEEP = 200
"""Steps of a best known policy that are looked along, at most."""
CONSTANT, AHEAD, BOTH = -0.41, 2.17, 3.01
"""Of the formula: a constant, the factor of ``ahead``, and that of ``ahead`` times ``solid``. From
``python benchmarks/calibration.py --fit``."""


class Signs(NamedTuple):
    """What tells how sure a decision is."""

    ahead: float
    """The lead, over itself plus its standard error: 1 without noise, and 0 if another first action
    shows a value that is as high."""
    solid: float
    """The least over all first actions of 1 − γ^d, where the best known policy passes through d
    states in which all actions were tried: 1 if nothing is untried along it."""
    looked: float
    """The probability that there is no noise that nobody has seen: with n second looks that saw
    none, (n + 1)/(n + 2), by the rule of succession; 1 if noise was seen."""


def confidence(search: Search, chosen: Candidate) -> tuple[float, Signs]:
    """The probability that no other first action is clearly better, and its signs."""
    signs = signs_of(search, chosen)
    if is_proved(search.graph):
        return PROVED, signs
    odds = math.exp(CONSTANT + signs.ahead * (AHEAD + BOTH * signs.solid))
    return signs.looked * odds / (1.0 + odds), signs


def can_tell(graph: Graph) -> bool:
    """Whether the formula is for such problems: a list of actions, and states that are stored."""
    return not graph.endless and not graph.open_loop


def is_proved(graph: Graph) -> bool:
    """Whether all that can be reached is known, and no noise was seen in as many second looks.

    Where all rewards were the same, others may be rare.
    """
    differs = graph.total_variance > 0.0
    return graph.closed and differs and not graph.noisy and graph.degrees >= graph.known


def signs_of(search: Search, chosen: Candidate) -> Signs:
    """Look at the candidates, and at the known graph."""
    graph, best = search.graph, search.level.best
    edges = graph.root.edges
    values = {action: graph.edge_value(edge) for action, edge in edges.items()}
    for action, candidate in best.items():
        values[action] = max(values.get(action, -math.inf), candidate.value)
    lead = values.pop(chosen.first, chosen.value) - max(values.values(), default=-math.inf)
    rivals = [candidate for candidate in best.values() if candidate.first != chosen.first]
    rival = max(rivals, key=lambda candidate: candidate.value, default=None)
    error = standard_error(search, chosen, rival)
    ahead = 0.0
    if lead > 0.0:
        ahead = lead / (lead + error) if lead < math.inf else 1.0
    steps = [solid_steps(graph, edges.get(action)) for action in graph.options(graph.root)]
    looked = 1.0 if graph.noisy else (graph.degrees + 1) / (graph.degrees + 2)
    return Signs(ahead, 1.0 - graph.discount ** min(steps), looked)


def solid_steps(graph: Graph, edge: Edge | None) -> float:
    """Steps of the best known policy through states in which all actions were tried."""
    if edge is None:
        return 0.0
    steps, seen = 0, set[State]()
    for step in policy_path(edge, DEEP):
        state = step.after
        if state is None or state in seen:
            return math.inf  # it ends, or goes round in a circle
        if len(state.edges) < len(graph.options(state)):
            return steps
        seen.add(state)
        steps += 1
    return steps
