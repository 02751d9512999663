"""The planners, one a file; ``search/layered.py`` runs those that are schedules.

A planner is imported when its name is first used: most need Numba, and the default one does not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from platypoos.lazy import lazy_names

__all__ = [
    "BAIMCTS",
    "BRUE",
    "CEM",
    "HOO",
    "IW",
    "KLOLOP",
    "MPPI",
    "OLOP",
    "OPD",
    "OPMDP",
    "SOO",
    "UCT",
    "GumbelMCTS",
    "Hindsight",
    "OneStep",
    "PlaTyPOOS",
    "Planner",
    "Platypus",
    "PolynomialUCT",
    "PredictiveSampling",
    "Random",
    "RandomShooting",
    "RolloutIW",
    "SequOOL",
    "SequenceSearch",
    "SequentialHalving",
    "SparseSampling",
    "StOP",
    "StoSOO",
    "StroquOOL",
    "TrailBlazer",
    "Uniform",
    "available",
]

if TYPE_CHECKING:
    from platypoos.planners.bai_mcts import BAIMCTS
    from platypoos.planners.brue import BRUE
    from platypoos.planners.cem import CEM
    from platypoos.planners.gumbel_mcts import GumbelMCTS
    from platypoos.planners.hindsight import Hindsight
    from platypoos.planners.hoo import HOO
    from platypoos.planners.iw import IW
    from platypoos.planners.kl_olop import KLOLOP
    from platypoos.planners.olop import OLOP
    from platypoos.planners.one_step import OneStep
    from platypoos.planners.op_mdp import OPMDP
    from platypoos.planners.opd import OPD
    from platypoos.planners.platypoos import PlaTyPOOS
    from platypoos.planners.platypus.planner import Platypus
    from platypoos.planners.polynomial_uct import PolynomialUCT
    from platypoos.planners.random import Random
    from platypoos.planners.random_shooting import RandomShooting
    from platypoos.planners.rollout_iw import RolloutIW
    from platypoos.planners.sampling.mppi import MPPI
    from platypoos.planners.sampling.predictive import PredictiveSampling
    from platypoos.planners.sequence_search import SequenceSearch
    from platypoos.planners.sequential_halving import SequentialHalving
    from platypoos.planners.sequool import SequOOL
    from platypoos.planners.soo import SOO
    from platypoos.planners.sparse_sampling import SparseSampling
    from platypoos.planners.stop import StOP
    from platypoos.planners.stosoo import StoSOO
    from platypoos.planners.stroquool import StroquOOL
    from platypoos.planners.trailblazer import TrailBlazer
    from platypoos.planners.uct import UCT
    from platypoos.planners.uniform import Uniform
    from platypoos.search.base import Planner

_HOMES = {
    "platypoos.planners.platypus.planner": "Platypus",
    "platypoos.planners.platypoos": "PlaTyPOOS",
    "platypoos.planners.sequool": "SequOOL",
    "platypoos.planners.stroquool": "StroquOOL",
    "platypoos.planners.opd": "OPD",
    "platypoos.planners.olop": "OLOP",
    "platypoos.planners.kl_olop": "KLOLOP",
    "platypoos.planners.uct": "UCT",
    "platypoos.planners.polynomial_uct": "PolynomialUCT",
    "platypoos.planners.brue": "BRUE",
    "platypoos.planners.hoo": "HOO",
    "platypoos.planners.soo": "SOO",
    "platypoos.planners.stosoo": "StoSOO",
    "platypoos.planners.sequential_halving": "SequentialHalving",
    "platypoos.planners.gumbel_mcts": "GumbelMCTS",
    "platypoos.planners.op_mdp": "OPMDP",
    "platypoos.planners.bai_mcts": "BAIMCTS",
    "platypoos.planners.trailblazer": "TrailBlazer",
    "platypoos.planners.stop": "StOP",
    "platypoos.planners.sparse_sampling": "SparseSampling",
    "platypoos.planners.hindsight": "Hindsight",
    "platypoos.planners.sequence_search": "SequenceSearch",
    "platypoos.planners.cem": "CEM",
    "platypoos.planners.random_shooting": "RandomShooting",
    "platypoos.planners.sampling.mppi": "MPPI",
    "platypoos.planners.sampling.predictive": "PredictiveSampling",
    "platypoos.planners.iw": "IW",
    "platypoos.planners.rollout_iw": "RolloutIW",
    "platypoos.planners.uniform": "Uniform",
    "platypoos.planners.one_step": "OneStep",
    "platypoos.planners.random": "Random",
    "platypoos.search.base": "Planner",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)


def available() -> dict[str, type[Planner]]:
    """All planners by their names on the command line.

    Each says what it ``needs`` to know, its ``citation`` and the ``access`` it can use.

    >>> available()["olop"].needs
    'reward range, noise range (may be wrong)'
    """
    here = sys.modules[__name__]
    planners = [getattr(here, name) for name in _HOMES.values() if name != "Planner"]
    return {planner.name: planner for planner in planners}
