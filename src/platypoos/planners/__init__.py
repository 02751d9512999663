"""The planners, one a file. A planner registers itself: it is enough that its file is here.

A planner is imported when its name is first used: most need Numba, and the default one does not.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; a planner that is not here works too
    from platypoos.planners.bai_mcts import BAIMCTS as BAIMCTS
    from platypoos.planners.brue import BRUE as BRUE
    from platypoos.planners.cem import CEM as CEM
    from platypoos.planners.gumbel_mcts import GumbelMCTS as GumbelMCTS
    from platypoos.planners.hindsight import Hindsight as Hindsight
    from platypoos.planners.hoo import HOO as HOO
    from platypoos.planners.iw import IW as IW
    from platypoos.planners.kl_olop import KLOLOP as KLOLOP
    from platypoos.planners.olop import OLOP as OLOP
    from platypoos.planners.one_step import OneStep as OneStep
    from platypoos.planners.op_mdp import OPMDP as OPMDP
    from platypoos.planners.opd import OPD as OPD
    from platypoos.planners.platypoos import PlaTyPOOS as PlaTyPOOS
    from platypoos.planners.platypus.planner import Platypus as Platypus
    from platypoos.planners.polynomial_uct import PolynomialUCT as PolynomialUCT
    from platypoos.planners.random import Random as Random
    from platypoos.planners.random_shooting import RandomShooting as RandomShooting
    from platypoos.planners.rollout_iw import RolloutIW as RolloutIW
    from platypoos.planners.sampling.mppi import MPPI as MPPI
    from platypoos.planners.sampling.predictive import PredictiveSampling as PredictiveSampling
    from platypoos.planners.sequence_search import SequenceSearch as SequenceSearch
    from platypoos.planners.sequential_halving import SequentialHalving as SequentialHalving
    from platypoos.planners.sequool import SequOOL as SequOOL
    from platypoos.planners.soo import SOO as SOO
    from platypoos.planners.sparse_sampling import SparseSampling as SparseSampling
    from platypoos.planners.stop import StOP as StOP
    from platypoos.planners.stosoo import StoSOO as StoSOO
    from platypoos.planners.stroquool import StroquOOL as StroquOOL
    from platypoos.planners.trailblazer import TrailBlazer as TrailBlazer
    from platypoos.planners.uct import UCT as UCT
    from platypoos.planners.uniform import Uniform as Uniform
    from platypoos.search import schedules as schedules
    from platypoos.search.base import Planner as Planner

FIRST = ("platypus", "platypoos")
"""The planners that a list begins with; the others are in the order of the alphabet."""


def available() -> dict[str, type[Planner]]:
    """All planners by their names on the command line.

    Each says what it ``needs`` to know, its ``citation`` and the ``access`` it can use.

    >>> available()["olop"].needs
    'reward range, noise range (may be wrong)'
    """
    from platypoos.search.base import REGISTERED

    for module in _modules():
        import_module(module)
    names = [*FIRST, *sorted(REGISTERED.keys() - set(FIRST))]
    return {name: REGISTERED[name] for name in names}


def _modules() -> list[str]:
    """All modules with planners, and the parts of these planners."""
    return [found.name for found in pkgutil.walk_packages(__path__, f"{__name__}.")]


def __getattr__(name: str) -> Any:
    """A planner by the name of its class; ``Planner``, or the module ``schedules``."""
    from platypoos.search import base

    if name == "schedules":
        return import_module("platypoos.search.schedules")
    if name == "Planner":
        return base.Planner
    if name[:1].isupper():
        # KLOLOP is in kl_olop.py, and Platypus in platypus/planner.py: that file is tried first.
        for module in sorted(_modules(), key=lambda module: not _is_named(module, name)):
            kind = vars(import_module(module)).get(name)
            if isinstance(kind, type) and kind in base.REGISTERED.values():
                globals()[name] = kind
                return kind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_named(module: str, planner: str) -> bool:
    """Whether a module is named as a planner's class."""
    own = module.removesuffix(".planner").rpartition(".")[2]
    return own.replace("_", "") == planner.lower()


def __dir__() -> list[str]:
    kinds = [kind.__name__ for kind in available().values()]
    return sorted({*globals(), "Planner", "schedules", *kinds})
