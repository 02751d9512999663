"""The planners, one a file; ``search/layered.py`` runs those that are schedules."""

from __future__ import annotations

from platypoos.compiled.platypus.planner import CompiledPlatypus
from platypoos.planners.bai_mcts import BAIMCTS
from platypoos.planners.brue import BRUE
from platypoos.planners.cem import CEM
from platypoos.planners.gumbel_mcts import GumbelMCTS
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
from platypoos.planners.sequence_search import SequenceSearch
from platypoos.planners.sequential_halving import SequentialHalving
from platypoos.planners.sequool import SequOOL
from platypoos.planners.soo import SOO
from platypoos.planners.stop import StOP
from platypoos.planners.stosoo import StoSOO
from platypoos.planners.stroquool import StroquOOL
from platypoos.planners.trailblazer import TrailBlazer
from platypoos.planners.uct import UCT
from platypoos.planners.uniform import Uniform
from platypoos.search.base import Planner

__all__ = [
    "BAIMCTS",
    "BRUE",
    "CEM",
    "HOO",
    "IW",
    "KLOLOP",
    "OLOP",
    "OPD",
    "OPMDP",
    "SOO",
    "UCT",
    "CompiledPlatypus",
    "GumbelMCTS",
    "OneStep",
    "PlaTyPOOS",
    "Planner",
    "Platypus",
    "PolynomialUCT",
    "Random",
    "RandomShooting",
    "RolloutIW",
    "SequOOL",
    "SequenceSearch",
    "SequentialHalving",
    "StOP",
    "StoSOO",
    "StroquOOL",
    "TrailBlazer",
    "Uniform",
    "available",
]

_ALL: tuple[type[Planner], ...] = (
    Platypus,
    PlaTyPOOS,
    SequOOL,
    StroquOOL,
    OPD,
    OLOP,
    KLOLOP,
    UCT,
    PolynomialUCT,
    BRUE,
    HOO,
    SOO,
    StoSOO,
    SequentialHalving,
    GumbelMCTS,
    OPMDP,
    BAIMCTS,
    TrailBlazer,
    StOP,
    SequenceSearch,
    CEM,
    RandomShooting,
    IW,
    RolloutIW,
    Uniform,
    OneStep,
    Random,
    CompiledPlatypus,
)


def available() -> dict[str, type[Planner]]:
    """All planners by their names on the command line.

    Each says what it ``needs`` to know, its ``citation`` and the ``access`` it can use.

    >>> available()["olop"].needs
    'reward range, noise range (may be wrong)'
    """
    return {planner.name: planner for planner in _ALL}
