"""Plan with a simulator and a limited number of calls to it.

>>> import platypoos as pp
>>> model = pp.problems.SwitchChain(noise=1.0)
>>> pp.plan(model, budget=1_000, discount=0.95, seed=0).action
0
"""

from typing import TYPE_CHECKING

from platypoos.api import Agent, control, plan
from platypoos.errors import (
    BudgetExceeded,
    DynamicsError,
    InvalidArgument,
    ModelError,
    PlatypoosError,
    RewardError,
    TransitionError,
    WorkerError,
)
from platypoos.explain import Explanation
from platypoos.ledger.tree import Tree
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access, Model, Reward, Transition
from platypoos.models.function import FunctionModel
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.jax import JaxModel
from platypoos.models.wrappers import NoisyReward, RepeatedAction, ScaledReward, ShapedReward
from platypoos.plan import Episode, Plan
from platypoos.spaces import Box, Discrete, MultiDiscrete
from platypoos.version import __version__ as __version__

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
    "Access",
    "Agent",
    "ArrayModel",
    "Box",
    "BudgetExceeded",
    "CompiledModel",
    "Discrete",
    "DynamicsError",
    "Episode",
    "Explanation",
    "FunctionModel",
    "GumbelMCTS",
    "GymnasiumModel",
    "Hindsight",
    "InvalidArgument",
    "JaxModel",
    "Model",
    "ModelError",
    "ModelReport",
    "MultiDiscrete",
    "NoisyReward",
    "OneStep",
    "PlaTyPOOS",
    "Plan",
    "Planner",
    "PlatypoosError",
    "Platypus",
    "PolynomialUCT",
    "PredictiveSampling",
    "Random",
    "RandomShooting",
    "Recommendation",
    "RepeatedAction",
    "Reward",
    "RewardError",
    "RolloutIW",
    "ScaledReward",
    "SequOOL",
    "SequenceSearch",
    "SequentialHalving",
    "ShapedReward",
    "SimulatorReport",
    "SparseSampling",
    "StOP",
    "StoSOO",
    "StroquOOL",
    "TrailBlazer",
    "Transition",
    "TransitionError",
    "Tree",
    "Uniform",
    "WorkerError",
    "advise",
    "check_model",
    "check_simulator",
    "control",
    "lab",
    "plan",
    "planners",
    "problems",
    "register_family",
    "schedules",
    "simple_regret",
    "sparse_actions",
]

if TYPE_CHECKING:
    from platypoos import lab, planners, problems
    from platypoos.advising.advise import advise
    from platypoos.advising.recommendation import Recommendation
    from platypoos.checking.model import check_model
    from platypoos.checking.report import ModelReport, SimulatorReport
    from platypoos.checking.simulator import check_simulator
    from platypoos.compiled.model import CompiledModel
    from platypoos.models.gymnasium.actions import sparse_actions
    from platypoos.models.gymnasium.registry import register_family
    from platypoos.planners import (
        BAIMCTS,
        BRUE,
        CEM,
        HOO,
        IW,
        KLOLOP,
        MPPI,
        OLOP,
        OPD,
        OPMDP,
        SOO,
        UCT,
        GumbelMCTS,
        Hindsight,
        OneStep,
        Planner,
        PlaTyPOOS,
        Platypus,
        PolynomialUCT,
        PredictiveSampling,
        Random,
        RandomShooting,
        RolloutIW,
        SequenceSearch,
        SequentialHalving,
        SequOOL,
        SparseSampling,
        StOP,
        StoSOO,
        StroquOOL,
        TrailBlazer,
        Uniform,
    )
    from platypoos.problems import simple_regret
    from platypoos.search import schedules
else:  # with the first use of a name: much of it needs Numba, which takes its time
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.advising.advise": "advise",
            "platypoos.advising.recommendation": "Recommendation",
            "platypoos.checking.model": "check_model",
            "platypoos.compiled.model": "CompiledModel",
            "platypoos.models.gymnasium.actions": "sparse_actions",
            "platypoos.checking.simulator": "check_simulator",
            "platypoos.models.gymnasium.registry": "register_family",
            "platypoos.checking.report": "ModelReport SimulatorReport",
            "platypoos.planners": (
                "BAIMCTS BRUE CEM HOO IW KLOLOP MPPI OLOP OPD OPMDP SOO UCT GumbelMCTS Hindsight "
                "OneStep Planner PlaTyPOOS Platypus PolynomialUCT PredictiveSampling Random "
                "RandomShooting RolloutIW SequenceSearch SequentialHalving SequOOL SparseSampling "
                "StOP StoSOO StroquOOL TrailBlazer Uniform"
            ),
            "platypoos.problems": "simple_regret",
        },
        modules=[
            "platypoos.planners",
            "platypoos.problems",
            "platypoos.search.schedules",
            "platypoos.lab",
        ],
    )
